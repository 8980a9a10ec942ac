#include "plugin/cli/doctor/report.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace sendonce::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFindings = 2;  // as check-config --strict
constexpr std::size_t kHealthWidth = 8;

std::string_view colour(Health health) {
  switch (health) {
    case Health::green:
      return "\033[32m";
    case Health::yellow:
      return "\033[33m";
    case Health::red:
      return "\033[31m";
  }
  return {};
}

std::string title(const Check& c) {
  return c.object.empty() ? c.check : c.check + " " + c.object;
}

std::string padded(std::string_view text, std::size_t width) {
  std::string out(text);
  out.append(text.size() < width ? width - text.size() : 1, ' ');
  return out;
}

}  // namespace

std::string_view name(Health health) {
  switch (health) {
    case Health::green:
      return "green";
    case Health::yellow:
      return "yellow";
    case Health::red:
      return "red";
  }
  return {};
}

void Report::green(std::string check, std::string object, std::string text) {
  checks_.push_back({.check = std::move(check),
                     .object = std::move(object),
                     .health = Health::green,
                     .text = std::move(text)});
}

void Report::yellow(std::string check, std::string object, std::string text, Repair repair) {
  checks_.push_back({.check = std::move(check),
                     .object = std::move(object),
                     .health = Health::yellow,
                     .text = std::move(text),
                     .repair = std::move(repair)});
}

void Report::red(std::string check, std::string object, std::string text, Repair repair, int code) {
  checks_.push_back({.check = std::move(check),
                     .object = std::move(object),
                     .health = Health::red,
                     .text = std::move(text),
                     .repair = std::move(repair),
                     .code = code});
}

std::size_t Report::count(Health health) const {
  return static_cast<std::size_t>(std::ranges::count(checks_, health, &Check::health));
}

int Report::exit_code(bool strict) const {
  const auto first = std::ranges::find(checks_, Health::red, &Check::health);
  if (first != checks_.end()) return first->code;
  return strict && count(Health::yellow) > 0 ? kFindings : 0;
}

std::string Report::text(bool colours) const {
  std::size_t width = 0;
  for (const Check& c : checks_) width = std::max(width, title(c).size() + 2);
  std::string out;
  for (const Check& c : checks_) {
    const std::string head = padded(name(c.health), kHealthWidth);
    if (colours) out += colour(c.health);
    out += head;
    if (colours) out += "\033[0m";
    out += padded(title(c), width) + c.text + "\n";
    for (std::size_t i = 0; i < c.repair.size(); ++i) {
      out.append(kHealthWidth, ' ');
      out.append(i == 0 ? "repair: " : "        ").append(c.repair[i]).append("\n");
    }
  }
  out += "\n" + std::to_string(count(Health::green)) + " green, " +
         std::to_string(count(Health::yellow)) + " yellow, " + std::to_string(count(Health::red)) +
         " red\n";
  return out;
}

std::string Report::json() const {
  Json out{{"healthy", count(Health::red) == 0},
           {"green", count(Health::green)},
           {"yellow", count(Health::yellow)},
           {"red", count(Health::red)},
           {"checks", Json::array()}};
  for (const Check& c : checks_)
    out["checks"].push_back({{"check", c.check},
                             {"object", c.object},
                             {"health", name(c.health)},
                             {"text", c.text},
                             {"repair", c.repair}});
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sendonce::cli
