#include "plugin/broker/nats/setup.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>

#include <nlohmann/json.hpp>
#include <poll.h>
#include <sysexits.h>

#include "config/credentials.hpp"
#include "ledger/lmdb/open.hpp"
#include "plugin/cli/as_owner.hpp"
#include "plugin/cli/commands.hpp"
#include "plugin/cli/output.hpp"
#include "plugin/cli/setup_request.hpp"
#include "plugin/core/text.hpp"
#include "plugin/module/admin/admin_client.hpp"
#include "plugin/module/compose.hpp"

namespace sendonce::cli {
namespace {

// The old owner learns with its next CONSUMER.INFO that it is one, within 10 s; our clock and the
// server's may differ. What is stored until then counts as maybe sent, too.
constexpr Duration kStillSending = std::chrono::minutes(1);

// A server that was started a moment ago, as the line before says in doctor's repairs.
constexpr Duration kServerStarts = std::chrono::seconds(5);
constexpr int kBetweenMs = 200;

using Json = nlohmann::ordered_json;

constexpr std::string_view kToBeMade = "(to be made)";

Result<std::optional<StartFrom>> start_from(const std::string& text) {
  if (text.empty()) return std::optional<StartFrom>();
  if (text == "new") return StartFrom{.kind = StartFrom::Kind::now};
  if (text == "all") return StartFrom{.kind = StartFrom::Kind::beginning};
  const auto time = parse_rfc3339(text);
  if (!time) return fail(Errc::invalid, "--from: new, all, or a time such as 2026-11-01T08:00:00Z");
  return StartFrom{.kind = StartFrom::Kind::time, .time = *time};
}

Result<void> check_names(const Config& config, const std::string& option,
                         const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name == kReportsLane && reports_lane(config)) continue;
    if (std::ranges::find(config.classes, name, &ClassConfig::name) == config.classes.end())
      return fail(Errc::invalid, option + ": no [class." + name + "] in the configuration");
  }
  return {};
}

struct FoundLedger {
  std::string id{};
  bool there = true;
};

// The ledger's id: of the file, or from the daemon that has it open, or of one that is to be made.
Result<FoundLedger> find_ledger(const Config& config, bool dry_run) {
  const std::string directory = ledger_directory(config.instance);
  const AsOwner owner(config.instance.state_dir);
  SO_TRY(const bool there, ledger_exists(directory));
  if (!there) return FoundLedger{dry_run ? std::string(kToBeMade) : new_ledger_id(), false};
  const auto reader = LedgerReader::open(directory);
  if (reader) return FoundLedger{(*reader)->id()};
  if (reader.error().code != Errc::busy) return std::unexpected(reader.error());
  SO_TRY(AdminClient client, AdminClient::connect(config.instance.socket, std::chrono::seconds(5)));
  SO_TRY(const std::string status, client.call({.verb = "status"}));
  return FoundLedger{Json::parse(status).at("ledger").at("id").get<std::string>()};
}

// For a copy that was put back. There must be one, and no daemon may have it open.
Result<FoundLedger> renewed_ledger(const Config& config, std::FILE* report) {
  const std::string directory = ledger_directory(config.instance);
  const AsOwner owner(config.instance.state_dir);
  SO_TRY(const auto reader, LedgerReader::open(directory));
  std::string id = new_ledger_id();
  std::fprintf(report, "update  ledger %s: id %s -> %s\n", directory.c_str(), reader->id().c_str(),
               id.c_str());
  return FoundLedger{std::move(id)};
}

Result<void> make_ledger(const Config& config, const SetupOptions& options, const std::string& id) {
  const LedgerOptions ledger = ledger_options(config);
  std::fprintf(options.report, "create  ledger %s: %s\n", ledger.directory.c_str(), id.c_str());
  const AsOwner owner(config.instance.state_dir);
  if (!options.dry_run) SO_CHECK(create_ledger(ledger, id));
  return {};
}

void print_change(const SetupChange& c, std::FILE* report) {
  std::fprintf(report, "%-7s %s", std::string(name(c.action)).c_str(), c.object.c_str());
  if (!c.field.empty())
    std::fprintf(report, ": %s %s -> %s", c.field.c_str(),
                 c.from.empty() ? "(none)" : c.from.c_str(), c.to.c_str());
  if (!c.text.empty()) std::fprintf(report, "  # %s", c.text.c_str());
  std::fprintf(report, "\n");
}

Result<std::unique_ptr<Publisher>> connect_soon(const ConnectionOptions& options) {
  const auto clock = make_system_clock();
  const MonoTime limit = clock->mono() + kServerStarts;
  for (;;) {
    auto client = Publisher::connect(options);
    if (client || client.error().code != Errc::unavailable || clock->mono() >= limit) return client;
    ::poll(nullptr, 0, kBetweenMs);
  }
}

