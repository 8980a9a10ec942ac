// The protocols whose answers can be judged without a provider at hand. registry.cpp is the one
// file that knows them all.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "plugin/core/clock.hpp"
#include "plugin/core/verdict.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

struct JudgeContext {
  WallTime now{};
  std::optional<WallTime> registered_at{};  // of the target
  std::size_t index = 0;                    // of the target in a request to several
};

// Empty: no such protocol.
[[nodiscard]] std::optional<Verdict> judge_answer(std::string_view protocol,
                                                  const CallResult& result,
                                                  const JudgeContext& context);

// What a provider reports later by a call of its own: a body, and no status.
[[nodiscard]] bool is_report(std::string_view protocol);

[[nodiscard]] std::string protocol_names();  // "apns, fcm, …"

}  // namespace sendonce
