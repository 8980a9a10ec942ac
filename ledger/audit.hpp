// What people have done to a running sidecar: who, when, what, why, and what came of it. The ledger
// keeps the newest kAuditKept entries, in the order of their commits. Texts hold no payload, no raw
// destination and no credential.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/ids.hpp"

namespace sendonce {

using AuditSeq = Strong<struct AuditSeqTag, std::uint64_t>;  // grows with every entry, from 1

struct AuditEntry {
  AuditSeq seq{};  // given by the ledger
  WallTime at{};   // when it was asked for
  // Of the process that asked, by the kernel's word; none: it came on no socket (a signal, a host).
  std::optional<std::uint32_t> uid{};
  std::string user{};    // the name of `uid` on this machine; may be empty
  std::string by{};      // who asked says it is, which proves nothing
  std::string verb{};    // as on the admin socket
  std::string object{};  // a key, a class, a provider, a device's hash
  std::string detail{};  // what exactly
  std::string reason{};  // why, in the words of who asked
  std::string result{};  // "done", "refused: ..."
  friend bool operator==(const AuditEntry&, const AuditEntry&) = default;
};

inline constexpr std::size_t kAuditKept = 10'000;
inline constexpr std::size_t kAuditTextMax = 256;  // bytes of each text

// A text as an entry holds it: UTF-8 on one line, cut to kAuditTextMax.
[[nodiscard]] std::string audit_text(std::string_view text);

// An entry without its sequence, with a CRC-32C. Every text is cut like audit_text(). Decoding is
// total.
[[nodiscard]] std::string encode_audit(const AuditEntry& entry);
[[nodiscard]] Result<AuditEntry> decode_audit(AuditSeq seq, std::string_view bytes);

// ---- requests to the ledger (ledger.hpp) and their replies

// A deed that changes nothing in the ledger. The same entry right after itself is kept once: a
// commit may be repeated.
struct NoteAudit {
  AuditEntry entry{};
};
struct AuditRead {
  AuditSeq before{std::numeric_limits<std::uint64_t>::max()};  // entries with a smaller sequence
  std::size_t max_entries = 100;
};

struct AuditNoted {};
struct AuditPage {
  std::vector<AuditEntry> entries{};  // the newest first
};

}  // namespace sendonce
