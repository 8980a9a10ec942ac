#include "tests/support/script.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <unordered_map>

#include "plugin/core/random.hpp"
#include "tests/support/script_toml.hpp"

namespace sendonce::test {

struct Script::Counted {
  Rule rule{};
  Random random{0};
  std::uint64_t seen = 0;
  std::unordered_map<std::string, std::uint64_t> seen_by_token{};

  bool selects(const Subject& subject) const {
    return rule.stage == subject.stage && (!rule.provider || *rule.provider == subject.provider) &&
           (!rule.token || matches_pattern(*rule.token, subject.token)) &&
           subject.since_start >= rule.from && (!rule.until || subject.since_start < *rule.until);
  }
  bool fires(std::string_view token) {
    const std::uint64_t n = rule.per_token ? ++seen_by_token[std::string(token)] : ++seen;
    // Drawn for each request, so that the other conditions do not shift the sequence.
    const bool drawn = !rule.probability || random.chance(*rule.probability);
    const bool in_nth = rule.nth.empty() || std::ranges::find(rule.nth, n) != rule.nth.end();
    const bool in_every = rule.every == 0 || n % rule.every == 0;
    return drawn && in_nth && in_every && n >= rule.from_count &&
           (!rule.until_count || n < *rule.until_count);
  }
};

std::string_view name(ProviderKind kind) {
  switch (kind) {
    case ProviderKind::apns:
      return "apns";
    case ProviderKind::fcm:
      return "fcm";
    case ProviderKind::oauth:
      return "oauth";
    case ProviderKind::webpush:
      return "webpush";
    case ProviderKind::http:
      return "http";
    case ProviderKind::smtp:
      return "smtp";
    case ProviderKind::other:
      return "other";
  }
  return "other";
}

ProviderKind provider_named(std::string_view text) {
  using enum ProviderKind;
  for (const ProviderKind kind : {apns, fcm, oauth, webpush, http, smtp})
    if (text == name(kind)) return kind;
  return other;
}

Script::Script() = default;
Script::~Script() = default;
Script::Script(Script&&) noexcept = default;
Script& Script::operator=(Script&&) noexcept = default;

Script::Script(std::vector<Rule> rules) {
  for (Rule& rule : rules) {
    const Random random(rule.seed);
    rules_.push_back({.rule = std::move(rule), .random = random});
  }
}

Result<Script> Script::parse(const std::string& text, const std::string& file) {
  SO_TRY(std::vector<Rule> rules, parse_rules(text, file));
  return Script(std::move(rules));
}

Result<Script> Script::load(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return fail(Errc::invalid, file + ": cannot be read");
  return parse(std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()),
               file);
}

bool Script::empty() const {
  return rules_.empty();
}

const Action* Script::match(const Subject& subject) {
  for (Counted& counted : rules_) {
    if (counted.selects(subject) && counted.fires(subject.token)) return &counted.rule.action;
  }
  return nullptr;
}

bool matches_pattern(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;  // the latest * and what it has swallowed up to
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace sendonce::test
