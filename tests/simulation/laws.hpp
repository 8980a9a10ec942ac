// The laws of docs/guarantees.md as checkers. The book sees everything that an observer outside of
// the engine could see: what was published, what became durable, what was submitted, what reached
// the provider, what the process was told, what was acked. It never asks the engine.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "classifiers/provider.hpp"
#include "ledger/ledger.hpp"
#include "plugin/core/look.hpp"
#include "plugin/core/text.hpp"
#include "plugin/message/decode.hpp"
#include "plugin/message/key.hpp"
#include "plugin/pipeline/policy.hpp"
#include "tests/simulation/disk.hpp"
#include "tests/simulation/records.hpp"
#include "tests/simulation/service.hpp"
#include "tests/simulation/world.hpp"

namespace sendonce::sim {

class LawBook final : public CommitWitness {
 public:
  LawBook(World& world, std::vector<ClassPolicy> classes, const std::string& secret)
      : world_(world), classes_(std::move(classes)), keys_(Credential(secret)) {}

  struct ProviderFacts {
    ProviderKind kind = ProviderKind::apns;
    std::string name{};
    std::string app_scope{};
    const Provider* provider = nullptr;
    Service* service = nullptr;
    Duration breaker_probe{};
    Duration timeout{};
  };
  void set_providers(std::vector<ProviderFacts> providers) { providers_ = std::move(providers); }
  void set_classes(std::vector<ClassPolicy> classes) { classes_ = std::move(classes); }

  // ---- producers and streams -----------------------------------------------------------------
  Published& published(std::size_t message_class, std::string body, WallTime stored_at,
                       const std::string& stream, std::uint64_t seq);
  void acked(Published& message, bool terminated);                      // the server has removed it
  void copied(const std::string& message_id, const std::string& body);  // a dead letter is stored
  void told_outcome(const std::string& message_id, const std::string& body);  // events are stored

  void before_a_step_of_the_wall();  // the clock of the process that lives

  // ---- calls ---------------------------------------------------------------------------------
  [[nodiscard]] bool is_high(const Attempt& attempt) const {
    return policy(*attempt.of).config.priority == Priority::high;
  }
  // One that is asked again because nobody knows what came of it is no new one.
  void claim_asked(Ticket ticket) {
    Asked& asked = claim_asked_[ticket];
    if (asked.order == 0 || asked.answered)
      asked = {.at = world_.mono(), .order = ++order_, .answered = false};
  }
  void claim_answered(Ticket ticket) { claim_asked_[ticket].answered = true; }
  Attempt& submitted(Ticket ticket, std::size_t provider, const HttpRequest& request,
                     std::uint32_t life);
  // A lookup is on its way, and its answer is read.
  Question& questioned(Ticket ticket, std::size_t provider, const HttpRequest& request,
                       std::uint32_t life);
  void answered(Question& question, Look told);
  // What the service can find it by.
  template <class Of>
  [[nodiscard]] static std::string reference(const Of& of) {
    return hex(of.of->key.view());
  }
  void left(Attempt& attempt);
  void processed(Attempt& attempt);
  void heard(Attempt& attempt, Told told, const Reply* reply);  // the process reads it now
  void renewed(std::size_t provider);                           // a credential or configuration
  // What the process of now makes its requests with, by the provider's count of credentials.
  void made_with(std::size_t provider, const std::string& authorization, std::uint64_t credential);
  void at_hand(std::size_t provider, std::uint64_t credential) {
    credentials_[provider].at_hand = credential;
  }

  // ---- the ledger ----------------------------------------------------------------------------
  void committed(std::span<const TicketedRequest> batch, std::span<const TicketedReply> replies,
                 const Changes& changes, Incarnation incarnation, WallTime now) override;
  void process_began(std::uint32_t life, Incarnation incarnation);
  void process_died();
  void ledger_lost(WallTime adopted_at);  // and replaced by an empty one

  // ---- at the end ----------------------------------------------------------------------------
  [[nodiscard]] bool all_ended() const;
  [[nodiscard]] std::string what_is_open() const;
  void check_nothing_overdue() const;  // when all has been well for a while
  void check_end(bool calm, std::size_t outbox_entries);
  [[nodiscard]] Known& known_of(const Key& key);
  [[nodiscard]] const std::map<Key, Known>& known() const { return known_; }
  [[nodiscard]] std::map<std::string, std::uint64_t> census() const;

