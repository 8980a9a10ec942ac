// A transport with one provider, a fault server behind it, and what came of the calls.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin/core/clock.hpp"
#include "plugin/core/log.hpp"
#include "plugin/transport/h2/h2_transport.hpp"
#include "tests/unit/transport/fault_server.hpp"
#include "tests/unit/transport/pki.hpp"

namespace sendonce::test {

using namespace std::chrono_literals;

// The machine's clocks, with a push forward: timers of hours come due without waiting.
class PushedClock final : public Clock {
 public:
  [[nodiscard]] WallTime wall() const override { return real_->wall() + pushed(); }
  [[nodiscard]] MonoTime mono() const override { return real_->mono() + pushed(); }
  void push(Duration d) { pushed_ns_ += d.count(); }

 private:
  [[nodiscard]] Duration pushed() const { return Duration(pushed_ns_.load()); }
  std::unique_ptr<Clock> real_ = make_system_clock();
  std::atomic<Duration::rep> pushed_ns_{0};
};

// Drives a transport until something is so. Every wait has a deadline, none is a sleep.
class Driver {
 public:
  Driver() : transport(std::move(H2Transport::create(clock, *log, 7)).value()) {}

  void add(H2Options options) {
    const auto added = transport->add_provider(kProvider, std::move(options));
    ASSERT_TRUE(added.has_value()) << added.error().text;
  }
  void step(Duration wait = 5ms) {
    std::vector<Completion> done;
    const auto before = clock.mono();
    transport->poll(done, wait);
    longest_step = std::max(longest_step, clock.mono() - before - wait);
    for (Completion& c : done) {
      const bool first = ended.emplace(c.ticket.get(), std::move(c.result)).second;
      EXPECT_TRUE(first) << "ticket " << c.ticket.get() << " completed twice";
    }
  }
  bool until(const std::function<bool()>& so, Duration limit = 5s) {
    const auto end = real->mono() + limit;
    while (!so()) {
      if (real->mono() > end) return false;
      step();
    }
    return true;
  }
  void for_a_while(Duration d) {
    const auto end = real->mono() + d;
    while (real->mono() < end) step();
  }
  bool connected(Duration limit = 5s) {
    transport->warm_up(kProvider);
    return until([&] { return state().room > 0; }, limit);
  }
  bool all_ended(std::size_t n, Duration limit = 5s) {
    return until([&] { return ended.size() >= n; }, limit);
  }
  [[nodiscard]] PoolState state() const { return transport->state(kProvider); }

  [[nodiscard]] static HttpRequest request(const std::string& path, std::uint64_t ticket,
                                           std::size_t body = 300) {
    HttpRequest r;
    r.path = path;
    r.headers.add("x-ticket", std::to_string(ticket));
    r.headers.add("apns-topic", "com.example");
    r.headers.add("authorization", "bearer secret", true);
    r.body.assign(body, 'b');
    return r;
  }
  bool submit(const std::string& path, std::uint64_t ticket, std::size_t body = 300,
              Duration timeout = 10s) {
    return transport->submit(Ticket(ticket), kProvider, request(path, ticket, body), timeout);
  }

  [[nodiscard]] const HttpAnswer* answer(std::uint64_t ticket) const {
    const auto it = ended.find(ticket);
    return it == ended.end() ? nullptr : std::get_if<HttpAnswer>(&it->second);
  }
  [[nodiscard]] const CallFailure* failure(std::uint64_t ticket) const {
    const auto it = ended.find(ticket);
    return it == ended.end() ? nullptr : std::get_if<CallFailure>(&it->second);
  }
  void expect_answered(std::uint64_t ticket, int status) const {
    const HttpAnswer* a = answer(ticket);
    ASSERT_NE(a, nullptr) << "ticket " << ticket << ": "
                          << (failure(ticket) != nullptr ? failure(ticket)->text : "not ended");
    EXPECT_EQ(a->status, status);
  }
  void expect_failed(std::uint64_t ticket, Effect effect, Cause cause) const {
    const CallFailure* f = failure(ticket);
    ASSERT_NE(f, nullptr) << "ticket " << ticket << " did not fail";
    EXPECT_EQ(name(f->effect), name(effect)) << "ticket " << ticket << ": " << f->text;
    EXPECT_EQ(name(f->cause), name(cause)) << "ticket " << ticket << ": " << f->text;
  }

  static constexpr ProviderIndex kProvider{0};
  PushedClock clock{};
  std::unique_ptr<Clock> real = make_system_clock();
  std::unique_ptr<Log> log = make_null_log();
  std::unique_ptr<H2Transport> transport;
  std::map<std::uint64_t, CallResult> ended{};
  Duration longest_step{};
};

class Rig : public Driver {
 public:
  explicit Rig(
      FaultOptions faults = {}, const std::function<void(H2Options&)>& tweak = [](H2Options&) {})
      : server(std::move(faults)) {
    H2Options options = to(server);
    tweak(options);
    add(std::move(options));
  }
  [[nodiscard]] static H2Options to(const FaultServer& server) {
    H2Options o;
    o.name = "test";
    o.endpoint = "https://localhost:" + std::to_string(server.port());
    o.ca_file = Pki::get().ca();
    o.acts_on_whole = false;
    return o;
  }
  // What must not happen: a claim of "not sent" for what the application was given, a request that
  // arrived twice. To be called when the test is over: closes the transport.
  void hold_against_witness() {
    transport.reset();
    const auto end = real->mono() + 5s;
    while (server.connections() > 0 && real->mono() < end) std::this_thread::yield();
    EXPECT_EQ(server.connections(), 0U);
    for (const auto& [ticket, result] : ended) {
      const Witness w = server.seen(ticket);
      EXPECT_LE(w.times, 1) << "ticket " << ticket << " arrived twice";
      const auto* f = std::get_if<CallFailure>(&result);
      if (f != nullptr && f->effect == Effect::not_sent) {
        EXPECT_FALSE(w.given_to_app) << "ticket " << ticket << " was called not sent: " << f->text;
      }
    }
  }

  FaultServer server;
};

}  // namespace sendonce::test
