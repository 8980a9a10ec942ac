// What the reader and the checks have to say about a configuration, each with its place and what to
// do about it. Texts never quote a value that could be a secret.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/schema.hpp"
#include "plugin/core/error.hpp"

namespace sendonce {

enum class Severity : std::uint8_t { error, warning };

struct Finding {
  Severity severity = Severity::error;
  Position at{};
  std::string field{};        // "class.otp.claim"; empty: the file as a whole
  std::string text{};         // what is wrong
  std::string remedy{};       // what to do
  Errc code = Errc::invalid;  // or denied
};
using Findings = std::vector<Finding>;

[[nodiscard]] std::string_view name(Severity severity);

// "file:12:9"; the file alone where no line is known.
[[nodiscard]] std::string to_text(const Position& at);
// "file:12:9: error: class.otp.claim: text; remedy"
[[nodiscard]] std::string to_text(const Finding& finding);

[[nodiscard]] bool has_errors(const Findings& findings);
// By file, line and column, so that a person can walk through the file once.
void sort_by_place(Findings& findings);
// All errors as one Error, a line each; `findings` holds at least one. denied: all of them are.
[[nodiscard]] Error to_error(const Findings& findings);

// Where each key that was given stands, by its field path. A class's inherited key points into
// [defaults.class].
class KeyPositions {
 public:
  void set(std::string field, Position at);
  [[nodiscard]] bool given(std::string_view field) const;
  // Of the field, else of the nearest table around it.
  [[nodiscard]] Position find(std::string_view field) const;

 private:
  std::vector<std::pair<std::string, Position>> places_{};  // sorted by field
};

}  // namespace sendonce
