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

TEST(Collapse, IsTextAndFields) {
  const CollapseTemplate parts = parse_collapse("a-{template}:{recipient}").value();
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_EQ(parts[0].literal, "a-");
  EXPECT_EQ(parts[1].field, KeyField::template_id);
  EXPECT_EQ(parts[2].literal, ":");
  EXPECT_EQ(parts[3].field, KeyField::recipient);
  EXPECT_EQ(parse_collapse("fixed").value().at(0).literal, "fixed");
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
