#include "tests/truth/plan.hpp"

#include <algorithm>

#include "plugin/core/random.hpp"

namespace sendonce::truth {
namespace {

constexpr std::uint32_t kStops = 1;
constexpr std::uint32_t kNatsKills = 2;
constexpr std::uint32_t kDisksFull = 1;
constexpr std::uint32_t kClockSteps = 1;
// Of these points there are passes before the first message, or far too many.
constexpr std::uint32_t kPassesMax = 8;

constexpr const char* kClassRest = R"(expires   = "30m"
claim     = "10s"
ack_wait  = "12s"
retention = "2d"
retry     = { first = "50ms", factor = 2.0, cap = "500ms", attempts = 40, horizon = "20m" }
)";

constexpr const char* kDoomed = R"(
[[rule]]
provider = "apns"
token = "dead*"
status = 400
reason = "BadCollapseId"

[[rule]]
provider = "fcm"
token = "dead*"
status = 400
reason = "INVALID_ARGUMENT"
)";

constexpr const char* kResets = R"(
[[rule]]
provider = "apns"
probability = 0.02
seed = 21
reset = "INTERNAL_ERROR"
processed = true

[[rule]]
provider = "fcm"
probability = 0.02
seed = 22
reset = "INTERNAL_ERROR"
processed = false

[[rule]]
probability = 0.02
seed = 23
reset = "REFUSED_STREAM"
processed = false

[[rule]]
every = 611
close = "rst"
processed = true
)";

constexpr const char* kGoaway = R"(
[[rule]]
every = 397
goaway = { last = "below", code = "NO_ERROR", reason = "Shutdown" }

[[rule]]
every = 883
goaway = { last = "below", code = "NO_ERROR", reason = "Shutdown", close = true }
)";

constexpr const char* kStalls = R"(
[[rule]]
probability = 0.003
seed = 31
stall = "stream"
processed = true

[[rule]]
probability = 0.003
seed = 32
stall = "stream"
processed = false
)";

constexpr const char* k5xx = R"(
[[rule]]
provider = "apns"
probability = 0.02
seed = 41
status = 500
reason = "InternalServerError"
processed = true

[[rule]]
provider = "apns"
probability = 0.02
seed = 42
status = 503
reason = "ServiceUnavailable"

[[rule]]
provider = "fcm"
probability = 0.02
seed = 43
status = 500
reason = "INTERNAL"
processed = true
)";

constexpr const char* k429 = R"(
[[rule]]
provider = "apns"
probability = 0.02
seed = 51
status = 429
reason = "TooManyRequests"
headers = { retry-after = "2" }
)";

template <class T>
void shuffle(std::vector<T>& items, Random& random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

}  // namespace

bool Options::has(Fault fault) const {
  return std::ranges::find(faults, fault) != faults.end();
}

Result<std::vector<Fault>> parse_faults(std::string_view list) {
  std::vector<Fault> faults;
  for (std::size_t i = 0; list == "all" && i < kFaults.size(); ++i)
    faults.push_back(static_cast<Fault>(i));
  while (faults.empty() || list != "all") {
    const std::size_t comma = list.find(',');
    const auto* const it = std::ranges::find(kFaults, list.substr(0, comma));
    if (it == kFaults.end()) {
      std::string names;
      for (const std::string_view known : kFaults) names.append(" ").append(known);
      return fail(Errc::invalid, "no fault \"" + std::string(list.substr(0, comma)) +
                                     "\"; there are:" + names + ", and all");
    }
    faults.push_back(static_cast<Fault>(it - kFaults.begin()));
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return faults;
}

std::vector<Step> make_plan(const Options& options) {
  Random random(options.seed);
  std::vector<Step> steps;
  const auto add = [&](Fault fault, std::uint32_t times) {
    if (options.has(fault)) steps.insert(steps.end(), times, Step{.fault = fault});
  };
  add(Fault::kill, options.kills);
  add(Fault::stop, kStops);
  add(Fault::nats, kNatsKills);
  add(Fault::disk_full, kDisksFull);
  add(Fault::clock, kClockSteps);
  if (options.has(Fault::crash_points)) {
    for (std::size_t i = 0; i < kCrashPoints.size(); ++i)
      steps.push_back({.fault = Fault::crash_points,
                       .point = static_cast<CrashPoint>(i),
                       .passes = static_cast<std::uint32_t>(1 + random.below(kPassesMax))});
  }
  shuffle(steps, random);
  const auto size = static_cast<std::uint32_t>(steps.size());
  for (std::uint32_t i = 0; i < size; ++i) {
    Step& s = steps[i];
    s.messages = options.messages / size + (i < options.messages % size ? 1 : 0);
    s.requests = static_cast<std::uint32_t>(random.below(s.messages + 1));
  }
  return steps;
}

std::string classes_of(const Options& options) {
  // Appended, not added: gcc 12 sees overruns in the sum that are none.
  std::string out;
  if (options.policy != "give-up")
    out.append("\n[class.otp]\nsubject   = \"notify.otp.>\"\npriority  = \"high\"\n")
        .append(kClassRest)
        .append("ambiguous = { default = \"resend\" }\n");
  if (options.policy != "resend")
    out.append("\n[class.marketing]\nsubject   = \"notify.campaign.>\"\n")
        .append(kClassRest)
        .append("ambiguous = { default = \"give-up\" }\n");
  return out;
}

std::string script_of(const Options& options) {
  std::string out = kDoomed;
  if (options.has(Fault::goaway)) out += kGoaway;
  if (options.has(Fault::resets)) out += kResets;
  if (options.has(Fault::stalls)) out += kStalls;
  if (options.has(Fault::status_5xx)) out += k5xx;
  if (options.has(Fault::status_429)) out += k429;
  return out;
}

}  // namespace sendonce::truth
