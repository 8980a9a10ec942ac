#include "config/answer_tables.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "config/http_tables.hpp"
#include "plugin/core/nearest.hpp"
#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kRulesMax = 200;
constexpr std::string_view kAnswerExample = "{ status = \"2xx\", class = \"accepted\" }";
constexpr std::string_view kLookupExample = "{ status = 404, is = \"absent\" }";

Refusal refusal(const TomlNode& node, std::string text, std::string remedy) {
  return {node.at, std::move(text), std::move(remedy)};
}

Refusal no_table(const TomlNode& node, std::string_view example) {
  return refusal(node, "must be an array of tables, is " + std::string(name(node.type)),
                 "write for example [" + std::string(example) + "]");
}

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

template <class Rule>
struct RuleKey {
  std::string_view name{};
  Refused (*read)(Rule& out, const TomlNode& node) = nullptr;
};

// What every table of answers can look at.
constexpr std::array<RuleKey<AnswerMatch>, 8> kMatchKeys{{
    {"status",
     [](AnswerMatch& out, const TomlNode& node) {
       return read_several(out.status, node, read_one_status);
     }},
    {"pointer",
     [](AnswerMatch& out, const TomlNode& node) { return read_pointer(out.pointer, node); }},
    {"equals", [](AnswerMatch& out,
                  const TomlNode& node) { return read_several(out.equals, node, read_one_text); }},
    {"contains",
     [](AnswerMatch& out, const TomlNode& node) {
       return read_several(out.contains, node, read_one_text);
     }},
    {"header",
     [](AnswerMatch& out, const TomlNode& node) { return read_header_name(out.header, node); }},
    {"header_equals",
     [](AnswerMatch& out, const TomlNode& node) {
       return read_several(out.header_equals, node, read_one_text);
     }},
    {"header_contains",
     [](AnswerMatch& out, const TomlNode& node) {
       return read_several(out.header_contains, node, read_one_text);
     }},
    {"text", [](AnswerMatch& out,
                const TomlNode& node) { return read_several(out.text, node, read_one_text); }},
}};

constexpr std::array<RuleKey<AnswerRule>, 7> kRuleKeys{{
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
    {"retry_header", [](AnswerRule& out,
                        const TomlNode& node) { return read_header_name(out.retry_header, node); }},
}};

constexpr std::array kLooks{Look::found, Look::absent, Look::undecided};
constexpr std::array<RuleKey<LookupRule>, 1> kLookupRuleKeys{{
    {"is",
     [](LookupRule& out, const TomlNode& node) { return read_named_enum(out.look, node, kLooks); }},
}};

bool is_2xx(const StatusRange& range) {
  return range.first >= 200 && range.last <= 299;
}

bool by_content(const AnswerMatch& match) {
  return !match.pointer.empty() || !match.header.empty() || !match.text.empty();
}

// By what stands there, not by that something does.
bool by_value(const AnswerMatch& match) {
  return !match.equals.empty() || !match.contains.empty() || !match.header_equals.empty() ||
         !match.header_contains.empty() || !match.text.empty();
}

Refused judge_match(const AnswerMatch& match, const TomlNode& node) {
  if (match.status.empty() && !by_content(match))
    return refusal(node, "would match every answer", "name status, pointer, header or text");
  if (match.pointer.empty() && (!match.equals.empty() || !match.contains.empty()))
    return refusal(node, "equals and contains need a pointer", "add pointer = \"/...\"");
  if (match.header.empty() && (!match.header_equals.empty() || !match.header_contains.empty()))
    return refusal(node, "header_equals and header_contains need a header", "add header = \"...\"");
  return {};
}

// Lines that would claim more than an answer can say.
Refused judge_rule(const AnswerRule& rule, const TomlNode& node) {
  const bool all_2xx = !rule.status.empty() && std::ranges::all_of(rule.status, is_2xx);
  if (rule.verdict == VerdictClass::accepted && (!all_2xx || rule.effect))
    return refusal(node, "only a 2xx is accepted, and then it was sent",
                   "write status = \"2xx\" and no effect");
  if (rule.verdict == VerdictClass::ambiguous && rule.effect == Effect::not_sent)
    return refusal(node, "ambiguous means that it may have been sent", "leave out effect");
  const bool gone = rule.status.size() == 1 && rule.status[0] == StatusRange{410, 410};
  if (rule.verdict == VerdictClass::token_terminal && !by_value(rule) && !gone)
    return refusal(node, "a status alone does not end a destination, nor that a member is there",
                   "name the code that does: pointer with equals or contains, header with "
                   "header_equals or header_contains, or text");
  const bool any_2xx = rule.status.empty() || std::ranges::any_of(rule.status, [](StatusRange r) {
                         return r.first <= 299;
                       });
  if (any_2xx && !by_content(rule) && rule.verdict != VerdictClass::accepted &&
      rule.verdict != VerdictClass::ambiguous)
    return refusal(node, "a 2xx says that it was taken, unless its content says otherwise",
                   "name the content, by pointer, header or text");
  return {};
}

