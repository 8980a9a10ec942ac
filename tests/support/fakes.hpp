// Stand-ins for the outside world, stepped by hand: clock, broker, transport, provider. For tests
// of the engine and for the simulator; everything else in the tests is real.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "classifiers/provider.hpp"
#include "plugin/broker/broker.hpp"
#include "plugin/transport/transport.hpp"
#include "tests/support/fake_clock.hpp"
#include "tests/support/fake_transport.hpp"
#include "tests/support/step_lane.hpp"

namespace sendonce::test {

struct FakeBroker final : Broker {
  std::vector<Message> arriving{};
  std::vector<std::string> acked{};
  std::vector<std::pair<std::string, Duration>> naked{};
  std::vector<std::string> progressed{};
  std::vector<std::string> terminated{};
  std::vector<std::pair<Ticket, Publication>> published{};
  std::vector<Confirmation> confirmations{};
  std::map<std::uint16_t, std::size_t> credits{};
  LaneState lane_state{.ready = true, .incarnation = 1};
  bool confirm_at_once = true;
  bool refuse_replies = false;
  Errc refusal = Errc::unavailable;

  void take(std::vector<Message>& messages) override {
    for (Message& m : arriving) messages.push_back(std::move(m));
    arriving.clear();
  }
  void credit(ClassIndex c, std::size_t n) override { credits[c.get()] = n; }
  Result<void> ack(const Message& m) override { return note(acked, m.reply); }
  Result<void> nak(const Message& m, Duration delay) override {
    if (refuse_replies) return fail(refusal, "buffer full");
    naked.emplace_back(m.reply, delay);
    return {};
  }
  Result<void> progress(const Message& m) override { return note(progressed, m.reply); }
  Result<void> terminate(const Message& m) override { return note(terminated, m.reply); }
  void publish(Ticket ticket, Publication p) override {
    published.emplace_back(ticket, std::move(p));
    if (confirm_at_once) confirmations.push_back({ticket, {}});
  }
  void take_confirmations(std::vector<Confirmation>& out) override {
    for (Confirmation& c : confirmations) out.push_back(std::move(c));
    confirmations.clear();
  }
  [[nodiscard]] LaneState lane(ClassIndex) const override { return lane_state; }
  [[nodiscard]] bool connected() const override { return true; }

  [[nodiscard]] std::size_t published_on(std::string_view prefix) const {
    std::size_t n = 0;
    for (const auto& [ticket, p] : published) n += p.subject.starts_with(prefix) ? 1U : 0U;
    return n;
  }

 private:
  Result<void> note(std::vector<std::string>& list, const std::string& reply) const {
    if (refuse_replies) return fail(refusal, "buffer full");
    list.push_back(reply);
    return {};
  }
};

// A provider whose verdict is in the status: 200 accepted, 2xx without receipt 202, 410 dead token,
// 451 the same if the credential was proven, 406 not our device, 400 payload, 403 auth, 404
// configuration, 429 throttled, 500 in doubt, 503 retryable.
struct FakeProvider final : Provider {
  Capabilities caps{.kind = ProviderKind::apns};
  bool many_receivers = false;  // origin_of() has a part and no authority
  bool is_ready = true;
  std::size_t refusals = 0;
  bool renews_at_once = false;  // what it is refused
  std::uint64_t renewals = 0;
  std::string refuse_payload{};
  std::string body_prefix{};  // of every request
  bool wants_credential = false;
  std::size_t credentials_taken = 0;

