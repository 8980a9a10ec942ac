// NATS: reachable, JetStream switched on, its store in a place that lasts, streams and consumers as
// setup wants them.
#include <algorithm>
#include <chrono>
#include <map>

#include <nlohmann/json.hpp>
#include <sysexits.h>

#include "plugin/broker/nats/consumer_check.hpp"
#include "plugin/broker/nats/publisher.hpp"
#include "plugin/broker/nats/setup.hpp"
#include "plugin/cli/doctor/checks.hpp"
#include "plugin/cli/doctor/local_server.hpp"
#include "plugin/cli/output.hpp"
#include "plugin/cli/setup_request.hpp"
#include "plugin/core/text.hpp"
#include "plugin/module/compose.hpp"

namespace sendonce::cli {
namespace {

using Json = nlohmann::json;

constexpr Duration kTimeout = std::chrono::seconds(2);
constexpr std::uint16_t kMonitoring = 8222;  // by convention
constexpr Duration kClockApart = std::chrono::seconds(10);
constexpr Duration kClockFarApart = std::chrono::minutes(5);
constexpr const char* kLastingStore = "/var/lib/nats";

std::string server_file(const std::optional<LocalServer>& local) {
  return local && !local->config.empty() ? local->config : "/etc/nats-server.conf";
}

// As a shell reads it back, whatever is in it.
std::string shell_word(const std::string& text) {
  const bool plain = std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-").find(c) != std::string_view::npos;
  });
  if (plain) return text;
  std::string out = "'";
  for (const char c : text) c == '\'' ? out.append("'\\''") : out.append(1, c);
  return out + "'";
}

// JetStream on a directory of its own; of a name that stands twice the last counts.
Repair lasting_store(const Patient& patient, const std::optional<LocalServer>& local) {
  const std::string unit = local && !local->unit.empty() ? local->unit : "nats-server.service";
  const std::string drop_in = "/etc/systemd/system/" + unit + ".d";
  std::string block = "printf '\\njetstream { store_dir: \"";
  block.append(kLastingStore).append("\" }\\n' >> ").append(shell_word(server_file(local)));
  std::string make = "mkdir -p ";
  make += kLastingStore;
  Repair out{std::move(block)};
  if (local && local->unit.empty()) {
    out.push_back(std::move(make) + "   # writable for the server's user");
    out.emplace_back("# stop nats-server and start it again");
  } else {
    out.push_back("mkdir -p " + drop_in);
    out.push_back("printf '[Service]\\nStateDirectory=nats\\n' > " + drop_in + "/jetstream.conf");
    out.push_back("systemctl daemon-reload && systemctl restart " + unit);
  }
  out.push_back(patient.ours("setup"));
  return out;
}

struct Server {
  std::unique_ptr<Publisher> client{};
  std::optional<ServerAddress> address{};
  std::optional<ServerGreeting> greeting{};
  std::optional<LocalServer> local{};
};

Repair repair_connection(const Patient& patient, const Error& error) {
  if (error.code == Errc::denied)
    return {"$EDITOR " + patient.path + "   # [nats] credentials, or user and password in servers",
            patient.ours("doctor")};
  const auto& servers = patient.config.nats.servers;
  const auto address = servers.empty() ? std::nullopt : server_address(servers.front());
  if (address && address->is_local()) return {"systemctl enable --now nats-server"};
  return {"$EDITOR " + patient.path + "   # [nats] servers", patient.ours("doctor")};
}

std::optional<Server> meet(const Patient& patient, Report& report) {
  auto options = connection_of(patient.config, patient.credentials_dir);
  auto client = options ? Publisher::connect(*options, kTimeout)
                        : Result<std::unique_ptr<Publisher>>(std::unexpected(options.error()));
  if (!client) {
    report.red("nats", "", client.error().text, repair_connection(patient, client.error()),
               options ? exit_code(client.error().code) : exit_code_of_config(client.error().code));
    return std::nullopt;
  }
  Server server{.client = std::move(*client)};
  const std::string url = server.client->connected_to();
  server.address = server_address(url);
  if (server.address) server.greeting = greeting_of(*server.address);
  if (server.address && server.address->is_local())
    server.local = find_local_server(*server.address);
  report.green("nats", "",
               url + (server.greeting ? ", nats-server " + server.greeting->version : ""));
  return server;
}

