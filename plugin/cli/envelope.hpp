// Envelopes on the command line: made from options, and judged as the daemon will judge them.
#pragma once

#include <string>

#include "config/schema.hpp"
#include "plugin/cli/commands.hpp"
#include "plugin/core/error.hpp"
#include "plugin/message/notification.hpp"

namespace sendonce::cli {

inline constexpr std::size_t kEnvelopeMax = 256UL << 10U;

// The envelope that the options describe, or that stands in the file they name; not judged yet.
[[nodiscard]] Result<std::string> envelope_of(const PublishOptions& options);

struct Judgement {
  std::string refused{};    // what the daemon would say of it; empty: it can be sent
  std::string unchecked{};  // what could not be looked at, and why
};

// What the daemon would dead-letter or suppress: what its decoder, the class's key recipe and
// route, the form of the tokens and the provider's limits refuse. The latter two need the provider,
// and so a credential that this user may read.
[[nodiscard]] Judgement judge_envelope(const Config& config, const ClassConfig& of,
                                       const std::string& envelope);

}  // namespace sendonce::cli
