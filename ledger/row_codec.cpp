#include "ledger/row_codec.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "ledger/bytes.hpp"
#include "ledger/crc32c.hpp"
#include "plugin/core/assert.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kCrcSize = 4;
constexpr std::size_t kKeyAt = 8;
constexpr std::size_t kFixedSize = 128;
constexpr std::size_t kTextMax = 255;

enum Presence : std::uint8_t {
  has_lease_end = 1U << 0U,
  has_next_at = 1U << 1U,
  has_ended = 1U << 2U,
  has_keep_until = 1U << 3U,
  has_ticket = 1U << 4U,
  has_campaign = 1U << 5U,
  has_request = 1U << 6U,
  has_look_until = 1U << 7U,  // the last one: the next needs a new version
};
constexpr std::uint8_t kReceiptHasFence = 1U << 6U;
constexpr std::uint8_t kReceiptHasTime = 1U << 7U;

std::uint64_t ticks(WallTime t) {
  return static_cast<std::uint64_t>(t.time_since_epoch().count());
}

WallTime wall_time(std::uint64_t count) {
  return WallTime(Duration(static_cast<Duration::rep>(count)));
}

std::uint8_t presence_of(const Row& row) {
  unsigned bits = 0;
  if (row.lease_end != WallTime{}) bits |= has_lease_end;
  if (row.next_at != WallTime{}) bits |= has_next_at;
  if (row.ended != WallTime{}) bits |= has_ended;
  if (row.keep_until != WallTime{}) bits |= has_keep_until;
  if (row.ticket != Ticket{}) bits |= has_ticket;
  if (row.campaign != LookupHash{}) bits |= has_campaign;
  if (row.request != RequestHash{}) bits |= has_request;
  if (row.look_until != WallTime{}) bits |= has_look_until;
  return static_cast<std::uint8_t>(bits);
}

class Writer {
 public:
  explicit Writer(std::span<char> out) : out_(out) {}

  template <std::unsigned_integral T>
  void number(T value) {
    store(out_.data() + at_, value);
    at_ += sizeof value;
  }
  void raw(std::string_view bytes) {
    if (!bytes.empty()) std::memcpy(out_.data() + at_, bytes.data(), bytes.size());
    at_ += bytes.size();
  }
  void text(std::string_view bytes) {
    number(static_cast<std::uint8_t>(bytes.size()));
    raw(bytes);
  }
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  std::span<char> out_;
  std::size_t at_ = 0;
};

// Reads what is there and remembers when something was not.
class Reader {
 public:
  Reader(std::string_view bytes, std::size_t at) : bytes_(bytes), at_(at) {}

  template <std::unsigned_integral T>
  T number() {
    if (!need(sizeof(T))) return 0;
    const T value = load<T>(bytes_, at_);
    at_ += sizeof(T);
    return value;
  }
  std::string_view raw(std::size_t size) {
    if (!need(size)) return {};
    const std::string_view found = bytes_.substr(at_, size);
    at_ += size;
    return found;
  }
  std::string_view text() { return raw(number<std::uint8_t>()); }
  template <class B>
  void digest(B& to) {
    const std::string_view found = raw(B::kSize);
    if (found.size() == B::kSize) std::memcpy(to.bytes.data(), found.data(), B::kSize);
  }
  void skip(std::size_t size) {
    if (need(size)) at_ += size;
  }
  [[nodiscard]] bool complete() const { return good_ && at_ == bytes_.size(); }
  [[nodiscard]] bool good() const { return good_; }

 private:
  bool need(std::size_t size) {
    good_ = good_ && bytes_.size() - at_ >= size;
    return good_;
  }
  std::string_view bytes_;
  std::size_t at_;
  bool good_ = true;
};

std::size_t receipt_size(const Row& row, const Receipt& receipt) {
  return 2 + receipt.message_id.size() + (receipt.fence != row.fence ? 8U : 0U) +
         (receipt.at != row.ended ? 8U : 0U);
}

void write_fixed(const Row& row, std::size_t length, Writer& w) {
  w.number(std::uint32_t{0});  // the CRC, once the rest is written
  w.number(static_cast<std::uint16_t>(length));
  w.number(kRowVersion);
  w.number(presence_of(row));
  w.raw(row.key.view());
  w.raw(row.nid.view());
  w.raw(row.fingerprint.view());
  w.number(row.event.get());
  w.number(row.recipient.get());
  w.number(row.fence.get());
  w.number(ticks(row.created));
  w.number(ticks(row.deadline));
  w.number(row.incarnation.get());
  w.number(row.revision);
  w.number(row.attempts);
  w.number(static_cast<std::uint8_t>(row.state));
  w.number(static_cast<std::uint8_t>(row.effect));
  w.number(static_cast<std::uint8_t>(row.fault));
  w.number(static_cast<std::uint8_t>(row.dead_letter));
  w.number(static_cast<std::uint8_t>(row.receipts.size()));
  w.number(std::uint8_t{0});
}