bool examine_jetstream(const Patient& patient, Server& server, const std::string& prefix,
                       Report& report) {
  const auto answer = server.client->request(prefix + ".INFO", "");
  const auto refusal = answer ? parse_api_error(*answer) : std::nullopt;
  if (answer && !refusal) {
    report.green("jetstream", "", "switched on");
    return true;
  }
  const bool off = (server.greeting && !server.greeting->jetstream) ||
                   (refusal && refusal->err_code == js_error::kNotEnabled);
  if (off) {
    report.red("jetstream", "", "is switched off on this server",
               lasting_store(patient, server.local), EX_UNAVAILABLE);
  } else if (refusal) {
    report.red("jetstream", "", "is refused: " + refusal->description,
               {"$EDITOR " + server_file(server.local) + "   # accounts: jetstream for ours"},
               EX_NOPERM);
  } else {
    report.red("jetstream", "",
               answer.error().text +
                   ": [nats] domain or api_prefix, or a "
                   "permission of this user?",
               {"$EDITOR " + patient.path + "   # [nats] domain, api_prefix"},
               exit_code(answer.error().code));
  }
  return false;
}

// ---- where JetStream keeps what it stores -----------------------------------------------------

// From the system account, for the few users that may ask it.
std::optional<std::string> store_by_system(const Patient& patient, const Server& server) {
  if (!server.greeting) return std::nullopt;
  auto options = connection_of(patient.config, patient.credentials_dir);
  if (!options) return std::nullopt;
  auto client = Publisher::connect(*std::move(options), std::chrono::seconds(1));
  if (!client) return std::nullopt;
  const auto answer =
      (*client)->request("$SYS.REQ.SERVER." + server.greeting->id + ".JSZ", R"({"config":true})");
  return answer ? store_in_jsz(*answer) : std::nullopt;
}

std::string store_of(const Patient& patient, const Server& server) {
  if (server.greeting && server.address && server.address->is_local()) {
    const std::uint16_t told = server.local ? server.local->http_port : 0;
    const std::uint16_t port = told != 0 ? told : kMonitoring;
    if (const auto store = monitored_store(port, server.greeting->id)) return *store;
  }
  if (server.local && !server.local->store_dir.empty()) return server.local->store_dir;
  return store_by_system(patient, server).value_or("");
}

void examine_store(const Patient& patient, const Server& server, Report& report) {
  const std::string store = store_of(patient, server);
  if (store.empty()) {
    const bool local = server.address && server.address->is_local();
    report.yellow("store", "",
                  local ? "where JetStream keeps its streams cannot be seen by this user"
                        : "where JetStream keeps its streams cannot be seen from here",
                  {local ? "sudo " + patient.ours("doctor")
                         : "grep -A3 jetstream /etc/nats-server.conf   # on the server: store_dir "
                           "outside /tmp"});
    return;
  }
  if (!is_volatile(store)) {
    report.green("store", "", store);
    return;
  }
  report.red("store", "",
             store +
                 ": lost with a restart of nats-server or of the machine, and every stream "
                 "with it (what is there now, too: let it drain first)",
             lasting_store(patient, server.local), EX_CONFIG);
}

// ---- streams and consumers --------------------------------------------------------------------

// Differences that only setup minds.
bool is_harmless(const SetupChange& change, const std::optional<std::string>& fault) {
  if (change.action != ChangeAction::update) return false;
  if (change.field == "max_ack_pending" || change.field == "duplicate_window") return true;
  return change.object.starts_with("consumer ") && !fault;
}

std::string change_text(const SetupChange& c) {
  std::string out = c.field.empty() ? std::string() : c.field + " ";
  if (c.action == ChangeAction::create) return "is missing";
  out += "is " + (c.from.empty() ? std::string("(none)") : c.from);
  if (!c.to.empty()) out += ", wanted is " + c.to;
  if (!c.text.empty()) out += "; " + c.text;
  return out;
}

// One line an object: its gravest differences.
struct ObjectState {
  Health health = Health::green;
  std::string text{};
  Repair repair{};
};

Repair repair_change(const Patient& patient, const SetupRequest& wanted, const SetupChange& c) {
  if (c.action != ChangeAction::refuse) return {patient.ours("setup")};
  const auto of = std::ranges::find_if(wanted.consumers, [&](const DesiredConsumer& d) {
    return c.object == "consumer " + d.stream + "/" + d.durable;
  });
  if (of == wanted.consumers.end()) return {"$EDITOR " + patient.path};
  if (c.field == "from") return {patient.ours("setup --from all")};
  if (c.field == "description")
    return {patient.ours("setup --adopt " + of->class_name) +
            "   # only if no other sidecar works on it"};
  if (of->shared)  // what waits for it would be lost with it: not with one command of ours
    return {"nats consumer rm -f " + of->stream + " " + of->durable, patient.ours("setup")};
  return {patient.ours("setup --recreate " + of->class_name + " --from all")};
}

