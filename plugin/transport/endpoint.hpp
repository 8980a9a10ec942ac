// https://host[:port] and smtp(s)://host[:port], taken apart and checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plugin/core/error.hpp"

namespace sendonce {

struct Endpoint {
  std::string host{};  // as in the URL: a name, an IPv4 address, or [IPv6]
  std::uint16_t port = 443;
  bool tls = true;
  std::string authority{};  // host, and the port when it is not the scheme's own
};

// Accepts no user, path, query or fragment. Plain http only to loopback and only when `insecure`.
[[nodiscard]] Result<Endpoint> parse_endpoint(std::string_view url, bool insecure);
// smtps://host[:port] (465: TLS from the first byte, RFC 8314 3.3) or smtp://host[:port] (587:
// STARTTLS, which must succeed). To loopback, smtp with `insecure` is plain.
enum class MailSecurity : std::uint8_t { tls, starttls, plain };
struct MailEndpoint {
  Endpoint at{};
  MailSecurity security = MailSecurity::tls;
};
[[nodiscard]] Result<MailEndpoint> parse_mail_endpoint(std::string_view url, bool insecure);
// The same as the first for a whole URL, whose path and query are not looked at.
[[nodiscard]] Result<Endpoint> parse_url(std::string_view url, bool insecure);

}  // namespace sendonce
