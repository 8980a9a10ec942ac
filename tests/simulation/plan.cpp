#include "tests/simulation/plan.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "plugin/core/text.hpp"

namespace sendonce::sim {
namespace {

using std::chrono::hours, std::chrono::milliseconds, std::chrono::minutes, std::chrono::seconds;

constexpr std::array<std::string_view, kTroubles> kTroubleNames{"crash",
                                                                "stall",
                                                                "kill",
                                                                "ghost",
                                                                "disconnect",
                                                                "consumer re-created",
                                                                "stream re-created",
                                                                "purge",
                                                                "server restart",
                                                                "wall step",
                                                                "drain",
                                                                "reload",
                                                                "ledger full",
                                                                "outcome stream missing",
                                                                "replies full",
                                                                "ledger lost"};

constexpr WallTime kPlanned{seconds(1'795'953'600)};

class Planner {
 public:
  explicit Planner(std::uint64_t seed) : random_(seed ^ 0x5EED5EED5EED5EEDULL) {}

  Plan make();

 private:
  bool chance(double p) { return random_.chance(p); }
  std::uint64_t below(std::uint64_t n) { return random_.below(n); }
  Duration between(Duration least, Duration most) { return least + random_.jitter(most - least); }

  void add_providers();
  void add_classes();
  void add_tokens();
  void add_events();
  void publish(std::size_t message_class, const std::string& body, Duration at);
  std::string targets();
  void add_moods();
  World::Place a_place();
  void add_troubles();
  void add_haunting();
  void add_slow_probes();
  void add_orphans();
  void add_crowd();
  void add_revocations();
  void add_faults();
  void add_looks();

  Random random_;
  Plan plan_{};
  bool orphans_ = false;
};

void Planner::add_providers() {
  const std::size_t count = chance(0.45) ? 2 : 1;
  for (std::size_t i = 0; i < count; ++i) {
    ProviderConfig p;
    p.name = i == 0 ? "apns" : "fcm";
    p.kind = i == 0 ? ProviderKind::apns : ProviderKind::fcm;
    p.total = between(seconds(2), seconds(10));
    if (chance(0.2)) p.rate_per_second = static_cast<double>(1 + below(30));
    p.breaker_open_after = static_cast<std::uint32_t>(3 + below(18));
    p.breaker_probe = between(seconds(1), seconds(5));
    plan_.providers.push_back(p);
  }
}

void Planner::add_classes() {
  const std::size_t count = 1 + below(3);
  for (std::size_t i = 0; i < count; ++i) {
    ClassConfig c;
    c.name = "c" + std::to_string(i);
    c.stream = "S" + std::to_string(i);
    c.subject = "notify." + c.name + ".>";
    c.priority = chance(0.3) ? Priority::high : Priority::normal;
    c.expires = chance(0.3) ? between(seconds(5), seconds(60)) : between(minutes(1), minutes(15));
    c.claim = between(seconds(15), seconds(40));
    c.retention = between(hours(2), hours(4));
    c.ack_wait = between(seconds(5), seconds(60));
    c.in_flight = static_cast<std::uint32_t>(2 + below(40));
    c.max_ack_pending = static_cast<std::uint32_t>(4 + below(100));
    c.retry = {.first = between(milliseconds(100), seconds(3)),
               .factor = 1.0 + static_cast<double>(below(20)) / 10,
               .cap = between(seconds(3), seconds(40)),
               .attempts = static_cast<std::uint32_t>(1 + below(6)),
               .horizon = between(seconds(10), minutes(15))};
    const std::uint64_t policy = below(10);
    c.ambiguous_default = policy < 4   ? AmbiguityPolicy::give_up
                          : policy < 8 ? AmbiguityPolicy::resend
                                       : AmbiguityPolicy::resend_with_key;
    c.events = chance(0.25) ? EventsMode::exceptions : EventsMode::all;
    if (chance(0.2)) c.rate_per_second = static_cast<double>(1 + below(20));
    if (chance(0.3)) c.collapse = "{template}:{recipient}";
    plan_.classes.push_back(c);
  }
}

void Planner::add_tokens() {
  const std::size_t count = 2 + below(12);
  for (std::size_t i = 0; i < count; ++i) {
    TokenPlan t;
    t.provider = below(plan_.providers.size());
    t.text = t.provider == 0 ? "" : "fcm-token-";
    constexpr std::string_view kHex = "0123456789abcdef";
    for (int d = 0; d < 16; ++d) t.text += kHex[below(16)];
    t.dead = chance(0.15);
    t.dead_for = chance(0.5) ? between(seconds(0), hours(5)) : -between(seconds(0), minutes(3));
    t.mismatch = !t.dead && chance(0.06);
    plan_.tokens.push_back(t);
  }
}

std::string Planner::targets() {
  std::string out;
  const std::size_t count = chance(0.6) ? 1 : 2 + below(3);
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) out += ',';
    if (chance(0.03)) {  // no provider takes it
      out += R"({"provider":"apns","token":"abc)" + std::to_string(below(5)) + "0\"}";
      continue;
    }
    const TokenPlan& t = plan_.tokens[below(plan_.tokens.size())];
    out += R"({"provider":")" + plan_.providers[t.provider].name + R"(","token":")" + t.text + "\"";
    if (chance(0.4)) {
      const WallTime at = kPlanned - between(seconds(0), hours(6));
      out += R"(,"registered_at":")" + rfc3339(std::chrono::floor<seconds>(at)) + "\"";
    }
    if (chance(0.3)) out += R"(,"ref":"dev-)" + std::to_string(below(9)) + "\"";
    out += '}';
  }
  return out;
}

