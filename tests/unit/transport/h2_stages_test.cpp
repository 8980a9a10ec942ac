// Every way in which a request can end, staged against a server that plays it, and judged beside
// what the server saw.
#include <nghttp2/nghttp2.h>

#include "tests/unit/transport/rig.hpp"

namespace sendonce::test {
namespace {

// ---- one request, one fault -----------------------------------------------------------------

struct Stage {
  const char* title = "";
  const char* path = "";
  int status = 0;  // answered; 0: failed
  Effect effect = Effect::maybe_sent;
  Cause cause = Cause::reset;
  int partial_status = 0;
  bool acts_on_whole = false;
  std::uint32_t window = 65535;
};

class OneFault : public ::testing::TestWithParam<Stage> {};

TEST_P(OneFault, is_judged_by_what_is_proven) {
  const Stage& stage = GetParam();
  Rig rig({.window = stage.window}, [&](H2Options& o) { o.acts_on_whole = stage.acts_on_whole; });
  ASSERT_TRUE(rig.connected());
  ASSERT_TRUE(rig.submit(stage.path, 1));
  ASSERT_TRUE(rig.all_ended(1));
  if (stage.status != 0) {
    rig.expect_answered(1, stage.status);
  } else {
    rig.expect_failed(1, stage.effect, stage.cause);
    const CallFailure& f = *rig.failure(1);
    ASSERT_EQ(f.partial.has_value(), stage.partial_status != 0);
    if (f.partial) {
      EXPECT_EQ(f.partial->status, stage.partial_status);
    }
  }
  rig.hold_against_witness();
}

constexpr Effect kNot = Effect::not_sent;
constexpr Effect kMaybe = Effect::maybe_sent;

INSTANTIATE_TEST_SUITE_P(
    Stages, OneFault,
    ::testing::Values(
        Stage{.title = "answered", .path = "/ok", .status = 200},
        Stage{.title = "not_found", .path = "/status/404", .status = 404},
        Stage{.title = "refused", .path = "/refuse", .effect = kNot, .cause = Cause::refused},
        Stage{.title = "refused_before_end",
              .path = "/refuse-before-end",
              .effect = kNot,
              .cause = Cause::refused,
              .window = 0},
        Stage{.title = "hints_then_refused",
              .path = "/103-refuse",
              .effect = kMaybe,
              .cause = Cause::refused,
              .partial_status = 103},
        Stage{.title = "hints_then_refused_whole",
              .path = "/103-refuse",
              .effect = kMaybe,
              .cause = Cause::refused,
              .partial_status = 103,
              .acts_on_whole = true},
        Stage{.title = "calm", .path = "/calm"}, Stage{.title = "internal", .path = "/internal"},
        Stage{.title = "h1_required", .path = "/h1-required"},
        Stage{.title = "reset_before_end", .path = "/rst-before-end", .window = 0},
        Stage{.title = "reset_before_end_whole",
              .path = "/rst-before-end",
              .effect = kNot,
              .acts_on_whole = true,
              .window = 0},
        Stage{.title = "early_413", .path = "/early-413", .status = 413, .window = 0},
        Stage{.title = "early_413_no_rst", .path = "/early-413-no-rst", .status = 413, .window = 0},
        Stage{
            .title = "early_200_rst", .path = "/early-200-rst", .partial_status = 200, .window = 0},
        Stage{.title = "early_200_rst_whole",
              .path = "/early-200-rst",
              .partial_status = 200,
              .acts_on_whole = true,
              .window = 0},
        Stage{.title = "continue_then_rst", .path = "/100-rst", .partial_status = 100},
        Stage{.title = "continue_then_200", .path = "/100-200", .status = 200},
        Stage{.title = "headers_then_rst", .path = "/200-rst", .partial_status = 200},
        Stage{.title = "headers_then_close",
              .path = "/200-close",
              .cause = Cause::connection_lost,
              .partial_status = 200},
        Stage{.title = "tcp_reset", .path = "/die", .cause = Cause::connection_lost},
        Stage{.title = "closed", .path = "/close", .cause = Cause::connection_lost},
        Stage{.title = "goaway_below",
              .path = "/goaway-below",
              .effect = kNot,
              .cause = Cause::refused},
        Stage{.title = "goaway_cover_close",
              .path = "/goaway-cover-close",
              .cause = Cause::connection_lost},
        Stage{.title = "goaway_cover_ok", .path = "/goaway-cover-ok", .status = 200},
        Stage{.title = "goaway_calm_0",
              .path = "/goaway-calm-0",
              .effect = kNot,
              .cause = Cause::refused},
        Stage{.title = "header_cut",
              .path = "/header-cut",
              .cause = Cause::connection_lost,
              .partial_status = 200},
        Stage{.title = "body_cut",
              .path = "/body-cut",
              .cause = Cause::connection_lost,
              .partial_status = 200}),
    [](const auto& stage) { return std::string(stage.param.title); });

TEST(ProvenEffect, follows_the_table) {
  EXPECT_EQ(proven_effect({}, false, false), kNot);
  EXPECT_EQ(proven_effect({.offered = true}, false, false), kMaybe);
  EXPECT_EQ(proven_effect({.offered = true}, false, true), kNot);
  EXPECT_EQ(proven_effect({.offered = true, .complete = true}, false, true), kMaybe);
  EXPECT_EQ(proven_effect({.offered = true, .complete = true}, true, false), kNot);
  EXPECT_EQ(proven_effect({.offered = true, .complete = true, .answer_begun = true}, true, true),
            kMaybe);
  EXPECT_EQ(proven_effect({.offered = true, .answer_begun = true}, false, true), kMaybe);
}

// ---- answers --------------------------------------------------------------------------------

TEST(H2Answer, holds_headers_and_body_and_hides_interim_answers) {
  Rig rig;
  ASSERT_TRUE(rig.connected());
  ASSERT_TRUE(rig.submit("/100-200", 1));
  ASSERT_TRUE(rig.submit("/big", 2));
  ASSERT_TRUE(rig.all_ended(2));
  rig.expect_answered(1, 200);
  EXPECT_TRUE(rig.answer(1)->headers.find("apns-id").has_value());
  EXPECT_FALSE(rig.answer(1)->headers.find("link").has_value());
  EXPECT_TRUE(rig.answer(1)->body.empty());
  EXPECT_EQ(rig.answer(2)->body.size(), 60000U);
  rig.hold_against_witness();
}

TEST(H2Answer, over_a_limit_ends_the_call_in_doubt_with_what_came) {
  Rig rig({}, [](H2Options& o) { o.limits.body_bytes = 1000; });
  ASSERT_TRUE(rig.connected());
  ASSERT_TRUE(rig.submit("/big", 1));
  ASSERT_TRUE(rig.submit("/many-headers", 2));
  ASSERT_TRUE(rig.submit("/long-header", 3));
  ASSERT_TRUE(rig.submit("/ok", 4));
  ASSERT_TRUE(rig.all_ended(4));
  for (const std::uint64_t ticket : {1U, 2U, 3U}) {
    rig.expect_failed(ticket, Effect::maybe_sent, Cause::oversized);
    ASSERT_TRUE(rig.failure(ticket)->partial.has_value());
    EXPECT_EQ(rig.failure(ticket)->partial->status, 200);
    EXPECT_TRUE(rig.failure(ticket)->partial->headers.find("apns-id").has_value());
  }
  rig.expect_answered(4, 200);
  rig.hold_against_witness();
}

TEST(H2Request, arrives_with_its_fields_and_length) {
  Rig rig;
  ASSERT_TRUE(rig.connected());
  ASSERT_TRUE(rig.submit("/ok?a=1", 1, 300));  // no script of that name: never answered
  ASSERT_TRUE(rig.until([&] { return rig.server.seen(1).end_stream; }));
  const auto fields = rig.server.headers_of(1);
  EXPECT_EQ(fields.at(":method"), "POST");
  EXPECT_EQ(fields.at(":scheme"), "https");
  EXPECT_EQ(fields.at(":path"), "/ok?a=1");
  EXPECT_EQ(fields.at(":authority"), "localhost:" + std::to_string(rig.server.port()));
  EXPECT_EQ(fields.at("content-length"), "300");
  EXPECT_EQ(fields.at("apns-topic"), "com.example");
  EXPECT_EQ(fields.at("authorization"), "bearer secret");
}

TEST(H2Request, without_a_body_ends_with_its_headers) {
  Rig rig;
  ASSERT_TRUE(rig.connected());
  HttpRequest r = Driver::request("/ok", 1, 0);
  r.method = "GET";
  ASSERT_TRUE(rig.transport->submit(Ticket(1), Driver::kProvider, std::move(r), 5s));
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_answered(1, 200);
  EXPECT_EQ(rig.server.headers_of(1).at(":method"), "GET");
  EXPECT_FALSE(rig.server.headers_of(1).contains("content-length"));
}

// A request that is held back must not bring the header compression of the others out of step.
TEST(H2Request, that_became_too_late_is_not_sent_and_harms_no_other) {
  Rig rig;
  ASSERT_TRUE(rig.connected());
  for (std::uint64_t t = 1; t <= 6; ++t) {
    HttpRequest r = Driver::request("/ok", t);
    r.headers.add("x-once", "value " + std::to_string(t));
    if (t == 2) r.not_after_wall = rig.clock.wall() - 1ms;
    if (t == 4) r.not_after_mono = rig.clock.mono() - 1ms;
    if (t == 5) r.not_after_mono = rig.clock.mono() + 5s;
    ASSERT_TRUE(rig.transport->submit(Ticket(t), Driver::kProvider, std::move(r), 5s));
  }
  ASSERT_TRUE(rig.all_ended(6));
  for (const std::uint64_t t : {1U, 3U, 5U, 6U}) {
    rig.expect_answered(t, 200);
    EXPECT_EQ(rig.server.headers_of(t).at("x-once"), "value " + std::to_string(t));
  }
  for (const std::uint64_t t : {2U, 4U}) {
    rig.expect_failed(t, Effect::not_sent, Cause::not_started);
    EXPECT_FALSE(rig.server.seen(t).headers);
  }
  rig.hold_against_witness();
}

// ---- many requests, one fault ---------------------------------------------------------------

TEST(H2GoAway, below_one_of_three_spares_the_others) {
  Rig rig;
  ASSERT_TRUE(rig.connected());
  ASSERT_TRUE(rig.submit("/silent", 1));
  ASSERT_TRUE(rig.submit("/silent", 2));
  ASSERT_TRUE(rig.submit("/goaway-below", 3));
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_failed(3, Effect::not_sent, Cause::refused);
  rig.server.answer_all("200");
  ASSERT_TRUE(rig.all_ended(3));
  rig.expect_answered(1, 200);
  rig.expect_answered(2, 200);
  rig.hold_against_witness();
}

TEST(H2GoAway, notice_starts_nothing_new_and_opens_another_connection) {
  Rig rig;
  ASSERT_TRUE(rig.connected());
  rig.clock.push(20s);  // the connection has proven itself
  ASSERT_TRUE(rig.submit("/goaway-notice", 1));
  ASSERT_TRUE(rig.until([&] { return rig.state().goaways == 1; }));
  ASSERT_TRUE(rig.submit("/ok", 2));
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_answered(2, 200);
  EXPECT_EQ(rig.state().connects, 2U);
  EXPECT_EQ(rig.server.connections(), 2U);  // the old one waits for its last answer
  rig.server.answer_all("200");
  ASSERT_TRUE(rig.all_ended(2));
  rig.expect_answered(1, 200);
  ASSERT_TRUE(rig.until([&] { return rig.server.connections() == 1; }));
  rig.hold_against_witness();
}

TEST(H2Queue, of_a_lost_connection_goes_to_the_next_one) {
  Rig rig({.max_streams = 2});
  ASSERT_TRUE(rig.connected());
  rig.clock.push(20s);
  for (std::uint64_t t = 1; t <= 3; ++t) ASSERT_TRUE(rig.submit("/silent", t));
  for (std::uint64_t t = 4; t <= 5; ++t) ASSERT_TRUE(rig.submit("/ok", t));
  ASSERT_TRUE(rig.until([&] { return rig.server.seen().size() == 2; }));
  EXPECT_EQ(rig.state().open, 5U);
  rig.server.kill();
  ASSERT_TRUE(rig.all_ended(4));
  rig.expect_failed(1, Effect::maybe_sent, Cause::connection_lost);
  rig.expect_failed(2, Effect::maybe_sent, Cause::connection_lost);
  rig.expect_answered(4, 200);
  rig.expect_answered(5, 200);
  ASSERT_TRUE(rig.until([&] { return rig.server.seen(3).end_stream; }));
  EXPECT_EQ(rig.server.seen(3).times, 1);
  EXPECT_EQ(rig.server.totals().most_streams, 2U);
  rig.hold_against_witness();
}

TEST(H2Queue, is_not_sent_when_its_time_is_over_or_it_is_cancelled) {
  Rig rig({.max_streams = 1});
  ASSERT_TRUE(rig.connected());
  ASSERT_TRUE(rig.submit("/silent", 1));
  ASSERT_TRUE(rig.submit("/ok", 2, 300, 50ms));
  ASSERT_TRUE(rig.submit("/ok", 3));
  ASSERT_TRUE(rig.until([&] { return rig.server.seen(1).end_stream; }));
  rig.transport->cancel(Ticket(3));
  ASSERT_TRUE(rig.all_ended(2));
  rig.expect_failed(2, Effect::not_sent, Cause::timed_out);
  rig.expect_failed(3, Effect::not_sent, Cause::cancelled);
  rig.transport->cancel(Ticket(1));
  ASSERT_TRUE(rig.all_ended(3));
  rig.expect_failed(1, Effect::maybe_sent, Cause::cancelled);
  EXPECT_TRUE(rig.failure(1)->complete);
  ASSERT_TRUE(rig.until([&] { return rig.server.totals().resets == 1; }));
  rig.hold_against_witness();
}

TEST(H2Queue, is_bounded) {
  Rig rig({.max_streams = 2}, [](H2Options& o) { o.queue = 3; });
  ASSERT_TRUE(rig.connected());
  EXPECT_EQ(rig.state().room, 2U);
  for (std::uint64_t t = 1; t <= 5; ++t) ASSERT_TRUE(rig.submit("/silent", t));
  EXPECT_EQ(rig.state().room, 0U);
  EXPECT_FALSE(rig.submit("/silent", 6));
  EXPECT_EQ(rig.state().open, 5U);
  rig.for_a_while(50ms);
  EXPECT_FALSE(rig.server.seen(6).headers);
  EXPECT_TRUE(rig.ended.empty());
  rig.hold_against_witness();
}

TEST(H2Deadline, ends_a_request_that_is_never_answered) {
  Rig rig;
  ASSERT_TRUE(rig.connected());
  ASSERT_TRUE(rig.submit("/silent", 1, 300, 100ms));
  ASSERT_TRUE(rig.submit("/ok", 2, 300, 100ms));
  ASSERT_TRUE(rig.all_ended(2));
  rig.expect_failed(1, Effect::maybe_sent, Cause::timed_out);
  rig.expect_answered(2, 200);
  ASSERT_TRUE(rig.until([&] { return rig.server.totals().resets == 1; }));
  EXPECT_EQ(rig.server.connections(), 1U);  // the connection is not to blame
  rig.hold_against_witness();
}

TEST(H2Deadline, of_a_body_that_waits_for_the_window_is_not_sent_only_where_the_whole_counts) {
  for (const bool whole : {true, false}) {
    Rig rig({.window = 0}, [&](H2Options& o) { o.acts_on_whole = whole; });
    ASSERT_TRUE(rig.connected());
    ASSERT_TRUE(rig.submit("/ok", 1, 300, 100ms));
    ASSERT_TRUE(rig.all_ended(1));
    rig.expect_failed(1, whole ? Effect::not_sent : Effect::maybe_sent, Cause::timed_out);
    EXPECT_FALSE(rig.failure(1)->complete);
    EXPECT_TRUE(rig.server.seen(1).headers);
    rig.hold_against_witness();
  }
}

// An answer that came while the process was stopped wins over the deadline that passed meanwhile.
TEST(H2Deadline, loses_against_an_answer_that_lies_in_the_socket) {
  Rig rig;
  ASSERT_TRUE(rig.connected());
  ASSERT_TRUE(rig.submit("/silent", 1, 300, 1s));
  ASSERT_TRUE(rig.until([&] { return rig.server.seen(1).end_stream; }));
  rig.server.answer_all("200");
  rig.clock.push(1h);
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_answered(1, 200);
}

TEST(H2Window, spent_on_the_connection_keeps_the_rest_unsent) {
  Rig rig({.window = 1 << 20, .no_window_update = true});
  ASSERT_TRUE(rig.connected());
  ASSERT_TRUE(rig.submit("/silent", 1, 65000));
  for (std::uint64_t t = 2; t <= 5; ++t) ASSERT_TRUE(rig.submit("/silent", t, 300));
  ASSERT_TRUE(rig.until([&] { return rig.server.seen(2).end_stream; }));
  rig.for_a_while(30ms);
  EXPECT_EQ(rig.server.seen().size(), 2U);
  for (std::uint64_t t = 3; t <= 5; ++t) rig.transport->cancel(Ticket(t));
  rig.server.kill();
  ASSERT_TRUE(rig.all_ended(5));
  for (std::uint64_t t = 1; t <= 2; ++t) {
    rig.expect_failed(t, Effect::maybe_sent, Cause::connection_lost);
  }
  for (std::uint64_t t = 3; t <= 5; ++t) {
    rig.expect_failed(t, Effect::not_sent, Cause::cancelled);
  }
  rig.hold_against_witness();
}

TEST(H2Window, smaller_than_a_body_is_used_alone) {
  Rig rig;
  ASSERT_TRUE(rig.connected());
  ASSERT_TRUE(rig.submit("/ok", 1, 200000));
  ASSERT_TRUE(rig.submit("/ok", 2, 200000));
  ASSERT_TRUE(rig.submit("/ok", 3, 300));
  ASSERT_TRUE(rig.all_ended(3));
  for (std::uint64_t t = 1; t <= 3; ++t) rig.expect_answered(t, 200);
  EXPECT_EQ(rig.server.seen(1).body, 200000U);
  EXPECT_LE(rig.server.totals().most_streams, 2U);  // the small one, beside the end of the second
  rig.hold_against_witness();
}

TEST(H2Settings, that_lower_the_limit_let_open_streams_go_on) {
  Rig rig;
  ASSERT_TRUE(rig.connected());
  for (std::uint64_t t = 1; t <= 3; ++t) ASSERT_TRUE(rig.submit("/silent", t));
  ASSERT_TRUE(rig.until([&] { return rig.server.seen(3).end_stream; }));
  rig.server.allow_streams(1);
  ASSERT_TRUE(rig.until([&] { return rig.state().room == 0; }));
  for (std::uint64_t t = 4; t <= 5; ++t) ASSERT_TRUE(rig.submit("/silent", t));
  rig.for_a_while(30ms);
  EXPECT_FALSE(rig.server.seen(4).headers);
  EXPECT_TRUE(rig.ended.empty());
  rig.server.answer_all("200");
  ASSERT_TRUE(rig.all_ended(3));
  ASSERT_TRUE(rig.until([&] { return rig.server.seen(4).end_stream; }));
  rig.for_a_while(30ms);
  EXPECT_FALSE(rig.server.seen(5).headers);
  rig.server.allow_streams(50);
  ASSERT_TRUE(rig.until([&] { return rig.server.seen(5).end_stream; }));
  EXPECT_EQ(rig.state().room, 48U);
  rig.hold_against_witness();
}

TEST(H2Settings, raised_after_the_first_answer_are_used) {
  Rig rig({.max_streams = 1, .raise_to = 1000});
  ASSERT_TRUE(rig.connected());
  EXPECT_EQ(rig.state().room, 1U);
  ASSERT_TRUE(rig.submit("/ok", 1));
  for (std::uint64_t t = 2; t <= 60; ++t) ASSERT_TRUE(rig.submit("/silent", t));
  ASSERT_TRUE(rig.until([&] { return rig.server.seen(60).end_stream; }));
  rig.server.answer_all("200");
  ASSERT_TRUE(rig.all_ended(60));
  EXPECT_GE(rig.server.totals().most_streams, 50U);
  rig.hold_against_witness();
}

// The socket takes a part of what 900 requests want to say, then the connection dies.
TEST(H2Burst, that_is_cut_leaves_few_in_doubt) {
  Rig rig({.max_streams = 100000,
           .window = 1 << 24,
           .connection_window = 1 << 30,
           .deaf = true,
           .receive_buffer = 8192},
          [](H2Options& o) { o.queue = 1000; });
  ASSERT_TRUE(rig.connected());
  for (std::uint64_t t = 1; t <= 900; ++t) ASSERT_TRUE(rig.submit("/silent", t, 2000));
  rig.for_a_while(200ms);
  EXPECT_TRUE(rig.ended.empty());
  rig.server.kill();
  for (std::uint64_t t = 1; t <= 900; ++t) {
    if (rig.state().connections == 0) break;
    rig.step();
  }
  for (std::uint64_t t = 1; t <= 900; ++t) rig.transport->cancel(Ticket(t));
  ASSERT_TRUE(rig.all_ended(900));
  std::size_t in_doubt = 0;
  for (const auto& [ticket, result] : rig.ended) {
    const auto* f = std::get_if<CallFailure>(&result);
    ASSERT_NE(f, nullptr);
    if (f->effect != Effect::not_sent)
      ++in_doubt;
    else
      EXPECT_FALSE(rig.server.seen(ticket).headers) << ticket;
  }
  RecordProperty("in_doubt", static_cast<int>(in_doubt));
  EXPECT_GE(in_doubt, 1U);
  EXPECT_LE(in_doubt, 30U);
  rig.hold_against_witness();
}

TEST(H2Burst, of_thousands_is_answered_once_each) {
  Rig rig({.max_streams = 200}, [](H2Options& o) {
    o.queue = 5000;
    o.connections = 3;
  });
  ASSERT_TRUE(rig.connected());
  for (std::uint64_t t = 1; t <= 5000; ++t) ASSERT_TRUE(rig.submit("/ok", t, 300, 60s));
  ASSERT_TRUE(rig.all_ended(5000, 60s));
  for (std::uint64_t t = 1; t <= 5000; ++t) {
    ASSERT_NE(rig.answer(t), nullptr) << t;
    ASSERT_EQ(rig.server.seen(t).times, 1) << t;
  }
  EXPECT_GE(rig.server.totals().accepted, 2);
  rig.hold_against_witness();
}

}  // namespace
}  // namespace sendonce::test
