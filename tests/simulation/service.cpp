#include "tests/simulation/service.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "plugin/core/text.hpp"

namespace sendonce::sim {
namespace {

using std::chrono::seconds;

constexpr Duration kTokensApart = std::chrono::minutes(20);
constexpr Duration kClocksApart = std::chrono::minutes(5);

constexpr std::array<std::string_view, kMoods> kMoodNames{
    "well",           "unreachable",    "tls broken",       "no room",       "one stream",
    "resets",         "slow",           "unavailable",      "server errors", "throttling",
    "throttling all", "credential bad", "credential stale", "setup wrong",   "wrong environment",
    "part wrong",     "no receipts",    "strange",          "goaways"};

std::string apns_id(std::uint64_t n) {
  char text[40];
  std::snprintf(text, sizeof text, "00000000-0000-4000-8000-%012llx",
                static_cast<unsigned long long>(n));
  return text;
}

std::string fcm_error(int status, std::string_view code, std::string_view text) {
  std::string body = R"({"error":{"code":)" + std::to_string(status) + R"(,"message":")";
  body.append(text).append(R"(","status":"X")");
  if (!code.empty())
    body.append(R"(,"details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError",)")
        .append(R"("errorCode":")")
        .append(code)
        .append("\"}]");
  return body + "}}";
}

}  // namespace

std::string_view name(Mood mood) {
  return kMoodNames[static_cast<std::size_t>(mood)];
}

void Service::set_mood(Mood mood) {
  mood_ = mood;
  if (mood == Mood::credential_stale) make_stale();
  world_.tell(name(kind_), "is " + std::string(name(mood)));
}

// APNs takes no second new token within 20 minutes, so it cannot ask for one either.
void Service::make_stale() {
  if (kind_ == ProviderKind::apns && staled_ && world_.mono() < *staled_ + kTokensApart) return;
  staled_ = world_.mono();
  credentials_refused_ = credentials_seen_;
}

// Apple: not older than an hour, and not from a time to come.
bool Service::takes_time_of(const std::string& authorization) const {
  const std::size_t first = authorization.find('.') + 1;
  const auto claims = unbase64url(authorization.substr(first, authorization.rfind('.') - first));
  constexpr std::string_view kMember = R"("iat":)";
  const std::size_t at = claims ? claims->find(kMember) : std::string::npos;
  if (at == std::string::npos) broken(0, "an APNs token without a time");
  const WallTime issued{seconds(std::stoll(claims->substr(at + kMember.size())))};
  const Duration age = world_.true_wall() - issued;
  return age < std::chrono::hours(1) && age > -kClocksApart;
}

bool Service::refuses_content(const std::string& body) const {
  return std::ranges::any_of(refused_content_, [&](const std::string& marker) {
    return body.find(marker) != std::string::npos;
  });
}

Reply Service::handle(const HttpRequest& request, const std::string& token) {
  const std::string authorization(request.headers.find("authorization").value_or(""));
  credentials_seen_.insert(authorization);
  if (credentials_refused_.contains(authorization)) return stale();
  if (reads_times_ && !takes_time_of(authorization)) {
    world_.hit(Probe::credential_from_another_time);
    return stale();
  }
  if (auto reply = by_mood(request)) return std::move(*reply);
  if (world_.chance(noise_)) return odd();
  if (refuses_content(request.body))
    return kind_ == ProviderKind::apns
               ? error(400, "PayloadEmpty", Blame::message, Told::refused)
               : error(400, "INVALID_ARGUMENT", Blame::message, Told::refused);
  if (auto reply = by_token(token)) return std::move(*reply);
  return accept();
}

