// Checks of what concerns the process as a whole, and the list of all checks.
#include <algorithm>
#include <array>

#include "config/checks.hpp"
#include "config/estimate.hpp"
#include "config/quantity.hpp"
#include "config/url.hpp"
#include "plugin/core/subject.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kSocketBytesMax = 107;  // unix(7)
constexpr std::string_view kNameRemedy = "use 1 to 64 letters, digits, _ and -";

void check_name(const CheckInput& in, Findings& out, const std::string& field,
                std::string_view value) {
  if (!valid_name(value))
    report_error(in, out, field, "not a name that can be used", std::string(kNameRemedy));
}

void check_path(const CheckInput& in, Findings& out, const std::string& field,
                const std::string& path) {
  if (!path.empty() && !path.starts_with('/'))
    report_error(in, out, field, "not an absolute path", "start it with /");
}

void check_server(const CheckInput& in, Findings& out, const std::string& server) {
  const std::string field = "nats.servers";
  const std::optional<UrlParts> url = split_url(server);
  if (!url || (url->scheme != "nats" && url->scheme != "tls") ||
      (!url->path.empty() && url->path != "/"))
    report_error(in, out, field, "not the URL of a NATS server",
                 "write nats://host:port or tls://host:port");
  else if (url->has_user)
    report_error(in, out, field, "holds a user or password",
                 "name a .creds file in nats.credentials");
}

}  // namespace

void check_config(const CheckInput& in, Findings& out) {
  using Check = void (*)(const CheckInput&, Findings&);
  constexpr std::array<Check, 24> kChecks{
      check_presence, check_names,     check_paths,    check_nats,     check_streams,
      check_map_size, check_providers, check_drain,    check_routes,   check_policies,
      check_rates,    check_claims,    check_ack_wait, check_expires,  check_retention,
      check_pending,  check_retry,     check_keys,     check_collapse, check_subjects,
      check_scopes,   check_apple_ids, check_metrics,  check_reports};
  for (const Check check : kChecks) check(in, out);
}

void check_presence(const CheckInput& in, Findings& out) {
  if (in.config.classes.empty())
    report_error(in, out, "class", "there is no class of messages",
                 "add a [class.NAME] with subject, expires, retention, ambiguous and route");
  if (in.config.providers.empty())
    report_error(in, out, "provider", "there is no provider", "add a [provider.NAME]");
}

void check_names(const CheckInput& in, Findings& out) {
  check_name(in, out, "instance.name", in.config.instance.name);
  check_name(in, out, "nats.outcomes_stream", in.config.nats.outcomes_stream);
  check_name(in, out, "nats.dead_letter_stream", in.config.nats.dead_letter_stream);
  check_name(in, out, "devices.stream", in.config.devices.stream);
  for (const ProviderConfig& provider : in.config.providers)
    check_name(in, out, "provider." + provider.name, provider.name);
  for (const ClassConfig& c : in.config.classes) {
    check_name(in, out, "class." + c.name, c.name);
    check_name(in, out, "class." + c.name + ".stream", c.stream);
    if (c.key_scope != c.name) check_name(in, out, "class." + c.name + ".key_scope", c.key_scope);
  }
}

void check_paths(const CheckInput& in, Findings& out) {
  check_path(in, out, "instance.state_dir", in.config.instance.state_dir);
  check_path(in, out, "instance.socket", in.config.instance.socket);
  if (in.config.instance.socket.size() > kSocketBytesMax)
    report_error(in, out, "instance.socket", "longer than a Unix socket's name can be",
                 "shorten it to 107 bytes");
  check_path(in, out, "nats.tls.ca", in.config.nats.ca);
  for (const ProviderConfig& provider : in.config.providers)
    check_path(in, out, "provider." + provider.name + ".tls.ca", provider.ca);
}

void check_nats(const CheckInput& in, Findings& out) {
  const NatsConfig& nats = in.config.nats;
  for (const std::string& server : nats.servers) check_server(in, out, server);
  if (!nats.domain.empty() && !valid_name(nats.domain))
    report_error(in, out, "nats.domain", "not a name that can be used", std::string(kNameRemedy));
  const bool wild = nats.api_prefix.find_first_of("*>") != std::string::npos;
  if (!nats.api_prefix.empty() && (wild || !valid_subject_filter(nats.api_prefix)))
    report_error(in, out, "nats.api_prefix", "not the beginning of a subject",
                 "write words joined by dots, without a dot at the end, for example $JS.hub.API");
  if (!nats.domain.empty() && !nats.api_prefix.empty())
    report_error(in, out, "nats.api_prefix", "given together with domain", "keep one of the two");
}

