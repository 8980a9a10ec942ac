#include "plugin/module/compose.hpp"

#include <algorithm>
#include <utility>

#include "classifiers/apns/apns_provider.hpp"
#include "classifiers/fcm/fcm_provider.hpp"
#include "config/credentials.hpp"

namespace sendonce {
namespace {

std::unexpected<Error> fault_of(const ProviderConfig& c, Error error) {
  return fail(error.code, "provider." + c.name + ": " + error.text);
}

Result<std::unique_ptr<Provider>> make_apns(const ProviderConfig& c, std::string_view directory,
                                            ApnsTokenSources& tokens) {
  SO_ASSERT(c.key.has_value());  // the loader insists
  SO_TRY(Credential key, read_credential(*c.key, directory));
  SO_TRY(ApnsTokenSource * source,
         tokens.get(
             {.team = c.team, .key_id = c.key_id, .key = std::move(key), .refresh = c.refresh}));
  return make_apns_provider(
      {.topic = c.topic, .sandbox = c.environment == ApnsEnvironment::sandbox}, *source);
}

Result<std::unique_ptr<Provider>> make_fcm(const ProviderConfig& c, std::string_view directory) {
  SO_ASSERT(c.service_account.has_value());
  SO_TRY(Credential account, read_credential(*c.service_account, directory));
  return make_fcm_provider({.service_account = std::move(account),
                            .project = c.project,
                            .token_endpoint = c.token_endpoint});
}

Result<std::unique_ptr<Provider>> make_provider(const ProviderConfig& c, std::string_view directory,
                                                ApnsTokenSources& tokens) {
  switch (c.kind) {
    case ProviderKind::apns:
      return make_apns(c, directory, tokens);
    case ProviderKind::fcm:
      return make_fcm(c, directory);
    case ProviderKind::webpush:
    case ProviderKind::sms:
    case ProviderKind::email:
    case ProviderKind::http:
      break;
  }
  return fail(Errc::invalid, "this version has no provider of kind " + std::string(name(c.kind)));
}

Result<H2Options> transport_of(const ProviderConfig& c, const Capabilities& can,
                               std::string_view directory) {
  H2Options o{.name = c.name,
              .endpoint = c.endpoint,
              .ca_file = c.ca,
              .proxy = c.proxy,
              .insecure = c.insecure,
              .connections = c.connections,
              .streams = c.streams,
              .acts_on_whole = can.acts_on_whole,
              .one_stream_first = can.one_stream_first,
              .connect_timeout = c.connect};
  if (c.proxy_credentials) {
    SO_TRY(o.proxy_credentials, read_credential(*c.proxy_credentials, directory));
  }
  return o;
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
                            ApnsTokenSources& tokens) {
  Composition out;
  for (const ProviderConfig& c : config.providers) {
    auto provider = make_provider(c, credentials_dir, tokens);
    if (!provider) return fault_of(c, std::move(provider.error()));
    auto transport = transport_of(c, (*provider)->capabilities(), credentials_dir);
    if (!transport) return fault_of(c, std::move(transport.error()));
    out.slots.push_back({.config = c, .provider = provider->get()});
    out.transports.push_back(std::move(*transport));
    out.providers.push_back(std::move(*provider));
  }
  for (std::size_t i = 0; i < config.classes.size(); ++i) {
    SO_TRY(ClassPolicy policy, policy_of(config, i));
    out.classes.push_back(std::move(policy));
  }
  return out;
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
  return lanes;
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
