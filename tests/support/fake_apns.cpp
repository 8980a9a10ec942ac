#include "tests/support/fake_apns.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "plugin/core/text.hpp"

namespace sendonce::test {
namespace {

constexpr std::string_view kPrefix = "/3/device/";
constexpr std::string_view kBearer = "bearer ";
constexpr std::size_t kMaxPayload = 4096;
constexpr std::size_t kMaxVoipPayload = 5120;
constexpr std::size_t kMaxCollapseId = 64;
constexpr std::chrono::hours kMaxAge{1};
constexpr std::chrono::minutes kMaxAhead{1};  // of our clock
constexpr std::chrono::minutes kUpdateInterval{20};
constexpr std::size_t kMaxCached = 10'000;

struct ReasonStatus {
  std::string_view reason{};
  int status = 0;
};

constexpr std::array kStatuses = {ReasonStatus{"BadCertificate", 403},
                                  ReasonStatus{"BadCertificateEnvironment", 403},
                                  ReasonStatus{"BadEnvironmentKeyIdInToken", 403},
                                  ReasonStatus{"ExpiredProviderToken", 403},
                                  ReasonStatus{"Forbidden", 403},
                                  ReasonStatus{"InvalidProviderToken", 403},
                                  ReasonStatus{"MissingProviderToken", 403},
                                  ReasonStatus{"UnrelatedKeyIdInToken", 403},
                                  ReasonStatus{"BadPath", 404},
                                  ReasonStatus{"MethodNotAllowed", 405},
                                  ReasonStatus{"ExpiredToken", 410},
                                  ReasonStatus{"Unregistered", 410},
                                  ReasonStatus{"PayloadTooLarge", 413},
                                  ReasonStatus{"TooManyProviderTokenUpdates", 429},
                                  ReasonStatus{"TooManyRequests", 429},
                                  ReasonStatus{"InternalServerError", 500},
                                  ReasonStatus{"ServiceUnavailable", 503},
                                  ReasonStatus{"Shutdown", 503}};

struct PushType {
  std::string_view name{};
  std::string_view suffix{};  // of the topic
};

constexpr std::array kPushTypes = {PushType{"alert", ""},
                                   PushType{"background", ""},
                                   PushType{"mdm", ""},
                                   PushType{"voip", ".voip"},
                                   PushType{"complication", ".complication"},
                                   PushType{"fileprovider", ".pushkit.fileprovider"},
                                   PushType{"location", ".location-query"},
                                   PushType{"pushtotalk", ".voip-ptt"},
                                   PushType{"liveactivity", ".push-type.liveactivity"},
                                   PushType{"widgets", ".push-type.widgets"},
                                   PushType{"controls", ".push-type.controls"}};

int status_of(std::string_view reason) {
  const auto at = std::ranges::find(kStatuses, reason, &ReasonStatus::reason);
  return at == kStatuses.end() ? 400 : at->status;
}

// The request's fields that APNs looks at, in one pass.
struct Fields {
  std::optional<std::string_view> authorization{};
  std::optional<std::string_view> id{};
  std::optional<std::string_view> topic{};
  std::optional<std::string_view> push_type{};
  std::optional<std::string_view> priority{};
  std::optional<std::string_view> expiration{};
  std::optional<std::string_view> collapse_id{};
  bool repeated = false;

  explicit Fields(const Headers& headers) {
    for (std::size_t i = 0; i < headers.size(); ++i) {
      const Headers::Field f = headers[i];
      std::optional<std::string_view>* slot = slot_of(f.name);
      if (slot == nullptr) continue;
      repeated = repeated || slot->has_value();
      *slot = f.value;
    }
  }
  std::optional<std::string_view>* slot_of(std::string_view name) {
    if (name == "authorization") return &authorization;
    if (!name.starts_with("apns-")) return nullptr;
    name.remove_prefix(5);
    if (name == "id") return &id;
    if (name == "topic") return &topic;
    if (name == "push-type") return &push_type;
    if (name == "priority") return &priority;
    if (name == "expiration") return &expiration;
    if (name == "collapse-id") return &collapse_id;
    return nullptr;
  }
};

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !is_hex(text[i])) return false;
  }
  return true;
}

