#include "classifiers/overrides.hpp"

namespace sendonce {

std::string_view overrides_of(const Notification& notification, ProviderKind kind) {
  for (const auto& [of, json] : notification.overrides)
    if (of == kind) return json;
  return {};
}

std::string printable_name(std::string_view name) {
  std::string out(name.substr(0, 64));
  for (char& c : out)
    if (c <= 0x20 || c >= 0x7f) c = '?';
  return out;
}

}  // namespace sendonce