  [[nodiscard]] const Capabilities& capabilities() const override { return caps; }
  [[nodiscard]] std::string app_scope() const override { return "fake:app"; }
  [[nodiscard]] Result<Destination> normal_form(const Target& t) const override {
    if (t.destination.expose() == "bad") return fail(Errc::invalid, "token: not hex");
    return t.destination;
  }
  // With many origins, or with receivers of their own: what stands before the slash.
  [[nodiscard]] Origin origin_of(const Target& t) const override {
    if (!caps.many_origins && !many_receivers) return {};
    const std::string_view token = t.destination.expose();
    const std::string_view part = token.substr(0, token.find('/'));
    return {.authority = caps.many_origins ? part : std::string_view(), .part = part};
  }
  Result<HttpRequest> prepare(const Attempt& a, WallTime) override {
    if (!refuse_payload.empty()) return fail(Errc::invalid, refuse_payload);
    HttpRequest r;
    r.authority = origin_of(a.target).authority;
    r.path = "/" + a.target.destination.expose();
    r.body = body_prefix + a.notification.content.body;
    return r;
  }
  [[nodiscard]] Verdict classify(const Target& t, const CallResult& result,
                                 WallTime) const override {
    Verdict v = judged(result);
    if (!caps.many_origins || v.effect == Effect::sent) return v;
    if (v.scope == FaultScope::provider) v.scope = FaultScope::part;
    v.part = origin_of(t).part;
    return v;
  }
  [[nodiscard]] Verdict judged(const CallResult& result) const {
    if (const auto* f = std::get_if<CallFailure>(&result))
      return {
          .name = f->effect == Effect::not_sent ? VerdictClass::retryable : VerdictClass::ambiguous,
          .effect = f->effect,
          .fault = Fault::provider,
          .reason = std::string(name(f->cause))};
    Verdict v = of_status(std::get<HttpAnswer>(result).status);
    v.refresh_credential = renews_at_once && v.fault == Fault::auth;
    return v;
  }
  [[nodiscard]] bool ready(WallTime) const override { return is_ready; }
  std::optional<HttpRequest> needs_auth(WallTime) override {
    return wants_credential ? std::optional(HttpRequest{.url = "https://auth"}) : std::nullopt;
  }
  // 200: found, 404: absent; anything else says nothing.
  Result<HttpRequest> prepare_lookup(const Attempt& a, WallTime) override {
    HttpRequest r;
    r.method = "GET";
    r.path = "/" + a.target.destination.expose();
    return r;
  }
  [[nodiscard]] LookAnswer classify_lookup(const CallResult& result, WallTime) const override {
    const auto* answer = std::get_if<HttpAnswer>(&result);
    if (answer == nullptr) return {.reason = "lookup failed"};
    if (answer->status == 200) return {.look = Look::found, .message_id = "m-2"};
    return {.look = answer->status == 404 ? Look::absent : Look::undecided, .reason = "asked"};
  }
  Verdict accept_auth(const CallResult& result, WallTime) override {
    ++credentials_taken;
    wants_credential = false;
    ++renewals;
    return of_status(std::get<HttpAnswer>(result).status);
  }
  bool credential_refused(WallTime) override {
    ++refusals;
    if (renews_at_once) ++renewals;
    return renews_at_once;
  }
  [[nodiscard]] std::uint64_t credential() const override { return renewals; }

 private:
  static Verdict of_status(int status) {
    switch (status) {
      case 200:
        return {.name = VerdictClass::accepted,
                .effect = Effect::sent,
                .fault = Fault::none,
                .reason = "ok",
                .message_id = "m-1"};
      case 202:
        return {.effect = Effect::maybe_sent, .reason = "no receipt", .receipt_missing = true};
      case 410:
        return no(VerdictClass::token_terminal, Fault::device, FaultScope::device);
      case 451: {
        Verdict v = no(VerdictClass::token_terminal, Fault::device, FaultScope::device);
        v.needs_proof = true;
        return v;
      }
      case 406:
        return no(VerdictClass::token_mismatch, Fault::mismatch, FaultScope::device);
      case 400:
        return no(VerdictClass::payload_error, Fault::request, FaultScope::delivery);
      case 403:
        return no(VerdictClass::provider_auth, Fault::auth, FaultScope::provider);
      case 404:
        return no(VerdictClass::config_error, Fault::config, FaultScope::provider);
      case 429:
        return no(VerdictClass::throttled, Fault::throttle, FaultScope::device);
      case 503:
        return no(VerdictClass::retryable, Fault::provider, FaultScope::provider);
      default:
        return {.reason = "status " + std::to_string(status)};
    }
  }
  static Verdict no(VerdictClass name, Fault fault, FaultScope scope) {
    return {
        .name = name, .effect = Effect::not_sent, .fault = fault, .scope = scope, .reason = "no"};
  }
};

}  // namespace sendonce::test
