#include "config/loader.hpp"

#include "config/checks.hpp"
#include "config/documents.hpp"
#include "config/effective.hpp"
#include "config/environment.hpp"
#include "config/table_reader.hpp"

namespace sendonce {
namespace {

template <class Section>
void read_single(std::span<const KeySpec<Section>> specs, const TomlNode* table,
                 const std::string& field, const ReadSink& sink, Section& out) {
  if (table == nullptr) return;
  sink.positions->set(field, table->at);
  TableReader<Section>(specs, AppliesTo::all, field, sink).read(out, *table);
}

std::string_view default_endpoint(const ProviderConfig& provider) {
  if (provider.kind == ProviderKind::webpush) return {};  // the subscription names it
  const AppliesTo kind = applies_to(provider);
  if (kind == AppliesTo::http || kind == AppliesTo::module || kind == AppliesTo::smtp) return {};
  if (provider.kind == ProviderKind::fcm) return "https://fcm.googleapis.com";
  return provider.environment == ApnsEnvironment::production ? "https://api.push.apple.com"
                                                             : "https://api.sandbox.push.apple.com";
}

// Keys and events speak of the destination: a phone number is one whoever sends to it.
ProviderKind kind_of(Channel channel) {
  if (channel == Channel::sms) return ProviderKind::sms;
  if (channel == Channel::push) return ProviderKind::push;
  return channel == Channel::email ? ProviderKind::email : ProviderKind::http;
}

// Empty when its kind is missing or unknown: then no other key can be judged.
std::optional<ProviderConfig> read_provider(const std::string& name, const TomlNode& table,
                                            const ReadSink& sink) {
  ProviderConfig out;
  out.name = name;
  out.at = table.at;
  const std::string field = "provider." + name;
  sink.positions->set(field, table.at);
  const KeySpec<ProviderConfig>& kind = provider_keys().front();
  const TomlNode* given = table.find(kind.about.path);
  if (given == nullptr) {
    sink.report(table.at, field + ".kind", "missing, and has no default",
                std::string(kind.about.choose));
    return std::nullopt;
  }
  if (const Refused refused = kind.read(out, *given, kind.bounds)) {
    sink.report(refused->at, field + ".kind", refused->text, refused->remedy);
    return std::nullopt;
  }
  TableReader<ProviderConfig> reader(provider_keys(), applies_to(out), field, sink);
  reader.read(out, table);
  reader.require(table.at);
  if (out.kind == ProviderKind::http) out.kind = kind_of(out.http.channel);
  if (out.endpoint.empty()) out.endpoint = default_endpoint(out);
  return out;
}

ClassConfig read_class(const std::string& name, const TomlNode& table, const TomlNode* defaults,
                       const ReadSink& sink) {
  ClassConfig out;
  out.name = name;
  out.at = table.at;
  const std::string field = "class." + name;
  sink.positions->set(field, table.at);
  TableReader<ClassConfig> reader(class_keys(), AppliesTo::all, field, sink);
  if (defaults != nullptr) {
    // Judged once already, under its own name.
    TableReader<ClassConfig> silent(class_keys(), AppliesTo::all, field, {nullptr, sink.positions});
    silent.read(out, *defaults);
    reader.inherit(silent);
  }
  reader.read(out, table);
  reader.require(table.at);
  if (out.route.empty())
    sink.report(table.at, field + ".route.push", "missing, and has no default",
                "name the providers, for example route = { push = [\"apns\", \"fcm\"] }");
  if (out.key_scope.empty()) out.key_scope = name;
  return out;
}

void judge_defaults(const TomlNode* defaults, const ReadSink& sink) {
  if (defaults == nullptr) return;
  ClassConfig scratch;
  read_single<ClassConfig>(class_keys(), defaults, "defaults.class", sink, scratch);
}

Config read_tables(const Tables& tables, const ReadSink& sink) {
  Config out;
  read_single<InstanceConfig>(instance_keys(), tables.instance, "instance", sink, out.instance);
  read_single<NatsConfig>(nats_keys(), tables.nats, "nats", sink, out.nats);
  read_single<LedgerConfig>(ledger_keys(), tables.ledger, "ledger", sink, out.ledger);
  read_single<MetricsConfig>(metrics_keys(), tables.metrics, "metrics", sink, out.metrics);
  read_single<DevicesConfig>(devices_keys(), tables.devices, "devices", sink, out.devices);
  for (const auto& [name, table] : tables.providers)
    if (auto provider = read_provider(name, *table, sink))
      out.providers.push_back(*std::move(provider));
  judge_defaults(tables.class_defaults, sink);
  for (const auto& [name, table] : tables.classes)
    out.classes.push_back(read_class(name, *table, tables.class_defaults, sink));
  return out;
}

LoadResult load(const Documents& documents, const std::string& path, Findings findings,
                Surroundings surroundings) {
  KeyPositions positions;
  positions.set("", {path, 1, 1});
  Config config = read_tables(documents.tables(), {&findings, &positions});
  // Checks compare values: they would only repeat what reading them has found.
  if (!has_errors(findings)) {
    check_config({config, positions}, findings);
    if (surroundings == Surroundings::look) check_environment({config, positions}, findings);
  }
  sort_by_place(findings);
  LoadResult out;
  if (!has_errors(findings)) {
    config.hash = effective_hash(config);
    out.config = std::move(config);
  }
  out.findings = std::move(findings);
  out.positions = std::move(positions);
  return out;
}

LoadResult providers_of(const Documents& documents, const std::string& path, Findings findings) {
  LoadResult out{.findings = std::move(findings)};
  if (documents.empty()) return out;
  KeyPositions positions;
  positions.set("", {path, 1, 1});
  Config config = read_tables(documents.tables(), {&out.findings, &positions});
  if (!has_errors(out.findings)) check_providers({config, positions}, out.findings);
  sort_by_place(out.findings);
  if (!has_errors(out.findings)) out.config = std::move(config);
  return out;
}

}  // namespace

LoadResult load_config(const std::string& path, Surroundings surroundings) {
  Findings findings;
  const Documents documents = Documents::from_files(path, findings);
  if (documents.empty()) return {std::nullopt, std::move(findings), {}};
  return load(documents, path, std::move(findings), surroundings);
}

LoadResult load_config_text(std::string_view text, const std::string& file) {
  Findings findings;
  const Documents documents = Documents::from_text(text, file, findings);
  if (documents.empty()) return {std::nullopt, std::move(findings), {}};
  return load(documents, file, std::move(findings), Surroundings::ignore);
}

LoadResult load_providers(const std::string& path) {
  Findings findings;
  const Documents documents = Documents::from_fragment(path, findings);
  return providers_of(documents, path, std::move(findings));
}

LoadResult load_providers_text(std::string_view text, const std::string& file) {
  Findings findings;
  const Documents documents = Documents::from_fragment_text(text, file, findings);
  return providers_of(documents, file, std::move(findings));
}

}  // namespace sendonce
