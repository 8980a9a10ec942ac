#include "tests/support/fake_oauth.hpp"

#include <algorithm>
#include <optional>

#include "plugin/core/text.hpp"

namespace sendonce::test {
namespace {

constexpr std::string_view kGrantType = "urn:ietf:params:oauth:grant-type:jwt-bearer";
constexpr std::int64_t kMaxLife = 3600;  // seconds
constexpr std::int64_t kSkew = 60;
constexpr std::string_view kScopes[] = {"https://www.googleapis.com/auth/firebase.messaging",
                                        "https://www.googleapis.com/auth/cloud-platform"};

// application/x-www-form-urlencoded; empty when malformed.
std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      const auto byte = unhex(text.substr(i + 1, 2));
      if (!byte || byte->size() != 1) return {};
      out += *byte;
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::string form_field(std::string_view form, std::string_view name) {
  while (!form.empty()) {
    const std::size_t end = form.find('&');
    const std::string_view pair = form.substr(0, end);
    const std::size_t equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == name) {
      return decoded(pair.substr(equals + 1));
    }
    form = end == std::string_view::npos ? std::string_view{} : form.substr(end + 1);
  }
  return {};
}

bool names_a_scope(std::string_view scopes) {
  return std::ranges::any_of(kScopes, [&](std::string_view scope) {
    return (" " + std::string(scopes) + " ").find(" " + std::string(scope) + " ") !=
           std::string::npos;
  });
}

}  // namespace

Result<std::unique_ptr<FakeOauth>> FakeOauth::make(OauthConfig config) {
  auto verifier = JwtVerifier::make(JwtAlgorithm::rs256, config.key_pem);
  if (verifier == nullptr) {
    return fail(Errc::invalid, "service account " + config.client_email + ": not an RSA key");
  }
  return std::unique_ptr<FakeOauth>(new FakeOauth(std::move(config), std::move(verifier)));
}

std::string FakeOauth::issuer_of(const Request& request) {
  const auto token = parse_jwt(form_field(request.body, "assertion"));
  return token ? token->text("iss") : std::string();
}

FakeOauth::Refusal FakeOauth::refusal(const Request& request) const {
  const std::string grant = form_field(request.body, "grant_type");
  if (grant.empty()) {
    return {.error = "invalid_request", .description = "Required parameter is missing: grant_type"};
  }
  if (grant != kGrantType) {
    return {.error = "unsupported_grant_type", .description = "Invalid grant_type: " + grant};
  }
  const auto token = parse_jwt(form_field(request.body, "assertion"));
  if (!token) return {.error = "invalid_grant", .description = "Bad Request"};
  return judge_assertion(*token, request.arrived);
}

FakeOauth::Refusal FakeOauth::judge_assertion(const Jwt& token, WallTime now) const {
  const auto refused = [](std::string text) {
    return Refusal{.error = "invalid_grant", .description = std::move(text)};
  };
  if (token.text("iss") != config_.client_email) return refused("Invalid grant: account not found");
  if (!verifier_->verify(token)) return refused("Invalid JWT Signature.");
  if (std::ranges::find(config_.audiences, token.text("aud")) == config_.audiences.end()) {
    return refused("Invalid JWT: Failed audience check.");
  }
  const std::int64_t at = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  const auto issued = token.number("iat");
  const auto expires = token.number("exp");
  if (!issued || !expires || *expires - *issued > kMaxLife || *expires <= at ||
      *issued > at + kSkew) {
    return refused(
        "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable "
        "timeframe. Check your iat and exp values in the JWT claim.");
  }
  if (!names_a_scope(token.text("scope"))) {
    return {.error = "invalid_scope",
            .description = "Invalid OAuth scope or ID token audience provided."};
  }
  return {};
}

void FakeOauth::write_issued(const Request& request, Reply& reply) {
  std::string token = "ya29.fake-";
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t part = random_.next();
    append_base64url(token, {reinterpret_cast<const char*>(&part), sizeof part});
  }
  // Google answers with tokens of about this length.
  token.append(160, '.');
  issued_[token] = request.arrived + config_.lifetime;
  reply.headers.add("content-type", "application/json; charset=UTF-8");
  reply.body = "{\"access_token\":\"" + token +
               "\",\"expires_in\":" + std::to_string(config_.lifetime.count()) +
               ",\"token_type\":\"Bearer\"}";
}

void FakeOauth::write_refused(const Refusal& refusal, Reply& reply) {
  reply.status = refusal.error == "invalid_client" ? 401 : 400;
  reply.headers.add("content-type", "application/json; charset=utf-8");
  reply.body = "{\"error\":";
  append_json_string(reply.body, refusal.error);
  reply.body += ",\"error_description\":";
  append_json_string(reply.body, refusal.description);
  reply.body += '}';
}

void FakeOauth::write_scripted(const Action& action, const Request& request, Reply& reply) {
  if (!action.reason.empty()) {
    write_refused({.error = action.reason, .description = "As the script says."}, reply);
  } else if (action.status < 300) {
    write_issued(request, reply);
  }
  if (action.status != 0) reply.status = action.status;
}

AccessToken FakeOauth::judge(std::string_view access_token, WallTime now) const {
  const auto at = issued_.find(std::string(access_token));
  if (at == issued_.end()) return AccessToken::unknown;
  return now < at->second ? AccessToken::good : AccessToken::expired;
}

}  // namespace sendonce::test
