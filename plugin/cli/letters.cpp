#include "plugin/cli/letters.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>
#include <poll.h>

#include "plugin/core/text.hpp"

namespace sendonce::cli {
namespace {

using Json = nlohmann::json;

constexpr int kNoMessage = 10037;  // nats-server, server/errors.json

// RFC 4648 4, as the JetStream API writes bytes.
std::optional<std::string> unbase64(std::string text) {
  while (text.ends_with('=')) text.pop_back();
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return unbase64url(text);
}

// "NATS/1.0\r\nName: value\r\n...\r\n\r\n" (NATS client protocol, HMSG).
MessageHeaders headers_in(std::string_view block) {
  MessageHeaders out;
  std::size_t at = block.find("\r\n");
  while (at != std::string_view::npos && at + 2 < block.size()) {
    const std::size_t begin = at + 2;
    at = block.find("\r\n", begin);
    const std::string_view line = block.substr(begin, at - begin);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view value = line.substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    out.emplace_back(line.substr(0, colon), value);
  }
  return out;
}

std::string text_in(const Json& json, const char* member) {
  const auto at = json.find(member);
  return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::size_t skip_space(std::string_view text, std::size_t at) {
  const std::size_t next = text.find_first_not_of(" \t\r\n", at);
  return next == std::string_view::npos ? text.size() : next;
}

// Behind the string that begins at `at`.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

constexpr std::string_view kExpiry = "\"expires_at\"";
constexpr std::string_view kReportTime = "\"at\"";

// Where the text of the outermost object's member stands, with its quotes. The name has them, too.
std::optional<std::pair<std::size_t, std::size_t>> text_place(std::string_view json,
                                                              std::string_view name) {
  int depth = 0;
  for (std::size_t at = 0; at < json.size();) {
    if (json[at] == '{' || json[at] == '[') ++depth;
    if (json[at] == '}' || json[at] == ']') --depth;
    if (json[at] != '"') {
      ++at;
      continue;
    }
    const std::size_t end = end_of_string(json, at);
    const bool named = depth == 1 && json.substr(at, end - at) == name;
    const std::size_t colon = skip_space(json, end);
    at = end;
    if (!named || colon >= json.size() || json[colon] != ':') continue;
    const std::size_t value = skip_space(json, colon + 1);
    if (value >= json.size() || json[value] != '"') return std::nullopt;
    return std::pair(value, end_of_string(json, value));
  }
  return std::nullopt;
}

// Nothing when there is none, or one that is no time.
std::optional<WallTime> time_in(std::string_view json, std::string_view name) {
  const auto place = text_place(json, name);
  if (!place) return std::nullopt;
  return parse_rfc3339(json.substr(place->first + 1, place->second - place->first - 2));
}

// Every other byte stays as it was. Empty: it is no JSON object.
std::string with_time(std::string_view json, std::string_view name, WallTime time) {
  const std::size_t open = skip_space(json, 0);
  if (open >= json.size() || json[open] != '{') return {};
  std::string out(json);
  const std::string value = "\"" + rfc3339(time) + "\"";
  if (const auto place = text_place(json, name)) {
    out.replace(place->first, place->second - place->first, value);
    return out;
  }
  const std::size_t next = skip_space(json, open + 1);
  const bool empty = next >= json.size() || json[next] == '}';
  std::string member(name);
  member += ':';
  member += value;
  if (!empty) member += ',';
  return out.insert(open + 1, member);
}

}  // namespace

std::string_view Letter::header(std::string_view name) const {
  for (const auto& [header_name, value] : headers)
    if (header_name == name) return value;
  return {};
}

// A failed delivery's letter is `<key>.dlq`, a conflict's has its sequence behind that.
bool Letter::is_conflict() const {
  std::string of_failed(key());
  of_failed += ".dlq";
  return !key().empty() && header("Nats-Msg-Id") != of_failed;
}

Result<std::optional<Letter>> letter_from(std::string_view json) {
  const Json answer = Json::parse(json, nullptr, false);
  if (!answer.is_object()) return fail(Errc::invalid, "the server's answer is no JSON object");
  if (answer.contains("error")) {
    const Json& error = answer["error"];
    if (error.is_object() && error.value("err_code", 0) == kNoMessage) return std::nullopt;
    return fail(Errc::invalid, "the dead-letter stream cannot be read: " +
                                   (error.is_object() ? text_in(error, "description") : ""));
  }
  const auto at = answer.find("message");
  if (at == answer.end() || !at->is_object() || !at->contains("seq") ||
      !(*at)["seq"].is_number_unsigned())
    return fail(Errc::invalid, "the server's answer holds no message");
  const auto body = unbase64(text_in(*at, "data"));
  const auto headers = unbase64(text_in(*at, "hdrs"));
  if (!body || !headers) return fail(Errc::invalid, "the server's answer is no base64");
  return Letter{.sequence = (*at)["seq"].get<std::uint64_t>(),
                .stored_at = text_in(*at, "time"),
                .subject = text_in(*at, "subject"),
                .body = *body,
                .headers = headers_in(*headers)};
}

Result<std::optional<Letter>> LetterBox::get(const std::string& request) const {
  SO_TRY(const std::string answer, client_.request(api_ + ".STREAM.MSG.GET." + stream_, request));
  return letter_from(answer);
}

Result<std::optional<Letter>> LetterBox::next(std::uint64_t from,
                                              std::string_view message_class) const {
  std::string subject = "sendonce.dlq.";
  subject += message_class.empty() ? std::string_view("*") : message_class;
  subject += ".>";
  return get(Json{{"seq", from}, {"next_by_subj", subject}}.dump());
}

Result<std::optional<Letter>> LetterBox::at(std::uint64_t sequence) const {
  return get(Json{{"seq", sequence}}.dump());
}

Result<void> LetterBox::remove(std::uint64_t sequence) const {
  SO_TRY(const std::string text,
         client_.request(api_ + ".STREAM.MSG.DELETE." + stream_, Json{{"seq", sequence}}.dump()));
  const Json answer = Json::parse(text, nullptr, false);
  if (answer.is_object() && answer.value("success", false)) return {};
  return fail(Errc::invalid, "letter " + std::to_string(sequence) + " cannot be removed: " + text);
}

Result<PubAck> publish_surely(const std::function<Result<PubAck>()>& publish, Duration pause) {
  const auto pause_ms = std::chrono::duration_cast<std::chrono::milliseconds>(pause).count();
  for (int tries = 1;; ++tries) {
    auto stored = publish();
    if (stored || stored.error().code != Errc::unavailable || tries == kPublishTries) return stored;
    ::poll(nullptr, 0, static_cast<int>(pause_ms));
  }
}

Result<std::uint64_t> LetterBox::depth() const {
  SO_TRY(const std::string text, client_.request(api_ + ".STREAM.INFO." + stream_, ""));
  const Json answer = Json::parse(text, nullptr, false);
  const Json::json_pointer place("/state/messages");
  if (answer.is_object() && answer.contains(place) && answer[place].is_number_unsigned())
    return answer[place].get<std::uint64_t>();
  return fail(Errc::invalid,
              "the server does not tell how many dead letters there are: " + text.substr(0, 200));
}

std::string with_expiry(std::string_view envelope, WallTime time) {
  return with_time(envelope, kExpiry, time);
}

std::optional<WallTime> expiry_of(std::string_view envelope) {
  return time_in(envelope, kExpiry);
}

std::optional<WallTime> first_stored(const Letter& letter) {
  const std::string_view id = letter.header("Nats-Msg-Id");
  const std::size_t dot = id.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view digits = id.substr(dot + 1);
  std::int64_t ns = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ns);
  if (error != std::errc{} || end != digits.data() + digits.size() || ns <= 0) return std::nullopt;
  return WallTime(std::chrono::nanoseconds(ns));
}

std::string with_report_time(std::string_view report, WallTime stored) {
  const bool dated = text_place(report, kReportTime).has_value();
  const auto at = time_in(report, kReportTime);
  // A text that is no time stays: whoever reads the report refuses it.
  if (dated && (!at || *at <= stored)) return std::string(report);
  return with_time(report, kReportTime, stored);
}

}  // namespace sendonce::cli
