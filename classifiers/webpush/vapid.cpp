#include "classifiers/webpush/vapid.hpp"

#include <utility>

#include "plugin/core/text.hpp"
#include "plugin/crypto/jwt.hpp"
#include "plugin/crypto/p256.hpp"

namespace sendonce {
namespace {

using std::chrono::hours, std::chrono::seconds;

constexpr Duration kLife = hours(12);
constexpr Duration kUse = hours(11);
constexpr Duration kClockSetBack = hours(1);
// The origins come from an allow-list; those below a wildcard are many, and a token is soon made.
constexpr std::size_t kMaxTokens = 64;

Result<SigningKey> signing_key(const Credential& key) {
  if (key.expose().starts_with("-----")) return SigningKey::es256(key);
  auto scalar = unbase64url(key.expose());
  if (!scalar || scalar->size() != kP256ScalarBytes)
    return fail(Errc::invalid,
                "the file holds neither a private key in PEM nor one of 32 octets in base64url");
  return SigningKey::es256_scalar(Credential(std::move(*scalar)));
}

// RFC 8292 2.1. Apple refuses a mailto: without a host and every address on this machine.
Result<void> check_subject(std::string_view subject) {
  const bool mail = subject.starts_with("mailto:") && subject.find('@') != std::string_view::npos;
  const bool site = subject.starts_with("https://") && subject.size() > 8;
  const bool plain = subject.find_first_of("\"\\ \t\r\n") == std::string_view::npos;
  if ((!mail && !site) || !plain || subject.size() > 256)
    return fail(Errc::invalid,
                "subject must be mailto:name@host or https://host, whom a push service may write "
                "to when something is wrong");
  if (subject.find("localhost") != std::string_view::npos)
    return fail(Errc::invalid, "subject names localhost, which Apple refuses");
  return {};
}

}  // namespace

VapidTokens::VapidTokens(SigningKey key, std::string public_key, std::string_view subject)
    : key_(std::move(key)), public_key_(std::move(public_key)), subject_(subject) {}

Result<VapidTokens> VapidTokens::make(const Credential& key, std::string_view subject) {
  SO_CHECK(check_subject(subject));
  auto signing = signing_key(key);
  if (!signing) return fail(signing.error().code, "key: " + signing.error().text);
  SO_TRY(const std::string point, signing->public_point());
  return VapidTokens(std::move(*signing), base64url(point), subject);
}

Result<std::string_view> VapidTokens::authorization(std::string_view origin, WallTime now) {
  auto at = tokens_.find(origin);
  if (at != tokens_.end() && now - at->second.minted < kUse &&
      at->second.minted - now < kClockSetBack)
    return std::string_view(at->second.authorization);
  std::string claims = R"({"aud":)";
  append_json_string(claims, origin);
  claims.append(R"(,"exp":)");
  append_number(claims, std::chrono::floor<seconds>((now + kLife).time_since_epoch()).count());
  claims.append(R"(,"sub":)");
  append_json_string(claims, subject_);
  claims.push_back('}');
  SO_TRY(const std::string token, make_jws(key_, R"({"typ":"JWT","alg":"ES256"})", claims));
  if (at == tokens_.end()) {
    if (tokens_.size() >= kMaxTokens) tokens_.clear();
    at = tokens_.emplace(std::string(origin), Token{}).first;
  }
  at->second = {.authorization = "vapid t=" + token + ", k=" + public_key_, .minted = now};
  return std::string_view(at->second.authorization);
}

}  // namespace sendonce