bool is_number(std::string_view text) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= 0;
}

bool good_priority(const Fields& f) {
  const std::string_view priority = f.priority.value_or("10");
  // A background push of priority 10 is an error, also when 10 is only the default.
  if (priority == "10") return f.push_type != "background";
  return priority == "5" || priority == "1";
}

std::string_view header_fault(const Fields& f) {
  if (f.id && !is_uuid(*f.id)) return "BadMessageId";
  if (f.push_type &&
      std::ranges::find(kPushTypes, *f.push_type, &PushType::name) == kPushTypes.end()) {
    return "InvalidPushType";
  }
  if (f.expiration && !is_number(*f.expiration)) return "BadExpirationDate";
  if (!good_priority(f)) return "BadPriority";
  if (f.collapse_id && f.collapse_id->size() > kMaxCollapseId) return "BadCollapseId";
  return {};
}

std::string_view token_fault(std::string_view token) {
  if (token.empty()) return "MissingDeviceToken";
  if (token.size() % 2 != 0 || !std::ranges::all_of(token, is_hex)) return "BadDeviceToken";
  return {};
}

void write_reason(std::string_view reason, int status, Duration invalid_since,
                  const Request& request, Reply& reply) {
  reply.status = status;
  reply.headers.add("content-type", "application/json");
  reply.body = "{\"reason\":";
  append_json_string(reply.body, reason);
  if (status == 410) {
    const auto at = std::chrono::floor<std::chrono::milliseconds>(
        request.arrived.time_since_epoch() - invalid_since);
    reply.body += ",\"timestamp\":" + std::to_string(at.count());
  }
  reply.body += '}';
}

}  // namespace

Result<std::unique_ptr<FakeApns>> FakeApns::make(ApnsConfig config) {
  std::vector<Key> keys;
  for (const ApnsKey& key : config.keys) {
    auto verifier = JwtVerifier::make(JwtAlgorithm::es256, key.pem);
    if (verifier == nullptr) {
      return fail(Errc::invalid, "APNs key " + key.key_id + ": not a P-256 key in PEM");
    }
    keys.push_back({.config = key, .verifier = std::move(verifier)});
  }
  return std::unique_ptr<FakeApns>(new FakeApns(std::move(config), std::move(keys)));
}

FakeApns::FakeApns(ApnsConfig config, std::vector<Key> keys)
    : config_(std::move(config)), keys_(std::move(keys)) {}

std::string_view FakeApns::token_of(std::string_view path) {
  return path.starts_with(kPrefix) ? path.substr(kPrefix.size()) : std::string_view{};
}

std::string_view FakeApns::refusal(const Request& request) {
  if (request.method != "POST") return "MethodNotAllowed";
  const std::string_view token = token_of(request.path);
  if (!request.path.starts_with(kPrefix) || token.find('/') != std::string_view::npos) {
    return "BadPath";
  }
  const Fields f(request.headers);
  if (f.repeated) return "DuplicateHeaders";
  if (!f.authorization) return "MissingProviderToken";
  if (const auto fault = credential_fault(*f.authorization, request); !fault.empty()) return fault;
  if (const auto fault = header_fault(f); !fault.empty()) return fault;
  const std::string_view type = f.push_type.value_or("alert");
  if (const auto fault = topic_fault(f.topic.value_or(""), type); !fault.empty()) return fault;
  if (const auto fault = token_fault(token); !fault.empty()) return fault;
  if (request.body.empty()) return "PayloadEmpty";
  if (request.body.size() > (type == "voip" ? kMaxVoipPayload : kMaxPayload)) {
    return "PayloadTooLarge";
  }
  // APNs documents no reason for a payload that is no JSON.
  if (!config_.lenient && !checks_.apns_payload(request.body)) return "PayloadEmpty";
  return {};
}

