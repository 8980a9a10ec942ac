#include "plugin/message/key_recipe.hpp"

#include <algorithm>
#include <array>

#include "plugin/core/nearest.hpp"

namespace sendonce {
namespace {

constexpr std::array<std::string_view, kKeyFields> kNames{"event_id", "recipient", "channel",
                                                          "template", "campaign_id"};

constexpr std::array<std::string_view, 27> kUnstable{"receipt_time",
                                                     "published_at",
                                                     "delivered",
                                                     "consumer_sequence",
                                                     "message_id",
                                                     "provider_message_id",
                                                     "received_at",
                                                     "received",
                                                     "time",
                                                     "timestamp",
                                                     "now",
                                                     "stored_at",
                                                     "delivery_count",
                                                     "deliveries",
                                                     "attempt",
                                                     "attempts",
                                                     "sequence",
                                                     "seq",
                                                     "stream_sequence",
                                                     "random",
                                                     "uuid",
                                                     "nonce",
                                                     "provider",
                                                     "provider_id",
                                                     "expires_at",
                                                     "registered_at",
                                                     "ref"};

constexpr std::array<std::string_view, 7> kDestinations{
    "destination", "target", "token", "phone", "email", "url", "subscription"};

constexpr std::array<std::string_view, 6> kContent{"notification", "title", "body",
                                                   "data",         "html",  "overrides"};

bool is_in(std::span<const std::string_view> names, std::string_view text) {
  return std::ranges::find(names, text) != names.end();
}

std::string choice() {
  std::string out = "choose from ";
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (i > 0) out.append(i + 1 == kNames.size() ? " or " : ", ");
    out.append(kNames[i]);
  }
  return out;
}

}  // namespace

std::optional<KeyField> key_field_from(std::string_view text) {
  const auto found = std::ranges::find(kNames, text);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<KeyField>(found - kNames.begin());
}

std::string_view name(KeyField field) {
  return kNames.at(static_cast<std::size_t>(field));
}

std::string_view value_of(KeyField field, const Notification& notification) {
  switch (field) {
    case KeyField::event_id:
      return notification.event_id;
    case KeyField::recipient:
      return notification.recipient;
    case KeyField::channel:
      return name(notification.channel);
    case KeyField::template_id:
      return notification.template_id;
    case KeyField::campaign_id:
      return notification.campaign_id;
  }
  SO_ASSERT(false);
}

FieldFault field_fault(std::string_view text) {
  const std::string quoted = "\"" + std::string(text.substr(0, 64)) + "\"";
  const std::string choose = choice();
  if (is_in(kUnstable, text))
    return {quoted + " can differ between two attempts at the same notification", choose};
  if (is_in(kDestinations, text))
    return {quoted + " is the destination, which is always part of the key", "leave it out"};
  if (is_in(kContent, text))
    return {quoted + " is content, which does not make a notification another one", choose};
  if (text == "idempotency_key")
    return {quoted + " takes the place of event_id and template by itself", "leave it out"};
  const std::string_view close = nearest(text, kNames);
  return {quoted + " is no field of the envelope that may be used",
          close.empty() ? choose : "did you mean " + std::string(close) + "? " + choose};
}

Result<KeyRecipe> make_recipe(std::string_view scope, std::span<const std::string> fields) {
  KeyRecipe recipe{.scope = std::string(scope)};
  for (const std::string& text : fields) {
    const auto field = key_field_from(text);
    if (!field) {
      const FieldFault fault = field_fault(text);
      return fail(Errc::invalid, fault.text + ": " + fault.remedy);
    }
    if (recipe.has(*field))
      return fail(Errc::invalid, text + " is named twice: keep one of the two");
    recipe.fields = static_cast<std::uint8_t>(recipe.fields | 1U << static_cast<unsigned>(*field));
  }
  if (!recipe.has(KeyField::event_id) && !recipe.has(KeyField::campaign_id))
    return fail(Errc::invalid,
                "names neither event_id nor campaign_id: without one of them two events of one "
                "recipient are taken for one");
  return recipe;
}

std::string recipe_text(const KeyRecipe& recipe) {
  std::string out = std::to_string(recipe.version);
  char separator = ':';
  for (std::size_t i = 0; i < kKeyFields; ++i) {
    const auto field = static_cast<KeyField>(i);
    if (!recipe.has(field)) continue;
    out.push_back(separator);
    out.append(name(field));
    separator = ',';
  }
  return out;
}

}  // namespace sendonce
