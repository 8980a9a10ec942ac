#include "plugin/broker/nats/nats_broker.hpp"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <iterator>

#include <pthread.h>

#include "plugin/broker/nats/ack_reply.hpp"
#include "plugin/broker/nats/api_json.hpp"
#include "plugin/core/assert.hpp"
#include "plugin/core/thread.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kServiceRequestsMost = 64;  // until the puller comes by

std::uint64_t number_in(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// "a.b" -> ("a", "b")
std::pair<std::string_view, std::string_view> split(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return {text, {}};
  return {text.substr(0, dot), text.substr(dot + 1)};
}

std::string_view header(const RawMessage& raw, std::string_view name) {
  for (const auto& [key, value] : raw.headers)
    if (key == name) return value;
  return {};
}

// A status message of the server, not an answer of JetStream.
int status_of(const RawMessage& raw) {
  return raw.body.empty() ? static_cast<int>(number_in(header(raw, "Status"))) : 0;
}

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  if (to.empty()) {
    to.swap(from);
    return;
  }
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  from.clear();
}

// Blocks all signals in this thread, and so in those it starts, for its life.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

std::string js_api_prefix(std::string_view domain, std::string_view api_prefix) {
  if (!api_prefix.empty())
    return std::string(api_prefix.substr(0, api_prefix.find_last_not_of('.') + 1));
  return domain.empty() ? "$JS.API" : "$JS." + std::string(domain) + ".API";
}

NatsBroker::NatsBroker(NatsBrokerOptions options, const Clock& clock, Log& log,
                       std::function<void()> wake)
    : options_(std::move(options)),
      clock_(clock),
      log_(log),
      wake_(std::move(wake)),
      publications_(options_.publish_timeout),
      backoff_(options_.rebuild_first),
      random_(system_seed()) {
  if (options_.connection.inbox_prefix.empty())
    options_.connection.inbox_prefix = make_inbox_prefix(options_.connection.name);
  slots_.reserve(options_.lanes.size());
  for (const NatsLane& config : options_.lanes) {
    const ConsumerExpectation expected{.stream = config.stream,
                                       .durable = config.durable,
                                       .filter_subject = config.subject,
                                       .ledger_id = options_.ledger_id,
                                       .ack_wait = config.ack_wait,
                                       .one_at_a_time = config.one_at_a_time};
    const auto index = static_cast<std::uint16_t>(slots_.size());
    Slot& slot =
        slots_.emplace_back(Lane(ClassIndex(index), expected, options_.pull, random_.next()));
    const std::string consumer = config.stream + "." + config.durable;
    slot.class_name = config.class_name;
    slot.pull_subject = options_.api_prefix + ".CONSUMER.MSG.NEXT." + consumer;
    slot.consumer_subject = options_.api_prefix + ".CONSUMER.INFO." + consumer;
    slot.stream_subject = options_.api_prefix + ".STREAM.INFO." + config.stream;
    // Sequence 0 is no message: progress on it is nothing, but needs the permission.
    slot.ack_prefix = "$JS.ACK." + consumer + ".";
    slot.probe_subject = slot.ack_prefix + "1.0.0.0.0";
  }
}

NatsBroker::~NatsBroker() {
  stop();
}

void NatsBroker::start() {
  SO_ASSERT(!thread_.joinable());
  {
    const SignalsBlocked blocked;  // in the threads of the library too
    Connection::prepare();
  }
  thread_ = start_thread("so-puller", [this] { run(); });
}

void NatsBroker::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  puller_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void NatsBroker::take(std::vector<Message>& messages) {
  const std::lock_guard lock(mutex_);
  woken_for_messages_ = false;
  append(messages, arrived_);
  const MonoTime now = clock_.mono();
  for (Slot& slot : slots_) slot.lane.taken(now, slot.held.size());
}

void NatsBroker::credit(ClassIndex message_class, std::size_t messages) {
  const std::lock_guard lock(mutex_);
  SO_ASSERT(message_class.get() < slots_.size());
  Lane& lane = slots_[message_class.get()].lane;
  lane.set_credit(messages);
  if (lane.wants_pull()) kick();
}

Result<void> NatsBroker::ack(const Message& message) {
  return enqueue(message, ReplyKind::ack, Duration{});
}

