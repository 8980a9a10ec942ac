#include "plugin/broker/nats/ack_reply.hpp"

#include <string>

#include <gtest/gtest.h>

namespace sendonce {
namespace {

TEST(AckReply, ReadsTheShortForm) {
  const std::string text = "$JS.ACK.NOTIFY.sendonce_otp.2.17.42.1700000000000000123.9";
  const auto reply = parse_ack_reply(text);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->stream, "NOTIFY");
  EXPECT_EQ(reply->consumer, "sendonce_otp");
  EXPECT_EQ(reply->delivered, 2U);
  EXPECT_EQ(reply->stream_seq, 17U);
  EXPECT_EQ(reply->consumer_seq, 42U);
  EXPECT_EQ(reply->stored_at.time_since_epoch().count(), 1700000000000000123);
  EXPECT_EQ(reply->pending, 9U);
}

TEST(AckReply, ReadsTheLongFormsWithAndWithoutTheRandomToken) {
  for (const char* tail : {"", ".Xy3"}) {
    const std::string text =
        std::string("$JS.ACK.hub.ACCHASH.NOTIFY.sendonce_otp.1.17.42.1700000000000000000.9") + tail;
    const auto reply = parse_ack_reply(text);
    ASSERT_TRUE(reply.has_value()) << text;
    EXPECT_EQ(reply->stream, "NOTIFY");
    EXPECT_EQ(reply->consumer, "sendonce_otp");
    EXPECT_EQ(reply->stream_seq, 17U);
    EXPECT_EQ(reply->pending, 9U);
  }
}

TEST(AckReply, RefusesEverythingElse) {
  for (const char* text :
       {"", "$JS.ACK.", "$JS.ACK", "notify.otp.x", "$JS.ACK.S.C.1.2.3.4", "$JS.ACK.S.C.1.2.3.4.5.6",
        "$JS.ACK.S.C.x.2.3.4.5", "$JS.ACK.S.C.1.-2.3.4.5", "$JS.ACK..C.1.2.3.4.5",
        "$JS.ACK.S.C.1.2.3.4.", "$JS.ACK.S.C.99999999999.2.3.4.5",
        "$JS.ACK.S.C.1.2.3.18446744073709551615.5", "$JS.ACK.S.C.1.2.3.99999999999999999999.5",
        "$JS.ACK.a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q"})
    EXPECT_FALSE(parse_ack_reply(text).has_value()) << text;
}

}  // namespace
}  // namespace sendonce