// The same of a lookup: a wrong `absent` sends a second copy.
Refused judge_lookup_rule(const LookupRule& rule, const TomlNode& node) {
  const bool all_2xx = !rule.status.empty() && std::ranges::all_of(rule.status, is_2xx);
  const bool none = std::ranges::all_of(rule.status, [](const StatusRange& range) {
    return range == StatusRange{404, 404} || range == StatusRange{410, 410};
  });
  switch (rule.look) {
    case Look::found:
      if (all_2xx) return {};
      return refusal(node, "only a 2xx says that it is there", "write status = \"2xx\"");
    case Look::absent:
      if (!rule.status.empty() && (none || (all_2xx && by_value(rule)))) return {};
      return refusal(node, "such an answer does not say that it is not there",
                     "write status = 404, or status = \"2xx\" with the content that says so: "
                     "pointer with equals or contains, header with header_equals, or text");
    case Look::undecided:
      break;
  }
  return {};
}

// Reads the member by the one of several lists that has its name.
template <class Rule, class Keys>
std::optional<Refused> read_member(Rule& out, const Keys& keys, const std::string& key,
                                   const TomlNode& member) {
  const auto* const known = std::ranges::find(keys, std::string_view(key), &Keys::value_type::name);
  if (known == keys.end()) return std::nullopt;
  return known->read(out, member);
}

template <class Keys>
void add_names(std::vector<std::string_view>& names, const Keys& keys) {
  for (const auto& key : keys) names.push_back(key.name);
}

template <class Rule, class Keys>
Refused read_rule(Rule& out, const TomlNode& node, const Keys& keys, std::string_view example) {
  if (node.type != TomlType::table) return no_table(node, example);
  for (const auto& [key, member] : node.members) {
    auto read = read_member(out, keys, key, member);
    if (!read) read = read_member<AnswerMatch>(out, kMatchKeys, key, member);
    if (!read) {
      std::vector<std::string_view> names;
      add_names(names, kMatchKeys);
      add_names(names, keys);
      const std::string_view close = nearest(key, names);
      return refusal(member, "\"" + key + "\" is no part of an answer",
                     close.empty() ? "known here: " + list_of(names)
                                   : "did you mean " + std::string(close) + "?");
    }
    if (*read) return *read;
  }
  return judge_match(out, node);
}

Refused read_answer_rule(AnswerRule& out, const TomlNode& node) {
  if (Refused refused = read_rule(out, node, kRuleKeys, kAnswerExample)) return refused;
  if (node.find("class") == nullptr)
    return refusal(node, "has no class", "say what such an answer means: class = \"...\"");
  return judge_rule(out, node);
}

Refused read_lookup_rule(LookupRule& out, const TomlNode& node) {
  if (Refused refused = read_rule(out, node, kLookupRuleKeys, kLookupExample)) return refused;
  if (node.find("is") == nullptr)
    return refusal(node, "does not say what such an answer means",
                   "add is = \"found\", \"absent\" or \"undecided\"");
  return judge_lookup_rule(out, node);
}

template <class Rule>
Refused read_rules(std::vector<Rule>& out, const TomlNode& node, std::string_view example,
                   Refused (*read_one)(Rule&, const TomlNode&)) {
  if (node.type != TomlType::array) return no_table(node, example);
  if (node.items.size() > kRulesMax) return refusal(node, "has more than 200 lines", "merge some");
  std::vector<Rule> read;
  for (const TomlNode& item : node.items)
    if (Refused refused = read_one(read.emplace_back(), item)) return refused;
  out = std::move(read);
  return {};
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

std::string toml_match(const AnswerMatch& rule) {
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
  return out;
}

std::string toml_rule(const AnswerRule& rule) {
  std::string out = toml_match(rule);
  add_text(out, "class", std::string(name(rule.verdict)));
  if (rule.effect) add_text(out, "effect", std::string(name(*rule.effect)));
  if (rule.scope) add_text(out, "scope", std::string(name(*rule.scope)));
  add_text(out, "reason", rule.reason);
  if (rule.retry_after > Duration{0}) add_text(out, "retry_after", duration_text(rule.retry_after));
  add_text(out, "retry_pointer", rule.retry_pointer);
  add_text(out, "retry_header", rule.retry_header);
  return "{ " + out + " }";
}

std::string toml_rule(const LookupRule& rule) {
  std::string out = toml_match(rule);
  add_text(out, "is", std::string(name(rule.look)));
  return "{ " + out + " }";
}

template <class Rule>
std::string toml_rules(const std::vector<Rule>& from) {
  std::string out;
  for (const Rule& rule : from) out.append(out.empty() ? "" : ", ").append(toml_rule(rule));
  return out.empty() ? out : "[" + out + "]";
}

}  // namespace

Refused read_answers(std::vector<AnswerRule>& out, const TomlNode& node) {
  return read_rules(out, node, kAnswerExample, read_answer_rule);
}

Refused read_lookup_answers(std::vector<LookupRule>& out, const TomlNode& node) {
  return read_rules(out, node, kLookupExample, read_lookup_rule);
}

std::string toml_answers(const std::vector<AnswerRule>& from) {
  return toml_rules(from);
}

std::string toml_lookup_answers(const std::vector<LookupRule>& from) {
  return toml_rules(from);
}

}  // namespace sendonce
