#include "plugin/message/trace_context.hpp"

#include <string>

#include <gtest/gtest.h>

namespace sendonce {
namespace {

constexpr std::string_view kTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

std::string_view read(std::string_view value) {
  static MessageHeaders headers;
  headers = {{"Nats-Msg-Id", "1"}, {"traceparent", std::string(value)}};
  return traceparent_of(headers);
}

TEST(TraceContextTest, IsTakenAsItCame) {
  EXPECT_EQ(read(kTrace), kTrace);
  EXPECT_EQ(trace_id_of(kTrace), "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(trace_id_of(""), "");
  const MessageHeaders other_case{{"TraceParent", std::string(kTrace)}};
  EXPECT_EQ(traceparent_of(other_case), kTrace);
  const MessageHeaders binary_mode{{"ce-traceparent", std::string(kTrace)},
                                   {"traceparent", std::string(kTrace)}};
  EXPECT_EQ(traceparent_of(binary_mode), kTrace);
  EXPECT_EQ(traceparent_of({}), "");
}

TEST(TraceContextTest, WhatIsMalformedIsIgnored) {
  for (const std::string_view bad :
       {"", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0g",
        "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        "00-\"af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
    EXPECT_EQ(read(bad), "") << bad;
}

TEST(TraceContextTest, TwoThatDifferAreNone) {
  const MessageHeaders headers{
      {"traceparent", std::string(kTrace)},
      {"traceparent", "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}};
  EXPECT_EQ(traceparent_of(headers), "");
}

}  // namespace
}  // namespace sendonce
