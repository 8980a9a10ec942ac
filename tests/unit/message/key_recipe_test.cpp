#include "plugin/message/key_recipe.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sendonce {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

KeyRecipe recipe(const std::vector<std::string>& fields) {
  const auto made = make_recipe("orders", fields);
  EXPECT_TRUE(made) << made.error().text;
  return *made;
}

std::string refusal(const std::vector<std::string>& fields) {
  const auto made = make_recipe("orders", fields);
  if (made) return "accepted";
  EXPECT_EQ(made.error().code, Errc::invalid);
  return made.error().text;
}

TEST(MakeRecipe, IsASetInNoOrder) {
  const KeyRecipe usual = recipe({"event_id", "recipient", "channel", "template"});
  EXPECT_EQ(usual, recipe({"template", "channel", "recipient", "event_id"}));
  EXPECT_EQ(usual.scope, "orders");
  EXPECT_EQ(recipe_text(usual), "1:event_id,recipient,channel,template");
  EXPECT_EQ(recipe_text(recipe({"template", "campaign_id"})), "1:template,campaign_id");
}

TEST(MakeRecipe, RefusesWhatDiffersBetweenAttempts) {
  for (const std::string field :
       {"received_at", "stored_at", "time", "timestamp", "delivery_count", "attempt", "sequence",
        "stream_sequence", "random", "uuid", "provider", "provider_id", "message_id", "expires_at",
        "registered_at"})
    EXPECT_THAT(refusal({"event_id", field}),
                StartsWith('"' + field + "\" can differ between two attempts"));
}

TEST(MakeRecipe, RefusesWhatTheKeyHasAnyway) {
  for (const std::string field : {"token", "destination", "phone", "email", "url", "subscription"})
    EXPECT_THAT(refusal({"event_id", field}), HasSubstr("always part of the key"));
  EXPECT_THAT(refusal({"idempotency_key"}), HasSubstr("by itself"));
}

TEST(MakeRecipe, RefusesContentUnknownRepeatedAndEmpty) {
  EXPECT_THAT(refusal({"event_id", "body"}), HasSubstr("is content"));
  EXPECT_THAT(refusal({"eventid"}), HasSubstr("did you mean event_id?"));
  EXPECT_THAT(refusal({"wibble"}),
              HasSubstr("choose from event_id, recipient, channel, template or campaign_id"));
  EXPECT_THAT(refusal({"event_id", "event_id"}), StartsWith("event_id is named twice"));
  EXPECT_THAT(refusal({}), StartsWith("names neither event_id nor campaign_id"));
  EXPECT_THAT(refusal({"recipient", "template"}), StartsWith("names neither"));
}

TEST(KeyField, FieldsAreThoseOfTheEnvelope) {
  Notification n;
  n.event_id = "e";
  n.recipient = "r";
  n.template_id = "t";
  n.campaign_id = "c";
  EXPECT_EQ(value_of(*key_field_from("event_id"), n), "e");
  EXPECT_EQ(value_of(*key_field_from("recipient"), n), "r");
  EXPECT_EQ(value_of(*key_field_from("channel"), n), "push");
  EXPECT_EQ(value_of(*key_field_from("template"), n), "t");
  EXPECT_EQ(value_of(*key_field_from("campaign_id"), n), "c");
  EXPECT_FALSE(key_field_from("template_id"));
}

}  // namespace
}  // namespace sendonce
