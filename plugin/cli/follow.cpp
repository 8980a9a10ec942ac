// tail attempts, tail log: lines of the running daemon as they come.
#include <cstdio>

#include <nlohmann/json.hpp>
#include <poll.h>
#include <sysexits.h>

#include "plugin/cli/commands.hpp"
#include "plugin/cli/output.hpp"
#include "plugin/module/admin/admin_client.hpp"

namespace sendonce::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr Duration kTimeout = std::chrono::seconds(10);
constexpr int kAskEveryMs = 250;

std::string text(const Json& json, const char* member) {
  const auto at = json.find(member);
  return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::string attempt_text(const Json& a) {
  std::string out = text(a, "at") + "  " + text(a, "class") + "  " + text(a, "provider") + "  " +
                    text(a, "key").substr(0, 16) + "  #" + a.value("attempt", Json(0)).dump() +
                    "  " + text(a, "verdict") + " (" + text(a, "effect") + ")";
  if (const std::string reason = text(a, "reason"); !reason.empty()) out += " " + reason;
  out += "  -> " + text(a, "state");
  if (const std::string next = text(a, "next_at"); !next.empty()) out += " until " + next;
  return out;
}

std::string log_text(const Json& l) {
  std::string out = text(l, "at") + "  " + text(l, "level") + "  " + text(l, "event");
  const Json fields = l.value("fields", Json::object());
  for (const auto& [name, value] : fields.items())
    out += "  " + name + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
  return out;
}

void print(std::string_view line, bool attempts, bool json) {
  if (json) {
    std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
    return;
  }
  const Json parsed = Json::parse(line, nullptr, false);
  if (parsed.is_object())
    std::printf("%s\n", (attempts ? attempt_text(parsed) : log_text(parsed)).c_str());
}

}  // namespace

int follow(const Common& common, const TailOptions& options) {
  const auto config = load(common.config, Surroundings::ignore);
  if (!config) return EX_CONFIG;
  const bool attempts = options.what == "attempts";
  AdminRequest request{.verb = attempts ? "tail_attempts" : "tail_log"};
  std::uint64_t seen = 0;
  while (std::ferror(stdout) == 0) {
    auto client = AdminClient::connect(config->instance.socket, kTimeout);
    if (!client) return failed(client.error());
    bool enough = false;
    const auto result = client->call(request, [&](std::string_view line) {
      if (enough) return;
      print(line, attempts, common.json);
      enough = ++seen == options.count;
    });
    if (!result) return failed(result.error());
    std::fflush(stdout);
    if (enough) return EX_OK;
    const Json end = Json::parse(*result, nullptr, false);
    if (!end.is_object()) return failed({Errc::corrupt, "the daemon's answer makes no sense"});
    if (const auto lost = end.value("lost", std::uint64_t{0}); lost > 0)
      note(std::to_string(lost) + " lines were lost: they came faster than they were read");
    request.arguments = {{"after", end.value("next", std::int64_t{0})}};
    ::poll(nullptr, 0, kAskEveryMs);
  }
  return EX_OK;
}

}  // namespace sendonce::cli
