#include "ledger/row.hpp"

#include "plugin/core/assert.hpp"

namespace sendonce {

std::string_view name(State state) {
  switch (state) {
    case State::claimed:
      return "claimed";
    case State::waiting:
      return "waiting";
    case State::accepted:
      return "accepted";
    case State::failed:
      return "failed";
    case State::unknown:
      return "unknown";
    case State::suppressed:
      return "suppressed";
  }
  SO_ASSERT(false);
}

std::string_view name(DeadLetter dead_letter) {
  switch (dead_letter) {
    case DeadLetter::none:
      return "none";
    case DeadLetter::due:
      return "due";
    case DeadLetter::done:
      return "done";
    case DeadLetter::lost:
      return "lost";
  }
  SO_ASSERT(false);
}

}  // namespace sendonce
