#include "plugin/broker/nats/api_json.hpp"

#include <gtest/gtest.h>

namespace sendonce {
namespace {

TEST(ApiJson, ReadsConfirmations) {
  const auto ack = parse_pub_ack(R"({"stream":"OUT","seq":7,"duplicate":true,"domain":"hub"})");
  ASSERT_TRUE(ack.has_value());
  EXPECT_EQ(ack->stream, "OUT");
  EXPECT_EQ(ack->seq, 7U);
  EXPECT_TRUE(ack->duplicate);
  const auto error = parse_pub_ack(
      R"({"error":{"code":400,"err_code":10054,"description":"too large"},"stream":"OUT","seq":0})");
  ASSERT_FALSE(error.has_value());
  EXPECT_EQ(error.error().code, 400);
  EXPECT_EQ(error.error().err_code, js_error::kMessageTooLarge);
  EXPECT_EQ(error.error().description, "too large");
}

TEST(ApiJson, AnythingElseIsAnErrorWithoutACode) {
  for (const char* text : {"", "null", "[]", "{}", "{", "\"x\"", R"({"stream":7,"seq":1})", "\xff",
                           R"({"error":7})"}) {
    EXPECT_FALSE(parse_pub_ack(text).has_value()) << text;
    EXPECT_FALSE(parse_stream_info(text).has_value()) << text;
    EXPECT_FALSE(parse_consumer_info(text).has_value()) << text;
  }
}

TEST(ApiJson, ReadsAConsumer) {
  const auto info = parse_consumer_info(
      R"({"stream_name":"S","name":"C","created":"2026-01-01T00:00:00Z","config":{
      "durable_name":"C","description":"sendonce ledger=ab","ack_policy":"explicit",
      "ack_wait":30000000000,"max_deliver":-1,"filter_subject":"a.>","max_ack_pending":100,
      "backoff":[1,2],"filter_subjects":["x","y"],"headers_only":true,
      "inactive_threshold":5000000000},"num_pending":3,"num_ack_pending":2,"num_waiting":1})");
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->stream, "S");
  EXPECT_EQ(info->name, "C");
  EXPECT_EQ(info->description, "sendonce ledger=ab");
  EXPECT_EQ(info->ack_wait, std::chrono::seconds(30));
  EXPECT_EQ(info->max_deliver, -1);
  EXPECT_TRUE(info->backoff);
  EXPECT_TRUE(info->several_filters);
  EXPECT_TRUE(info->headers_only);
  EXPECT_EQ(info->inactive_threshold, std::chrono::seconds(5));
  EXPECT_EQ(info->pending, 3U);
  EXPECT_EQ(info->ack_pending, 2U);
  EXPECT_EQ(info->waiting, 1U);
}

TEST(ApiJson, MembersOfTheWrongTypeReadAsAbsent) {
  const auto info = parse_consumer_info(
      R"({"name":"C","created":"x","config":{"ack_wait":"soon","backoff":3,"max_deliver":"many"},
      "num_pending":-1})");
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->ack_wait, Duration{});
  EXPECT_FALSE(info->backoff);
  EXPECT_EQ(info->pending, 0U);
}

TEST(ApiJson, APatchKeepsWhatItDoesNotName) {
  EXPECT_EQ(patch_object(R"({"a":1,"unknown":{"x":[1,2]},"b":"c"})",
                         {{"a", "2"}, {"b", std::nullopt}, {"d", "\"e\""}}),
            R"({"a":2,"d":"e","unknown":{"x":[1,2]}})");
  EXPECT_EQ(json_text(std::vector<std::string>{"a", "b\"c"}), R"(["a","b\"c"])");
}

}  // namespace
}  // namespace sendonce
