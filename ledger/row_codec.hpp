// A row as stored bytes, version 1 (docs/formats.md, "Row"). Little endian:
//
//   0 crc32c of [4, length)   4 length u16   6 version   7 presence bits
//   8 key 32   40 nid 16   56 fingerprint 16   72 event 8   80 recipient 8
//   88 fence 8   96 created 8   104 deadline 8   112 incarnation 4   116 revision 4
//   120 attempts 2   122 state   123 effect   124 fault   125 dead letter   126 receipts   127 zero
//   128 then, each if its presence bit is set: lease_end, next_at, ended, keep_until, ticket and
//   campaign (8 bytes each), request 16, look_until 8; then class, provider, ref, reason (length
//   byte, text); then the receipts: verdict | effect << 4 | has fence << 6 | has time << 7, [fence
//   8], [time 8], length byte, message id. A receipt's fence and time are left out when they are
//   the row's fence and `ended`.
//
// Times are nanoseconds since the Unix epoch. What follows `length` is padding, all zero: a claim
// is stored with room for its outcome, so that settling it rewrites the record in place.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ledger/row.hpp"
#include "plugin/core/error.hpp"

namespace sendonce {

inline constexpr std::uint8_t kRowVersion = 1;
// Beside the fixed part: a receipt with a 36-character id, a short reason.
inline constexpr std::size_t kClaimPadding = 56;

[[nodiscard]] std::size_t encoded_size(const Row& row);
// `out` has at least encoded_size(row) bytes; the rest of it becomes padding.
void encode_row(const Row& row, std::span<char> out);
[[nodiscard]] std::string encode_row(const Row& row);

// Total: any bytes give a row or Errc::corrupt (a future version: Errc::invalid).
[[nodiscard]] Result<Row> decode_row(std::string_view bytes);
// The same into an empty `row`, which is left half-filled by an error.
[[nodiscard]] Result<void> decode_row(std::string_view bytes, Row& row);

// What the index and the sweeper need, without the variable part. Checks what decode_row checks of
// the envelope: length, version, CRC.
struct RowPeek {
  Key key{};
  LookupHash event{};
  LookupHash recipient{};
  LookupHash campaign{};
  State state = State::claimed;
  DeadLetter dead_letter = DeadLetter::none;
  WallTime created{};
  WallTime keep_until{};
};
[[nodiscard]] Result<RowPeek> peek_row(std::string_view bytes);

// Is this the row of `key`? Looks at the key alone.
[[nodiscard]] bool is_row_of(std::string_view bytes, const Key& key);

}  // namespace sendonce
