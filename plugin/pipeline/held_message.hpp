// What the engine holds in memory: messages that are not settled yet, and the deliveries in them.
// Single-threaded; addresses are stable until the message is forgotten.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ledger/ledger.hpp"
#include "plugin/broker/broker.hpp"
#include "plugin/message/notification.hpp"
#include "plugin/pipeline/holds.hpp"
#include "plugin/pipeline/policy.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

enum class Stage : std::uint8_t {
  queued,     // waits for its provider: a hold, the rate, a free stream
  claiming,   // asked the ledger
  calling,    // claimed, and handed to the transport
  looking,    // claimed, and its provider is asked what became of it
  settling,   // told the ledger what came of it
  waiting,    // until `due`
  copying,    // the dead letter's copy is on its way to its stream
  recording,  // the copy is confirmed, the ledger does not know yet
  ended,
};

// Why a copy of the message goes to the dead-letter stream.
enum class CopyOf : std::uint8_t { failed_delivery, conflict, undecodable };

struct HeldMessage;

struct Delivery {
  Ticket ticket{};  // slot and generation: valid at every port
  HeldMessage* message = nullptr;
  ClassIndex message_class{};
  std::uint16_t target = 0;
  ProviderIndex provider{};
  Stage stage = Stage::queued;
  std::uint64_t credential = 0;  // that its request was prepared with, see Provider
  // Whose queue it waits in. Its ticket in any other has been left behind there.
  std::optional<ProviderIndex> queued_at{};
  bool reserved = false;     // counts against the provider's room
  bool asked_again = false;  // for its claim: the ledger could not take it at first
  CopyOf copy_of = CopyOf::failed_delivery;
  bool copy_without_body = false;  // the stream refused it whole
  std::uint16_t local_tries = 0;   // waits that the ledger does not count
  std::uint16_t attempts = 0;      // as of the claim
  Effect carried = Effect::not_sent;
  Fence fence{};
  Key key{};
  std::optional<Key> previous_key{};
  Fingerprint fingerprint{};
  DeviceHash device{};
  std::string refused{};    // the payload or destination is at fault
  std::string part{};       // of the provider, from its origin or once a verdict has named it
  std::string authority{};  // of a provider with many origins
  ProbeId probe{};          // of the provider's holds, until it is reported or lost
  std::string reason{};     // of the dead letter
  MonoTime due{};
  WallTime deadline{WallTime::max()};  // the message's, or its row's when that is later
  WallTime look_until{};               // in doubt: until then its provider is asked about it
  std::optional<HttpRequest> request{};
  Verdict verdict{};  // of the latest attempt, while settling
  Decision decision{};
  bool attempted = false;
  bool device_believed = false;
  WallTime called{};  // when its latest call began
};

struct HeldMessage {
  Message message{};
  Notification note{};
  NidDigest nid_digest{};
  Nid nid{};
  LookupHash event{};
  LookupHash recipient{};
  LookupHash campaign{};
  std::string collapse{};
  WallTime deadline{};
  MonoTime progressed{};  // when the broker last heard that we hold it
  std::vector<Ticket> deliveries{};
  std::size_t open = 0;    // deliveries that have not ended
  bool poison = false;     // could not be decoded
  bool forgotten = false;  // its reply belongs to another incarnation: never answer
};

// Addresses do not change. One that is removed takes nothing with it into its next life.
class DeliveryPool {
 public:
  [[nodiscard]] Delivery& add();
  [[nodiscard]] Delivery* find(Ticket ticket);
  void remove(Ticket ticket);
  // The delivery is about to be needed and has been out of the caches for milliseconds.
  void prefetch(Ticket ticket) const;
  [[nodiscard]] std::size_t size() const { return used_; }

 private:
  static constexpr std::uint64_t kSlotBits = 24;
  static constexpr std::size_t kBlock = 64;
  static constexpr std::uint64_t kGenerations = (1ULL << 32U) - 1;
  struct Slot {
    Delivery delivery{};
    std::uint64_t generation = 0;
    bool used = false;
  };
  [[nodiscard]] Slot* slot_of(Ticket ticket) const;

  std::vector<std::unique_ptr<Slot[]>> blocks_{};
  std::vector<std::uint32_t> free_{};
  std::size_t used_ = 0;
};

class HeldMessages {
 public:
  explicit HeldMessages(std::size_t classes) : by_class_(classes) {}

  [[nodiscard]] HeldMessage& add(Message message);
  // The same message (sequence and time of the same incarnation), if it is held already.
  [[nodiscard]] HeldMessage* find(const Message& message);
  void remove(HeldMessage& held);
  [[nodiscard]] std::size_t count(ClassIndex message_class) const {
    return by_class_[message_class.get()].size();
  }
  [[nodiscard]] std::size_t total() const;
  template <class Visit>
  void for_each(ClassIndex message_class, Visit visit) {
    // A visitor may remove the message it is given.
    auto& held = by_class_[message_class.get()];
    for (auto it = held.begin(); it != held.end();) visit(*(it++)->second);
  }

 private:
  using BySeq = std::unordered_multimap<std::uint64_t, std::unique_ptr<HeldMessage>>;
  static constexpr std::size_t kSparesKept = 1024;

  std::vector<BySeq> by_class_;
  std::vector<BySeq::node_type> spare_{};  // with an empty message each
};

}  // namespace sendonce
