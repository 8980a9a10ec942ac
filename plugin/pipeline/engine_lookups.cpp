// The policy `lookup`: what a claim in doubt leads to, and what an answer about it does.
#include <algorithm>
#include <utility>

#include "plugin/core/text.hpp"
#include "plugin/pipeline/engine.hpp"

namespace sendonce {
namespace {

constexpr Duration kAgain = std::chrono::seconds(1);  // no stream, no credential

}  // namespace

// Of the provider, when the class looks and it can be asked.
std::optional<Duration> Engine::lag_of(const Delivery& d) const {
  if (policy(d).ambiguous(d.message->note.channel) != AmbiguityPolicy::lookup) return std::nullopt;
  const Capabilities& able = providers_[d.provider.get()]->slot.provider->capabilities();
  return able.lookup ? std::optional(able.lookup_lag) : std::nullopt;
}

LookContext Engine::look_context(const Delivery& d) const {
  const Capabilities& able = providers_[d.provider.get()]->slot.provider->capabilities();
  return {
      .mono = now_.mono, .wall = now_.wall, .lag = able.lookup_lag, .window = able.lookup_window};
}

// True: it was not there, and may be sent again. Else what has to be done is under way.
bool Engine::may_send_after_looks(Delivery& d, const Claimed& claimed) {
  const auto lag = lag_of(d);
  if (!lag) {
    give_up(d, "an earlier attempt may have sent it, and nobody can be asked");
    return false;
  }
  d.look_until = claimed.deadline + look_for(*lag);
  // What a claim that was left behind has sent is only known to be in doubt since now.
  const LookState& state =
      claimed.taken_over ? looks_.doubt(d.key, now_.mono, *lag) : looks_.of(d.key, now_.mono, *lag);
  LookVerdict judged = judge_doubt(claimed, state, look_context(d), policy(d).config.retry);
  if (judged.step == LookStep::send) return true;
  spare_probe(d);  // a look says nothing about a hold
  if (judged.step == LookStep::give_up) {
    give_up(d, std::move(judged.reason));
  } else if (judged.step == LookStep::wait) {
    give_back(d, judged.wait, "in doubt, to be looked for");
  } else if (draining_) {
    give_back(d, Duration::zero(), "draining");
  } else {
    look(d);
  }
  return false;
}

void Engine::look(Delivery& d) {
  const ProviderSlot& slot = provider(d).slot;
  d.request.reset();
  if (!slot.provider->ready(now_.wall)) return give_back(d, kAgain, "no credential to look with");
  auto question = slot.provider->prepare_lookup(attempt(d), now_.wall);
  if (!question) return give_up(d, "lookup: " + question.error().text);
  // The answer must have come before the lease ends.
  question->not_after_mono = now_.mono + policy(d).config.claim - slot.config.total;
  d.stage = Stage::looking;
  if (!deps_.transport.submit(d.ticket, d.provider, std::move(*question), slot.config.total))
    give_back(d, kAgain, "no free stream to look by");
}

void Engine::finish_look(Delivery& d, const CallResult& result) {
  LookAnswer answer = provider(d).slot.provider->classify_lookup(result, now_.wall);
  ++state(d).counters.looks[static_cast<std::size_t>(answer.look)];
  const LookContext context = look_context(d);
  LookState& known = looks_.of(d.key, now_.mono, context.lag);
  d.decision = decide_look(answer, known, context, policy(d).config.retry, random_);
  deps_.log.debug("delivery.looked_for", {{"class", policy(d).config.name},
                                          {"key", short_key(d.key)},
                                          {"answer", name(answer.look)},
                                          {"reason", answer.reason}});
  const bool found = answer.look == Look::found;
  d.verdict = {.name = found ? VerdictClass::accepted : VerdictClass::ambiguous,
               .effect = found ? Effect::sent : Effect::maybe_sent,
               .fault = found ? Fault::none : Fault::provider,
               .reason = std::move(answer.reason),
               .message_id = std::move(answer.message_id)};
  // An answer that does not find it is no attempt, and no proof of anything.
  d.attempted = found;
  d.device_believed = false;
  settle(d);
}

// Looks of before a call say nothing about it.
void Engine::note_doubt(Delivery& d, const Verdict& verdict) {
  if (verdict.effect != Effect::maybe_sent) return;
  const auto lag = lag_of(d);
  if (!lag) return looks_.forget(d.key);  // its class may look again after a reload
  d.look_until = d.deadline + look_for(*lag);
  looks_.doubt(d.key, now_.mono, std::max(*lag, verdict.retry_after));
}

}  // namespace sendonce
