#include "tests/support/push_receiver.hpp"

#include "plugin/core/text.hpp"
#include "plugin/crypto/aead.hpp"

namespace sendonce::test {
namespace {

// A C string with its final zero octet, which RFC 8291 and RFC 8188 put behind each label.
template <std::size_t N>
std::string label(const char (&text)[N]) {
  return std::string(text, N);
}

}  // namespace

PushReceiver::PushReceiver() : key_(P256Key::generate().value()), auth_(secret_bytes(16).value()) {}

PushReceiver::PushReceiver(std::string_view scalar, std::string_view auth)
    : key_(P256Key::from_scalar(Credential(unbase64url(scalar).value())).value()),
      auth_(unbase64url(auth).value()) {}

std::string PushReceiver::p256dh() const {
  return base64url(key_.point());
}

std::string PushReceiver::auth() const {
  return base64url(auth_);
}

std::optional<std::string> PushReceiver::read(std::string_view body) const {
  if (body.size() < 21 || body.size() > 4096) return std::nullopt;
  const std::string_view salt = body.substr(0, 16);
  std::uint32_t record_size = 0;
  for (const char c : body.substr(16, 4))
    record_size = record_size << 8U | static_cast<unsigned char>(c);
  const std::size_t id_size = static_cast<unsigned char>(body[20]);
  if (id_size != 65 || body.size() < 21 + id_size + 17) return std::nullopt;
  const std::string_view sender = body.substr(21, id_size);
  const std::string_view record = body.substr(21 + id_size);
  if (record_size < 18 || record.size() > record_size) return std::nullopt;
  const auto common = key_.agree(sender);
  if (!common) return std::nullopt;
  const std::string secret = hkdf_sha256(
      auth_, common->expose(), label("WebPush: info") + key_.point() + std::string(sender), 32);
  auto text =
      open_aes128gcm(hkdf_sha256(salt, secret, label("Content-Encoding: aes128gcm"), 16),
                     hkdf_sha256(salt, secret, label("Content-Encoding: nonce"), 12), record);
  if (!text) return std::nullopt;
  const std::size_t end = text->find_last_not_of('\0');  // padding, then the delimiter
  if (end == std::string::npos || (*text)[end] != 2) return std::nullopt;
  text->resize(end);
  return text;
}

}  // namespace sendonce::test
