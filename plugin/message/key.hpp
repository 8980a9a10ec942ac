// Delivery keys and everything else that is derived from a notification by hashing
// (docs/formats.md, "Keys"). Stored in ledgers and computed by producers: a change of any of it
// makes old sends look new. The golden values in tests/unit/message/key_test.cpp hold it in place.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "plugin/core/error.hpp"
#include "plugin/core/ids.hpp"
#include "plugin/core/secret.hpp"
#include "plugin/crypto/digest.hpp"
#include "plugin/message/notification.hpp"

namespace sendonce {

inline constexpr std::uint8_t kRecipeVersion = 1;

// Which members of an envelope make a notification the same one; a set, in no order.
enum class KeyField : std::uint8_t { event_id, recipient, channel, template_id, campaign_id };
[[nodiscard]] std::string_view name(KeyField field);

struct KeyRecipe {
  std::uint8_t version = kRecipeVersion;
  std::string scope{};      // of the class: its key_scope
  std::uint8_t fields = 0;  // bit i: KeyField i
  friend bool operator==(const KeyRecipe&, const KeyRecipe&) = default;
  [[nodiscard]] bool has(KeyField field) const {
    return (fields >> static_cast<unsigned>(field) & 1U) != 0;
  }
};

// invalid: an unknown or repeated name; one of something that differs between attempts or that the
// key has anyway (each is refused by name, with the reason); no field that names an event. The
// caller adds where the list stands.
[[nodiscard]] Result<KeyRecipe> make_recipe(std::string_view scope,
                                            std::span<const std::string> fields);

// "1:event_id,recipient,channel,template": what a ledger stores to see that a recipe has changed.
[[nodiscard]] std::string recipe_text(const KeyRecipe& recipe);

// Keeps a digest context. One thread. Phone numbers and addresses go in under HMAC with the
// ledger's secret and never plainly: the few there are could be tried out.
class KeyMaker {
 public:
  explicit KeyMaker(Credential ledger_secret);  // at least 16 bytes

  // invalid: the notification lacks a field that the recipe names; the text has its path.
  [[nodiscard]] Result<NidDigest> nid_digest(const KeyRecipe& recipe,
                                             const Notification& notification);

  // `app_scope` is the provider's and counts for push alone: elsewhere the destination means the
  // same whoever delivers. `normal` is the destination in its normal form.
  [[nodiscard]] Key delivery_key(const NidDigest& nid, ProviderKind kind,
                                 std::string_view app_scope, const Destination& normal);
  [[nodiscard]] DeviceHash device_hash(ProviderKind kind, std::string_view app_scope,
                                       const Destination& normal);

  // Of the content for a target of this kind (law 10).
  [[nodiscard]] Fingerprint fingerprint(const Notification& notification, ProviderKind kind);

  // By which an operator finds rows again; absent for an empty value.
  [[nodiscard]] LookupHash event_lookup(std::string_view event_id);
  [[nodiscard]] LookupHash recipient_lookup(std::string_view recipient);
  [[nodiscard]] LookupHash campaign_lookup(std::string_view campaign_id);

 private:
  void add_destination(ProviderKind kind, std::string_view app_scope, const Destination& normal);
  [[nodiscard]] LookupHash lookup(std::string_view what, std::string_view value);

  Credential secret_;
  Sha256 sha_{};
};

// UUID version 8 (RFC 9562 5.8) from the first 16 bytes.
[[nodiscard]] Nid nid_from(const NidDigest& digest);

// 32 base64url characters of the digest: a collapse id that every push provider takes (Web Push
// Topic has the least room, RFC 8030 5.4).
[[nodiscard]] std::string collapse_from(const NidDigest& digest);

}  // namespace sendonce
