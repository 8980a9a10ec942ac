// What pulling, acking and publishing cost, with and without cnats' SendAsap in the same run.
// Prints one line a variant; CPU is this process's, publisher and test included.
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

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
      for (const Message& message : batch) static_cast<void>(rig.broker->ack(message));
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

// Blocks until the broker says that there is something to take.
class Waker {
 public:
  void wake() {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, seconds(1), [this] { return woken_; });
    woken_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
};

double median(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Sparse traffic, one message at a time: from before its publication by another client (which
// writes at once) until it is taken, and of an event of our own until it is confirmed.
void latency(Rig& rig, Waker& waker, const char* variant) {
  std::vector<double> taken_after;
  std::vector<double> confirmed_after;
  for (std::uint64_t i = 0; i < 500; ++i) {
    rig.taken.clear();
    MonoTime start = rig.clock->mono();
    rig.publish("notify.otp.x", "x");
    while (!rig.take(1)) waker.wait();
    taken_after.push_back(us(rig.clock->mono() - start));
    static_cast<void>(rig.broker->ack(rig.taken[0]));
    rig.broker->credit(kClass, 4096);
    std::vector<Confirmation> confirmed;
    start = rig.clock->mono();
    rig.broker->publish(Ticket(1'000'000 + i), {.subject = "notify.other.x", .body = "x"});
    while (confirmed.empty()) {
      waker.wait();
      rig.broker->take_confirmations(confirmed);
    }
    confirmed_after.push_back(us(rig.clock->mono() - start));
  }
  const double taken = median(taken_after);
  std::printf("%s: publish to take p50 %.0f us p99 %.0f us, event to confirmation p50 %.0f us\n",
              variant, taken, taken_after[495], median(confirmed_after));
}

void run(bool send_asap, std::uint64_t messages) {
  const char* variant = send_asap ? "SendAsap" : "flusher ";
  Rig rig;
  rig.make_stream(kStream, "notify.>", R"("retention":"limits")");
  rig.make_consumer();
  auto options = rig.broker_options();
  options.connection.send_asap = send_asap;
  options.pull = PullSettings{};
  Waker waker;
  rig.broker =
      std::make_unique<NatsBroker>(options, *rig.clock, *rig.log, [&waker] { waker.wake(); });
  rig.broker->start();
  SO_ASSERT(rig.ready());
  fill(rig, messages);
  rig.broker->credit(kClass, 4096);
  drain(rig, messages, variant);
  latency(rig, waker, variant);
  rig.broker.reset();
}

}  // namespace
}  // namespace sendonce::test

int main(int argc, char** argv) {
  const std::uint64_t messages = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
  for (int round = 0; round < 3; ++round)
    for (const bool send_asap : {false, true}) sendonce::test::run(send_asap, messages);
}
