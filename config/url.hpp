// The few URLs of a configuration. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sendonce {

// Borrowed from the text.
struct UrlParts {
  std::string_view scheme{};
  std::string_view host{};  // without the brackets of an IPv6 address
  std::uint16_t port = 0;   // 0: none given
  std::string_view path{};  // with its slash and query
  bool has_user = false;    // user or password before the host
};

// scheme://[user@]host[:port][/path]; empty when it is not of that form.
[[nodiscard]] std::optional<UrlParts> split_url(std::string_view text);
// "127.0.0.1:8227" or "[::1]:8227": an address, not a name, and a port. Borrowed from the text.
[[nodiscard]] std::optional<UrlParts> split_address(std::string_view text);
// 127.0.0.0/8, ::1 and localhost.
[[nodiscard]] bool is_loopback(std::string_view host);

}  // namespace sendonce
