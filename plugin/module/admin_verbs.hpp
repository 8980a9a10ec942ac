// The verbs of the admin socket that read the ledger: `list` and `inspect`. The same rows and the
// same JSON are printed offline by the command line.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/lmdb/lmdb_ledger.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/module/admin/admin_protocol.hpp"

namespace sendonce {

// A row as JSON on one line (docs/formats.md, "Rows").
[[nodiscard]] std::string row_json(std::string_view scope, const Row& row);

// A scan that a person waits for, and with him everybody who asks after him.
inline constexpr Duration kScanWithin = std::chrono::seconds(3);
inline constexpr std::string_view kScanCut =
    "the search was ended after 3 s: there may be more. Narrow it, or use `sendonce ledger export`";
class ScanLimit {
 public:
  explicit ScanLimit(const Clock& clock) : clock_(clock), until_(clock.mono() + kScanWithin) {}
  [[nodiscard]] bool goes_on() {
    cut_ = clock_.mono() >= until_;
    return !cut_;
  }
  [[nodiscard]] bool cut() const { return cut_; }

 private:
  const Clock& clock_;
  MonoTime until_;
  bool cut_ = false;
};

// 64 hex digits, as `sendonce key` prints them.
[[nodiscard]] Result<Key> key_from(const std::string& text);

// What to look for, from the arguments of a request: key, event, recipient, state, scope. `secret`
// is the ledger's: event and recipient are stored as keyed hashes.
[[nodiscard]] Result<RowFilter> filter_from(const AdminRequest& request,
                                            const LedgerSecret& secret);

// A delivery in hand, as people see it.
struct HeldDelivery {
  std::string class_name{};
  std::string stream{};
  std::uint64_t sequence = 0;
  std::size_t target = 0;
  std::string provider{};
  std::string doing{};
  std::string reason{};
};
using HeldLookup = std::function<std::vector<HeldDelivery>(LookupHash event)>;

// `inspect` of an event also tells what the daemon has in hand of it: there may be no row yet. A
// search takes 3 s at most; one that is cut short says so in `ended_early`.
[[nodiscard]] Result<void> list_rows(const LmdbLedger& ledger, const HeldLookup& held,
                                     const Clock& clock, const AdminRequest& request,
                                     AdminReply& reply);

}  // namespace sendonce
