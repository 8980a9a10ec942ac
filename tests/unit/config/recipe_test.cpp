#include "config/recipe.hpp"

#include <gmock/gmock.h>

namespace sendonce::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Recipe, TheUsualOnesAreGood) {
  EXPECT_THAT(judge_recipe({"event_id", "recipient", "channel", "template"}), IsEmpty());
  EXPECT_THAT(judge_recipe({"event_id", "recipient", "channel"}), IsEmpty());
  EXPECT_THAT(judge_recipe({"campaign_id", "template"}), IsEmpty());
}

TEST(Recipe, RefusesWhatDiffersBetweenAttempts) {
  for (const char* field : {"received_at", "delivery_count", "sequence", "random", "provider",
                            "timestamp", "attempt", "stream_sequence", "provider_id"}) {
    const auto faults = judge_recipe({"event_id", "recipient", "channel", field});
    ASSERT_THAT(faults, SizeIs(1)) << field;
    EXPECT_EQ(faults.front().severity, Severity::error);
    EXPECT_THAT(faults.front().text, HasSubstr("can differ between two attempts")) << field;
  }
}

TEST(Recipe, RefusesDestinationContentAndUnknownFields) {
  const auto only = [](const char* field) {
    const auto faults = judge_recipe({"event_id", "recipient", "channel", field});
    EXPECT_THAT(faults, SizeIs(1)) << field;
    return faults.front();
  };
  EXPECT_THAT(only("destination").text, HasSubstr("always part of the key"));
  EXPECT_THAT(only("token").text, HasSubstr("always part of the key"));
  EXPECT_THAT(only("body").text, HasSubstr("is content"));
  EXPECT_THAT(only("idempotency_key").text, HasSubstr("by itself"));
  EXPECT_THAT(only("templat").remedy, HasSubstr("did you mean template?"));
  EXPECT_THAT(only("wibble").remedy, HasSubstr("choose from event_id"));
  EXPECT_THAT(only("event_id").text, HasSubstr("twice"));
}

TEST(Recipe, NeedsAnEventOrACampaign) {
  const auto faults = judge_recipe({"recipient", "channel", "template"});
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults.front().severity, Severity::error);
  EXPECT_EQ(faults.front().text, "names neither event_id nor campaign_id");
}

TEST(Recipe, WarnsOfANarrowOne) {
  const auto faults = judge_recipe({"event_id"});
  ASSERT_THAT(faults, SizeIs(2));
  EXPECT_EQ(faults.at(0).severity, Severity::warning);
  EXPECT_EQ(faults.at(0).text, "lacks recipient");
  EXPECT_EQ(faults.at(1).text, "lacks channel");
}

}  // namespace
}  // namespace sendonce::test