void Planner::publish(std::size_t message_class, const std::string& body, Duration at) {
  plan_.messages.push_back({.at = at, .message_class = message_class, .body = body});
}

void Planner::add_events() {
  const std::size_t count = 1 + below(chance(0.2) ? 60 : 16);
  const Duration most = plan_.length * 2 / 3;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t c = below(plan_.classes.size());
    const std::string event = "e" + std::to_string(i);
    const std::string to = targets();
    const Duration at = chance(0.5) ? between(Duration(0), seconds(2)) : between({}, most);
    const auto body = [&](int variant) {
      const std::string marker = "<<" + event + "." + std::to_string(variant) + ">>";
      std::string text =
          R"({"event_id":")" + event + R"(","recipient":"u)" + std::to_string(i % 5) +
          R"(","channel":"push","template":"t","notification":{"title":"T","body":")" + marker +
          R"("},"targets":[)" + to + "]";
      return text;
    };
    std::string rest = "}";
    if (chance(0.15))
      rest = R"(,"expires_at":")" +
             rfc3339(std::chrono::floor<seconds>(kPlanned + at + between(seconds(3), minutes(2)))) +
             "\"}";
    publish(c, body(0) + rest, at);
    if (chance(0.05)) plan_.refused_content.push_back("<<" + event + ".0>>");
    while (chance(0.35)) publish(c, body(0) + rest, at + between(Duration(0), most / 2));
    if (chance(0.12)) publish(c, body(1) + rest, at + between(Duration(0), most / 2));
  }
  if (chance(0.3)) publish(below(plan_.classes.size()), R"({"event_id":)", between({}, most));
  if (chance(0.2))
    publish(below(plan_.classes.size()),
            R"({"event_id":"r","recipient":"u","channel":"push","template":"t","notification":)"
            R"({"body":"x"},"targets":[{"provider":"nobody","token":"aa"}]})",
            between({}, most));
}

void Planner::add_moods() {
  for (std::size_t p = 0; p < plan_.providers.size(); ++p) {
    // Of a provider as it is configured: it cannot get better under way.
    if (chance(0.05)) {
      plan_.moods.push_back({p, Duration(0), 2 * plan_.length, Mood::wrong_environment});
      continue;
    }
    while (chance(0.65)) {
      const Duration begin = between(Duration(0), plan_.length);
      auto mood = static_cast<Mood>(1 + below(kMoods - 1));
      if (mood == Mood::wrong_environment) mood = Mood::credential_bad;
      plan_.moods.push_back({p, begin, begin + between(seconds(1), seconds(90)), mood});
    }
  }
}

World::Place Planner::a_place() {
  auto port = static_cast<Port>(below(kPorts));
  if (chance(0.2)) port = chance(0.5) ? Port::nak : Port::terminate;
  return {.port = port, .edge = chance(0.5) ? Edge::before : Edge::after};
}

