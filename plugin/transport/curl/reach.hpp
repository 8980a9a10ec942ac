// Whether a server can be reached as a provider would be: name, TCP, proxy, TLS with its trust and,
// where it is asked for, h2. Not a byte of a request. For people who ask; blocks.
#pragma once

#include <chrono>
#include <string>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/secret.hpp"

namespace sendonce {

struct ReachOptions {
  // https://host[:port], http:// to loopback, or smtp(s)://host[:port]: greeting, EHLO and STARTTLS
  // as far as the server offers it, no login.
  std::string url{};
  bool h2 = false;        // ALPN must choose h2
  bool starttls = false;  // smtp:// that must become TLS
  std::string ca_file{};  // PEM; empty: the system's
  std::string proxy{};    // http://host:port; empty: none
  Credential proxy_credentials{};
  Duration timeout = std::chrono::seconds(3);
};

// Errors say what to look at. unavailable: nobody there; invalid: TLS, certificate, ALPN or an
// option; denied: it does not want us (proxy credentials, client certificate).
[[nodiscard]] Result<void> reach(const ReachOptions& options);

}  // namespace sendonce
