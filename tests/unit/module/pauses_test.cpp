// What is paused stays so over restarts, and a list that cannot be read is not taken for an empty
// one.
#include "plugin/module/pauses.hpp"

#include <gtest/gtest.h>

#include "tests/support/temp_dir.hpp"

namespace sendonce::test {
namespace {

TEST(Pauses, nothing_without_a_file) {
  const TempDir dir;
  const auto pauses = Pauses::load(dir.path().string());
  ASSERT_TRUE(pauses.has_value());
  EXPECT_TRUE(pauses->classes().empty());
  EXPECT_TRUE(pauses->providers().empty());
}

TEST(Pauses, outlive_who_made_them) {
  const TempDir dir;
  {
    auto pauses = Pauses::load(dir.path().string());
    ASSERT_TRUE(pauses.has_value());
    ASSERT_TRUE(pauses->set(Pausable::message_class, "otp", "by alice: \"why\"\n").has_value());
    ASSERT_TRUE(pauses->set(Pausable::provider, "apns", "by bob").has_value());
    ASSERT_TRUE(pauses->set(Pausable::provider, "fcm", "by bob").has_value());
    ASSERT_TRUE(pauses->set(Pausable::provider, "fcm", "").has_value());
  }
  const auto again = Pauses::load(dir.path().string());
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->classes(), (Pauses::Reasons{{"otp", "by alice: \"why\"\n"}}));
  EXPECT_EQ(again->providers(), (Pauses::Reasons{{"apns", "by bob"}}));
}

TEST(Pauses, a_damaged_list_is_an_error) {
  for (const char* text : {"", "{", "[]", "{}", R"({"classes":{},"providers":7})",
                           R"({"classes":{"a":1},"providers":{}})"}) {
    const TempDir dir;
    dir.write("paused.json", text);
    EXPECT_FALSE(Pauses::load(dir.path().string()).has_value()) << text;
  }
}

TEST(Pauses, what_cannot_be_stored_is_not_said_to_be) {
  const TempDir dir;
  auto pauses = Pauses::load((dir / "gone").string());
  ASSERT_TRUE(pauses.has_value());
  EXPECT_FALSE(pauses->set(Pausable::provider, "apns", "by bob").has_value());
  EXPECT_TRUE(pauses->providers().empty());
}

}  // namespace
}  // namespace sendonce::test