 private:
  struct HoldFacts {
    bool held = false;
    MonoTime since{};
    MonoTime last{};                      // the hold or its latest probe was answered
    std::optional<MonoTime> ill_since{};  // the first answer that was no sign of health
    std::uint64_t renewed = 0;            // when the credential or configuration was, last
    bool may_probe = false;               // at once, for it is new
    std::string authorization{};          // of the latest call
    std::uint64_t refused = 0;            // when a credential was, last
    std::string old{};                    // the credential that was refused first
    MonoTime old_since{};
    // Nothing is held any more.
    void close() {
      *this = HoldFacts{
          .renewed = renewed, .authorization = authorization, .old = old, .old_since = old_since};
    }
    // Of a credential that has been replaced, or of a call that was under way when it was refused.
    [[nodiscard]] bool is_old(const Attempt& a) const {
      return a.authorization != authorization || a.order < renewed ||
             (a.authorization == old && a.submitted < old_since);
    }
    // A probe that was claimed before the renewal tried something else.
    [[nodiscard]] bool counts(const Attempt& a) const {
      return held && a.claim_asked > since && a.order > renewed;
    }
  };
  struct Credentials {
    std::map<std::string, std::uint64_t> numbers{};  // by authorization
    std::uint64_t at_hand = 0;
  };
  // Replaced before its refusal was heard, maybe because of its age.
  [[nodiscard]] bool is_replaced(const Attempt& a) const;
  static void note_authorization(HoldFacts& hold, const Attempt& now);
  void note_health(const Attempt& attempt, Told told, const Reply* reply);
  void check_hold(const Attempt& attempt, std::size_t provider);
  void check_repeat(const Known& known, Attempt& now) const;
  void check_failover(const Known& known, const Attempt& now);
  void check_looked_for(const Known& known, bool no_receipt) const;
  void check_late(const Attempt& attempt);
  void note_doubt(Known& known) const;
  void check_look_window(const Row& before, const Row& after, WallTime now) const;
  void check_given_up(const Settlement& s, const Row& before, const Row& after) const;
  [[nodiscard]] bool looks(const Known& known) const {
    return policy(known).ambiguous(Channel::push) == AmbiguityPolicy::lookup;
  }
  [[nodiscard]] Known& asked_by(std::size_t provider, const HttpRequest& request);
  struct Commit {
    Incarnation incarnation{};
    WallTime now{};
  };
  void check_claim(const ClaimRequest& request, Ticket ticket, const ClaimReply& reply,
                   const RowChange* change, const Commit& commit);
  void check_claimed(const ClaimRequest& request, const Claimed& claimed, const Known& known,
                     const std::optional<Row>& before, const Commit& commit);
  void check_settlement(const Settlement& settlement, const Settled& reply,
                        const RowChange* change);
  void check_doubt(const Settlement& s, const Row& before, const Row& after) const;
  void check_fenced(const Settlement& s, const Row& before, const Row& after) const;
  void check_blame(const Settlement& s, const Row& before, const Row& after) const;
  void check_change(const Row& before, const Row& after) const;
  void check_sweep(const RowChange& change, const Commit& commit);
  void check_forgotten(Known& known);
  static void forget_attempts(Known& known);
  void check_ending(const Row& row) const;
  void check_device(const DeviceChanged& change, const TicketedRequest& request);
  void check_events(const Changes& changes, std::span<const TicketedRequest> batch);
  void note_settled(const Settlement& settlement, Known& known);
  void note_row(const RowChange& change);
  void check_key(const Known& known, bool calm) const;
  [[nodiscard]] bool can_come_back(const Known& known) const;
  void check_delivery_acked(const Published& message, const Published::Wanted& wanted) const;
  [[nodiscard]] const ClassPolicy& policy(const Known& known) const {
    return classes_[known.message_class];
  }

  World& world_;
  std::vector<ClassPolicy> classes_;
  std::vector<ProviderFacts> providers_{};
  EnvelopeDecoder decoder_{};
  KeyMaker keys_;
  std::map<Key, Known> known_{};
  std::map<std::string, Known*> by_request_{};  // how a request names its delivery
  std::map<DeviceHash, std::vector<Known*>> by_device_{};
  std::list<Published> messages_{};
  struct Asked {
    MonoTime at{};
    std::uint64_t order = 0;
    bool answered = false;
  };
  std::map<Ticket, Asked> claim_asked_{};
  std::uint64_t order_ = 0;
  std::vector<HoldFacts> holds_{16};
  std::vector<Credentials> credentials_{16};
  std::map<DeviceHash, DeviceRow> devices_{};  // as is durable
  std::set<std::string> copies_{};
  std::map<std::string, std::uint32_t> told_in_life_{};  // outbox entries
  std::uint32_t life_ = 0;
  Incarnation incarnation_{};
  std::optional<WallTime> adopted_at_{};
  Fence highest_fence_{};
};

[[nodiscard]] std::string short_text(const Key& key);
// What a test puts into every notification, by which its content is recognised in a request.
[[nodiscard]] std::string marker_in(const std::string& body);

}  // namespace sendonce::sim
