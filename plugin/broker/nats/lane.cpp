#include "plugin/broker/nats/lane.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kNoResponders = milliseconds(50);
constexpr Duration kNoRespondersCap = seconds(2);
constexpr Duration kMoving = milliseconds(100);
constexpr Duration kMovingCap = milliseconds(250);
constexpr Duration kCrowded = seconds(1);
constexpr Duration kCrowdedCap = seconds(5);
constexpr Duration kEmptyPause = milliseconds(50);  // after 404, which comes at once
constexpr Duration kPatience = seconds(5);          // failing for longer is not ready
constexpr unsigned kSilencesTolerated = 2;
// The owner of a consumer may change; `setup --adopt` counts on its being noticed within a minute.
constexpr Duration kUncheckedMost = seconds(30);
constexpr Duration kInfoWithoutPull = seconds(1);
constexpr Duration kFirstAskPause = milliseconds(250);
constexpr unsigned kMostDoublings = 10;
constexpr Duration kCreditSettles = milliseconds(100);
constexpr unsigned kTooBigAlone =
    2;  // times that a message did not fit, then it is asked for alone
constexpr std::size_t kMostRequests = 8;  // open at a time

// nats-server 2.9 writes another time of creation to its disk than it first reports, tens of
// microseconds later, so a consumer's changes with the first restart (measured; a stream's does
// not). Nobody deletes a consumer and makes it again that fast, and as long as the stream is the
// same an old reply can only ack the message it was for.
constexpr Duration kCreationBlur = milliseconds(100);

bool same_creation(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto x = parse_rfc3339(a);
  const auto y = parse_rfc3339(b);
  return x && y && std::chrono::abs(*x - *y) <= kCreationBlur;
}

}  // namespace

Lane::Lane(ClassIndex message_class, ConsumerExpectation expected, PullSettings settings,
           std::uint64_t seed)
    : message_class_(message_class),
      expected_(std::move(expected)),
      settings_(settings),
      random_(seed) {}

void Lane::connected(MonoTime now) {
  phase_ = Phase::checking;
  opening_ = true;
  phase_reason_ = "checking consumer " + expected_.durable + " of stream " + expected_.stream;
  denied_.clear();
  stalled_.clear();
  trouble_.clear();
  trouble_fatal_ = false;
  open_.clear();
  silences_ = 0;
  failures_ = 0;
  failing_since_.reset();
  stalled_since_.reset();
  pull_after_ = now;
  round_.open = false;
  ask_at_ = now;
}

void Lane::disconnected(std::string why) {
  opening_ = false;
  phase_ = Phase::offline;
  phase_reason_ = std::move(why);
  open_.clear();
  round_.open = false;
}

void Lane::set_credit(std::size_t messages) {
  credit_ = messages;
  used_ = 0;
}

// What was taken counts against the credit until the engine has had the time to give another: it
// says nothing when what it took is done again already.
void Lane::taken(MonoTime now, std::size_t kept) {
  const std::size_t taken = untaken_ - std::min(untaken_, kept);
  if (taken == 0) return;
  used_ += taken;
  used_at_ = now;
  untaken_ -= taken;
}

void Lane::dropped(std::size_t messages) {
  untaken_ -= std::min(untaken_, messages);
}

bool Lane::on_message(MonoTime now, const AckReply& reply) {
  ++untaken_;
  heard(now);
  stalled_.clear();
  stalled_since_.reset();
  too_big_ = 0;
  if (!open_.empty() && --open_.front().left == 0) open_.pop_front();
  const bool went_back = reply.consumer_seq <= consumer_seq_;
  consumer_seq_ = reply.consumer_seq;
  if (phase_ != Phase::bound) return false;
  if (!went_back) return true;
  // Another consumer of the same name, or a server that lost what it had not yet written.
  recheck(now, "the delivery count of consumer " + expected_.durable + " went back, checking it");
  return false;
}

void Lane::on_status(MonoTime now, std::uint64_t request, int code, std::string_view description) {
  if (phase_ != Phase::bound) return;  // of a request that is forgotten
  const PullStatus status = pull_status(code, description);
  const bool known =
      std::any_of(open_.begin(), open_.end(), [request](const Open& o) { return o.id == request; });
  switch (status.event) {
    case PullEvent::heartbeat:
      if (known) heard(now);
      return;
    case PullEvent::no_messages:
    case PullEvent::expired:
    case PullEvent::over_bytes:
    case PullEvent::too_big:
      if (drop_request(request)) on_request_over(now, status);
      return;
    case PullEvent::consumer_deleted:
      recheck(now,
              "consumer " + expected_.durable + " of stream " + expected_.stream + " was deleted");
      return;
    case PullEvent::too_many_pulls:
    case PullEvent::batch_limit:
    case PullEvent::expires_limit:
    case PullEvent::bytes_limit:
    case PullEvent::moving:
    case PullEvent::wrong_consumer:
    case PullEvent::no_responders:
    case PullEvent::other:
      if (drop_request(request)) on_conflict(now, status, code, description);
      return;
  }
}

