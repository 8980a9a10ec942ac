// NATS subjects and names (ADR-6 of the NATS architecture repository). Pure.
#pragma once

#include <string_view>

namespace sendonce {

// Tokens without spaces or control characters, joined by dots; * stands for one, > for the rest.
[[nodiscard]] bool valid_subject_filter(std::string_view subject);
// Whether some subject matches both filters. Both must be valid.
[[nodiscard]] bool subjects_overlap(std::string_view a, std::string_view b);
// Every subject that `narrow` matches is matched by `wide`. Both must be valid.
[[nodiscard]] bool subject_covers(std::string_view wide, std::string_view narrow);
// A name that is safe in subjects, durables, tables and metrics: 1 to 64 of [A-Za-z0-9_-].
[[nodiscard]] bool valid_name(std::string_view text);

}  // namespace sendonce