void check_streams(const CheckInput& in, Findings& out) {
  const NatsConfig& nats = in.config.nats;
  if (nats.outcomes_stream == nats.dead_letter_stream)
    report_error(in, out, "nats.dead_letter_stream", "is the stream of outcomes too",
                 "give each its own stream");
  for (const ClassConfig& c : in.config.classes)
    if (c.stream == nats.outcomes_stream || c.stream == nats.dead_letter_stream)
      report_error(in, out, "class." + c.name + ".stream",
                   "is a stream that this process publishes to itself",
                   "name the stream of the incoming messages");
}

void check_metrics(const CheckInput& in, Findings& out) {
  const MetricsConfig& metrics = in.config.metrics;
  if (metrics.listen.empty()) return;
  const auto address = split_address(metrics.listen);
  if (!address)
    report_error(in, out, "metrics.listen", "not an address with a port",
                 "write 127.0.0.1:8227 or [::1]:8227");
  else if (!is_loopback(address->host) && !metrics.remote)
    report_error(in, out, "metrics.listen", "can be reached from other machines",
                 "write 127.0.0.1, or remote = true if everybody who reaches it may read it");
}

void check_reports(const CheckInput& in, Findings& out) {
  const DevicesConfig& devices = in.config.devices;
  if (devices.reports.empty()) return;
  const std::string field = "devices.reports";
  if (devices.stream == in.config.nats.outcomes_stream ||
      devices.stream == in.config.nats.dead_letter_stream)
    report_error(in, out, "devices.stream", "is a stream that this process publishes to itself",
                 "name the stream of the reports");
  if (!valid_subject_filter(devices.reports) || devices.reports.starts_with('$'))
    return report_error(in, out, field, "not a subject that can be consumed",
                        "write words joined by dots, for example device-reports.>");
  if (subjects_overlap(devices.reports, kOutgoing))
    report_error(in, out, field, "takes in the events that this process publishes itself",
                 "keep clear of sendonce.>");
  for (const ClassConfig& c : in.config.classes) {
    if (c.name == kReportsLane)
      report_error(in, out, "class." + c.name,
                   "beside devices.reports this name is taken: logs, dead letters and `setup "
                   "--adopt` call the reports so",
                   "rename the class and set its key_scope to the old name");
    if (valid_subject_filter(c.subject) && subjects_overlap(c.subject, devices.reports))
      report_error(in, out, field, "some subjects belong to class " + c.name + " too",
                   "make the two filters disjoint");
  }
}

void check_map_size(const CheckInput& in, Findings& out) {
  std::uint64_t bytes = 0;
  for (const ClassConfig& c : in.config.classes)
    if (c.rate_per_second > 0) bytes += estimate(c, c.rate_per_second).file_bytes;
  const std::uint64_t usable = in.config.ledger.map_size / 100 * kUsableMapPercent;
  if (bytes <= usable) return;
  constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30U;
  const std::uint64_t needed = bytes / kUsableMapPercent * 100 / kGibibyte + 1;
  report_warning(
      in, out, "ledger.map_size",
      size_text(in.config.ledger.map_size) +
          " is too small for the rows that the classes' rates and retentions add up to",
      "make it at least \"" + size_text(needed * kGibibyte) + "\", or shorten a retention");
}

void report_error(const CheckInput& in, Findings& out, const std::string& field, std::string text,
                  std::string remedy) {
  out.push_back(
      {Severity::error, in.positions.find(field), field, std::move(text), std::move(remedy)});
}

void report_warning(const CheckInput& in, Findings& out, const std::string& field, std::string text,
                    std::string remedy) {
  out.push_back(
      {Severity::warning, in.positions.find(field), field, std::move(text), std::move(remedy)});
}

const ProviderConfig* find_provider(const Config& config, std::string_view provider) {
  const auto found = std::ranges::find(config.providers, provider, &ProviderConfig::name);
  return found == config.providers.end() ? nullptr : &*found;
}

Duration longest_call(const Config& config, const ClassConfig& of) {
  Duration longest{};
  for (const auto& [channel, route] : of.route)
    for (const std::string& entry : route)
      if (const ProviderConfig* provider = find_provider(config, entry))
        longest = std::max(longest, provider->total);
  return longest;
}

}  // namespace sendonce
