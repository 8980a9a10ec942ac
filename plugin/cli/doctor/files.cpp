// Configuration, credentials and certificates: what the daemon reads before it starts.
#include <algorithm>
#include <set>
#include <vector>

#include <sysexits.h>

#include "config/credentials.hpp"
#include "config/loader.hpp"
#include "plugin/cli/doctor/checks.hpp"
#include "plugin/core/text.hpp"
#include "plugin/module/compose.hpp"
#include "plugin/module/expiry.hpp"

namespace sendonce::cli {
namespace {

struct NamedSecret {
  std::string field{};
  SecretRef ref{};
};

void add(std::vector<NamedSecret>& out, std::string field, const std::optional<SecretRef>& ref) {
  if (ref) out.push_back({std::move(field), *ref});
}

std::vector<NamedSecret> secrets_of(const Config& config) {
  std::vector<NamedSecret> out;
  add(out, "nats.credentials", config.nats.credentials);
  for (const ProviderConfig& p : config.providers) {
    const std::string name = "provider." + p.name;
    add(out, name + ".auth.key", p.key);
    add(out, name + ".auth.service_account", p.service_account);
    add(out, name + ".auth.vapid_key", p.vapid_key);
    add(out, name + ".auth.secret", p.secret);
    add(out, name + ".proxy.credentials", p.proxy_credentials);
    for (const SettingConfig& s : p.settings) add(out, name + ".settings." + s.name, s.secret);
  }
  return out;
}

int code_of(const Finding& finding) {
  return finding.code == Errc::denied ? EX_NOPERM : EX_CONFIG;
}

Repair mend_file(const std::string& path, const Finding& finding) {
  const std::string file = finding.at.file.empty() ? path : finding.at.file;
  std::string edit = "$EDITOR ";
  if (finding.at.line > 0) edit += "+" + std::to_string(finding.at.line) + " ";
  edit += file;
  if (!finding.remedy.empty()) edit += "   # " + finding.remedy;
  return {std::move(edit)};
}

// The file put in place anew, as the daemon's user wants to find it.
Repair replace_secret(const Patient& patient, const NamedSecret& secret) {
  const auto path = credential_path(secret.ref, patient.credentials_dir);
  const bool of_unit = secret.ref.text.starts_with("cred:");
  const std::string where =
      path ? *path : "/etc/credstore/" + secret.ref.text.substr(std::string_view("cred:").size());
  const std::string owner = of_unit ? "" : "-o sendonce ";
  return {"install -m 0600 " + owner + "NEW_FILE " + where,
          of_unit ? patient.restart() : patient.ours("reload")};
}

std::string day_of(WallTime t) {
  return rfc3339(t).substr(0, 10);
}

void judge_end(const Patient& patient, const std::string& check, const std::string& object,
               WallTime end, const Repair& repair, Report& report) {
  if (end <= patient.now) {
    report.red(check, object, "has been invalid since " + day_of(end), repair, EX_CONFIG);
  } else if (end - patient.now < kEndsSoon) {
    report.yellow(check, object, "ends on " + day_of(end), repair);
  } else {
    report.green(check, object, "valid until " + day_of(end));
  }
}

void examine_ca(const Patient& patient, const std::string& field, const std::string& path,
                Report& report) {
  const auto end = path.empty() ? std::nullopt : ca_end(path);
  if (!end) return;  // said by the configuration's own checks
  judge_end(patient, "certificate", field, *end, {"install -m 0644 NEW_CA.pem " + path}, report);
}

}  // namespace

std::string Patient::ours(std::string_view command) const {
  std::string out = "sendonce ";
  if (path != "/etc/sendonce/sendonce.toml") out += "--config " + path + " ";
  out += command;
  return out;
}

bool examine_config(Patient& patient, Report& report) {
  Findings findings = load_config(patient.path, Surroundings::look).findings;
  LoadResult plain = load_config(patient.path, Surroundings::ignore);
  const bool usable = plain.config.has_value();
  if (usable) {
    patient.config = *std::move(plain.config);
    patient.positions = std::move(plain.positions);
    std::set<std::string> named;
    for (const Finding& f : findings) named.insert(f.field);
    for (Finding& f : composition_faults(patient.config, patient.credentials_dir))
      if (named.insert(f.field).second) findings.push_back(std::move(f));
  }
  const std::vector<NamedSecret> secrets = secrets_of(patient.config);
  bool sound = usable;
  for (const Finding& f : findings) {
    const std::string text = to_text(f);
    const auto secret = std::ranges::find(secrets, f.field, &NamedSecret::field);
    if (f.severity == Severity::warning) {
      report.yellow("config", f.field, text, mend_file(patient.path, f));
    } else if (secret != secrets.end()) {
      report.red("credential", f.field, text, replace_secret(patient, *secret), code_of(f));
    } else {
      sound = false;
      report.red("config", f.field, text, mend_file(patient.path, f), code_of(f));
    }
  }
  if (sound)
    report.green("config", "",
                 patient.path + ": providers: " + std::to_string(patient.config.providers.size()) +
                     ", classes: " + std::to_string(patient.config.classes.size()));
  return usable;
}

void examine_credentials(const Patient& patient, Report& report) {
  for (const NamedSecret& secret : secrets_of(patient.config)) {
    const auto refused = std::ranges::any_of(report.checks(), [&](const Check& c) {
      return c.check == "credential" && c.object == secret.field && c.health == Health::red;
    });
    if (refused) continue;
    const auto read = read_credential(secret.ref, patient.credentials_dir);
    if (!read) {
      report.red("credential", secret.field, read.error().text, replace_secret(patient, secret),
                 read.error().code == Errc::denied ? EX_NOPERM : EX_CONFIG);
      continue;
    }
    const auto end = secret.field == "nats.credentials" ? creds_end(read->expose()) : std::nullopt;
    if (end) {
      judge_end(patient, "credential", secret.field, *end, replace_secret(patient, secret), report);
    } else {
      report.green("credential", secret.field, secret.ref.text + " can be read");
    }
  }
  examine_ca(patient, "nats.tls.ca", patient.config.nats.ca, report);
  for (const ProviderConfig& p : patient.config.providers)
    examine_ca(patient, "provider." + p.name + ".tls.ca", p.ca, report);
}

}  // namespace sendonce::cli
