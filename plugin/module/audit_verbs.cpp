#include "plugin/module/audit_verbs.hpp"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>
#include <pwd.h>

#include "plugin/core/text.hpp"
#include "plugin/module/operator_verbs.hpp"

namespace sendonce {
namespace {

using Json = nlohmann::ordered_json;

constexpr Duration kKeepWithin = std::chrono::seconds(2);
constexpr std::int64_t kEntriesDefault = 100;
constexpr std::int64_t kEntriesMax = static_cast<std::int64_t>(kAuditKept);
constexpr std::size_t kPage = 500;

// Empty: nobody knows.
std::string user_name(uid_t uid) {
  std::array<char, 4096> room{};
  passwd user{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &user, room.data(), room.size(), &found) != 0 || found == nullptr)
    return {};
  return found->pw_name;
}

}  // namespace

AuditEntry audit_of(const AdminRequest& request, WallTime now) {
  AuditEntry entry{.at = now, .verb = request.verb};
  entry.by = request.text_or("by", "").value_or("");
  entry.reason = request.text_or("reason", "").value_or("");
  if (!request.peer) return entry;
  entry.uid = *request.peer;
  entry.user = user_name(*request.peer);
  return entry;
}

void keep_audit(EngineThread& engine, Log& log, AuditEntry entry) {
  const std::string text = audit_json(entry);
  const auto kept = engine.ask(NoteAudit{std::move(entry)}, kKeepWithin);
  if (!kept) log.error("admin.audit_failed", {{"error", kept.error().text}, {"entry", text}});
}

std::string audit_json(const AuditEntry& entry) {
  const Json json{{"seq", entry.seq.get()},
                  {"at", rfc3339(entry.at)},
                  {"uid", entry.uid ? Json(*entry.uid) : Json(nullptr)},
                  {"user", entry.user},
                  {"by", entry.by},
                  {"verb", entry.verb},
                  {"object", entry.object},
                  {"detail", entry.detail},
                  {"reason", entry.reason},
                  {"result", entry.result}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<void> list_audit(EngineThread& engine, const AdminRequest& request, AdminReply& reply) {
  SO_TRY(const std::string since_text, request.text_or("since", ""));
  SO_TRY(std::int64_t limit, request.number_or("limit", kEntriesDefault));
  limit = std::clamp<std::int64_t>(limit, 1, kEntriesMax);
  const auto since = parse_rfc3339(since_text);
  if (!since_text.empty() && !since)
    return fail(Errc::invalid, "since: an RFC 3339 time is wanted");
  std::int64_t shown = 0;
  bool more = false;
  for (AuditRead read{.max_entries = kPage}; !more;) {
    SO_TRY(const AuditPage page, ask_ledger<AuditPage>(engine, read));
    if (page.entries.empty()) break;
    for (const AuditEntry& entry : page.entries) {
      if (since && entry.at < *since) continue;
      more = shown == limit || !reply.item(audit_json(entry));
      if (more) break;
      ++shown;
    }
    read.before = page.entries.back().seq;
  }
  reply.result(Json{{"entries", shown}, {"more", more}}.dump());
  return {};
}

}  // namespace sendonce