FakeApns::Verified FakeApns::verify(std::string_view bearer) const {
  const std::optional<Jwt> token = parse_jwt(bearer);
  if (!token) return {.fault = "InvalidProviderToken"};
  const auto issued = token->number("iat");
  for (const Key& key : keys_) {
    if (key.config.key_id != token->key_id || key.config.team != token->text("iss")) continue;
    if (!issued || !key.verifier->verify(*token)) break;
    return {.key_id = token->key_id, .issued_at = *issued};
  }
  return {.fault = "InvalidProviderToken"};
}

const FakeApns::Verified& FakeApns::verified(std::string_view authorization) {
  if (cache_.size() > kMaxCached) cache_.clear();
  const auto [at, added] = cache_.try_emplace(std::string(authorization));
  if (added) at->second = verify(authorization.substr(kBearer.size()));
  return at->second;
}

std::string_view FakeApns::credential_fault(std::string_view authorization,
                                            const Request& request) {
  const bool bearer = authorization.starts_with(kBearer) || authorization.starts_with("Bearer ");
  if (!bearer) return "MissingProviderToken";
  Peer& peer = peers_[request.connection];
  const bool same = peer.authorization == authorization;
  const Verified v = same ? peer.verified : verified(authorization);
  if (!v.fault.empty()) return v.fault;
  const Duration age = request.arrived.time_since_epoch() - std::chrono::seconds(v.issued_at);
  if (age > kMaxAge || age < -kMaxAhead) return "ExpiredProviderToken";
  if (same) return {};
  const bool seen = std::ranges::find(peer.used, authorization) != peer.used.end();
  if (!peer.authorization.empty() && !seen) {
    if (peer.verified.key_id != v.key_id) return "UnrelatedKeyIdInToken";
    const bool soon = peer.updated_once && request.arrived - peer.updated < kUpdateInterval;
    if (soon) return "TooManyProviderTokenUpdates";
    peer.updated = request.arrived;
    peer.updated_once = true;
  }
  if (!seen) peer.used.emplace_back(authorization);
  peer.authorization = authorization;
  peer.verified = v;
  return {};
}

std::string_view FakeApns::topic_fault(std::string_view topic, std::string_view type) const {
  if (topic.empty()) return "MissingTopic";
  const auto at = std::ranges::find(kPushTypes, type, &PushType::name);
  const std::string_view suffix = at == kPushTypes.end() ? std::string_view{} : at->suffix;
  if (!topic.ends_with(suffix)) return "BadTopic";
  topic.remove_suffix(suffix.size());
  if (std::ranges::find(config_.topics, topic) == config_.topics.end()) return "TopicDisallowed";
  return {};
}

void FakeApns::write_id(const Request& request, Reply& reply) {
  const auto given = request.headers.find("apns-id");
  if (given && is_uuid(*given)) {
    reply.headers.add("apns-id", *given);
    return;
  }
  std::array<std::uint8_t, 16> bytes{};
  for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(random_.below(256));
  reply.headers.add("apns-id", uuid_text(bytes));
}

void FakeApns::write_accepted(const Request& request, Reply& reply) {
  write_id(request, reply);
  if (!config_.sandbox) return;
  std::array<std::uint8_t, 16> bytes{};
  for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(random_.below(256));
  reply.headers.add("apns-unique-id", uuid_text(bytes));
}

void FakeApns::write_refused(std::string_view reason, const Request& request, Reply& reply) {
  write_id(request, reply);
  write_reason(reason, status_of(reason), Duration::zero(), request, reply);
}

void FakeApns::write_scripted(const Action& action, const Request& request, Reply& reply) {
  const bool refused = action.status >= 300 || !action.reason.empty();
  if (!refused) {
    write_accepted(request, reply);
  } else {
    write_id(request, reply);
  }
  if (action.status != 0) reply.status = action.status;
  if (!action.reason.empty()) {
    const int status = action.status != 0 ? action.status : status_of(action.reason);
    write_reason(action.reason, status, action.invalid_since, request, reply);
  }
}

void FakeApns::forget(std::uint64_t connection) {
  peers_.erase(connection);
}

}  // namespace sendonce::test