void Planner::add_troubles() {
  std::array<bool, kTroubles> off{};
  for (bool& o : off) o = chance(0.5);
  off[static_cast<std::size_t>(Trouble::crash)] = chance(0.2);
  constexpr std::array<Trouble, 10> kOften{
      Trouble::crash, Trouble::crash, Trouble::crash, Trouble::crash, Trouble::ghost,
      Trouble::ghost, Trouble::stall, Trouble::stall, Trouble::kill,  Trouble::recreate_stream};
  const std::size_t count = below(14);
  for (std::size_t i = 0; i < count; ++i) {
    const auto trouble =
        chance(0.5) ? kOften[below(kOften.size())] : static_cast<Trouble>(below(kTroubles));
    if (off[static_cast<std::size_t>(trouble)]) continue;
    if (trouble == Trouble::lose_ledger && !chance(0.3)) continue;
    const std::uint64_t reach = below(3);
    std::optional<World::Place> place;
    if (trouble == Trouble::crash && chance(0.6)) place = a_place();
    // Few messages are handed back or cannot be decoded: the first such reply must do.
    const bool rare = place && (place->port == Port::nak || place->port == Port::terminate);
    plan_.troubles.push_back(
        {.at = between(Duration(0), rare ? plan_.length / 3 : plan_.length),
         .trouble = trouble,
         .length = between(milliseconds(10), chance(0.3) ? minutes(2) : seconds(20)),
         .number = rare    ? 1
                   : place ? 1 + below(3)
                           : below(reach == 0   ? 20
                                   : reach == 1 ? 200
                                                : 2000) +
                                 1,
         .place = place});
  }
  if (chance(0.35)) add_haunting();
  if (chance(0.15)) add_slow_probes();
  if (chance(0.1)) add_orphans();
  if (chance(0.2)) add_crowd();
  if (plan_.providers.size() > 1 && chance(0.1)) add_revocations();
  std::ranges::sort(plan_.troubles, {}, &TroublePlan::at);
}

// A process that lost its ledger with calls under way hears their answers while its successor has
// the same deliveries under way, and that one dies before it has heard its own.
void Planner::add_haunting() {
  const Duration at = between(milliseconds(50), seconds(3));
  const Duration length = between(milliseconds(100), seconds(3));
  plan_.troubles.push_back({.at = at, .trouble = Trouble::ghost, .length = length});
  if (chance(0.7))
    plan_.troubles.push_back(
        {.at = at + length + between(Duration(0), seconds(1)), .trouble = Trouble::kill});
  plan_.network.latency = between(milliseconds(100), milliseconds(400));
  const auto decide_as = [&](AmbiguityPolicy policy) {
    for (ClassConfig& c : plan_.classes) c.ambiguous_default = policy;
  };
  // What the first call was, and how it went, is known by its claim and a late settlement alone.
  if (chance(0.3)) return decide_as(AmbiguityPolicy::resend_with_key);
  if (chance(0.5)) return;
  decide_as(AmbiguityPolicy::resend);
  plan_.moods.push_back({below(plan_.providers.size()), Duration(0),
                         at + between(Duration(0), seconds(2)), Mood::no_receipts});
}

// A provider is held, its probes wait long for their turn, and some come too late.
void Planner::add_slow_probes() {
  const std::size_t provider = below(plan_.providers.size());
  const Duration begin = between(Duration(0), seconds(5));
  plan_.moods.push_back({provider, begin, begin + between(seconds(20), seconds(60)),
                         chance(0.5) ? Mood::credential_bad : Mood::setup_wrong});
  plan_.network.queueing = between(seconds(4), seconds(10));
  for (ClassConfig& c : plan_.classes)
    if (chance(0.7)) c.expires = between(seconds(5), seconds(20));
}

// Rows that wait have lost their messages: the ledger alone ends them, and its map is full.
void Planner::add_orphans() {
  for (std::size_t p = 0; p < plan_.providers.size(); ++p)
    plan_.moods.push_back(
        {p, Duration(0), seconds(40), chance(0.5) ? Mood::unavailable : Mood::throttling});
  for (std::size_t c = 0; c < plan_.classes.size(); ++c) {
    plan_.classes[c].retry.attempts = 6;
    plan_.classes[c].expires = between(seconds(30), minutes(2));
    plan_.troubles.push_back(
        {.at = between(seconds(1), seconds(20)), .trouble = Trouble::purge, .number = c});
  }
  orphans_ = true;
}

// A provider is held until the end of the faults, and nothing that waits for it needs a call.
void Planner::add_crowd() {
  plan_.crowd = true;
  for (std::size_t p = 0; p < plan_.providers.size(); ++p) {
    plan_.providers[p].breaker_probe = seconds(5);
    plan_.moods.push_back({p, plan_.length / 3, 2 * plan_.length, Mood::credential_bad});
  }
  for (ClassConfig& c : plan_.classes) c.expires = between(seconds(5), seconds(10));
}

