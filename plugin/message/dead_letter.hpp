// The copy of a message that goes to the dead-letter stream (docs/formats.md, "Dead letters").
// Pure: the same message, reason and names give the same publication, and its Nats-Msg-Id with it.
#pragma once

#include <string>
#include <string_view>

#include "plugin/broker/broker.hpp"
#include "plugin/core/ids.hpp"

namespace sendonce {

// For one delivery that ended as failed or as conflict. `reason` is short and safe to print.
[[nodiscard]] Publication dead_letter(const Message& message, std::string_view class_name,
                                      std::string_view reason, const Key& key);

// For a message that could not be decoded, or whose key could not be made; it has no delivery.
// `text` says why (an Error's text). `stream` is where the message came from.
[[nodiscard]] Publication undecodable_letter(const Message& message, std::string_view class_name,
                                             std::string_view stream, std::string_view text);

}  // namespace sendonce
