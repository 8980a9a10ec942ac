#include "tests/support/script_toml.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>

#include <toml.hpp>

#include "plugin/core/ascii.hpp"
#include "plugin/core/utf8.hpp"

namespace sendonce::test {
namespace {

// toml11 3.7 and 4.4 differ in how they tell a place.
#if defined(TOML11_VERSION_MAJOR) && TOML11_VERSION_MAJOR >= 4
std::size_t line_of(const toml::value& v) {
  return v.location().first_line_number();
}
std::size_t line_of(const toml::syntax_error& e) {
  if (e.errors().empty() || e.errors().front().locations().empty()) return 0;
  return e.errors().front().locations().front().first.first_line_number();
}
#else
std::size_t line_of(const toml::value& v) {
  return v.location().line();
}
std::size_t line_of(const toml::syntax_error& e) {
  return e.location().line();
}
#endif

struct NamedNumber {
  std::string_view name{};
  std::uint32_t number = 0;
};

constexpr std::array kErrorCodes = {  // RFC 9113 7
    NamedNumber{"NO_ERROR", 0},
    NamedNumber{"PROTOCOL_ERROR", 1},
    NamedNumber{"INTERNAL_ERROR", 2},
    NamedNumber{"FLOW_CONTROL_ERROR", 3},
    NamedNumber{"SETTINGS_TIMEOUT", 4},
    NamedNumber{"STREAM_CLOSED", 5},
    NamedNumber{"FRAME_SIZE_ERROR", 6},
    NamedNumber{"REFUSED_STREAM", 7},
    NamedNumber{"CANCEL", 8},
    NamedNumber{"COMPRESSION_ERROR", 9},
    NamedNumber{"CONNECT_ERROR", 10},
    NamedNumber{"ENHANCE_YOUR_CALM", 11},
    NamedNumber{"INADEQUATE_SECURITY", 12},
    NamedNumber{"HTTP_1_1_REQUIRED", 13}};

constexpr std::array kSettings = {  // RFC 9113 6.5.2
    NamedNumber{"header_table_size", 1}, NamedNumber{"max_concurrent_streams", 3},
    NamedNumber{"initial_window_size", 4}, NamedNumber{"max_frame_size", 5},
    NamedNumber{"max_header_list_size", 6}};

constexpr std::array kDurationUnits = {
    std::pair<std::string_view, Duration>{"ms", std::chrono::milliseconds(1)},
    std::pair<std::string_view, Duration>{"s", std::chrono::seconds(1)},
    std::pair<std::string_view, Duration>{"m", std::chrono::minutes(1)},
    std::pair<std::string_view, Duration>{"h", std::chrono::hours(1)}};

constexpr std::array<std::string_view, 25> kKeys = {
    "provider", "token",   "nth",    "every",    "per_token", "probability",   "seed",
    "from",     "until",   "at",     "status",   "reason",    "invalid_since", "headers",
    "body",     "interim", "delay",  "stall",    "close",     "reset",         "goaway",
    "settings", "cut",     "cut_at", "processed"};

// One table of the script, read key by key. The first error is kept.
class Reader {
 public:
  Reader(const toml::value& table, const std::string& file) : table_(table), file_(file) {}

  // Null when absent.
  const toml::value* value(const char* key) const {
    return table_.contains(key) ? &toml::find(table_, key) : nullptr;
  }
  bool has(const char* key) const { return table_.contains(key); }
  void complain(const toml::value& at, const std::string& text) {
    if (error_.empty()) error_ = file_ + ":" + std::to_string(line_of(at)) + ": " + text;
  }
  void complain(const std::string& text) { complain(table_, text); }
  [[nodiscard]] const std::string& error() const { return error_; }

