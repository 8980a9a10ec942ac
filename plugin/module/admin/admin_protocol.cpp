#include "plugin/module/admin/admin_protocol.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <nlohmann/json.hpp>

#include "plugin/core/ascii.hpp"
#include "plugin/core/assert.hpp"
#include "plugin/core/text.hpp"
#include "plugin/core/utf8.hpp"

namespace sendonce {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 6> kRowArguments{"key",   "event", "recipient",
                                                        "state", "scope", "limit"};
constexpr std::array<std::string_view, 2> kOneRowArguments{"key", "class"};
constexpr std::array<std::string_view, 4> kNoteArguments{"what", "class", "by", "reason"};
constexpr std::array<std::string_view, 7> kResolveArguments{"key", "class",  "as",       "force",
                                                            "by",  "reason", "not_after"};
constexpr std::array<std::string_view, 6> kReplayArguments{"key", "class",  "force",
                                                           "by",  "reason", "not_after"};
constexpr std::array<std::string_view, 4> kPauseArguments{"name", "kind", "by", "reason"};
constexpr std::array<std::string_view, 3> kDeviceArguments{"provider", "hash", "target"};
constexpr std::array<std::string_view, 2> kDevicesArguments{"state", "limit"};
constexpr std::array<std::string_view, 6> kSetDeviceArguments{"provider", "hash", "target",
                                                              "state",    "by",   "reason"};
constexpr std::array<std::string_view, 1> kTailArguments{"after"};
constexpr std::array<std::string_view, 2> kAuditArguments{"since", "limit"};
constexpr std::array<std::string_view, 2> kReloadArguments{"by", "reason"};
constexpr AdminAccess kRead = AdminAccess::read;
constexpr AdminAccess kOperate = AdminAccess::operate;
constexpr std::array kRoutes{
    AdminRoute{"status", "GET", "/v1/status", kRead, {}},
    AdminRoute{"list", "GET", "/v1/rows", kRead, kRowArguments, true},
    AdminRoute{"inspect", "GET", "/v1/inspect", kRead, kRowArguments, true},
    AdminRoute{"row", "GET", "/v1/delivery", kRead, kOneRowArguments},
    AdminRoute{"resolve", "POST", "/v1/delivery/resolve", kOperate, kResolveArguments},
    AdminRoute{"replay", "POST", "/v1/delivery/replay", kOperate, kReplayArguments},
    AdminRoute{"note", "POST", "/v1/note", kOperate, kNoteArguments},
    AdminRoute{"pause", "POST", "/v1/pause", kOperate, kPauseArguments},
    AdminRoute{"resume", "POST", "/v1/resume", kOperate, kPauseArguments},
    AdminRoute{"device_show", "GET", "/v1/device", kRead, kDeviceArguments},
    AdminRoute{"device_list", "GET", "/v1/device/list", kRead, kDevicesArguments, true},
    AdminRoute{"device_set", "POST", "/v1/device/set", kOperate, kSetDeviceArguments},
    AdminRoute{"tail_attempts", "GET", "/v1/tail/attempts", kRead, kTailArguments, true},
    AdminRoute{"tail_log", "GET", "/v1/tail/log", kRead, kTailArguments, true},
    AdminRoute{"audit", "GET", "/v1/audit", kRead, kAuditArguments, true},
    AdminRoute{"reload", "POST", "/v1/reload", kOperate, kReloadArguments},
};

struct Code {
  Errc code = Errc::internal;
  std::string_view text{};
  int status = 500;
};
constexpr std::array kCodes{
    Code{Errc::invalid, "invalid", 400},
    Code{Errc::denied, "denied", 403},
    Code{Errc::busy, "busy", 409},
    Code{Errc::exhausted, "exhausted", 503},
    Code{Errc::unavailable, "unavailable", 503},
    Code{Errc::corrupt, "corrupt", 500},
    Code{Errc::internal, "internal", 500},
};

const Code& code_of(Errc code) {
  const auto* at = std::ranges::find(kCodes, code, &Code::code);
  return at == kCodes.end() ? kCodes.back() : *at;
}

Errc code_from(std::string_view text) {
  const auto* at = std::ranges::find(kCodes, text, &Code::text);
  return at == kCodes.end() ? Errc::internal : at->code;
}

std::string_view title_of(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 421:
      return "Misdirected Request";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Internal Server Error";
  }
}

