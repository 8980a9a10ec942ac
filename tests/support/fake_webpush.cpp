#include "tests/support/fake_webpush.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

namespace sendonce::test {
namespace {

constexpr std::string_view kPrefix = "/push/";
constexpr std::string_view kScheme = "vapid ";
constexpr std::int64_t kDay = 24 * 3600;
constexpr std::size_t kRemembered = 1000;

// t= and k= of an authorization, RFC 8292 3: parameters between commas.
std::string_view parameter(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    std::string_view one = list.substr(0, list.find(','));
    list.remove_prefix(std::min(one.size() + 1, list.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (one.starts_with(name) && one.substr(name.size()).starts_with('='))
      return one.substr(name.size() + 1);
  }
  return {};
}

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_topic(std::string_view text) {
  return !text.empty() && text.size() <= 32 &&
         text.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") ==
             std::string_view::npos;
}

}  // namespace

FakeWebPush::FakeWebPush(WebPushConfig config, std::vector<std::string> origins,
                         PushReceiver browser, std::unique_ptr<JwtVerifier> verifier)
    : config_(std::move(config)),
      origins_(std::move(origins)),
      browser_(std::move(browser)),
      verifier_(std::move(verifier)) {}

Result<std::unique_ptr<FakeWebPush>> FakeWebPush::make(WebPushConfig config,
                                                       std::vector<std::string> origins) {
  auto verifier = JwtVerifier::make(JwtAlgorithm::es256, config.key_pem);
  if (verifier == nullptr) return fail(Errc::invalid, "the VAPID key is no key on P-256");
  PushReceiver browser = config.browser_key.empty()
                             ? PushReceiver()
                             : PushReceiver(config.browser_key, config.browser_auth);
  return std::unique_ptr<FakeWebPush>(new FakeWebPush(std::move(config), std::move(origins),
                                                      std::move(browser), std::move(verifier)));
}

std::string_view FakeWebPush::subscription_of(std::string_view path) {
  return path.starts_with(kPrefix) ? path.substr(kPrefix.size()) : std::string_view{};
}

std::string_view FakeWebPush::credential_fault(const Request& request) const {
  const auto authorization = request.headers.find("authorization");
  if (!authorization || !authorization->starts_with(kScheme)) return "no VAPID credentials";
  const std::string_view list = authorization->substr(kScheme.size());
  if (parameter(list, "k") != config_.public_key)
    return "the VAPID credentials do not correspond to the credentials used to create the "
           "subscriptions";
  const auto token = parse_jwt(parameter(list, "t"));
  if (!token || !verifier_->verify(*token)) return "invalid JWT provided";
  const auto now = std::chrono::floor<std::chrono::seconds>(request.arrived.time_since_epoch());
  const auto exp = token->number("exp");
  if (!exp || *exp <= now.count() || *exp > now.count() + kDay) return "invalid JWT: exp";
  if (std::ranges::find(origins_, token->text("aud")) == origins_.end()) return "invalid JWT: aud";
  const std::string sub = token->text("sub");
  if (!sub.starts_with("mailto:") && !sub.starts_with("https://")) return "invalid JWT: sub";
  return {};
}

FakeWebPush::Judged FakeWebPush::judge(const Request& request) const {
  const Headers& h = request.headers;
  Judged out;
  const auto refuse = [&out](int status, std::string_view reason) {
    out.status = status;
    out.reason = reason;
    return std::move(out);
  };
  out.seen.subscription = subscription_of(request.path);
  if (request.method != "POST") return refuse(405, "method");
  if (out.seen.subscription.empty()) return refuse(404, "no such subscription");
  if (const std::string_view fault = credential_fault(request); !fault.empty())
    return refuse(fault.starts_with("no ") ? 401 : 403, fault);
  const auto ttl = whole(h.find("ttl").value_or(""));
  if (!ttl || *ttl < 0) return refuse(400, "TTL");
  if (const auto topic = h.find("topic"); topic && !is_topic(*topic)) return refuse(400, "Topic");
  if (h.find("content-encoding") != "aes128gcm") return refuse(400, "Content-Encoding");
  if (request.body.size() > 4096) return refuse(413, "larger than 4096 octets");
  auto text = browser_.read(request.body);
  if (!text) return refuse(400, "cannot be decrypted");
  out.seen.ttl = *ttl;
  out.seen.topic = h.find("topic").value_or("");
  out.seen.urgency = h.find("urgency").value_or("");
  out.seen.text = std::move(*text);
  const auto json = nlohmann::json::parse(out.seen.text, nullptr, false);
  if (json.is_object() && json.contains("nid") && json["nid"].is_string()) out.nid = json["nid"];
  return out;
}

void FakeWebPush::write_accepted(const Request& request, Judged&& judged, Reply& reply) {
  reply.status = 201;
  reply.headers.add("location", origins_.front() + "/message/" + std::to_string(++taken_) + "-" +
                                    std::to_string(request.connection));
  reply.headers.add("ttl", std::to_string(judged.seen.ttl));
  const std::lock_guard lock(mutex_);
  if (seen_.size() >= kRemembered) seen_.pop_front();
  seen_.push_back(std::move(judged.seen));
}

void FakeWebPush::write_refused(const Judged& judged, Reply& reply) {
  reply.status = judged.status;
  reply.headers.add("content-type", "text/plain; charset=utf-8");
  reply.body.append(judged.reason).append("\n");
}

void FakeWebPush::write_scripted(const Action& action, Reply& reply) {
  reply.status = action.status != 0 ? action.status : 201;
  if (reply.status == 201) reply.headers.add("location", "/message/scripted");
  if (action.reason.empty()) return;
  reply.headers.add("content-type", "text/plain; charset=utf-8");
  reply.body.append(action.reason).append("\n");
}

std::vector<PushSeen> FakeWebPush::seen() const {
  const std::lock_guard lock(mutex_);
  return {seen_.begin(), seen_.end()};
}

}  // namespace sendonce::test