void write_optional(const Row& row, Writer& w) {
  for (const WallTime t : {row.lease_end, row.next_at, row.ended, row.keep_until}) {
    if (t != WallTime{}) w.number(ticks(t));
  }
  if (row.ticket != Ticket{}) w.number(row.ticket.get());
  if (row.campaign != LookupHash{}) w.number(row.campaign.get());
  if (row.request != RequestHash{}) w.raw(row.request.view());
  if (row.look_until != WallTime{}) w.number(ticks(row.look_until));
}

void write_receipt(const Row& row, const Receipt& receipt, Writer& w) {
  unsigned head = static_cast<unsigned>(receipt.verdict) | static_cast<unsigned>(receipt.effect)
                                                               << 4U;
  if (receipt.fence != row.fence) head |= kReceiptHasFence;
  if (receipt.at != row.ended) head |= kReceiptHasTime;
  w.number(static_cast<std::uint8_t>(head));
  if (receipt.fence != row.fence) w.number(receipt.fence.get());
  if (receipt.at != row.ended) w.number(ticks(receipt.at));
  w.text(receipt.message_id);
}

std::unexpected<Error> corrupt(const char* what) {
  return fail(Errc::corrupt, std::string("ledger row: ") + what);
}

// The record without its padding, once length, version and CRC are right.
Result<std::string_view> checked_envelope(std::string_view bytes) {
  if (bytes.size() < kFixedSize) return corrupt("too short");
  const std::size_t length = load<std::uint16_t>(bytes, kCrcSize);
  if (length < kFixedSize || length > bytes.size()) return corrupt("wrong length");
  if (crc32c(bytes.substr(kCrcSize, length - kCrcSize)) != load<std::uint32_t>(bytes, 0))
    return corrupt("checksum does not match");
  if (load<std::uint8_t>(bytes, 6) != kRowVersion)
    return fail(Errc::invalid, "ledger row: written by a newer version of sendonce");
  const std::string_view padding = bytes.substr(length);
  if (padding.find_first_not_of('\0') != std::string_view::npos) return corrupt("dirty padding");
  return bytes.substr(0, length);
}

template <class E>
bool read_enum(std::uint8_t value, E least, E greatest, E& to) {
  to = static_cast<E>(value);
  return value >= static_cast<std::uint8_t>(least) && value <= static_cast<std::uint8_t>(greatest);
}

// The small values that the fixed part ends in.
struct EndsOfRow {
  State state = State::claimed;
  Effect effect = Effect::not_sent;
  Fault fault = Fault::none;
  DeadLetter dead_letter = DeadLetter::none;
  std::size_t receipts = 0;
};

bool read_ends(Reader& r, EndsOfRow& to) {
  bool good = read_enum(r.number<std::uint8_t>(), State::claimed, State::suppressed, to.state);
  good &= read_enum(r.number<std::uint8_t>(), Effect::not_sent, Effect::sent, to.effect);
  good &= read_enum(r.number<std::uint8_t>(), Fault::none, Fault::provider, to.fault);
  good &= read_enum(r.number<std::uint8_t>(), DeadLetter::none, DeadLetter::lost, to.dead_letter);
  to.receipts = r.number<std::uint8_t>();
  return good && to.receipts <= kReceiptsKept && r.number<std::uint8_t>() == 0;
}

bool read_fixed(Reader& r, Row& row, std::size_t& receipts) {
  r.digest(row.key);
  r.digest(row.nid);
  r.digest(row.fingerprint);
  row.event = LookupHash(r.number<std::uint64_t>());
  row.recipient = LookupHash(r.number<std::uint64_t>());
  row.fence = Fence(r.number<std::uint64_t>());
  row.created = wall_time(r.number<std::uint64_t>());
  row.deadline = wall_time(r.number<std::uint64_t>());
  row.incarnation = Incarnation(r.number<std::uint32_t>());
  row.revision = r.number<std::uint32_t>();
  row.attempts = r.number<std::uint16_t>();
  EndsOfRow ends;
  const bool good = read_ends(r, ends);
  row.state = ends.state;
  row.effect = ends.effect;
  row.fault = ends.fault;
  row.dead_letter = ends.dead_letter;
  receipts = ends.receipts;
  return good;
}

bool read_optional(Reader& r, std::uint8_t presence, Row& row) {
  const std::array<std::pair<std::uint8_t, WallTime*>, 4> times{
      {{has_lease_end, &row.lease_end},
       {has_next_at, &row.next_at},
       {has_ended, &row.ended},
       {has_keep_until, &row.keep_until}}};
  for (const auto& [bit, time] : times) {
    if ((presence & bit) != 0) *time = wall_time(r.number<std::uint64_t>());
  }
  if ((presence & has_ticket) != 0) row.ticket = Ticket(r.number<std::uint64_t>());
  if ((presence & has_campaign) != 0) row.campaign = LookupHash(r.number<std::uint64_t>());
  if ((presence & has_request) != 0) r.digest(row.request);
  if ((presence & has_look_until) != 0) row.look_until = wall_time(r.number<std::uint64_t>());
  // One row, one encoding: a value that could have been left out is damage.
  return presence_of(row) == presence;
}