void Lane::on_request_over(MonoTime now, const PullStatus& status) {
  heard(now);
  if (status.event == PullEvent::too_big) ++too_big_;
  if (status.event == PullEvent::no_messages) pull_after_ = now + kEmptyPause;
}

void Lane::on_conflict(MonoTime now, const PullStatus& status, int code,
                       std::string_view description) {
  const std::string said = std::to_string(code) + " " + std::string(description);
  const auto failing_for = [&] { return now - failing_since_.value_or(now); };
  if (!failing_since_) failing_since_ = now;
  switch (status.event) {
    case PullEvent::batch_limit:
    case PullEvent::expires_limit:
    case PullEvent::bytes_limit:
      adopt_limit(status, description);
      break;
    case PullEvent::moving:
      back_off(now, kMoving, kMovingCap);
      break;
    case PullEvent::too_many_pulls:
      back_off(now, kCrowded, kCrowdedCap);
      trouble("consumer " + expected_.durable +
              " has too many waiting pull requests: another program pulls from it, or its "
              "max_waiting is too small");
      break;
    case PullEvent::no_responders:
      back_off(now, kNoResponders, kNoRespondersCap);
      if (failing_for() >= kPatience)
        trouble("nobody answers for consumer " + expected_.durable +
                " (503): no leader, JetStream is off, or the server is in lame duck mode");
      break;
    case PullEvent::wrong_consumer:
      pull_after_ = now + settings_.info_interval;
      trouble("the server refuses to deliver from consumer " + expected_.durable + ": " + said +
                  "; run `sendonce setup`",
              true);
      break;
    case PullEvent::other:
      back_off(now, kMoving, kNoRespondersCap);
      if (failing_for() >= kPatience) trouble("pull requests are refused: " + said);
      break;
    case PullEvent::heartbeat:
    case PullEvent::no_messages:
    case PullEvent::expired:
    case PullEvent::over_bytes:
    case PullEvent::too_big:
    case PullEvent::consumer_deleted:
      break;
  }
}

void Lane::adopt_limit(const PullStatus& status, std::string_view description) {
  if (status.event == PullEvent::batch_limit && status.limit > 0) batch_limit_ = status.limit;
  if (status.event == PullEvent::bytes_limit && status.limit > 0)
    settings_.max_bytes = status.limit;
  if (status.event == PullEvent::expires_limit && status.duration > Duration{}) {
    settings_.expires = status.duration;
    settings_.heartbeat = std::min(settings_.heartbeat, settings_.expires / 2);
  }
  notice_ = "consumer " + expected_.durable +
            " allows less than was asked for, adopted: " + std::string(description);
}

void Lane::on_pull_failed(MonoTime now, std::uint64_t request) {
  if (drop_request(request)) back_off(now, kMoving, kNoRespondersCap);
}

void Lane::on_denied(MonoTime now, std::string what) {
  denied_ = std::move(what);
  denied_round_ = round_.number;
  open_.clear();
  ask_at_ = std::min(ask_at_, now + settings_.info_interval);
}

LaneStep Lane::step(MonoTime now) {
  LaneStep step;
  if (phase_ == Phase::offline || stopped_) return step;
  if (now - used_at_ >= kCreditSettles) used_ = 0;
  forget_silent(now);
  if (round_.open && now - round_.asked >= settings_.info_timeout)
    on_info_error(now, ApiError{.description = "no answer, not permitted or JetStream is off"});
  if (!round_.open && now >= ask_at_) ask(now, step);
  if (now >= pull_after_ && wants_pull()) step.pull = make_request(now);
  return step;
}

void Lane::ask(MonoTime now, LaneStep& step) {
  round_ = Round{.number = round_.number + 1, .asked = now, .open = true};
  step.ask_consumer = round_.number;
  if (phase_ != Phase::bound) step.ask_stream = round_.number;
  step.probe_ack = phase_ != Phase::bound || !denied_.empty();
  // Without a pull request nobody tells us that the consumer is gone, and acks may reach another.
  ask_at_ = now + (open_.empty() ? std::min(kInfoWithoutPull, settings_.info_interval)
                                 : settings_.info_interval);
}

