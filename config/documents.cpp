#include "config/documents.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "config/table_reader.hpp"

namespace sendonce {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::array<std::string_view, 9> kTopLevel{"config_version", "instance", "nats",
                                                    "ledger",         "metrics",  "devices",
                                                    "provider",       "class",    "defaults"};

void report(Findings& findings, const Position& at, std::string field, std::string text,
            std::string remedy) {
  findings.push_back({Severity::error, at, std::move(field), std::move(text), std::move(remedy)});
}

void report_twice(Findings& findings, const Position& first, const Position& second,
                  std::string field) {
  report(findings, second, std::move(field), "given twice, first at " + to_text(first),
         "keep one of the two");
}

bool is_table(const TomlNode& node, const std::string& field, Findings& findings) {
  if (node.type == TomlType::table) return true;
  report(findings, node.at, field, "must be a table, is " + std::string(name(node.type)),
         "write [" + field + "]");
  return false;
}

void judge_version(const TomlNode& root, bool main, Findings& findings) {
  const TomlNode* version = root.find("config_version");
  if (version == nullptr) {
    if (main)
      report(findings, root.at, "config_version", "missing",
             "write config_version = 1 as the first line");
    return;
  }
  if (version->type != TomlType::integer || version->integer != kVersion)
    report(findings, version->at, "config_version", "this version reads config_version 1 only",
           "write config_version = 1 and follow the changelog's upgrade notes");
}

void place(const TomlNode*& slot, const TomlNode& node, const std::string& field,
           Findings& findings) {
  if (!is_table(node, field, findings)) return;
  if (slot != nullptr) return report_twice(findings, slot->at, node.at, field);
  slot = &node;
}

using NamedTables = std::vector<std::pair<std::string, const TomlNode*>>;

void place_named(NamedTables& out, const TomlNode& parent, const std::string& kind,
                 Findings& findings) {
  if (!is_table(parent, kind, findings)) return;
  for (const auto& [name, node] : parent.members) {
    const std::string field = kind + "." + name;
    if (!is_table(node, field, findings)) continue;
    const auto same = std::ranges::find(out, name, &NamedTables::value_type::first);
    if (same != out.end())
      report_twice(findings, same->second->at, node.at, field);
    else
      out.emplace_back(name, &node);
  }
}

// conf.d/*.toml beside the main file, by name. No directory: no files.
std::vector<std::string> drop_ins(const std::string& main_path, Findings& findings) {
  const std::filesystem::path directory = std::filesystem::path(main_path).parent_path() / "conf.d";
  std::vector<std::string> out;
  std::error_code error;
  if (!std::filesystem::exists(directory, error) && !error) return out;
  std::filesystem::directory_iterator entry(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    if (file.ends_with(".toml") && !file.starts_with('.')) out.push_back(entry->path().string());
  }
  if (error)
    report(findings, {directory.string(), 0, 0}, "", "cannot be listed: " + error.message(),
           "make it a directory that this user may read");
  std::ranges::sort(out);
  return out;
}

}  // namespace

void Documents::add_file(const std::string& path, bool main, Findings& findings) {
  auto root = parse_toml_file(path);
  if (root)
    add(*std::move(root), main, findings);
  else
    findings.push_back(std::move(root).error());
}

void Documents::add_text(std::string_view text, const std::string& file, bool main,
                         Findings& findings) {
  auto root = parse_toml(text, file);
  if (root)
    add(*std::move(root), main, findings);
  else
    findings.push_back(std::move(root).error());
}

Documents Documents::from_files(const std::string& main_path, Findings& findings) {
  Documents out;
  out.add_file(main_path, true, findings);
  for (const std::string& path : drop_ins(main_path, findings)) out.add_file(path, false, findings);
  return out;
}

Documents Documents::from_fragment(const std::string& path, Findings& findings) {
  Documents out;
  out.add_file(path, false, findings);
  return out;
}

Documents Documents::from_text(std::string_view text, const std::string& file, Findings& findings) {
  Documents out;
  out.add_text(text, file, true, findings);
  return out;
}

Documents Documents::from_fragment_text(std::string_view text, const std::string& file,
                                        Findings& findings) {
  Documents out;
  out.add_text(text, file, false, findings);
  return out;
}

void Documents::add(TomlNode root, bool main, Findings& findings) {
  roots_.push_back(std::move(root));
  const TomlNode& kept = roots_.back();
  judge_version(kept, main, findings);
  for (const auto& [name, node] : kept.members) sort_in(name, node, findings);
}

void Documents::sort_in(const std::string& name, const TomlNode& node, Findings& findings) {
  if (name == "config_version") return;
  if (name == "instance") return place(tables_.instance, node, name, findings);
  if (name == "nats") return place(tables_.nats, node, name, findings);
  if (name == "ledger") return place(tables_.ledger, node, name, findings);
  if (name == "metrics") return place(tables_.metrics, node, name, findings);
  if (name == "devices") return place(tables_.devices, node, name, findings);
  if (name == "provider") return place_named(tables_.providers, node, name, findings);
  if (name == "class") return place_named(tables_.classes, node, name, findings);
  if (name == "defaults") return sort_in_defaults(node, findings);
  report(findings, node.at, name, "unknown key", unknown_key_remedy(name, kTopLevel));
}

void Documents::sort_in_defaults(const TomlNode& defaults, Findings& findings) {
  if (!is_table(defaults, "defaults", findings)) return;
  constexpr std::array<std::string_view, 1> kKnown{"class"};
  for (const auto& [name, node] : defaults.members) {
    const std::string field = "defaults." + name;
    if (name == "class")
      place(tables_.class_defaults, node, field, findings);
    else
      report(findings, node.at, field, "unknown key", unknown_key_remedy(name, kKnown));
  }
}

}  // namespace sendonce
