// Answers as people paste them: not the bytes that the provider sent, but what a library printed.
// Only `sendonce classify` reads these; a provider's own answers are judged as they are.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sendonce {

// {'error': {'code': 400}} as Python prints it, in JSON. Empty unless the text is such a thing,
// whole.
[[nodiscard]] std::optional<std::string> json_from_python(std::string_view text);

// A single line of plain text: a message without its envelope.
[[nodiscard]] bool is_bare_message(std::string_view text);

}  // namespace sendonce
