#include "config/http_tables.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "plugin/core/ascii.hpp"
#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kMembersMax = 100;
constexpr std::size_t kHeaderNameMax = 128;
constexpr std::array<std::string_view, 4> kChannels{"sms", "email", "webhook", "push"};

Refusal refusal(const TomlNode& node, std::string text, std::string remedy) {
  return {node.at, std::move(text), std::move(remedy)};
}

Refusal not_a(const TomlNode& node, std::string_view wanted, std::string_view example) {
  return refusal(node, "must be " + std::string(wanted) + ", is " + std::string(name(node.type)),
                 "write for example " + std::string(example));
}

Refused refused_name(const TomlNode& node, std::string_view header) {
  if (!is_token(header) || header.size() > kHeaderNameMax)
    return refusal(node, "not the name of a header", "write for example \"x-request-id\"");
  constexpr std::array<std::string_view, 7> kOurs{
      "connection", "content-length", "expect", "host", "keep-alive", "te", "transfer-encoding"};
  if (std::ranges::find(kOurs, lower_ascii(header)) != kOurs.end())
    return refusal(node, "a header that belongs to the connection", "leave it out");
  return {};
}

// Of a header whose value stands in the file.
Refused refused_plain_name(const TomlNode& node, std::string_view header) {
  constexpr std::array<std::string_view, 3> kCredentials{"authorization", "cookie",
                                                         "proxy-authorization"};
  if (std::ranges::find(kCredentials, lower_ascii(header)) != kCredentials.end())
    return refusal(node, "a header that carries a credential, which does not belong into this file",
                   "use auth, which names a file for it");
  return refused_name(node, header);
}

// It would be sent as it stands.
Refused refused_reference(const TomlNode& node) {
  if (!node.text.starts_with("cred:") && !node.text.starts_with("file:/")) return {};
  return refusal(node, "looks like a reference to a secret, and only auth.secret reads secrets",
                 "write for example auth = { type = \"header\", header = \"X-Api-Key\", secret = "
                 "\"cred:NAME\" }");
}

template <class ReadName>
Refused read_named(NamedTemplates& out, const TomlNode& node, ReadName read_name) {
  if (node.type != TomlType::table) return not_a(node, "a table of strings", "{ name = \"text\" }");
  if (node.members.size() > kMembersMax)
    return refusal(node, "has more than 100 members", "leave some out");
  NamedTemplates read;
  for (const auto& [key, member] : node.members) {
    NamedTemplate& entry = read.emplace_back();
    if (Refused refused = read_name(entry.name, key, member)) return refused;
    if (Refused refused = read_template(entry.value, member, TemplateUse::text)) return refused;
    if (Refused refused = refused_reference(member)) return refused;
  }
  out = std::move(read);
  return {};
}

Refused read_json_node(JsonTemplate& out, const TomlNode& node);

Refused read_json_object(JsonTemplate& out, const TomlNode& node) {
  out.type = JsonTemplate::Type::object;
  for (const auto& [key, member] : node.members) {
    out.names.push_back(key);
    if (Refused refused = read_json_node(out.children.emplace_back(), member)) return refused;
  }
  return {};
}

Refused read_json_node(JsonTemplate& out, const TomlNode& node) {
  switch (node.type) {
    case TomlType::table:
      return read_json_object(out, node);
    case TomlType::array:
      out.type = JsonTemplate::Type::array;
      for (const TomlNode& item : node.items)
        if (Refused refused = read_json_node(out.children.emplace_back(), item)) return refused;
      return {};
    case TomlType::text:
      out.type = JsonTemplate::Type::text;
      return read_template(out.text, node, TemplateUse::json);
    case TomlType::boolean:
      out.literal = node.boolean ? "true" : "false";
      break;
    case TomlType::integer:
      out.literal = std::to_string(node.integer);
      break;
    case TomlType::number: {
      if (!std::isfinite(node.number)) return refusal(node, "not a number of JSON", "leave it out");
      std::array<char, 32> text{};
      const auto end = std::to_chars(text.data(), text.data() + text.size(), node.number);
      out.literal.assign(text.data(), end.ptr);
      break;
    }
    case TomlType::date_time:
      return not_a(node, "text, a number, true or false, an array or a table", "\"{title}\"");
  }
  out.type = JsonTemplate::Type::literal;
  return {};
}

// ---- back into TOML ----------------------------------------------------------------------------

void add(std::string& out, std::string_view key, const std::string& value) {
  out.append(out.empty() ? "" : ", ").append(key).append(" = ").append(value);
}

}  // namespace

Refused read_template(TextTemplate& out, const TomlNode& node, TemplateUse use) {
  if (node.type != TomlType::text) return not_a(node, "a string", "\"{title}\"");
  auto parsed = TextTemplate::parse(node.text, use);
  if (!parsed) return refusal(node, parsed.error().text, "docs/providers.md lists the values");
  out = std::move(*parsed);
  return {};
}

Refused read_templates(NamedTemplates& out, const TomlNode& node) {
  return read_named(out, node,
                    [](std::string& into, const std::string& key, const TomlNode&) -> Refused {
                      into = key;
                      return {};
                    });
}

Refused read_header_templates(NamedTemplates& out, const TomlNode& node) {
  return read_named(out, node,
                    [](std::string& into, const std::string& key, const TomlNode& at) -> Refused {
                      if (Refused refused = refused_plain_name(at, key)) return refused;
                      into = lower_ascii(key);
                      return {};
                    });
}

Refused read_json_template(std::optional<JsonTemplate>& out, const TomlNode& node) {
  if (node.type != TomlType::table) return not_a(node, "a table", "{ to = \"{phone}\" }");
  JsonTemplate read;
  if (Refused refused = read_json_object(read, node)) return refused;
  out = std::move(read);
  return {};
}

Refused read_pointer(std::string& out, const TomlNode& node) {
  if (Refused refused = read_text(out, node)) return refused;
  if (!out.starts_with('/'))
    return refusal(node, "not a JSON pointer", "begin it with /, for example \"/data/id\"");
  return {};
}

Refused read_header_name(std::string& out, const TomlNode& node) {
  if (Refused refused = read_text(out, node)) return refused;
  if (Refused refused = refused_name(node, out)) return refused;
  out = lower_ascii(out);
  return {};
}

Refused read_channel(Channel& out, const TomlNode& node) {
  std::size_t position = 0;
  if (Refused refused = read_choice(position, node, kChannels)) return refused;
  out = *channel_from(kChannels.at(position));
  return {};
}

std::string toml_templates(const NamedTemplates& from) {
  std::string out;
  for (const NamedTemplate& entry : from)
    add(out, toml_text(entry.name), toml_text(entry.value.source()));
  return out.empty() ? out : "{ " + out + " }";
}

std::string toml_json(const JsonTemplate& from) {
  if (from.type == JsonTemplate::Type::text) return toml_text(from.text.source());
  if (from.type == JsonTemplate::Type::literal) return from.literal;
  std::string out;
  const bool object = from.type == JsonTemplate::Type::object;
  for (std::size_t i = 0; i < from.children.size(); ++i) {
    if (object)
      add(out, toml_text(from.names[i]), toml_json(from.children[i]));
    else
      out.append(out.empty() ? "" : ", ").append(toml_json(from.children[i]));
  }
  return object ? "{ " + out + " }" : "[" + out + "]";
}

}  // namespace sendonce
