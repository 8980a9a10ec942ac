#include "ledger/audit.hpp"

#include <array>

#include "ledger/bytes.hpp"
#include "ledger/crc32c.hpp"
#include "plugin/core/utf8.hpp"

namespace sendonce {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kTexts = 7;
constexpr std::size_t kLengthsAt = 20;
constexpr std::size_t kTextsAt = kLengthsAt + kTexts * 2;

constexpr std::array<std::string AuditEntry::*, kTexts> kFields{
    &AuditEntry::user,   &AuditEntry::by,     &AuditEntry::verb,  &AuditEntry::object,
    &AuditEntry::detail, &AuditEntry::reason, &AuditEntry::result};

}  // namespace

std::string audit_text(std::string_view text) {
  std::string out(text.substr(0, kAuditTextMax));
  // A character that was cut in two, or was none.
  for (std::size_t at = 0; (at = find_invalid_utf8(out)) != std::string::npos;) {
    if (at + 4 > out.size() && text.size() > kAuditTextMax) {
      out.resize(at);
      break;
    }
    out[at] = '?';
  }
  for (char& c : out)
    if ((c >= 0 && c < ' ') || c == '\x7f') c = ' ';
  return out;
}

// 0 crc32c of what follows   4 version   5 has a uid   6 zero   8 at, nanoseconds since the Unix
// epoch   16 uid   20 lengths of the texts, 2 bytes each   34 the texts
std::string encode_audit(const AuditEntry& entry) {
  std::string bytes(kTextsAt, '\0');
  store(bytes.data() + 4, kVersion);
  store(bytes.data() + 5, static_cast<std::uint8_t>(entry.uid.has_value()));
  store(bytes.data() + 8, static_cast<std::uint64_t>(entry.at.time_since_epoch().count()));
  store(bytes.data() + 16, entry.uid.value_or(0));
  for (std::size_t i = 0; i < kTexts; ++i) {
    const std::string text = audit_text(entry.*kFields[i]);
    store(bytes.data() + kLengthsAt + i * 2, static_cast<std::uint16_t>(text.size()));
    bytes += text;
  }
  store(bytes.data(), crc32c(std::string_view(bytes).substr(4)));
  return bytes;
}

Result<AuditEntry> decode_audit(AuditSeq seq, std::string_view bytes) {
  if (bytes.size() < kTextsAt || crc32c(bytes.substr(4)) != load<std::uint32_t>(bytes, 0))
    return fail(Errc::corrupt, "ledger audit: checksum does not match");
  if (load<std::uint8_t>(bytes, 4) != kVersion)
    return fail(Errc::invalid, "ledger audit: written by a newer version of sendonce");
  const auto has_uid = load<std::uint8_t>(bytes, 5);
  if (has_uid > 1) return fail(Errc::corrupt, "ledger audit: value out of range");
  AuditEntry entry{
      .seq = seq,
      .at = WallTime(Duration(static_cast<Duration::rep>(load<std::uint64_t>(bytes, 8))))};
  if (has_uid == 1) entry.uid = load<std::uint32_t>(bytes, 16);
  std::size_t at = kTextsAt;
  for (std::size_t i = 0; i < kTexts; ++i) {
    const std::size_t length = load<std::uint16_t>(bytes, kLengthsAt + i * 2);
    if (length > bytes.size() - at) return fail(Errc::corrupt, "ledger audit: wrong length");
    entry.*kFields[i] = std::string(bytes.substr(at, length));
    at += length;
  }
  if (at != bytes.size()) return fail(Errc::corrupt, "ledger audit: wrong length");
  return entry;
}

}  // namespace sendonce
