// How a mail server is reached.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "plugin/core/clock.hpp"
#include "plugin/core/secret.hpp"
#include "plugin/transport/endpoint.hpp"

namespace sendonce {

struct SmtpLogin {
  std::string hello{};    // what EHLO says
  std::string user{};     // empty: no AUTH
  Credential password{};  // PLAIN or LOGIN
  friend bool operator==(const SmtpLogin&, const SmtpLogin&) = default;
};

struct SmtpOptions {
  MailEndpoint endpoint{};
  SmtpLogin login{};
  std::string proxy{};  // http://host:port; empty: none
  Credential proxy_credentials{};
  Duration connect_timeout = std::chrono::seconds(3);  // name, TCP, TLS, EHLO and AUTH
  std::size_t connections = 1;
};

// A connection between two mails: servers close those that idle (RFC 5321 4.5.3.2.7: 5 minutes),
// and an old one keeps an address that its name may have left.
inline constexpr Duration kSmtpIdleMax = std::chrono::seconds(30);
inline constexpr Duration kSmtpAgeMax = std::chrono::minutes(5);

}  // namespace sendonce
