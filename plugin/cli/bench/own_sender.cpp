#include "plugin/cli/bench/own_sender.hpp"

#include <memory>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "plugin/cli/bench/measure.hpp"
#include "plugin/core/log.hpp"
#include "plugin/transport/h2/h2_transport.hpp"

namespace sendonce::cli {
namespace {

constexpr ProviderIndex kProvider{0};
constexpr auto kCall = std::chrono::seconds(30);

struct Counted {
  std::uint64_t connections = 0;
  std::uint64_t resets = 0;
};

// What the provider has counted so far, asked over a connection of the sender's own.
Result<Counted> counted(H2Transport& transport, const Clock& clock) {
  HttpRequest question;
  question.method = "GET";
  question.path = "/__stats";
  transport.warm_up(kProvider);
  std::vector<Completion> done;
  const MonoTime until = clock.mono() + kCall;
  bool asked = false;
  while (done.empty() && clock.mono() < until) {
    if (!asked && transport.state(kProvider).room > 0)
      asked = transport.submit(Ticket(0), kProvider, HttpRequest(question), kCall);
    transport.poll(done, std::chrono::milliseconds(100));
  }
  const auto* answer = done.empty() ? nullptr : std::get_if<HttpAnswer>(&done.front().result);
  const auto j = nlohmann::json::parse(answer == nullptr ? "" : answer->body, nullptr, false);
  if (!j.is_object() || !j.contains("resets_received"))
    return fail(Errc::unavailable, "the provider does not say what it counted");
  return Counted{.connections = j["connections"], .resets = j["resets_received"]};
}

Result<OwnRun> drive(H2Transport& transport, const H2load& load, const Clock& clock,
                     std::uint64_t requests) {
  OwnRun run;
  std::vector<Completion> done;
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  const Duration machine = cpu_of_machine();
  const Duration cpu = cpu_of_this_process();
  const MonoTime start = clock.mono();
  while (answered < requests) {
    for (std::size_t room = transport.state(kProvider).room; room > 0 && sent < requests; --room) {
      if (!transport.submit(Ticket(sent), kProvider, load.request(sent), kCall)) break;
      ++sent;
    }
    transport.poll(done, std::chrono::milliseconds(100));
    for (const Completion& c : done) {
      const auto* answer = std::get_if<HttpAnswer>(&c.result);
      if (answer == nullptr || answer->status != 200) ++run.failed;
    }
    answered += done.size();
    done.clear();
    if (clock.mono() - start > std::chrono::minutes(5))
      return fail(Errc::unavailable, "no progress within 5 minutes");
  }
  const auto seconds = std::chrono::duration<double>(clock.mono() - start).count();
  const Duration used = cpu_of_this_process() - cpu;
  const auto n = static_cast<double>(requests);
  run.requests_per_second = n / seconds;
  run.cpu_us = std::chrono::duration<double, std::micro>(used).count() / n;
  run.foreign_cpu =
      std::chrono::duration<double>(cpu_of_machine() - machine - used).count() / seconds;
  return run;
}

}  // namespace

Result<OwnRun> run_own_sender(const H2load& load, const Clock& clock, std::uint64_t requests,
                              std::uint32_t connections, std::uint32_t streams) {
  const auto log = make_null_log();
  SO_TRY(auto transport, H2Transport::create(clock, *log, 1));
  SO_CHECK(transport->add_provider(kProvider, {.name = "apns",
                                               .endpoint = load.place().endpoint,
                                               .ca_file = load.place().path("ca.pem"),
                                               .connections = connections,
                                               .streams = streams,
                                               .queue = 0,
                                               .one_stream_first = true}));
  SO_TRY(const Counted before, counted(*transport, clock));
  SO_TRY(OwnRun run, drive(*transport, load, clock, requests));
  SO_TRY(const Counted after, counted(*transport, clock));
  run.connections = 1 + after.connections - before.connections;
  run.resets = after.resets - before.resets;
  return run;
}

}  // namespace sendonce::cli
