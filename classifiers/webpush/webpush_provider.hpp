// Web Push: RFC 8030 with the encryption of RFC 8291 and the identification of RFC 8292.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "classifiers/provider.hpp"
#include "plugin/core/secret.hpp"
#include "plugin/message/http_spec.hpp"

namespace sendonce {

struct WebPushOptions {
  Credential key{};                    // VAPID: PEM, or 32 octets in base64url
  std::string subject{};               // mailto: or https:
  std::vector<std::string> origins{};  // see push_origins.hpp
  std::string urgency = "normal";      // RFC 8030 5.3
  std::vector<AnswerRule> answers{};   // the operator's, before our own tables: answer_rules.hpp

  friend bool operator==(const WebPushOptions&, const WebPushOptions&) = default;
};

// invalid: which option is wrong, and why.
[[nodiscard]] Result<std::unique_ptr<Provider>> make_webpush_provider(
    const WebPushOptions& options);

// RFC 8030 5.4: at most 32 characters of base64url. A collapse id that is none is hashed into one.
[[nodiscard]] std::string topic_from(std::string_view collapse);

}  // namespace sendonce
