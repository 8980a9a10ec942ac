// What one seed is about: the configuration, the messages and the troubles of a run. Each seed
// switches some kinds of trouble off altogether, so that the others get to places they would not
// reach together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/schema.hpp"
#include "plugin/core/random.hpp"
#include "tests/simulation/lane.hpp"
#include "tests/simulation/network.hpp"
#include "tests/simulation/server.hpp"
#include "tests/simulation/service.hpp"

namespace sendonce::sim {

struct TokenPlan {
  std::size_t provider = 0;  // 0: apns, 1: fcm; of a number: all
  std::string text{};
  bool dead = false;
  Duration dead_for{};  // before the run began; negative: dies during it
  bool mismatch = false;
};

struct MessagePlan {
  Duration at{};
  std::size_t message_class = 0;
  std::string body{};
};

struct MoodPlan {
  std::size_t provider = 0;
  Duration begin{};
  Duration end{};
  Mood mood = Mood::well;
};

enum class Trouble : std::uint8_t {
  crash,  // at some port call that follows
  stall,  // the same, but it only stands still
  kill,   // between two port calls
  ghost,  // stands still, is replaced, and wakes up
  disconnect,
  recreate_consumer,
  recreate_stream,
  purge,
  server_restart,
  wall_step,
  drain,
  reload,
  ledger_full,
  outcome_stream_missing,
  replies_full,
  lose_ledger,
};
inline constexpr std::size_t kTroubles = 16;
[[nodiscard]] std::string_view name(Trouble trouble);

struct TroublePlan {
  Duration at{};
  Trouble trouble = Trouble::crash;
  Duration length{};
  std::uint64_t number = 0;  // port calls until it happens, or which class
  std::optional<World::Place> place{};
};

struct DiskFaults {
  double exhausted = 0;  // of one commit
  double before_commit = 0;
  double after_commit = 0;
};

struct Plan {
  bool calm = false;
  Duration length{};  // of the part with troubles
  std::vector<ClassConfig> classes{};
  std::vector<ProviderConfig> providers{};
  std::vector<TokenPlan> tokens{};
  std::vector<MessagePlan> messages{};
  std::vector<std::string> refused_content{};
  std::vector<MoodPlan> moods{};
  std::vector<TroublePlan> troubles{};
  ServerFaults server{};
  DiskFaults disk{};
  LaneOptions lane{};
  NetworkOptions network{};
  double service_noise = 0;
  bool apns_reads_times = false;
  bool routed = false;  // to one of two gateways for SMS, in the order of the route
  bool crowd = false;  // what is known already is published again, many times, before what is fresh
  double drift = 0;
  Duration wall_offset{};
  std::size_t rows_max = 0;
  std::string what{};  // for the story
};

[[nodiscard]] Plan make_plan(std::uint64_t seed);
// The same with two gateways for SMS instead of APNs and FCM, and numbers instead of tokens.
void make_routed(Plan& plan, Random& random);
// A message whose every target is well: for after the troubles.
[[nodiscard]] std::string fresh_body(const Plan& plan, std::size_t provider, std::uint64_t number);

}  // namespace sendonce::sim
