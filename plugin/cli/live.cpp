// status, reload, tail, classify: what streams or comes from the running system.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>

#include <nlohmann/json.hpp>
#include <sysexits.h>

#include "classifiers/answer_rules.hpp"
#include "classifiers/classify_lines.hpp"
#include "classifiers/http/http_answers.hpp"
#include "classifiers/registry.hpp"
#include "config/credentials.hpp"
#include "config/key_spec.hpp"
#include "config/loader.hpp"
#include "config/quantity.hpp"
#include "plugin/broker/nats/publisher.hpp"
#include "plugin/cli/commands.hpp"
#include "plugin/cli/operator.hpp"
#include "plugin/cli/output.hpp"
#include "plugin/cli/shipped_profiles.hpp"
#include "plugin/module/admin/admin_client.hpp"
#include "plugin/module/compose.hpp"

namespace sendonce::cli {
namespace {

constexpr Duration kTimeout = std::chrono::seconds(5);
constexpr Duration kReloadTimeout = std::chrono::seconds(45);  // longer than the daemon takes

using Json = nlohmann::ordered_json;

std::string cell(const Json& j, const char* member) {
  const Json& value = j.at(member);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string set_text(const Json& change, const char* member) {
  const std::string text = cell(change, member);
  return text.empty() ? "(not set)" : text;
}

void print_ledger(const Json& l) {
  const auto used = l.at("used_bytes").get<std::uint64_t>();
  const auto map = std::max<std::uint64_t>(1, l.at("map_bytes").get<std::uint64_t>());
  std::printf(
      "ledger %s: %.1f %% of %s used%s, %s rows, %s of them open, %s batches of events wait\n\n",
      cell(l, "id").c_str(), 100.0 * static_cast<double>(used) / static_cast<double>(map),
      size_text(map).c_str(), l.at("claims_stopped").get<bool>() ? " (claims have stopped)" : "",
      cell(l, "rows").c_str(), cell(l, "open_rows").c_str(), cell(l, "outbox_entries").c_str());
}

void print_status(const Json& j) {
  const std::string state = cell(j, "state");
  const std::string reason = cell(j, "reason");
  std::printf("%s: %s%s\n\n", cell(j, "instance").c_str(), state.c_str(),
              reason == state ? "" : (" (" + reason + ")").c_str());
  if (!j.contains("classes")) return;
  print_ledger(j["ledger"]);
  Table classes({"class", "ready", "held", "received", "calls", "accepted", "failed", "unknown",
                 "suppressed", "conflicts", "undecodable", "duplicates", "dead letters", "acked"});
  for (const Json& c : j["classes"])
    classes.add({cell(c, "name"), cell(c, "ready"), cell(c, "held"), cell(c, "received"),
                 cell(c, "calls"), cell(c, "accepted"), cell(c, "failed"), cell(c, "unknown"),
                 cell(c, "suppressed"), cell(c, "conflicts"), cell(c, "undecodable"),
                 cell(c, "duplicates_suppressed"), cell(c, "dead_letters"), cell(c, "acked")});
  std::printf("%s\n", classes.text().c_str());
  Table providers(
      {"provider", "kind", "connections", "in flight", "queued", "held by", "last error"});
  for (const Json& p : j["providers"])
    providers.add({cell(p, "name"), cell(p, "kind"), cell(p, "connections"), cell(p, "in_flight"),
                   cell(p, "queued"), p["holds"].empty() ? "-" : cell(p["holds"][0], "reason"),
                   cell(p, "last_error")});
  std::printf("%s", providers.text().c_str());
}

// Outcomes and device events name devices by hashes. Whatever else comes may hold tokens, texts and
// credentials, dead letters above all.
bool is_event(std::string_view subject) {
  return subject.starts_with("sendonce.outcome.") || subject.starts_with("sendonce.device.");
}

std::string_view header(const RawMessage& m, std::string_view wanted) {
  for (const auto& [name, value] : m.headers)
    if (name == wanted) return value;
  return {};
}

void print_message(const RawMessage& m, bool whole, bool json) {
  const std::string_view reason = header(m, "Sendonce-Reason");
  if (json) {
    Json out{{"subject", m.subject}};
    if (!reason.empty()) out["reason"] = reason;
    out["bytes"] = m.body.size();
    if (whole) {
      Json body = Json::parse(m.body, nullptr, false);
      out["body"] = body.is_discarded() ? Json(m.body) : std::move(body);
    }
    std::printf("%s\n", out.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
    return;
  }
  std::printf("%s ", m.subject.c_str());
  if (!reason.empty()) std::printf("[%.*s] ", static_cast<int>(reason.size()), reason.data());
  if (whole) {
    std::printf("%s\n", m.body.c_str());
  } else {
    std::printf("(%zu bytes, --payloads prints them)\n", m.body.size());
  }
}

// Providers of kind "http", and lines that files add to the tables of others, by name.
using Described = std::map<std::string, ProviderConfig, std::less<>>;

// False: the file is wrong, and its findings were printed.
bool describe(LoadResult loaded, Described& out) {
  for (const Finding& finding : loaded.findings)
    std::fprintf(stderr, "%s\n", to_text(finding).c_str());
  if (!loaded.config) return false;
  for (ProviderConfig& provider : loaded.config->providers)
    if (applies_to(provider) == AppliesTo::http || !provider.http.answers.empty())
      out.insert_or_assign(provider.name, std::move(provider));
  return true;
}

// The shipped profiles, and over them the files.
std::optional<Described> described_in(const std::vector<std::string>& files) {
  Described out;
  for (const ShippedProfile& profile : shipped_profiles())
    if (!describe(load_providers_text(profile.text, std::string(profile.file)), out))
      return std::nullopt;
  for (const std::string& file : files)
    if (!describe(load_providers(file), out)) return std::nullopt;
  return out;
}

std::optional<Verdict> judge_described(const Described& described, std::string_view provider,
                                       const CallResult& result,
                                       const std::optional<Verdict>& known, WallTime now) {
  const auto found = described.find(provider);
  if (found == described.end()) return std::nullopt;
  const ProviderConfig& config = found->second;
  if (applies_to(config) == AppliesTo::http) return judge_http(config.http, result, now);
  // Its name in the file need not be that of its protocol.
  const auto base = known ? known : judge_answer(name(config.kind), result, {.now = now});
  return base ? std::optional(amended(config.http.answers, result, *base, now)) : std::nullopt;
}

}  // namespace

int status(const Common& common) {
  const auto config = load(common.config, Surroundings::ignore);
  if (!config) return EX_CONFIG;
  auto client = AdminClient::connect(config->instance.socket, kTimeout);
  if (!client) return failed(client.error());
  const auto answer = client->call({.verb = "status"});
  if (!answer) return failed(answer.error());
  if (common.json) {
    std::printf("%s\n", answer->c_str());
  } else {
    print_status(Json::parse(*answer));
  }
  return EX_OK;
}

// A file that is wrong is refused here, by line and column; what only the daemon can see, by it.
int reload(const Common& common, const ReloadOptions& options) {
  const auto config = load(common.config, Surroundings::ignore);
  if (!config) return EX_CONFIG;
  Duration patience = kReloadTimeout;
  if (!options.wait.empty()) {
    const auto asked = parse_duration(options.wait);
    if (!asked) return usage_failed("reload", "--wait: " + asked.error().text);
    patience = *asked;
  }
  auto client = AdminClient::connect(config->instance.socket, patience);
  if (!client) return failed(client.error());
  const auto answer = client->call(
      {.verb = "reload", .arguments = {{"by", operator_name()}, {"reason", options.reason}}});
  if (!answer) return failed_config(answer.error());
  const Json said = Json::parse(*answer, nullptr, false);
  std::puts("reloaded");
  for (const Json& c : said.is_object() ? said.value("changes", Json::array()) : Json::array())
    std::printf("  %s: %s -> %s\n", cell(c, "field").c_str(), set_text(c, "before").c_str(),
                set_text(c, "after").c_str());
  return EX_OK;
}

int tail(const Common& common, const TailOptions& options) {
  const auto config = load(common.config, Surroundings::ignore);
  if (!config) return EX_CONFIG;
  auto connection = connection_of(*config, credentials_directory());
  if (!connection) return failed_config(connection.error());
  auto client = Publisher::connect(std::move(*connection));
  if (!client) return failed(client.error());
  const bool events_only = options.subject.empty();
  const std::string subject = events_only ? "sendonce.>" : options.subject;
  if (const auto subscribed = (*client)->subscribe(subject); !subscribed)
    return failed(subscribed.error());
  std::uint64_t seen = 0;
  for (;;) {
    const auto messages = (*client)->next(std::chrono::seconds(1));
    if (!messages) return failed(messages.error());
    for (const RawMessage& m : *messages) {
      if (events_only && !is_event(m.subject)) continue;
      print_message(m, options.payloads || is_event(m.subject), common.json);
      if (++seen == options.count) return EX_OK;
    }
    std::fflush(stdout);
  }
}

int classify_jsonl(const std::vector<std::string>& profiles) {
  const auto described = described_in(profiles);
  if (!described) return EX_CONFIG;
  const OtherJudge others = [&](std::string_view provider, const CallResult& result,
                                const std::optional<Verdict>& known, WallTime now) {
    return judge_described(*described, provider, result, known, now);
  };
  const auto clock = make_system_clock();
  std::string line;
  int code = EX_OK;
  for (std::size_t number = 1; std::getline(std::cin, line); ++number) {
    if (line.empty()) continue;
    const auto verdict = classify_line(line, number, clock->wall(), others);
    if (verdict) {
      std::printf("%s\n", verdict->c_str());
    } else {
      code = failed(verdict.error());
    }
  }
  return code;
}

}  // namespace sendonce::cli
