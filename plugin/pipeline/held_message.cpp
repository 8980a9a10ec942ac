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
  // Never into the byte that tells tickets of deliveries from others.
  slot.generation = slot.generation % kGenerations + 1;
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
  BySeq& of_class = by_class_[message.message_class.get()];
  if (spare_.empty()) {
    HeldMessage& held = *of_class.emplace(seq, std::make_unique<HeldMessage>())->second;
    held.message = std::move(message);
    return held;
  }
  BySeq::node_type node = std::move(spare_.back());
  spare_.pop_back();
  node.key() = seq;
  HeldMessage& held = *node.mapped();
  held.message = std::move(message);
  of_class.insert(std::move(node));
  return held;
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
    BySeq::node_type node = of_class.extract(it);
    if (spare_.size() == kSparesKept) return;
    std::vector<Ticket> tickets = std::move(held.deliveries);
    tickets.clear();
    held = HeldMessage{};  // recipients live no longer than their message
    held.deliveries = std::move(tickets);
    spare_.push_back(std::move(node));
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
