// What delivery keys are made of, as a ledger remembers it. Keys made in another way would not find
// the rows of what has been sent: it would be sent again. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugin/core/clock.hpp"

namespace sendonce {

struct ScopeKeys {
  std::string scope{};
  std::string recipe{};    // as recipe_text() writes it
  std::string previous{};  // of `key_previous`; empty: none
  Duration keep{};         // how long a row can be needed after the recipe was replaced
};

struct AppKeys {
  std::string provider{};
  std::string app{};  // its app scope
};

// Of the configuration in force.
struct KeyMarks {
  WallTime now{};
  std::uint64_t normal_forms = 0;  // version
  std::vector<ScopeKeys> scopes{};
  std::vector<AppKeys> apps{};
};

// What a ledger stores of one scope. All empty: written before ledgers stored it.
struct StoredKeys {
  std::string recipe{};
  std::string before{};  // the one before it
  WallTime replaced{};   // when
  friend bool operator==(const StoredKeys&, const StoredKeys&) = default;
};

// Why the keys of `wanted` may not be used on rows whose keys were made as `stored` says; nothing:
// they may. `memory_now` is the clock by which rows are forgotten (law 13).
[[nodiscard]] std::optional<std::string> judge_keys(const ScopeKeys& wanted,
                                                    const StoredKeys& stored, WallTime memory_now);
// What is stored from `now` on, with `wanted` in force.
[[nodiscard]] StoredKeys next_keys(const ScopeKeys& wanted, const StoredKeys& stored, WallTime now);
// `stored`: the app scope that keys of this provider had so far.
[[nodiscard]] std::optional<std::string> judge_app(const AppKeys& wanted,
                                                   const std::string& stored);

}  // namespace sendonce
