// The list of targets of an envelope.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "plugin/core/error.hpp"
#include "plugin/message/json.hpp"
#include "plugin/message/json_path.hpp"
#include "plugin/message/notification.hpp"

namespace sendonce {

inline constexpr std::size_t kMaxTargets = 500;

// What a target gave as its destination, by the name of the member.
enum class DestinationForm : std::uint8_t { token, subscription, phone, email, url };

// The members that say where something goes, in any object that has them.
inline constexpr std::array<std::string_view, 7> kDestinationMembers{
    "provider", "kind", "token", "subscription", "phone", "email", "url"};

// Reads the value of the member at this position of kDestinationMembers.
[[nodiscard]] Result<void> read_destination(std::size_t member, JsonReader& reader,
                                            const JsonPath& at, Target& target);
// What form of destination the member at this position is; empty: it is none.
[[nodiscard]] std::optional<DestinationForm> form_of(std::size_t member);
// The form that a provider of this kind takes.
[[nodiscard]] DestinationForm form_for(ProviderKind kind);

// The first target with a destination of each form: what has yet to be compared with the channel,
// which may come later in the text.
using FirstWith = std::array<std::optional<std::size_t>, 5>;

// Into `targets`, which is empty.
[[nodiscard]] Result<void> read_targets(JsonReader& reader, const JsonPath& path,
                                        std::vector<Target>& targets, FirstWith& first_with);

// invalid: a target's destination or kind does not belong to the channel, or the two do not belong
// to each other.
[[nodiscard]] Result<void> check_channel(const FirstWith& first_with, Channel channel,
                                         const JsonPath& path);

// Keeps the first of those with the same provider or kind and the same destination, in order.
void remove_repeated(std::vector<Target>& targets);

// RFC 3339, or invalid.
[[nodiscard]] Result<WallTime> read_time(JsonReader& reader, const JsonPath& path);

}  // namespace sendonce
