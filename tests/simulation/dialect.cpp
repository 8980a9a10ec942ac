#include "tests/simulation/dialect.hpp"

#include <array>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "classifiers/stable_id.hpp"
#include "plugin/core/text.hpp"

namespace sendonce::sim {
namespace {

struct Meaning {
  int status = 0;
  std::string_view code{};
  Told told = Told::refused;
  Blame blame = Blame::nobody;
  bool wide = false;
};
// In the order of Saying.
using Dialect = std::array<Meaning, 14>;

constexpr Dialect kApns{{
    {503, "ServiceUnavailable"},
    {500, "InternalServerError", Told::maybe_sent},
    {429, "TooManyRequests", Told::refused, Blame::load},
    {503, "ServiceUnavailable"},
    {403, "InvalidProviderToken", Told::refused, Blame::credential, true},
    {403, "ExpiredProviderToken", Told::refused, Blame::credential, true},
    {400, "TopicDisallowed", Told::refused, Blame::setup, true},
    {400, "BadDeviceToken", Told::refused, Blame::setup},
    {},
    {400, "PayloadEmpty", Told::refused, Blame::message},
    {400, "DeviceTokenNotForTopic", Told::refused, Blame::mismatch},
    {410, "Unregistered", Told::refused, Blame::device},
    {418, "Teapot", Told::refused, Blame::message},
    {500, "Unregistered", Told::maybe_sent},
}};

constexpr Dialect kFcm{{
    {503, "UNAVAILABLE", Told::maybe_sent},
    {500, "INTERNAL", Told::maybe_sent},
    {429, "QUOTA_EXCEEDED", Told::refused, Blame::load},
    {429, "", Told::refused, Blame::load},
    {401, "", Told::refused, Blame::credential, true},
    {401, "", Told::refused, Blame::credential, true},
    {403, "", Told::refused, Blame::setup, true},
    {},
    {401, "THIRD_PARTY_AUTH_ERROR", Told::refused, Blame::part},
    {400, "INVALID_ARGUMENT", Told::refused, Blame::message},
    {403, "SENDER_ID_MISMATCH", Told::refused, Blame::mismatch},
    {404, "UNREGISTERED", Told::refused, Blame::device},
    {418, "Teapot", Told::refused, Blame::message},
    {500, "Unregistered", Told::maybe_sent},
}};

constexpr Dialect kGateway{{
    {503, "busy"},
    {500, "internal", Told::maybe_sent},
    {429, "number", Told::refused, Blame::load},
    {429, "account", Told::refused, Blame::load},
    {401, "secret", Told::refused, Blame::credential, true},
    {401, "secret", Told::refused, Blame::credential, true},
    {403, "sender", Told::refused, Blame::setup, true},
    {},
    {},
    {400, "content", Told::refused, Blame::message},
    {400, "mismatch", Told::refused, Blame::mismatch},
    {400, "gone", Told::refused, Blame::device},
    {418, "teapot", Told::refused, Blame::message},
    {500, "gone", Told::maybe_sent},
}};

const Dialect& dialect_of(ProviderKind kind) {
  if (kind == ProviderKind::sms) return kGateway;
  return kind == ProviderKind::apns ? kApns : kFcm;
}

std::string fcm_error(int status, std::string_view code) {
  std::string body = R"({"error":{"code":)" + std::to_string(status) + R"(,"message":"no",)";
  body.append(R"("status":"X")");
  if (!code.empty())
    body.append(R"(,"details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError",)")
        .append(R"("errorCode":")")
        .append(code)
        .append("\"}]");
  return body + "}}";
}

constexpr std::string_view kFcmDisabled =
    R"({"error":{"code":403,"message":"x","status":"PERMISSION_DENIED",)"
    R"("details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo",)"
    R"("reason":"SERVICE_DISABLED"}]}})";

HttpAnswer error(ProviderKind kind, int status, std::string_view code) {
  HttpAnswer answer;
  answer.status = status;
  if (kind == ProviderKind::fcm) {
    answer.body = fcm_error(status, code);
  } else {
    answer.body = kind == ProviderKind::apns ? R"({"reason":")" : R"({"code":")";
    answer.body.append(code).append("\"}");
  }
  return answer;
}

nlohmann::json body_of(const HttpRequest& request) {
  auto body = nlohmann::json::parse(request.body, nullptr, false);
  if (body.is_discarded()) broken(0, "a request whose body is no JSON");
  return body;
}

}  // namespace

Reply say(ProviderKind kind, Saying saying) {
  const Meaning& m = dialect_of(kind)[static_cast<std::size_t>(saying)];
  Reply r{.told = m.told, .blame = m.blame, .wide = m.wide};
  r.answer = error(kind, m.status, m.code);
  if (kind == ProviderKind::fcm && saying == Saying::wrong_setup) r.answer.body = kFcmDisabled;
  return r;
}

HttpAnswer server_error_with(ProviderKind kind, int status) {
  return error(kind, status, dialect_of(kind)[static_cast<std::size_t>(Saying::server_error)].code);
}

HttpAnswer acceptance(ProviderKind kind, std::uint64_t n) {
  HttpAnswer answer;
  answer.status = 200;
  if (kind == ProviderKind::apns) {
    std::array<char, 40> id{};
    std::snprintf(id.data(), id.size(), "00000000-0000-4000-8000-%012llx",
                  static_cast<unsigned long long>(n));
    answer.headers.add("apns-id", id.data());
  } else {
    answer.body =
        kind == ProviderKind::fcm ? R"({"name":"projects/demo-1/messages/)" : R"({"id":"m-)";
    answer.body.append(std::to_string(n)).append("\"}");
  }
  return answer;
}

std::string destination_in(ProviderKind kind, const HttpRequest& request) {
  if (kind == ProviderKind::apns) return request.path.substr(request.path.rfind('/') + 1);
  const std::string_view member = kind == ProviderKind::fcm ? R"("token":")" : R"("to":")";
  const std::size_t at = request.body.find(member) + member.size();
  return request.body.substr(at, request.body.find('"', at) - at);
}

std::string request_name(ProviderKind kind, const HttpRequest& request) {
  if (kind == ProviderKind::apns) return std::string(request.headers.find("apns-id").value_or(""));
  const auto body = body_of(request);
  if (kind == ProviderKind::sms) return body["reference"].get<std::string>();
  return body["message"]["token"].get<std::string>() + "/" +
         body["message"]["data"]["nid"].get<std::string>();
}

std::string request_name(ProviderKind kind, const Key& key, const std::string& nid,
                         const std::string& destination) {
  if (kind == ProviderKind::apns) return uuid_text(uuid_from(key));
  return kind == ProviderKind::sms ? hex(key.view()) : destination + "/" + nid;
}

}  // namespace sendonce::sim
