// The table of answers that an operator writes: which line an answer meets, and what that makes of
// it (docs/providers.md, "Answers").
#pragma once

#include <vector>

#include "classifiers/answer_match.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/verdict.hpp"
#include "plugin/message/http_spec.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

// Null: none matches.
[[nodiscard]] const AnswerRule* first_match(const std::vector<AnswerRule>& rules,
                                            const SeenAnswer& seen);

// Of a line that is not of class `accepted`. What may have been acted upon stays maybe sent unless
// the line says otherwise, and ends no destination whatever it says.
[[nodiscard]] Verdict verdict_of(const AnswerRule& rule, const SeenAnswer& seen, WallTime now);

// The verdict of a provider that knows its answers itself, with an operator's lines before its own
// table. Its receipt, and what the transport proved, stand above every line. A destination that
// ends by a line ends only once this credential has been accepted (needs_proof).
[[nodiscard]] Verdict amended(const std::vector<AnswerRule>& rules, const CallResult& result,
                              Verdict known, WallTime now);

}  // namespace sendonce
