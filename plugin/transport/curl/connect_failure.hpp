// What libcurl's codes mean before a connection is up, in words that name what to do. Pure.
#pragma once

#include <string>
#include <string_view>

#include "plugin/transport/transport.hpp"

namespace sendonce {

// Where a connection attempt stood.
enum class ConnectPhase : std::uint8_t { resolving, reaching, proxying, tls };

// What libcurl reported (CURLE_..., CURLINFO_...).
struct ConnectReport {
  int code = 0;
  long os_errno = 0;
  long proxy_status = 0;      // of the answer to CONNECT
  long verify_result = 0;     // X509_V_ERR_...
  std::string_view detail{};  // CURLOPT_ERRORBUFFER
  ConnectPhase phase = ConnectPhase::resolving;
  bool tls_done = false;  // the handshake came to its end
  bool h2 = true;         // and chose h2, where h2 was asked for
};

// Of the configuration: what the text may name.
struct ConnectTarget {
  std::string_view peer{};   // host:port
  std::string_view proxy{};  // empty: none
  bool client_certificate = false;
  bool proxy_credentials = false;  // we have some
  bool asks_h2 = true;             // where HTTP is asked for at all; else HTTP/1.1
};

struct ConnectFailure {
  Cause cause = Cause::connect;  // connect, tls or client_auth
  std::string text{};            // safe to print
};

[[nodiscard]] ConnectFailure explain(const ConnectReport& report, const ConnectTarget& target);
// Our own deadline ended the attempt.
[[nodiscard]] ConnectFailure explain_timeout(ConnectPhase phase, const ConnectTarget& target);
// The peer's alert says that it does not take our certificate. Under TLS 1.3 it comes with the
// first read, after a connect that looked good (RFC 8446 4.4.2.4).
[[nodiscard]] bool refuses_certificate(std::string_view detail);

}  // namespace sendonce
