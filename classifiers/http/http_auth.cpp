#include "classifiers/http/http_auth.hpp"

#include <chrono>
#include <utility>

#include "classifiers/http/http_render.hpp"
#include "classifiers/stable_id.hpp"
#include "plugin/core/text.hpp"
#include "plugin/crypto/digest.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kSecretMax = 8192;

std::string_view bytes_of(const Sha256Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

bool goes_into_a_header(HttpAuth type) {
  return type == HttpAuth::bearer || type == HttpAuth::header;
}

void add_field(std::string& form, std::string_view field, std::string_view value) {
  if (!form.empty()) form.push_back('&');
  append_escaped(form, field, Place::form);
  form.push_back('=');
  append_escaped(form, value, Place::form);
}

}  // namespace

std::string base64(std::string_view bytes) {
  std::string out = base64url(bytes);
  for (char& c : out) {
    if (c == '-') c = '+';
    if (c == '_') c = '/';
  }
  while (out.size() % 4 != 0) out.push_back('=');
  return out;
}

Result<HttpCredential> HttpCredential::make(const HttpAuthSpec& spec, Credential secret,
                                            std::string token_endpoint) {
  if (spec.type != HttpAuth::none && secret.empty())
    return fail(Errc::invalid, "auth.secret is empty");
  if (goes_into_a_header(spec.type))
    SO_CHECK(check_header_value(secret.expose(), "auth.secret", kSecretMax));
  const bool whole = spec.type == HttpAuth::basic && spec.user.empty();
  if (whole && secret.expose().find(':') == std::string::npos)
    return fail(Errc::invalid, "auth.secret is not user:password, and there is no auth.user");
  HttpCredential made(spec, std::move(secret), std::move(token_endpoint));
  if (spec.type == HttpAuth::aws_sigv4) {
    SO_TRY(made.aws_, AwsCredential::read(spec.user, made.secret_));
  }
  return made;
}

HttpCredential::HttpCredential(const HttpAuthSpec& spec, Credential secret,
                               std::string token_endpoint)
    : spec_(spec), secret_(std::move(secret)), token_endpoint_(std::move(token_endpoint)) {
  if (spec_.type == HttpAuth::bearer) authorization_ = "Bearer " + secret_.expose();
  if (spec_.type == HttpAuth::basic)
    authorization_ = "Basic " + base64(spec_.user.empty() ? secret_.expose()
                                                          : spec_.user + ":" + secret_.expose());
}

Result<void> HttpCredential::apply(HttpRequest& request, std::string_view authority,
                                   std::string_view path, const Attempt& attempt,
                                   WallTime now) const {
  switch (spec_.type) {
    case HttpAuth::none:
      return {};
    case HttpAuth::bearer:
    case HttpAuth::basic:
      request.headers.add("authorization", authorization_, true);
      return {};
    case HttpAuth::oauth2:
      SO_ASSERT(!token_.authorization().empty());  // ready() is asked first
      request.headers.add("authorization", token_.authorization(), true);
      return {};
    case HttpAuth::header:
      request.headers.add(spec_.header, spec_.prefix + secret_.expose(), true);
      return {};
    case HttpAuth::form:
      request.credential_at = request.body.size();
      add_field(request.body, spec_.field, secret_.expose());
      return {};
    case HttpAuth::hmac:
      return sign(request, path, attempt, now);
    case HttpAuth::aws_sigv4:
      sign_aws(request, authority, path, aws_, {spec_.region, spec_.service}, now);
      return {};
  }
  SO_ASSERT(false);
}

Result<void> HttpCredential::sign(HttpRequest& request, std::string_view path,
                                  const Attempt& attempt, WallTime now) const {
  const std::string timestamp =
      std::to_string(std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count());
  const SignedRequest of{request.method, path, request.body, timestamp};
  SO_TRY(const auto text, Renderer(attempt, {}, &of).text(spec_.sign, Place::plain, "auth.sign"));
  const Sha256Digest digest = hmac_sha256(secret_.expose(), text.value_or(""));
  const std::string signature =
      spec_.encoding == HmacEncoding::hex ? hex(bytes_of(digest)) : base64(bytes_of(digest));
  request.headers.add(spec_.header, spec_.prefix + signature, true);
  if (!spec_.timestamp_header.empty()) request.headers.add(spec_.timestamp_header, timestamp, true);
  return {};
}

bool HttpCredential::ready(WallTime now) const {
  return spec_.type != HttpAuth::oauth2 || token_.ready(now);
}

std::optional<HttpRequest> HttpCredential::needs_auth(WallTime now) const {
  if (spec_.type != HttpAuth::oauth2 || !token_.due(now)) return std::nullopt;
  HttpRequest request;
  request.url = token_endpoint_;
  request.headers.add("content-type", "application/x-www-form-urlencoded");
  request.headers.add("accept", "application/json");
  add_field(request.body, "grant_type", "client_credentials");
  add_field(request.body, "client_id", spec_.client_id);
  add_field(request.body, "client_secret", secret_.expose());
  if (!spec_.scope.empty()) add_field(request.body, "scope", spec_.scope);
  return request;
}

void HttpCredential::refused(WallTime now) {
  if (spec_.type == HttpAuth::oauth2) token_.refused(now);
}

}  // namespace sendonce
