#include "classifiers/webpush/webpush_encryption.hpp"

#include <array>
#include <utility>

#include "plugin/core/assert.hpp"
#include "plugin/core/text.hpp"
#include "plugin/crypto/aead.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kSaltBytes = 16;
constexpr std::size_t kAuthBytes = 16;
constexpr std::string_view kKeyInfo("WebPush: info\0", 14);
constexpr std::string_view kContentKeyInfo("Content-Encoding: aes128gcm\0", 28);
constexpr std::string_view kNonceInfo("Content-Encoding: nonce\0", 24);
// The record size is that of the largest body, so that every message is one record.
constexpr std::array<char, 4> kRecordSize{0, 0, 0x10, 0};
constexpr char kLastRecord = 2;

// Some browsers' code writes padding, which RFC 7515 has not.
std::string_view without_padding(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  return text;
}

// RFC 8291 3.3 and 3.4: the secret of the two keys, bound to the subscription's own.
Result<Credential> input_key(const SubscriptionKeys& keys, const P256Key& sender) {
  SO_TRY(const Credential common, sender.agree(keys.point));
  std::string info(kKeyInfo);
  info.append(keys.point).append(sender.point());
  return Credential(hkdf_sha256(keys.auth.expose(), common.expose(), info, 32));
}

}  // namespace

Result<SubscriptionKeys> subscription_keys(const Target& target) {
  auto point = unbase64url(without_padding(target.p256dh.expose()));
  if (!point || point->size() != kP256PointBytes || point->front() != '\x04')
    return fail(Errc::invalid,
                "subscription.p256dh is not a point on P-256: 65 octets in base64url, the first 4");
  auto auth = unbase64url(without_padding(target.auth.expose()));
  if (!auth || auth->size() != kAuthBytes)
    return fail(Errc::invalid, "subscription.auth is not 16 octets in base64url");
  return SubscriptionKeys{.point = std::move(*point), .auth = Credential(std::move(*auth))};
}

Result<std::string> encrypt_push(std::string_view plaintext, const SubscriptionKeys& keys,
                                 const P256Key& sender, std::string_view salt) {
  SO_ASSERT(salt.size() == kSaltBytes);
  if (plaintext.size() > kPushPlaintextMax)
    return fail(Errc::invalid, "the payload has " + std::to_string(plaintext.size()) +
                                   " octets, Web Push takes " + std::to_string(kPushPlaintextMax));
  SO_TRY(const Credential secret, input_key(keys, sender));
  const std::string key = hkdf_sha256(salt, secret.expose(), kContentKeyInfo, kAesKeyBytes);
  // The record's number is 0, and so is what it is mixed with.
  const std::string nonce = hkdf_sha256(salt, secret.expose(), kNonceInfo, kGcmNonceBytes);
  std::string record(plaintext);
  record.push_back(kLastRecord);
  SO_TRY(const std::string sealed, seal_aes128gcm(key, nonce, record));
  std::string body(salt);
  body.reserve(kPushBodyMax);
  body.append(kRecordSize.data(), kRecordSize.size());
  body.push_back(static_cast<char>(kP256PointBytes));
  body.append(sender.point()).append(sealed);
  return body;
}

Result<std::string> encrypt_push(std::string_view plaintext, const SubscriptionKeys& keys) {
  SO_TRY(const P256Key sender, P256Key::generate());
  SO_TRY(const std::string salt, secret_bytes(kSaltBytes));
  return encrypt_push(plaintext, keys, sender, salt);
}

}  // namespace sendonce
