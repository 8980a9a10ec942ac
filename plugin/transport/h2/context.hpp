// What the pools of one transport share. Lives as long as the transport; engine thread only.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "plugin/core/clock.hpp"
#include "plugin/core/log.hpp"
#include "plugin/core/random.hpp"
#include "plugin/transport/curl/curl_multi.hpp"
#include "plugin/transport/event_loop.hpp"
#include "plugin/transport/h2/call.hpp"
#include "plugin/transport/h2/deadline_wheel.hpp"

namespace sendonce {

struct H2Context {
  const Clock& clock;
  Log& log;
  Random& random;
  EventLoop& loop;
  CurlMulti& multi;
  DeadlineWheel& wheel;
  CallStore& calls;
  std::vector<Completion>& ready;                     // ended, not yet polled
  MonoTime now{};                                     // read once a step
  std::array<std::uint8_t, 16 * 1024> read_buffer{};  // one TLS record

  void complete(Call& call, CallResult&& result) {
    wheel.disarm(call);
    // `now` is of the step's beginning, before the wait for this very answer.
    ready.push_back({call.ticket, std::move(result), clock.mono() - call.submitted});
    calls.give_back(call);
  }
  void complete_unsent(Call& call, Cause cause, std::string_view text) {
    CallFailure failure;
    failure.effect = Effect::not_sent;
    failure.cause = cause;
    failure.text = text;
    complete(call, CallResult(std::move(failure)));
  }
};

}  // namespace sendonce
