// Token hygiene (law 8): which faults of devices may be believed. One instance for each credential
// and, where calls go to many origins, for each of these (HygieneOfParts).
#pragma once

#include <bitset>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "plugin/core/verdict.hpp"
#include "plugin/message/notification.hpp"

namespace sendonce {

struct HygieneOptions {
  std::size_t window = 200;   // latest judged sends
  std::size_t at_least = 20;  // faults before a brake may trip
  double share = 0.2;
};

// Whether so many of the latest answers say the same that it is no news about each.
class Brake {
 public:
  explicit Brake(HygieneOptions options) : options_(options) {}
  void count(bool fault);
  [[nodiscard]] bool open() const;

 private:
  static constexpr std::size_t kWindowMax = 1024;

  HygieneOptions options_;
  std::bitset<kWindowMax> faults_{};
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
  std::size_t fault_count_ = 0;
};

class Hygiene {
 public:
  explicit Hygiene(HygieneOptions options = {}) : dead_(options), mismatched_(options) {}

  // The verdict in the light of what an accepted send has proven so far.
  [[nodiscard]] Verdict weigh(Verdict verdict) const {
    return in_light_of(std::move(verdict), proven_);
  }

  // Whether the device's own fault, or a mismatch, may be noted and published; counts the verdict.
  // False for a fault older than the registration, and while its brake is open.
  [[nodiscard]] bool believes(const Verdict& verdict, const Target& target);

  // Another credential may have taken the place of the one that was accepted.
  void forget_proof() { proven_ = false; }

  [[nodiscard]] bool breaker_open() const { return dead_.open(); }
  [[nodiscard]] bool mismatches() const { return mismatched_.open(); }

 private:
  Brake dead_;
  Brake mismatched_;  // the sender's own mistake, as a rule: alarmed, and not told of each device
  bool proven_ = false;
};

// What one origin accepts proves nothing at another, nor do the answers of one make those of
// another likely.
class HygieneOfParts {
 public:
  // `part`: of an origin (see Origin); empty for a provider that has only its own endpoint.
  [[nodiscard]] Hygiene& of(std::string_view part);
  void forget_proof();
  [[nodiscard]] bool breaker_open() const;  // at any of them
  [[nodiscard]] bool mismatches() const;    // the same
  [[nodiscard]] std::size_t size() const { return parts_.size(); }

  // The parts are entries of the configuration; those of before many reloads need not be kept.
  static constexpr std::size_t kPartsMax = 256;

 private:
  std::map<std::string, Hygiene, std::less<>> parts_{};
};

}  // namespace sendonce
