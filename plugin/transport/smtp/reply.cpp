#include "plugin/transport/smtp/reply.hpp"

#include <utility>

namespace sendonce {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

SmtpReplyReader::State SmtpReplyReader::feed(std::string_view& bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    line_.append(bytes.substr(0, end));
    if (lines_.size() + line_.size() > max_bytes_) return State::oversized;
    if (end == std::string_view::npos) {
      bytes = {};
      return State::more;
    }
    bytes.remove_prefix(end + 1);
    if (const State state = end_of_line(); state != State::more) return state;
  }
  return State::more;
}

SmtpReplyReader::State SmtpReplyReader::end_of_line() {
  if (line_.ends_with('\r')) line_.pop_back();
  const bool has_code = line_.size() >= 3 && line_[0] >= '2' && line_[0] <= '5' &&
                        is_digit(line_[1]) && is_digit(line_[2]);
  const bool ends = line_.size() == 3 || (line_.size() > 3 && line_[3] == ' ');
  if (!has_code || (!ends && line_[3] != '-')) return State::broken;
  const int code = (line_[0] - '0') * 100 + (line_[1] - '0') * 10 + (line_[2] - '0');
  if (!lines_.empty() && code != code_) return State::broken;
  code_ = code;
  if (!lines_.empty()) lines_.push_back('\n');
  lines_ += std::exchange(line_, {});
  return ends ? State::whole : State::more;
}

SmtpReply SmtpReplyReader::take() {
  line_.clear();
  return {std::exchange(code_, 0), std::exchange(lines_, {})};
}

SmtpMessage smtp_message(std::string_view message) {
  SmtpMessage out;
  out.bytes.reserve(message.size() + message.size() / 64 + 8);
  bool line_begins = true;
  for (const char c : message) {
    if (line_begins && c == '.') out.bytes.push_back('.');
    out.bytes.push_back(c);
    line_begins = c == '\n';
  }
  if (!line_begins) out.bytes += "\r\n";
  out.end_at = out.bytes.size();
  out.bytes += ".\r\n";
  return out;
}

}  // namespace sendonce
