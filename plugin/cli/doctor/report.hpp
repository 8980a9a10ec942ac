// What the doctor found: a line each, with the commands that repair it, for people and for programs
// (docs/operations.md, "Doctor").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/core/error.hpp"

namespace sendonce::cli {

enum class Health : std::uint8_t { green, yellow, red };
[[nodiscard]] std::string_view name(Health health);

using Repair = std::vector<std::string>;  // commands, in this order

struct Check {
  std::string check{};   // a stable name
  std::string object{};  // which of several; may be empty
  Health health = Health::green;
  std::string text{};
  Repair repair{};
  int code = 0;  // the exit code of a red one
};

class Report {
 public:
  void green(std::string check, std::string object, std::string text);
  void yellow(std::string check, std::string object, std::string text, Repair repair);
  void red(std::string check, std::string object, std::string text, Repair repair, int code);

  [[nodiscard]] const std::vector<Check>& checks() const { return checks_; }
  // Of the first red line, else 0; yellow ones count as 2 with `strict`.
  [[nodiscard]] int exit_code(bool strict) const;
  [[nodiscard]] std::string text(bool colours) const;
  [[nodiscard]] std::string json() const;  // one line

 private:
  [[nodiscard]] std::size_t count(Health health) const;
  std::vector<Check> checks_{};
};

}  // namespace sendonce::cli
