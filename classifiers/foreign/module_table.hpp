// The table of a provider module (sendonce/abi/provider.h), once it has been looked at, and the
// texts that go over that boundary.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "plugin/core/error.hpp"
#include "sendonce/abi/provider.h"

namespace sendonce {

struct ModuleTable {
  const sendonce_provider_api* api = nullptr;  // lives as long as the process
  std::string name{};
  std::string version{};
  friend bool operator==(const ModuleTable&, const ModuleTable&) = default;
};

// invalid: the table is missing, too short or has holes. The text says what to do about it.
[[nodiscard]] Result<ModuleTable> look_at(const sendonce_provider_api* api);
[[nodiscard]] bool has_query(const sendonce_provider_api& api);

[[nodiscard]] inline sendonce_str lent(std::string_view text) {
  return {text.data(), text.size()};
}
// What a module returned, still its own. Empty: longer than `max`, or a NULL that has a size.
[[nodiscard]] std::optional<std::string_view> text_of(const sendonce_str& from, std::size_t max);

// A text that is secret or personal, and stands in another: shorter ones prove nothing.
[[nodiscard]] bool tells_a_secret(std::string_view text, std::span<const std::string_view> secrets);

// A buffer that is lent to a module for the text of an error.
class LentText {
 public:
  LentText();
  LentText(const LentText&) = delete;
  LentText& operator=(const LentText&) = delete;
  ~LentText() = default;

  [[nodiscard]] sendonce_text* out() noexcept { return &text_; }
  // In printable ASCII, whatever was written; a text that holds one of the secrets is not shown.
  [[nodiscard]] std::string read(std::span<const std::string_view> secrets) const;

 private:
  static constexpr std::size_t kCapacity = 256;
  std::array<char, kCapacity> buffer_{};
  sendonce_text text_{};
};

}  // namespace sendonce
