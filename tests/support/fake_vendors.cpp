#include "tests/support/fake_vendors.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "plugin/core/text.hpp"
#include "plugin/crypto/digest.hpp"

namespace sendonce::test {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256 ";
constexpr std::int64_t kSkew = 300;  // seconds

std::string hex_of(const Sha256Digest& digest) {
  return hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::string keyed(std::string_view key, std::string_view text) {
  const Sha256Digest digest = hmac_sha256(key, text);
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> out{""};
  for (const char c : text) {
    if (c == at)
      out.emplace_back();
    else
      out.back().push_back(c);
  }
  return out;
}

// "Name=value" of the authorization header; empty: not there.
std::string part_of(std::string_view authorization, std::string_view name) {
  const std::size_t at = authorization.find(std::string(name) + "=");
  if (at == std::string_view::npos) return {};
  const std::string_view rest = authorization.substr(at + name.size() + 1);
  return std::string(rest.substr(0, rest.find(',')));
}

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    out += unhex(text.substr(i + 1, 2)).value_or("?");
    i += 2;
  }
  return out;
}

std::optional<Json> json_of(const std::string& body) {
  Json json = Json::parse(body, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return std::nullopt;
  return json;
}

std::string text_at(const Json& json, const char* pointer) {
  const Json value = json.value(Json::json_pointer(pointer), Json());
  return value.is_string() ? value.get<std::string>() : std::string();
}

// RFC 9113 8.3.1: the host of HTTP/2.
std::string_view field_of(const Request& request, std::string_view name) {
  return request.headers.find(name == "host" && request.h2 ? ":authority" : name).value_or("");
}

}  // namespace

Vendor vendor_of(std::string_view path) {
  path = path.substr(0, path.find('?'));
  if (path == "/v2/email/outbound-emails") return Vendor::ses;
  if (path == "/oauth2/v3/token") return Vendor::huawei_oauth;
  const bool huawei = path.starts_with("/v1/") && !path.starts_with("/v1/projects/") &&
                      path.ends_with("/messages:send");
  return huawei ? Vendor::huawei : Vendor::none;
}

// As the service does it: everything from what has arrived.
std::string FakeVendors::signature_fault(const Request& request) const {
  const std::string authorization(request.headers.find("authorization").value_or(""));
  if (!authorization.starts_with(kAlgorithm)) return "MissingAuthenticationTokenException";
  const std::string time(request.headers.find("x-amz-date").value_or(""));
  if (time.size() != std::string_view("20150830T123600Z").size())
    return "IncompleteSignatureException";
  const std::string day = time.substr(0, 8);
  const std::string scope = day + "/" + config_.aws_region + "/ses/aws4_request";
  if (part_of(authorization, "Credential") != config_.aws_key_id + "/" + scope)
    return "UnrecognizedClientException";
  if (request.headers.find("x-amz-security-token").value_or("") != config_.aws_token)
    return "ExpiredTokenException";
  const auto sent =
      parse_rfc3339(time.substr(0, 4) + "-" + time.substr(4, 2) + "-" + time.substr(6, 5) + ":" +
                    time.substr(11, 2) + ":" + time.substr(13));
  const auto apart = [&] {
    return std::chrono::floor<std::chrono::seconds>(request.arrived - *sent).count();
  };
  if (!sent || apart() > kSkew || apart() < -kSkew) return "RequestExpired";
  const std::vector<std::string> names = split(part_of(authorization, "SignedHeaders"), ';');
  for (const char* wanted : {"content-type", "host", "x-amz-date", "x-amz-security-token"})
    if (std::ranges::find(names, wanted) == names.end()) return "IncompleteSignatureException";
  std::string canonical = request.method + "\n/v2/email/outbound-emails\n\n";
  for (const std::string& name : names)
    canonical += name + ":" + std::string(field_of(request, name)) + "\n";
  Sha256 sha;
  canonical += "\n" + part_of(authorization, "SignedHeaders") + "\n" + hex_of(sha.of(request.body));
  const std::string text =
      "AWS4-HMAC-SHA256\n" + time + "\n" + scope + "\n" + hex_of(sha.of(canonical));
  std::string key = "AWS4" + config_.aws_secret;
  for (const std::string& part : split(scope, '/')) key = keyed(key, part);
  return part_of(authorization, "Signature") == hex_of(hmac_sha256(key, text))
             ? ""
             : "SignatureDoesNotMatch";
}

FakeVendors::Judged FakeVendors::judge(Vendor vendor, const Request& request) const {
  Judged out;
  const auto body = json_of(request.body);
  if (vendor == Vendor::ses) {
    if (body) out.destination = text_at(*body, "/Destination/ToAddresses/0");
    out.reason = signature_fault(request);
    const bool whole =
        body && !out.destination.empty() && !text_at(*body, "/Content/Simple/Subject/Data").empty();
    if (out.reason.empty() && !whole) out.reason = "BadRequestException";
    return out;
  }
  if (body) out.destination = text_at(*body, "/message/token/0");
  const std::string bearer(request.headers.find("authorization").value_or(""));
  const bool known = bearer.starts_with("Bearer ") && issued_.contains(bearer.substr(7));
  if (!known) {
    out.reason = "80200001";
  } else if (!body || out.destination.empty() || body->contains("/message/token/1"_json_pointer)) {
    out.reason = "80300010";
  } else if (const Json data = body->value("/message/data"_json_pointer, Json());
             !data.is_null() && (!data.is_string() || !json_of(data.get<std::string>()))) {
    out.reason = "80100003";
  }
  return out;
}

void FakeVendors::write(Vendor vendor, Reply& reply) {
  const std::string id = std::to_string(++count_);
  reply.status = 200;
  reply.headers.add("content-type", "application/json");
  reply.body = vendor == Vendor::ses
                   ? R"({"MessageId":"0100-)" + id + "\"}"
                   : R"({"code":"80000000","msg":"Success","requestId":"157)" + id + "\"}";
}

void FakeVendors::write_refused(Vendor vendor, std::string_view reason, Reply& reply) {
  reply.headers.add("content-type", "application/json");
  if (vendor == Vendor::ses) {
    reply.status = reason == "BadRequestException" ? 400 : 403;
    reply.headers.add("x-amzn-errortype", reason);
    reply.body = R"({"message":"refused"})";
    return;
  }
  reply.status = 200;
  reply.body = R"({"code":")" + std::string(reason) + R"(","msg":"refused","requestId":"157"})";
}

void FakeVendors::answer_oauth(const Request& request, Reply& reply) {
  std::vector<std::string> fields = split(request.body, '&');
  for (std::string& field : fields) field = decoded(field);
  const auto has = [&](const std::string& field) {
    return std::ranges::find(fields, field) != fields.end();
  };
  reply.headers.add("content-type", "application/json");
  if (!has("grant_type=client_credentials") || !has("client_id=" + config_.client_id) ||
      !has("client_secret=" + config_.client_secret)) {
    reply.status = 400;
    reply.body = R"({"error":1101,"sub_error":20001,"error_description":"invalid client"})";
    return;
  }
  const std::string token = "DAED/fake+" + std::to_string(++count_);
  issued_.insert(token);
  reply.status = 200;
  reply.body = R"({"access_token":"DAED\/fake+)" + std::to_string(count_) +
               R"(","expires_in":3600,"token_type":"Bearer"})";
}

}  // namespace sendonce::test
