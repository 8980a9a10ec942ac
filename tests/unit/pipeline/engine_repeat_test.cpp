// The policy `resend-with-key`: a repeat sends the same bytes while its key is known, or nothing.
#include "tests/unit/pipeline/engine_fixture.hpp"

namespace sendonce::test {
namespace {

class EngineRepeat : public EngineTest {
 protected:
  void SetUp() override {
    provider.caps.idempotency_key = true;
    provider.caps.idempotency_window = hours(1);
    start(AmbiguityPolicy::resend_with_key);
    arrive(message(1, token("aa")));
    transport.open.clear();  // and the process dies
  }
  void live_again() {
    restart(AmbiguityPolicy::resend_with_key);
    arrive(message(1, token("aa")));
  }
};

TEST_F(EngineRepeat, TheSameBytesAreSentAgain) {
  live_again();
  EXPECT_EQ(transport.submitted, 2U);
  EXPECT_EQ(counters().repeats_in_doubt, 1U);
}

TEST_F(EngineRepeat, OtherBytesAreNot) {
  provider.body_prefix = "Shop: ";
  live_again();
  EXPECT_EQ(transport.submitted, 1U);
  EXPECT_EQ(counters().unknown, 1U);
}

// The message comes back with the time at which it was stored.
TEST_F(EngineRepeat, NothingIsSentWhenTheKeyMayBeForgotten) {
  provider.caps.idempotency_window = minutes(1);
  clock.advance(seconds(55));
  live_again();
  EXPECT_EQ(transport.submitted, 1U) << "the call could end after the window";
  EXPECT_EQ(counters().unknown, 1U);
}

}  // namespace
}  // namespace sendonce::test
