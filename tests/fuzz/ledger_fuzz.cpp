// Any bytes as a stored row, outbox entry, audit entry, device or binding: a value that survives
// being stored again, or an error. The first byte chooses the record and whether its checksum is
// put right first: no fuzzer guesses a CRC, and damage that kept it would have to be survived all
// the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ledger/audit.hpp"
#include "ledger/binding.hpp"
#include "ledger/bytes.hpp"
#include "ledger/crc32c.hpp"
#include "ledger/device.hpp"
#include "ledger/outbox_codec.hpp"
#include "ledger/row_codec.hpp"
#include "plugin/core/assert.hpp"
#include "tests/fuzz/program.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kCrcSize = 4;
constexpr std::size_t kLengthSize = 2;

bool is_refusal(const Error& error) {
  return (error.code == Errc::corrupt || error.code == Errc::invalid) && !error.text.empty();
}

void check_row(std::string_view bytes) {
  const Result<Row> row = decode_row(bytes);
  const Result<RowPeek> peek = peek_row(bytes);
  if (!row) return SO_ASSERT(is_refusal(row.error()));
  SO_ASSERT(peek && peek->key == row->key && peek->state == row->state);
  SO_ASSERT(peek->dead_letter == row->dead_letter && peek->keep_until == row->keep_until);
  SO_ASSERT(is_row_of(bytes, row->key));
  const std::string again = encode_row(*row);
  SO_ASSERT(again.size() <= bytes.size());  // a row is settled in place
  const Result<Row> same = decode_row(again);
  SO_ASSERT(same && *same == *row);
}

void check_outbox(std::string_view bytes) {
  const auto entry = decode_outbox(OutboxSeq(7), bytes);
  if (!entry) return SO_ASSERT(is_refusal(entry.error()));
  SO_ASSERT(entry->seq == OutboxSeq(7) && outbox_created(bytes).value() == entry->created);
  const auto same = decode_outbox(OutboxSeq(7), encode_outbox(*entry));
  SO_ASSERT(same && same->subject == entry->subject && same->body == entry->body);
  SO_ASSERT(same->created == entry->created);
}

void check_device(std::string_view bytes) {
  const auto device = decode_device(bytes);
  if (!device) return SO_ASSERT(is_refusal(device.error()));
  SO_ASSERT(decode_device(encode_device(*device)).value() == *device);
  SO_ASSERT(device_state_from(name(device->state)) == device->state);
}

void check_audit(std::string_view bytes) {
  const auto entry = decode_audit(AuditSeq(7), bytes);
  if (!entry) return SO_ASSERT(is_refusal(entry.error()));
  // What is stored is cut, and stays as it is from then on.
  const auto cut = decode_audit(AuditSeq(7), encode_audit(*entry));
  SO_ASSERT(cut && cut->at == entry->at && cut->uid == entry->uid);
  SO_ASSERT(decode_audit(AuditSeq(7), encode_audit(*cut)).value() == *cut);
}

void check_binding(std::string_view bytes) {
  const auto binding = decode_binding(bytes);
  if (!binding) return SO_ASSERT(is_refusal(binding.error()));
  SO_ASSERT(decode_binding(encode_binding(*binding)).value() == *binding);
}

void put_crc_right(std::string& bytes, std::size_t end) {
  if (bytes.size() < kCrcSize) return;
  store(bytes.data(), crc32c(std::string_view(bytes).substr(kCrcSize, end - kCrcSize)));
}

// The record ends where the bytes do, but for the zeros, which are padding.
std::string as_row(std::string bytes) {
  if (bytes.size() < kCrcSize + kLengthSize) return bytes;
  const std::size_t last = std::min<std::size_t>(bytes.find_last_not_of('\0') + 1, UINT16_MAX);
  const std::size_t length = std::max(last, kCrcSize + kLengthSize);
  bytes.resize(std::max(bytes.size(), length));
  store(bytes.data() + kCrcSize, static_cast<std::uint16_t>(length));
  put_crc_right(bytes, length);
  return bytes;
}

}  // namespace
}  // namespace sendonce

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sendonce::test::Program program(data, size);
  const std::uint8_t kind = program.byte();
  std::string bytes(program.rest());
  const bool repair = (kind & 4U) != 0;
  const unsigned record = (kind & 3U) | ((kind & 8U) >> 1U);
  switch (record) {
    case 0:
      sendonce::check_row(repair ? sendonce::as_row(std::move(bytes)) : bytes);
      break;
    case 1:
      if (repair) sendonce::put_crc_right(bytes, bytes.size());
      sendonce::check_outbox(bytes);
      break;
    case 2:
      if (repair) sendonce::put_crc_right(bytes, bytes.size());
      sendonce::check_device(bytes);
      break;
    case 3:
      if (repair) sendonce::put_crc_right(bytes, bytes.size());
      sendonce::check_audit(bytes);
      break;
    default:
      if (repair) sendonce::put_crc_right(bytes, bytes.size());
      sendonce::check_binding(bytes);
      break;
  }
  return 0;
}
