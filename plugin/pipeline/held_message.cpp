#include "plugin/pipeline/held_message.hpp"

#include <memory>
#include <utility>

#include "plugin/core/prefetch.hpp"

namespace sendonce {
namespace {

// Recipients live no longer than their message; only the memory for the next one does.
void clear(HeldMessage& held) {
  held.message = Message{};
  clear(held.note);
  held.nid_digest = {};
  held.nid = {};
  held.event = held.recipient = held.campaign = LookupHash{};
  held.collapse.clear();
  held.deliveries.clear();
  held.open = 0;
  held.poison = held.forgotten = false;
}

}  // namespace

Delivery& DeliveryPool::add() {
  if (free_.empty()) {
    const std::size_t first = blocks_.size() * kBlock;
    SO_ASSERT(first + kBlock < (1ULL << kSlotBits));
    blocks_.push_back(std::make_unique<Slot[]>(kBlock));
    for (std::size_t i = kBlock; i > 0; --i)
      free_.push_back(static_cast<std::uint32_t>(first + i - 1));
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Slot& slot = blocks_[index / kBlock][index % kBlock];
  slot.used = true;
  // Never into the byte that tells tickets of deliveries from others.
  slot.generation = slot.generation % kGenerations + 1;
  ++used_;
  slot.delivery.ticket = Ticket(slot.generation << kSlotBits | index);
  return slot.delivery;
}

DeliveryPool::Slot* DeliveryPool::slot_of(Ticket ticket) const {
  const std::uint64_t index = ticket.get() & ((1ULL << kSlotBits) - 1);
  return index < blocks_.size() * kBlock ? &blocks_[index / kBlock][index % kBlock] : nullptr;
}

Delivery* DeliveryPool::find(Ticket ticket) {
  Slot* slot = slot_of(ticket);
  if (slot == nullptr) return nullptr;
  return slot->used && slot->delivery.ticket == ticket ? &slot->delivery : nullptr;
}

void DeliveryPool::remove(Ticket ticket) {
  SO_ASSERT(find(ticket) != nullptr);
  Slot& slot = *slot_of(ticket);
  slot.used = false;
  std::destroy_at(&slot.delivery);
  std::construct_at(&slot.delivery);
  free_.push_back(static_cast<std::uint32_t>(ticket.get() & ((1ULL << kSlotBits) - 1)));
  --used_;
}

void DeliveryPool::prefetch(Ticket ticket) const {
  if (const Slot* slot = slot_of(ticket); slot != nullptr) sendonce::prefetch(*slot);
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
    clear(held);
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
