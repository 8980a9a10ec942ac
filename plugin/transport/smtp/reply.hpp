// SMTP on the wire: replies in, a message out. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sendonce {

struct SmtpReply {
  int code = 0;
  std::string lines{};  // as received, joined by LF: "550-5.1.1 no\n550 5.1.1 such user"
};

// Puts a reply together from bytes as they come (RFC 5321 4.2.1).
class SmtpReplyReader {
 public:
  enum class State : std::uint8_t { more, whole, broken, oversized };

  explicit SmtpReplyReader(std::size_t max_bytes = std::size_t{16} * 1024)
      : max_bytes_(max_bytes) {}

  // Takes from the front of `bytes` what belongs to the reply; what is left after `whole` is not
  // part of it. After anything but `more`, take() or clear() comes first.
  [[nodiscard]] State feed(std::string_view& bytes);
  [[nodiscard]] SmtpReply take();
  [[nodiscard]] bool begun() const noexcept { return !line_.empty() || !lines_.empty(); }

 private:
  [[nodiscard]] State end_of_line();

  std::size_t max_bytes_;
  std::string line_{};
  std::string lines_{};
  int code_ = 0;
};

// The message with its dots doubled and its end behind it (RFC 5321 4.5.2). `end_at` is where the
// first byte stands that makes the end: without it the server has no message.
struct SmtpMessage {
  std::string bytes{};
  std::size_t end_at = 0;
};
[[nodiscard]] SmtpMessage smtp_message(std::string_view message);

}  // namespace sendonce