Result<void> NatsBroker::nak(const Message& message, Duration delay) {
  return enqueue(message, ReplyKind::nak, delay);
}

Result<void> NatsBroker::progress(const Message& message) {
  return enqueue(message, ReplyKind::progress, Duration{});
}

Result<void> NatsBroker::terminate(const Message& message) {
  return enqueue(message, ReplyKind::terminate, Duration{});
}

Result<void> NatsBroker::enqueue(const Message& message, ReplyKind kind, Duration delay) {
  if (!is_ours(message)) return fail(Errc::invalid, "not the reply of a message of ours");
  const std::lock_guard lock(mutex_);
  if (replies_.size() + parked_ >= options_.queue_limit)
    return fail(Errc::exhausted, "too many acks wait for the connection");
  const bool first = replies_.empty();
  replies_.push_back(Reply{.lane = message.message_class.get(),
                           .incarnation = message.incarnation,
                           .kind = kind,
                           .delay = delay,
                           .to = message.reply});
  if (first) puller_.notify_one();
  return {};
}

// Needs no lock: the lanes' names never change.
bool NatsBroker::is_ours(const Message& message) const {
  const std::size_t index = message.message_class.get();
  if (index >= slots_.size()) return false;
  if (message.reply.starts_with(slots_[index].ack_prefix)) return true;
  const auto parsed = parse_ack_reply(message.reply);
  return parsed && slots_[index].lane.is(*parsed);
}

void NatsBroker::publish(Ticket ticket, Publication publication) {
  std::unique_lock lock(mutex_);
  publications_.add(ticket, publication.subject, clock_.mono());
  if (stopping_ || unsent_.size() >= options_.queue_limit) {
    publications_.on_failed(ticket, {Errc::unavailable, "too many publications wait"});
    wake_for_confirmations(lock);
    return;
  }
  const bool first = unsent_.empty();
  unsent_.emplace_back(ticket, std::move(publication));
  if (first) puller_.notify_one();
}

void NatsBroker::take_confirmations(std::vector<Confirmation>& confirmations) {
  const std::lock_guard lock(mutex_);
  woken_for_confirmations_ = false;
  // Also here: the puller may be busy connecting.
  publications_.expire(clock_.mono());
  publications_.take(confirmations);
}

LaneState NatsBroker::lane(ClassIndex message_class) const {
  const std::lock_guard lock(mutex_);
  SO_ASSERT(message_class.get() < slots_.size());
  return slots_[message_class.get()].lane.state();
}

bool NatsBroker::connected() const {
  const std::lock_guard lock(mutex_);
  return connected_;
}

NatsBrokerCounters NatsBroker::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

// Under the lock.
void NatsBroker::kick() {
  urgent_ = true;
  puller_.notify_one();
}

void NatsBroker::wake_for_messages(std::unique_lock<std::mutex>& lock) {
  const bool wake = !std::exchange(woken_for_messages_, true);
  lock.unlock();
  if (wake && wake_) wake_();
}

void NatsBroker::wake_for_confirmations(std::unique_lock<std::mutex>& lock) {
  const bool wake = publications_.any_confirmed() && !std::exchange(woken_for_confirmations_, true);
  lock.unlock();
  if (wake && wake_) wake_();
}

// The lanes' names never change, so this needs no lock.
std::size_t NatsBroker::lane_of(const AckReply& reply) const {
  std::size_t index = 0;
  while (index < slots_.size() && !slots_[index].lane.is(reply)) ++index;
  return index;
}

