#include "ledger/memory/memory_ledger.hpp"

#include <algorithm>
#include <utility>

#include "ledger/memory/memory_store.hpp"

namespace sendonce {

MemoryLedger::MemoryLedger(MemoryDisk& disk, MemoryLedgerOptions options)
    : disk_(disk), options_(std::move(options)), events_("sendonce/" + options_.id) {
  if (disk_.tables.size() < options_.scopes) disk_.tables.resize(options_.scopes);
  life_.incarnation = Incarnation(++disk_.incarnation);
  life_.next_fence = disk_.next_fence;
  life_.next_outbox = disk_.next_outbox;
  rebuild();
}

MemoryLedger::~MemoryLedger() = default;

Result<std::vector<TicketedReply>> MemoryLedger::commit(std::span<const TicketedRequest> batch,
                                                        WallTime now) {
  if (lost_) return fail(Errc::unavailable, "memory ledger: in doubt, recover it first");
  MemoryStore store(disk_);
  Batch work(store, life_, events_, now);
  const auto give_up = [&](Error error) -> Result<std::vector<TicketedReply>> {
    store.abort();
    work.abandoned();
    lost_ = error.code != Errc::exhausted;
    return std::unexpected(std::move(error));
  };
  if (const auto code = fault_at(CommitStage::write)) return give_up({*code, "injected"});
  std::vector<TicketedReply> replies;
  replies.reserve(batch.size());
  for (const TicketedRequest& request : batch) {
    auto reply = work.apply(request);
    if (!reply) return give_up(std::move(reply).error());
    replies.push_back({.ticket = request.ticket, .reply = std::move(*reply)});
  }
  if (auto done = work.finish(); !done) return give_up(std::move(done).error());
  // Serials are durable with everything else; they never go back.
  disk_.next_fence = life_.next_fence;
  disk_.next_outbox = life_.next_outbox;
  if (const auto code = fault_at(CommitStage::before_commit)) return give_up({*code, "injected"});
  store.commit();
  work.committed();
  publish_stats();
  if (const auto code = fault_at(CommitStage::after_commit)) {
    lost_ = true;
    return fail(*code, "injected");
  }
  return replies;
}

Result<void> MemoryLedger::recover() {
  lost_ = false;
  rebuild();
  return {};
}

void MemoryLedger::rebuild() {
  life_.agenda.clear();
  life_.open_rows = 0;
  for (std::size_t table = 0; table < disk_.tables.size(); ++table) {
    for (const auto& [sequence, row] : disk_.tables[table].rows) {
      life_.newest_stored = std::max(life_.newest_stored, row.created);
      if (!has_ended(row.state)) ++life_.open_rows;
      if (const auto due = due_time(row, life_.incarnation))
        life_.agenda.add(row_id(table, sequence), *due);
    }
  }
  publish_stats();
}

void MemoryLedger::publish_stats() {
  stats_ = LedgerStats{};
  for (const MemoryDisk::Table& table : disk_.tables) stats_.rows += table.rows.size();
  stats_.open_rows = life_.open_rows;
  stats_.outbox_entries = disk_.outbox.size();
  if (!disk_.outbox.empty()) {
    stats_.outbox_oldest = disk_.outbox.begin()->second.created;
    stats_.outbox_last = disk_.outbox.rbegin()->second.seq;
  }
  life_.claims_stopped = options_.rows_max != 0 && stats_.rows >= options_.rows_max;
  stats_.claims_stopped = life_.claims_stopped;
}

std::optional<Errc> MemoryLedger::fault_at(CommitStage stage) const {
  if (!options_.fault) return std::nullopt;
  return options_.fault(stage);
}

}  // namespace sendonce
