#include "plugin/message/members.hpp"

#include <array>

#include <gtest/gtest.h>

namespace sendonce {
namespace {

constexpr std::array<std::string_view, 3> kAllowed{"token", "phone", "ref"};

TEST(MemberSet, FindsEachInAnyOrder) {
  MemberSet members(kAllowed);
  EXPECT_EQ(members.meet("ref", JsonPath()), 2U);
  EXPECT_EQ(members.meet("token", JsonPath()), 0U);
  EXPECT_EQ(members.meet("phone", JsonPath()), 1U);
  EXPECT_TRUE(members.has(0) && members.has(1) && members.has(2));
}

TEST(MemberSet, KnowsWhatWasNotMet) {
  MemberSet members(kAllowed);
  EXPECT_TRUE(members.meet("phone", JsonPath()));
  EXPECT_FALSE(members.has(0));
  EXPECT_TRUE(members.has(1));
}

TEST(MemberSet, RefusesTwice) {
  MemberSet members(kAllowed);
  EXPECT_TRUE(members.meet("ref", JsonPath()));
  const auto again = members.meet("ref", JsonPath());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().text, "$.ref: the member is given twice");
}

TEST(MemberSet, NamesTheNearest) {
  const auto slip = MemberSet(kAllowed).meet("tokne", JsonPath(JsonPath(), std::size_t{3}));
  ASSERT_FALSE(slip);
  EXPECT_EQ(slip.error().text, "$[3].tokne: unknown member; did you mean token?");
}

TEST(MemberSet, ListsWhatIsAllowedWhenNothingIsNear) {
  const auto strange = MemberSet(kAllowed).meet("expiration", JsonPath());
  ASSERT_FALSE(strange);
  EXPECT_EQ(strange.error().text, "$.expiration: unknown member; allowed are token, phone, ref");
}

TEST(MemberSet, DoesNotPrintWhatMayBeADestination) {
  const auto strange = MemberSet(kAllowed).meet("jane@example.com", JsonPath());
  ASSERT_FALSE(strange);
  EXPECT_EQ(strange.error().text, "$.?: unknown member; allowed are token, phone, ref");
  EXPECT_FALSE(MemberSet(kAllowed).meet("", JsonPath()));
}

TEST(JsonPath, PrintsOnlyHarmlessNames) {
  EXPECT_EQ(printable_name("registered_at"), "registered_at");
  EXPECT_EQ(printable_name("content-available"), "content-available");
  EXPECT_EQ(printable_name("+4915112345678"), "?");
  EXPECT_EQ(printable_name("4915112345678"), "?");
  EXPECT_EQ(printable_name("a b"), "?");
  EXPECT_EQ(printable_name("line\nbreak"), "?");
  EXPECT_EQ(printable_name(""), "?");
  EXPECT_EQ(printable_name("f40f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad"),
            "?");
}

}  // namespace
}  // namespace sendonce
