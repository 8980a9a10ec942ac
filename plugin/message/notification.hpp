// What an envelope says once it has been decoded (docs/formats.md, "Envelope"). Owns its bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plugin/core/clock.hpp"
#include "plugin/core/ids.hpp"
#include "plugin/core/secret.hpp"

namespace sendonce {

enum class Channel : std::uint8_t { push, sms, email, webhook, in_app };

// What kind of provider a destination needs; fixes its normal form and its app scope. `push`:
// tokens of a push service that configuration describes.
enum class ProviderKind : std::uint8_t { apns, fcm, webpush, sms, email, http, push };

[[nodiscard]] std::string_view name(Channel channel);
[[nodiscard]] std::string_view name(ProviderKind kind);
[[nodiscard]] std::optional<Channel> channel_from(std::string_view text);
[[nodiscard]] std::optional<ProviderKind> provider_kind_from(std::string_view text);

struct Target {
  std::string provider{};  // as named by the envelope; empty when it gave `kind`
  std::optional<ProviderKind> kind{};
  Destination destination{};  // as given: token, endpoint, phone, address or URL
  Destination p256dh{};       // Web Push subscription keys
  Destination auth{};
  std::optional<WallTime> registered_at{};
  std::string ref{};  // opaque, comes back in every event about the target
};

// A member of `notification.data`: its name and its value as minified JSON text.
using DataMember = std::pair<std::string, std::string>;

struct Content {
  std::string title{};
  std::string body{};
  std::string html{};
  std::vector<DataMember> data{};
};

struct Notification {
  std::string event_id{};
  std::string recipient{};
  Channel channel = Channel::push;
  std::string template_id{};
  std::string campaign_id{};
  std::string idempotency_key{};
  std::string collapse{};  // as given; empty: the class or the nid decides
  Content content{};
  std::vector<std::pair<ProviderKind, std::string>> overrides{};  // minified JSON objects
  std::optional<WallTime> expires_at{};
  std::vector<Target> targets{};  // de-duplicated by destination, in order
  // SHA-256 inputs in canonical form (members sorted, numbers as written); see message/key.hpp.
  std::string canonical_content{};
};

// As new, but for small buffers that are kept: a notification is read into one that was forgotten.
void clear(Notification& notification);

}  // namespace sendonce
