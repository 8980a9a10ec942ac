#include "plugin/pipeline/holds.hpp"

#include <algorithm>
#include <utility>

namespace sendonce {
namespace {

constexpr std::size_t kConfigFaultsToHold = 3;  // recipients within kConfigFaultWindow
constexpr Duration kConfigFaultWindow = std::chrono::minutes(1);
constexpr Duration kThrottleDefault = std::chrono::seconds(1);
constexpr Duration kLongThrottle = std::chrono::hours(1);
constexpr std::size_t kPartsMax = 256;  // names come from answers and from browsers

}  // namespace

std::optional<ProbeId> Holds::may_start(std::string_view part, MonoTime now) {
  bool start = true;
  for (const std::string_view name : {std::string_view{}, part}) {
    const auto it = holds_.find(name);
    if (it == holds_.end()) continue;
    Hold& hold = it->second;
    if (hold.ends_by_itself) {
      if (now >= hold.probe_at) {
        holds_.erase(it);
      } else {
        start = false;
      }
    } else if (hold.probe != ProbeId{} || now < hold.probe_at) {
      start = false;
    }
    if (part.empty()) break;
  }
  if (!start) return std::nullopt;
  ProbeId probe{};
  for (auto& [name, hold] : holds_) {
    if (!name.empty() && name != part) continue;
    if (probe == ProbeId{}) probe = ProbeId(++last_probe_);
    hold.probe = probe;
  }
  return probe;
}

bool Holds::held(std::string_view part, MonoTime now) const {
  return std::ranges::any_of(holds_, [&](const auto& entry) {
    const auto& [name, hold] = entry;
    return (name.empty() || name == part) && !(hold.ends_by_itself && now >= hold.probe_at);
  });
}

// What is not held for want of room is tried and waits delivery by delivery.
bool Holds::has_room_for(std::string_view part, MonoTime now) {
  if (part.empty() || holds_.contains(part) || holds_.size() < kPartsMax) return true;
  std::erase_if(holds_, [now](const auto& entry) {
    return entry.second.ends_by_itself && now >= entry.second.probe_at;
  });
  return holds_.size() < kPartsMax;
}

void Holds::open_by(ProbeId probe, std::string part, Fault fault, std::string reason, MonoTime now,
                    Duration wait) {
  if (!has_room_for(part, now)) return;
  auto [it, fresh] = holds_.try_emplace(std::move(part));
  Hold& hold = it->second;
  if (fresh) hold.since = now;
  if (hold.ends_by_itself) hold.throttled_until = hold.probe_at;
  const bool failed_probe = probe != ProbeId{} && hold.probe == probe;
  hold.fault = fault;
  hold.reason = std::move(reason);
  hold.ends_by_itself = false;
  if (fresh || hold.interval == Duration::zero()) {
    hold.interval = options_.probe_first;
  } else if (failed_probe) {
    hold.interval = std::min(hold.interval * 2, options_.probe_max);
  } else {
    // A delivery that was under way when the hold opened says nothing new, but for a time.
    hold.probe_at = std::max(hold.probe_at, now + wait);
    return;
  }
  hold.probe = {};
  hold.probe_at = std::max({now + hold.interval, now + wait, hold.throttled_until});
}

void Holds::open_until(std::string part, std::string reason, MonoTime until, MonoTime now) {
  if (!has_room_for(part, now)) return;
  auto [it, fresh] = holds_.try_emplace(std::move(part));
  Hold& hold = it->second;
  if (!fresh && !hold.ends_by_itself) {
    hold.throttled_until = std::max(hold.throttled_until, until);
    hold.probe_at = std::max(hold.probe_at, hold.throttled_until);
    return;
  }
  if (fresh) hold.since = now;
  hold.fault = Fault::throttle;
  hold.reason = std::move(reason);
  hold.ends_by_itself = true;
  hold.probe_at = std::max(hold.probe_at, until);
}

// What closes a fault leaves a throttle that has not ended.
void Holds::close(std::string_view part, MonoTime now) {
  const auto it = holds_.find(part);
  if (it == holds_.end() || it->second.ends_by_itself) return;
  Hold& hold = it->second;
  if (hold.throttled_until <= now) {
    holds_.erase(it);
    return;
  }
  hold.fault = Fault::throttle;
  hold.ends_by_itself = true;
  hold.probe = {};
  hold.probe_at = hold.throttled_until;
}

bool Holds::config_fault_spreads(LookupHash recipient, std::string_view part, MonoTime now) {
  std::erase_if(config_faults_, [&](const Sighting& s) { return now - s.at > kConfigFaultWindow; });
  const bool known = std::ranges::any_of(config_faults_, [&](const Sighting& s) {
    return s.recipient == recipient && s.part == part;
  });
  if (!known && config_faults_.size() >= kPartsMax) config_faults_.clear();
  if (!known) config_faults_.push_back({recipient, std::string(part), now});
  const auto there = std::ranges::count(config_faults_, part, &Sighting::part);
  return static_cast<std::size_t>(there) >= kConfigFaultsToHold;
}

bool Holds::report(const Verdict& verdict, std::string_view part, LookupHash recipient,
                   MonoTime now, ProbeId probe) {
  const std::size_t before = holds_.size();
  const bool says_nothing = verdict.fault == Fault::none && verdict.effect != Effect::sent;
  if (!says_nothing && !open_for(verdict, part, recipient, now, probe)) {
    failures_.erase(std::string{});
    if (const auto own = failures_.find(part); own != failures_.end()) failures_.erase(own);
    close({}, now);
    close(part, now);
    if (verdict.fault == Fault::none) config_faults_.clear();
  }
  probe_lost(probe, now);  // what was not closed was not proven well either
  return holds_.size() > before;
}

void Holds::count_failure(const Verdict& verdict, MonoTime now, ProbeId probe) {
  const bool one_more = !verdict.part.empty() && !failures_.contains(verdict.part);
  if (one_more && failures_.size() > kPartsMax) failures_.clear();
  Failures& failures = failures_[verdict.part];
  if (std::exchange(failures.last, now) != now) ++failures.in_a_row;
  if (failures.in_a_row >= options_.breaker_open_after)
    open_by(probe, verdict.part, Fault::provider, verdict.reason, now);
}

// False: the verdict speaks for the provider's health.
bool Holds::open_for(const Verdict& verdict, std::string_view own, LookupHash recipient,
                     MonoTime now, ProbeId probe) {
  const bool wide = verdict.scope == FaultScope::part || verdict.scope == FaultScope::provider;
  const std::string part = verdict.scope == FaultScope::part ? verdict.part : std::string{};
  // A narrower fault that holds anything holds no more than the part it was seen at.
  const std::string at = wide ? part : std::string(own);
  switch (verdict.fault) {
    case Fault::auth:
      open_by(probe, at, Fault::auth, verdict.reason, now, verdict.retry_after);
      return true;
    case Fault::config:
      if (wide || config_fault_spreads(recipient, own, now))
        open_by(probe, at, Fault::config, verdict.reason, now, verdict.retry_after);
      return true;
    case Fault::throttle:
      if (wide)
        open_until(part, verdict.reason, now + std::max(verdict.retry_after, kThrottleDefault),
                   now);
      return true;
    case Fault::provider:
      if (wide && verdict.retry_after > kLongThrottle)
        open_until(part, verdict.reason, now + verdict.retry_after, now);
      else
        count_failure(verdict, now, probe);
      return true;
    case Fault::none:
    case Fault::device:
    case Fault::mismatch:
    case Fault::request:
      return false;
  }
  return true;
}

void Holds::probe_lost(ProbeId probe, MonoTime now) {
  if (probe == ProbeId{}) return;
  for (auto& [name, hold] : holds_) {
    if (hold.probe != probe) continue;
    hold.probe = {};
    hold.probe_at = std::max(now + hold.interval, hold.throttled_until);
  }
}

void Holds::probe_unused(ProbeId probe) {
  if (probe == ProbeId{}) return;
  for (auto& [name, hold] : holds_)
    if (hold.probe == probe) hold.probe = {};
}

void Holds::renewed(MonoTime now) {
  for (auto& [name, hold] : holds_) {
    if (hold.ends_by_itself) continue;
    hold.probe_at = std::max(now, hold.throttled_until);
    hold.probe = {};
    hold.interval = options_.probe_first;
  }
}

void Holds::reloaded(MonoTime now) {
  for (auto& [name, hold] : holds_)
    if (hold.throttled_until > now + kLongThrottle) hold.throttled_until = {};
  renewed(now);
  std::erase_if(holds_, [now](const auto& entry) {
    return entry.second.ends_by_itself && entry.second.probe_at > now + kLongThrottle;
  });
}

std::optional<MonoTime> Holds::next_change() const {
  std::optional<MonoTime> next;
  for (const auto& [name, hold] : holds_)
    if (hold.probe == ProbeId{} && (!next || hold.probe_at < *next)) next = hold.probe_at;
  return next;
}

}  // namespace sendonce
