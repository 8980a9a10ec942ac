#include "classifiers/apns/apns_token.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "plugin/core/text.hpp"
#include "plugin/crypto/jwt.hpp"

namespace sendonce {
namespace {

using std::chrono::minutes, std::chrono::seconds;

constexpr Duration kTokenLife = minutes(59);        // Apple: an hour, less our difference in clocks
constexpr Duration kShortestRenewal = minutes(20);  // Apple: not more often
// Answers to calls that carried the token before may come in this long after a new one.
constexpr Duration kAnswersUnderway = seconds(60);

bool is_apple_id(std::string_view text) {
  return text.size() == 10 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
         });
}

}  // namespace

Result<std::unique_ptr<ApnsTokenSource>> ApnsTokenSource::make(const ApnsTokenOptions& options) {
  if (!is_apple_id(options.team))
    return fail(Errc::invalid, "team must be the 10 letters and digits of the Apple team id");
  if (!is_apple_id(options.key_id))
    return fail(Errc::invalid, "key_id must be the 10 letters and digits that Apple gave the key");
  if (options.refresh < minutes(40) || options.refresh > minutes(50))
    return fail(Errc::invalid,
                "refresh must lie between 40m and 50m: Apple refuses tokens of more "
                "than an hour, and new ones within 20 minutes");
  SO_TRY(SigningKey key, SigningKey::es256(options.key));
  return std::unique_ptr<ApnsTokenSource>(new ApnsTokenSource(options, std::move(key)));
}

ApnsTokenSource::ApnsTokenSource(const ApnsTokenOptions& options, SigningKey key)
    : team_(options.team),
      key_id_(options.key_id),
      key_(std::move(key)),
      refresh_(options.refresh) {}

void ApnsTokenSource::keep_fresh(WallTime now) {
  if (!authorization_.empty() && now - minted_ < refresh_ && minted_ - now < refresh_) return;
  mint(now);
  after_refusal_ = false;
}

bool ApnsTokenSource::usable(WallTime now) const {
  return !authorization_.empty() && now - minted_ < kTokenLife && minted_ - now < kTokenLife;
}

std::optional<WallTime> ApnsTokenSource::ends() const {
  return authorization_.empty() ? std::nullopt : std::optional(minted_ + kTokenLife);
}

bool ApnsTokenSource::renewable(WallTime now) const {
  const bool fresh = now >= minted_ && now - minted_ < kShortestRenewal;
  return !authorization_.empty() && !(after_refusal_ && fresh);
}

bool ApnsTokenSource::refused(WallTime now) {
  if (!renewable(now)) return false;
  mint(now);
  after_refusal_ = true;
  return true;
}

bool ApnsTokenSource::clock_suspect(WallTime now) const {
  return after_refusal_ && now - minted_ > kAnswersUnderway;
}

void ApnsTokenSource::mint(WallTime now) {
  const auto iat = std::chrono::floor<seconds>(now.time_since_epoch()).count();
  std::string header = R"({"alg":"ES256","kid":)";
  append_json_string(header, key_id_);
  header.push_back('}');
  std::string claims = R"({"iss":)";
  append_json_string(claims, team_);
  claims.append(R"(,"iat":)");
  append_number(claims, iat);
  claims.push_back('}');
  // The key has been checked; a failure now is one of memory, and the token at hand stays.
  const auto token = make_jws(key_, header, claims);
  if (!token) return;
  authorization_ = "bearer " + *token;
  minted_ = now;
  ++minted_tokens_;
}

}  // namespace sendonce
