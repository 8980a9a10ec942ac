// The engine: every decision between a JetStream message and its ack. An agent stepped by poll():
// no thread, no I/O and no clock of its own, so the simulator steps the same code as production.
//
// The way of a message, by function:
//   take_messages -> hold (engine_intake.cpp)        decode, keys, one Delivery a target
//   dispatch -> start -> claim (engine_claims.cpp)   room, rate and holds, then the ledger
//   on_claim -> call                                 claimed: over to the transport
//   may_send_after_looks -> look -> finish_look      in doubt: asked about (engine_lookups.cpp)
//   finish_calls -> conclude (engine_outcomes.cpp)   verdict, policy, settlement
//   on_settled -> end -> settle_message              durable: now, and only now, the ack
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "classifiers/provider.hpp"
#include "plugin/broker/broker.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/log.hpp"
#include "plugin/core/random.hpp"
#include "plugin/message/decode.hpp"
#include "plugin/message/key.hpp"
#include "plugin/pipeline/device_reports.hpp"
#include "plugin/pipeline/engine_deps.hpp"
#include "plugin/pipeline/engine_report.hpp"
#include "plugin/pipeline/engine_state.hpp"
#include "plugin/pipeline/held_message.hpp"
#include "plugin/pipeline/looks.hpp"
#include "plugin/pipeline/outbox_publisher.hpp"
#include "plugin/pipeline/policy.hpp"

namespace sendonce {

class Engine {
 public:
  Engine(const EngineDeps& deps, EngineOptions options, std::vector<ClassPolicy> classes,
         std::vector<ProviderSlot> providers);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // One duty cycle: bounded work, waits at most `wait` for sockets.
  void poll(Duration wait);

  // Takes new routes, rates, retries and policies for future attempts. Same classes and providers
  // in the same order; the caller has checked (config/reload.hpp). A provider that is the same
  // object goes on as it is, connections included.
  void reload(std::vector<ClassPolicy> classes, std::vector<ProviderSlot> providers);

  // Takes no more messages and hands back what has not started; calls in flight go on.
  void drain();
  [[nodiscard]] bool drained() const;

  [[nodiscard]] EngineReport report() const;
  // Deliveries in hand of an event (KeyMaker::event_lookup). A scan, for people who ask.
  [[nodiscard]] std::vector<HeldReport> held(LookupHash event);

  // A person's request to the ledger, in its turn with all others. Its answer is taken by number.
  void ask(std::uint64_t number, LedgerRequest request);
  struct Asked {
    std::uint64_t number = 0;
    Result<LedgerReply> reply{};
  };
  [[nodiscard]] std::vector<Asked> take_asked() { return std::exchange(asked_, {}); }

  // A class or a provider that rests until a person lets it go on: nothing of it is claimed, its
  // messages go back to the broker. An empty reason ends the rest.
  void pause(ClassIndex message_class, std::string reason);
  void pause(ProviderIndex provider, std::string reason);

 private:
  struct Now {
    WallTime wall{};
    MonoTime mono{};
  };
  struct Timer {
    MonoTime due{};
    Ticket ticket{};
    friend bool operator>(const Timer& a, const Timer& b) { return a.due > b.due; }
  };
  struct Resolved {  // of one target
    ProviderIndex provider{};
    std::string refused{};  // why it may not go there
  };

  // engine_intake.cpp
  void take_messages();
  void take_message(Message& message);
  void hold(Message& message);
  void hold_poison(HeldMessage& held, std::string reason);
  [[nodiscard]] Result<void> read(HeldMessage& held, const ClassPolicy& policy);
  [[nodiscard]] Result<void> resolve(const Notification& note, const ClassPolicy& policy);
  [[nodiscard]] Result<DeviceReports::Named> device_of(const DeviceReport& report);
  void add_delivery(HeldMessage& held, std::uint16_t target, Resolved&& resolved);
  [[nodiscard]] bool is_named(const Delivery& delivery) const;
  void forget_other_incarnations();
  void give_credit();
  [[nodiscard]] bool may_pull(ClassIndex message_class) const;
  [[nodiscard]] std::string why_not_ready(ClassIndex message_class) const;

  // engine_claims.cpp
  void enqueue(Delivery& delivery);
  void dispatch();
  void dispatch_one(ProviderIndex provider, std::size_t room, std::size_t streams);
  [[nodiscard]] Delivery* next_queued(ProviderIndex provider, bool high_only);
  void put_back(ProviderIndex provider, const std::vector<Ticket>& tickets);
  [[nodiscard]] bool has_room_at_its_origin(const ProviderState& provider, const Delivery& d,
                                            std::vector<std::string_view>& full);
  void reserve(ProviderState& provider, Delivery& delivery);
  void release(ProviderState& provider, Delivery& delivery);
  [[nodiscard]] bool start(ProviderState& provider, Delivery& delivery);
  void claim(Delivery& delivery);
  void on_claim(Delivery& delivery, ClaimReply reply);
  void on_claimed(Delivery& delivery, const Claimed& claimed, bool asked_again);
  void on_done(Delivery& delivery, const Done& done);
  void call(Delivery& delivery);
  void give_up(Delivery& delivery, std::string reason);
  void give_back(Delivery& delivery, Duration delay, std::string reason);
  void spare_probe(Delivery& delivery);
  void wait_again(Delivery& delivery, WallTime until);

