#include "classifiers/http/aws_sigv4.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "classifiers/http/http_render.hpp"
#include "classifiers/stable_id.hpp"
#include "plugin/core/text.hpp"
#include "plugin/crypto/digest.hpp"

namespace sendonce {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr std::string_view kTerminator = "aws4_request";
constexpr std::size_t kSecretMax = 4096;

std::string_view bytes_of(const Sha256Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::string hash_of(std::string_view bytes) {
  return hex(bytes_of(Sha256().of(bytes)));
}

// 20150830T123600Z
std::string basic_time(WallTime now) {
  std::string text = rfc3339(now).substr(0, std::string_view("2015-08-30T12:36:00").size());
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return text + 'Z';
}

// The path is encoded once more than on the wire.
std::string canonical_path(std::string_view path) {
  std::string out;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    append_escaped(out, path.substr(at, slash - at), Place::path);
    if (slash != path.size()) out.push_back('/');
    at = slash + 1;
  }
  return out.empty() ? "/" : out;
}

// In order; our queries are encoded as AWS wants it.
std::string canonical_query(std::string_view query) {
  std::vector<std::pair<std::string_view, std::string_view>> parts;
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(part.size() + 1, query.size()));
    const std::size_t equals = std::min(part.find('='), part.size());
    if (!part.empty())
      parts.emplace_back(part.substr(0, equals), part.substr(std::min(equals + 1, part.size())));
  }
  std::ranges::sort(parts);
  std::string out;
  for (const auto& [name, value] : parts) {
    if (!out.empty()) out.push_back('&');
    out.append(name).append("=").append(value);
  }
  return out;
}

// Without spaces at the ends, and none twice.
std::string canonical_value(std::string_view value) {
  std::string out;
  for (const char c : value)
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out.push_back(c);
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

using Field = std::pair<std::string, std::string>;

std::vector<Field> signed_fields(const Headers& headers, std::string_view authority) {
  std::vector<Field> fields{{"host", std::string(authority)}};
  for (const Headers::View field : headers)
    if (field.name == "content-type" || field.name.starts_with("x-amz-"))
      fields.emplace_back(field.name, canonical_value(field.value));
  std::ranges::sort(fields);
  return fields;
}

std::string names_of_fields(const std::vector<Field>& fields) {
  std::string names;
  for (const Field& field : fields) names.append(names.empty() ? "" : ";").append(field.first);
  return names;
}

std::string canonical_request(const HttpRequest& request, std::string_view target,
                              const std::vector<Field>& fields, const std::string& names) {
  const std::size_t mark = std::min(target.find('?'), target.size());
  std::string out = request.method;
  out.append("\n").append(canonical_path(target.substr(0, mark)));
  out.append("\n").append(canonical_query(target.substr(std::min(mark + 1, target.size()))));
  out.append("\n");
  for (const auto& [name, value] : fields) out.append(name).append(":").append(value).append("\n");
  return out.append("\n").append(names).append("\n").append(hash_of(request.body));
}

std::string signature(const AwsCredential& credential, std::string_view day, const AwsScope& scope,
                      std::string_view text) {
  std::string secret("AWS4");
  secret.append(credential.secret.expose());
  Sha256Digest key = hmac_sha256(secret, day);
  for (const std::string_view part : {scope.region, scope.service, kTerminator})
    key = hmac_sha256(bytes_of(key), part);
  return hex(bytes_of(hmac_sha256(bytes_of(key), text)));
}

bool is_key_id(std::string_view text) {
  return !text.empty() && text.size() <= 128 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

Result<AwsCredential> AwsCredential::read(const std::string& key_id, const Credential& contents) {
  AwsCredential out{.key_id = key_id, .secret = contents};
  if (key_id.empty()) {
    const std::string& text = contents.expose();
    const std::size_t first = text.find(':');
    if (first == std::string::npos)
      return fail(Errc::invalid,
                  "auth.secret is not ID:SECRET or ID:SECRET:TOKEN, and there is no auth.user");
    const std::size_t second = std::min(text.find(':', first + 1), text.size());
    out.key_id = text.substr(0, first);
    out.secret = Credential(text.substr(first + 1, second - first - 1));
    out.session_token = Credential(text.substr(std::min(second + 1, text.size())));
  }
  if (!is_key_id(out.key_id))
    return fail(Errc::invalid, "the access key id is not letters and digits");
  if (out.secret.empty()) return fail(Errc::invalid, "the secret access key is empty");
  SO_CHECK(check_header_value(out.secret.expose(), "the secret access key", kSecretMax));
  SO_CHECK(check_header_value(out.session_token.expose(), "the session token", kSecretMax));
  return out;
}

void sign_aws(HttpRequest& request, std::string_view authority, std::string_view target,
              const AwsCredential& credential, const AwsScope& scope, WallTime now) {
  const std::string time = basic_time(now);
  const std::string_view day = std::string_view(time).substr(0, time.find('T'));
  request.headers.add("x-amz-date", time, true);
  if (!credential.session_token.empty())
    request.headers.add("x-amz-security-token", credential.session_token.expose(), true);
  const std::vector<Field> fields = signed_fields(request.headers, authority);
  const std::string names = names_of_fields(fields);
  std::string within(day);
  for (const std::string_view part : {scope.region, scope.service, kTerminator})
    within.append("/").append(part);
  std::string text(kAlgorithm);
  text.append("\n").append(time).append("\n").append(within).append("\n");
  text.append(hash_of(canonical_request(request, target, fields, names)));
  std::string authorization(kAlgorithm);
  authorization.append(" Credential=").append(credential.key_id).append("/").append(within);
  authorization.append(", SignedHeaders=").append(names);
  authorization.append(", Signature=").append(signature(credential, day, scope, text));
  request.headers.add("authorization", authorization, true);
}

}  // namespace sendonce
