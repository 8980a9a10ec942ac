// The plan of a seed, told again about two gateways for SMS.
#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "tests/simulation/plan.hpp"

namespace sendonce::sim {
namespace {

using nlohmann::json;

// FNV-1a, for it must be the same everywhere.
std::string number_of(std::string_view token) {
  std::uint64_t h = 14695981039346656037ULL;
  for (const char c : token) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return "+1555" + std::to_string(3'000'000 + h % 1'000'000);
}

// A gateway has one secret, one environment and no parts.
Mood mood_of_gateway(Mood mood) {
  if (mood == Mood::credential_stale || mood == Mood::wrong_environment)
    return Mood::credential_bad;
  return mood == Mood::part_wrong ? Mood::unavailable : mood;
}

void route_message(MessagePlan& message, const Plan& plan, Random& random) {
  json body = json::parse(message.body, nullptr, false);
  if (!body.is_object()) return;
  body["channel"] = "sms";
  for (json& target : body["targets"]) {
    const bool nobody = target["provider"] == "nobody";
    target["phone"] = number_of(target["token"].get<std::string>());
    target.erase("token");
    if (nobody) continue;
    if (random.chance(0.2)) {
      target["provider"] = plan.providers[random.below(plan.providers.size())].name;
    } else {
      target.erase("provider");
      target["kind"] = "sms";
    }
  }
  message.body = body.dump();
}

}  // namespace

void make_routed(Plan& plan, Random& random) {
  plan.routed = true;
  if (plan.providers.size() == 1) plan.providers.push_back(plan.providers.front());
  for (std::size_t i = 0; i < plan.providers.size(); ++i) {
    plan.providers[i].name = i == 0 ? "one" : "two";
    plan.providers[i].kind = ProviderKind::sms;
  }
  plan.apns_reads_times = false;
  for (TokenPlan& token : plan.tokens) token.text = number_of(token.text);
  for (MessagePlan& message : plan.messages) route_message(message, plan, random);
  for (MoodPlan& mood : plan.moods) {
    mood.mood = mood_of_gateway(mood.mood);
    mood.end = std::min(mood.end, mood.begin + plan.length);
  }
}

}  // namespace sendonce::sim
