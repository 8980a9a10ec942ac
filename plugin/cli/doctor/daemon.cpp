// The running daemon, by its own words on the admin socket.
#include <nlohmann/json.hpp>
#include <sysexits.h>

#include "plugin/cli/doctor/checks.hpp"
#include "plugin/cli/output.hpp"
#include "plugin/module/admin/admin_client.hpp"

namespace sendonce::cli {
namespace {

using Json = nlohmann::json;

constexpr Duration kTimeout = std::chrono::seconds(5);

const ProviderConfig* find_provider(const Config& config, const std::string& name) {
  for (const ProviderConfig& p : config.providers)
    if (p.name == name) return &p;
  return nullptr;
}

// The secret that a refused credential came from.
std::optional<SecretRef> secret_of(const ProviderConfig& p) {
  for (const auto& ref : {p.key, p.service_account, p.vapid_key, p.secret})
    if (ref) return ref;
  return std::nullopt;
}

Repair repair_hold(const Patient& patient, const std::string& provider, const std::string& fault) {
  if (fault == "throttle" || fault == "provider")
    return {patient.ours("status") +
            "   # it is tried again by itself; see the provider's status "
            "page if it stays"};
  const ProviderConfig* p = find_provider(patient.config, provider);
  const auto ref = p == nullptr ? std::nullopt : secret_of(*p);
  if (fault == "auth" && ref && ref->text.starts_with("cred:"))
    return {"install -m 0600 NEW_KEY /etc/credstore/" + ref->text.substr(5), patient.restart()};
  if (fault == "auth" && ref)
    return {"install -m 0600 --no-target-directory NEW_KEY " + ref->text.substr(5) +
                "   # owner: the daemon's user",
            patient.ours("reload")};
  return {patient.edit_provider(provider), patient.ours("reload") + " || " + patient.restart()};
}

void judge_classes(const Patient& patient, const Json& status, Report& report) {
  for (const Json& c : status.value("classes", Json::array())) {
    const std::string name = c.value("name", "");
    const std::string reason = c.value("reason", "");
    if (!c.value("paused", "").empty()) {
      report.yellow("class", name, reason, {patient.ours("resume " + name)});
    } else if (reason.empty()) {
      report.green("class", name, "takes messages");
    } else if (reason == "draining") {
      report.yellow("class", name, reason, {});
    } else {
      const bool settings = reason.find("sendonce setup") != std::string::npos;
      report.red("class", name, reason,
                 {settings ? patient.ours("setup") + "   # or as the line of its consumer says"
                           : "journalctl -u sendonced -n 50"},
                 EX_UNAVAILABLE);
    }
  }
}

void judge_holds(const Patient& patient, const Json& status, Report& report) {
  for (const Json& p : status.value("providers", Json::array())) {
    const std::string name = p.value("name", "");
    for (const Json& hold : p.value("holds", Json::array())) {
      const std::string part = hold.value("part", "");
      const std::string fault = hold.value("fault", "");
      const std::string text = "held (" + fault + "): " + hold.value("reason", "");
      const std::string object = part.empty() ? name : name + "/" + part;
      const Repair repair = repair_hold(patient, name, fault);
      if (fault == "auth" || fault == "config")
        report.red("hold", object, text + ". Its deliveries wait, none is lost", repair,
                   fault == "auth" ? EX_NOPERM : EX_CONFIG);
      else
        report.yellow("hold", object, text, repair);
    }
    if (const std::string paused = p.value("paused", ""); !paused.empty())
      report.yellow("hold", name, "paused " + paused, {patient.ours("resume " + name)});
    if (p.value("invalidations_held", false))
      report.red("hold", name,
                 "so many answers call devices dead that none is believed: wrong environment, app "
                 "or credential?",
                 {patient.edit_provider(name, "topic, environment"), patient.restart()}, EX_CONFIG);
    if (p.value("mismatches", false))
      report.red("hold", name,
                 "so many answers call devices another sender's that its deliveries fail: wrong "
                 "environment, app or credential?",
                 {patient.edit_provider(name, "topic, environment"), patient.restart()}, EX_CONFIG);
  }
}

void judge_ledger(Patient& patient, const Json& status, Report& report) {
  if (!status.contains("ledger")) return;
  const Json& l = status["ledger"];
  patient.ledger_id = l.value("id", "");
  report.green("ledger", "",
               "id " + patient.ledger_id + ", open in the daemon, " +
                   std::to_string(l.value("rows", std::uint64_t{0})) + " rows");
  judge_map(patient, l.value("used_bytes", std::uint64_t{0}),
            l.value("map_bytes", std::uint64_t{1}), l.value("claims_stopped", false), report);
}

void judge_state(const Patient& patient, const Json& status, Report& report) {
  const std::string state = status.value("state", "");
  const std::string reason = status.value("reason", "");
  const std::string text = state + (reason == state ? "" : ": " + reason);
  if (status.value("config_hash", "") != patient.config.hash)
    report.yellow("daemon", "config", "the daemon runs with another configuration than the file's",
                  {patient.ours("reload") + " || " + patient.restart()});
  if (state == "ready" && reason == state) {
    report.green("daemon", "", text);
  } else if (state == "failed") {
    report.red("daemon", "", text, {"journalctl -u sendonced -n 50", patient.restart()},
               EX_SOFTWARE);
  } else {
    report.yellow("daemon", "", text, {patient.ours("status")});
  }
}

}  // namespace

void examine_daemon(Patient& patient, Report& report) {
  const std::string& socket = patient.config.instance.socket;
  auto client = AdminClient::connect(socket, kTimeout);
  if (!client && client.error().code == Errc::denied) {
    report.red("daemon", "", client.error().text,
               {"usermod -aG sendonce $USER   # then log in again"}, EX_NOPERM);
    return;
  }
  if (!client) {
    const bool held = patient.daemon_runs;
    report.red("daemon", "",
               held ? "a process has the ledger, but nobody listens on " + socket
                    : "is not running (nobody listens on " + socket + ")",
               {held ? patient.restart() : "systemctl enable --now sendonced"}, EX_UNAVAILABLE);
    return;
  }
  const auto answer = client->call({.verb = "status"});
  if (!answer) {
    report.red("daemon", "", answer.error().text, {patient.restart()},
               exit_code(answer.error().code));
    return;
  }
  patient.daemon_runs = true;
  const Json status = Json::parse(*answer, nullptr, false);
  judge_state(patient, status, report);
  judge_ledger(patient, status, report);
  judge_classes(patient, status, report);
  judge_holds(patient, status, report);
}

}  // namespace sendonce::cli
