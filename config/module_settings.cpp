#include "config/module_settings.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kSettingsMax = 100;

Refusal refusal(const TomlNode& node, std::string text, std::string remedy) {
  return {node.at, std::move(text), std::move(remedy)};
}

Refused read_setting(SettingConfig& out, const TomlNode& node) {
  if (node.type != TomlType::text)
    return refusal(node, "must be a string, is " + std::string(name(node.type)),
                   "put it into quotes: modules read texts");
  const bool secret = node.text.starts_with("cred:") || node.text.starts_with("file:");
  if (secret) return read_secret(out.secret, node);
  out.text = node.text;
  return {};
}

}  // namespace

Refused read_settings(std::vector<SettingConfig>& out, const TomlNode& node) {
  if (node.type != TomlType::table)
    return refusal(node, "must be a table of strings, is " + std::string(name(node.type)),
                   "write for example { sender = \"Shop\", token = \"cred:gate\" }");
  if (node.members.size() > kSettingsMax)
    return refusal(node, "has more than 100 members", "leave some out");
  std::vector<SettingConfig> read;
  for (const auto& [key, member] : node.members) {
    read.push_back({.name = key});
    if (Refused refused = read_setting(read.back(), member)) return refused;
  }
  out = std::move(read);
  return {};
}

std::string toml_settings(const std::vector<SettingConfig>& from) {
  std::string out;
  for (const SettingConfig& setting : from)
    out.append(out.empty() ? "" : ", ")
        .append(toml_text(setting.name))
        .append(" = ")
        .append(toml_text(setting.secret ? setting.secret->text : setting.text));
  return out.empty() ? out : "{ " + out + " }";
}

}  // namespace sendonce
