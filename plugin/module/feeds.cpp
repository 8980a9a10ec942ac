#include "plugin/module/feeds.hpp"

#include <optional>

#include <nlohmann/json.hpp>

#include "ledger/rules.hpp"
#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kPageBytes = std::size_t{512} << 10U;

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

void AttemptFeed::settled(const SettledAttempt& a) {
  Json json{{"at", rfc3339(a.at)},
            {"class", a.message_class},
            {"provider", a.provider},
            {"key", hex(a.key.view())},
            {"attempt", a.attempts + 1},
            {"verdict", name(a.verdict.name)},
            {"effect", name(a.verdict.effect)},
            {"fault", name(a.verdict.fault)},
            {"reason", printable(a.verdict.reason, kReasonMax)},
            {"state", name(a.state)},
            {"next_at", a.state == State::waiting ? Json(rfc3339(a.next_at)) : Json(nullptr)}};
  if (a.fenced) json["fenced"] = true;
  if (!a.trace_id.empty()) json["trace_id"] = a.trace_id;
  lines_.add(line_of(json));
}

std::string log_line(WallTime at, Level level, std::string_view event,
                     std::span<const Field> fields) {
  Json more = Json::object();
  for (const Field& field : fields) more[std::string(field.name)] = field.value;
  return line_of(
      Json{{"at", rfc3339(at)}, {"level", name(level)}, {"event", event}, {"fields", more}});
}

Result<void> read_feed(LineFeed& feed, const AdminRequest& request, AdminReply& reply) {
  constexpr std::int64_t kNone = -1;
  SO_TRY(const std::int64_t after, request.number_or("after", kNone));
  if (after < kNone) return fail(Errc::invalid, "after: the `next` of an earlier answer is wanted");
  const LineFeed::Page page = feed.read(
      after == kNone ? std::nullopt : std::optional(static_cast<std::uint64_t>(after)), kPageBytes);
  // They fit: a page has fewer bytes than an answer holds.
  for (const std::string& line : page.lines)
    if (!reply.item(line)) break;
  reply.result(Json{{"next", page.next}, {"lost", page.lost}}.dump());
  return {};
}

}  // namespace sendonce
