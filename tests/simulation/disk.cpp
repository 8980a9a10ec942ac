#include "tests/simulation/disk.hpp"

#include <algorithm>
#include <utility>

#include "ledger/device.hpp"
#include "ledger/outbox_codec.hpp"
#include "ledger/row_codec.hpp"
#include "ledger/rules.hpp"
#include "tests/simulation/world.hpp"

namespace sendonce::sim {
namespace {

constexpr std::uint64_t kSerialsReserved = 4096;

Disk::Stored encoded(const Row& row) {
  Disk::Stored stored{.bytes = encode_row(row)};
  if (stored_row(stored.bytes) != row) broken(0, "a row does not survive its encoding");
  const auto peek = peek_row(stored.bytes);
  if (!peek) broken(0, "a stored row cannot be looked at: " + peek.error().text);
  stored.peek = *peek;
  return stored;
}

DeviceRow stored_device(const std::string& bytes) {
  auto device = decode_device(bytes);
  if (!device) broken(0, "a stored device cannot be read: " + device.error().text);
  return *device;
}

OutboxEntry stored_entry(std::uint64_t seq, const std::string& bytes) {
  auto entry = decode_outbox(OutboxSeq(seq), bytes);
  if (!entry) broken(0, "a stored event cannot be read: " + entry.error().text);
  return std::move(*entry);
}

}  // namespace

Row stored_row(const std::string& bytes) {
  auto row = decode_row(bytes);
  if (!row) broken(0, "a stored row cannot be read: " + row.error().text);
  return std::move(*row);
}

Result<std::optional<StoredRow>> DiskStore::find(ScopeIndex scope, const Key& key) {
  const Disk::Table& table = disk_.tables.at(scope.get());
  const auto found = table.by_key.find(key);
  if (found == table.by_key.end()) return std::optional<StoredRow>{};
  return std::optional(StoredRow{.id = row_id(scope.get(), found->second),
                                 .row = stored_row(table.rows.at(found->second).bytes)});
}

Result<std::optional<Row>> DiskStore::at(RowId id) {
  const Disk::Table& table = disk_.tables.at(table_of(id));
  const auto found = table.rows.find(sequence_of(id));
  if (found == table.rows.end()) return std::optional<Row>{};
  return std::optional(stored_row(found->second.bytes));
}

Result<RowId> DiskStore::insert(ScopeIndex scope, const Row& row) {
  Disk::Table& table = disk_.tables.at(scope.get());
  const std::uint64_t sequence = table.next_sequence++;
  table.rows.emplace(sequence, encoded(row));
  if (!table.by_key.emplace(row.key, sequence).second) broken(2, "a key has two rows");
  undo_.emplace_back([&table, sequence, key = row.key] {
    table.rows.erase(sequence);
    table.by_key.erase(key);
  });
  changes_.rows.push_back({.request = request_, .before = std::nullopt, .after = row});
  return row_id(scope.get(), sequence);
}

Result<void> DiskStore::update(RowId id, const Row& row, const Key& old_key) {
  Disk::Table& table = disk_.tables.at(table_of(id));
  Disk::Stored& stored = table.rows.at(sequence_of(id));
  Row before = stored_row(stored.bytes);
  if (before.key != old_key) broken(0, "a row is updated under a key that is not its own");
  undo_.emplace_back(
      [&table, was = stored, key = before.key, now = row.key, sequence = sequence_of(id)] {
        table.by_key.erase(now);
        table.by_key[key] = sequence;
        table.rows.at(sequence) = was;
      });
  table.by_key.erase(old_key);
  table.by_key[row.key] = sequence_of(id);
  stored = encoded(row);
  changes_.rows.push_back({.request = request_, .before = std::move(before), .after = row});
  return {};
}

Result<Expiry> DiskStore::expire(WallTime memory_now, std::size_t max) {
  Expiry expiry;
  for (Disk::Table& table : disk_.tables) {
    for (auto at = table.rows.begin(); at != table.rows.end() && expiry.removed < max;) {
      const RowPeek& peek = at->second.peek;
      if (!may_forget(peek.state, peek.dead_letter, peek.keep_until, memory_now)) {
        ++at;
        continue;
      }
      undo_.emplace_back([&table, sequence = at->first, was = at->second] {
        table.rows.emplace(sequence, was);
        table.by_key[was.peek.key] = sequence;
      });
      changes_.rows.push_back(
          {.request = request_, .before = stored_row(at->second.bytes), .after = std::nullopt});
      table.by_key.erase(peek.key);
      at = table.rows.erase(at);
      ++expiry.removed;
    }
  }
  return expiry;
}

Result<std::optional<DeviceRow>> DiskStore::device(const DeviceHash& hash) {
  const auto found = disk_.devices.find(hash);
  if (found == disk_.devices.end()) return std::optional<DeviceRow>{};
  return std::optional(stored_device(found->second));
}

Result<void> DiskStore::put_device(const DeviceHash& hash, const DeviceRow& row) {
  std::optional<DeviceRow> before;
  const auto found = disk_.devices.find(hash);
  if (found == disk_.devices.end()) {
    undo_.emplace_back([this, hash] { disk_.devices.erase(hash); });
  } else {
    before = stored_device(found->second);
    undo_.emplace_back([this, hash, bytes = found->second] { disk_.devices[hash] = bytes; });
  }
  disk_.devices[hash] = encode_device(row);
  if (stored_device(disk_.devices[hash]) != row)
    broken(0, "a device does not survive its encoding");
  changes_.devices.push_back({.request = request_, .hash = hash, .before = before, .after = row});
  return {};
}

Result<std::optional<DeviceBinding>> DiskStore::binding(const DeviceHash& hash) {
  const auto found = disk_.bindings.find(hash);
  if (found == disk_.bindings.end()) return std::optional<DeviceBinding>{};
  return std::optional(decode_binding(found->second).value());
}

Result<void> DiskStore::put_binding(const DeviceHash& hash, const DeviceBinding& binding) {
  undo_.emplace_back([this, before = disk_.bindings] { disk_.bindings = before; });
  disk_.bindings[hash] = encode_binding(binding);
  return {};
}

Result<void> DiskStore::forget_bindings(WallTime used, std::size_t max) {
  if (disk_.bindings.empty() || max == 0) return {};
  undo_.emplace_back([this, before = disk_.bindings] { disk_.bindings = before; });
  std::erase_if(disk_.bindings, [&](const auto& stored) {
    return decode_binding(stored.second).value().used < used;
  });
  return {};
}

Result<void> DiskStore::append_outbox(const OutboxEntry& entry) {
  const std::uint64_t seq = entry.seq.get();
  if (!disk_.outbox.empty() && disk_.outbox.rbegin()->first >= seq)
    broken(14, "an outbox sequence is used twice");
  disk_.outbox.emplace(seq, encode_outbox(entry));
  undo_.emplace_back([this, seq] { disk_.outbox.erase(seq); });
  changes_.appended.push_back(entry);
  return {};
}

Result<OutboxPage> DiskStore::read_outbox(const OutboxRead& read) {
  OutboxPage page;
  for (auto at = disk_.outbox.upper_bound(read.after.get());
       at != disk_.outbox.end() && page.entries.size() < read.max_entries; ++at)
    page.entries.push_back(stored_entry(at->first, at->second));
  return page;
}

Result<void> DiskStore::remove_outbox(OutboxSeq seq) {
  const auto found = disk_.outbox.find(seq.get());
  if (found == disk_.outbox.end()) return {};
  undo_.emplace_back(
      [this, at = found->first, bytes = found->second] { disk_.outbox[at] = bytes; });
  disk_.outbox.erase(found);
  changes_.removed.push_back(seq);
  return {};
}

std::optional<WallTime> DiskStore::adopted_at(ScopeIndex scope) const {
  return disk_.tables.at(scope.get()).adopted_at;
}

void DiskStore::abort() {
  while (!undo_.empty()) {
    undo_.back()();
    undo_.pop_back();
  }
  changes_ = Changes{};
}

DiskLedger::DiskLedger(Disk& disk, DiskOptions options, CommitWitness& witness)
    : disk_(disk),
      options_(std::move(options)),
      witness_(witness),
      events_("sendonce/" + options_.id) {
  life_.incarnation = Incarnation(++disk_.incarnation);
  life_.next_fence = disk_.fence_limit;
  life_.next_outbox = disk_.outbox_limit;
  disk_.fence_limit += kSerialsReserved;
  disk_.outbox_limit += kSerialsReserved;
  rebuild();
}

void DiskLedger::reserve_serials(std::size_t requests) {
  if (life_.next_fence + 2 * requests >= disk_.fence_limit) disk_.fence_limit += kSerialsReserved;
  if (life_.next_outbox + kSweepMax + 2 * requests >= disk_.outbox_limit)
    disk_.outbox_limit += kSerialsReserved;
}

Result<std::vector<TicketedReply>> DiskLedger::commit(std::span<const TicketedRequest> batch,
                                                      WallTime now) {
  if (lost_) return fail(Errc::unavailable, "ledger: in doubt, recover it first");
  DiskStore store(disk_);
  Batch work(store, life_, events_, now);
  const auto give_up = [&](Error error) -> Result<std::vector<TicketedReply>> {
    store.abort();
    work.abandoned();
    if (error.code == Errc::exhausted) {
      life_.claims_stopped = stats_.claims_stopped = true;
    } else {
      lost_ = true;
    }
    return std::unexpected(std::move(error));
  };
  reserve_serials(batch.size());
  std::vector<TicketedReply> replies;
  replies.reserve(batch.size());
  for (const TicketedRequest& request : batch) {
    auto reply = work.apply(request);
    if (!reply) return give_up(std::move(reply).error());
    replies.push_back({.ticket = request.ticket, .reply = std::move(*reply)});
    store.next_request();
  }
  // The map may be full at any page: what the batch took from the agenda has to come back.
  if (const auto code = fault_at(CommitStage::write)) return give_up({*code, "injected"});
  if (auto done = work.finish(); !done) return give_up(std::move(done).error());
  if (const auto code = fault_at(CommitStage::before_commit)) return give_up({*code, "injected"});
  // Durable from here on.
  witness_.committed(batch, replies, store.changes(), life_.incarnation, now);
  if (const auto code = fault_at(CommitStage::after_commit)) {
    work.abandoned();
    lost_ = true;
    return fail(*code, "injected");
  }
  work.committed();
  publish_stats();
  return replies;
}

Result<void> DiskLedger::recover() {
  lost_ = false;
  rebuild();
  return {};
}

void DiskLedger::rebuild() {
  life_.agenda.clear();
  life_.open_rows = 0;
  for (std::size_t table = 0; table < disk_.tables.size(); ++table) {
    for (const auto& [sequence, stored] : disk_.tables[table].rows) {
      const Row row = stored_row(stored.bytes);
      life_.newest_stored = std::max(life_.newest_stored, row.created);
      if (!has_ended(row.state)) ++life_.open_rows;
      if (const auto due = due_time(row, life_.incarnation))
        life_.agenda.add(row_id(table, sequence), *due);
    }
  }
  publish_stats();
}

void DiskLedger::publish_stats() {
  stats_ = LedgerStats{};
  for (const Disk::Table& table : disk_.tables) stats_.rows += table.rows.size();
  stats_.open_rows = life_.open_rows;
  stats_.outbox_entries = disk_.outbox.size();
  if (!disk_.outbox.empty()) {
    const auto& [first, bytes] = *disk_.outbox.begin();
    stats_.outbox_oldest = stored_entry(first, bytes).created;
    stats_.outbox_last = OutboxSeq(disk_.outbox.rbegin()->first);
  }
  life_.claims_stopped = options_.rows_max != 0 && stats_.rows >= options_.rows_max;
  stats_.claims_stopped = life_.claims_stopped;
}

std::optional<Errc> DiskLedger::fault_at(CommitStage stage) const {
  if (!options_.fault) return std::nullopt;
  return options_.fault(stage);
}

}  // namespace sendonce::sim
