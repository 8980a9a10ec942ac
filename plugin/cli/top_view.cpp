#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "plugin/cli/top.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/text.hpp"

namespace sendonce::cli {
namespace {

using Json = nlohmann::ordered_json;

// ---- reading -----------------------------------------------------------------------------------

std::uint64_t count(const Json& json, const char* member) {
  const auto at = json.find(member);
  return at != json.end() && at->is_number_unsigned() ? at->get<std::uint64_t>() : 0;
}

std::string text(const Json& json, const char* member) {
  const auto at = json.find(member);
  return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::vector<std::uint64_t> counts_in(const Json& json, const char* member) {
  std::vector<std::uint64_t> out;
  for (const Json& one : json.value(member, Json::array()))
    out.push_back(one.is_number_unsigned() ? one.get<std::uint64_t>() : 0);
  return out;
}

std::uint64_t grown(std::uint64_t before, std::uint64_t after) {
  return after >= before ? after - before : after;
}

// The one with the same name in the earlier status; an empty object: there was none.
Json same_in(const Json& list, const std::string& name) {
  for (const Json& one : list)
    if (one.is_object() && text(one, "name") == name) return one;
  return Json::object();
}

double seconds_between(const std::string& from, const std::string& to) {
  const auto begin = parse_rfc3339(from);
  const auto end = parse_rfc3339(to);
  if (!begin || !end) return 0;
  return std::max(std::chrono::duration<double>(*end - *begin).count(), 0.0);
}

double per_second(const Json& before, const Json& after, const char* member, double seconds) {
  if (seconds <= 0) return 0;
  return static_cast<double>(grown(count(before, member), count(after, member))) / seconds;
}

TopClass class_of(const Json& before, const Json& now, const std::string& time, double seconds) {
  TopClass c{.name = text(now, "name"), .reason = text(now, "reason")};
  const bool ready = now.value("ready", false);
  c.state = !text(now, "paused").empty() ? "paused" : ready ? "ready" : "not ready";
  c.in_per_s = per_second(before, now, "received", seconds);
  c.accepted_per_s = per_second(before, now, "accepted", seconds);
  c.in_flight = count(now, "held");
  const std::uint64_t unacked = count(now, "ack_pending");
  c.waiting = count(now, "pending") + (unacked > c.in_flight ? unacked - c.in_flight : 0);
  c.unknown = count(now, "unknown");
  c.failed = count(now, "failed");
  if (const std::string oldest = text(now, "oldest_held"); !oldest.empty())
    c.oldest_s = seconds_between(oldest, time);
  return c;
}

void judge(const Json& now, TopProvider& p) {
  p.state = "up";
  const Json holds = now.value("holds", Json::array());
  if (!text(now, "paused").empty()) {
    p.state = "paused";
    p.reason = text(now, "paused");
  } else if (!holds.empty()) {
    p.state = "held: " + text(holds[0], "fault");
    p.reason = text(holds[0], "reason");
    if (const std::string part = text(holds[0], "part"); !part.empty())
      p.reason = part + ": " + p.reason;
  } else if (p.connections == 0 && !text(now, "last_error").empty()) {
    p.state = "down";
    p.reason = text(now, "last_error");
  }
}

TopProvider provider_of(const Json& before, const Json& now, const std::vector<double>& bounds,
                        double seconds) {
  TopProvider p{.name = text(now, "name"),
                .connections = count(now, "connections"),
                .in_flight = count(now, "in_flight"),
                .queued = count(now, "queued")};
  judge(now, p);
  const Json verdicts = now.value("verdicts", Json::object());
  const Json verdicts_before = before.value("verdicts", Json::object());
  for (const auto& [name, value] : verdicts.items()) {
    const double rate = per_second(verdicts_before, verdicts, name.c_str(), seconds);
    if (rate > 0) p.verdicts_per_s.emplace_back(name, rate);
  }
  std::vector<std::uint64_t> calls = counts_in(now, "calls_by_duration");
  const std::vector<std::uint64_t> calls_before = counts_in(before, "calls_by_duration");
  for (std::size_t i = 0; i < calls.size() && i < calls_before.size(); ++i)
    calls[i] = grown(calls_before[i], calls[i]);
  p.p50_s = quantile_of(calls, bounds, 0.5);
  p.p99_s = quantile_of(calls, bounds, 0.99);
  return p;
}

// ---- writing -----------------------------------------------------------------------------------

std::string formatted(int decimals, double value, const char* unit) {
  std::array<char, 64> out{};
  std::snprintf(out.data(), out.size(), "%.*f%s", decimals, value, unit);
  return out.data();
}

// At most 6 characters: "12.3", "456", "7.8k".
std::string number(double value) {
  constexpr std::array kUnits{"", "k", "M", "G", "T"};
  std::size_t unit = 0;
  for (; value >= (unit == 0 ? 9999.5 : 999.5) && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return formatted(value < 99.95 && std::floor(value) != value ? 1 : 0, value, kUnits.at(unit));
}
std::string number(std::uint64_t value) {
  return number(static_cast<double>(value));
}

std::string age(std::optional<double> seconds) {
  if (!seconds) return "-";
  if (*seconds < 99.5) return formatted(0, *seconds, "s");
  if (*seconds < 99.5 * 60) return formatted(0, *seconds / 60, "m");
  if (*seconds < 48.0 * 3600) return formatted(0, *seconds / 3600, "h");
  return formatted(0, *seconds / 86400, "d");
}

std::string latency(std::optional<double> seconds) {
  if (!seconds) return "-";
  if (*seconds < 0.01) return formatted(1, *seconds * 1000, "ms");
  if (*seconds < 1) return formatted(0, *seconds * 1000, "ms");
  return formatted(1, *seconds, "s");
}

// A line that cannot be longer than the terminal is wide, whatever others have written in it.
class Page {
 public:
  explicit Page(std::size_t columns) : columns_(std::max<std::size_t>(columns, 60)) {}
  void line(std::string text) {
    for (char& c : text)
      if (c < ' ' || c > '~') c = '?';
    if (text.size() > columns_) text = text.substr(0, columns_ - 3) + "...";
    text_ += text + "\n";
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::size_t columns_;
  std::string text_{};
};

std::string left(const std::string& text, std::size_t width) {
  if (text.size() >= width) return text.substr(0, width - 1) + " ";
  return text + std::string(width - text.size(), ' ');
}
std::string right(const std::string& text, std::size_t width) {
  if (text.size() >= width) return text;
  return std::string(width - text.size(), ' ') + text;
}

constexpr std::size_t kName = 17;
constexpr std::size_t kState = 10;

void write_classes(const TopView& view, Page& page) {
  page.line(left("CLASS", kName) + left("STATE", kState) + right("IN/s", 7) + right("OK/s", 7) +
            right("WAITING", 8) + right("IN HAND", 8) + right("UNKNOWN", 8) + right("FAILED", 8) +
            right("OLDEST", 7));
  for (const TopClass& c : view.classes) {
    page.line(left(c.name, kName) + left(c.state, kState) + right(number(c.in_per_s), 7) +
              right(number(c.accepted_per_s), 7) + right(number(c.waiting), 8) +
              right(number(c.in_flight), 8) + right(number(c.unknown), 8) +
              right(number(c.failed), 8) + right(age(c.oldest_s), 7));
    if (!c.reason.empty()) page.line("  " + c.reason);
  }
}

void write_providers(const TopView& view, Page& page) {
  page.line(left("PROVIDER", kName) + left("STATE", kState + 6) + right("CONNS", 6) +
            right("CALLS", 7) + right("QUEUED", 8) + right("p50", 8) + right("p99", 8));
  for (const TopProvider& p : view.providers) {
    page.line(left(p.name, kName) + left(p.state, kState + 6) + right(number(p.connections), 6) +
              right(number(p.in_flight), 7) + right(number(p.queued), 8) +
              right(latency(p.p50_s), 8) + right(latency(p.p99_s), 8));
    if (!p.reason.empty()) page.line("  " + p.reason);
    std::string mix;
    for (const auto& [name, rate] : p.verdicts_per_s)
      mix += (mix.empty() ? "  " : ", ") + (name + " " + number(rate) + "/s");
    if (!mix.empty()) page.line(mix);
  }
}

Json optional(std::optional<double> value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

std::optional<double> quantile_of(const std::vector<std::uint64_t>& counts,
                                  const std::vector<double>& bounds, double quantile) {
  std::uint64_t all = 0;
  for (const std::uint64_t n : counts) all += n;
  if (all == 0 || bounds.empty()) return std::nullopt;
  const double wanted = quantile * static_cast<double>(all);
  double below = 0;
  for (std::size_t i = 0; i < counts.size() && i < bounds.size(); ++i) {
    const auto here = static_cast<double>(counts[i]);
    if (below + here >= wanted && here > 0) {
      const double from = i == 0 ? 0 : bounds[i - 1];
      return from + (bounds[i] - from) * (wanted - below) / here;
    }
    below += here;
  }
  return bounds.back();  // longer than the longest that is told apart
}

Result<TopView> top_view(std::string_view before, std::string_view after) {
  const Json then = Json::parse(before, nullptr, false);
  const Json now = Json::parse(after, nullptr, false);
  if (!then.is_object() || !now.is_object() || !now.contains("classes") ||
      !now.contains("providers") || !now.contains("ledger"))
    return fail(Errc::corrupt, "the daemon's answer is no status of a running instance");
  TopView view{.instance = text(now, "instance"),
               .state = text(now, "state"),
               .reason = text(now, "reason"),
               .time = text(now, "time")};
  view.seconds = seconds_between(text(then, "time"), view.time);
  const Json& ledger = now["ledger"];
  const std::uint64_t map = count(ledger, "map_bytes");
  if (map > 0)
    view.map_used = static_cast<double>(count(ledger, "used_bytes")) / static_cast<double>(map);
  view.rows = count(ledger, "rows");
  view.open_rows = count(ledger, "open_rows");
  view.outbox = count(ledger, "outbox_entries");
  std::vector<double> bounds;
  for (const Json& bound : now.value("duration_bounds", Json::array()))
    if (bound.is_number()) bounds.push_back(bound.get<double>());
  for (const Json& c : now["classes"])
    view.classes.push_back(class_of(same_in(then.value("classes", Json::array()), text(c, "name")),
                                    c, view.time, view.seconds));
  for (const Json& p : now["providers"])
    view.providers.push_back(provider_of(
        same_in(then.value("providers", Json::array()), text(p, "name")), p, bounds, view.seconds));
  return view;
}

std::string top_text(const TopView& view, std::size_t columns) {
  Page page(columns);
  std::string head = view.instance + ": " + view.state;
  if (view.reason != view.state && !view.reason.empty()) head += " (" + view.reason + ")";
  page.line(head);
  page.line(view.time.substr(0, 19) + "  over " + formatted(1, view.seconds, "s") + "  ledger " +
            formatted(1, view.map_used * 100, "%") + " full, " + number(view.rows) + " rows, " +
            number(view.open_rows) + " open, outbox " + number(view.outbox));
  page.line("");
  write_classes(view, page);
  page.line("");
  write_providers(view, page);
  return page.text();
}

std::string top_json(const TopView& view) {
  Json out{{"time", view.time},        {"seconds", view.seconds},     {"instance", view.instance},
           {"state", view.state},      {"reason", view.reason},       {"map_used", view.map_used},
           {"rows", view.rows},        {"open_rows", view.open_rows}, {"outbox", view.outbox},
           {"classes", Json::array()}, {"providers", Json::array()}};
  for (const TopClass& c : view.classes)
    out["classes"].push_back({{"name", c.name},
                              {"state", c.state},
                              {"reason", c.reason},
                              {"in_per_s", c.in_per_s},
                              {"accepted_per_s", c.accepted_per_s},
                              {"waiting", c.waiting},
                              {"in_flight", c.in_flight},
                              {"unknown", c.unknown},
                              {"failed", c.failed},
                              {"oldest_s", optional(c.oldest_s)}});
  for (const TopProvider& p : view.providers) {
    Json verdicts = Json::object();
    for (const auto& [name, rate] : p.verdicts_per_s) verdicts[name] = rate;
    out["providers"].push_back({{"name", p.name},
                                {"state", p.state},
                                {"reason", p.reason},
                                {"connections", p.connections},
                                {"in_flight", p.in_flight},
                                {"queued", p.queued},
                                {"verdicts_per_s", std::move(verdicts)},
                                {"p50_s", optional(p.p50_s)},
                                {"p99_s", optional(p.p99_s)}});
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sendonce::cli
