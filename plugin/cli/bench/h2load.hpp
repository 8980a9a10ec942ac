// h2load (package nghttp2-client) against the fake provider of a bench: what P1, P2 and P5 of
// docs/performance.md are measured against, in the same run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugin/cli/demo/world.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce::cli {

struct LoadRun {
  double requests_per_second = 0;
  double cpu_us = 0;  // of the client, per request
  std::uint64_t failed = 0;
};

// World and clock are borrowed.
class H2load {
 public:
  [[nodiscard]] static Result<H2load> make(const World& world, const Clock& clock);

  [[nodiscard]] Result<LoadRun> run(std::uint64_t requests, std::uint32_t connections,
                                    std::uint32_t streams) const;
  // What it sends as its request `i`, for a sender that is compared with it.
  [[nodiscard]] HttpRequest request(std::size_t i) const;

 private:
  H2load(const World& world, const Clock& clock) : world_(world), clock_(clock) {}

  const World& world_;
  const Clock& clock_;
  std::vector<std::string> paths_{};
  std::string authorization_{};
  std::string body_{};
};

}  // namespace sendonce::cli
