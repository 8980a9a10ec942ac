// Apple Push Notification service, token authentication.
// https://developer.apple.com/documentation/usernotifications/sending-notification-requests-to-apns
#pragma once

#include <memory>
#include <string>

#include "classifiers/apns/apns_token.hpp"
#include "classifiers/provider.hpp"
#include "plugin/message/http_spec.hpp"

namespace sendonce {

struct ApnsOptions {
  std::string topic{};  // bundle id, with the suffix of the push type where Apple asks for one
  bool sandbox = false;
  // As Apple names it. Empty: by the topic's suffix (".voip", …), else "alert", or "background" for
  // a notification that shows nothing.
  std::string push_type{};
  std::vector<AnswerRule> answers{};  // the operator's, before our own table: answer_rules.hpp

  friend bool operator==(const ApnsOptions&, const ApnsOptions&) = default;
};

// `tokens` is borrowed and shared with every provider of the same team and key. invalid: which
// option is wrong, and why.
[[nodiscard]] Result<std::unique_ptr<Provider>> make_apns_provider(const ApnsOptions& options,
                                                                   ApnsTokenSource& tokens);

}  // namespace sendonce
