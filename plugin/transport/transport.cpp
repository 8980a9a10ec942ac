#include "plugin/transport/transport.hpp"

#include <cstring>
#include <limits>
#include <type_traits>

#include "plugin/core/assert.hpp"

namespace sendonce {

void Headers::add(std::string_view header_name, std::string_view value, bool never_index) {
  constexpr std::size_t kMax = std::numeric_limits<std::uint16_t>::max();
  SO_ASSERT(header_name.size() <= kMax && value.size() <= kMax);
  const Prefix prefix{static_cast<std::uint16_t>(header_name.size()),
                      static_cast<std::uint16_t>(value.size()),
                      static_cast<std::uint16_t>(never_index ? 1 : 0)};
  static_assert(std::is_trivially_copyable_v<Prefix>);
  const std::size_t before = packed_.size();
  const std::size_t after = before + sizeof prefix + header_name.size() + value.size();
  packed_.resize_and_overwrite(after, [&](char* data, std::size_t /*size*/) {
    std::memcpy(data + before, &prefix, sizeof prefix);
    char* const name_at = data + before + sizeof prefix;
    header_name.copy(name_at, header_name.size());
    value.copy(name_at + header_name.size(), value.size());
    return after;
  });
  ++count_;
}

void Headers::reserve(std::size_t fields, std::size_t bytes) {
  packed_.reserve(fields * sizeof(Prefix) + bytes);
}

Headers::View Headers::operator[](std::size_t i) const noexcept {
  SO_ASSERT(i < count_);
  Iterator at = begin();
  for (; i > 0; --i) ++at;
  return *at;
}

std::optional<std::string_view> Headers::find(std::string_view header_name) const noexcept {
  for (const View field : *this)
    if (field.name == header_name) return field.value;
  return std::nullopt;
}

void Headers::clear() noexcept {
  packed_.clear();
  count_ = 0;
}

std::size_t Transport::room_at(ProviderIndex provider, std::string_view /*authority*/) const {
  return state(provider).room;
}

void Transport::warm_up_at(ProviderIndex provider, std::string_view /*authority*/) {
  warm_up(provider);
}

std::vector<std::pair<std::string, PoolState>> Transport::origins(
    ProviderIndex /*provider*/) const {
  return {};
}

std::string_view name(MailStep step) {
  switch (step) {
    case MailStep::none:
      return "";
    case MailStep::greeting:
      return "connecting";
    case MailStep::hello:
      return "EHLO";
    case MailStep::auth:
      return "AUTH";
    case MailStep::sender:
      return "MAIL";
    case MailStep::recipient:
      return "RCPT";
    case MailStep::data:
      return "DATA";
    case MailStep::message:
      return "end of DATA";
  }
  SO_ASSERT(false);
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
