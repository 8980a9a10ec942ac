// Copies, checks and restores of a ledger, beside a process that writes and without one.
#include "ledger/lmdb/upkeep.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger/binding.hpp"
#include "ledger/lmdb/data_file.hpp"
#include "ledger/lmdb/open.hpp"
#include "ledger/row_codec.hpp"
#include "plugin/core/random.hpp"
#include "tests/contract/ledger_rig.hpp"

namespace sendonce::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const CheckProgress kSilent = [](std::uint64_t, std::uint64_t) {};

LedgerOptions options_for(const std::string& directory) {
  LedgerOptions options;
  options.directory = directory;
  options.scopes = {"orders", "codes"};
  options.map_bytes = std::uint64_t{64} << 20U;
  options.reserve_bytes = std::uint64_t{1} << 20U;
  options.check_file_system = false;
  return options;
}

// Claims the keys and ends them, one batch after the other. False: an error.
bool claim_and_accept(Ledger& ledger, std::uint64_t first, std::uint64_t rows = 1) {
  std::vector<TicketedRequest> batch;
  for (std::uint64_t i = 0; i < rows; ++i)
    batch.push_back({.ticket = Ticket(i), .request = claim_of(first + i)});
  const auto claims = ledger.commit(batch, kNoon);
  if (!claims) return false;
  batch.clear();
  for (std::uint64_t i = 0; i < rows; ++i) {
    const auto* reply = std::get_if<ClaimReply>(&claims->at(i).reply);
    const auto* claimed = reply == nullptr ? nullptr : std::get_if<Claimed>(reply);
    if (claimed == nullptr) return false;
    batch.push_back(
        {.ticket = Ticket(rows + i),
         .request = settle_of(first + i, claimed->fence, State::accepted, Effect::sent)});
  }
  return ledger.commit(batch, kNoon).has_value();
}

void fill(const LedgerOptions& options, std::uint64_t rows) {
  ASSERT_TRUE(create_ledger(options).has_value());
  const auto ledger = open_ledger(options);
  ASSERT_TRUE(ledger.has_value()) << ledger.error().text;
  ASSERT_TRUE(claim_and_accept(**ledger, 0, rows));
}

std::vector<std::string> rows_in(const std::string& directory) {
  std::vector<std::string> rows;
  const auto scanned = scan_ledger(directory, [&rows](std::string_view scope, const Row& row) {
    rows.push_back(std::string(scope) + encode_row(row));
    return true;
  });
  EXPECT_TRUE(scanned.has_value()) << scanned.error().text;
  return rows;
}

// Binds a device to a recipient.
void bind_one(const LedgerOptions& options, std::uint64_t number) {
  const auto ledger = open_ledger(options);
  ASSERT_TRUE(ledger.has_value()) << ledger.error().text;
  const TicketedRequest claim{.ticket = Ticket(1), .request = claim_of(number)};
  const auto replies = (*ledger)->commit({&claim, 1}, kNoon);
  ASSERT_TRUE(replies.has_value());
  const Fence fence = reply_as<Claimed>(replies->front().reply).fence;
  Settlement settlement = settle_of(number, fence, State::accepted, Effect::sent);
  settlement.bind = Bind{.hash = {}, .recipient = LookupHash(7), .registered_at = std::nullopt};
  settlement.bind->hash.bytes.fill(static_cast<std::uint8_t>(number));
  const TicketedRequest settle{.ticket = Ticket(2), .request = settlement};
  ASSERT_TRUE((*ledger)->commit({&settle, 1}, kNoon).has_value());
}

