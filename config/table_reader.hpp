// Reads one table of the file by its keys' descriptions: values into members, positions for the
// checks, and a finding for each key that is unknown, misplaced or refused.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/finding.hpp"
#include "config/key_spec.hpp"
#include "config/toml_shim.hpp"

namespace sendonce {

// `findings` may be absent: a table that is read again was judged the first time.
struct ReadSink {
  Findings* findings = nullptr;
  KeyPositions* positions = nullptr;

  void report(Position at, std::string field, std::string text, std::string remedy) const {
    if (findings == nullptr) return;
    findings->push_back(
        {Severity::error, std::move(at), std::move(field), std::move(text), std::move(remedy)});
  }
};

// An unknown name beside the names that would have been known.
[[nodiscard]] std::string unknown_key_remedy(std::string_view key,
                                             std::span<const std::string_view> known);

// A kind of provider that has the keys.

template <class Section>
class TableReader {
 public:
  // `field` names the table in findings: "class.otp".
  TableReader(std::span<const KeySpec<Section>> specs, AppliesTo kind, std::string field,
              const ReadSink& sink)
      : specs_(specs), kind_(kind), field_(std::move(field)), sink_(sink) {}

  void read(Section& out, const TomlNode& table) { walk(out, table, ""); }

  // Keys that another table has given for this one.
  void inherit(const TableReader& other) {
    seen_.insert(seen_.end(), other.seen_.begin(), other.seen_.end());
  }

  // Reports mandatory keys that no table has given. Refused ones were given.
  void require(const Position& at) const {
    for (const KeySpec<Section>& spec : specs_) {
      if (spec.about.choose.empty() || !applies(spec.about, kind_) || seen(spec.about.path))
        continue;
      sink_.report(at, field_ + "." + std::string(spec.about.path), "missing, and has no default",
                   std::string(spec.about.choose));
    }
  }

 private:
  [[nodiscard]] bool seen(std::string_view path) const {
    return std::ranges::find(seen_, path) != seen_.end();
  }

  void walk(Section& out, const TomlNode& table, const std::string& prefix) {
    for (const auto& [key, node] : table.members) take(out, key, node, prefix);
  }

  void take(Section& out, const std::string& key, const TomlNode& node, const std::string& prefix) {
    const std::string path = prefix + key;
    const std::string field = field_ + "." + path;
    for (const KeySpec<Section>& spec : specs_) {
      if (spec.about.path == path) return take_value(out, node, spec, field);
      if (!spec.about.path.starts_with(path) || spec.about.path[path.size()] != '.') continue;
      if (node.type == TomlType::table) return walk(out, node, path + ".");
      return sink_.report(node.at, field, "must be a table, is " + std::string(name(node.type)),
                          "write " + inline_example(path));
    }
    unknown(node.at, key, prefix);
  }

  void take_value(Section& out, const TomlNode& node, const KeySpec<Section>& spec,
                  const std::string& field) {
    if (!applies(spec.about, kind_))
      return sink_.report(
          node.at, field, "has no meaning for this kind of provider",
          "remove it, or set kind = \"" + std::string(kind_text(spec.about.applies)) + "\"");
    seen_.push_back(spec.about.path);
    if (sink_.positions != nullptr) sink_.positions->set(field, node.at);
    if (const Refused refused = spec.read(out, node, spec.bounds))
      sink_.report(refused->at, field, refused->text, refused->remedy);
  }

  void unknown(const Position& at, const std::string& key, const std::string& prefix) const {
    const std::vector<std::string_view> known = names_below(prefix);
    if (channel_from(key) && std::ranges::find(known, name(Channel::push)) != known.end())
      return sink_.report(at, field_ + "." + prefix + key,
                          "channel not available in this version: push, sms, email, webhook",
                          "remove it");
    sink_.report(at, field_ + "." + prefix + key, "unknown key", unknown_key_remedy(key, known));
  }

  // The names that may stand right below `prefix` ("" or "call.").
  [[nodiscard]] std::vector<std::string_view> names_below(std::string_view prefix) const {
    std::vector<std::string_view> out;
    for (const KeySpec<Section>& spec : specs_) {
      if (!applies(spec.about, kind_) || !spec.about.path.starts_with(prefix)) continue;
      const std::string_view rest = spec.about.path.substr(prefix.size());
      const std::string_view name_here = rest.substr(0, rest.find('.'));
      if (std::ranges::find(out, name_here) == out.end()) out.push_back(name_here);
    }
    return out;
  }

  [[nodiscard]] std::string inline_example(std::string_view path) const {
    const std::vector<std::string_view> known = names_below(std::string(path) + ".");
    return std::string(path) + " = { " + std::string(known.front()) + " = ... }";
  }

  std::span<const KeySpec<Section>> specs_;
  AppliesTo kind_;
  std::string field_;
  ReadSink sink_;
  std::vector<std::string_view> seen_{};
};

}  // namespace sendonce
