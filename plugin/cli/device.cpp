// device: what the ledger remembers of devices. A token is read from standard input: on a command
// line everybody on the machine could read it.
#include <cstdio>

#include <nlohmann/json.hpp>
#include <sysexits.h>

#include "plugin/cli/commands.hpp"
#include "plugin/cli/operator.hpp"
#include "plugin/cli/output.hpp"
#include "plugin/module/admin/admin_client.hpp"

namespace sendonce::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr Duration kTimeout = std::chrono::seconds(15);
constexpr std::size_t kTargetMax = std::size_t{16} << 10U;

// The member of an envelope's target that has its destination.
std::string member_for(const Config& config, const std::string& provider) {
  for (const ProviderConfig& p : config.providers) {
    if (p.name != provider) continue;
    if (p.kind == ProviderKind::sms) return "phone";
    if (p.kind == ProviderKind::email) return "email";
    if (p.kind == ProviderKind::http) return "url";
  }
  return "token";
}

Json target_of(const Config& config, const std::string& provider, const std::string& text) {
  if (text.starts_with('{')) return Json::parse(text, nullptr, false);
  Json target = Json::object();
  target[member_for(config, provider)] = text;
  return target;
}

// The device that the options name, as arguments for the daemon.
Result<AdminRequest> request_for(const Config& config, const DeviceOptions& o,
                                 const std::string& verb) {
  AdminRequest request{.verb = verb};
  if (!o.provider.empty()) request.arguments.emplace_back("provider", o.provider);
  if (!o.hash.empty()) {
    request.arguments.emplace_back("hash", o.hash);
    return request;
  }
  SO_TRY(std::string text, read_all("-", kTargetMax));
  while (text.ends_with('\n') || text.ends_with('\r') || text.ends_with(' ')) text.pop_back();
  const Json target = target_of(config, o.provider, text);
  if (text.empty() || target.is_discarded())
    return fail(Errc::invalid, "standard input: a token is wanted, or a target as JSON");
  request.arguments.emplace_back("target",
                                 target.dump(-1, ' ', false, Json::error_handler_t::replace));
  return request;
}

std::string text_of(const Json& json, const char* member) {
  const auto at = json.find(member);
  return at != json.end() && at->is_string() ? at->get<std::string>() : "-";
}

Table device_table() {
  return Table({"hash", "state", "since", "registered"});
}

void add_device(Table& table, const Json& d) {
  table.add(
      {text_of(d, "hash"), text_of(d, "state"), text_of(d, "since"), text_of(d, "registered_at")});
}

int run(const Common& common, const DeviceOptions& options, const std::string& verb) {
  const auto config = load(common.config, Surroundings::ignore);
  if (!config) return EX_CONFIG;
  auto request = request_for(*config, options, verb);
  if (!request) return failed(request.error());
  if (verb == "device_set") {
    request->arguments.emplace_back("state", options.state);
    request->arguments.emplace_back("by", operator_name());
    request->arguments.emplace_back("reason", options.reason);
  }
  const auto answer = ask_daemon(*config, *request);
  if (!answer) return failed(answer.error());
  if (common.json) {
    std::printf("%s\n", answer->dump().c_str());
  } else if (verb == "device_set") {
    std::printf("%s: %s, was %s\n", text_of(*answer, "hash").c_str(),
                text_of(*answer, "state").c_str(), text_of(*answer, "before").c_str());
  } else {
    Table table = device_table();
    add_device(table, *answer);
    std::printf("%s", table.text().c_str());
  }
  return EX_OK;
}

}  // namespace

int device_show(const Common& common, const DeviceOptions& options) {
  return run(common, options, "device_show");
}

int device_set(const Common& common, const DeviceOptions& options) {
  return run(common, options, "device_set");
}

int device_list(const Common& common, const DeviceOptions& options) {
  const auto config = load(common.config, Surroundings::ignore);
  if (!config) return EX_CONFIG;
  auto client = AdminClient::connect(config->instance.socket, kTimeout);
  if (!client) return failed(client.error());
  Table table = device_table();
  const AdminRequest request{.verb = "device_list",
                             .arguments = {{"state", options.state}, {"limit", options.limit}}};
  const auto end = client->call(request, [&](std::string_view item) {
    if (common.json) {
      std::printf("%.*s\n", static_cast<int>(item.size()), item.data());
    } else {
      add_device(table, Json::parse(item, nullptr, false));
    }
  });
  if (!end) return failed(end.error());
  if (!common.json) std::printf("%s", table.text().c_str());
  const Json last = Json::parse(*end, nullptr, false);
  if (last.is_object() && last.value("more", false))
    note("the first " + std::to_string(last.value("devices", 0)) +
         ", there are more: raise --limit");
  return EX_OK;
}

}  // namespace sendonce::cli