std::optional<Reply> Service::by_mood(const HttpRequest& /*request*/) {
  const bool apns = kind_ == ProviderKind::apns;
  switch (mood_) {
    case Mood::unavailable: {
      Reply r = apns ? error(503, "ServiceUnavailable", Blame::nobody, Told::refused)
                     : error(503, "UNAVAILABLE", Blame::nobody, Told::maybe_sent);
      if (world_.chance(0.3)) with_retry_after(r, seconds(1 + world_.below(30)));
      return r;
    }
    case Mood::server_errors:
      return server_error();
    case Mood::throttling: {
      if (world_.chance(0.4)) return std::nullopt;
      Reply r = apns ? error(429, "TooManyRequests", Blame::load, Told::refused)
                     : error(429, "QUOTA_EXCEEDED", Blame::load, Told::refused);
      with_retry_after(r, seconds(1 + world_.below(20)));
      return r;
    }
    case Mood::throttling_all: {
      Reply r = apns ? error(503, "ServiceUnavailable", Blame::nobody, Told::refused)
                     : error(429, "", Blame::load, Told::refused);
      with_retry_after(r, seconds(5 + world_.below(60)));
      return r;
    }
    case Mood::credential_bad: {
      Reply r = apns ? error(403, "InvalidProviderToken", Blame::credential, Told::refused)
                     : error(401, "", Blame::credential, Told::refused);
      r.wide = true;
      return r;
    }
    case Mood::setup_wrong: {
      Reply r = apns ? error(400, "TopicDisallowed", Blame::setup, Told::refused)
                     : error(403, "", Blame::setup, Told::refused);
      if (!apns)
        r.answer.body = R"({"error":{"code":403,"message":"x","status":"PERMISSION_DENIED",)"
                        R"("details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo",)"
                        R"("reason":"SERVICE_DISABLED"}]}})";
      r.wide = true;
      return r;
    }
    case Mood::wrong_environment:
      if (apns) return error(400, "BadDeviceToken", Blame::setup, Told::refused);
      return std::nullopt;
    case Mood::part_wrong:
      if (apns || world_.chance(0.5)) return std::nullopt;
      return error(401, "THIRD_PARTY_AUTH_ERROR", Blame::part, Told::refused);
    case Mood::no_receipts: {
      if (world_.chance(0.3)) return std::nullopt;
      Reply r{.told = Told::no_receipt, .processed = world_.chance(0.8)};
      r.answer.status = 200;
      return r;
    }
    case Mood::strange:
      return odd();
    case Mood::well:
    case Mood::unreachable:
    case Mood::tls_broken:
    case Mood::no_room:
    case Mood::one_stream:
    case Mood::resets:
    case Mood::slow:
    case Mood::credential_stale:
    case Mood::goaways:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Reply> Service::by_token(const std::string& token) {
  const auto found = tokens_.find(token);
  if (found == tokens_.end()) return std::nullopt;
  const TokenTruth& truth = found->second;
  const bool apns = kind_ == ProviderKind::apns;
  if (truth.mismatch)
    return apns ? error(400, "DeviceTokenNotForTopic", Blame::mismatch, Told::refused)
                : error(403, "SENDER_ID_MISMATCH", Blame::mismatch, Told::refused);
  if (!truth.dead_since || *truth.dead_since > world_.true_wall()) return std::nullopt;
  if (!apns) return error(404, "UNREGISTERED", Blame::device, Told::refused);
  if (world_.chance(0.2)) return error(400, "BadDeviceToken", Blame::device, Told::refused);
  Reply r = error(410, "Unregistered", Blame::device, Told::refused);
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(*truth.dead_since);
  r.dead_since = WallTime(ms.time_since_epoch());
  r.answer.body = R"({"reason":"Unregistered","timestamp":)" +
                  std::to_string(ms.time_since_epoch().count()) + "}";
  return r;
}

Reply Service::accept() {
  Reply r{.told = Told::sent, .processed = true};
  r.answer.status = 200;
  const std::uint64_t n = ++receipts_;
  if (kind_ == ProviderKind::apns) {
    r.answer.headers.add("apns-id", apns_id(n));
  } else {
    r.answer.body = R"({"name":"projects/demo-1/messages/)" + std::to_string(n) + "\"}";
  }
  return r;
}

Reply Service::error(int status, std::string_view code, Blame blame, Told told) const {
  Reply r{.told = told, .blame = blame};
  r.answer.status = status;
  if (kind_ == ProviderKind::apns) {
    r.answer.body = R"({"reason":")" + std::string(code) + "\"}";
  } else {
    r.answer.body = fcm_error(status, code, "no");
  }
  return r;
}

