#include "classifiers/fcm/fcm_oauth.hpp"

#include <chrono>
#include <string_view>
#include <utility>

#include "plugin/core/text.hpp"
#include "plugin/crypto/jwt.hpp"

namespace sendonce {
namespace {

using std::chrono::seconds;

constexpr std::string_view kScope = "https://www.googleapis.com/auth/firebase.messaging";

}  // namespace

Result<FcmOauth> FcmOauth::make(const ServiceAccount& account, const std::string& token_endpoint) {
  auto key = SigningKey::rs256(account.private_key);
  if (!key)
    return fail(key.error().code, "private_key of the service account: " + key.error().text);
  return FcmOauth(account, token_endpoint, std::move(*key));
}

FcmOauth::FcmOauth(const ServiceAccount& account, const std::string& token_endpoint, SigningKey key)
    : client_email_(account.client_email),
      private_key_id_(account.private_key_id),
      audience_(account.token_uri),
      url_(token_endpoint.empty() ? account.token_uri : token_endpoint),
      key_(std::move(key)) {}

std::optional<HttpRequest> FcmOauth::needs_auth(WallTime now) {
  if (!token_.due(now)) return std::nullopt;
  const std::string jwt = assertion(now);
  if (jwt.empty()) return std::nullopt;
  HttpRequest request;
  request.url = url_;
  request.headers.add("content-type", "application/x-www-form-urlencoded");
  request.headers.add("accept", "application/json");
  request.body =
      "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=" + jwt;
  return request;
}

std::string FcmOauth::assertion(WallTime now) const {
  const auto iat = std::chrono::floor<seconds>(now).time_since_epoch().count();
  std::string header = R"({"alg":"RS256","typ":"JWT")";
  if (!private_key_id_.empty()) {
    header.append(R"(,"kid":)");
    append_json_string(header, private_key_id_);
  }
  header.push_back('}');
  std::string claims = R"({"iss":)";
  append_json_string(claims, client_email_);
  claims.append(R"(,"scope":")").append(kScope).append(R"(","aud":)");
  append_json_string(claims, audience_);
  claims.append(R"(,"iat":)");
  append_number(claims, iat);
  claims.append(R"(,"exp":)");
  append_number(claims, iat + 3600);
  claims.push_back('}');
  return make_jws(key_, header, claims).value_or("");  // fails for want of memory only
}

}  // namespace sendonce
