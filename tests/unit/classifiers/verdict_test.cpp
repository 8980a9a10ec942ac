#include "plugin/core/verdict.hpp"

#include <gtest/gtest.h>

namespace sendonce::test {
namespace {

TEST(InLightOf, a_bad_token_counts_only_for_a_proven_sender) {
  Verdict v;
  v.name = VerdictClass::token_terminal;
  v.fault = Fault::device;
  v.scope = FaultScope::device;
  v.effect = Effect::not_sent;
  v.needs_proof = true;
  const Verdict proven = in_light_of(v, true);
  EXPECT_EQ(proven.name, VerdictClass::token_terminal);
  EXPECT_EQ(proven.fault, Fault::device);
  EXPECT_FALSE(proven.needs_proof);
  const Verdict unproven = in_light_of(v, false);
  EXPECT_EQ(unproven.name, VerdictClass::token_mismatch);
  EXPECT_EQ(unproven.fault, Fault::mismatch);
  EXPECT_EQ(unproven.effect, Effect::not_sent);
}

TEST(InLightOf, a_page_instead_of_an_answer_passes_where_the_url_has_worked) {
  Verdict v;
  v.name = VerdictClass::config_error;
  v.fault = Fault::config;
  v.scope = FaultScope::provider;
  v.passing_if_proven = true;
  EXPECT_EQ(in_light_of(v, false).name, VerdictClass::config_error);
  EXPECT_EQ(in_light_of(v, true).name, VerdictClass::retryable);
  EXPECT_EQ(in_light_of(v, true).fault, Fault::provider);
  EXPECT_EQ(in_light_of(v, true).scope, FaultScope::delivery);
}

TEST(InLightOf, everything_else_stays) {
  for (const bool proven : {false, true}) {
    Verdict v;
    v.name = VerdictClass::token_terminal;
    v.fault = Fault::device;
    EXPECT_EQ(in_light_of(v, proven).name, VerdictClass::token_terminal);
  }
}

}  // namespace
}  // namespace sendonce::test
