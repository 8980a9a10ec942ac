#include "plugin/transport/transport.hpp"

#include <limits>

#include "plugin/core/assert.hpp"

namespace sendonce {

void Headers::add(std::string_view header_name, std::string_view value, bool never_index) {
  constexpr std::size_t kMax = std::numeric_limits<std::uint16_t>::max();
  SO_ASSERT(header_name.size() <= kMax && value.size() <= kMax);
  slots_.push_back({static_cast<std::uint32_t>(text_.size()),
                    static_cast<std::uint16_t>(header_name.size()),
                    static_cast<std::uint16_t>(value.size()), never_index});
  text_.append(header_name).append(value);
}

Headers::View Headers::operator[](std::size_t i) const noexcept {
  const Slot& s = slots_[i];
  const std::string_view text(text_);
  return {text.substr(s.at, s.name_size), text.substr(s.at + s.name_size, s.value_size),
          s.never_index};
}

std::optional<std::string_view> Headers::find(std::string_view header_name) const noexcept {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const View v = (*this)[i];
    if (v.name == header_name) return v.value;
  }
  return std::nullopt;
}

void Headers::clear() noexcept {
  text_.clear();
  slots_.clear();
}

std::string_view name(Cause cause) {
  switch (cause) {
    case Cause::connect:
      return "connect";
    case Cause::tls:
      return "tls";
    case Cause::client_auth:
      return "client_auth";
    case Cause::refused:
      return "refused";
    case Cause::reset:
      return "reset";
    case Cause::connection_lost:
      return "connection_lost";
    case Cause::timed_out:
      return "timed_out";
    case Cause::cancelled:
      return "cancelled";
    case Cause::oversized:
      return "oversized";
    case Cause::not_started:
      return "not_started";
  }
  SO_ASSERT(false);
}

}  // namespace sendonce
