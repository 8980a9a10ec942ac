// The tables of answers of kind = "http", of its sends and of its lookups: from TOML into rules,
// and back into TOML in one line. A line that would claim more than an answer can say is refused.
#pragma once

#include <string>
#include <vector>

#include "config/value.hpp"
#include "plugin/message/http_spec.hpp"

namespace sendonce {

[[nodiscard]] Refused read_answers(std::vector<AnswerRule>& out, const TomlNode& node);
[[nodiscard]] Refused read_lookup_answers(std::vector<LookupRule>& out, const TomlNode& node);

[[nodiscard]] std::string toml_answers(const std::vector<AnswerRule>& from);
[[nodiscard]] std::string toml_lookup_answers(const std::vector<LookupRule>& from);

}  // namespace sendonce
