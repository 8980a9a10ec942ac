// What a service worker finds in `event.data.json()`. There is no standard for it, so it is the
// notification as the producer wrote it.
#pragma once

#include <string>
#include <string_view>

#include "plugin/core/error.hpp"
#include "plugin/message/notification.hpp"

namespace sendonce {

// {"nid":"…","tag":"…","title":"…","body":"…","data":{…}}, then overrides.webpush merged in; what
// is empty is left out. `tag` is the collapse id: showNotification() replaces one of the same tag.
// Errors are payload errors: overrides may not change nid.
[[nodiscard]] Result<std::string> webpush_payload(const Notification& notification,
                                                  std::string_view nid, std::string_view collapse);

}  // namespace sendonce
