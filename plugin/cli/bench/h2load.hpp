// h2load (package nghttp2-client) against the fake provider of a bench: what P1, P2 and P5 of
// docs/performance.md are measured against, in the same run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugin/cli/demo/world.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce::cli {

// A fake provider that runs, and the directory with its ca.pem and apns.p8, for scratch files too.
struct ProviderPlace {
  std::string endpoint{};
  std::string directory{};
  [[nodiscard]] std::string path(std::string_view name) const {
    return directory + "/" + std::string(name);
  }
};
[[nodiscard]] ProviderPlace place_of(const World& world);

struct LoadRun {
  double requests_per_second = 0;
  double cpu_us = 0;  // of the client, per request
  std::uint64_t failed = 0;
};

// The clock is borrowed.
class H2load {
 public:
  [[nodiscard]] static Result<H2load> make(ProviderPlace place, const Clock& clock);

  [[nodiscard]] Result<LoadRun> run(std::uint64_t requests, std::uint32_t connections,
                                    std::uint32_t streams) const;
  // What it sends as its request `i`, for a sender that is compared with it.
  [[nodiscard]] HttpRequest request(std::size_t i) const;
  [[nodiscard]] const ProviderPlace& place() const { return place_; }

 private:
  H2load(ProviderPlace place, const Clock& clock) : place_(std::move(place)), clock_(clock) {}

  ProviderPlace place_;
  const Clock& clock_;
  std::vector<std::string> paths_{};
  std::string authorization_{};
  std::string body_{};
};

}  // namespace sendonce::cli
