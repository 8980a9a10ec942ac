#include "config/recipe.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "config/nearest.hpp"
#include "config/value.hpp"

namespace sendonce {
namespace {

constexpr std::array<std::string_view, 5> kFields{"event_id", "recipient", "channel", "template",
                                                  "campaign_id"};

constexpr std::array<std::string_view, 21> kUnstable{
    "received_at",     "received",      "time",    "timestamp", "now",      "stored_at",
    "delivery_count",  "deliveries",    "attempt", "attempts",  "sequence", "seq",
    "stream_sequence", "random",        "uuid",    "nonce",     "provider", "provider_id",
    "expires_at",      "registered_at", "ref"};

constexpr std::array<std::string_view, 7> kDestinations{
    "destination", "target", "token", "phone", "email", "url", "subscription"};

constexpr std::array<std::string_view, 6> kContent{"notification", "title", "body",
                                                   "data",         "html",  "overrides"};

bool is_in(std::span<const std::string_view> names, std::string_view text) {
  return std::ranges::find(names, text) != names.end();
}

bool lacks(const std::vector<std::string>& fields, RecipeField field) {
  return std::ranges::find(fields, name(field)) == fields.end();
}

// What an event-based recipe would better hold. Campaigns go by campaign and destination.
void judge_reach(const std::vector<std::string>& fields, std::vector<RecipeFault>& out) {
  const bool campaign = !lacks(fields, RecipeField::campaign_id);
  if (lacks(fields, RecipeField::event_id) && !campaign)
    out.push_back({Severity::error, "names neither event_id nor campaign_id",
                   "add one of them: without it two events of one recipient are taken for one"});
  if (campaign) return;
  for (const RecipeField field : {RecipeField::recipient, RecipeField::channel})
    if (lacks(fields, field))
      out.push_back({Severity::warning, "lacks " + std::string(name(field)),
                     "add it, or be sure that each event has only one"});
}

}  // namespace

std::optional<RecipeField> recipe_field_from(std::string_view text) {
  const auto found = std::ranges::find(kFields, text);
  if (found == kFields.end()) return std::nullopt;
  return static_cast<RecipeField>(found - kFields.begin());
}

std::string_view name(RecipeField field) {
  return kFields[static_cast<std::size_t>(field)];
}

std::string_view value_of(RecipeField field, const Notification& notification) {
  switch (field) {
    case RecipeField::event_id:
      return notification.event_id;
    case RecipeField::recipient:
      return notification.recipient;
    case RecipeField::channel:
      return name(notification.channel);
    case RecipeField::template_id:
      return notification.template_id;
    case RecipeField::campaign_id:
      return notification.campaign_id;
  }
  return {};
}

FieldFault field_fault(std::string_view text) {
  const std::string quoted = "\"" + std::string(text.substr(0, 64)) + "\"";
  const std::string choose = "choose from " + list_of(kFields);
  if (is_in(kUnstable, text))
    return {quoted + " can differ between two attempts at the same notification", choose};
  if (is_in(kDestinations, text))
    return {quoted + " is the destination, which is always part of the key", "leave it out"};
  if (is_in(kContent, text))
    return {quoted + " is content, which does not make a notification another one", choose};
  if (text == "idempotency_key")
    return {quoted + " takes the place of event_id and template by itself", "leave it out"};
  const std::string_view close = nearest(text, kFields);
  return {quoted + " is no field of the envelope that may be used",
          close.empty() ? choose : "did you mean " + std::string(close) + "? " + choose};
}

std::vector<RecipeFault> judge_recipe(const std::vector<std::string>& fields) {
  std::vector<RecipeFault> out;
  for (auto field = fields.begin(); field != fields.end(); ++field) {
    if (!recipe_field_from(*field)) {
      FieldFault fault = field_fault(*field);
      out.push_back({Severity::error, std::move(fault.text), std::move(fault.remedy)});
    } else if (std::find(fields.begin(), field, *field) != field) {
      out.push_back({Severity::error, "names " + *field + " twice", "keep one of the two"});
    }
  }
  if (out.empty()) judge_reach(fields, out);
  return out;
}

}  // namespace sendonce
