// The browser's side of Web Push: a throw-away subscription, and what it can read of a body (RFC
// 8291, RFC 8188). Written from the documents, apart from what sends.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plugin/crypto/p256.hpp"

namespace sendonce::test {

class PushReceiver {
 public:
  PushReceiver();
  // Of a known key and secret, in base64url.
  PushReceiver(std::string_view scalar, std::string_view auth);

  [[nodiscard]] std::string p256dh() const;  // base64url
  [[nodiscard]] std::string auth() const;
  // The text; empty when it is not one whole record for this subscription.
  [[nodiscard]] std::optional<std::string> read(std::string_view body) const;

 private:
  P256Key key_;
  std::string auth_;
};

}  // namespace sendonce::test