  // engine_failover.cpp
  [[nodiscard]] bool takes_deliveries(const ProviderState& provider) const;
  [[nodiscard]] std::optional<ProviderIndex> on_route(const Delivery& delivery,
                                                      std::optional<ProviderIndex> after) const;
  [[nodiscard]] bool is_routed(const Delivery& delivery) const;
  [[nodiscard]] bool may_move(const Delivery& delivery) const;
  void move_to(Delivery& delivery, ProviderIndex provider);
  void fail_over(Delivery& delivery);
  void divert(ProviderIndex provider);
  [[nodiscard]] bool at_its_provider(Delivery& delivery, const Claimed& claimed);

  // engine_lookups.cpp
  [[nodiscard]] std::optional<Duration> lag_of(const Delivery& delivery) const;
  [[nodiscard]] bool may_send_after_looks(Delivery& delivery, const Claimed& claimed);
  void look(Delivery& delivery);
  void finish_look(Delivery& delivery, const CallResult& result);
  void note_doubt(Delivery& delivery, const Verdict& verdict);
  [[nodiscard]] LookContext look_context(const Delivery& delivery) const;

  // engine_outcomes.cpp
  void finish_calls();
  void finish_call(const Completion& completion);
  void conclude(Delivery& delivery, Verdict&& verdict, bool answered);
  void judge_device(ProviderState& p, Delivery& d, std::string_view part, const Verdict& verdict);
  void heed(ProviderState& provider, Delivery& delivery, const Verdict& verdict);
  void settle(Delivery& delivery);
  void on_settled(Delivery& delivery, const Settled& settled);
  void show(const Delivery& delivery, const Settled& settled) const;
  void copy(Delivery& delivery, CopyOf copy_of, std::string reason);
  [[nodiscard]] Publication copy_of(const Delivery& delivery) const;
  void publish_copy(Delivery& delivery);
  void on_copied(Delivery& delivery, const Result<void>& result);
  void record(const Delivery& delivery);
  void end(Delivery& delivery);
  void settle_message(HeldMessage& held);
  void forget(HeldMessage& held);
  void count_ending(Delivery& delivery, State state);

  void take_replies();  // engine.cpp
  void take_reply(LaneReply& reply);
  void prefetch_message(Ticket ticket);
  void prefetch_parts(Ticket ticket);
  void take_confirmations();
  void run_timers();
  void fire(Delivery& delivery);
  void look_after_held();
  void look_after(HeldMessage& held);
  [[nodiscard]] std::optional<Duration> idle_for(const Delivery& delivery) const;
  void look_after(ProviderState& provider, ProviderIndex index);
  [[nodiscard]] bool paused(const Delivery& delivery) const;
  [[nodiscard]] bool unreachable(const ProviderState& provider) const;
  [[nodiscard]] bool unreachable(const ProviderState& provider, const Delivery& delivery) const;
  void hand_back_if_idle(HeldMessage& held);
  void hand_back(HeldMessage& held, Duration delay);
  void renew_credentials();
  void sweep();
  void set_timer(Delivery& delivery, Duration delay);
  // A new request to fill in where it lies: they are large to move.
  template <class Request>
  Request& request(Ticket ticket) {
    TicketedRequest& added = requests_.emplace_back();
    added.ticket = ticket;
    return added.request.emplace<Request>();
  }
  void hand_over_requests();
  void answer(const Message& message, bool terminate);
  void tell(const Delivery& d, Level level, std::string_view id, std::initializer_list<Field> with);
  void read_clock();
  [[nodiscard]] Duration bounded_wait(Duration wait) const;

  [[nodiscard]] const ClassPolicy& policy(const Delivery& d) const {
    return classes_[d.message_class.get()];
  }
  [[nodiscard]] ClassState& state(const Delivery& d) {
    return class_states_[d.message_class.get()];
  }
  [[nodiscard]] const Target& target(const Delivery& d) const {
    return d.message->note.targets[d.target];
  }
  [[nodiscard]] ProviderState& provider(const Delivery& d) { return *providers_[d.provider.get()]; }
  [[nodiscard]] Attempt attempt(const Delivery& d) const;

  EngineDeps deps_;
  EngineOptions options_;
  std::vector<ClassPolicy> classes_;
  std::vector<ClassState> class_states_;
  std::vector<std::unique_ptr<ProviderState>> providers_{};
  EnvelopeDecoder decoder_{};
  KeyMaker keys_;
  Random random_;
  Now now_{};
  DeliveryPool deliveries_{};
  HeldMessages held_;
  Looks looks_{};
  OutboxPublisher outbox_;
  DeviceReports reports_;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_{};
  std::vector<TicketedRequest> requests_{};
  std::vector<Asked> asked_{};
  struct Unanswered {
    Message message{};
    bool terminate = false;
  };
  std::vector<Unanswered> unanswered_{};      // acks that could not even be buffered
  MonoTime dispatch_again_{MonoTime::max()};  // when a rate has its next token
  MonoTime dispatched_{};
  MonoTime looked_after_{};
  MonoTime swept_{};
  bool sweeping_ = false;
  bool sweep_more_ = false;
  bool draining_ = false;
  // Scratch, reused every cycle.
  std::vector<Completion> completions_{};
  std::vector<LaneReply> replies_{};
  std::vector<Message> arrived_{};
  std::vector<Resolved> resolved_{};
  std::vector<Key> named_{};
  std::vector<Confirmation> confirmations_{};
};

}  // namespace sendonce
