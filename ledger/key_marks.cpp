#include "ledger/key_marks.hpp"

#include <string_view>

#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

constexpr std::string_view kOnPurpose =
    "; or accept it with `sendonce setup --accept-keys`: messages stored before then whose key is "
    "unknown count as maybe sent";

bool names(const ScopeKeys& wanted, std::string_view recipe) {
  return recipe == wanted.recipe || recipe == wanted.previous;
}

// "1:event_id,channel" as the operator writes it: ["event_id", "channel"].
std::string as_array(std::string_view recipe) {
  std::string out = "[\"";
  for (const char c : recipe.substr(recipe.find(':') + 1)) {
    if (c == ',') {
      out.append("\", \"");
    } else {
      out.push_back(c);
    }
  }
  return out + "\"]";
}

std::string refusal(const ScopeKeys& wanted, std::string_view made_by) {
  std::string now = wanted.recipe;
  if (!wanted.previous.empty()) now += " (before: " + wanted.previous + ")";
  return "ledger: keys of the scope " + wanted.scope + " were made by the recipe " +
         std::string(made_by) + ", the configuration makes them by " + now +
         ": what was sent would be sent again. Name the old one, key_previous = " +
         as_array(made_by);
}

}  // namespace

std::optional<std::string> judge_keys(const ScopeKeys& wanted, const StoredKeys& stored,
                                      WallTime memory_now) {
  if (stored.recipe.empty()) return std::nullopt;
  if (!names(wanted, stored.recipe)) return refusal(wanted, stored.recipe).append(kOnPurpose);
  const WallTime until = stored.replaced + wanted.keep;
  if (stored.before.empty() || names(wanted, stored.before) || memory_now >= until)
    return std::nullopt;
  return refusal(wanted, stored.before)
      .append(", until " + rfc3339(until) + " and one change at a time")
      .append(kOnPurpose);
}

StoredKeys next_keys(const ScopeKeys& wanted, const StoredKeys& stored, WallTime now) {
  if (stored.recipe == wanted.recipe) return stored;
  // Of an older ledger nobody knows when the recipe was changed: `previous` counts from now on.
  const std::string& before = stored.recipe.empty() ? wanted.previous : stored.recipe;
  return {.recipe = wanted.recipe, .before = before, .replaced = now};
}

std::optional<std::string> judge_app(const AppKeys& wanted, const std::string& stored) {
  if (stored.empty() || stored == wanted.app) return std::nullopt;
  return "ledger: keys of provider " + wanted.provider + " were made for the app " + stored +
         ", its options and credential are for " + wanted.app +
         ": what was sent would be sent again. Put the old ones back, give the new app a provider "
         "of its own" +
         std::string(kOnPurpose);
}

}  // namespace sendonce
