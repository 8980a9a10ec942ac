#include "config/effective.hpp"

#include "config/key_spec.hpp"
#include "plugin/core/text.hpp"
#include "plugin/crypto/digest.hpp"

namespace sendonce {
namespace {

template <class Section>
void print(std::string& out, const std::string& table, std::span<const KeySpec<Section>> specs,
           AppliesTo kind, const Section& section) {
  out += "\n[" + table + "]\n";
  for (const KeySpec<Section>& spec : specs) {
    if (!applies(spec.about, kind)) continue;
    const std::string value = spec.print(section);
    if (value.empty()) continue;
    out += spec.about.path;
    out += " = " + value + '\n';
  }
}

}  // namespace

std::string effective_toml(const Config& config) {
  std::string out = "config_version = 1\n";
  print(out, "instance", instance_keys(), AppliesTo::all, config.instance);
  print(out, "nats", nats_keys(), AppliesTo::all, config.nats);
  print(out, "ledger", ledger_keys(), AppliesTo::all, config.ledger);
  print(out, "metrics", metrics_keys(), AppliesTo::all, config.metrics);
  print(out, "devices", devices_keys(), AppliesTo::all, config.devices);
  for (const ProviderConfig& provider : config.providers)
    print(out, "provider." + provider.name, provider_keys(), applies_to(provider), provider);
  for (const ClassConfig& c : config.classes)
    print(out, "class." + c.name, class_keys(), AppliesTo::all, c);
  return out;
}

std::string effective_hash(const Config& config) {
  const Sha256Digest digest = Sha256().of(effective_toml(config));
  return hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

}  // namespace sendonce
