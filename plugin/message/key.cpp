#include "plugin/message/key.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "plugin/core/assert.hpp"
#include "plugin/core/text.hpp"
#include "plugin/crypto/lookup_hash.hpp"
#include "plugin/message/json_path.hpp"

namespace sendonce {
namespace {

constexpr std::string_view kNidDomain = "sendonce/nid";
constexpr std::string_view kKeyDomain = "sendonce/key/1";
constexpr std::string_view kDeviceDomain = "sendonce/device/1";
constexpr std::string_view kFingerprintDomain = "sendonce/fingerprint/1";
constexpr std::string_view kDestinationDomain = "sendonce/destination/1";

bool replaced_by_idempotency_key(KeyField field) {
  return field == KeyField::event_id || field == KeyField::template_id;
}

bool is_push(ProviderKind kind) {
  switch (kind) {
    case ProviderKind::apns:
    case ProviderKind::fcm:
    case ProviderKind::webpush:
    case ProviderKind::push:
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
  for (std::size_t i = 0; i < kKeyFields; ++i) {
    const auto field = static_cast<KeyField>(i);
    if (!recipe.has(field) || (explicit_key && replaced_by_idempotency_key(field))) continue;
    const std::string_view value = value_of(field, notification);
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

LookupHash KeyMaker::event_lookup(std::string_view event_id) const {
  return lookup_hash(secret_.expose(), event_id);
}

LookupHash KeyMaker::recipient_lookup(std::string_view recipient) const {
  return lookup_hash(secret_.expose(), recipient);
}

LookupHash KeyMaker::campaign_lookup(std::string_view campaign_id) const {
  return lookup_hash(secret_.expose(), campaign_id);
}

Nid nid_from(const NidDigest& digest) {
  Nid nid;
  std::memcpy(nid.bytes.data(), digest.bytes.data(), Nid::kSize);
  mark_uuid_v8(nid.bytes);
  return nid;
}

std::string collapse_from(const NidDigest& digest) {
  return base64url(digest.view().substr(0, 24));
}

}  // namespace sendonce