// The lines of what changes in how keys are made.
Result<void> accept_keys_of(const Config& config, const SetupOptions& setup) {
  ApnsTokenSources tokens;
  SO_TRY(const Composition composition, compose(config, credentials_directory(), tokens));
  const auto clock = make_system_clock();
  const AsOwner owner(config.instance.state_dir);
  SO_TRY(const std::vector<std::string> changed,
         accept_keys(ledger_options(config), key_marks(config, composition, clock->wall()),
                     setup.dry_run));
  for (const std::string& text : changed) std::fprintf(setup.report, "accept  %s\n", text.c_str());
  return {};
}

// First the ledger: a consumer that is ours before the ledger knows it has been adopted would let
// messages of the old owner look new.
Result<void> change_ledger(const Config& config, const SetupOptions& options, const std::string& id,
                           const std::vector<std::string>& adopted) {
  const LedgerOptions ledger = ledger_options(config);
  const AsOwner owner(config.instance.state_dir);
  const WallTime adopted_at = make_system_clock()->wall() + kStillSending;
  if (options.restored) SO_CHECK(renew_ledger(ledger, id, adopted_at));
  for (const std::string& name : adopted) {
    const auto c = std::ranges::find(config.classes, name, &ClassConfig::name);
    if (c == config.classes.end()) continue;  // the reports: they have no rows
    SO_CHECK(adopt_scope(ledger, c->key_scope, adopted_at));
  }
  return {};
}

Result<void> run(const Config& config, const SetupOptions& options,
                 const ConnectionOptions& connection) {
  SO_CHECK(check_names(config, "--adopt", options.adopt));
  SO_CHECK(check_names(config, "--recreate", options.recreate));
  SO_TRY(const std::optional<StartFrom> from, start_from(options.from));
  SO_TRY(const FoundLedger ledger, options.restored ? renewed_ledger(config, options.report)
                                                    : find_ledger(config, options.dry_run));
  SO_TRY(const auto client, connect_soon(connection));
  Setup setup(*client, js_api_prefix(config.nats.domain, config.nats.api_prefix));
  const SetupRequest request = setup_request(config, ledger.id, options, from);
  SO_TRY(const SetupPlan plan, setup.plan(request));
  for (const SetupChange& c : plan.changes) print_change(c, options.report);
  if (plan.refused())
    return fail(Errc::invalid, "nothing was changed: see the lines marked refuse");
  if (!ledger.there) {
    SO_CHECK(make_ledger(config, options, ledger.id));
  } else if (options.accept_keys) {
    SO_CHECK(accept_keys_of(config, options));
  }
  if (options.dry_run) return {};
  SO_CHECK(change_ledger(config, options, request.ledger_id, plan.adopted));
  if (plan.nothing_to_do()) return {};
  return setup.apply(request, plan);
}

}  // namespace

SetupRequest setup_request(const Config& config, std::string ledger_id, const SetupOptions& options,
                           const std::optional<StartFrom>& from) {
  SetupRequest r{.ledger_id = std::move(ledger_id)};
  const auto adopted = [&](std::string_view name) {
    return options.restored || std::ranges::find(options.adopt, name) != options.adopt.end();
  };
  const auto anew = [&](std::string_view name) {
    return std::ranges::find(options.recreate, name) != options.recreate.end();
  };
  for (const ClassConfig& c : config.classes)
    r.consumers.push_back({.class_name = c.name,
                           .stream = c.stream,
                           .durable = durable_of(c),
                           .filter_subject = c.subject,
                           .ack_wait = c.ack_wait,
                           .max_ack_pending = c.max_ack_pending,
                           .from = from,
                           .adopt = adopted(c.name),
                           .recreate = anew(c.name)});
  if (const auto reports = reports_lane(config))
    r.consumers.push_back({.class_name = std::string(kReportsLane),
                           .stream = config.devices.stream,
                           .durable = reports->durable,
                           .filter_subject = config.devices.reports,
                           .ack_wait = reports->ack_wait,
                           .max_ack_pending = 1,
                           .from = from,
                           .adopt = adopted(kReportsLane),
                           .recreate = anew(kReportsLane),
                           .holds = "reports about devices",
                           .shared = true});
  r.streams =
      desired_streams(r.consumers, config.nats.outcomes_stream, config.nats.dead_letter_stream);
  return r;
}

int setup(const Common& common, const SetupOptions& options) {
  const auto config = load(common.config, Surroundings::ignore);
  if (!config) return EX_CONFIG;
  auto connection = connection_of(*config, credentials_directory());
  if (!connection) return failed_config(connection.error());
  if (options.accept_keys) {
    const Findings faults = composition_faults(*config, credentials_directory());
    if (!faults.empty()) return failed_config(to_error(faults));
  }
  const auto done = run(*config, options, *connection);
  if (!done) return failed(done.error());
  std::fprintf(options.report, "%s\n", options.dry_run ? "dry run: nothing was changed" : "done");
  return EX_OK;
}

}  // namespace sendonce::cli
