// Single values of the configuration: from a TOML node into a typed member and back into TOML text.
// A refusal never quotes the value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema.hpp"
#include "config/toml_shim.hpp"

namespace sendonce {

struct Refusal {
  Position at{};
  std::string text{};
  std::string remedy{};
};
using Refused = std::optional<Refusal>;  // empty: the value was taken

// Both ends are allowed. In nanoseconds, bytes or units; for numbers with a fraction in
// thousandths.
struct Bounds {
  std::int64_t min = 0;
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};

[[nodiscard]] Refused read_text(std::string& out, const TomlNode& node);
[[nodiscard]] Refused read_texts(std::vector<std::string>& out, const TomlNode& node);
[[nodiscard]] Refused read_boolean(bool& out, const TomlNode& node);
[[nodiscard]] Refused read_integer(std::uint32_t& out, const TomlNode& node, const Bounds& bounds);
[[nodiscard]] Refused read_number(double& out, const TomlNode& node, const Bounds& bounds);
[[nodiscard]] Refused read_duration(Duration& out, const TomlNode& node, const Bounds& bounds);
[[nodiscard]] Refused read_size(std::uint64_t& out, const TomlNode& node, const Bounds& bounds);
[[nodiscard]] Refused read_rate(double& out, const TomlNode& node);
[[nodiscard]] Refused read_secret(std::optional<SecretRef>& out, const TomlNode& node);
// `out` is the position of the value in `names`.
[[nodiscard]] Refused read_choice(std::size_t& out, const TomlNode& node,
                                  std::span<const std::string_view> names);

[[nodiscard]] std::string toml_text(std::string_view text);  // quoted and escaped
[[nodiscard]] std::string toml_texts(const std::vector<std::string>& texts);

// "a, b or c"
[[nodiscard]] std::string list_of(std::span<const std::string_view> names);

// How a choice is written; the position is the enumerator's value.
inline constexpr std::array<std::string_view, 2> kDurabilityNames{"commit", "process"};
inline constexpr std::array<std::string_view, 2> kEnvironmentNames{"production", "sandbox"};
inline constexpr std::array<std::string_view, 4> kUrgencyNames{"very-low", "low", "normal", "high"};
inline constexpr std::array<std::string_view, 4> kPolicyNames{"resend", "resend-with-key", "lookup",
                                                              "give-up"};
inline constexpr std::array<std::string_view, 2> kPriorityNames{"normal", "high"};
inline constexpr std::array<std::string_view, 2> kEventsNames{"all", "exceptions"};
inline constexpr std::array<std::string_view, 3> kReuseNames{"allow", "report", "refuse"};

using ChoiceNames = std::span<const std::string_view>;
[[nodiscard]] constexpr ChoiceNames names_of(Durability) {
  return kDurabilityNames;
}
[[nodiscard]] constexpr ChoiceNames names_of(PushUrgency) {
  return kUrgencyNames;
}
[[nodiscard]] constexpr ChoiceNames names_of(ApnsEnvironment) {
  return kEnvironmentNames;
}
[[nodiscard]] constexpr ChoiceNames names_of(AmbiguityPolicy) {
  return kPolicyNames;
}
[[nodiscard]] constexpr ChoiceNames names_of(Priority) {
  return kPriorityNames;
}
[[nodiscard]] constexpr ChoiceNames names_of(EventsMode) {
  return kEventsNames;
}
[[nodiscard]] constexpr ChoiceNames names_of(TokenReuse) {
  return kReuseNames;
}

// Of kind = "http".
inline constexpr std::array<std::string_view, 4> kMethodNames{"POST", "PUT", "PATCH", "GET"};
inline constexpr std::array<std::string_view, 2> kVersionNames{"2", "1.1"};
inline constexpr std::array<std::string_view, 8> kAuthNames{
    "none", "bearer", "basic", "header", "form", "hmac", "oauth2", "aws-sigv4"};
inline constexpr std::array<std::string_view, 2> kEncodingNames{"hex", "base64"};
inline constexpr std::array<std::string_view, 2> kKeyStyleNames{"bare", "sf-string"};

[[nodiscard]] constexpr ChoiceNames names_of(HttpMethod) {
  return kMethodNames;
}
[[nodiscard]] constexpr ChoiceNames names_of(HttpVersion) {
  return kVersionNames;
}
[[nodiscard]] constexpr ChoiceNames names_of(HttpAuth) {
  return kAuthNames;
}
[[nodiscard]] constexpr ChoiceNames names_of(HmacEncoding) {
  return kEncodingNames;
}
[[nodiscard]] constexpr ChoiceNames names_of(KeyStyle) {
  return kKeyStyleNames;
}

template <class Enum>
[[nodiscard]] std::string_view choice_text(Enum value) {
  return names_of(value)[static_cast<std::size_t>(value)];
}

}  // namespace sendonce
