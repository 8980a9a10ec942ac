// An e-mail as it goes over the wire: RFC 5322 header, RFC 2045 to 2047 for what is not ASCII.
// Pure; the same bytes for every attempt.
#pragma once

#include <string>
#include <string_view>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"

namespace sendonce {

// Borrowed. Addresses are in normal form, texts are UTF-8.
struct MailParts {
  std::string_view from{};
  std::string_view from_name{};  // empty: none
  std::string_view reply_to{};   // empty: none
  std::string_view to{};
  std::string_view subject{};
  std::string_view text{};        // empty: the mail is HTML alone
  std::string_view html{};        // empty: the mail is text alone
  std::string_view message_id{};  // without its brackets
  std::string_view boundary{};    // of letters and digits
  WallTime date{};
};

// Lines of at most 76 characters, ASCII, ending in CRLF; dots are not doubled. invalid: the subject
// or a name holds a line break or another control character; the text never quotes it.
[[nodiscard]] Result<std::string> write_mail(const MailParts& parts);

// ---- its pieces, for tests
// RFC 5322 3.3, in UTC: "Mon, 30 Nov 2026 08:46:51 +0000".
[[nodiscard]] std::string mail_date(WallTime t);
// RFC 2047: as it is when it is short ASCII; else in encoded words of UTF-8, one a line.
[[nodiscard]] std::string encoded_words(std::string_view text);
[[nodiscard]] std::string quoted_printable(std::string_view text);  // RFC 2045 6.7
[[nodiscard]] std::string base64_lines(std::string_view text);      // RFC 2045 6.8

}  // namespace sendonce
