// An outbox entry as stored bytes, version 1. Its key in the table is its sequence.
//
//   0 crc32c of the rest   4 version   5 zero   6 subject length u16   8 created i64 (ns)
//   16 subject, then the body to the end
#pragma once

#include <string>
#include <string_view>

#include "ledger/ledger.hpp"
#include "plugin/core/error.hpp"

namespace sendonce {

[[nodiscard]] std::string encode_outbox(const OutboxEntry& entry);
// Total: any bytes give an entry or Errc::corrupt (a future version: Errc::invalid).
[[nodiscard]] Result<OutboxEntry> decode_outbox(OutboxSeq seq, std::string_view bytes);
// Its time alone, without looking at the rest.
[[nodiscard]] Result<WallTime> outbox_created(std::string_view bytes);

}  // namespace sendonce
