#include "plugin/cli/bench/ledger_own.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "ledger/row_codec.hpp"
#include "plugin/core/assert.hpp"
#include "plugin/core/random.hpp"

namespace sendonce::cli {
namespace {

constexpr std::uint64_t kMapBytes = std::uint64_t{64} << 30U;
constexpr std::uint64_t kPreloadBatch = 2000;
constexpr Duration kRetention = std::chrono::hours(72);

}  // namespace

void fill_key(std::uint64_t number, char* to) {
  Random random(number * 0x12345U + 7);
  for (std::size_t i = 0; i < 32; i += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(to + i, &word, sizeof word);
  }
}

Result<std::unique_ptr<OwnStore>> OwnStore::make(const std::string& directory) {
  auto store = std::unique_ptr<OwnStore>(new OwnStore);
  store->options_.directory = directory;
  store->options_.scopes = {"orders"};
  store->options_.map_bytes = kMapBytes;
  store->options_.check_file_system = false;  // what it is stands beside the figures
  if (!std::filesystem::exists(directory + "/data.mdb")) {
    if (const auto id = create_ledger(store->options_); !id) return std::unexpected(id.error());
  }
  SO_CHECK(store->open(LedgerDurability::commit));
  return store;
}

Result<void> OwnStore::open(LedgerDurability durability) {
  ledger_.reset();
  fences_.clear();
  options_.durability = durability;
  SO_TRY(ledger_, open_ledger(options_));
  return {};
}

Result<Duration> OwnStore::reopen() {
  ledger_.reset();
  const MonoTime from = clock_->mono();
  SO_CHECK(open(LedgerDurability::commit));
  return clock_->mono() - from;
}

Result<void> OwnStore::batch(std::uint64_t first, std::uint64_t count, std::int64_t settle_from) {
  requests_.clear();
  for (std::uint64_t i = first; i < first + count; ++i)
    requests_.push_back({.ticket = Ticket(++ticket_), .request = claim(i)});
  if (settle_from >= 0) {
    for (std::uint64_t i = 0; i < count; ++i)
      add_settlement(static_cast<std::uint64_t>(settle_from) + i);
  }
  SO_TRY(const auto replies, ledger_->commit(requests_, clock_->wall() + ahead_));
  if (fences_.empty()) first_fence_of_ = first;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto* claimed = std::get_if<Claimed>(&std::get<ClaimReply>(replies[i].reply));
    if (claimed == nullptr) return fail(Errc::internal, "bench: a new key was not claimed");
    fences_.push_back(claimed->fence);
  }
  for (std::uint64_t i = count; i < replies.size(); ++i) {
    if (std::get<Settled>(replies[i].reply).state != State::accepted)
      return fail(Errc::internal, "bench: an outcome was not recorded");
  }
  return {};
}

Result<void> OwnStore::preload(std::uint64_t rows) {
  std::uint64_t next = ledger_->stats().rows;
  if (next >= rows) return {};
  SO_CHECK(open(LedgerDurability::process));
  while (next < rows) {
    const std::uint64_t count = std::min(kPreloadBatch, rows - next);
    SO_CHECK(batch(next, count, -1));
    SO_CHECK(settle_open());
    next += count;
  }
  return open(LedgerDurability::commit);
}

Result<void> OwnStore::settle_open() {
  while (!fences_.empty()) {
    requests_.clear();
    while (!fences_.empty() && requests_.size() < kPreloadBatch) add_settlement(first_fence_of_);
    SO_TRY(const auto replies, ledger_->commit(requests_, clock_->wall() + ahead_));
  }
  return {};
}

Result<void> OwnStore::duplicates(std::span<const std::uint64_t> numbers) {
  requests_.clear();
  for (const std::uint64_t number : numbers)
    requests_.push_back({.ticket = Ticket(++ticket_), .request = claim(number)});
  SO_TRY(const auto replies, ledger_->commit(requests_, clock_->wall()));
  for (const TicketedReply& reply : replies) {
    if (!std::holds_alternative<Done>(std::get<ClaimReply>(reply.reply)))
      return fail(Errc::internal, "bench: a duplicate was not recognised");
  }
  return {};
}

// The ledger's clock of memory follows the messages (law 13): one that was stored later moves it.
Result<void> OwnStore::advance(std::uint64_t number, Duration ahead) {
  ahead_ = ahead;
  SO_CHECK(batch(number, 1, -1));
  fences_.clear();
  return {};
}

Result<std::size_t> OwnStore::expire(std::size_t rows) {
  const TicketedRequest request{.ticket = Ticket(++ticket_), .request = Sweep{.max_rows = rows}};
  SO_TRY(const auto replies, ledger_->commit({&request, 1}, clock_->wall() + ahead_));
  return std::get<Swept>(replies.front().reply).expired;
}

ClaimRequest OwnStore::claim(std::uint64_t number) const {
  const WallTime now = clock_->wall() + ahead_;
  ClaimRequest claim;
  fill_key(number, reinterpret_cast<char*>(claim.key.bytes.data()));
  claim.event = LookupHash(number + 1);
  claim.recipient = LookupHash(number % 1000 + 1);
  claim.lease = std::chrono::seconds(60);
  claim.retention = kRetention;
  claim.stored_at = now;
  claim.deadline = now + std::chrono::hours(24);
  claim.message_class = "orders";
  claim.provider = "apns";
  return claim;
}

Fence OwnStore::take_fence(std::uint64_t number) {
  SO_ASSERT(number >= first_fence_of_ && number - first_fence_of_ < fences_.size());
  fences_.erase(fences_.begin(),
                fences_.begin() + static_cast<std::ptrdiff_t>(number - first_fence_of_));
  const Fence fence = fences_.front();
  fences_.pop_front();
  first_fence_of_ = number + 1;
  return fence;
}

void OwnStore::add_settlement(std::uint64_t number) {
  Settlement settlement;
  fill_key(number, reinterpret_cast<char*>(settlement.key.bytes.data()));
  settlement.fence = take_fence(number);
  settlement.state = State::accepted;
  settlement.verdict.name = VerdictClass::accepted;
  settlement.verdict.effect = Effect::sent;
  settlement.verdict.fault = Fault::none;
  settlement.verdict.message_id = "6CB2B1C2-7E50-4C1A-9C4B-0F3E8D1A2B3C";
  settlement.counted = true;
  settlement.exceptional_only = true;
  settlement.retention = kRetention;
  requests_.push_back({.ticket = Ticket(++ticket_), .request = std::move(settlement)});
}

double OwnStore::file_bytes_a_row() const {
  const LedgerStats& stats = ledger_->stats();
  return static_cast<double>(stats.used_bytes) / static_cast<double>(stats.rows);
}

double OwnStore::index_bytes_a_row() const {
  return static_cast<double>(ledger_->index_bytes()) / static_cast<double>(ledger_->stats().rows);
}

Result<std::size_t> OwnStore::row_bytes() const {
  std::size_t bytes = 0;
  SO_CHECK(ledger_->scan({.state = State::accepted}, [&bytes](std::string_view, const Row& row) {
    bytes = encoded_size(row);
    return false;
  }));
  return bytes;
}

}  // namespace sendonce::cli
