#include "ledger/outbox_codec.hpp"

#include "ledger/bytes.hpp"
#include "ledger/crc32c.hpp"
#include "plugin/core/assert.hpp"

namespace sendonce {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kHeaderSize = 16;

}  // namespace

std::string encode_outbox(const OutboxEntry& entry) {
  SO_ASSERT(entry.subject.size() <= UINT16_MAX);
  std::string bytes(kHeaderSize, '\0');
  bytes.reserve(kHeaderSize + entry.subject.size() + entry.body.size());
  store(bytes.data() + 4, kVersion);
  store(bytes.data() + 6, static_cast<std::uint16_t>(entry.subject.size()));
  store(bytes.data() + 8, static_cast<std::uint64_t>(entry.created.time_since_epoch().count()));
  bytes += entry.subject;
  bytes += entry.body;
  store(bytes.data(), crc32c(std::string_view(bytes).substr(4)));
  return bytes;
}

Result<OutboxEntry> decode_outbox(OutboxSeq seq, std::string_view bytes) {
  if (bytes.size() < kHeaderSize || crc32c(bytes.substr(4)) != load<std::uint32_t>(bytes, 0))
    return fail(Errc::corrupt, "ledger outbox: checksum does not match");
  if (load<std::uint8_t>(bytes, 4) != kVersion)
    return fail(Errc::invalid, "ledger outbox: written by a newer version of sendonce");
  const std::size_t subject = load<std::uint16_t>(bytes, 6);
  if (bytes.size() < kHeaderSize + subject)
    return fail(Errc::corrupt, "ledger outbox: wrong length");
  SO_TRY(const WallTime created, outbox_created(bytes));
  return OutboxEntry{.seq = seq,
                     .created = created,
                     .subject = std::string(bytes.substr(kHeaderSize, subject)),
                     .body = std::string(bytes.substr(kHeaderSize + subject))};
}

Result<WallTime> outbox_created(std::string_view bytes) {
  if (bytes.size() < kHeaderSize) return fail(Errc::corrupt, "ledger outbox: too short");
  return WallTime(Duration(static_cast<Duration::rep>(load<std::uint64_t>(bytes, 8))));
}

}  // namespace sendonce
