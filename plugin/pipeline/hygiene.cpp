#include "plugin/pipeline/hygiene.hpp"

#include <algorithm>

namespace sendonce {

void Brake::count(bool fault) {
  const std::size_t window = std::min(options_.window, kWindowMax);
  if (filled_ == window && faults_[at_]) --fault_count_;
  faults_[at_] = fault;
  if (fault) ++fault_count_;
  at_ = (at_ + 1) % window;
  filled_ = std::min(filled_ + 1, window);
}

bool Brake::open() const {
  return fault_count_ >= options_.at_least &&
         static_cast<double>(fault_count_) > options_.share * static_cast<double>(filled_);
}

bool Hygiene::believes(const Verdict& verdict, const Target& target) {
  const bool sent = verdict.effect == Effect::sent;
  const bool dead = verdict.fault == Fault::device;
  const bool mismatch = verdict.fault == Fault::mismatch;
  if (sent) proven_ = true;
  if (sent || dead) dead_.count(dead);
  if (sent || mismatch) mismatched_.count(mismatch);
  if (verdict.effect != Effect::not_sent) return false;
  if (mismatch) return !mismatched_.open();
  if (!dead || verdict.ignore_device) return false;
  if (verdict.invalid_since && target.registered_at &&
      *target.registered_at > *verdict.invalid_since)
    return false;
  return !dead_.open();
}

Hygiene& HygieneOfParts::of(std::string_view part) {
  const auto found = parts_.find(part);
  if (found != parts_.end()) return found->second;
  if (parts_.size() >= kPartsMax) parts_.erase(parts_.begin());
  return parts_.try_emplace(std::string(part)).first->second;
}

void HygieneOfParts::forget_proof() {
  for (auto& [part, hygiene] : parts_) hygiene.forget_proof();
}

bool HygieneOfParts::breaker_open() const {
  return std::ranges::any_of(parts_, [](const auto& p) { return p.second.breaker_open(); });
}

bool HygieneOfParts::mismatches() const {
  return std::ranges::any_of(parts_, [](const auto& p) { return p.second.mismatches(); });
}

}  // namespace sendonce