void add_change(ObjectState& state, const SetupChange& c, bool harmless, Repair repair) {
  if (c.action == ChangeAction::none) return;
  const Health health = harmless ? Health::yellow : Health::red;
  if (c.action == ChangeAction::create && state.text == "is missing") return;
  state.text += (state.text.empty() ? "" : "; ") + change_text(c);
  if (health > state.health || state.repair.empty()) state.repair = std::move(repair);
  state.health = std::max(state.health, health);
}

std::map<std::string, std::optional<std::string>> faults_of(const SetupRequest& wanted,
                                                            const SetupPresent& present) {
  std::map<std::string, std::optional<std::string>> out;
  for (const DesiredConsumer& d : wanted.consumers) {
    const auto found = present.consumers.find({d.stream, d.durable});
    if (found == present.consumers.end()) continue;
    out["consumer " + d.stream + "/" + d.durable] =
        consumer_fault({.stream = d.stream,
                        .durable = d.durable,
                        .filter_subject = d.filter_subject,
                        .ledger_id = wanted.ledger_id,
                        .ack_wait = d.ack_wait},
                       found->second);
  }
  return out;
}

void judge_storage(const SetupPresent& present, Report& report) {
  for (const auto& [name, stream] : present.streams) {
    const Json config = Json::parse(stream.config, nullptr, false);
    if (!config.is_object() || config.value("storage", "file") != "memory") continue;
    report.red("stream", name + " storage",
               "is in memory: a restart of nats-server loses every message of it",
               {"nats stream rm " + name + "   # when it is empty", "sendonce setup"}, EX_CONFIG);
  }
}

void judge_plan(const Patient& patient, const SetupRequest& wanted, const SetupPresent& present,
                Report& report) {
  auto faults = faults_of(wanted, present);
  std::map<std::string, ObjectState> objects;
  for (const SetupChange& c : plan_setup(wanted, present).changes)
    add_change(objects[c.object], c, is_harmless(c, faults[c.object]),
               repair_change(patient, wanted, c));
  for (auto& [object, state] : objects) {
    const std::string check = object.substr(0, object.find(' '));
    const std::string which = object.substr(object.find(' ') + 1);
    switch (state.health) {
      case Health::green:
        report.green(check, which, "as setup wants it");
        break;
      case Health::yellow:
        report.yellow(check, which, state.text, std::move(state.repair));
        break;
      case Health::red:
        report.red(check, which, state.text, std::move(state.repair), EX_CONFIG);
        break;
    }
  }
  judge_storage(present, report);
}

// The server's clock against ours, from what servers of 2.10 and later tell.
void judge_clock(const Patient& patient, const std::string& info, Report& report) {
  const Json json = Json::parse(info, nullptr, false);
  if (!json.is_object() || !json.contains("ts") || !json["ts"].is_string()) return;
  const auto theirs = parse_rfc3339(json["ts"].get<std::string>());
  if (!theirs) return;
  const Duration apart = std::chrono::abs(*theirs - make_system_clock()->wall());
  if (apart < kClockApart) return;
  const std::string text = "the clock of nats-server and ours are " +
                           duration_text(std::chrono::floor<std::chrono::seconds>(apart)) +
                           " apart";
  const Repair repair{"timedatectl set-ntp true   # on both"};
  if (apart >= kClockFarApart)
    report.red("clock", "nats", text, repair, EX_CONFIG);
  else
    report.yellow("clock", "nats", text, repair);
  static_cast<void>(patient);
}

}  // namespace

void examine_nats(Patient& patient, Report& report) {
  auto server = meet(patient, report);
  if (!server) return;
  const std::string prefix =
      js_api_prefix(patient.config.nats.domain, patient.config.nats.api_prefix);
  if (!examine_jetstream(patient, *server, prefix, report)) return;
  examine_store(patient, *server, report);
  const SetupRequest wanted = setup_request(
      patient.config, patient.ledger_id.empty() ? "(to be made)" : patient.ledger_id, {});
  Setup setup(*server->client, prefix);
  const auto present = setup.read(wanted);
  if (!present) {
    report.red("stream", "", present.error().text,
               {"$EDITOR " + server_file(server->local) + "   # permissions of this user"},
               exit_code(present.error().code));
    return;
  }
  judge_plan(patient, wanted, *present, report);
  if (const auto info = server->client->request(
          prefix + ".STREAM.INFO." + patient.config.nats.outcomes_stream, ""))
    judge_clock(patient, *info, report);
}

}  // namespace sendonce::cli
