#include "classifiers/foreign/module_request.hpp"

#include <algorithm>
#include <array>

#include "classifiers/foreign/module_table.hpp"
#include "classifiers/stable_id.hpp"
#include "plugin/core/ascii.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kUrlMax = 8 * 1024;
constexpr std::size_t kHeadersMax = 64;
constexpr std::size_t kNameMax = 128;
constexpr std::size_t kValueMax = 8 * 1024;
constexpr std::size_t kBodyMax = std::size_t{1} << 20U;
constexpr std::array<std::string_view, 4> kMethods{"POST", "PUT", "PATCH", "GET"};
// RFC 9110 7.6.1, RFC 9113 8.2.2, and what the transport says by itself.
constexpr std::array<std::string_view, 13> kOfTheConnection{
    "connection",          "content-length",    "expect",  "host",
    "keep-alive",          "proxy-connection",  "te",      "trailer",
    "proxy-authorization", "transfer-encoding", "upgrade", "http2-settings",
    "accept-encoding"};

std::unexpected<Error> refuse(const std::string& text) {
  return fail(Errc::invalid, "the module's request: " + text);
}

Result<std::string> read_path(const sendonce_str& from, std::string_view base) {
  const auto url = text_of(from, kUrlMax);
  if (!url) return refuse("url is longer than 8 KiB, or a NULL with a size");
  const bool plain = std::ranges::all_of(*url, [](char c) {
    return c > 0x20 && c < 0x7f && c != '#' && c != '\\' && c != '"' && c != '<' && c != '>';
  });
  if (url->empty() || !plain) return refuse("url is empty or holds what no URL may");
  std::string_view rest = *url;
  if (rest.starts_with(base)) rest.remove_prefix(base.size());
  if (rest.empty()) return std::string("/");
  // "https://gate.example.com.evil.org" and "https://gate.example.com@evil.org" begin with it, too.
  if (rest.front() != '/' && rest.front() != '?')
    return refuse("url is outside of the configured endpoint");
  // "//host/path" would be another host to whoever resolves it.
  if (rest.starts_with("//")) return refuse("url has two slashes where its path begins");
  return rest.front() == '?' ? "/" + std::string(rest) : std::string(rest);
}

Result<void> add_header(Headers& out, const sendonce_header& from, std::string_view ours) {
  const auto given = text_of(from.name, kNameMax);
  const auto value = text_of(from.value, kValueMax);
  if (!given || !value) return refuse("a header is too long, or a NULL with a size");
  const std::string header = lower_ascii(*given);
  if (!is_token(header)) return refuse("a header's name is none");
  if (std::ranges::find(kOfTheConnection, header) != kOfTheConnection.end())
    return refuse("header " + header + " belongs to the connection");
  if (header == ours) return refuse("header " + header + " is the idempotency key's, ours to set");
  if (!check_header_value(*value, header, kValueMax))
    return refuse("header " + header + " has control characters, or a space at an end");
  const bool secret = header == "authorization" || header == "cookie";
  out.add(header, *value, secret || (from.flags & SENDONCE_HEADER_SENSITIVE) != 0);
  return {};
}

}  // namespace

Result<HttpRequest> read_request(const sendonce_request& from, std::string_view base,
                                 std::string_view ours) {
  HttpRequest out;
  const auto method = text_of(from.method, kNameMax);
  if (!method) return refuse("method is a NULL with a size");
  if (!method->empty()) out.method = *method;
  if (std::ranges::find(kMethods, out.method) == kMethods.end())
    return refuse("method is none of POST, PUT, PATCH and GET");
  SO_TRY(out.path, read_path(from.url, base));
  if (from.header_count > kHeadersMax) return refuse("more than 64 headers");
  if (from.header_count > 0 && from.headers == nullptr) return refuse("headers is NULL");
  for (std::uint64_t i = 0; i < from.header_count; ++i)
    SO_CHECK(add_header(out.headers, from.headers[i], ours));
  const auto body = text_of(from.body, kBodyMax);
  if (!body) return refuse("body is longer than 1 MiB, or a NULL with a size");
  if (!body->empty() && out.method == "GET") return refuse("a GET has no body");
  if (from.body_credential_at > body->size()) return refuse("body_credential_at is past the body");
  out.body = *body;
  if (from.body_credential_at > 0) out.credential_at = from.body_credential_at;
  return out;
}

}  // namespace sendonce
