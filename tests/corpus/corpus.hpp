// The recorded answers of responses.jsonl and the verdicts they deserve.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "plugin/core/clock.hpp"

namespace sendonce::test {

using Json = nlohmann::json;

inline std::vector<Json> corpus() {
  std::ifstream file(SENDONCE_SOURCE_DIR "/tests/corpus/responses.jsonl");
  std::vector<Json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
  return lines;
}

// 2026-11-29T12:00:00Z
inline constexpr WallTime kNow{std::chrono::seconds(1'795'953'600)};

}  // namespace sendonce::test
