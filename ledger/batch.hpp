// Applies a batch of requests to an open transaction by the rules. Shared by every ledger.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ledger/agenda.hpp"
#include "ledger/ledger.hpp"
#include "ledger/outcome_event.hpp"
#include "ledger/rules.hpp"
#include "ledger/store.hpp"

namespace sendonce {

// What a ledger keeps in memory from batch to batch. Serials move on whether or not a batch is
// committed: a failed commit may have reached the disk, and none may be used twice.
struct LedgerLife {
  Incarnation incarnation{};
  std::uint64_t next_fence = 0;
  std::uint64_t next_outbox = 0;
  WallTime newest_stored{};  // of the messages seen, the second clock of law 13
  std::uint64_t open_rows = 0;
  bool claims_stopped = false;
  Agenda agenda{};
};

// Memory is forgotten by the slower of two clocks: one that is wrong cannot delete it.
[[nodiscard]] WallTime memory_clock(WallTime now, WallTime newest_stored);

// A sweep touches no more rows than this, whatever it is asked for.
inline constexpr std::size_t kSweepMax = 1000;

class Batch {
 public:
  Batch(Store& store, LedgerLife& life, EventBatch& events, WallTime now);

  // In order; after an error the transaction has to be abandoned.
  [[nodiscard]] Result<LedgerReply> apply(const TicketedRequest& request);
  // Writes the outbox entries. Then commit the transaction and call one of the next two.
  [[nodiscard]] Result<void> finish();
  void committed();
  void abandoned();

  [[nodiscard]] bool swept() const { return swept_; }

 private:
  Result<LedgerReply> apply_claim(const ClaimRequest& request, Ticket ticket);
  Result<LedgerReply> apply_settlement(const Settlement& settlement);
  Result<LedgerReply> apply_dead_letter_done(const DeadLetterDone& done);
  Result<LedgerReply> apply_resolve(const Resolve& request);
  Result<LedgerReply> apply_set_device(const SetDevice& request);
  Result<void> note_audit(AuditEntry entry, std::string result);
  Result<LedgerReply> apply_sweep(const Sweep& sweep);
  Result<void> sweep_due(std::size_t max, Swept& swept);
  Result<void> tell_reuse(const ClaimRequest& request, DeviceBinding binding);
  Result<void> bind(const Bind& bind);
  Result<void> note_device(const Settlement& settlement, const std::string& ref,
                           const std::string& provider);

  [[nodiscard]] RuleContext context() const;
  void track(RowId id, std::optional<WallTime> due_before, bool open_before, const Row& after);

  // Changes of the agenda, made when the batch is committed.
  struct Note {
    RowId id{};
    std::optional<WallTime> due{};
    std::optional<RowId> moved_to{};
  };

  Store& store_;
  LedgerLife& life_;
  EventBatch& events_;
  WallTime now_;
  bool swept_ = false;
  std::int64_t opened_ = 0;
  std::vector<Note> notes_{};
  std::vector<Agenda::Entry> taken_{};
};

}  // namespace sendonce
