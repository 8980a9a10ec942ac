#include "config/collapse.hpp"

#include <gmock/gmock.h>

namespace sendonce::test {
namespace {

using testing::HasSubstr;

std::string fault(std::string_view text) {
  const auto parts = parse_collapse(text);
  EXPECT_FALSE(parts);
  return parts ? "" : parts.error().text;
}

TEST(Collapse, ExpandsFields) {
  Notification n;
  n.event_id = "e1";
  n.recipient = "u7";
  n.template_id = "otp";
  n.campaign_id = "spring";
  const auto expand = [&](std::string_view text) {
    return expand_collapse(parse_collapse(text).value(), n);
  };
  EXPECT_EQ(expand("{template}:{recipient}"), "otp:u7");
  EXPECT_EQ(expand("{event_id}{channel}"), "e1push");
  EXPECT_EQ(expand("fixed"), "fixed");
  EXPECT_EQ(expand("a-{campaign_id}-b"), "a-spring-b");
}

TEST(Collapse, RefusesOtherBraces) {
  for (const char* bad : {"{", "}", "a}", "{event_id", "{{event_id}}", "a{b{event_id}"})
    EXPECT_EQ(fault(bad), "braces do not match") << bad;
  EXPECT_THAT(fault("{evnt_id}"), HasSubstr("\"evnt_id\" is no field"));
  EXPECT_THAT(fault("{}"), HasSubstr("is no field"));
  EXPECT_THAT(fault("{sequence}"), HasSubstr("can differ between two attempts"));
}

TEST(Collapse, KnowsItsShortestForm) {
  EXPECT_EQ(shortest_expansion(parse_collapse("ab{event_id}c{channel}").value()), 5U);
}

}  // namespace
}  // namespace sendonce::test
