// The JSON body of an FCM request.
// https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plugin/core/error.hpp"
#include "plugin/message/notification.hpp"

namespace sendonce {

struct FcmPayloadFields {
  std::string_view token{};
  std::string_view nid{};
  std::string_view collapse{};    // may be empty
  std::int64_t ttl_s = 0;         // relative: shrinks from attempt to attempt
  std::int64_t expiration_s = 0;  // the same as a moment, for Apple devices; 0: one attempt
};

// {"message":{"token","notification":{"title","body"},"data":{..,"nid"},"android","apns",
// "webpush"}}, then overrides.fcm merged into the message. Errors are payload errors and name the
// member: data holds strings only and no reserved name; overrides may not touch token, topic,
// condition or nid. The collapse text becomes android.notification.tag and apns-collapse-id, never
// collapse_key, of which FCM keeps four a device.
[[nodiscard]] Result<std::string> fcm_payload(const Notification& notification,
                                              const FcmPayloadFields& fields);

}  // namespace sendonce
