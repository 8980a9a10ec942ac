#include "config/http_tables.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "plugin/core/ascii.hpp"
#include "plugin/core/nearest.hpp"
#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kMembersMax = 100;
constexpr std::size_t kRulesMax = 200;
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

// ---- answers -----------------------------------------------------------------------------------

std::optional<int> status_from(std::string_view text) {
  int value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || value < 200 || value > 599)
    return std::nullopt;
  return value;
}

std::optional<StatusRange> range_from(std::string_view text) {
  if (text.size() == 3 && text.ends_with("xx") && text[0] >= '2' && text[0] <= '5') {
    const int hundred = (text[0] - '0') * 100;
    return StatusRange{hundred, hundred + 99};
  }
  const std::size_t dash = text.find('-');
  const auto first = status_from(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : status_from(text.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return StatusRange{*first, *last};
}

Refused read_one_status(std::vector<StatusRange>& out, const TomlNode& node) {
  std::optional<StatusRange> range;
  if (node.type == TomlType::text) range = range_from(node.text);
  if (node.type == TomlType::integer) range = range_from(std::to_string(node.integer));
  if (!range)
    return refusal(node, "not a status", "write 404, \"5xx\", \"500-504\" or an array of them");
  out.push_back(*range);
  return {};
}

Refused read_one_text(std::vector<std::string>& out, const TomlNode& node) {
  if (node.type == TomlType::integer) {
    out.push_back(std::to_string(node.integer));
    return {};
  }
  return read_text(out.emplace_back(), node);
}

// One value or an array of them.
template <class T>
Refused read_several(std::vector<T>& out, const TomlNode& node,
                     Refused (*read_one)(std::vector<T>&, const TomlNode&)) {
  if (node.type != TomlType::array) return read_one(out, node);
  if (node.items.empty()) return refusal(node, "is empty", "give it a value or leave it out");
  for (const TomlNode& item : node.items)
    if (Refused refused = read_one(out, item)) return refused;
  return {};
}

constexpr std::array kClasses{
    VerdictClass::accepted,       VerdictClass::retryable,      VerdictClass::throttled,
    VerdictClass::token_terminal, VerdictClass::token_mismatch, VerdictClass::provider_auth,
    VerdictClass::payload_error,  VerdictClass::config_error,   VerdictClass::ambiguous};
constexpr std::array kEffects{Effect::not_sent, Effect::maybe_sent};
constexpr std::array kScopes{FaultScope::delivery, FaultScope::device, FaultScope::provider};

template <class Enums, class Enum>
Refused read_named_enum(Enum& out, const TomlNode& node, const Enums& all) {
  std::vector<std::string_view> names;
  for (const auto value : all) names.push_back(name(value));
  std::size_t position = 0;
  if (Refused refused = read_choice(position, node, names)) return refused;
  out = all.at(position);
  return {};
}

struct RuleKey {
  std::string_view name{};
  Refused (*read)(AnswerRule& out, const TomlNode& node) = nullptr;
};

constexpr std::array<RuleKey, 14> kRuleKeys{{
    {"status",
     [](AnswerRule& out, const TomlNode& node) {
       return read_several(out.status, node, read_one_status);
     }},
    {"pointer",
     [](AnswerRule& out, const TomlNode& node) { return read_pointer(out.pointer, node); }},
    {"equals", [](AnswerRule& out,
                  const TomlNode& node) { return read_several(out.equals, node, read_one_text); }},
    {"contains",
     [](AnswerRule& out, const TomlNode& node) {
       return read_several(out.contains, node, read_one_text);
     }},
    {"header",
     [](AnswerRule& out, const TomlNode& node) { return read_header_name(out.header, node); }},
    {"header_equals",
     [](AnswerRule& out, const TomlNode& node) {
       return read_several(out.header_equals, node, read_one_text);
     }},
    {"header_contains",
     [](AnswerRule& out, const TomlNode& node) {
       return read_several(out.header_contains, node, read_one_text);
     }},
    {"text", [](AnswerRule& out,
                const TomlNode& node) { return read_several(out.text, node, read_one_text); }},
    {"class", [](AnswerRule& out,
                 const TomlNode& node) { return read_named_enum(out.verdict, node, kClasses); }},
    {"effect",
     [](AnswerRule& out, const TomlNode& node) {
       return read_named_enum(out.effect.emplace(), node, kEffects);
     }},
    {"scope",
     [](AnswerRule& out, const TomlNode& node) {
       return read_named_enum(out.scope.emplace(), node, kScopes);
     }},
    {"reason", [](AnswerRule& out, const TomlNode& node) { return read_text(out.reason, node); }},
    {"retry_after",
     [](AnswerRule& out, const TomlNode& node) {
       return read_duration(out.retry_after, node,
                            {std::chrono::nanoseconds(std::chrono::seconds(1)).count(),
                             std::chrono::nanoseconds(std::chrono::hours(24 * 7)).count()});
     }},
    {"retry_pointer",
     [](AnswerRule& out, const TomlNode& node) { return read_pointer(out.retry_pointer, node); }},
}};

bool is_2xx(const StatusRange& range) {
  return range.first >= 200 && range.last <= 299;
}

// Lines that would claim more than an answer can say.
Refused judge_rule(const AnswerRule& rule, const TomlNode& node) {
  const bool by_content = !rule.pointer.empty() || !rule.header.empty() || !rule.text.empty();
  if (rule.status.empty() && !by_content)
    return refusal(node, "would match every answer", "name status, pointer, header or text");
  if (rule.pointer.empty() && (!rule.equals.empty() || !rule.contains.empty()))
    return refusal(node, "equals and contains need a pointer", "add pointer = \"/...\"");
  if (rule.header.empty() && (!rule.header_equals.empty() || !rule.header_contains.empty()))
    return refusal(node, "header_equals and header_contains need a header", "add header = \"...\"");
  const bool all_2xx = !rule.status.empty() && std::ranges::all_of(rule.status, is_2xx);
  if (rule.verdict == VerdictClass::accepted && (!all_2xx || rule.effect))
    return refusal(node, "only a 2xx is accepted, and then it was sent",
                   "write status = \"2xx\" and no effect");
  if (rule.verdict == VerdictClass::ambiguous && rule.effect == Effect::not_sent)
    return refusal(node, "ambiguous means that it may have been sent", "leave out effect");
  const bool gone = rule.status.size() == 1 && rule.status[0] == StatusRange{410, 410};
  if (rule.verdict == VerdictClass::token_terminal && !by_content && !gone)
    return refusal(node, "a status alone does not end a destination",
                   "name the code that does, by pointer, header or text");
  const bool any_2xx = rule.status.empty() || std::ranges::any_of(rule.status, [](StatusRange r) {
                         return r.first <= 299;
                       });
  if (any_2xx && !by_content && rule.verdict != VerdictClass::accepted &&
      rule.verdict != VerdictClass::ambiguous)
    return refusal(node, "a 2xx says that it was taken, unless its content says otherwise",
                   "name the content, by pointer, header or text");
  return {};
}

Refused read_rule(AnswerRule& out, const TomlNode& node) {
  if (node.type != TomlType::table)
    return not_a(node, "an array of tables", "[{ status = \"2xx\", class = \"accepted\" }]");
  for (const auto& [key, member] : node.members) {
    const auto* const known = std::ranges::find(kRuleKeys, key, &RuleKey::name);
    if (known == kRuleKeys.end()) {
      std::vector<std::string_view> names;
      for (const RuleKey& k : kRuleKeys) names.push_back(k.name);
      const std::string_view close = nearest(key, names);
      return refusal(member, "\"" + key + "\" is no part of an answer",
                     close.empty() ? "known here: " + list_of(names)
                                   : "did you mean " + std::string(close) + "?");
    }
    if (Refused refused = known->read(out, member)) return refused;
  }
  if (node.find("class") == nullptr)
    return refusal(node, "has no class", "say what such an answer means: class = \"...\"");
  return judge_rule(out, node);
}

// ---- back into TOML ----------------------------------------------------------------------------

void add(std::string& out, std::string_view key, const std::string& value) {
  out.append(out.empty() ? "" : ", ").append(key).append(" = ").append(value);
}

void add_text(std::string& out, std::string_view key, const std::string& value) {
  if (!value.empty()) add(out, key, toml_text(value));
}

void add_texts(std::string& out, std::string_view key, const std::vector<std::string>& values) {
  if (!values.empty()) add(out, key, toml_texts(values));
}

std::string toml_rule(const AnswerRule& rule) {
  std::string out;
  std::vector<std::string> status;
  for (const StatusRange& range : rule.status)
    status.push_back(std::to_string(range.first) + "-" + std::to_string(range.last));
  add_texts(out, "status", status);
  add_text(out, "pointer", rule.pointer);
  add_texts(out, "equals", rule.equals);
  add_texts(out, "contains", rule.contains);
  add_text(out, "header", rule.header);
  add_texts(out, "header_equals", rule.header_equals);
  add_texts(out, "header_contains", rule.header_contains);
  add_texts(out, "text", rule.text);
  add_text(out, "class", std::string(name(rule.verdict)));
  if (rule.effect) add_text(out, "effect", std::string(name(*rule.effect)));
  if (rule.scope) add_text(out, "scope", std::string(name(*rule.scope)));
  add_text(out, "reason", rule.reason);
  if (rule.retry_after > Duration{0}) add_text(out, "retry_after", duration_text(rule.retry_after));
  add_text(out, "retry_pointer", rule.retry_pointer);
  return "{ " + out + " }";
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

Refused read_answers(std::vector<AnswerRule>& out, const TomlNode& node) {
  if (node.type != TomlType::array)
    return not_a(node, "an array of tables", "[{ status = \"2xx\", class = \"accepted\" }]");
  if (node.items.size() > kRulesMax) return refusal(node, "has more than 200 lines", "merge some");
  std::vector<AnswerRule> read;
  for (const TomlNode& item : node.items)
    if (Refused refused = read_rule(read.emplace_back(), item)) return refused;
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

std::string toml_answers(const std::vector<AnswerRule>& from) {
  std::string out;
  for (const AnswerRule& rule : from) out.append(out.empty() ? "" : ", ").append(toml_rule(rule));
  return out.empty() ? out : "[" + out + "]";
}

}  // namespace sendonce