bool read_receipt(Reader& r, const Row& row, Receipt& receipt) {
  const auto head = r.number<std::uint8_t>();
  const bool good =
      read_enum(head & 15U, VerdictClass::accepted, VerdictClass::ambiguous, receipt.verdict) &&
      read_enum((head >> 4U) & 3U, Effect::not_sent, Effect::sent, receipt.effect);
  receipt.fence = (head & kReceiptHasFence) != 0 ? Fence(r.number<std::uint64_t>()) : row.fence;
  receipt.at = (head & kReceiptHasTime) != 0 ? wall_time(r.number<std::uint64_t>()) : row.ended;
  receipt.message_id = r.text();
  return good && r.good();
}

}  // namespace

std::size_t encoded_size(const Row& row) {
  std::size_t size = kFixedSize + 4 + row.message_class.size() + row.provider.size() +
                     row.ref.size() + row.reason.size();
  for (const WallTime t : {row.lease_end, row.next_at, row.ended, row.keep_until, row.look_until}) {
    if (t != WallTime{}) size += 8;
  }
  if (row.ticket != Ticket{}) size += 8;
  if (row.campaign != LookupHash{}) size += 8;
  if (row.request != RequestHash{}) size += RequestHash::kSize;
  for (const Receipt& receipt : row.receipts) size += receipt_size(row, receipt);
  return size;
}

void encode_row(const Row& row, std::span<char> out) {
  const std::size_t length = encoded_size(row);
  SO_ASSERT(length <= out.size() && length <= UINT16_MAX && row.receipts.size() <= kReceiptsKept);
  Writer w(out);
  write_fixed(row, length, w);
  write_optional(row, w);
  for (const std::string* text : {&row.message_class, &row.provider, &row.ref, &row.reason}) {
    SO_ASSERT(text->size() <= kTextMax);
    w.text(*text);
  }
  for (const Receipt& receipt : row.receipts) {
    SO_ASSERT(receipt.message_id.size() <= kTextMax);
    write_receipt(row, receipt, w);
  }
  SO_ASSERT(w.at() == length);
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(length), out.end(), '\0');
  store(out.data(), crc32c({out.data() + kCrcSize, length - kCrcSize}));
}

std::string encode_row(const Row& row) {
  std::string bytes(encoded_size(row), '\0');
  encode_row(row, std::span<char>(bytes));
  return bytes;
}

Result<Row> decode_row(std::string_view bytes) {
  Result<Row> row;
  if (auto decoded = decode_row(bytes, *row); !decoded) row = std::unexpected(decoded.error());
  return row;
}

Result<void> decode_row(std::string_view bytes, Row& row) {
  SO_TRY(const std::string_view record, checked_envelope(bytes));
  Reader r(record, kKeyAt);
  std::size_t receipts = 0;
  if (!read_fixed(r, row, receipts)) return corrupt("value out of range");
  if (!read_optional(r, load<std::uint8_t>(record, 7), row)) return corrupt("presence bits");
  for (std::string* text : {&row.message_class, &row.provider, &row.ref, &row.reason})
    *text = r.text();
  row.receipts.resize(receipts);
  for (Receipt& receipt : row.receipts) {
    if (!read_receipt(r, row, receipt)) return corrupt("receipt");
  }
  if (!r.complete()) return corrupt("wrong size of its parts");
  return {};
}

// Not through a Row: a start with ten million rows peeks at each, and strings it does not look at
// would be half of the work.
Result<RowPeek> peek_row(std::string_view bytes) {
  SO_TRY(const std::string_view record, checked_envelope(bytes));
  const auto presence = load<std::uint8_t>(record, 7);
  const auto skip_if = [presence](Reader& r, std::uint8_t bit) {
    if ((presence & bit) != 0) r.skip(sizeof(std::uint64_t));
  };
  RowPeek peek;
  Reader r(record, kKeyAt);
  r.digest(peek.key);
  r.skip(Nid::kSize + Fingerprint::kSize);
  peek.event = LookupHash(r.number<std::uint64_t>());
  peek.recipient = LookupHash(r.number<std::uint64_t>());
  r.skip(sizeof(std::uint64_t));  // fence
  peek.created = wall_time(r.number<std::uint64_t>());
  r.skip(sizeof(std::uint64_t));                              // deadline
  r.skip(2 * sizeof(std::uint32_t) + sizeof(std::uint16_t));  // incarnation, revision, attempts
  EndsOfRow ends;
  if (!read_ends(r, ends)) return corrupt("value out of range");
  peek.state = ends.state;
  peek.dead_letter = ends.dead_letter;
  for (const Presence bit : {has_lease_end, has_next_at, Presence::has_ended}) skip_if(r, bit);
  if ((presence & has_keep_until) != 0) peek.keep_until = wall_time(r.number<std::uint64_t>());
  skip_if(r, has_ticket);
  if ((presence & has_campaign) != 0) peek.campaign = LookupHash(r.number<std::uint64_t>());
  if (!r.good()) return corrupt("presence bits");
  return peek;
}

bool is_row_of(std::string_view bytes, const Key& key) {
  return bytes.size() >= kFixedSize && bytes.substr(kKeyAt, Key::kSize) == key.view();
}

}  // namespace sendonce
