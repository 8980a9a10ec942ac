// Every fault of the script, as a client sees it on the wire, and what the witness says meanwhile.
#include <gtest/gtest.h>

#include "tests/support/eventually.hpp"
#include "tests/unit/support/provider_rig.hpp"

namespace sendonce::test {
namespace {

constexpr std::uint32_t kNoError = 0;
constexpr std::uint32_t kInternalError = 2;
constexpr std::uint32_t kRefusedStream = 7;

class PlayTest : public ProviderRig {
 protected:
  void play(const std::string& rule) { start_with("[[rule]]\n" + rule); }
};

TEST_F(PlayTest, a_reason_gets_its_documented_status) {
  play("reason = \"Unregistered\"\ninvalid_since = \"1h\"\nheaders = { retry-after = \"2\" }");
  const auto client = connect();
  const RawAnswer& answer = push(*client);
  EXPECT_EQ(answer.status, 410);
  EXPECT_EQ(answer.header("retry-after"), "2");
  EXPECT_TRUE(answer.body.starts_with(R"({"reason":"Unregistered","timestamp":)")) << answer.body;
  const std::int64_t said = std::stoll(answer.body.substr(answer.body.rfind(':') + 1));
  EXPECT_NEAR(static_cast<double>(said), static_cast<double>((now_seconds() - 3600) * 1000), 5000);
  EXPECT_EQ(seen().accepted, 0U);
  EXPECT_EQ(seen().received, 1U);
}

TEST_F(PlayTest, an_error_may_hide_an_accepted_message) {
  play("status = 500\nreason = \"InternalServerError\"\nprocessed = true");
  const auto client = connect();
  EXPECT_EQ(push(*client).status, 500);
  EXPECT_EQ(seen().accepted, 1U);
}

TEST_F(PlayTest, a_body_goes_out_as_written) {
  play("status = 502\nbody = \"<html>Bad gateway</html>\"");
  const auto client = connect();
  const RawAnswer& answer = push(*client);
  EXPECT_EQ(answer.status, 502);
  EXPECT_EQ(answer.body, "<html>Bad gateway</html>");
}

TEST_F(PlayTest, a_bad_request_is_refused_whatever_the_script_says) {
  play("status = 200");
  const auto client = connect();
  EXPECT_EQ(client->request("POST", device("xx"), apns_headers(), kPayload).status, 400);
  EXPECT_EQ(seen().accepted, 0U);
}

TEST_F(PlayTest, a_delay_is_kept_and_holds_up_nothing_else) {
  play("nth = 2\ndelay = \"300ms\"");
  const auto client = connect();
  push(*client);  // allows more streams
  const auto clock = make_system_clock();
  const MonoTime begin = clock->mono();
  const auto slow = submit_push(*client);
  const auto quick = submit_push(*client);
  EXPECT_TRUE(client->run([&] { return client->answer(quick).whole; }));
  EXPECT_FALSE(client->answer(slow).whole);
  EXPECT_TRUE(client->run([&] { return client->answer(slow).whole; }));
  EXPECT_GE(clock->mono() - begin, std::chrono::milliseconds(300));
  EXPECT_EQ(client->answer(slow).status, 200);
}

TEST_F(PlayTest, a_stalled_stream_gets_no_answer_while_others_do) {
  play("nth = 2\nstall = \"stream\"\nprocessed = true");
  const auto client = connect();
  push(*client);
  const auto stalled = submit_push(*client);
  EXPECT_EQ(push(*client).status, 200);
  EXPECT_EQ(client->answer(stalled).status, 0);
  EXPECT_EQ(client->closure(), Closure::open);
  EXPECT_EQ(seen().accepted, 3U);
}

TEST_F(PlayTest, a_stalled_connection_is_dead_silent) {
  play("nth = 2\nstall = \"connection\"\nprocessed = false");
  const auto client = connect();
  push(*client);
  submit_push(*client);
  const auto after = submit_push(*client);
  EXPECT_FALSE(
      client->run([&] { return client->answer(after).whole; }, std::chrono::milliseconds(100)));
  EXPECT_EQ(client->closure(), Closure::open);
  EXPECT_EQ(seen().accepted, 1U);
}

TEST_F(PlayTest, close_ends_the_connection_without_an_answer) {
  play("close = \"fin\"\nprocessed = true");
  const auto client = connect();
  const auto stream = submit_push(*client);
  EXPECT_FALSE(client->run([&] { return client->answer(stream).whole; }));
  EXPECT_EQ(client->closure(), Closure::notified);
  EXPECT_EQ(client->answer(stream).status, 0);
  EXPECT_EQ(seen().accepted, 1U);
}

TEST_F(PlayTest, close_before_the_body_is_read) {
  play("at = \"headers\"\nclose = \"fin\"");
  const auto client = connect();
  const auto stream = client->submit("POST", device(), apns_headers(), kPayload, false);
  EXPECT_FALSE(client->run([&] { return client->answer(stream).whole; }));
  EXPECT_NE(client->closure(), Closure::open);
  EXPECT_EQ(seen().received, 0U);
}

TEST_F(PlayTest, rst_resets_the_tcp_connection) {
  play("close = \"rst\"\nprocessed = false");
  const auto client = connect();
  submit_push(*client);
  EXPECT_FALSE(client->run([] { return false; }));
  EXPECT_EQ(client->closure(), Closure::reset);
  EXPECT_EQ(seen().accepted, 0U);
  EXPECT_EQ(seen().received, 1U);
}

TEST_F(PlayTest, reset_names_its_code) {
  start_with(
      "[[rule]]\nnth = 2\nreset = \"REFUSED_STREAM\"\nprocessed = false\n"
      "[[rule]]\nnth = 2\nreset = 2\nprocessed = true\n");
  const auto client = connect();
  EXPECT_EQ(push(*client).status, 200);
  EXPECT_EQ(push(*client).closed_with, kRefusedStream);
  EXPECT_EQ(seen().accepted, 1U);
  const RawAnswer& lost = push(*client);
  EXPECT_EQ(lost.closed_with, kInternalError);
  EXPECT_EQ(lost.status, 0);
  EXPECT_EQ(seen().accepted, 2U);
  EXPECT_EQ(push(*client).status, 200) << "the connection lives on";
}

TEST_F(PlayTest, an_early_answer_stops_the_upload) {
  play("at = \"headers\"\nstatus = 413\nreason = \"PayloadTooLarge\"");
  const auto client = connect();
  const auto stream = client->submit("POST", device(), apns_headers(), kPayload, false);
  EXPECT_TRUE(client->run([&] { return client->answer(stream).closed_with.has_value(); }));
  EXPECT_EQ(client->answer(stream).status, 413);
  EXPECT_TRUE(client->answer(stream).whole);
  EXPECT_EQ(client->answer(stream).closed_with, kNoError);
  EXPECT_EQ(seen().received, 0U);
}

TEST_F(PlayTest, goaway_below_refuses_this_stream_and_those_above) {
  play("nth = 2\ngoaway = { last = \"below\", code = \"ENHANCE_YOUR_CALM\", reason = \"Calm\" }");
  const auto client = connect();
  push(*client);
  const auto refused = submit_push(*client);
  const auto above = submit_push(*client);
  EXPECT_TRUE(client->run([&] { return client->answer(above).closed_with.has_value(); }));
  ASSERT_EQ(client->goaways().size(), 1U);
  EXPECT_EQ(client->goaways()[0].last, refused - 2);
  EXPECT_EQ(client->goaways()[0].code, 11U);
  EXPECT_EQ(client->goaways()[0].debug, R"({"reason":"Calm"})");
  EXPECT_EQ(client->answer(refused).closed_with, kRefusedStream);
  EXPECT_EQ(client->answer(above).closed_with, kRefusedStream);
  EXPECT_EQ(seen().accepted, 1U);
}

TEST_F(PlayTest, goaway_below_never_refuses_what_was_processed) {
  // The delayed rule fires when the stream above has been processed already.
  play("nth = 2\ndelay = \"50ms\"\ngoaway = { last = \"below\" }");
  const auto client = connect();
  push(*client);
  const auto refused = submit_push(*client);
  const auto above = submit_push(*client);
  EXPECT_TRUE(client->run([&] { return client->answer(refused).closed_with.has_value(); }));
  ASSERT_EQ(client->goaways().size(), 1U);
  EXPECT_EQ(client->goaways()[0].last, above);
  EXPECT_EQ(client->answer(refused).closed_with, kRefusedStream);
  EXPECT_EQ(client->answer(above).status, 200);
  EXPECT_EQ(seen().accepted, 2U);
}

TEST_F(PlayTest, goaway_covering_this_stream_with_and_without_an_answer) {
  start_with(
      "[[rule]]\ntoken = \"aa\"\ngoaway = { reason = \"Shutdown\" }\n"
      "[[rule]]\ntoken = \"bb\"\ngoaway = { close = true }\nstall = \"stream\"\n"
      "processed = true\n");
  const auto first = connect();
  const RawAnswer& answer = first->request("POST", device("aa"), apns_headers(), kPayload);
  EXPECT_EQ(answer.status, 200);
  ASSERT_EQ(first->goaways().size(), 1U);
  EXPECT_EQ(first->goaways()[0].last, 1);
  EXPECT_FALSE(first->run([] { return false; })) << "nothing more to say: the server closes";
  const auto second = connect();
  EXPECT_EQ(second->request("POST", device("bb"), apns_headers(), kPayload).status, 0);
  EXPECT_EQ(second->goaways().size(), 1U);
  EXPECT_NE(second->closure(), Closure::open);
  EXPECT_EQ(seen().accepted, 2U);
}

TEST_F(PlayTest, a_shutdown_notice_lets_streams_live) {
  play("nth = 1\ngoaway = { last = \"all\" }");
  const auto client = connect();
  EXPECT_EQ(push(*client).status, 200);
  ASSERT_EQ(client->goaways().size(), 1U);
  EXPECT_EQ(client->goaways()[0].last, INT32_MAX);
}

TEST_F(PlayTest, settings_change_in_mid_connection) {
  play("nth = 2\nsettings = { max_concurrent_streams = 3, initial_window_size = 70000 }");
  const auto client = connect();
  push(*client);
  push(*client);
  ASSERT_TRUE(client->run([&] { return client->settings_received() == 3; }));
  EXPECT_EQ(client->max_concurrent_streams(), 3U);
}

TEST_F(PlayTest, interim_answers_come_first) {
  play("interim = 103");
  const auto client = connect();
  const RawAnswer& answer = push(*client);
  EXPECT_EQ(answer.interim, std::vector<int>{103});
  EXPECT_EQ(answer.status, 200);
}

TEST_F(PlayTest, a_cut_header_block_never_becomes_an_answer) {
  play("cut = \"headers\"");
  const auto client = connect();
  const auto stream = submit_push(*client);
  EXPECT_FALSE(client->run([&] { return client->answer(stream).whole; }));
  EXPECT_NE(client->closure(), Closure::open);
  EXPECT_FALSE(client->answer(stream).whole);
  EXPECT_EQ(seen().accepted, 1U);
}

TEST_F(PlayTest, a_cut_body_shows_the_headers) {
  start_with(
      "[[rule]]\nnth = 1\ncut = \"body\"\nreset = \"INTERNAL_ERROR\"\n"
      "[[rule]]\ncut = \"body\"\ncut_at = 5\nstatus = 503\nbody = \"0123456789\"\n");
  const auto client = connect();
  const RawAnswer& first = push(*client);
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.header("apns-id"), kId);
  EXPECT_FALSE(first.whole);
  EXPECT_EQ(first.closed_with, kInternalError);
  const auto second = submit_push(*client);
  EXPECT_FALSE(client->run([&] { return client->answer(second).whole; }));
  EXPECT_EQ(client->answer(second).status, 503);
  EXPECT_EQ(client->answer(second).body, "01234");
  EXPECT_NE(client->closure(), Closure::open);
  EXPECT_EQ(seen().accepted, 1U);
}

TEST_F(PlayTest, faults_hit_http1_too) {
  start_with(
      "[[rule]]\nprovider = \"oauth\"\nnth = 1\nstatus = 503\n"
      "[[rule]]\nprovider = \"oauth\"\nnth = 1\nclose = \"rst\"\nprocessed = false\n"
      "[[rule]]\nprovider = \"oauth\"\nnth = 1\ncut = \"headers\"\n"
      "[[rule]]\nprovider = \"oauth\"\nreason = \"invalid_grant\"\n");
  const auto exchange = [&](Closure* closure) {
    const auto client = connect(false);
    const std::string form =
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=" +
        sign_jwt(JwtAlgorithm::rs256, credentials().service.private_pem, R"({"alg":"RS256"})",
                 R"({"iss":")" + credentials().email + R"(","aud":")" + provider->token_uri() +
                     R"(","scope":"https://www.googleapis.com/auth/firebase.messaging","iat":)" +
                     std::to_string(now_seconds()) + R"(,"exp":)" +
                     std::to_string(now_seconds() + 600) + "}");
    const std::string answer =
        client->exchange_h1("POST /token HTTP/1.1\r\nhost: localhost\r\ncontent-length: " +
                                std::to_string(form.size()) + "\r\n\r\n" + form,
                            "\r\n\r\n");
    *closure = client->closure();
    return answer;
  };
  Closure closure{};
  EXPECT_TRUE(exchange(&closure).starts_with("HTTP/1.1 503 "));
  EXPECT_EQ(closure, Closure::open);
  EXPECT_EQ(exchange(&closure), "");
  EXPECT_EQ(closure, Closure::reset);
  const std::string cut = exchange(&closure);
  EXPECT_TRUE(cut.starts_with("HTTP/1.1 200"));
  EXPECT_EQ(cut.find("\r\n\r\n"), std::string::npos);
  EXPECT_TRUE(exchange(&closure).starts_with("HTTP/1.1 400 "));
}

TEST_F(PlayTest, the_script_can_be_changed_while_it_runs) {
  play("status = 503");
  const auto client = connect();
  EXPECT_EQ(push(*client).status, 503);
  provider->set_script({});
  EXPECT_EQ(push(*client).status, 200);
}

}  // namespace
}  // namespace sendonce::test
