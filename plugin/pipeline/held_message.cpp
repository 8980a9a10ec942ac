#include "plugin/pipeline/held_message.hpp"

#include <utility>

namespace sendonce {

Delivery& DeliveryPool::add() {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
    SO_ASSERT(slots_.size() < (1ULL << kSlotBits));
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Slot& slot = slots_[index];
  slot.used = true;
  ++slot.generation;
  ++used_;
  slot.delivery.ticket = Ticket(slot.generation << kSlotBits | index);
  return slot.delivery;
}

Delivery* DeliveryPool::find(Ticket ticket) {
  const std::uint64_t index = ticket.get() & ((1ULL << kSlotBits) - 1);
  if (index >= slots_.size()) return nullptr;
  Slot& slot = slots_[index];
  return slot.used && slot.delivery.ticket == ticket ? &slot.delivery : nullptr;
}

void DeliveryPool::remove(Ticket ticket) {
  SO_ASSERT(find(ticket) != nullptr);
  const auto index = static_cast<std::uint32_t>(ticket.get() & ((1ULL << kSlotBits) - 1));
  Slot& slot = slots_[index];
  slot.used = false;
  slot.delivery = Delivery{};
  free_.push_back(index);
  --used_;
}

HeldMessage& HeldMessages::add(Message message) {
  const std::uint64_t seq = message.seq.get();
  auto held = std::make_unique<HeldMessage>();
  held->message = std::move(message);
  BySeq& of_class = by_class_[held->message.message_class.get()];
  return *of_class.emplace(seq, std::move(held))->second;
}

HeldMessage* HeldMessages::find(const Message& message) {
  const auto [first, last] = by_class_[message.message_class.get()].equal_range(message.seq.get());
  for (auto it = first; it != last; ++it) {
    const HeldMessage& held = *it->second;
    if (!held.forgotten && held.message.stored_at == message.stored_at &&
        held.message.incarnation == message.incarnation)
      return it->second.get();
  }
  return nullptr;
}

void HeldMessages::remove(HeldMessage& held) {
  BySeq& of_class = by_class_[held.message.message_class.get()];
  const auto [first, last] = of_class.equal_range(held.message.seq.get());
  for (auto it = first; it != last; ++it) {
    if (it->second.get() != &held) continue;
    of_class.erase(it);
    return;
  }
  SO_ASSERT(false);
}

std::size_t HeldMessages::total() const {
  std::size_t sum = 0;
  for (const BySeq& of_class : by_class_) sum += of_class.size();
  return sum;
}

}  // namespace sendonce
