#include "tests/support/witness.hpp"

#include <functional>

#include "plugin/core/text.hpp"

namespace sendonce::test {

std::string id_of_content(Sha256& sha, std::string_view content) {
  const Sha256Digest digest = sha.of(content);
  return "sha256:" + hex({reinterpret_cast<const char*>(digest.data()), 16});
}

namespace {

std::string destination_name(ProviderKind provider, std::string_view destination) {
  std::string out(name(provider));
  return out.append(":").append(destination);
}

std::uint64_t key_of(std::string& text, std::string_view id) {
  text.append("\n").append(id);
  return std::hash<std::string>{}(text);
}

void add(Copies& copies, bool accepted) {
  ++copies.received;
  copies.accepted += accepted ? 1U : 0U;
}

void append_copies(std::string& out, const Copies& copies) {
  out += "\"received\":" + std::to_string(copies.received);
  out += ",\"accepted\":" + std::to_string(copies.accepted);
}

}  // namespace

void Witness::count(ProviderKind provider, std::string_view destination, std::string_view id,
                    bool accepted) {
  const std::lock_guard lock(mutex_);
  add(totals_.copies, accepted);
  scratch_.assign(name(provider)).append(":").append(destination);
  add(destinations_[scratch_], accepted);
  const std::uint64_t key = key_of(scratch_, id);
  auto at = keys_.find(key);
  if (at == keys_.end()) {
    if (keys_.size() >= max_keys_) {
      totals_.complete = false;
      return;
    }
    at = keys_.emplace(key, Copies{}).first;
    ++totals_.keys;
  }
  add(at->second, accepted);
  if (!accepted) return;
  if (at->second.accepted == 1) ++totals_.keys_accepted;
  if (at->second.accepted == 2) {
    ++totals_.duplicates;
    duplicates_[key] = {
        .provider = provider, .destination = std::string(destination), .id = std::string(id)};
  }
}

WitnessTotals Witness::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

Copies Witness::destination(ProviderKind provider, std::string_view destination) const {
  const std::lock_guard lock(mutex_);
  const auto at = destinations_.find(destination_name(provider, destination));
  return at == destinations_.end() ? Copies{} : at->second;
}

Copies Witness::copies(ProviderKind provider, std::string_view destination,
                       std::string_view id) const {
  std::string text = destination_name(provider, destination);
  const std::lock_guard lock(mutex_);
  const auto at = keys_.find(key_of(text, id));
  return at == keys_.end() ? Copies{} : at->second;
}

std::vector<Duplicate> Witness::duplicates() const {
  const std::lock_guard lock(mutex_);
  std::vector<Duplicate> out;
  for (const auto& [key, duplicate] : duplicates_) {
    out.push_back(duplicate);
    out.back().copies = keys_.at(key);
  }
  return out;
}

std::string Witness::stats_json(bool detail) const {
  const std::lock_guard lock(mutex_);
  std::string out = "{";
  append_copies(out, totals_.copies);
  out += ",\"keys\":" + std::to_string(totals_.keys);
  out += ",\"keys_accepted\":" + std::to_string(totals_.keys_accepted);
  out += ",\"duplicates\":" + std::to_string(totals_.duplicates);
  out += std::string(",\"complete\":") + (totals_.complete ? "true" : "false");
  if (detail) {
    out += ",\"destinations\":{";
    bool first = true;
    for (const auto& [destination, copies] : destinations_) {
      if (!std::exchange(first, false)) out += ',';
      append_json_string(out, destination);
      out += ":{";
      append_copies(out, copies);
      out += '}';
    }
    out += '}';
  }
  return out + "}\n";
}

std::string Witness::duplicates_json() const {
  std::string out = "{\"duplicates\":[";
  bool first = true;
  for (const Duplicate& d : duplicates()) {
    if (!std::exchange(first, false)) out += ',';
    out += "{\"provider\":";
    append_json_string(out, name(d.provider));
    out += ",\"destination\":";
    append_json_string(out, d.destination);
    out += ",\"id\":";
    append_json_string(out, d.id);
    out += ',';
    append_copies(out, d.copies);
    out += '}';
  }
  return out + "]}\n";
}

}  // namespace sendonce::test
