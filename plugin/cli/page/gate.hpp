// Who may see the page: decisions without input or output. A browser on the same machine also runs
// the scripts of strangers, and any user of the machine may listen and connect on loopback ports.
// So an address that works once is exchanged for a cookie and a proof. A cookie does not know
// ports: another user's server on 127.0.0.1 may be sent it; the proof stays with the page's own
// origin (docs/adr/0051).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plugin/core/clock.hpp"
#include "plugin/module/http/http_server.hpp"

namespace sendonce::cli {

inline constexpr Duration kTokenLife = std::chrono::minutes(10);
// Holds the proof. No form of another site can send such a field, and no other server knows it.
inline constexpr std::string_view kRequestField = "sendonce-request";

enum class Admission : std::uint8_t {
  welcome,
  exchange,     // the token is right: give the cookie, send to the page without it
  enter,        // has the cookie already: send to the page without the token
  assets_only,  // has the cookie and no proof: what everybody may have
  wrong_host,   // a name that is not ours: DNS rebinding
  wrong_token,  // never was one, was used, or is too old
  no_session,
  foreign,  // a POST that the page itself did not send
};

// All of them random, in characters that need no encoding.
struct GateSecrets {
  std::string token{};    // of the address, works once
  std::string session{};  // of the cookie
  std::string proof{};    // kept by the scripts of the page
};

class Gate {
 public:
  Gate(std::uint16_t port, GateSecrets secrets, MonoTime now);

  // To be opened, once.
  [[nodiscard]] std::string address() const;
  // Where the exchange leads to: the proof stands behind the '#', which no browser sends anywhere.
  [[nodiscard]] std::string entrance() const;
  // The value of a Set-Cookie field.
  [[nodiscard]] std::string cookie() const;

  // `exchange` is answered once: the token is used then.
  [[nodiscard]] Admission admit(const HttpQuestion& question, MonoTime now);

 private:
  [[nodiscard]] bool is_ours(std::string_view host) const;
  [[nodiscard]] bool has_session(const HttpQuestion& question) const;

  std::string port_;
  GateSecrets secrets_;
  MonoTime ends_{};  // of the token
  bool used_ = false;
};

}  // namespace sendonce::cli
