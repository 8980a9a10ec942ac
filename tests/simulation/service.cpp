#include "tests/simulation/service.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "plugin/core/text.hpp"
#include "tests/simulation/dialect.hpp"

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
  if (credentials_refused_.contains(authorization)) return say(kind_, Saying::stale_credential);
  if (reads_times_ && !takes_time_of(authorization)) {
    world_.hit(Probe::credential_from_another_time);
    staled_ = world_.mono();  // the one that is minted for this stays good for as long
    return say(kind_, Saying::stale_credential);
  }
  if (auto reply = by_mood()) return std::move(*reply);
  if (world_.chance(noise_)) return odd();
  if (refuses_content(request.body)) return say(kind_, Saying::bad_content);
  if (auto reply = by_token(token)) return std::move(*reply);
  return accept();
}

std::optional<Reply> Service::by_mood() {
  switch (mood_) {
    case Mood::unavailable: {
      Reply r = say(kind_, Saying::busy);
      if (world_.chance(0.3)) with_retry_after(r, seconds(1 + world_.below(30)));
      return r;
    }
    case Mood::server_errors:
      return server_error();
    case Mood::throttling: {
      if (world_.chance(0.4)) return std::nullopt;
      Reply r = say(kind_, Saying::throttled);
      with_retry_after(r, seconds(1 + world_.below(20)));
      return r;
    }
    case Mood::throttling_all: {
      Reply r = say(kind_, Saying::throttled_all);
      with_retry_after(r, seconds(5 + world_.below(60)));
      return r;
    }
    case Mood::credential_bad:
      return say(kind_, Saying::bad_credential);
    case Mood::setup_wrong:
      return say(kind_, Saying::wrong_setup);
    case Mood::wrong_environment:
      if (kind_ == ProviderKind::apns) return say(kind_, Saying::wrong_environment);
      return std::nullopt;
    case Mood::part_wrong:
      if (kind_ != ProviderKind::fcm || world_.chance(0.5)) return std::nullopt;
      return say(kind_, Saying::wrong_part);
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
  if (truth.mismatch) return say(kind_, Saying::mismatch);
  if (!truth.dead_since || *truth.dead_since > world_.true_wall()) return std::nullopt;
  Reply r = say(kind_, Saying::dead);
  if (kind_ != ProviderKind::apns) return r;
  if (world_.chance(0.2)) {  // the same words, and it is the device's fault
    r = say(kind_, Saying::wrong_environment);
    r.blame = Blame::device;
    return r;
  }
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(*truth.dead_since);
  r.dead_since = WallTime(ms.time_since_epoch());
  r.answer.body = R"({"reason":"Unregistered","timestamp":)" +
                  std::to_string(ms.time_since_epoch().count()) + "}";
  return r;
}

Reply Service::accept() {
  Reply r{.told = Told::sent, .processed = true};
  r.answer = acceptance(kind_, ++receipts_);
  return r;
}

Reply Service::server_error() {
  static constexpr std::array<int, 4> kStatuses{500, 502, 503, 504};
  Reply r = say(kind_, Saying::server_error);
  if (kind_ == ProviderKind::fcm)
    r.answer = server_error_with(kind_, kStatuses[world_.below(kStatuses.size())]);
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
      return say(kind_, Saying::unknown_code);
    case 4:
      r = {.told = Told::maybe_sent, .processed = false};
      r.answer.status = 101;
      return r;
    default:
      return say(kind_, Saying::dead_in_a_server_error);
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
