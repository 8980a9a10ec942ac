#include "config/reload.hpp"

#include <algorithm>

namespace sendonce {
namespace {

template <class Section>
void compare_table(std::vector<Change>& out, const std::string& table,
                   std::span<const KeySpec<Section>> specs, const Section& before,
                   const Section& after) {
  for (const KeySpec<Section>& spec : specs) {
    std::string old_value = spec.print(before);
    std::string new_value = spec.print(after);
    if (old_value == new_value) continue;
    // What describes an endpoint may hold what opens it: a capability in a path, a token in a form.
    // What names an account, or a person's address.
    constexpr unsigned kOurs =
        static_cast<unsigned>(AppliesTo::http_module) | static_cast<unsigned>(AppliesTo::smtp);
    const bool described = (static_cast<unsigned>(spec.about.applies) & ~kOurs) == 0;
    if (described) old_value = new_value = "(not shown)";
    out.push_back({table + "." + std::string(spec.about.path), spec.about.reload,
                   std::move(old_value), std::move(new_value)});
  }
}

// A table that came or went: its consumer, connections or ledger table would have to follow.
template <class Section>
void compare_tables(std::vector<Change>& out, const std::string& kind,
                    std::span<const KeySpec<Section>> specs, const std::vector<Section>& before,
                    const std::vector<Section>& after) {
  for (const Section& now : after) {
    const auto old = std::ranges::find(before, now.name, &Section::name);
    if (old == before.end())
      out.push_back({kind + "." + now.name, OnReload::restart, "", "added"});
    else
      compare_table(out, kind + "." + now.name, specs, *old, now);
  }
  for (const Section& old : before)
    if (std::ranges::find(after, old.name, &Section::name) == after.end())
      out.push_back({kind + "." + old.name, OnReload::restart, "removed", ""});
}

}  // namespace

std::vector<Change> compare(const Config& before, const Config& after) {
  std::vector<Change> out;
  compare_table(out, "instance", instance_keys(), before.instance, after.instance);
  compare_table(out, "nats", nats_keys(), before.nats, after.nats);
  compare_table(out, "ledger", ledger_keys(), before.ledger, after.ledger);
  compare_table(out, "metrics", metrics_keys(), before.metrics, after.metrics);
  compare_table(out, "devices", devices_keys(), before.devices, after.devices);
  compare_tables(out, "provider", provider_keys(), before.providers, after.providers);
  compare_tables(out, "class", class_keys(), before.classes, after.classes);
  return out;
}

Findings refused_by_reload(const std::vector<Change>& changes, const KeyPositions& positions) {
  Findings out;
  for (const Change& c : changes)
    if (c.applies == OnReload::restart)
      out.push_back({.at = positions.find(c.field),
                     .field = c.field,
                     .text = "cannot change while running",
                     .remedy = "restart sendonced"});
  return out;
}

}  // namespace sendonce
