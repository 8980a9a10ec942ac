#include "plugin/message/key.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "plugin/core/assert.hpp"
#include "plugin/core/nearest.hpp"
#include "plugin/core/text.hpp"
#include "plugin/message/json_path.hpp"

namespace sendonce {
namespace {

constexpr std::string_view kNidDomain = "sendonce/nid";
constexpr std::string_view kKeyDomain = "sendonce/key/1";
constexpr std::string_view kDeviceDomain = "sendonce/device/1";
constexpr std::string_view kFingerprintDomain = "sendonce/fingerprint/1";
constexpr std::string_view kLookupDomain = "sendonce/lookup/1";
constexpr std::string_view kDestinationDomain = "sendonce/destination/1";

constexpr std::array kFields{KeyField::event_id, KeyField::recipient, KeyField::channel,
                             KeyField::template_id, KeyField::campaign_id};
constexpr std::array<std::string_view, 5> kFieldNames{"event_id", "recipient", "channel",
                                                      "template", "campaign_id"};

struct RefusedField {
  std::string_view name{};
  std::string_view why{};
};
constexpr std::string_view kDiffers =
    "differs between attempts at the same notification, so that a repeat would look new";
constexpr std::string_view kInKey = "is always part of the delivery key and never of the recipe";
constexpr std::string_view kReplaces =
    "replaces event_id and template by itself wherever an envelope has it";
constexpr std::array<RefusedField, 30> kRefused{{
    {"received_at", kDiffers},
    {"receipt_time", kDiffers},
    {"stored_at", kDiffers},
    {"published_at", kDiffers},
    {"timestamp", kDiffers},
    {"time", kDiffers},
    {"now", kDiffers},
    {"expires_at", kDiffers},
    {"registered_at", kDiffers},
    {"delivery_count", kDiffers},
    {"delivered", kDiffers},
    {"attempt", kDiffers},
    {"attempts", kDiffers},
    {"sequence", kDiffers},
    {"seq", kDiffers},
    {"stream_sequence", kDiffers},
    {"consumer_sequence", kDiffers},
    {"message_id", kDiffers},
    {"random", kDiffers},
    {"uuid", kDiffers},
    {"provider", kDiffers},
    {"provider_id", kDiffers},
    {"provider_message_id", kDiffers},
    {"destination", kInKey},
    {"token", kInKey},
    {"subscription", kInKey},
    {"phone", kInKey},
    {"email", kInKey},
    {"url", kInKey},
    {"idempotency_key", kReplaces},
}};

std::string field_list() {
  std::string out;
  for (const std::string_view field : kFieldNames)
    out.append(out.empty() ? "" : ", ").append(field);
  return out;
}

Result<KeyField> field_from(const std::string& text) {
  for (std::size_t i = 0; i < kFieldNames.size(); ++i)
    if (kFieldNames[i] == text) return kFields[i];
  for (const RefusedField& refused : kRefused)
    if (refused.name == text) return fail(Errc::invalid, text + " " + std::string(refused.why));
  const std::string_view near = nearest_name(text, kFieldNames);
  if (!near.empty())
    return fail(Errc::invalid,
                "unknown key field " + text + "; did you mean " + std::string(near) + "?");
  return fail(Errc::invalid, "unknown key field " + text + "; allowed are " + field_list());
}

std::string_view value_of(const Notification& notification, KeyField field) {
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

bool replaced_by_idempotency_key(KeyField field) {
  return field == KeyField::event_id || field == KeyField::template_id;
}

bool is_push(ProviderKind kind) {
  switch (kind) {
    case ProviderKind::apns:
    case ProviderKind::fcm:
    case ProviderKind::webpush:
      return true;
    case ProviderKind::sms:
    case ProviderKind::email:
    case ProviderKind::http:
      return false;
  }
  SO_ASSERT(false);
}

bool is_personal(ProviderKind kind) {
  return kind == ProviderKind::sms || kind == ProviderKind::email;
}

template <class Id>
Id leading_bytes(const Sha256Digest& digest) {
  static_assert(Id::kSize <= std::tuple_size_v<Sha256Digest>);
  Id id;
  std::memcpy(id.bytes.data(), digest.data(), Id::kSize);
  return id;
}

}  // namespace

std::string_view name(KeyField field) {
  return kFieldNames[static_cast<std::size_t>(field)];
}

Result<KeyRecipe> make_recipe(std::string_view scope, std::span<const std::string> fields) {
  KeyRecipe recipe{.scope = std::string(scope)};
  for (const std::string& text : fields) {
    SO_TRY(const KeyField field, field_from(text));
    if (recipe.has(field)) return fail(Errc::invalid, text + " is named twice");
    recipe.fields = static_cast<std::uint8_t>(recipe.fields | 1U << static_cast<unsigned>(field));
  }
  if (!recipe.has(KeyField::event_id) && !recipe.has(KeyField::campaign_id) &&
      !recipe.has(KeyField::template_id))
    return fail(Errc::invalid,
                "names none of event_id, campaign_id and template: every later notification to the "
                "same destination would count as a repeat");
  return recipe;
}

std::string recipe_text(const KeyRecipe& recipe) {
  std::string out = std::to_string(recipe.version);
  char separator = ':';
  for (const KeyField field : kFields) {
    if (!recipe.has(field)) continue;
    out.push_back(separator);
    out.append(name(field));
    separator = ',';
  }
  return out;
}

KeyMaker::KeyMaker(Credential ledger_secret) : secret_(std::move(ledger_secret)) {
  SO_ASSERT(secret_.expose().size() >= 16);
}

Result<NidDigest> KeyMaker::nid_digest(const KeyRecipe& recipe, const Notification& notification) {
  const bool explicit_key = !notification.idempotency_key.empty();
  sha_.begin();
  sha_.update_field(kNidDomain);
  sha_.update_field(std::to_string(recipe.version));
  sha_.update_field(recipe.scope);
  if (explicit_key) {
    sha_.update_field("idempotency_key");
    sha_.update_field(notification.idempotency_key);
  }
  for (const KeyField field : kFields) {
    if (!recipe.has(field) || (explicit_key && replaced_by_idempotency_key(field))) continue;
    const std::string_view value = value_of(notification, field);
    if (value.empty())
      return JsonPath(JsonPath(), name(field)).refuse("is missing, and the class's key names it");
    sha_.update_field(name(field));
    sha_.update_field(value);
  }
  return leading_bytes<NidDigest>(sha_.finish());
}

void KeyMaker::add_destination(ProviderKind kind, std::string_view app_scope,
                               const Destination& normal) {
  const auto add = [this](std::string_view bytes) { sha_.update_field(bytes); };
  add(name(kind));
  add(is_push(kind) ? app_scope : std::string_view());
  if (!is_personal(kind)) return add(normal.expose());
  std::string tagged(kDestinationDomain);
  tagged.append("\n").append(name(kind)).append("\n").append(normal.expose());
  const Sha256Digest keyed = hmac_sha256(secret_.expose(), tagged);
  add({reinterpret_cast<const char*>(keyed.data()), keyed.size()});
}

Key KeyMaker::delivery_key(const NidDigest& nid, ProviderKind kind, std::string_view app_scope,
                           const Destination& normal) {
  sha_.begin();
  sha_.update_field(kKeyDomain);
  sha_.update_field(nid.view());
  add_destination(kind, app_scope, normal);
  return leading_bytes<Key>(sha_.finish());
}

DeviceHash KeyMaker::device_hash(ProviderKind kind, std::string_view app_scope,
                                 const Destination& normal) {
  sha_.begin();
  sha_.update_field(kDeviceDomain);
  add_destination(kind, app_scope, normal);
  return leading_bytes<DeviceHash>(sha_.finish());
}

Fingerprint KeyMaker::fingerprint(const Notification& notification, ProviderKind kind) {
  std::string_view own_overrides;
  for (const auto& [of_kind, text] : notification.overrides)
    if (of_kind == kind) own_overrides = text;
  sha_.begin();
  sha_.update_field(kFingerprintDomain);
  sha_.update_field(notification.canonical_content);
  sha_.update_field(own_overrides);
  return leading_bytes<Fingerprint>(sha_.finish());
}

LookupHash KeyMaker::lookup(std::string_view what, std::string_view value) {
  if (value.empty()) return {};
  sha_.begin();
  sha_.update_field(kLookupDomain);
  sha_.update_field(secret_.expose());
  sha_.update_field(what);
  sha_.update_field(value);
  const Sha256Digest digest = sha_.finish();
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < sizeof hash; ++i) hash = hash << 8U | digest.at(i);
  return LookupHash(std::max<std::uint64_t>(hash, 1));  // 0 means absent
}

LookupHash KeyMaker::event_lookup(std::string_view event_id) {
  return lookup("event", event_id);
}

LookupHash KeyMaker::recipient_lookup(std::string_view recipient) {
  return lookup("recipient", recipient);
}

LookupHash KeyMaker::campaign_lookup(std::string_view campaign_id) {
  return lookup("campaign", campaign_id);
}

Nid nid_from(const NidDigest& digest) {
  Nid nid;
  std::memcpy(nid.bytes.data(), digest.bytes.data(), Nid::kSize);
  nid.bytes[6] = static_cast<std::uint8_t>((nid.bytes[6] & 0x0FU) | 0x80U);
  nid.bytes[8] = static_cast<std::uint8_t>((nid.bytes[8] & 0x3FU) | 0x80U);
  return nid;
}

std::string collapse_from(const NidDigest& digest) {
  return base64url(digest.view().substr(0, 24));
}

}  // namespace sendonce
