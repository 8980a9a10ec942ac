#include "classifiers/smtp/smtp_message.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

namespace sendonce {
namespace {

constexpr std::size_t kLineMax = 76;
constexpr std::size_t kPlainMax = 60;   // of a header's value that needs no folding
constexpr std::size_t kWordBytes = 39;  // with "Subject: " before it 73 of a line's 76 characters
constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool is_control(char c) {
  return (c >= 0 && c < ' ') || c == 0x7f;
}

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7f; });
}

void append_base64(std::string& out, std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto at = [&](std::size_t k) -> std::uint32_t {
      return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U;
    };
    const std::uint32_t group = at(0) << 16U | at(1) << 8U | at(2);
    out.push_back(kAlphabet[group >> 18U]);
    out.push_back(kAlphabet[group >> 12U & 63U]);
    out.push_back(i + 1 < bytes.size() ? kAlphabet[group >> 6U & 63U] : '=');
    out.push_back(i + 2 < bytes.size() ? kAlphabet[group & 63U] : '=');
  }
}

// Of at most `bytes`, and not within a character.
std::string_view front_of(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 1 && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U) --bytes;
  return text.substr(0, bytes);
}

// Every line break becomes CRLF.
std::string with_crlf(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 32);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n' && i > 0 && text[i - 1] == '\r') continue;
    if (c == '\r' || c == '\n')
      out += "\r\n";
    else
      out.push_back(c);
  }
  return out;
}

void append_hex(std::string& out, char c) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  out.push_back('=');
  out.push_back(kHex[byte >> 4U]);
  out.push_back(kHex[byte & 15U]);
}

void append_part(std::string& out, std::string_view type, std::string_view content) {
  const auto foreign = static_cast<std::size_t>(
      std::ranges::count_if(content, [](char c) { return static_cast<unsigned char>(c) > 0x7e; }));
  const bool printable = foreign * 4 <= content.size();
  out.append("Content-Type: ").append(type).append("; charset=utf-8\r\n");
  out += "Content-Transfer-Encoding: ";
  out += printable ? "quoted-printable\r\n\r\n" : "base64\r\n\r\n";
  const std::string lines = with_crlf(content);
  out += printable ? quoted_printable(lines) : base64_lines(lines);
  if (!out.ends_with("\r\n")) out += "\r\n";
}

Result<void> check_line(std::string_view text, std::string_view what) {
  if (std::ranges::none_of(text, is_control)) return {};
  return fail(Errc::invalid,
              std::string(what) + " holds a line break or another control character");
}

std::string mailbox(std::string_view name, std::string_view address) {
  if (name.empty()) return std::string(address);
  std::string out;
  if (is_plain(name) && name.size() <= kPlainMax) {
    out = "\"";
    for (const char c : name) {
      if (c == '"' || c == '\\') out.push_back('\\');
      out.push_back(c);
    }
    out += "\"";
  } else {
    out = encoded_words(name);
  }
  return out + "\r\n <" + std::string(address) + ">";
}

void append_bodies(std::string& out, const MailParts& parts) {
  if (parts.html.empty()) return append_part(out, "text/plain", parts.text);
  if (parts.text.empty()) return append_part(out, "text/html", parts.html);
  // "=_" stands in neither encoding.
  const std::string line = "--=_" + std::string(parts.boundary);
  out += "Content-Type: multipart/alternative;\r\n boundary=\"=_";
  out.append(parts.boundary).append("\"\r\n\r\n");
  out += line + "\r\n";
  append_part(out, "text/plain", parts.text);
  out += line + "\r\n";
  append_part(out, "text/html", parts.html);  // the last is the best, RFC 2046 5.1.4
  out += line + "--\r\n";
}

}  // namespace

std::string mail_date(WallTime t) {
  static constexpr std::array<const char*, 7> kDays{"Sun", "Mon", "Tue", "Wed",
                                                    "Thu", "Fri", "Sat"};
  static constexpr std::array<const char*, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  namespace chrono = std::chrono;
  const chrono::sys_seconds at(chrono::floor<chrono::seconds>(t.time_since_epoch()));
  const chrono::sys_days day = chrono::floor<chrono::days>(at);
  const chrono::year_month_day date(day);
  const chrono::hh_mm_ss clock{at - day};
  std::array<char, 64> text{};
  const int size = std::snprintf(
      text.data(), text.size(), "%s, %02u %s %04d %02d:%02d:%02d +0000",
      kDays[chrono::weekday(day).c_encoding()], static_cast<unsigned>(date.day()),
      kMonths[static_cast<unsigned>(date.month()) - 1], static_cast<int>(date.year()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()));
  return {text.data(), static_cast<std::size_t>(size)};
}

std::string encoded_words(std::string_view text) {
  const bool as_it_is = is_plain(text) && text.size() <= kPlainMax &&
                        text.find("=?") == std::string_view::npos && !text.starts_with(' ') &&
                        !text.ends_with(' ');
  if (as_it_is) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const std::string_view word = front_of(text, kWordBytes);
    text.remove_prefix(word.size());
    out += out.empty() ? "=?UTF-8?B?" : "\r\n =?UTF-8?B?";
    append_base64(out, word);
    out += "?=";
  }
  return out;
}

std::string quoted_printable(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  std::size_t column = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (text.substr(i, 2) == "\r\n") {
      out += "\r\n";
      column = 0;
      ++i;
      continue;
    }
    const bool at_end = i + 1 == text.size() || text.substr(i + 1, 2) == "\r\n";
    const bool blank = c == ' ' || c == '\t';
    const bool literal = blank ? !at_end : c > ' ' && c < 0x7f && c != '=';
    const std::size_t width = literal ? 1 : 3;
    if (column + width > kLineMax - 1) {  // the last column is for the '=' of a soft break
      out += "=\r\n";
      column = 0;
    }
    column += width;
    if (literal)
      out.push_back(c);
    else
      append_hex(out, c);
  }
  return out;
}

std::string base64_lines(std::string_view text) {
  std::string out;
  constexpr std::size_t kBytes = kLineMax / 4 * 3;
  for (std::size_t i = 0; i < text.size(); i += kBytes) {
    append_base64(out, text.substr(i, kBytes));
    out += "\r\n";
  }
  return out;
}

Result<std::string> write_mail(const MailParts& parts) {
  SO_CHECK(check_line(parts.subject, "title"));
  SO_CHECK(check_line(parts.from_name, "from_name"));
  std::string out;
  out.reserve(1024 + (parts.text.size() + parts.html.size()) * 5 / 4);
  out.append("Date: ").append(mail_date(parts.date)).append("\r\n");
  out.append("From: ").append(mailbox(parts.from_name, parts.from)).append("\r\n");
  out.append("To: ").append(parts.to).append("\r\n");
  if (!parts.reply_to.empty()) out.append("Reply-To: ").append(parts.reply_to).append("\r\n");
  out.append("Subject: ").append(encoded_words(parts.subject)).append("\r\n");
  out.append("Message-ID: <").append(parts.message_id).append(">\r\n");
  out += "Auto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n";  // RFC 3834 5
  append_bodies(out, parts);
  return out;
}

}  // namespace sendonce
