// The fake provider in the test's own process, as the daemon's configuration knows it: its faults
// can be changed and its count be read at any moment, and it keeps its port, certificate,
// credentials and count when it goes away and comes back.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/core/error.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/fake_provider.hpp"
#include "tests/support/temp_dir.hpp"

namespace sendonce::test {

class StagedProvider {
 public:
  StagedProvider();

  [[nodiscard]] Result<void> start();
  void stop() { provider_->stop(); }
  // The faults from now on, as in script.hpp.
  [[nodiscard]] Result<void> script(const std::string& toml);

  [[nodiscard]] std::uint16_t port() const { return port_; }
  // ca.pem, apns.p8, service-account.json and vapid.pem; there after the first start.
  [[nodiscard]] std::string credentials() const { return credentials_.path().string(); }

  // The "subscription" of a target, of the one browser that it plays.
  [[nodiscard]] std::string subscription(const std::string& name) const;
  [[nodiscard]] std::vector<PushSeen> pushes() const { return provider_->webpush()->seen(); }

  // In all its lives.
  [[nodiscard]] Copies seen(ProviderKind kind, std::string_view token) const;
  [[nodiscard]] std::uint64_t received() const;
  [[nodiscard]] std::uint64_t connections() const { return provider_->totals().connections; }

 private:
  void write_credentials() const;

  TempDir credentials_{};
  Authority authority_{};
  Identity identity_;
  TestCredentials made_;
  std::string browser_key_{};
  std::string browser_auth_{};
  std::uint16_t port_ = 0;
  std::unique_ptr<FakeProvider> provider_{};
  std::vector<std::unique_ptr<FakeProvider>> gone_{};
};

}  // namespace sendonce::test
