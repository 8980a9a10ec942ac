// What is logged, a line each: "error provider.held provider=apns".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugin/core/log.hpp"

namespace sendonce::test {

class LineLog final : public Log {
 public:
  void write(Level level, std::string_view event, std::span<const Field> fields) override {
    std::string line = std::string(name(level)) + " " + std::string(event);
    for (const Field& f : fields) line.append(" ").append(f.name).append("=").append(f.value);
    lines.push_back(std::move(line));
  }
  [[nodiscard]] bool enabled(Level /*level*/) const override { return true; }

  std::vector<std::string> lines{};
};

}  // namespace sendonce::test
