#include "classifiers/corpus_transport.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace sendonce {
namespace {

constexpr std::int64_t kRefusedStream = 7;  // RFC 9113 7

std::optional<std::int64_t> integer_at(const JsonTree& object, std::string_view name) {
  const JsonTree* member = object.find(name);
  if (member == nullptr) return std::nullopt;
  if (member->is(JsonTree::Type::array) && !member->children.empty())
    return member->children.front().integer();
  return member->integer();
}

std::optional<bool> boolean_at(const JsonTree& object, std::string_view name) {
  const JsonTree* member = object.find(name);
  if (member == nullptr || !member->is(JsonTree::Type::boolean)) return std::nullopt;
  return member->text == "true";
}

CallFailure failure(Effect effect, Cause cause, std::string text = {}) {
  CallFailure out;
  out.effect = effect;
  out.cause = cause;
  out.complete = effect == Effect::maybe_sent;
  out.text = std::move(text);
  return out;
}

bool says(std::string_view event, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [event](std::string_view word) {
    return event.find(word) != std::string_view::npos;
  });
}

// RFC 8446 6.2: alerts by which a server refuses the client's certificate.
bool is_client_certificate_alert(std::int64_t alert) {
  constexpr std::array<std::int64_t, 9> kAlerts{41, 42, 43, 44, 45, 46, 48, 49, 116};
  return std::find(kAlerts.begin(), kAlerts.end(), alert) != kAlerts.end();
}

// Certificate, cipher, CA file and the like: https://curl.se/libcurl/c/libcurl-errors.html
bool is_curl_tls(std::int64_t code) {
  constexpr std::array<std::int64_t, 14> kCodes{35, 51, 53, 54, 58, 59, 60,
                                                64, 66, 77, 80, 82, 83, 90};
  return std::find(kCodes.begin(), kCodes.end(), code) != kCodes.end();
}

CallFailure curl_failure(const RecordedTransport& seen) {
  const std::int64_t code = seen.code.value_or(-1);
  const bool untouched = seen.prereq_calls == 0 || code == 5 || code == 6 || code == 7;
  if (seen.tls_alert && is_client_certificate_alert(*seen.tls_alert))
    return failure(Effect::not_sent, Cause::client_auth);  // a server that refuses us reads nothing
  if (seen.connect_code == 407)
    return failure(Effect::not_sent, Cause::tls, "the proxy asks for credentials");
  if (code == 92 && seen.h2_error == kRefusedStream)
    return failure(Effect::not_sent, Cause::refused);
  if (is_curl_tls(code) && seen.prereq_calls.value_or(0) == 0)
    return failure(Effect::not_sent, Cause::tls);
  if (code == 1 || code == 3)
    return failure(untouched ? Effect::not_sent : Effect::maybe_sent, Cause::tls,
                   "the peer does not speak HTTP");
  if (untouched) return failure(Effect::not_sent, Cause::connect);
  CallFailure out = failure(Effect::maybe_sent, Cause::connection_lost);
  if (code == 28) out.cause = Cause::timed_out;
  if (code == 42) out.cause = Cause::cancelled;
  if (code == 92) {
    out.cause = Cause::reset;
    out.h2_error = static_cast<std::uint32_t>(seen.h2_error.value_or(0));
  }
  return out;
}

CallFailure h2_failure(const RecordedTransport& seen) {
  const bool refused = seen.last_stream_below_ours.value_or(false) ||
                       (seen.event != "GOAWAY" && seen.h2_error == kRefusedStream);
  if (refused) return failure(Effect::not_sent, Cause::refused);
  CallFailure out = failure(Effect::maybe_sent, Cause::connection_lost);
  if (says(seen.event, {"RST_STREAM", "rst_stream", "reset"})) out.cause = Cause::reset;
  if (says(seen.event, {"timeout"})) out.cause = Cause::timed_out;
  out.h2_error =
      static_cast<std::uint32_t>(std::clamp<std::int64_t>(seen.h2_error.value_or(0), 0, 255));
  return out;
}

CallFailure tls_failure(const RecordedTransport& seen) {
  const bool received = !says(seen.event, {"sent", "verify"});
  if (received && seen.tls_alert && is_client_certificate_alert(*seen.tls_alert))
    return failure(Effect::not_sent, Cause::client_auth);
  if (says(seen.event, {"timeout", "reset", "closed", "eof", "fin"}))
    return failure(Effect::not_sent, Cause::connect);
  return failure(Effect::not_sent, Cause::tls);
}

CallFailure socket_failure(const RecordedTransport& seen) {
  if (says(seen.event, {"connect_", "refused", "unreachable", "resolve", "dns", "lookup", "name_",
                        "idle", "before_request", "never_written", "not_written"}))
    return failure(Effect::not_sent, Cause::connect);
  if (says(seen.event, {"timeout"})) return failure(Effect::maybe_sent, Cause::timed_out);
  return failure(Effect::maybe_sent, Cause::connection_lost);
}

}  // namespace

RecordedTransport read_transport(const JsonTree& object) {
  RecordedTransport seen;
  seen.layer = object.string_at("layer");
  seen.event = object.string_at("event");
  seen.code = integer_at(object, "code");
  seen.prereq_calls = integer_at(object, "prereq_calls");
  seen.connect_code = integer_at(object, "connect_code");
  seen.tls_alert = integer_at(object, "tls_alert");
  if (!seen.tls_alert) seen.tls_alert = integer_at(object, "alert");
  seen.h2_error = integer_at(object, "h2_error");
  if (!seen.h2_error) seen.h2_error = integer_at(object, "error_code");
  seen.in_flight = integer_at(object, "in_flight");
  seen.last_stream_below_ours = boolean_at(object, "last_stream_below_ours");
  return seen;
}

bool has_failed(const RecordedTransport& seen) {
  return seen.layer != "curl" || seen.code != 0;
}

CallFailure failure_of(const RecordedTransport& seen) {
  if (seen.in_flight == 0) return failure(Effect::not_sent, Cause::connection_lost);
  if (seen.layer == "curl") return curl_failure(seen);
  if (seen.layer == "h2") return h2_failure(seen);
  if (seen.layer == "tls") return tls_failure(seen);
  if (seen.layer == "dns") return failure(Effect::not_sent, Cause::connect);
  return socket_failure(seen);
}

}  // namespace sendonce
