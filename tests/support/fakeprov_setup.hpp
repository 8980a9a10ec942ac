// The files that the program sendonce-fakeprov reads and writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugin/core/error.hpp"
#include "tests/support/fake_provider.hpp"

namespace sendonce::test {

struct FakeprovArguments {
  std::string listen = "127.0.0.1";
  std::uint16_t port = 0;
  std::vector<std::string> names{};
  std::string ca_out{};
  std::string make_credentials{};  // a directory
  std::string apns_team = "TEAM123456";
  std::string apns_key{};  // a file
  std::string apns_key_id = "KEY1234567";
  std::vector<std::string> apns_topics{};
  bool apns_sandbox = false;
  std::string fcm_project{};
  std::string fcm_service_account{};  // a file
  std::string script{};
  std::string record{};
  unsigned latency_ms = 0;
  unsigned streams = 1000;
  bool lenient = false;
  std::optional<std::uint16_t> smtp_port{};
  bool smtp_starttls = false;
};

// What is needed to start, and what make_credentials has to write once the port is known.
struct FakeprovSetup {
  FakeProviderOptions options{};
  TestCredentials made{};
};

// Errors are `invalid`: their text names the option or the file.
[[nodiscard]] Result<FakeprovSetup> set_up(const FakeprovArguments& arguments);
// Writes ca.pem, apns.p8, vapid.pem, service-account.json and smtp-password, and --ca-out. Fails
// `unavailable`.
[[nodiscard]] Result<void> write_files(const FakeprovArguments& arguments,
                                       const FakeprovSetup& setup, const FakeProvider& provider);
// The line that says where everything is.
[[nodiscard]] std::string ready_line(const FakeprovArguments& arguments, const FakeprovSetup& setup,
                                     const FakeProvider& provider);

}  // namespace sendonce::test