  std::optional<std::string> text(const char* key) {
    const toml::value* v = value(key);
    if (v == nullptr) return std::nullopt;
    if (v->is_string()) return toml::get<std::string>(*v);
    complain(*v, std::string(key) + " must be a string");
    return std::nullopt;
  }
  std::optional<std::uint64_t> number(const char* key, std::uint64_t least, std::uint64_t most) {
    const toml::value* v = value(key);
    if (v == nullptr) return std::nullopt;
    return number_of(*v, key, least, most);
  }
  std::optional<std::uint64_t> number_of(const toml::value& v, const char* key, std::uint64_t least,
                                         std::uint64_t most) {
    const std::int64_t n = v.is_integer() ? toml::get<std::int64_t>(v) : -1;
    if (n >= 0 && static_cast<std::uint64_t>(n) >= least && static_cast<std::uint64_t>(n) <= most) {
      return static_cast<std::uint64_t>(n);
    }
    complain(v, std::string(key) + " must be a whole number from " + std::to_string(least) +
                    " to " + std::to_string(most));
    return std::nullopt;
  }
  std::optional<bool> flag(const char* key) {
    const toml::value* v = value(key);
    if (v == nullptr) return std::nullopt;
    if (v->is_boolean()) return toml::get<bool>(*v);
    complain(*v, std::string(key) + " must be true or false");
    return std::nullopt;
  }
  std::optional<Duration> duration(const char* key) {
    const toml::value* v = value(key);
    if (v == nullptr) return std::nullopt;
    const std::string t = v->is_string() ? toml::get<std::string>(*v) : std::string();
    std::int64_t n = 0;
    const auto [end, parse_error] = std::from_chars(t.data(), t.data() + t.size(), n);
    const std::string_view unit(end, static_cast<std::size_t>(t.data() + t.size() - end));
    for (const auto& [name, size] : kDurationUnits) {
      if (parse_error == std::errc{} && n >= 0 && unit == name) return size * n;
    }
    complain(*v, std::string(key) + " must be a duration such as \"200ms\", \"5s\", \"1m\"");
    return std::nullopt;
  }
  // One of the names; its position.
  std::optional<std::size_t> choice(const char* key,
                                    std::initializer_list<std::string_view> names) {
    const std::optional<std::string> t = text(key);
    if (!t) return std::nullopt;
    const auto at = std::ranges::find(names, *t);
    if (at != names.end()) return static_cast<std::size_t>(at - names.begin());
    std::string list;
    for (const std::string_view n : names) list.append(list.empty() ? "" : ", ").append(n);
    complain(*value(key), std::string(key) + " must be one of " + list);
    return std::nullopt;
  }
  // An HTTP/2 error code, by name or number.
  std::optional<std::uint32_t> error_code(const char* key) {
    const toml::value* v = value(key);
    if (v == nullptr) return std::nullopt;
    if (v->is_integer()) {
      const auto n = number_of(*v, key, 0, 0xffffffffU);
      return n ? std::optional(static_cast<std::uint32_t>(*n)) : std::nullopt;
    }
    const std::string t = v->is_string() ? toml::get<std::string>(*v) : std::string();
    const auto at = std::ranges::find(kErrorCodes, t, &NamedNumber::name);
    if (at != kErrorCodes.end()) return at->number;
    complain(*v, std::string(key) + " must be an HTTP/2 error code such as \"REFUSED_STREAM\"");
    return std::nullopt;
  }
  const toml::value* table(const char* key) {
    const toml::value* v = value(key);
    if (v != nullptr && !v->is_table()) complain(*v, std::string(key) + " must be a table");
    return v != nullptr && v->is_table() ? v : nullptr;
  }
  template <class Names>
  void only(const Names& known) {
    for (const auto& [key, v] : table_.as_table()) {
      if (std::ranges::find(known, std::string_view(key)) == std::ranges::end(known)) {
        complain(v, "unknown key '" + key + "'");
      }
    }
  }

