// Who wants to see attempts as they settle. Called on the engine's thread: must neither block nor
// throw, and costs one load of an atomic while nobody wants to.
#pragma once

#include <string_view>

#include "ledger/row.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/ids.hpp"
#include "plugin/core/verdict.hpp"

namespace sendonce {

struct SettledAttempt {  // borrowed for the call
  WallTime at{};
  std::string_view message_class{};
  std::string_view provider{};
  std::string_view trace_id{};  // may be empty
  const Key& key;
  const Verdict& verdict;
  std::uint16_t attempts = 0;    // counted before this one
  State state = State::waiting;  // as its row now stands
  WallTime next_at{};            // while it waits
  bool fenced = false;           // it came too late and changed nothing
};

class AttemptWatch {
 public:
  virtual ~AttemptWatch() = default;
  [[nodiscard]] virtual bool wanted() const noexcept = 0;
  virtual void settled(const SettledAttempt& attempt) = 0;
};

}  // namespace sendonce
