// A mail server that does what a script says, at any point of the dialogue (RFC 5321, 3207, 4954),
// and remembers what it has seen. A thread for each connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "tests/support/certificates.hpp"

namespace sendonce::test {

// What happens instead of the usual answer. The first that fits and has uses left counts.
struct SmtpFault {
  // "connect", "EHLO", "STARTTLS", "AUTH", "MAIL", "RCPT", "DATA", "BODY" (the message has begun),
  // "END" (it is complete), "IDLE" (after it has been answered).
  std::string at{};
  enum class Then : std::uint8_t { go_on, close, reset, stall };
  Then then = Then::go_on;
  std::string reply{};  // LF between lines; empty: none, or with go_on the usual one
  int times = -1;       // -1: always
  std::string to{};     // only for this recipient
  Duration delay{0};    // before it
};

struct SeenMail {
  std::string sender{};
  std::string recipient{};
  std::string message{};  // without the doubled dots; empty before its end
  bool accepted = false;  // answered with 250
};

struct SmtpServerOptions {
  enum class Tls : std::uint8_t { implicit, starttls, none };
  Tls tls = Tls::implicit;
  Identity identity{};  // not with none
  std::string user{};   // empty: AUTH is not asked for
  std::string password{};
  std::string auth = "PLAIN LOGIN";  // offered
  std::vector<SmtpFault> faults{};
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: a free one
  // Asked at every point for which `faults` says nothing, on the connection's thread.
  std::function<std::optional<SmtpFault>(std::string_view at, const SeenMail&)> decide{};
};

class FakeSmtp {
 public:
  // Fails `invalid` for an address that is none, `unavailable` for a port that is taken.
  [[nodiscard]] static Result<std::unique_ptr<FakeSmtp>> start(SmtpServerOptions options);
  ~FakeSmtp();
  FakeSmtp(const FakeSmtp&) = delete;
  FakeSmtp& operator=(const FakeSmtp&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  void set_faults(std::vector<SmtpFault> faults);
  void keep_messages(bool keep);  // false: only counts them
  // Messages that came with their end: what may have been delivered.
  [[nodiscard]] std::vector<SeenMail> mails() const;
  [[nodiscard]] std::uint64_t ends() const;
  [[nodiscard]] std::uint64_t connections() const;
  [[nodiscard]] std::uint64_t count(const std::string& command) const;  // "MAIL", "QUIT", …
  [[nodiscard]] std::uint64_t in_clear() const;                         // MAIL or AUTH without TLS

  struct State;  // of fake_smtp.cpp

 private:
  explicit FakeSmtp(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sendonce::test
