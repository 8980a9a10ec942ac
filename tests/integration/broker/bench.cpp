// What pulling, acking and publishing cost, with and without cnats' SendAsap in the same run.
// Prints one line a variant; CPU is this process's, publisher and test included.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <sys/resource.h>

#include "plugin/core/assert.hpp"
#include "tests/integration/broker/rig.hpp"
#include "tests/support/eventually.hpp"

namespace sendonce::test {
namespace {

using std::chrono::duration;
using std::chrono::seconds;

double cpu_us() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

double us(Duration d) {
  return duration<double, std::micro>(d).count();
}

void fill(Rig& rig, std::uint64_t messages) {
  std::vector<Confirmation> confirmed;
  std::uint64_t sent = 0;
  const auto step = [&] {
    rig.broker->take_confirmations(confirmed);
    while (sent < messages && sent - confirmed.size() < 2000)
      rig.broker->publish(Ticket(++sent),
                          {.subject = "notify.otp.x", .body = std::string(500, 'x')});
    return confirmed.size() >= messages;
  };
  SO_ASSERT(eventually(step, seconds(120)));
}

void drain(Rig& rig, std::uint64_t messages, const char* variant) {
  std::vector<Message> batch;
  std::uint64_t taken = 0;
  const double cpu = cpu_us();
  const MonoTime start = rig.clock->mono();
  const auto step = [&] {
    do {
      batch.clear();
      rig.broker->take(batch);
      for (const Message& message : batch) static_cast<void>(rig.broker->ack(message.reply));
      taken += batch.size();
      rig.broker->credit(kClass, 4096);
    } while (!batch.empty());
    return taken >= messages && rig.broker->counters().replies_sent >= messages;
  };
  SO_ASSERT(eventually(step, seconds(120)));
  const double wall = us(rig.clock->mono() - start);
  std::printf("%s: pull+ack %llu messages: %.0f/s, %.2f us CPU each, %llu pull requests\n", variant,
              static_cast<unsigned long long>(messages), static_cast<double>(messages) / wall * 1e6,
              (cpu_us() - cpu) / static_cast<double>(messages),
              static_cast<unsigned long long>(rig.broker->counters().pulls));
}

// Sparse traffic: one message at a time, from publish to take and to the confirmation.
void latency(Rig& rig, const char* variant) {
  std::vector<double> taken_after;
  std::vector<double> confirmed_after;
  std::vector<Confirmation> confirmed;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const MonoTime start = rig.clock->mono();
    confirmed.clear();
    rig.taken.clear();
    rig.broker->publish(Ticket(1'000'000 + i), {.subject = "notify.otp.x", .body = "x"});
    SO_ASSERT(eventually([&] {
      if (confirmed.empty()) {
        rig.broker->take_confirmations(confirmed);
        if (!confirmed.empty()) confirmed_after.push_back(us(rig.clock->mono() - start));
      }
      return !confirmed.empty() && rig.take(1);
    }));
    taken_after.push_back(us(rig.clock->mono() - start));
    static_cast<void>(rig.broker->ack(rig.taken[0].reply));
    rig.broker->credit(kClass, 4096);
  }
  std::sort(taken_after.begin(), taken_after.end());
  std::sort(confirmed_after.begin(), confirmed_after.end());
  std::printf("%s: publish to take p50 %.0f us p99 %.0f us, to confirmation p50 %.0f us\n", variant,
              taken_after[150], taken_after[297], confirmed_after[150]);
}

void run(bool send_asap, std::uint64_t messages) {
  const char* variant = send_asap ? "SendAsap" : "flusher ";
  Rig rig;
  rig.make_stream(kStream, "notify.>", R"("retention":"limits")");
  rig.make_consumer();
  auto options = rig.broker_options();
  options.connection.send_asap = send_asap;
  options.pull = PullSettings{};
  rig.start_broker(options);
  SO_ASSERT(rig.ready());
  fill(rig, messages);
  rig.broker->credit(kClass, 4096);
  drain(rig, messages, variant);
  latency(rig, variant);
}

}  // namespace
}  // namespace sendonce::test

int main(int argc, char** argv) {
  const std::uint64_t messages = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
  for (int round = 0; round < 3; ++round)
    for (const bool send_asap : {false, true}) sendonce::test::run(send_asap, messages);
}
