// The JSON body of an APNs request.
// https://developer.apple.com/documentation/usernotifications/generating-a-remote-notification
#pragma once

#include <string>
#include <string_view>

#include "plugin/core/error.hpp"
#include "plugin/message/notification.hpp"

namespace sendonce {

struct ApnsPayload {
  std::string body{};
  // Nothing is shown, played or badged: the app is woken. Needs push type background, priority 5.
  bool background = false;
};

// {"aps":{"alert":{"title","body"}},"nid":"…", data members…}, then overrides.apns merged in.
// Errors are payload errors and name the member: data may be neither "aps" nor "nid", overrides not
// "nid". Without title and body, and unless `push_type_given`, the push is one in the background.
[[nodiscard]] Result<ApnsPayload> apns_payload(const Notification& notification,
                                               std::string_view nid, bool push_type_given);

}  // namespace sendonce
