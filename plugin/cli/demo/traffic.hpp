// What a demo or a truth run publishes: events for devices of their own each, told to a tally.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugin/cli/demo/tally.hpp"
#include "plugin/core/random.hpp"

namespace sendonce::cli {

struct TrafficClass {
  std::string name{};
  std::string subject{};  // without its last token
};

// How many in one.
struct TrafficShares {
  double repeated = 0.1;  // published twice
  double wide = 0;        // with two targets
  double doomed = 0;      // to a token that begins with "dead", for the provider to refuse
  double undecodable = 0;
};

struct Outgoing {
  std::string subject{};
  std::string body{};
  std::vector<std::string> refs{};  // of its deliveries
  bool repeated = false;
};

class Traffic {
 public:
  // `tally` is borrowed; null: nobody counts.
  Traffic(std::uint64_t seed, std::vector<TrafficClass> classes, TrafficShares shares, Tally* tally)
      : random_(seed), classes_(std::move(classes)), shares_(shares), tally_(tally) {}

  [[nodiscard]] Outgoing next(WallTime now);

 private:
  [[nodiscard]] std::string token(bool apns);

  Random random_;
  std::vector<TrafficClass> classes_;
  TrafficShares shares_;
  Tally* tally_;
  std::uint64_t messages_ = 0;
  std::uint64_t deliveries_ = 0;
};

}  // namespace sendonce::cli