std::string minified(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

HttpReply refused(const Error& error) {
  const Code& code = code_of(error.code);
  return problem(code.status, code.text, error.text);
}

const std::string* find(const AdminRequest& request, std::string_view argument) {
  const auto at = std::ranges::find(request.arguments, argument,
                                    [](const auto& a) { return std::string_view(a.first); });
  return at == request.arguments.end() ? nullptr : &at->second.text;
}

Error wrong(const AdminRequest& request, std::string_view argument, std::string_view how) {
  std::string text = request.verb;
  text.append(": argument '").append(argument).append("' ").append(how);
  return {Errc::invalid, std::move(text)};
}

// Arguments end in logs, states and JSON: no line break of theirs may look like one of ours.
bool is_plain_text(std::string_view text) {
  return find_invalid_utf8(text) == std::string_view::npos &&
         std::ranges::none_of(text, [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; });
}

// The arguments that the route knows, each once. HEAD is a GET without its body.
Result<AdminRequest> request_of(const AdminRoute& route, const HttpQuestion& question) {
  AdminRequest request{.verb = std::string(route.verb), .peer = question.peer};
  for (const auto& [name, value] : question.query) {
    if (find(request, name) != nullptr)
      return std::unexpected(wrong(request, name, "is given twice"));
    if (!is_plain_text(name) || !is_plain_text(value))
      return fail(Errc::invalid, request.verb + ": arguments are UTF-8 without control characters");
    request.arguments.emplace_back(name, value);
  }
  SO_CHECK(request.only(route.arguments));
  return request;
}

void append_query_text(std::string& out, std::string_view text) {
  for (const char c : text) {
    const char l = lower_ascii(c);
    if ((l >= 'a' && l <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' ||
        c == '~') {
      out.push_back(c);
    } else {
      out.push_back('%');
      append_hex(out, {&c, 1});
    }
  }
}

// The value of a field of the head, which ends with a line break and is in lower case.
std::string_view value_in(std::string_view head, std::string_view field) {
  const std::size_t at = head.find(field);
  if (at == std::string_view::npos) return {};
  const std::size_t begin = at + field.size();
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

std::unexpected<Error> makes_no_sense() {
  return fail(Errc::corrupt, "the daemon's answer makes no sense");
}

}  // namespace

Result<std::string> AdminRequest::text(std::string_view argument) const {
  const std::string* value = find(*this, argument);
  if (value == nullptr) return std::unexpected(wrong(*this, argument, "is missing"));
  return *value;
}

Result<std::string> AdminRequest::text_or(std::string_view argument, std::string other) const {
  const std::string* value = find(*this, argument);
  return value == nullptr ? std::move(other) : *value;
}

Result<bool> AdminRequest::flag_or(std::string_view argument, bool other) const {
  const std::string* value = find(*this, argument);
  if (value == nullptr) return other;
  if (*value == "true" || *value == "false") return *value == "true";
  return std::unexpected(wrong(*this, argument, "must be true or false"));
}

Result<std::int64_t> AdminRequest::number_or(std::string_view argument, std::int64_t other) const {
  const std::string* value = find(*this, argument);
  if (value == nullptr) return other;
  std::int64_t number = 0;
  const char* const end = value->data() + value->size();
  const auto read = std::from_chars(value->data(), end, number);
  if (read.ec == std::errc{} && read.ptr == end) return number;
  return std::unexpected(wrong(*this, argument, "must be a whole number"));
}

Result<void> AdminRequest::only(std::span<const std::string_view> known) const {
  for (const auto& [argument, value] : arguments)
    if (std::ranges::find(known, std::string_view(argument)) == known.end())
      return std::unexpected(wrong(*this, argument, "is none that it knows"));
  return {};
}

std::span<const AdminRoute> admin_routes() {
  return kRoutes;
}

bool may(AdminAccess access, uid_t peer, uid_t service) {
  return access == AdminAccess::read || peer == 0 || peer == service;
}

bool AdminReply::item(std::string_view json) {
  SO_ASSERT(room_.has_value());
  if (items_.size() + json.size() + 1 > *room_) return false;
  if (!items_.empty()) items_.push_back(',');
  items_.append(json);
  return true;
}

void AdminReply::result(std::string json) {
  SO_ASSERT(json.starts_with('{') && json.ends_with('}'));
  result_ = std::move(json);
}

HttpReply AdminReply::finish(const Result<void>& outcome) && {
  if (!outcome) return refused(outcome.error());
  HttpReply reply;
  if (!room_) {
    reply.body = std::move(result_);
  } else {
    reply.body.append(R"({"items":[)").append(items_).append("]");
    if (result_.size() > 2) reply.body.push_back(',');
    reply.body.append(result_, 1);
  }
  reply.body.push_back('\n');
  return reply;
}

HttpReply problem(int status, std::string_view code, std::string_view detail) {
  const Json body{{"type", "about:blank"},
                  {"title", title_of(status)},
                  {"status", status},
                  {"code", code},
                  {"detail", detail}};
  HttpReply reply{.status = status, .type = "application/problem+json", .body = minified(body)};
  reply.body.push_back('\n');
  return reply;
}

HttpReply answer_admin(const HttpQuestion& question, uid_t service, std::size_t reply_bytes,
                       const AdminHandler& handler) {
  const auto* route = std::ranges::find(kRoutes, question.path, &AdminRoute::path);
  if (route == kRoutes.end())
    return problem(404, "invalid", "no such path; config/schema/admin-api.json has them all");
  const bool is_head = question.method == "HEAD" && route->method == "GET";
  if (question.method != route->method && !is_head) {
    HttpReply reply = problem(405, "invalid", "this path wants another method");
    reply.allow = route->method;
    if (reply.allow == "GET") reply.allow += ", HEAD";
    return reply;
  }
  if (!question.peer || !may(route->access, *question.peer, service))
    return problem(403, "denied",
                   "only root and the user of the service may do that: use sudo, or sudo -u");
  const Result<AdminRequest> request = request_of(*route, question);
  if (!request) return refused(request.error());
  AdminReply reply(route->items ? std::optional(reply_bytes) : std::nullopt);
  const Result<void> outcome = handler(*request, reply);
  return std::move(reply).finish(outcome);
}

std::string format_question(const HttpQuestion& question) {
  std::string out = question.method;
  out.append(" ").append(question.path);
  char separator = '?';
  for (const auto& [name, value] : question.query) {
    out.push_back(std::exchange(separator, '&'));
    append_query_text(out, name);
    out.push_back('=');
    append_query_text(out, value);
  }
  out.append(" HTTP/1.1\r\nHost: sendonce\r\nConnection: close\r\n");
  if (question.method == "POST") out.append("Content-Length: 0\r\n");
  return out.append("\r\n");
}

// RFC 9112, as far as our own server writes it: the body ends with the connection, and its length
// is known.
Result<HttpReply> parse_reply(std::string_view bytes) {
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  const std::size_t head_end = bytes.find("\r\n\r\n");
  if (!bytes.starts_with(kVersion) || head_end == std::string_view::npos) return makes_no_sense();
  HttpReply reply{.body = std::string(bytes.substr(head_end + 4))};
  const auto number = [](std::string_view text, auto& value) {
    return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc{};
  };
  if (!number(bytes.substr(kVersion.size(), 3), reply.status)) return makes_no_sense();
  const std::string head = lower_ascii(bytes.substr(0, head_end + 2));
  std::size_t length = 0;
  if (!number(value_in(head, "\r\ncontent-length: "), length) || length != reply.body.size())
    return makes_no_sense();
  reply.type = value_in(head, "\r\ncontent-type: ");
  return reply;
}

Result<std::string> format_admin_request(const AdminRequest& request) {
  const auto* route = std::ranges::find(kRoutes, request.verb, &AdminRoute::verb);
  if (route == kRoutes.end()) return fail(Errc::invalid, "there is no verb '" + request.verb + "'");
  HttpQuestion question{.method = std::string(route->method), .path = std::string(route->path)};
  for (const auto& [name, value] : request.arguments) question.query.emplace_back(name, value.text);
  return format_question(question);
}

Result<std::string> parse_admin_answer(std::string_view bytes,
                                       const std::function<void(std::string_view json)>& item) {
  SO_TRY(const HttpReply answer, parse_reply(bytes));
  Json body = Json::parse(answer.body, nullptr, /*allow_exceptions=*/false);
  if (!body.is_object()) return makes_no_sense();
  if (answer.status != 200) {
    const Json code = body.value("code", Json());
    const Json detail = body.value("detail", Json());
    if (!code.is_string() || !detail.is_string()) return makes_no_sense();
    return fail(code_from(code.get<std::string>()), detail.get<std::string>());
  }
  if (const auto items = body.find("items"); items != body.end()) {
    if (!items->is_array()) return makes_no_sense();
    if (item)
      for (const Json& one : *items) item(minified(one));
    body.erase("items");
  }
  return minified(body);
}

}  // namespace sendonce