// One from before there were bindings, and one with some.
TEST(Upkeep, BindingsAreCountedCheckedAndCopied) {
  const LedgerDir dir;
  const LedgerOptions options = options_for(dir.path() + "/ledger");
  ASSERT_TRUE(create_ledger(options).has_value());
  EXPECT_EQ(ledger_sizes(options.directory)->bindings, 0U);
  EXPECT_EQ(check_ledger(options.directory, kSilent)->bindings, 0U);
  for (const std::uint64_t number : {1U, 2U}) bind_one(options, number);
  EXPECT_EQ(ledger_sizes(options.directory)->bindings, 2U);
  const std::string copy = dir.path() + "/copy";
  ASSERT_TRUE(copy_ledger(options.directory, copy).has_value());
  for (const std::string& directory : {options.directory, copy}) {
    const auto check = check_ledger(directory, kSilent);
    ASSERT_TRUE(check.has_value());
    EXPECT_TRUE(check->sound());
    EXPECT_EQ(check->bindings, 2U);
  }
  // A bit of one of them.
  std::fstream file(copy + "/data.mdb", std::ios::in | std::ios::out | std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const std::string hash(DeviceHash::kSize, '\x01');
  const std::size_t at = bytes.find(
      hash +
      encode_binding({.recipient = LookupHash(7), .since = kNoon, .used = kNoon, .told = {}}));
  ASSERT_NE(at, std::string::npos);
  file.seekp(static_cast<std::streamoff>(at + hash.size() + 8));
  file.put('x');
  file.close();
  const auto damaged = check_ledger(copy, kSilent);
  ASSERT_TRUE(damaged.has_value());
  EXPECT_EQ(damaged->damaged, 1U);
  EXPECT_THAT(damaged->damages.at(0), HasSubstr("bindings"));
}

TEST(Upkeep, ACopyHoldsWhatTheLedgerHeld) {
  const LedgerDir dir;
  const LedgerOptions options = options_for(dir.path() + "/ledger");
  fill(options, 300);
  const std::string copy = dir.path() + "/copy";
  const auto bytes = copy_ledger(options.directory, copy);
  ASSERT_TRUE(bytes.has_value()) << bytes.error().text;
  EXPECT_EQ(*bytes, fs::file_size(copy + "/data.mdb"));
  EXPECT_EQ(rows_in(copy), rows_in(options.directory));
  const auto check = check_ledger(copy, kSilent);
  ASSERT_TRUE(check.has_value()) << check.error().text;
  EXPECT_TRUE(check->sound());
  EXPECT_EQ(check->rows, 300U);
  EXPECT_EQ(check->by_state.at(static_cast<std::size_t>(State::accepted)), 300U);
  EXPECT_EQ(fs::status(copy + "/data.mdb").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_FALSE(fs::exists(copy + ".partial"));
}

TEST(Upkeep, ACopyOverwritesNothing) {
  const LedgerDir dir;
  const LedgerOptions options = options_for(dir.path() + "/ledger");
  fill(options, 1);
  const std::string copy = dir.path() + "/copy";
  ASSERT_TRUE(copy_ledger(options.directory, copy).has_value());
  const auto again = copy_ledger(options.directory, copy);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, Errc::denied);
  const auto nowhere = copy_ledger(options.directory, dir.path() + "/no/such/place");
  ASSERT_FALSE(nowhere.has_value());
  EXPECT_EQ(nowhere.error().code, Errc::denied);
}

// A process that claims and accepts one row after the other, and says so.
class Writer {
 public:
  explicit Writer(const LedgerOptions& options) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    child_ = ::fork();
    if (child_ == 0) write_rows(options, ends[1]);
    ::close(ends[1]);
    from_ = ends[0];
  }
  ~Writer() {
    ::close(from_);
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // The next row that is durable.
  std::uint64_t next() const {
    std::uint64_t number = 0;
    EXPECT_EQ(::read(from_, &number, sizeof number), static_cast<ssize_t>(sizeof number));
    return number;
  }

 private:
  [[noreturn]] static void write_rows(const LedgerOptions& options, int to) {
    const auto ledger = open_ledger(options);
    if (!ledger) ::_exit(1);
    for (std::uint64_t i = 0; claim_and_accept(**ledger, i); ++i)
      if (::write(to, &i, sizeof i) != sizeof i) ::_exit(0);
    ::_exit(2);
  }

  pid_t child_ = -1;
  int from_ = -1;
};

TEST(Upkeep, ACopyBesideAWriterIsOfOneMoment) {
  const LedgerDir dir;
  const LedgerOptions options = options_for(dir.path() + "/ledger");
  ASSERT_TRUE(create_ledger(options).has_value());
  const Writer writer(options);
  for (int round = 0; round < 5; ++round) {
    SCOPED_TRACE(round);
    std::uint64_t durable = 0;
    for (int i = 0; i < 50; ++i) durable = writer.next();
    const std::string copy = dir.path() + "/copy" + std::to_string(round);
    ASSERT_TRUE(copy_ledger(options.directory, copy).has_value());
    const auto check = check_ledger(copy, kSilent);
    ASSERT_TRUE(check.has_value()) << check.error().text;
    EXPECT_TRUE(check->sound());
    // All that was durable before, and at the end at most one that is not accepted yet.
    EXPECT_GT(check->rows, durable);
    const std::uint64_t accepted = check->by_state.at(static_cast<std::size_t>(State::accepted));
    EXPECT_GT(accepted, durable);
    EXPECT_LE(check->rows - accepted, 1U);
    const auto live = ledger_sizes(options.directory);
    ASSERT_TRUE(live.has_value()) << live.error().text;
    EXPECT_TRUE(live->running);
    EXPECT_GE(live->rows, check->rows);
  }
}

// What a check of a ledger in a process of its own comes to.
enum class Seen : std::uint8_t { sound, damage, refused, crashed };

Seen check_in_child(const std::string& directory) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
    static_cast<void>(::setrlimit(RLIMIT_CORE, &no_core));
    const auto check = check_ledger(directory, kSilent);
    ::_exit(!check ? 2 : check->sound() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  if (!WIFEXITED(status)) return Seen::crashed;
  switch (WEXITSTATUS(status)) {
    case 0:
      return Seen::sound;
    case 1:
      return Seen::damage;
    default:
      return Seen::refused;
  }
}

TEST(Upkeep, AFlippedBitIsFoundWhereverItMatters) {
  const LedgerDir dir;
  const LedgerOptions options = options_for(dir.path() + "/ledger");
  fill(options, 200);
  const std::string copy = dir.path() + "/copy";
  ASSERT_TRUE(copy_ledger(options.directory, copy).has_value());
  const std::vector<std::string> whole = rows_in(copy);
  std::string bytes(fs::file_size(copy + "/data.mdb"), '\0');
  std::ifstream(copy + "/data.mdb", std::ios::binary)
      .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  // Every stored row, somewhere within it.
  Random random(11);
  int unseen = 0;
  for (std::size_t i = 0; i < whole.size(); i += 4) {
    const std::string record = whole[i].substr(std::string_view("orders").size());
    const std::size_t at = bytes.find(record);
    ASSERT_NE(at, std::string::npos);
    std::string damaged = bytes;
    const std::size_t byte = at + random.below(record.size());
    damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << random.below(8)));
    std::ofstream(copy + "/data.mdb", std::ios::binary | std::ios::trunc) << damaged;
    if (check_in_child(copy) == Seen::sound) ++unseen;
  }
  EXPECT_EQ(unseen, 0);
  // And anywhere: what is not found has changed no row.
  for (int i = 0; i < 100; ++i) {
    std::string damaged = bytes;
    const std::size_t byte = random.below(damaged.size());
    damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << random.below(8)));
    std::ofstream(copy + "/data.mdb", std::ios::binary | std::ios::trunc) << damaged;
    if (check_in_child(copy) != Seen::sound) continue;
    EXPECT_EQ(rows_in(copy), whole) << "byte " << byte;
  }
}