MonoTime Lane::next_step() const {
  if (phase_ == Phase::offline || stopped_) return MonoTime::max();
  MonoTime next = round_.open ? round_.asked + settings_.info_timeout : ask_at_;
  for (const Open& request : open_) next = std::min(next, request.heard + silence());
  if (wants_pull()) next = std::min(next, pull_after_);
  if (used_ > 0) next = std::min(next, used_at_ + kCreditSettles);
  return next;
}

bool Lane::may_pull() const {
  return phase_ == Phase::bound && denied_.empty() && !stopped_;
}

bool Lane::wants_pull() const {
  const std::size_t most = too_big_ >= kTooBigAlone ? 1 : kMostRequests;
  return may_pull() && open_.size() < most && 2 * outstanding() < credit();
}

std::size_t Lane::outstanding() const {
  return std::accumulate(open_.begin(), open_.end(), untaken_,
                         [](std::size_t sum, const Open& o) { return sum + o.left; });
}

PullRequest Lane::make_request(MonoTime now) {
  std::uint64_t batch = credit() - outstanding();
  if (batch_limit_ > 0) batch = std::min(batch, batch_limit_);
  const bool stuck = too_big_ >= kTooBigAlone;  // alone and without a limit, any message comes
  if (stuck) batch = 1;
  open_.push_back(Open{.id = ++last_request_, .left = batch, .heard = now});
  return PullRequest{.id = last_request_,
                     .batch = batch,
                     .expires = settings_.expires,
                     .heartbeat = settings_.heartbeat,
                     .max_bytes = stuck ? 0 : settings_.max_bytes};
}

void Lane::heard(MonoTime now) {
  for (Open& request : open_) request.heard = now;
  silences_ = 0;
  failures_ = 0;
  failing_since_.reset();
  trouble_.clear();
  trouble_fatal_ = false;
}

bool Lane::drop_request(std::uint64_t id) {
  return std::erase_if(open_, [id](const Open& o) { return o.id == id; }) > 0;
}

void Lane::back_off(MonoTime now, Duration first, Duration cap) {
  const Duration pause = std::min(cap, first * (1U << std::min(failures_, kMostDoublings)));
  ++failures_;
  pull_after_ = now + pause * 3 / 4 + random_.jitter(pause / 2);
}

void Lane::trouble(std::string reason, bool fatal) {
  trouble_ = std::move(reason);
  trouble_fatal_ = fatal;
}

// Until CONSUMER.INFO has answered nothing is pulled, delivered or acked.
void Lane::recheck(MonoTime now, std::string why) {
  phase_ = Phase::checking;
  phase_reason_ = std::move(why);
  open_.clear();
  round_.open = false;
  ask_at_ = now;
}

void Lane::forget_silent(MonoTime now) {
  const std::size_t silent =
      std::erase_if(open_, [&](const Open& request) { return now - request.heard >= silence(); });
  if (silent == 0) return;
  if (!round_.open) ask_at_ = now;
  if (++silences_ > kSilencesTolerated)
    trouble("the server has not answered the last " + std::to_string(silences_) +
            " pull requests of consumer " + expected_.durable);
}

Binding Lane::on_stream_info(MonoTime now, std::uint64_t round, ApiAnswer<StreamInfo> answer) {
  if (!round_.open || round != round_.number) return Binding::unsettled;
  if (!answer) {
    on_info_error(now, answer.error());
    return Binding::unsettled;
  }
  round_.stream = *std::move(answer);
  return conclude(now);
}

Binding Lane::on_consumer_info(MonoTime now, std::uint64_t round, ApiAnswer<ConsumerInfo> answer) {
  if (!round_.open || round != round_.number) return Binding::unsettled;
  if (!answer) {
    on_info_error(now, answer.error());
    return Binding::unsettled;
  }
  round_.consumer = *std::move(answer);
  return conclude(now);
}