// FCM's token is revoked, and so is its successor some minutes later.
void Planner::add_revocations() {
  const std::size_t fcm = 1;
  plan_.length = std::max<Duration>(plan_.length, minutes(4));
  for (const Duration at : {between(seconds(1), seconds(10)), between(seconds(140), seconds(200))})
    plan_.moods.push_back({fcm, at, at + seconds(5), Mood::credential_stale});
  for (std::size_t i = 0; i < 40; ++i)
    publish(below(plan_.classes.size()), fresh_body(plan_, fcm, 1000 + i),
            between(Duration(0), plan_.length));
}

void Planner::add_faults() {
  const auto some = [&](double most) {
    return chance(0.5) ? 0.0 : static_cast<double>(below(1000)) / 1000 * most;
  };
  plan_.server = {.ack_lost = some(0.3),
                  .delivery_lost = some(0.2),
                  .delivery_doubled = some(0.2),
                  .publish_lost = some(0.2),
                  .confirmation_lost = some(0.2)};
  if (chance(0.1)) plan_.server.dead_letter_max = 100;
  if (chance(0.12)) {  // copies are owed, and then nobody has the payload any more
    plan_.server.publish_lost = 0.9;
    plan_.troubles.push_back({.at = between(plan_.length / 4, plan_.length),
                              .trouble = Trouble::purge,
                              .number = below(plan_.classes.size())});
  }
  plan_.disk = {.exhausted = some(0.05), .before_commit = some(0.02), .after_commit = some(0.03)};
  if (orphans_ || chance(0.1)) plan_.disk.exhausted = 0.4;
  if (chance(0.1)) plan_.disk = {.exhausted = 0.4, .after_commit = 0.2};
  plan_.lane.crash_before = some(0.01);
  plan_.lane.crash_after = some(0.01);
  plan_.network.noise = some(0.3);
  plan_.service_noise = some(0.1);
  if (chance(0.2)) plan_.drift = (static_cast<double>(below(200)) - 100) * 1e-5;
  if (chance(0.1)) plan_.wall_offset = between(-hours(30), hours(3));
  plan_.apns_reads_times = chance(0.5);
  if (chance(0.05)) {  // less than a token is kept for: it looks young, and is from a time to come
    plan_.wall_offset = between(minutes(5), minutes(40));
    plan_.apns_reads_times = true;
  }
}

// The last draws: the plans of other seeds stay what they were without them.
void Planner::add_looks() {
  if (!chance(0.2)) return;
  for (ClassConfig& c : plan_.classes)
    if (chance(0.8)) c.ambiguous_default = AmbiguityPolicy::lookup;
}

Plan Planner::make() {
  plan_.calm = chance(0.06);
  plan_.length = between(seconds(20), minutes(4));
  add_providers();
  add_classes();
  add_tokens();
  add_events();
  plan_.network.streams = 1 + below(12);
  plan_.network.latency = between(milliseconds(1), milliseconds(300));
  if (!plan_.calm && chance(0.3)) plan_.network.queueing = between(milliseconds(1), seconds(6));
  plan_.lane.latency = between(milliseconds(1), milliseconds(40));
  if (!plan_.calm) {
    add_moods();
    add_troubles();
    add_faults();
  } else {
    for (TokenPlan& t : plan_.tokens) t.dead = t.mismatch = false;
    for (ClassConfig& c : plan_.classes) {
      c.expires = minutes(15);
      c.in_flight = 64;
    }
    std::erase_if(plan_.messages, [](const MessagePlan& m) {
      return m.body.find("expires_at") != std::string::npos;
    });
  }
  add_looks();
  if (chance(0.2)) make_routed(plan_, random_);
  return std::move(plan_);
}

}  // namespace

std::string_view name(Trouble trouble) {
  return kTroubleNames[static_cast<std::size_t>(trouble)];
}

Plan make_plan(std::uint64_t seed) {
  return Planner(seed).make();
}

std::string fresh_body(const Plan& plan, std::size_t provider, std::uint64_t number) {
  const std::string n = std::to_string(number);
  const std::string push = provider == 0 ? "00ff" + std::to_string(1000 + number) : "fresh-" + n;
  const std::string to = plan.routed ? R"("phone":"+1555)" + std::to_string(2'000'000 + number)
                                     : R"("token":")" + push;
  return R"({"event_id":"fresh-)" + n + R"(","recipient":"u","channel":")" +
         (plan.routed ? "sms" : "push") + R"(","template":"t","notification":{"body":"<<fresh.)" +
         n + R"(>>"},"targets":[{"provider":")" + plan.providers[provider].name + R"(",)" + to +
         R"("}]})";
}

}  // namespace sendonce::sim
