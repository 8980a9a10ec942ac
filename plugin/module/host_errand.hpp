// What the admin thread wants done on the host's thread, where alone a reload may run: one at a
// time, asked for by one thread and carried out by the other at its next turn.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"

namespace sendonce {

class HostErrand {
 public:
  // [admin thread] Waits until it has been carried out; what came of it. unavailable: the other
  // thread did not begin within `patience`, or is about to stop; then nothing was done.
  [[nodiscard]] Result<void> ask(Duration patience);

  // [host thread] Carries it out if somebody waits for it. True: it did.
  bool serve(const std::function<Result<void>()>& work);
  void open();
  void close();  // who waits is told so, and who asks later too

 private:
  void finish(Result<void>&& outcome);

  enum class Step : std::uint8_t { none, wanted, taken, done };

  std::mutex mutex_{};
  std::condition_variable changed_{};
  Step step_ = Step::none;
  bool open_ = false;
  Result<void> outcome_{};
};

}  // namespace sendonce