void Lane::on_info_error(MonoTime now, const ApiError& error) {
  opening_ = false;
  const bool answered_late = round_.asked + settings_.info_timeout <= now;
  round_.open = false;
  const bool no_stream = error.err_code == js_error::kStreamNotFound;
  if (no_stream || error.err_code == js_error::kConsumerNotFound) {
    phase_ = Phase::missing;
    phase_reason_ =
        (no_stream ? "stream " + expected_.stream
                   : "consumer " + expected_.durable + " of stream " + expected_.stream) +
        " does not exist; run `sendonce setup`";
    consumer_created_.clear();  // whatever comes is another
    open_.clear();
    ask_at_ = now + settings_.info_interval;
    return;
  }
  ask_at_ = answered_late ? now : now + std::min(kFirstAskPause, settings_.info_interval);
  const std::string said =
      "cannot read consumer " + expected_.durable + " of stream " + expected_.stream + ": " +
      (error.err_code != 0 ? std::to_string(error.err_code) + " " : "") + error.description;
  if (phase_ != Phase::bound) {
    phase_reason_ = said;
  } else if (now - checked_at_ < kUncheckedMost) {
    trouble(said);
  } else {
    const MonoTime ask_at = ask_at_;
    recheck(now, said);
    ask_at_ = ask_at;
  }
}

Binding Lane::conclude(MonoTime now) {
  if (!round_.consumer) return Binding::unsettled;
  if (phase_ != Phase::bound) {
    if (!round_.stream) return Binding::unsettled;
    return bind(now, *round_.stream, *round_.consumer);
  }
  const ConsumerInfo& info = *round_.consumer;
  if (!same_creation(info.created, consumer_created_) || consumer_fault(expected_, info)) {
    recheck(now, "consumer " + expected_.durable + " has changed, checking it");
    return Binding::unsettled;
  }
  round_.open = false;
  checked_at_ = now;
  forgive();
  watch(now, info);
  return Binding::same;
}

Binding Lane::bind(MonoTime now, const StreamInfo& stream, const ConsumerInfo& info) {
  round_.open = false;
  opening_ = false;
  ask_at_ = now + settings_.info_interval;
  auto fault = stream_fault(expected_, stream);
  if (!fault) fault = consumer_fault(expected_, info);
  if (fault) {
    phase_ = Phase::refused;
    phase_reason_ = *std::move(fault);
    open_.clear();
    return Binding::changed;
  }
  const bool same =
      same_creation(info.created, consumer_created_) && stream.created == stream_created_;
  if (!same) {
    ++incarnation_;
    consumer_created_ = info.created;
    stream_created_ = stream.created;
    consumer_seq_ = 0;
  }
  phase_ = Phase::bound;
  checked_at_ = now;
  phase_reason_.clear();
  ever_bound_ = true;
  forgive();
  stalled_since_.reset();
  watch(now, info);
  return same ? Binding::same : Binding::changed;
}

// A refusal travels another way than the answer and may come after it, so a whole further round
// must have passed without one.
void Lane::forgive() {
  if (round_.number >= denied_round_ + 2) denied_.clear();
}

// A consumer with messages for us, our request waiting and room for acks, that delivers nothing
// (nats-server issues 4736, 6290, 7680).
void Lane::watch(MonoTime now, const ConsumerInfo& info) {
  pending_ = info.pending;
  ack_pending_ = info.ack_pending;
  const bool room = info.max_ack_pending <= 0 ||
                    info.ack_pending < static_cast<std::uint64_t>(info.max_ack_pending);
  if (info.pending == 0 || info.waiting == 0 || open_.empty() || !room) {
    stalled_since_.reset();
    stalled_.clear();
    return;
  }
  if (!stalled_since_) stalled_since_ = now;
  if (now - *stalled_since_ < settings_.stalled_after) return;
  stalled_ = "consumer " + expected_.durable + " holds " + std::to_string(info.pending) +
             " messages, our pull request waits, and nothing was delivered for " +
             duration_text(settings_.stalled_after) + "; let the consumer's leader step down";
  notice_ = stalled_;
  stalled_since_ = now;
  open_.clear();
}

AckFate Lane::ack_fate(std::uint32_t incarnation) const {
  if (phase_ == Phase::refused || incarnation != incarnation_) return AckFate::forget;
  return phase_ == Phase::bound ? AckFate::send : AckFate::keep;
}

std::optional<std::string> Lane::take_notice() {
  return std::exchange(notice_, std::nullopt);
}

LaneState Lane::state() const {
  LaneState state{.incarnation = incarnation_, .pending = pending_, .ack_pending = ack_pending_};
  if (phase_ != Phase::bound)
    state.reason = phase_reason_;
  else if (!denied_.empty())
    state.reason = denied_;
  else if (!stalled_.empty())
    state.reason = stalled_;
  else
    state.reason = trouble_;
  state.ready = state.reason.empty() && phase_ == Phase::bound;
  state.opening = opening_ && !state.ready && denied_.empty();
  state.fatal = phase_ == Phase::refused || (phase_ == Phase::missing && !ever_bound_) ||
                (phase_ == Phase::bound && trouble_fatal_);
  return state;
}

}  // namespace sendonce
