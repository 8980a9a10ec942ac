#include "plugin/pipeline/hygiene.hpp"

#include <algorithm>

namespace sendonce {

Verdict Hygiene::weigh(Verdict verdict) const {
  if (!verdict.needs_proof || proven_) return verdict;
  verdict.name = VerdictClass::token_mismatch;
  verdict.fault = Fault::mismatch;
  verdict.reason += " (environment and topic not proven yet)";
  return verdict;
}

bool Hygiene::believes(const Verdict& verdict, const Target& target) {
  if (verdict.effect == Effect::sent) proven_ = true;
  if (verdict.effect == Effect::sent || verdict.fault == Fault::device)
    count(verdict.fault == Fault::device);
  if (verdict.fault != Fault::device || verdict.effect != Effect::not_sent) return false;
  if (verdict.invalid_since && target.registered_at &&
      *target.registered_at > *verdict.invalid_since)
    return false;
  return !breaker_open();
}

void Hygiene::count(bool device_fault) {
  const std::size_t window = std::min(options_.window, kWindowMax);
  if (filled_ == window && faults_[at_]) --fault_count_;
  faults_[at_] = device_fault;
  if (device_fault) ++fault_count_;
  at_ = (at_ + 1) % window;
  filled_ = std::min(filled_ + 1, window);
}

bool Hygiene::breaker_open() const {
  return fault_count_ >= options_.at_least &&
         static_cast<double>(fault_count_) > options_.share * static_cast<double>(filled_);
}

}  // namespace sendonce
