// resolve, pause, resume: what a person decides, through the daemon, which alone writes the ledger.
#include <cstdio>
#include <cstdlib>

#include <pwd.h>
#include <sysexits.h>
#include <unistd.h>

#include "plugin/cli/commands.hpp"
#include "plugin/cli/operator.hpp"
#include "plugin/cli/output.hpp"
#include "plugin/module/admin/admin_client.hpp"

namespace sendonce::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr Duration kTimeout = std::chrono::seconds(15);  // longer than the daemon takes

int refused(const Json& answer) {
  note(answer.value("key", "").substr(0, 16) +
       ": nothing was changed: " + answer.value("refused", ""));
  return EX_DATAERR;
}

}  // namespace

std::string operator_name() {
  // NOLINTBEGIN(concurrency-mt-unsafe): one thread
  const char* behind_sudo = ::geteuid() == 0 ? std::getenv("SUDO_USER") : nullptr;
  if (behind_sudo != nullptr && *behind_sudo != '\0') return behind_sudo;
  const passwd* user = ::getpwuid(::getuid());
  // NOLINTEND(concurrency-mt-unsafe)
  return user == nullptr ? "uid " + std::to_string(::getuid()) : user->pw_name;
}

Result<Json> ask_daemon(const Config& config, const AdminRequest& request) {
  SO_TRY(AdminClient client, AdminClient::connect(config.instance.socket, kTimeout));
  SO_TRY(const std::string text, client.call(request));
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return fail(Errc::corrupt, "the daemon's answer is no JSON object");
  return json;
}

int resolve(const Common& common, const ResolveOptions& options) {
  const auto config = load(common.config, Surroundings::ignore);
  if (!config) return EX_CONFIG;
  const auto answer = ask_daemon(*config, {.verb = "resolve",
                                           .arguments = {{"key", options.key},
                                                         {"class", options.message_class},
                                                         {"as", options.as},
                                                         {"by", operator_name()},
                                                         {"reason", options.reason}}});
  if (!answer) return failed(answer.error());
  if (common.json) std::printf("%s\n", answer->dump().c_str());
  if (!answer->value("done", false)) return common.json ? EX_DATAERR : refused(*answer);
  if (common.json) return EX_OK;
  std::printf("%s: %s\n", options.key.substr(0, 16).c_str(), answer->value("state", "").c_str());
  if (options.as == "resend")
    std::printf("publish its event again before %s: it will be sent once more\n",
                answer->value("deadline", "").c_str());
  return EX_OK;
}

int pause(const Common& common, const PauseOptions& options, bool rest) {
  const auto config = load(common.config, Surroundings::ignore);
  if (!config) return EX_CONFIG;
  const auto answer = ask_daemon(*config, {.verb = rest ? "pause" : "resume",
                                           .arguments = {{"name", options.name},
                                                         {"kind", options.kind},
                                                         {"by", operator_name()},
                                                         {"reason", options.reason}}});
  if (!answer) return failed(answer.error());
  if (common.json) {
    std::printf("%s\n", answer->dump().c_str());
  } else {
    std::printf("%s %s %s\n", answer->value("kind", "").c_str(), options.name.c_str(),
                rest ? "is paused; calls that are under way end, messages wait on their stream"
                     : "goes on");
  }
  return EX_OK;
}

}  // namespace sendonce::cli
