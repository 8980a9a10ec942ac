#include "plugin/message/notification.hpp"

#include <array>
#include <utility>

namespace sendonce {
namespace {

// Bytes of a buffer that is worth keeping; a body may have a thousand times as many.
constexpr std::size_t kSmall = 1024;

constexpr std::array<std::string_view, 5> kChannels{"push", "sms", "email", "webhook", "in_app"};
constexpr std::array<std::string_view, 7> kKinds{"apns",  "fcm",  "webpush", "sms",
                                                 "email", "http", "push"};

template <class Enum, std::size_t N>
std::optional<Enum> find(const std::array<std::string_view, N>& names, std::string_view text) {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == text) return static_cast<Enum>(i);
  return std::nullopt;
}

// Of a string or vector.
template <class Buffer>
void clear_buffer(Buffer& buffer) {
  if (buffer.capacity() * sizeof(typename Buffer::value_type) > kSmall)
    Buffer().swap(buffer);  // assigned an empty string, one keeps its buffer
  else
    buffer.clear();
}

}  // namespace

void clear(Notification& n) {
  for (std::string* text :
       {&n.event_id, &n.recipient, &n.template_id, &n.campaign_id, &n.idempotency_key, &n.collapse,
        &n.content.title, &n.content.body, &n.content.html, &n.canonical_content})
    clear_buffer(*text);
  clear_buffer(n.content.data);
  clear_buffer(n.overrides);
  clear_buffer(n.targets);
  n.channel = Channel::push;
  n.expires_at.reset();
}

std::string_view name(Channel channel) {
  return kChannels[static_cast<std::size_t>(channel)];
}

std::string_view name(ProviderKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

std::optional<Channel> channel_from(std::string_view text) {
  return find<Channel>(kChannels, text);
}

std::optional<ProviderKind> provider_kind_from(std::string_view text) {
  return find<ProviderKind>(kKinds, text);
}

}  // namespace sendonce