 private:
  const toml::value& table_;
  const std::string& file_;
  std::string error_{};
};

void read_nth(Reader& in, Rule& rule) {
  const toml::value* v = in.value("nth");
  if (v == nullptr) return;
  constexpr std::uint64_t kMost = 1'000'000'000'000;
  if (!v->is_array()) {
    if (const auto n = in.number("nth", 1, kMost)) rule.nth.push_back(*n);
    return;
  }
  for (const toml::value& element : v->as_array()) {
    if (const auto n = in.number_of(element, "nth", 1, kMost)) rule.nth.push_back(*n);
  }
}

// `from` and `until` are a duration or a count.
void read_window(Reader& in, Rule& rule) {
  constexpr std::uint64_t kMost = 1'000'000'000'000;
  const toml::value* from = in.value("from");
  const toml::value* until = in.value("until");
  if (from != nullptr && from->is_integer()) {
    rule.from_count = in.number("from", 0, kMost).value_or(0);
  } else {
    rule.from = in.duration("from").value_or(Duration::zero());
  }
  if (until != nullptr && until->is_integer()) {
    rule.until_count = in.number("until", 0, kMost);
  } else {
    rule.until = in.duration("until");
  }
}

void read_selection(Reader& in, Rule& rule) {
  if (const auto kind =
          in.choice("provider", {"apns", "fcm", "oauth", "webpush", "http", "smtp"})) {
    rule.provider = static_cast<ProviderKind>(*kind);
  }
  rule.token = in.text("token");
  read_nth(in, rule);
  rule.every = in.number("every", 1, 1'000'000'000).value_or(0);
  rule.per_token = in.flag("per_token").value_or(false);
  rule.seed = in.number("seed", 0, INT64_MAX).value_or(1);
  if (const toml::value* p = in.value("probability")) {
    const double chance = p->is_floating()  ? toml::get<double>(*p)
                          : p->is_integer() ? static_cast<double>(toml::get<std::int64_t>(*p))
                                            : -1.0;
    if (chance < 0 || chance > 1) in.complain(*p, "probability must be from 0 to 1");
    rule.probability = chance;
  }
  read_window(in, rule);
  if (in.choice("at", {"headers", "request"}) == 0U) rule.stage = Stage::headers;
  if (rule.stage == Stage::headers && rule.token && rule.provider == ProviderKind::fcm) {
    in.complain(*in.value("token"), "FCM's token is in the body: not known at = \"headers\"");
  }
}

void read_answer(Reader& in, Action& action) {
  action.status = static_cast<int>(in.number("status", 200, 599).value_or(0));
  action.reason = in.text("reason").value_or("");
  action.body = in.text("body");
  action.invalid_since = in.duration("invalid_since").value_or(Duration::zero());
  const toml::value* headers = in.table("headers");
  if (headers == nullptr) return;
  for (const auto& [key, v] : headers->as_table()) {
    if (!v.is_string()) {
      in.complain(v, "header " + key + " must be a string");
      continue;
    }
    action.headers.emplace_back(lower_ascii(key), toml::get<std::string>(v));
  }
}

void read_goaway(Reader& in, Play& play, const std::string& file) {
  const toml::value* table = in.table("goaway");
  if (table == nullptr) return;
  Reader inner(*table, file);
  inner.only(std::array<std::string_view, 4>{"last", "code", "reason", "close"});
  GoAway out{};
  switch (inner.choice("last", {"below", "this", "all"}).value_or(1)) {
    case 0:
      out.last = LastStream::below;
      break;
    case 2:
      out.last = LastStream::all;
      break;
    default:
      break;
  }
  out.code = inner.error_code("code").value_or(0);
  if (const auto reason = inner.text("reason")) out.debug = R"({"reason":")" + *reason + "\"}";
  out.close = inner.flag("close").value_or(false);
  play.goaway = out;
  if (!inner.error().empty())
    in.complain(*table, inner.error().substr(inner.error().find(": ") + 2));
}

void read_settings(Reader& in, Play& play) {
  const toml::value* table = in.table("settings");
  if (table == nullptr) return;
  for (const auto& [key, v] : table->as_table()) {
    const auto at = std::ranges::find(kSettings, std::string_view(key), &NamedNumber::name);
    if (at == kSettings.end()) {
      in.complain(v, "unknown setting '" + key + "'");
    } else if (const auto n = in.number_of(v, key.c_str(), 0, 0xffffffffU)) {
      play.settings.push_back(
          {.id = static_cast<std::uint16_t>(at->number), .value = static_cast<std::uint32_t>(*n)});
    }
  }
}

void read_ending(Reader& in, Play& play) {
  play.delay = in.duration("delay").value_or(Duration::zero());
  play.interim = static_cast<int>(in.number("interim", 100, 199).value_or(0));
  play.code = in.error_code("reset");
  play.cut_at = in.number("cut_at", 0, 1'000'000).value_or(0);
  const auto stall = in.choice("stall", {"stream", "connection"});
  const auto close = in.choice("close", {"fin", "rst"});
  const auto cut = in.choice("cut", {"headers", "body"});
  const int endings =
      (stall ? 1 : 0) + (close ? 1 : 0) + (cut ? 1 : 0) + (play.code && cut != 1U ? 1 : 0);
  if (endings > 1) in.complain("only one of stall, close, reset and cut can end a request");
  if (play.code) play.ending = Ending::reset;
  if (stall) play.ending = *stall == 0 ? Ending::stall : Ending::deaf;
  if (close) play.ending = *close == 0 ? Ending::close : Ending::abort;
  if (cut) play.ending = *cut == 0 ? Ending::cut_headers : Ending::cut_body;
}

bool shows_an_answer(Ending ending) {
  return ending == Ending::answer || ending == Ending::cut_headers || ending == Ending::cut_body;
}

void read_processed(Reader& in, Rule& rule) {
  Action& action = rule.action;
  const Play& play = action.play;
  const bool refused = play.goaway && play.goaway->last == LastStream::below;
  const auto said = in.flag("processed");
  if (rule.stage == Stage::headers || refused) {
    action.processed = false;
    if (said == true) in.complain("a request that was refused or not read cannot be processed");
    if (rule.stage == Stage::headers && play.ending == Ending::answer && action.status == 0) {
      in.complain("at = \"headers\" needs a status, or another end of the request");
    }
    return;
  }
  if (!said && !shows_an_answer(play.ending)) {
    in.complain("say whether it was processed: processed = true or false");
  }
  action.processed = said.value_or(action.status < 300 && action.reason.empty());
}

// A mail server has neither what is of HTTP alone, nor words where it says nothing.
void check_smtp(Reader& in, const Rule& rule) {
  if (rule.provider != ProviderKind::smtp) return;
  for (const char* key : {"invalid_since", "headers", "body", "interim", "reset", "goaway",
                          "settings", "cut", "cut_at"})
    if (in.has(key))
      in.complain(*in.value(key), std::string(key) + " means nothing to a mail server");
  if (rule.action.status == 0 && in.has("reason"))
    in.complain(*in.value("reason"), "a mail server gives a reason with a status only");
  if (in.has("status") && rule.action.play.ending != Ending::answer)
    in.complain(*in.value("status"), "a mail server that ends the dialogue or stalls says nothing");
}

Result<Rule> read_rule(const toml::value& table, const std::string& file) {
  if (!table.is_table()) return fail(Errc::invalid, file + ": rule must be a table: [[rule]]");
  Reader in(table, file);
  in.only(kKeys);
  Rule rule{};
  read_selection(in, rule);
  read_answer(in, rule.action);
  read_ending(in, rule.action.play);
  read_goaway(in, rule.action.play, file);
  read_settings(in, rule.action.play);
  read_processed(in, rule);
  check_smtp(in, rule);
  if (!in.error().empty()) return fail(Errc::invalid, in.error());
  return rule;
}

Result<std::vector<Rule>> read_script(const toml::value& root, const std::string& file) {
  Reader in(root, file);
  in.only(std::array<std::string_view, 1>{"rule"});
  if (!in.error().empty()) return fail(Errc::invalid, in.error());
  std::vector<Rule> rules;
  const toml::value* list = in.value("rule");
  if (list == nullptr) return rules;
  if (!list->is_array()) return fail(Errc::invalid, file + ": write rules as [[rule]]");
  for (const toml::value& table : list->as_array()) {
    SO_TRY(Rule rule, read_rule(table, file));
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace

Result<std::vector<Rule>> parse_rules(const std::string& text, const std::string& file) {
  // Before toml11 sees it: 3.7.1 reads past its buffer on a literal string that is not UTF-8.
  if (const std::size_t bad = find_invalid_utf8(text); bad != std::string_view::npos) {
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(bad), '\n');
    return fail(Errc::invalid, file + ":" + std::to_string(line) + ": not UTF-8");
  }
  std::istringstream in(text);
  try {
    return read_script(toml::parse(in, file), file);
  } catch (const toml::syntax_error& e) {
    return fail(Errc::invalid, file + ":" + std::to_string(line_of(e)) + ": not TOML: " + e.what());
  } catch (const std::exception& e) {
    return fail(Errc::invalid, file + ": " + e.what());
  }
}

}  // namespace sendonce::test
