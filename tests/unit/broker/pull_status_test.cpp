#include "plugin/broker/nats/pull_status.hpp"

#include <gtest/gtest.h>

namespace sendonce {
namespace {

struct Known {
  int code;
  const char* text;
  PullEvent event;
};

class PullStatusTest : public ::testing::TestWithParam<Known> {};

TEST_P(PullStatusTest, IsUnderstood) {
  EXPECT_EQ(pull_status(GetParam().code, GetParam().text).event, GetParam().event)
      << GetParam().code << " " << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    All, PullStatusTest,
    ::testing::Values(Known{100, "Idle Heartbeat", PullEvent::heartbeat},
                      Known{404, "No Messages", PullEvent::no_messages},
                      Known{408, "Request Timeout", PullEvent::expired},
                      Known{408, "Interest Expired", PullEvent::expired},
                      Known{408, "Requests Pending", PullEvent::expired},
                      Known{409, "Batch Completed", PullEvent::over_bytes},
                      Known{409, "Message Size Exceeds MaxBytes", PullEvent::too_big},
                      Known{409, "Exceeded MaxWaiting", PullEvent::too_many_pulls},
                      Known{409, "Exceeded MaxRequestBatch of 10", PullEvent::batch_limit},
                      Known{409, "Exceeded MaxRequestExpires of 5s", PullEvent::expires_limit},
                      Known{409, "Exceeded MaxRequestMaxBytes of 900", PullEvent::bytes_limit},
                      Known{409, "Leadership Change", PullEvent::moving},
                      Known{409, "Server Shutdown", PullEvent::moving},
                      Known{409, "Consumer Deleted", PullEvent::consumer_deleted},
                      Known{409, "Consumer is push based", PullEvent::wrong_consumer},
                      Known{409, "Something new", PullEvent::other},
                      Known{400, "Bad Request - heartbeat value too large",
                            PullEvent::wrong_consumer},
                      Known{412, "Required Api Level", PullEvent::wrong_consumer},
                      Known{423, "Nats-Pin-Id mismatch", PullEvent::wrong_consumer},
                      Known{503, "", PullEvent::no_responders}, Known{500, "", PullEvent::other}));

TEST(PullStatus, ReadsTheLimits) {
  EXPECT_EQ(pull_status(409, "Exceeded MaxRequestBatch of 10").limit, 10U);
  EXPECT_EQ(pull_status(409, "Exceeded MaxRequestMaxBytes of 900").limit, 900U);
  EXPECT_EQ(pull_status(409, "Exceeded MaxRequestExpires of 1m30s").duration,
            std::chrono::seconds(90));
  EXPECT_EQ(pull_status(409, "Exceeded MaxRequestBatch of lots").limit, 0U);
  EXPECT_EQ(pull_status(409, "Exceeded MaxRequestExpires").duration, Duration{});
}

TEST(GoDuration, ReadsWhatGoWrites) {
  EXPECT_EQ(parse_go_duration("5s"), std::chrono::seconds(5));
  EXPECT_EQ(parse_go_duration("1h2m3.5s"), std::chrono::milliseconds(3'723'500));
  EXPECT_EQ(parse_go_duration("500ms"), std::chrono::milliseconds(500));
  EXPECT_EQ(parse_go_duration("100µs"), std::chrono::microseconds(100));
  EXPECT_EQ(parse_go_duration("7ns"), Duration(7));
  for (const char* text : {"", "5", "s", "-5s", "5 s", "5x", "1e300h"})
    EXPECT_FALSE(parse_go_duration(text).has_value()) << text;
}

}  // namespace
}  // namespace sendonce