Reply Service::stale() const {
  const bool apns = kind_ == ProviderKind::apns;
  Reply r = apns ? error(403, "ExpiredProviderToken", Blame::credential, Told::refused)
                 : error(401, "", Blame::credential, Told::refused);
  r.wide = true;
  return r;
}

Reply Service::server_error() {
  const bool apns = kind_ == ProviderKind::apns;
  static constexpr std::array<int, 4> kStatuses{500, 502, 503, 504};
  Reply r = apns ? error(500, "InternalServerError", Blame::nobody, Told::maybe_sent)
                 : error(kStatuses[world_.below(4)], "INTERNAL", Blame::nobody, Told::maybe_sent);
  r.processed = world_.chance(0.5);
  return r;
}

Reply Service::odd() {
  Reply r;
  switch (world_.below(6)) {
    case 0:
      r = {.told = Told::no_receipt, .processed = world_.chance(0.5)};
      r.answer.status = 200;
      r.answer.body = "<html>ok</html>";
      return r;
    case 1:
      return server_error();
    case 2:  // a status that only a front end gives
      r = {.told = Told::maybe_sent, .processed = world_.chance(0.5)};
      r.answer.status = 520;
      r.answer.body = "<html>oops</html>";
      return r;
    case 3:  // a code that nobody knows
      return error(418, "Teapot", Blame::message, Told::refused);
    case 4:
      r = {.told = Told::maybe_sent, .processed = false};
      r.answer.status = 101;
      return r;
    default:
      return error(500, "Unregistered", Blame::nobody, Told::maybe_sent);
  }
}

void Service::with_retry_after(Reply& reply, Duration wait) const {
  reply.retry_after = wait;
  reply.answer.headers.add("retry-after", std::to_string(std::chrono::ceil<seconds>(wait).count()));
}

void Service::index(const std::string& reference) {
  findable_.try_emplace(reference, world_.mono() + world_.between(Duration(0), kIndexLag));
}

Service::Found Service::find(const std::string& reference) {
  Found out;
  out.answer.status = 200;
  if (mood_ == Mood::unavailable || mood_ == Mood::server_errors) out.answer.status = 503;
  if (mood_ == Mood::throttling || mood_ == Mood::throttling_all) out.answer.status = 429;
  if (mood_ == Mood::credential_bad) out.answer.status = 401;
  if (out.answer.status != 200) return out;
  if (mood_ == Mood::strange || world_.chance(noise_)) {
    out.answer.body = "<html>ok</html>";
    return out;
  }
  const auto at = findable_.find(reference);
  out.truth = at != findable_.end() && at->second <= world_.mono() ? Look::found : Look::absent;
  out.answer.body = out.truth == Look::found ? R"({"count":1,"messages":[{"id":"m-1"}]})"
                                             : R"({"count":0,"messages":[]})";
  return out;
}

CallResult Service::issue_token(bool& good) {
  good = false;
  HttpAnswer answer;
  if (mood_ == Mood::credential_bad) {
    answer.status = 400;
    answer.body = R"({"error":"invalid_grant","error_description":"Invalid JWT Signature."})";
    return answer;
  }
  if (mood_ == Mood::server_errors || mood_ == Mood::unavailable) {
    answer.status = 503;
    return answer;
  }
  good = true;
  answer.status = 200;
  answer.body = R"({"access_token":"at-)" + std::to_string(++tokens_issued_) +
                R"(","expires_in":3599,"token_type":"Bearer"})";
  return answer;
}

}  // namespace sendonce::sim
