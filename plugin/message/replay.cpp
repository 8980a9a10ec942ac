#include "plugin/message/replay.hpp"

#include <algorithm>
#include <string>

#include "plugin/core/ascii.hpp"
#include "plugin/core/text.hpp"

namespace sendonce {

bool is_replay_header(std::string_view name) {
  return same_letters(name, kReplayHeader);
}

Result<std::vector<Key>> replayed_keys(const MessageHeaders& headers) {
  std::vector<Key> keys;
  for (const auto& [name, value] : headers) {
    if (!is_replay_header(name)) continue;
    const auto bytes = unhex(value);
    if (!bytes || bytes->size() != Key::kSize)
      return fail(Errc::invalid, std::string(kReplayHeader) + ": 64 hex digits are wanted");
    std::copy(bytes->begin(), bytes->end(), keys.emplace_back().bytes.begin());
  }
  return keys;
}

}  // namespace sendonce
