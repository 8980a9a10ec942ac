// Delivery keys and everything else that is derived from a notification by hashing
// (docs/formats.md, "Keys"). Stored in ledgers and computed by producers: a change of any of it
// makes old sends look new. The golden values in tests/unit/message/key_test.cpp hold it in place.
#pragma once

#include <string>
#include <string_view>

#include "plugin/core/error.hpp"
#include "plugin/core/ids.hpp"
#include "plugin/core/secret.hpp"
#include "plugin/crypto/digest.hpp"
#include "plugin/message/key_recipe.hpp"
#include "plugin/message/notification.hpp"

namespace sendonce {

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
  [[nodiscard]] LookupHash event_lookup(std::string_view event_id) const;
  [[nodiscard]] LookupHash recipient_lookup(std::string_view recipient) const;
  [[nodiscard]] LookupHash campaign_lookup(std::string_view campaign_id) const;

 private:
  void add_destination(ProviderKind kind, std::string_view app_scope, const Destination& normal);

  Credential secret_;
  Sha256 sha_{};
};

// UUID version 8 (RFC 9562 5.8) from the first 16 bytes.
[[nodiscard]] Nid nid_from(const NidDigest& digest);

// 32 base64url characters of the digest: a collapse id that every push provider takes (Web Push
// Topic has the least room, RFC 8030 5.4).
[[nodiscard]] std::string collapse_from(const NidDigest& digest);

}  // namespace sendonce
