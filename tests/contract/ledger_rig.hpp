// What the ledger contract runs on: each ledger, with a way to restart it and to make it fail.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "ledger/ledger.hpp"
#include "ledger/store.hpp"

namespace sendonce {
class LmdbLedger;
}

namespace sendonce::test {

// A directory below the tests' temporary one, removed with everything in it.
class LedgerDir {
 public:
  LedgerDir();
  ~LedgerDir();
  LedgerDir(const LedgerDir&) = delete;
  LedgerDir& operator=(const LedgerDir&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// A ledger on disk with so many claimed rows of the scope "orders".
[[nodiscard]] std::unique_ptr<LmdbLedger> filled_ledger(const LedgerDir& directory,
                                                        std::uint64_t rows);

class LedgerRig {
 public:
  virtual ~LedgerRig() = default;
  [[nodiscard]] virtual Ledger& ledger() = 0;
  virtual void restart() = 0;                             // a new incarnation on the same data
  virtual void adopt(ScopeIndex scope, WallTime at) = 0;  // takes effect with the next restart
  // The next commit fails at `stage` with `code`, once.
  void fail_next(CommitStage stage, Errc code) { fault_ = {stage, code}; }

 protected:
  [[nodiscard]] CommitFault fault();

 private:
  std::optional<std::pair<CommitStage, Errc>> fault_{};
};

inline constexpr std::size_t kRigScopes = 2;
using MakeRig = std::unique_ptr<LedgerRig> (*)();
[[nodiscard]] std::unique_ptr<LedgerRig> make_memory_rig();
[[nodiscard]] std::unique_ptr<LedgerRig> make_lmdb_rig();

// ---- short forms for requests and replies

inline constexpr WallTime kNoon{std::chrono::seconds(1'800'000'000)};

[[nodiscard]] Key key_of(std::uint64_t number);
[[nodiscard]] ClaimRequest claim_of(std::uint64_t number);
[[nodiscard]] Settlement settle_of(std::uint64_t number, Fence fence, State state, Effect effect);

// One request in a batch of its own.
[[nodiscard]] LedgerReply run(Ledger& ledger, Ticket ticket, LedgerRequest request, WallTime now);

template <class T, class Variant>
inline constexpr bool kIsAlternative = false;
template <class T, class... Ts>
inline constexpr bool kIsAlternative<T, std::variant<Ts...>> = (std::is_same_v<T, Ts> || ...);

// The reply as what it has to be; the test fails when it is another.
template <class Reply>
[[nodiscard]] Reply reply_as(const LedgerReply& reply) {
  const Reply* found = nullptr;
  std::size_t other = reply.index();
  if constexpr (kIsAlternative<Reply, ClaimReply>) {
    if (const auto* claim = std::get_if<ClaimReply>(&reply)) {
      found = std::get_if<Reply>(claim);
      other = claim->index();
    }
  } else {
    found = std::get_if<Reply>(&reply);
  }
  EXPECT_NE(found, nullptr) << "another reply, number " << other;
  return found == nullptr ? Reply{} : *found;
}
// Of a reply to Find.
[[nodiscard]] inline std::optional<Row> row_of(const LedgerReply& reply) {
  const auto* found = std::get_if<Found>(&reply);
  EXPECT_NE(found, nullptr) << "another reply, number " << reply.index();
  return found == nullptr || found->row == nullptr ? std::nullopt : std::optional(*found->row);
}

}  // namespace sendonce::test
