// audit: what people have done, from the running daemon, or offline from the ledger itself.
#include <cstdio>

#include <nlohmann/json.hpp>
#include <sysexits.h>

#include "config/quantity.hpp"
#include "ledger/lmdb/open.hpp"
#include "plugin/cli/commands.hpp"
#include "plugin/cli/output.hpp"
#include "plugin/core/text.hpp"
#include "plugin/module/admin/admin_client.hpp"
#include "plugin/module/audit_verbs.hpp"
#include "plugin/module/compose.hpp"

namespace sendonce::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr Duration kTimeout = std::chrono::seconds(15);
constexpr std::size_t kPage = 500;

// A time, or how long ago.
Result<WallTime> since_of(const std::string& text) {
  if (text.empty()) return WallTime::min();
  if (const auto time = parse_rfc3339(text)) return *time;
  const auto ago = parse_duration(text);
  if (!ago) return fail(Errc::invalid, "--since: a time (RFC 3339) or a duration is wanted");
  return make_system_clock()->wall() - *ago;
}

struct Found {
  std::vector<std::string> entries{};  // JSON, the newest first
  bool more = false;
};

Result<Found> from_daemon(const Config& config, const AuditOptions& options, WallTime since) {
  AdminRequest request{.verb = "audit", .arguments = {{"limit", options.limit}}};
  if (since != WallTime::min()) request.arguments.emplace_back("since", rfc3339(since));
  Found found;
  SO_TRY(AdminClient client, AdminClient::connect(config.instance.socket, kTimeout));
  SO_TRY(const std::string result,
         client.call(request, [&](std::string_view json) { found.entries.emplace_back(json); }));
  const Json end = Json::parse(result, nullptr, false);
  found.more = end.is_object() && end.value("more", false);
  return found;
}

Result<Found> from_file(const Config& config, const AuditOptions& options, WallTime since) {
  SO_TRY(const auto reader, LedgerReader::open(ledger_directory(config.instance)));
  Found found;
  for (AuditRead read{.max_entries = kPage}; !found.more;) {
    SO_TRY(const AuditPage page, reader->audit(read));
    if (page.entries.empty()) break;
    for (const AuditEntry& entry : page.entries) {
      if (entry.at < since) continue;
      found.more = static_cast<std::int64_t>(found.entries.size()) == options.limit;
      if (found.more) break;
      found.entries.push_back(audit_json(entry));
    }
    read.before = page.entries.back().seq;
  }
  return found;
}

std::string who(const Json& entry) {
  const std::string user = entry.value("user", "");
  if (!user.empty()) return user;
  const Json uid = entry.value("uid", Json());
  return uid.is_null() ? "(" + entry.value("by", "") + ")" : "uid " + uid.dump();
}

// What it claims to be is worth a word where the kernel says otherwise.
std::string why(const Json& entry) {
  const std::string by = entry.value("by", "");
  std::string out = entry.value("reason", "");
  if (!by.empty() && by != entry.value("user", "") && !entry.value("uid", Json()).is_null())
    out += (out.empty() ? "" : " ") + ("(as " + by + ")");
  return out;
}

std::string object_of(const Json& entry) {
  const std::string object = entry.value("object", "");
  const bool is_hash = object.size() >= 32 && unhex(object).has_value();
  return is_hash ? object.substr(0, 16) : object;
}

void print(const Found& found, const std::string& output) {
  Table table({"when", "who", "did", "to", "what", "why", "result"});
  Json list = Json::array();
  for (const std::string& text : found.entries) {
    if (output == "jsonl") {
      std::printf("%s\n", text.c_str());
      continue;
    }
    Json entry = Json::parse(text, nullptr, false);
    if (!entry.is_object()) continue;
    if (output == "table")
      table.add({entry.value("at", "").substr(0, 19), who(entry), entry.value("verb", ""),
                 object_of(entry), entry.value("detail", ""), why(entry),
                 entry.value("result", "")});
    list.push_back(std::move(entry));
  }
  if (output == "json") std::printf("%s\n", list.dump(1).c_str());
  if (output == "table") std::printf("%s", table.text().c_str());
}

}  // namespace

int audit(const Common& common, const AuditOptions& options) {
  const auto config = load(common.config, Surroundings::ignore);
  if (!config) return EX_CONFIG;
  const auto since = since_of(options.since);
  if (!since) return usage_failed("audit", since.error().text);
  auto found =
      options.offline ? from_file(*config, options, *since) : from_daemon(*config, options, *since);
  if (!found) {
    if (!options.offline && found.error().code == Errc::unavailable)
      found.error().text += " Without it: add --offline";
    return failed(found.error());
  }
  print(*found, common.json && options.output == "table" ? "jsonl" : options.output);
  if (found->more)
    note("the newest " + std::to_string(found->entries.size()) + ", there are more: raise --limit");
  return EX_OK;
}

}  // namespace sendonce::cli
