// Who may see the page: decisions without input or output. A browser on the same machine also runs
// the scripts of strangers, and any user of the machine may connect to a loopback port; so an
// address that works once is exchanged for a cookie, and nothing is done that another site asks
// for (docs/adr/0051).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plugin/core/clock.hpp"
#include "plugin/module/http/http_server.hpp"

namespace sendonce::cli {

inline constexpr Duration kTokenLife = std::chrono::minutes(10);
// What a form of another site cannot send, beside its method: RFC 6454 and a field of our own.
inline constexpr std::string_view kRequestField = "sendonce-request";

enum class Admission : std::uint8_t {
  welcome,
  exchange,     // the token is right: give the cookie, send to the page without it
  enter,        // has the cookie already: send to the page without the token
  wrong_host,   // a name that is not ours: DNS rebinding
  wrong_token,  // never was one, was used, or is too old
  no_session,
  foreign,  // a POST that the page itself did not send
};

class Gate {
 public:
  // Both secrets are random, in characters that need no encoding.
  Gate(std::uint16_t port, std::string token, std::string session, MonoTime now);

  // To be opened, once.
  [[nodiscard]] std::string address() const;
  // The value of a Set-Cookie field.
  [[nodiscard]] std::string cookie() const;

  // `exchange` is answered once: the token is used then.
  [[nodiscard]] Admission admit(const HttpQuestion& question, MonoTime now);

 private:
  [[nodiscard]] bool is_ours(std::string_view host) const;
  [[nodiscard]] bool has_session(const HttpQuestion& question) const;

  std::string port_;
  std::string token_;
  std::string session_;
  MonoTime ends_{};  // of the token
  bool used_ = false;
};

}  // namespace sendonce::cli
