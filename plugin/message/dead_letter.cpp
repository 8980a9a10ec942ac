#include "plugin/message/dead_letter.hpp"

#include <algorithm>

#include "plugin/core/ascii.hpp"
#include "plugin/core/text.hpp"
#include "plugin/message/replay.hpp"

namespace sendonce {
namespace {

constexpr std::string_view kUndecodable = "undecodable";
constexpr std::size_t kLongestToken = 64;
constexpr std::size_t kLongestReason = 512;

bool fits_token(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

// One token of a subject: dots and wildcards would change who receives it.
std::string subject_token(std::string_view text) {
  std::string token(text.substr(0, kLongestToken));
  for (char& c : token)
    if (!fits_token(c)) c = '_';
  return token.empty() ? "unknown" : token;
}

// Header values end at a line break, and a broken one would take the next header with it.
std::string header_value(std::string_view text) {
  std::string value(text.substr(0, kLongestReason));
  for (char& c : value)
    if (c < ' ' || c > '~') c = '?';
  return value;
}

// What NATS carried need not be what we may publish: with a control character in it the copy would
// be refused for ever.
std::string publishable(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  return out;
}

std::string publishable_name(std::string_view text) {
  std::string out = publishable(text);
  std::replace(out.begin(), out.end(), ':', '?');
  return out.empty() ? "?" : out;
}

// A Nats-* header under its own name would act on the dead-letter stream: one of them erased it. A
// Sendonce-* header is of an earlier life as a dead letter; this one's are set anew.
void copy_headers(const MessageHeaders& from, MessageHeaders& to) {
  for (const auto& [header_name, value] : from) {
    if (begins_with_letters(header_name, "sendonce-")) continue;
    const bool acts = begins_with_letters(header_name, "nats-");
    to.emplace_back(publishable_name(acts ? "Sendonce-Original-" + header_name : header_name),
                    publishable(value));
  }
}

Publication copy_of(const Message& message, std::string_view class_name, std::string_view token,
                    std::string_view reason) {
  Publication letter;
  letter.subject = "sendonce.dlq." + subject_token(class_name) + "." + subject_token(token);
  letter.headers.emplace_back("Sendonce-Class", header_value(class_name));
  letter.headers.emplace_back("Sendonce-Reason", header_value(reason));
  letter.headers.emplace_back("Sendonce-Original-Subject", publishable(message.subject));
  copy_headers(message.headers, letter.headers);
  letter.body = message.body;
  return letter;
}

}  // namespace

Publication dead_letter(const Message& message, std::string_view class_name,
                        std::string_view reason, const Key& key) {
  Publication letter = copy_of(message, class_name, reason, reason);
  std::string key_text = hex(key.view());
  letter.message_id = key_text + ".dlq";
  letter.headers.emplace(letter.headers.begin(), "Sendonce-Key", std::move(key_text));
  return letter;
}

Publication undecodable_letter(const Message& message, std::string_view class_name,
                               std::string_view stream, std::string_view text) {
  Publication letter = copy_of(message, class_name, kUndecodable, text);
  // Without it a replay of this letter would be for every target.
  for (const auto& [header_name, value] : message.headers)
    if (is_replay_header(header_name))
      letter.headers.emplace_back(kReplayHeader, publishable(value));
  letter.message_id.append(stream).append(".");
  append_number(letter.message_id, static_cast<std::int64_t>(message.seq.get()));
  letter.message_id.push_back('.');
  append_number(letter.message_id, message.stored_at.time_since_epoch().count());
  return letter;
}

}  // namespace sendonce
