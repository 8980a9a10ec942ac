// The life of connections: how many, how long, and what follows a failure.
#include "tests/support/temp_dir.hpp"
#include "tests/unit/transport/rig.hpp"

namespace sendonce::test {
namespace {

TEST(H2Pool, opens_nothing_unasked_and_one_connection_when_warmed) {
  Rig rig;
  rig.for_a_while(20ms);
  EXPECT_EQ(rig.server.totals().accepted, 0);
  EXPECT_EQ(rig.state().room, 0U);
  ASSERT_TRUE(rig.connected());
  EXPECT_EQ(rig.state().room, 100U);
  EXPECT_EQ(rig.state().connections, 1U);
  rig.transport->warm_up(Driver::kProvider);
  rig.for_a_while(20ms);
  EXPECT_EQ(rig.server.totals().accepted, 1);
}

TEST(H2Pool, takes_requests_before_there_is_a_connection) {
  Rig rig;
  ASSERT_TRUE(rig.submit("/ok", 1));
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_answered(1, 200);
}

TEST(H2Pool, grows_when_all_are_full_and_no_further_than_allowed) {
  Rig rig({.max_streams = 2}, [](H2Options& o) { o.connections = 3; });
  ASSERT_TRUE(rig.connected());
  for (std::uint64_t t = 1; t <= 2; ++t) ASSERT_TRUE(rig.submit("/silent", t));
  rig.for_a_while(30ms);
  EXPECT_EQ(rig.server.totals().accepted, 1);
  for (std::uint64_t t = 3; t <= 9; ++t) ASSERT_TRUE(rig.submit("/silent", t));
  ASSERT_TRUE(rig.until([&] { return rig.server.seen().size() == 6; }));
  rig.for_a_while(50ms);
  EXPECT_EQ(rig.server.totals().accepted, 3);
  EXPECT_EQ(rig.server.seen().size(), 6U);
  EXPECT_EQ(rig.state().open, 9U);
  rig.server.answer_all("200");
  ASSERT_TRUE(rig.until([&] { return rig.server.seen().size() == 9; }));
  rig.server.answer_all("200");
  ASSERT_TRUE(rig.all_ended(9));
  rig.hold_against_witness();
}

TEST(H2Pool, our_own_stream_limit_counts_too) {
  Rig rig({}, [](H2Options& o) { o.streams = 3; });
  ASSERT_TRUE(rig.connected());
  for (std::uint64_t t = 1; t <= 9; ++t) ASSERT_TRUE(rig.submit("/silent", t));
  rig.for_a_while(50ms);
  EXPECT_EQ(rig.server.seen().size(), 3U);
}

TEST(H2Pool, one_stream_until_the_first_answer_that_takes_the_credential) {
  Rig rig({}, [](H2Options& o) {
    o.one_stream_first = true;
    o.connections = 4;
  });
  ASSERT_TRUE(rig.connected());
  EXPECT_EQ(rig.state().room, 1U);
  ASSERT_TRUE(rig.submit("/status/403", 1));
  ASSERT_TRUE(rig.submit("/status/429", 2));
  for (std::uint64_t t = 3; t <= 12; ++t) ASSERT_TRUE(rig.submit("/silent", t));
  ASSERT_TRUE(rig.until([&] { return rig.server.seen(12).end_stream; }));
  rig.expect_answered(1, 403);
  rig.expect_answered(2, 429);
  EXPECT_EQ(rig.server.totals().accepted, 1);  // a limit about to rise is no reason to grow
  EXPECT_EQ(rig.server.totals().most_streams, 10U);
  rig.hold_against_witness();
}

TEST(H2Pool, only_stream_is_alone_on_its_connection) {
  Rig rig;
  ASSERT_TRUE(rig.connected());
  ASSERT_TRUE(rig.submit("/silent", 1));
  HttpRequest alone = Driver::request("/silent", 2);
  alone.only_stream = true;
  ASSERT_TRUE(rig.transport->submit(Ticket(2), Driver::kProvider, std::move(alone), 5s));
  ASSERT_TRUE(rig.submit("/silent", 3));
  ASSERT_TRUE(rig.until([&] { return rig.server.seen(1).end_stream; }));
  rig.for_a_while(20ms);
  EXPECT_FALSE(rig.server.seen(2).headers);
  rig.server.answer_all("200");
  ASSERT_TRUE(rig.until([&] { return rig.server.seen(2).end_stream; }));
  EXPECT_EQ(rig.state().room, 0U);
  rig.for_a_while(20ms);
  EXPECT_FALSE(rig.server.seen(3).headers);
  rig.server.answer_all("200");
  ASSERT_TRUE(rig.until([&] { return rig.server.seen(3).end_stream; }));
  EXPECT_EQ(rig.server.totals().most_streams, 1U);
}

TEST(H2Pool, renew_replaces_connections_and_lets_calls_end) {
  Rig rig;
  ASSERT_TRUE(rig.connected());
  ASSERT_TRUE(rig.submit("/silent", 1));
  ASSERT_TRUE(rig.until([&] { return rig.server.seen(1).end_stream; }));
  rig.transport->renew(Driver::kProvider);
  ASSERT_TRUE(rig.submit("/ok", 2));
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_answered(2, 200);
  EXPECT_EQ(rig.server.totals().accepted, 2);
  EXPECT_EQ(rig.server.connections(), 2U);
  rig.server.answer_all("200");
  ASSERT_TRUE(rig.all_ended(2));
  rig.expect_answered(1, 200);
  ASSERT_TRUE(rig.until([&] { return rig.server.connections() == 1; }));
  EXPECT_EQ(rig.server.totals().goaways, 1);  // we took our leave
}

TEST(H2Pool, retires_by_age_after_its_successor_is_ready) {
  Rig rig({}, [](H2Options& o) {
    o.max_age = 1h;
    o.ping_idle = 100h;
  });
  ASSERT_TRUE(rig.connected());
  rig.clock.push(50min);
  rig.for_a_while(20ms);
  EXPECT_EQ(rig.server.totals().accepted, 1);
  ASSERT_TRUE(rig.submit("/silent", 1));
  ASSERT_TRUE(rig.until([&] { return rig.server.seen(1).end_stream; }));
  rig.clock.push(11min);  // the call's own deadline is not meant here
  ASSERT_TRUE(rig.until([&] { return rig.state().connects == 2; }));
  EXPECT_GT(rig.state().room, 0U);
  ASSERT_TRUE(rig.until([&] { return rig.server.connections() == 1; }));
  EXPECT_EQ(rig.server.totals().goaways, 1);
}

// A route would go past a provider that is away: one that closes what nobody uses is not.
TEST(H2Pool, a_connection_that_has_served_may_be_closed_by_its_peer) {
  Rig rig({}, [](H2Options& o) { o.ping_idle = 100h; });
  ASSERT_TRUE(rig.connected());
  ASSERT_TRUE(rig.submit("/ok", 1));
  ASSERT_TRUE(rig.all_ended(1));
  rig.clock.push(1min);
  rig.server.close();
  ASSERT_TRUE(rig.until([&] { return rig.state().connections == 0; }));
  EXPECT_FALSE(rig.state().last_cause);
  EXPECT_FALSE(rig.state().retry_at);
  rig.for_a_while(20ms);
  EXPECT_EQ(rig.server.totals().accepted, 1) << "nor is another made unasked";
  ASSERT_TRUE(rig.submit("/ok", 2));
  ASSERT_TRUE(rig.all_ended(2));
  rig.expect_answered(2, 200);
}

TEST(H2Pool, pings_when_idle_and_stays_when_answered) {
  Rig rig({}, [](H2Options& o) { o.ping_idle = 1h; });
  ASSERT_TRUE(rig.connected());
  rig.clock.push(59min);
  rig.for_a_while(20ms);
  EXPECT_EQ(rig.server.totals().pings, 0);
  rig.clock.push(61min);  // counted from the last byte, which may have come after the first push
  ASSERT_TRUE(rig.until([&] { return rig.server.totals().pings == 1; }));
  rig.for_a_while(20ms);
  rig.clock.push(30s);  // over the ping's own timeout, but it was answered
  rig.for_a_while(20ms);
  EXPECT_EQ(rig.state().connections, 1U);
}

TEST(H2Pool, leaves_a_peer_that_does_not_answer_ping) {
  Rig rig({}, [](H2Options& o) {
    o.ping_idle = 1h;
    o.ping_timeout = 10s;
  });
  ASSERT_TRUE(rig.connected());
  ASSERT_TRUE(rig.submit("/silent", 1, 300, 100h));
  ASSERT_TRUE(rig.until([&] { return rig.server.seen(1).end_stream; }));
  rig.server.stop_answering_pings();
  rig.clock.push(2h);
  ASSERT_TRUE(rig.until([&] { return rig.server.totals().pings == 1; }));
  EXPECT_TRUE(rig.ended.empty());
  rig.clock.push(11s);
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_failed(1, Effect::maybe_sent, Cause::connection_lost);
  rig.hold_against_witness();
}

TEST(H2Pool, asks_by_ping_after_a_call_that_nobody_answered) {
  Rig rig({}, [](H2Options& o) { o.ping_timeout = 100ms; });
  ASSERT_TRUE(rig.connected());
  rig.server.stop_answering_pings();
  rig.for_a_while(20ms);
  ASSERT_TRUE(rig.submit("/silent", 1, 300, 50ms));
  ASSERT_TRUE(rig.submit("/silent", 2, 300, 60s));
  ASSERT_TRUE(rig.all_ended(2));
  rig.expect_failed(1, Effect::maybe_sent, Cause::timed_out);
  rig.expect_failed(2, Effect::maybe_sent, Cause::connection_lost);
  rig.hold_against_witness();
}

TEST(H2Backoff, grows_is_bounded_and_ends_with_a_single_probe) {
  Rig rig({.close_after_tls = true}, [](H2Options& o) {
    o.backoff_min = 1s;
    o.backoff_max = 8s;
    o.connections = 4;
  });
  Duration last{};
  for (int i = 0; i < 6; ++i) {
    rig.transport->warm_up(Driver::kProvider);
    ASSERT_TRUE(rig.until([&] {
      return rig.server.totals().accepted == i + 1 && rig.state().retry_at.has_value() &&
             *rig.state().retry_at > rig.clock.mono();
    }));
    const Duration pause = *rig.state().retry_at - rig.clock.mono();
    const Duration most = std::min<Duration>(1s * (1 << i), 8s);
    EXPECT_LE(pause, most);
    EXPECT_GE(pause, most / 2 - 500ms);
    last = pause;
    rig.for_a_while(10ms);
    EXPECT_EQ(rig.server.totals().accepted, i + 1);  // not hammered
    rig.clock.push(pause);
  }
  EXPECT_GE(last, 3s);
}

TEST(H2Backoff, is_forgotten_by_renew) {
  Rig rig({.close_after_tls = true}, [](H2Options& o) {
    o.backoff_min = 1h;
    o.backoff_max = 2h;
  });
  rig.transport->warm_up(Driver::kProvider);
  ASSERT_TRUE(rig.until([&] { return rig.state().retry_at.has_value(); }));
  rig.transport->renew(Driver::kProvider);
  rig.transport->warm_up(Driver::kProvider);
  ASSERT_TRUE(rig.until([&] { return rig.server.totals().accepted == 2; }));
}

// A peer that serves one request a connection and leaves must not be called in a tight loop.
TEST(H2Backoff, paces_a_peer_that_leaves_at_once) {
  Rig rig({}, [](H2Options& o) {
    o.backoff_min = 10s;
    o.backoff_max = 20s;
  });
  ASSERT_TRUE(rig.connected());
  ASSERT_TRUE(rig.submit("/goaway-cover-ok", 1));
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_answered(1, 200);
  ASSERT_TRUE(rig.until([&] { return rig.state().connections == 0; }));
  rig.transport->warm_up(Driver::kProvider);
  rig.for_a_while(50ms);
  EXPECT_EQ(rig.server.totals().accepted, 1);
  rig.clock.push(20s);
  ASSERT_TRUE(rig.connected());
  EXPECT_EQ(rig.server.totals().accepted, 2);
}

// It serves: the pause between two of its connections does not grow.
TEST(H2Backoff, does_not_grow_for_a_peer_that_serves_a_little) {
  Rig rig({}, [](H2Options& o) {
    o.backoff_min = 10s;
    o.backoff_max = 1h;
  });
  ASSERT_TRUE(rig.connected());
  for (std::uint64_t i = 1; i <= 5; ++i) {
    ASSERT_TRUE(rig.submit("/goaway-cover-ok", i));
    ASSERT_TRUE(rig.all_ended(i));
    rig.expect_answered(i, 200);
    ASSERT_TRUE(rig.until([&] { return rig.state().connections == 0; }));
    ASSERT_TRUE(rig.state().retry_at);
    EXPECT_LE(*rig.state().retry_at - rig.clock.mono(), 10s);
    rig.clock.push(10s);
    rig.transport->warm_up(Driver::kProvider);
    ASSERT_TRUE(rig.connected());
  }
}

// A common server ends every connection after a thousand requests, and a busy sender is there soon.
TEST(H2Backoff, is_not_for_a_connection_that_has_served_many) {
  Rig rig({}, [](H2Options& o) {
    o.backoff_min = 1h;
    o.backoff_max = 2h;
  });
  ASSERT_TRUE(rig.connected());
  for (std::uint64_t i = 1; i <= 120; ++i) ASSERT_TRUE(rig.submit("/ok", i));
  ASSERT_TRUE(rig.all_ended(120));
  ASSERT_TRUE(rig.submit("/goaway-cover-ok", 121));
  ASSERT_TRUE(rig.all_ended(121));
  ASSERT_TRUE(rig.connected());
  ASSERT_TRUE(rig.submit("/ok", 122));
  ASSERT_TRUE(rig.all_ended(122));
  rig.expect_answered(122, 200);
  EXPECT_EQ(rig.server.totals().accepted, 2);
}

TEST(H2Reload, new_options_take_over_what_waits) {
  FaultServer second;
  Rig rig({.max_streams = 1});
  ASSERT_TRUE(rig.connected());
  ASSERT_TRUE(rig.submit("/silent", 1));
  ASSERT_TRUE(rig.submit("/ok", 2));
  ASSERT_TRUE(rig.until([&] { return rig.server.seen(1).end_stream; }));
  rig.add(Rig::to(second));
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_answered(2, 200);
  EXPECT_FALSE(rig.server.seen(2).headers);
  EXPECT_EQ(second.seen(2).times, 1);
  EXPECT_EQ(rig.state().connects, 2U);
  rig.server.answer_all("200");
  ASSERT_TRUE(rig.all_ended(2));
  rig.expect_answered(1, 200);
  ASSERT_TRUE(rig.until([&] { return rig.server.connections() == 0; }));
}

TEST(H2Reload, the_same_options_change_nothing) {
  Rig rig;
  ASSERT_TRUE(rig.connected());
  rig.add(Rig::to(rig.server));
  ASSERT_TRUE(rig.submit("/ok", 1));
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_answered(1, 200);
  EXPECT_EQ(rig.state().connects, 1U);
  EXPECT_EQ(rig.server.connections(), 1U);
}

TEST(H2Reload, a_renewed_ca_file_is_a_change) {
  const TempDir dir;
  const std::string ca = dir.write("ca.pem", read_file(Pki::get().ca())).string();
  Rig rig({}, [&](H2Options& o) { o.ca_file = ca; });
  ASSERT_TRUE(rig.connected());
  dir.write("ca.pem", read_file(Pki::get().ca()));
  H2Options same = Rig::to(rig.server);
  same.ca_file = ca;
  rig.add(same);
  ASSERT_TRUE(rig.submit("/ok", 1));
  ASSERT_TRUE(rig.all_ended(1));
  EXPECT_EQ(rig.state().connects, 2U);
}

TEST(H2Reload, one_bad_provider_of_several_changes_none) {
  FaultServer second;
  Rig rig;
  ASSERT_TRUE(rig.connected());
  H2Options bad = Rig::to(second);
  bad.ca_file = "/no/such/file";
  EXPECT_FALSE(rig.transport->set_providers({Rig::to(second), bad}).has_value());
  ASSERT_TRUE(rig.submit("/ok", 1));
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_answered(1, 200);
  EXPECT_EQ(rig.server.seen(1).times, 1);
  EXPECT_EQ(rig.state().connects, 1U);
}

TEST(H2Reload, bad_options_change_nothing) {
  Rig rig;
  ASSERT_TRUE(rig.connected());
  H2Options bad = Rig::to(rig.server);
  bad.ca_file = "/no/such/file";
  EXPECT_FALSE(rig.transport->add_provider(Driver::kProvider, bad).has_value());
  ASSERT_TRUE(rig.submit("/ok", 1));
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_answered(1, 200);
}

TEST(H2Poll, does_not_wait_when_something_has_ended_and_ends_when_woken) {
  Rig rig;
  ASSERT_TRUE(rig.connected());
  ASSERT_TRUE(rig.submit("/silent", 1));
  ASSERT_TRUE(rig.until([&] { return rig.server.seen(1).end_stream; }));
  rig.transport->cancel(Ticket(1));
  auto before = rig.real->mono();
  rig.step(10s);
  EXPECT_LT(rig.real->mono() - before, 2s);
  EXPECT_EQ(rig.ended.size(), 1U);
  std::thread other([&] { rig.transport->wake(); });
  before = rig.real->mono();
  rig.step(10s);
  EXPECT_LT(rig.real->mono() - before, 5s);
  other.join();
}

TEST(H2Poll, sleeps_while_nothing_happens) {
  Rig rig;
  ASSERT_TRUE(rig.connected());
  ASSERT_TRUE(rig.submit("/ok", 1));
  ASSERT_TRUE(rig.all_ended(1));
  rig.for_a_while(20ms);
  const auto before = rig.real->mono();
  rig.step(200ms);
  EXPECT_GE(rig.real->mono() - before, 190ms);
}

TEST(H2Transport, ends_with_calls_open) {
  Rig rig;
  ASSERT_TRUE(rig.connected());
  for (std::uint64_t t = 1; t <= 150; ++t) ASSERT_TRUE(rig.submit("/silent", t));
  rig.step();
  rig.hold_against_witness();
}

}  // namespace
}  // namespace sendonce::test
