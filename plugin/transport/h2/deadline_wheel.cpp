#include "plugin/transport/h2/deadline_wheel.hpp"

#include <algorithm>
#include <bit>

namespace sendonce {

void DeadlineWheel::arm(Call& call) noexcept {
  SO_ASSERT(!call.armed);
  // A deadline that has passed already goes into the slot that is swept next.
  const std::uint64_t slot = std::max(tick_of(call.deadline), tick_) % kSlots;
  call.due_slot = static_cast<std::uint32_t>(slot);
  call.due_prev = nullptr;
  call.due_next = slots_[slot];
  if (call.due_next != nullptr) call.due_next->due_prev = &call;
  slots_[slot] = &call;
  used_[slot / 64] |= std::uint64_t{1} << (slot % 64);
  call.armed = true;
}

void DeadlineWheel::disarm(Call& call) noexcept {
  if (!call.armed) return;
  const std::uint64_t slot = call.due_slot;
  (call.due_prev != nullptr ? call.due_prev->due_next : slots_[slot]) = call.due_next;
  if (call.due_next != nullptr) call.due_next->due_prev = call.due_prev;
  if (slots_[slot] == nullptr) used_[slot / 64] &= ~(std::uint64_t{1} << (slot % 64));
  call.due_prev = nullptr;
  call.due_next = nullptr;
  call.armed = false;
}

void DeadlineWheel::sweep(std::uint64_t slot, MonoTime now, std::vector<Call*>& due) {
  for (Call* call = slots_[slot]; call != nullptr;) {
    Call* next = call->due_next;
    if (call->deadline <= now) {
      disarm(*call);
      due.push_back(call);
    }
    call = next;
  }
}

void DeadlineWheel::expire(MonoTime now, std::vector<Call*>& due) {
  const std::uint64_t end = tick_of(now);
  if (end <= tick_) return;
  const std::uint64_t count = std::min(end - tick_, kSlots);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t slot = (tick_ + i) % kSlots;
    if (slots_[slot] != nullptr) sweep(slot, now, due);
  }
  tick_ = end;
}

std::optional<MonoTime> DeadlineWheel::next() const noexcept {
  const std::uint64_t first = tick_ % kSlots;
  // The word of `first` is looked at twice: from `first` on, and at last in whole.
  for (std::uint64_t i = 0; i <= kWords; ++i) {
    const std::uint64_t at = (first / 64 + i) % kWords;
    std::uint64_t bits = used_[at];
    if (i == 0) bits &= ~std::uint64_t{0} << (first % 64);
    if (bits == 0) continue;
    const std::uint64_t slot = at * 64 + static_cast<std::uint64_t>(std::countr_zero(bits));
    const std::uint64_t distance = (slot + kSlots - first) % kSlots;
    return MonoTime(Duration(static_cast<Duration::rep>((tick_ + distance + 1) << kTickShift)));
  }
  return std::nullopt;
}

}  // namespace sendonce
