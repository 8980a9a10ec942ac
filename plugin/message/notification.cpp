#include "plugin/message/notification.hpp"

#include <array>

namespace sendonce {
namespace {

constexpr std::array<std::string_view, 5> kChannels{"push", "sms", "email", "webhook", "in_app"};
constexpr std::array<std::string_view, 6> kKinds{"apns", "fcm", "webpush", "sms", "email", "http"};

template <class Enum, std::size_t N>
std::optional<Enum> find(const std::array<std::string_view, N>& names, std::string_view text) {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == text) return static_cast<Enum>(i);
  return std::nullopt;
}

}  // namespace

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
