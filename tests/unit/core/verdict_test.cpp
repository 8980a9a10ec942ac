#include "plugin/core/verdict.hpp"

#include <gtest/gtest.h>

namespace sendonce {
namespace {

// Names stand in events, metrics and commands: a change breaks those who read them.
TEST(Verdict, EffectNames) {
  EXPECT_EQ(name(Effect::not_sent), "not_sent");
  EXPECT_EQ(name(Effect::maybe_sent), "maybe_sent");
  EXPECT_EQ(name(Effect::sent), "sent");
}

TEST(Verdict, EffectsOrderByHowMuchIsKnownToHaveLeft) {
  EXPECT_LT(Effect::not_sent, Effect::maybe_sent);
  EXPECT_LT(Effect::maybe_sent, Effect::sent);
}

TEST(Verdict, FaultNames) {
  EXPECT_EQ(name(Fault::none), "none");
  EXPECT_EQ(name(Fault::device), "device");
  EXPECT_EQ(name(Fault::mismatch), "mismatch");
  EXPECT_EQ(name(Fault::auth), "auth");
  EXPECT_EQ(name(Fault::request), "request");
  EXPECT_EQ(name(Fault::config), "config");
  EXPECT_EQ(name(Fault::throttle), "throttle");
  EXPECT_EQ(name(Fault::provider), "provider");
}

TEST(Verdict, ScopeNames) {
  EXPECT_EQ(name(FaultScope::delivery), "delivery");
  EXPECT_EQ(name(FaultScope::device), "device");
  EXPECT_EQ(name(FaultScope::part), "part");
  EXPECT_EQ(name(FaultScope::provider), "provider");
}

TEST(Verdict, ClassNames) {
  EXPECT_EQ(name(VerdictClass::accepted), "accepted");
  EXPECT_EQ(name(VerdictClass::retryable), "retryable");
  EXPECT_EQ(name(VerdictClass::throttled), "throttled");
  EXPECT_EQ(name(VerdictClass::token_terminal), "token_terminal");
  EXPECT_EQ(name(VerdictClass::token_mismatch), "token_mismatch");
  EXPECT_EQ(name(VerdictClass::provider_auth), "provider_auth");
  EXPECT_EQ(name(VerdictClass::payload_error), "payload_error");
  EXPECT_EQ(name(VerdictClass::config_error), "config_error");
  EXPECT_EQ(name(VerdictClass::ambiguous), "ambiguous");
}

TEST(Verdict, NothingIsAssumedUnsentByDefault) {
  EXPECT_EQ(Verdict().effect, Effect::maybe_sent);
  EXPECT_EQ(Verdict().name, VerdictClass::ambiguous);
}

}  // namespace
}  // namespace sendonce
