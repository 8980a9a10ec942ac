// What payload builders share: finding overrides, naming members in errors.
#pragma once

#include <string>
#include <string_view>

#include "plugin/message/notification.hpp"

namespace sendonce {

// The minified object for the kind; empty when there is none.
[[nodiscard]] std::string_view overrides_of(const Notification& notification, ProviderKind kind);

// A member's name as it may be printed in an error: at most 64 bytes, visible ASCII.
[[nodiscard]] std::string printable_name(std::string_view name);

}  // namespace sendonce