TEST(Upkeep, ARestoredLedgerHasANewIdAndTrustsNothingSinceTheBackup) {
  const LedgerDir dir;
  LedgerOptions options = options_for(dir.path() + "/ledger");
  options.durability = LedgerDurability::process;  // whose reboots lose what was not closed
  options.boot_id = "boot-1";
  const auto old_id = create_ledger(options);
  ASSERT_TRUE(old_id.has_value());
  const std::string copy = dir.path() + "/copy";
  {
    const Writer writer(options);
    for (int i = 0; i < 20; ++i) static_cast<void>(writer.next());
    ASSERT_TRUE(copy_ledger(options.directory, copy).has_value());
  }
  LedgerOptions elsewhere = options;
  elsewhere.directory = dir.path() + "/restored";
  elsewhere.boot_id = "boot-2";
  const std::string id = new_ledger_id();
  const auto restored = restore_ledger(elsewhere, copy, id, kNoon + std::chrono::hours(1));
  ASSERT_TRUE(restored.has_value()) << restored.error().text;
  const auto ledger = open_ledger(elsewhere);
  ASSERT_TRUE(ledger.has_value()) << ledger.error().text;
  EXPECT_EQ((*ledger)->id(), id);
  EXPECT_NE((*ledger)->id(), *old_id);
  EXPECT_GE((*ledger)->stats().rows, 20U);
  // Stored before the restore and unknown: it may have been sent after the backup.
  const auto claimed = reply_as<Claimed>(run(**ledger, Ticket(1), claim_of(1'000'000), kNoon));
  EXPECT_EQ(claimed.carried, Effect::maybe_sent);
}

TEST(Upkeep, ARestoreReplacesNoLedger) {
  const LedgerDir dir;
  const LedgerOptions options = options_for(dir.path() + "/ledger");
  fill(options, 3);
  const std::string copy = dir.path() + "/copy";
  ASSERT_TRUE(copy_ledger(options.directory, copy).has_value());
  const auto before = rows_in(options.directory);
  const auto refused = restore_ledger(options, copy, new_ledger_id(), kNoon);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::denied);
  EXPECT_THAT(refused.error().text, HasSubstr("holds a ledger"));
  EXPECT_EQ(rows_in(options.directory), before);
}

