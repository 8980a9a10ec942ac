#include "classifiers/classify_lines.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "classifiers/answer.hpp"
#include "classifiers/corpus_transport.hpp"
#include "classifiers/json_tree.hpp"
#include "classifiers/log_form.hpp"
#include "classifiers/registry.hpp"
#include "plugin/core/nearest.hpp"
#include "plugin/core/text.hpp"
#include "plugin/message/json_path.hpp"

namespace sendonce {
namespace {

using Type = JsonTree::Type;

constexpr JsonTreeLimits kLineLimits{.max_bytes = std::size_t{8} * 1024 * 1024, .max_depth = 16};

constexpr std::array<std::string_view, 7> kMembers{
    "provider", "id", "http_status", "headers", "body", "transport", "context"};
// What whoever records answers writes beside them, as tests/corpus does.
constexpr std::array<std::string_view, 8> kNotes{
    "note", "expected_class", "why", "maybe_sent", "flags", "alt", "basis", "source"};
constexpr std::array<std::string_view, 6> kContextMembers{
    "environment_differs",    "environment_proven", "path_proven",
    "last_stream_below_ours", "registered_at",      "index"};

struct Context {
  std::optional<bool> environment_differs{};
  std::optional<bool> environment_proven{};
  std::optional<bool> path_proven{};
  std::optional<bool> last_stream_below_ours{};
  std::optional<WallTime> registered_at{};
  std::size_t index = 0;
};

struct Line {
  std::string id{};
  std::string provider{};
  HttpAnswer answer{};
  bool failed = false;  // no complete answer
  RecordedTransport transport{};
  Context context{};
};

// The member, or null when it is absent or null. An error when it has another type.
Result<const JsonTree*> member(const JsonTree& object, std::string_view name, Type type,
                               std::string_view type_name) {
  const JsonTree* found = object.find(name);
  if (found == nullptr || found->is(Type::null)) return nullptr;
  if (!found->is(type))
    return fail(Errc::invalid, std::string(name) + " must be " + std::string(type_name));
  return found;
}

// A slip would be an answer that says less, and a verdict without a word of it.
Result<void> check_names(const JsonTree& object, const JsonPath& at,
                         std::span<const std::string_view> known,
                         std::span<const std::string_view> notes = {}) {
  for (const std::string& name : object.names) {
    const auto is_name = [&name](std::string_view other) { return name == other; };
    if (std::ranges::any_of(known, is_name) || std::ranges::any_of(notes, is_name)) continue;
    std::string_view meant = nearest(name, known);
    for (const std::string_view whole : known)
      if (meant.empty() && whole.ends_with("_" + name)) meant = whole;
    std::string what = "unknown member";
    if (!meant.empty()) what.append("; did you mean ").append(meant).append("?");
    if (meant.empty())
      for (const std::string_view one : known)
        what.append(one == known.front() ? "; allowed are " : ", ").append(one);
    return JsonPath(at, name).refuse(what);
  }
  return {};
}

Result<std::string> text_member(const JsonTree& object, std::string_view name) {
  SO_TRY(const JsonTree* found, member(object, name, Type::string, "text"));
  return found == nullptr ? std::string() : found->text;
}

Result<std::optional<bool>> flag_member(const JsonTree& object, std::string_view name) {
  SO_TRY(const JsonTree* found, member(object, name, Type::boolean, "true or false"));
  return found == nullptr ? std::optional<bool>() : std::optional<bool>(found->text == "true");
}

Result<int> status_member(const JsonTree& object) {
  SO_TRY(const JsonTree* found, member(object, "http_status", Type::number, "a number"));
  if (found == nullptr) return 0;
  const auto value = found->integer();
  if (!value || *value < 0 || *value > 999)
    return fail(Errc::invalid, "http_status must be a number from 0 to 999");
  return static_cast<int>(*value);
}

Result<Headers> headers_member(const JsonTree& object) {
  Headers headers;
  SO_TRY(const JsonTree* found, member(object, "headers", Type::object, "an object"));
  if (found == nullptr) return headers;
  for (std::size_t i = 0; i < found->names.size(); ++i) {
    std::string header = found->names[i];
    for (char& c : header)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
    const JsonTree& value = found->children[i];
    if (!value.is(Type::string) && !value.is(Type::number))
      return fail(Errc::invalid, "a value in headers must be text");
    if (header.size() > 1024 || value.text.size() > 16'384)
      return fail(Errc::invalid, "a field in headers is too long");
    headers.add(header, value.text);
  }
  return headers;
}

Result<Context> context_member(const JsonTree& object) {
  Context context;
  SO_TRY(const JsonTree* found, member(object, "context", Type::object, "an object"));
  if (found == nullptr) return context;
  SO_CHECK(check_names(*found, JsonPath(JsonPath(), "context"), kContextMembers));
  SO_TRY(context.environment_differs, flag_member(*found, "environment_differs"));
  SO_TRY(context.environment_proven, flag_member(*found, "environment_proven"));
  SO_TRY(context.path_proven, flag_member(*found, "path_proven"));
  SO_TRY(context.last_stream_below_ours, flag_member(*found, "last_stream_below_ours"));
  SO_TRY(const std::string registered, text_member(*found, "registered_at"));
  if (!registered.empty()) {
    context.registered_at = parse_rfc3339(registered);
    if (!context.registered_at)
      return fail(Errc::invalid, "context.registered_at must be a time as RFC 3339 has it");
  }
  SO_TRY(const JsonTree* index, member(*found, "index", Type::number, "a number"));
  if (index != nullptr) {
    const auto value = index->integer();
    if (!value || *value < 0) return fail(Errc::invalid, "context.index must not be negative");
    context.index = static_cast<std::size_t>(*value);
  }
  return context;
}

Result<Line> read_line(std::string_view text) {
  const auto tree = parse_json_tree(text, kLineLimits);
  if (!tree || !tree->is(Type::object))
    return fail(Errc::invalid, "not a JSON object, or one member is there twice");
  SO_CHECK(check_names(*tree, JsonPath(), kMembers, kNotes));
  Line line;
  SO_TRY(line.id, text_member(*tree, "id"));
  SO_TRY(line.provider, text_member(*tree, "provider"));
  if (line.provider.empty()) return fail(Errc::invalid, "provider is missing");
  SO_TRY(line.answer.status, status_member(*tree));
  SO_TRY(line.answer.headers, headers_member(*tree));
  SO_TRY(line.answer.body, text_member(*tree, "body"));
  SO_TRY(line.context, context_member(*tree));
  SO_TRY(const JsonTree* transport, member(*tree, "transport", Type::object, "an object"));
  if (transport != nullptr) line.transport = read_transport(*transport);
  if (line.context.last_stream_below_ours) {
    line.transport.last_stream_below_ours = line.context.last_stream_below_ours;
    if (*line.context.last_stream_below_ours) line.transport.layer = "h2";
  }
  const bool unanswered = line.answer.status == 0 && !is_report(line.provider);
  line.failed = transport != nullptr ? has_failed(line.transport) : unanswered;
  return line;
}

// A message without its envelope, or an envelope in another language's quotes.
void lift_log_form(Line& line) {
  std::string& body = line.answer.body;
  if (auto json = json_from_python(body)) {
    body = std::move(*json);
    return;
  }
  if (!is_bare_message(body)) return;
  const bool fcm = line.provider == "fcm";
  if (!fcm && line.provider != "apns") return;
  std::string json = fcm ? R"({"error":{"message":)" : R"({"reason":)";
  append_json_string(json, body);
  body = json + (fcm ? "}}" : "}");
}

CallResult result_of(Line& line) {
  if (!line.failed) {
    lift_log_form(line);
    return std::move(line.answer);
  }
  CallFailure failure = failure_of(line.transport);
  if (line.answer.status != 0) failure.partial = std::move(line.answer);
  return failure;
}

// Of the connection alone. A 2xx proves nothing without a provider's receipt, but for the one that
// libcurl got after it had repeated a stream which was refused by protocol.
Verdict judge_transport(const CallResult& result, const RecordedTransport& seen, WallTime now) {
  if (const auto* failure = std::get_if<CallFailure>(&result)) return judge_failure(*failure);
  const auto& answer = std::get<HttpAnswer>(result);
  const bool repeated = seen.prereq_calls.value_or(0) > 1 &&
                        (seen.h2_error == 7 || seen.last_stream_below_ours.value_or(false));
  if (repeated && answer.status == 200)
    return judged(VerdictClass::accepted, FaultScope::delivery, "accepted at the second stream");
  return judge_status(answer, now);
}

Result<Verdict> judge(Line& line, WallTime now, const OtherJudge& others) {
  const CallResult result = result_of(line);
  if (line.provider == "transport") return judge_transport(result, line.transport, now);
  JudgeContext context;
  context.now = now;
  context.registered_at = line.context.registered_at;
  context.index = line.context.index;
  auto known = judge_answer(line.provider, result, context);
  if (others)
    if (auto verdict = others(line.provider, result, known, now)) return std::move(*verdict);
  if (known) return std::move(*known);
  return fail(Errc::invalid, "provider must be one of " + protocol_names() + ", transport");
}

// Where the context says nothing the verdict stays as the provider gave it, with its condition.
Verdict in_context(Verdict v, const Context& context) {
  const auto proven = context.environment_differs.value_or(false) ? std::optional<bool>(false)
                                                                  : context.environment_proven;
  if (v.needs_proof && proven) return in_light_of(std::move(v), *proven);
  if (v.passing_if_proven && context.path_proven)
    return in_light_of(std::move(v), *context.path_proven);
  return v;
}

void append_text(std::string& out, std::string_view name, std::string_view value) {
  out.append(out.empty() ? "{\"" : ",\"").append(name).append("\":");
  append_json_string(out, value);
}

std::string written(const Line& line, const Verdict& v) {
  std::string out;
  append_text(out, "id", line.id);
  append_text(out, "class", name(v.name));
  append_text(out, "effect", name(v.effect));
  append_text(out, "fault", name(v.fault));
  append_text(out, "scope", name(v.scope));
  append_text(out, "reason", v.reason);
  out.append(R"(,"retry_after_s":)");
  append_number(out, std::chrono::ceil<std::chrono::seconds>(v.retry_after).count());
  if (!v.part.empty()) append_text(out, "part", v.part);
  if (!v.message_id.empty()) append_text(out, "message_id", v.message_id);
  if (v.invalid_since) append_text(out, "invalid_since", rfc3339(*v.invalid_since));
  const std::array<std::pair<std::string_view, bool>, 5> flags{{
      {"receipt_missing", v.receipt_missing},
      {"needs_proof", v.needs_proof},
      {"ignore_device", v.ignore_device},
      {"refresh_credential", v.refresh_credential},
      {"reconnect", v.reconnect},
  }};
  for (const auto& [flag, set] : flags)
    if (set) out.append(",\"").append(flag).append("\":true");
  out.push_back('}');
  return out;
}

}  // namespace

Result<std::string> classify_line(std::string_view line, std::size_t number, WallTime now,
                                  const OtherJudge& others) {
  auto read = read_line(line);
  auto verdict = read ? judge(*read, now, others) : Result<Verdict>(std::unexpect, read.error());
  if (!verdict)
    return fail(verdict.error().code,
                "line " + std::to_string(number) + ": " + verdict.error().text);
  return written(*read, in_context(std::move(*verdict), read->context));
}

}  // namespace sendonce