// On the delivery thread of cnats, for every message to our inbox. What comes from a stream has
// the subject it was published to; what answers us has a subject below our prefix, which nobody
// else knows.
void NatsBroker::on_message(RawMessage raw) {
  const std::string_view subject = raw.subject;
  const std::string& prefix = options_.connection.inbox_prefix;
  if (subject.starts_with(prefix) && subject.size() > prefix.size() + 1)
    return on_control(raw, subject.substr(prefix.size() + 1));
  // Anybody may ask a service, with any reply subject: never a message of a stream.
  if (subject.starts_with("$SRV.")) return on_service(std::move(raw));
  const auto reply = parse_ack_reply(raw.reply);
  if (!reply) return;
  const std::size_t index = lane_of(*reply);
  if (index == slots_.size()) return;
  Message message{.message_class = ClassIndex(static_cast<std::uint16_t>(index)),
                  .seq = StreamSeq(reply->stream_seq),
                  .stored_at = reply->stored_at,
                  .delivered = reply->delivered,
                  .subject = std::move(raw.subject),
                  .headers = std::move(raw.headers),
                  .body = std::move(raw.body)};
  std::unique_lock lock(mutex_);
  Slot& slot = slots_[index];
  ++counters_.messages;
  const bool deliver = slot.lane.on_message(clock_.mono(), *reply);
  message.incarnation = slot.lane.incarnation();
  message.reply = std::move(raw.reply);
  if (!deliver) {
    slot.held.push_back(std::move(message));
    kick();
    return;
  }
  arrived_.push_back(std::move(message));
  if (slot.lane.wants_pull()) kick();
  wake_for_messages(lock);
}

// Anybody may ask, as often as they like: what goes beyond a few is not answered.
void NatsBroker::on_service(RawMessage raw) {
  if (!is_reply_subject(raw.reply, options_.connection.inbox_prefix)) return;
  const std::lock_guard lock(mutex_);
  if (asked_.size() >= kServiceRequestsMost) return;
  asked_.push_back({std::move(raw.subject), std::move(raw.reply)});
  kick();
}

void NatsBroker::on_control(const RawMessage& raw, std::string_view token) {
  const auto [kind, rest] = split(token);
  if (kind == "p")
    on_publish_answer(raw, rest);
  else if (kind == "s" || kind == "c")
    on_info(raw, kind, rest);
  else
    on_pull_status(raw, token);
}

void NatsBroker::on_publish_answer(const RawMessage& raw, std::string_view number) {
  const Ticket ticket(number_in(number));
  std::unique_lock lock(mutex_);
  if (status_of(raw) != 0)
    publications_.on_no_responders(ticket);
  else
    publications_.on_answer(ticket, raw.body);
  wake_for_confirmations(lock);
}

void NatsBroker::on_info(const RawMessage& raw, std::string_view kind, std::string_view token) {
  const auto [lane, number] = split(token);
  const std::size_t index = number_in(lane);
  if (index >= slots_.size()) return;
  const int status = status_of(raw);
  const ApiError silent{.code = status, .description = "JetStream does not answer (503)"};
  const MonoTime now = clock_.mono();
  const std::uint64_t round = number_in(number);
  Binding binding = Binding::unsettled;
  if (kind == "s") {
    auto info = status != 0 ? std::unexpected(silent) : parse_stream_info(raw.body);
    const std::lock_guard lock(mutex_);
    binding = slots_[index].lane.on_stream_info(now, round, std::move(info));
    settle(slots_[index], binding);
  } else {
    auto info = status != 0 ? std::unexpected(silent) : parse_consumer_info(raw.body);
    const std::lock_guard lock(mutex_);
    binding = slots_[index].lane.on_consumer_info(now, round, std::move(info));
    settle(slots_[index], binding);
  }
  // The engine should see what has become of the lane.
  if (wake_) wake_();
}

void NatsBroker::on_pull_status(const RawMessage& raw, std::string_view token) {
  const auto [lane, number] = split(token);
  const std::size_t index = number_in(lane);
  const int status = status_of(raw);
  if (index >= slots_.size() || status == 0) return;
  const std::lock_guard lock(mutex_);
  slots_[index].lane.on_status(clock_.mono(), number_in(number), status,
                               header(raw, "Description"));
  kick();
}

// Under the lock.
void NatsBroker::settle(Slot& slot, Binding binding) {
  kick();
  if (binding == Binding::unsettled) return;
  parked_ -= slot.parked.size();
  if (binding == Binding::same) {
    append(replies_, slot.parked);
    append(arrived_, slot.held);
    return;
  }
  counters_.replies_forgotten += slot.parked.size();
  slot.parked.clear();
  slot.lane.dropped(slot.held.size());
  slot.held.clear();
}

void NatsBroker::on_event(ConnectionEvent event, std::string text) {
  const std::lock_guard lock(mutex_);
  events_.emplace_back(event, std::move(text));
  kick();
}

}  // namespace sendonce
