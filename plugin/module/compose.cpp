#include "plugin/module/compose.hpp"

#include <algorithm>
#include <utility>

#include "config/credentials.hpp"
#include "config/value.hpp"
#include "plugin/message/normal_form.hpp"
#include "plugin/module/loader/provider_file.hpp"
#include "plugin/transport/tls.hpp"

namespace sendonce {
namespace {

// A part of a provider, or what is wrong with the key of its table that names it.
template <class T>
using Judged = std::expected<T, Finding>;

// `at` is where the key stands; without a line, the table.
template <class T>
Judged<T> judged(Result<T> result, const ProviderConfig& c, std::string_view key,
                 const std::optional<SecretRef>& ref = {}) {
  if (result) return *std::move(result);
  return std::unexpected(Finding{.at = ref && ref->at.line != 0 ? ref->at : c.at,
                                 .field = "provider." + c.name + "." + std::string(key),
                                 .text = std::move(result.error().text),
                                 .code = result.error().code});
}

Error error_of(const Finding& finding) {
  return Error{finding.code, to_text(finding)};
}

Judged<Making> apns_making(const ProviderConfig& c, std::string_view directory,
                           ApnsTokenSources& tokens) {
  SO_ASSERT(c.key.has_value());  // the loader insists
  SO_TRY(Credential key, judged(read_credential(*c.key, directory), c, "auth.key", c.key));
  // The loader has judged the rest.
  SO_TRY(
      ApnsTokenSource * source,
      judged(tokens.get(
                 {.team = c.team, .key_id = c.key_id, .key = std::move(key), .refresh = c.refresh}),
             c, "auth.key", c.key));
  return ApnsMaking{{.topic = c.topic,
                     .sandbox = c.environment == ApnsEnvironment::sandbox,
                     .answers = c.http.answers},
                    source,
                    c.refresh};
}

Judged<Making> fcm_making(const ProviderConfig& c, std::string_view directory) {
  SO_ASSERT(c.service_account.has_value());
  SO_TRY(Credential account, judged(read_credential(*c.service_account, directory), c,
                                    "auth.service_account", c.service_account));
  return FcmOptions{.service_account = std::move(account),
                    .project = c.project,
                    .token_endpoint = c.token_endpoint,
                    .answers = c.http.answers};
}

Judged<Making> webpush_making(const ProviderConfig& c, std::string_view directory) {
  SO_ASSERT(c.vapid_key.has_value());
  SO_TRY(Credential key,
         judged(read_credential(*c.vapid_key, directory), c, "auth.vapid_key", c.vapid_key));
  return WebPushOptions{.key = std::move(key),
                        .subject = c.subject,
                        .origins = c.origins,
                        .urgency = std::string(choice_text(c.urgency)),
                        .answers = c.http.answers};
}

Judged<Making> http_making(const ProviderConfig& c, std::string_view directory) {
  HttpOptions o{.spec = c.http, .endpoint = c.endpoint, .token_endpoint = c.token_endpoint};
  if (c.secret) {
    SO_TRY(o.secret, judged(read_credential(*c.secret, directory), c, "auth.secret", c.secret));
  }
  return o;
}

// Of its key, for judged().
std::optional<SecretRef> place_of_module(const ProviderConfig& c) {
  return SecretRef{.text = {}, .at = c.module_at};
}

Judged<Making> module_making(const ProviderConfig& c, std::string_view directory) {
  ModuleOptions o{.kind = c.kind,
                  .channel = c.http.channel,
                  .version = c.http.version,
                  .endpoint = c.endpoint,
                  .token_endpoint = c.token_endpoint,
                  .idempotency = c.http.idempotency};
  SO_TRY(o.table, judged(load_provider_file(c.module), c, "module", place_of_module(c)));
  for (const SettingConfig& setting : c.settings) {
    ModuleSetting& s = o.settings.emplace_back();
    s.name = setting.name;
    s.value = Credential(setting.text);
    s.secret = setting.secret.has_value();
    if (!s.secret) continue;
    SO_TRY(s.value, judged(read_credential(*setting.secret, directory), c,
                           "settings." + setting.name, setting.secret));
  }
  return o;
}

Judged<Making> smtp_making(const ProviderConfig& c, std::string_view directory) {
  SmtpMaking m{.sender = {.from = c.from,
                          .from_name = c.from_name,
                          .reply_to = c.reply_to,
                          .sender = c.sender},
               .login = {.hello = c.from.substr(c.from.rfind('@') + 1), .user = c.http.auth.user}};
  if (c.secret) {
    SO_TRY(m.login.password,
           judged(read_credential(*c.secret, directory), c, "auth.secret", c.secret));
  }
  return m;
}

Judged<Making> making_of(const ProviderConfig& c, std::string_view directory,
                         ApnsTokenSources& tokens) {
  switch (c.kind) {
    case ProviderKind::apns:
      return apns_making(c, directory, tokens);
    case ProviderKind::fcm:
      return fcm_making(c, directory);
    case ProviderKind::webpush:
      return webpush_making(c, directory);
    case ProviderKind::sms:
    case ProviderKind::email:
    case ProviderKind::http:
    case ProviderKind::push:
      if (c.smtp) return smtp_making(c, directory);
      return c.by_module ? module_making(c, directory) : http_making(c, directory);
  }
  return judged<Making>(
      fail(Errc::invalid, "this version has no provider of kind " + std::string(name(c.kind))), c,
      "kind");
}

Result<std::unique_ptr<Provider>> as_port(Result<std::unique_ptr<ModuleProvider>> made) {
  if (!made) return std::unexpected(std::move(made).error());
  return *std::move(made);
}

Judged<std::unique_ptr<Provider>> make_provider(const ProviderConfig& c, const Making& making) {
  if (const auto* apns = std::get_if<ApnsMaking>(&making))
    return judged(make_apns_provider(apns->options, *apns->tokens), c, "topic");
  if (const auto* webpush = std::get_if<WebPushOptions>(&making))
    return judged(make_webpush_provider(*webpush), c, "auth.vapid_key", c.vapid_key);
  if (const auto* http = std::get_if<HttpOptions>(&making))
    return judged(make_http_provider(*http), c, "auth.secret", c.secret);
  if (const auto* module = std::get_if<ModuleOptions>(&making))
    return judged(as_port(ModuleProvider::make(*module)), c, "module", place_of_module(c));
  if (const auto* smtp = std::get_if<SmtpMaking>(&making))
    return judged(make_smtp_provider(smtp->sender), c, "from");
  return judged(make_fcm_provider(std::get<FcmOptions>(making)), c, "auth.service_account",
                c.service_account);
}

// `in_use` is the provider from then on, this one or the one that runs.
Judged<MadeProvider> make_or_keep(const ProviderConfig& c, std::string_view directory,
                                  ApnsTokenSources& tokens, const MadeProvider* running,
                                  Provider*& in_use) {
  MadeProvider made;
  SO_TRY(made.from, making_of(c, directory, tokens));
  if (running != nullptr && running->from == made.from) {
    in_use = running->provider.get();
    return made;
  }
  SO_TRY(made.provider, make_provider(c, made.from));
  in_use = made.provider.get();
  // Part of every key: a service account of another project must not go unnoticed.
  if (running != nullptr && running->provider->app_scope() != in_use->app_scope())
    return judged<MadeProvider>(
        fail(Errc::invalid,
             "its credential is for another app or project, which every delivery key holds: "
             "restart sendonced"),
        c, "auth", c.service_account);
  return made;
}

Judged<H2Options> transport_of(const ProviderConfig& c, const Capabilities& can,
                               const Making& making, std::string_view directory) {
  H2Options o{.name = c.name,
              .endpoint = c.endpoint,
              .ca_file = c.ca,
              .proxy = c.proxy,
              .insecure = c.insecure,
              .connections = c.connections,
              .streams = c.streams,
              .acts_on_whole = can.acts_on_whole,
              .one_stream_first = can.one_stream_first,
              .many_origins = can.many_origins,
              .http1 = c.http.version == HttpVersion::one_one,
              .smtp = c.smtp,
              .connect_timeout = c.connect};
  if (const auto* smtp = std::get_if<SmtpMaking>(&making)) o.login = smtp->login;
  if (c.proxy_credentials) {
    SO_TRY(o.proxy_credentials, judged(read_credential(*c.proxy_credentials, directory), c,
                                       "proxy.credentials", c.proxy_credentials));
  }
  return o;
}

Judged<void> add_provider(Composition& out, const ProviderConfig& c, std::string_view directory,
                          ApnsTokenSources& tokens, const MadeProvider* before) {
  Provider* provider = nullptr;
  SO_TRY(MadeProvider made, make_or_keep(c, directory, tokens, before, provider));
  SO_TRY(H2Options transport, transport_of(c, provider->capabilities(), made.from, directory));
  out.slots.push_back({.config = c, .provider = provider});
  out.transports.push_back(std::move(transport));
  out.providers.push_back(std::move(made));
  return {};
}

Result<ClassPolicy> policy_of(const Config& config, std::size_t index) {
  ClassPolicy p{.config = config.classes[index],
                .scope = ScopeIndex(static_cast<std::uint16_t>(index))};
  SO_TRY(p.recipe, make_recipe(p.config.key_scope, p.config.key));
  if (!p.config.key_previous.empty()) {
    SO_TRY(p.previous, make_recipe(p.config.key_scope, p.config.key_previous));
  }
  for (const auto& [channel, names] : p.config.route) {
    for (const std::string& wanted : names) {
      const auto it = std::ranges::find(config.providers, wanted, &ProviderConfig::name);
      SO_ASSERT(it != config.providers.end());  // the loader has checked
      p.routes.emplace_back(
          channel, ProviderIndex(static_cast<std::uint16_t>(it - config.providers.begin())));
    }
  }
  return p;
}

}  // namespace

Result<ApnsTokenSource*> ApnsTokenSources::get(const ApnsTokenOptions& options) {
  for (const Entry& e : entries_)
    if (e.team == options.team && e.key_id == options.key_id && e.key == options.key)
      return e.source.get();
  SO_TRY(auto source, ApnsTokenSource::make(options));
  entries_.push_back({options.team, options.key_id, options.key, std::move(source)});
  return entries_.back().source.get();
}

Result<Composition> compose(const Config& config, std::string_view credentials_dir,
                            ApnsTokenSources& tokens, const Composition* running) {
  Composition out;
  for (std::size_t i = 0; i < config.providers.size(); ++i) {
    const MadeProvider* before = running != nullptr ? &running->providers[i] : nullptr;
    if (const auto added = add_provider(out, config.providers[i], credentials_dir, tokens, before);
        !added)
      return std::unexpected(error_of(added.error()));
  }
  for (std::size_t i = 0; i < config.classes.size(); ++i) {
    SO_TRY(ClassPolicy policy, policy_of(config, i));
    out.classes.push_back(std::move(policy));
  }
  return out;
}

Findings composition_faults(const Config& config, std::string_view credentials_dir) {
  Findings out;
  ApnsTokenSources tokens;
  Composition made;
  for (const ProviderConfig& c : config.providers) {
    if (auto added = add_provider(made, c, credentials_dir, tokens, nullptr); !added)
      out.push_back(std::move(added.error()));
    if (c.ca.empty()) continue;
    if (auto trusted = judged(TrustStore::load(c.ca), c, "tls.ca"); !trusted)
      out.push_back(std::move(trusted.error()));
  }
  for (std::size_t i = 0; i < config.classes.size(); ++i)
    if (auto policy = policy_of(config, i); !policy)
      out.push_back({.at = config.classes[i].at,
                     .field = "class." + config.classes[i].name,
                     .text = std::move(policy.error().text),
                     .code = policy.error().code});
  return out;
}

void take_over(Composition& running, Composition& next) {
  for (std::size_t i = 0; i < next.providers.size(); ++i) {
    MadeProvider& made = next.providers[i];
    if (made.provider == nullptr) made.provider = std::move(running.providers[i].provider);
    if (const auto* apns = std::get_if<ApnsMaking>(&made.from))
      apns->tokens->set_refresh(apns->refresh);
  }
}

LedgerOptions ledger_options(const Config& config) {
  LedgerOptions o{.directory = ledger_directory(config.instance),
                  .map_bytes = config.ledger.map_size,
                  .durability = config.ledger.durability == Durability::process
                                    ? LedgerDurability::process
                                    : LedgerDurability::commit};
  for (const ClassConfig& c : config.classes) o.scopes.push_back(c.key_scope);
  return o;
}

KeyMarks key_marks(const Config& config, const Composition& composition, WallTime now) {
  KeyMarks marks{.now = now, .normal_forms = kNormalFormVersion};
  for (const ClassPolicy& c : composition.classes)
    // A row of the old recipe ends within `expires` of its message and is kept `retention` longer.
    marks.scopes.push_back({.scope = c.config.key_scope,
                            .recipe = recipe_text(c.recipe),
                            .previous = c.previous ? recipe_text(*c.previous) : std::string(),
                            .keep = c.config.expires + c.config.retention});
  for (std::size_t i = 0; i < config.providers.size(); ++i)
    marks.apps.push_back(
        {.provider = config.providers[i].name, .app = composition.slots[i].provider->app_scope()});
  return marks;
}

std::string durable_of(const ClassConfig& of) {
  return "sendonce_" + of.key_scope;
}

std::vector<NatsLane> lanes_of(const Config& config) {
  std::vector<NatsLane> lanes;
  for (const ClassConfig& c : config.classes)
    lanes.push_back({.class_name = c.name,
                     .stream = c.stream,
                     .durable = durable_of(c),
                     .subject = c.subject,
                     .ack_wait = c.ack_wait});
  if (const auto reports = reports_lane(config))
    lanes.push_back({.class_name = std::string(kReportsLane),
                     .stream = config.devices.stream,
                     .durable = reports->durable,
                     .subject = config.devices.reports,
                     .ack_wait = reports->ack_wait,
                     .one_at_a_time = true});
  return lanes;
}

std::optional<ReportsLane> reports_lane(const Config& config) {
  if (config.devices.reports.empty()) return std::nullopt;
  return ReportsLane{.durable = "sendonce-devices-" + config.instance.name};
}

ServiceDescription service_of(const Config& config, const std::string& ledger_id,
                              WallTime started) {
  ServiceDescription service{.name = config.instance.name,
                             .id = ledger_id,
                             .version = SENDONCE_VERSION,
                             .started = started};
  for (const ClassConfig& c : config.classes)
    service.endpoints.push_back({.name = c.name, .subject = c.subject, .group = durable_of(c)});
  return service;
}

std::vector<ServiceCounts> service_counts(const EngineReport& report) {
  std::vector<ServiceCounts> out;
  for (const ClassReport& r : report.classes) {
    const ClassCounters& n = r.counters;
    const auto processing = std::chrono::duration<double>(n.accepted_after.sum_seconds());
    out.push_back({.requests = n.accepted + n.failed + n.unknown + n.suppressed + n.conflicts,
                   .errors = n.failed + n.unknown + n.conflicts + n.undecodable,
                   .processing = std::chrono::duration_cast<Duration>(processing),
                   .data = {{"accepted", n.accepted},
                            {"failed", n.failed},
                            {"unknown", n.unknown},
                            {"suppressed", n.suppressed},
                            {"conflict", n.conflicts},
                            {"undecodable", n.undecodable},
                            {"duplicates_suppressed", n.duplicates_suppressed}}});
  }
  return out;
}

Result<ConnectionOptions> connection_of(const Config& config, std::string_view credentials_dir) {
  ConnectionOptions o{.servers = config.nats.servers,
                      .name = "sendonce/" + config.instance.name,
                      .ca_file = config.nats.ca,
                      .connect = config.nats.connect};
  if (config.nats.credentials) {
    // cnats reads the file itself, at every connect; whether others could read it is ours to see.
    if (auto checked = read_credential(*config.nats.credentials, credentials_dir); !checked)
      return fail(checked.error().code, "nats.credentials: " + checked.error().text);
    SO_TRY(o.credentials_file, credential_path(*config.nats.credentials, credentials_dir));
  }
  return o;
}

}  // namespace sendonce
