// Token hygiene (law 8): which device faults may be believed. One instance per credential.
#pragma once

#include <bitset>
#include <cstddef>
#include <string>
#include <utility>

#include "plugin/core/verdict.hpp"
#include "plugin/message/notification.hpp"

namespace sendonce {

struct HygieneOptions {
  std::size_t window = 200;   // latest judged sends
  std::size_t at_least = 20;  // device faults before the breaker may trip
  double share = 0.2;
};

class Hygiene {
 public:
  explicit Hygiene(HygieneOptions options = {}) : options_(options) {}

  // The verdict in the light of what an accepted send has proven so far.
  [[nodiscard]] Verdict weigh(Verdict verdict) const {
    return in_light_of(std::move(verdict), proven_);
  }

  // Whether the device fault may be published; counts the verdict. False for a fault older than the
  // registration, and while the breaker is open.
  [[nodiscard]] bool believes(const Verdict& verdict, const Target& target);

  // Another credential may have taken the place of the one that was accepted.
  void forget_proof() { proven_ = false; }

  [[nodiscard]] bool breaker_open() const;

 private:
  static constexpr std::size_t kWindowMax = 1024;
  void count(bool device_fault);

  HygieneOptions options_;
  bool proven_ = false;
  std::bitset<kWindowMax> faults_{};
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
  std::size_t fault_count_ = 0;
};

}  // namespace sendonce