TEST(Upkeep, CompactingKeepsTheRowsAndNeedsTheOwnerLock) {
  const LedgerDir dir;
  const LedgerOptions options = options_for(dir.path() + "/ledger");
  fill(options, 300);
  const auto rows = rows_in(options.directory);
  const auto before = fs::file_size(options.directory + "/data.mdb");
  const auto bytes = compact_ledger(options.directory);
  ASSERT_TRUE(bytes.has_value()) << bytes.error().text;
  EXPECT_LT(*bytes, before);
  EXPECT_EQ(rows_in(options.directory), rows);
  EXPECT_FALSE(fs::exists(options.directory + "/compacting"));
  const auto ledger = open_ledger(options);
  ASSERT_TRUE(ledger.has_value()) << ledger.error().text;
  const auto busy = compact_ledger(options.directory);
  ASSERT_FALSE(busy.has_value());
  EXPECT_EQ(busy.error().code, Errc::busy);
}

// ---- what people did ----------------------------------------------------------------------------

AuditEntry deed(const std::string& verb) {
  return {.at = kNoon, .uid = 0, .user = "root", .by = "alice", .verb = verb, .result = "done"};
}

std::vector<std::string> audit_in(const std::string& directory) {
  std::vector<std::string> verbs;
  const auto scanned = scan_audit(directory, [&verbs](const AuditEntry& entry) {
    verbs.push_back(entry.verb);
    return true;
  });
  EXPECT_TRUE(scanned.has_value()) << scanned.error().text;
  return verbs;
}

TEST(Upkeep, TheAuditIsCopiedCheckedCountedAndRead) {
  const LedgerDir dir;
  const LedgerOptions options = options_for(dir.path() + "/ledger");
  fill(options, 3);
  {
    const auto ledger = open_ledger(options);
    ASSERT_TRUE(ledger.has_value());
    for (const char* verb : {"pause", "resume"})
      static_cast<void>(
          reply_as<AuditNoted>(run(**ledger, Ticket(1), NoteAudit{deed(verb)}, kNoon)));
  }
  const std::string copy = dir.path() + "/copy";
  ASSERT_TRUE(copy_ledger(options.directory, copy).has_value());
  for (const std::string& directory : {options.directory, copy}) {
    EXPECT_EQ(audit_in(directory), (std::vector<std::string>{"pause", "resume"}));
    EXPECT_EQ(ledger_sizes(directory)->audit, 2U);
    const auto check = check_ledger(directory, kSilent);
    ASSERT_TRUE(check.has_value());
    EXPECT_EQ(check->audit, 2U);
    EXPECT_TRUE(check->sound());
    const auto reader = LedgerReader::open(directory);
    ASSERT_TRUE(reader.has_value());
    const auto page = (*reader)->audit({});
    ASSERT_TRUE(page.has_value());
    ASSERT_EQ(page->entries.size(), 2U);
    EXPECT_EQ(page->entries[0].verb, "resume") << "the newest first";
  }
  // One wrong bit in one of its texts.
  std::string bytes;
  {
    std::ifstream file(copy + "/data.mdb", std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  const std::size_t at = bytes.find("alice");
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 'A';
  std::ofstream(copy + "/data.mdb", std::ios::binary | std::ios::trunc) << bytes;
  const auto damaged = check_ledger(copy, kSilent);
  ASSERT_TRUE(damaged.has_value());
  EXPECT_EQ(damaged->damaged, 1U);
  EXPECT_THAT(damaged->damages.at(0), HasSubstr("audit: "));
}

// As one of an older version: it is read as it is, and gets the table when it is opened to write.
TEST(Upkeep, ALedgerWithoutAnAuditHasNone) {
  const LedgerDir dir;
  const LedgerOptions options = options_for(dir.path() + "/ledger");
  ASSERT_TRUE(create_ledger(options).has_value());
  EXPECT_TRUE(audit_in(options.directory).empty());
  EXPECT_EQ(ledger_sizes(options.directory)->audit, 0U);
  {
    const auto reader = LedgerReader::open(options.directory);
    ASSERT_TRUE(reader.has_value());
    EXPECT_TRUE((*reader)->audit({}).value().entries.empty());
  }
  const auto ledger = open_ledger(options);
  ASSERT_TRUE(ledger.has_value());
  static_cast<void>(
      reply_as<AuditNoted>(run(**ledger, Ticket(1), NoteAudit{deed("pause")}, kNoon)));
}

TEST(Upkeep, WhatIsNoLedgerIsRefused) {
  const LedgerDir dir;
  const auto nothing = check_ledger(dir.path(), kSilent);
  ASSERT_FALSE(nothing.has_value());
  EXPECT_FALSE(ledger_sizes(dir.path()).has_value());
  EXPECT_FALSE(copy_ledger(dir.path(), dir.path() + "/copy").has_value());
  EXPECT_FALSE(fs::exists(dir.path() + "/copy"));
  EXPECT_FALSE(fs::exists(dir.path() + "/copy.partial"));
}

}  // namespace
}  // namespace sendonce::test
