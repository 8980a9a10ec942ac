// The puller thread of NatsBroker: everything that touches the connection.
//
// Decision: no SendAsap. cnats then writes what has gathered within a millisecond with one system
// call; with SendAsap each ack is a call of its own. Nobody waits for an ack, and pull requests
// are open long before they are needed, so the millisecond is not in anybody's way. Pulling and
// acking 100,000 messages of 500 bytes (nats-server 2.9.10, cnats 3.4.1, two busy cores, medians
// of three alternating runs): 2.5 us of CPU a message without, 3.5 us with it; from a publication
// to take() 0.3 ms either way; from an event to its confirmation 1.7 ms without, 1.4 ms with it.
// tests/integration/broker/bench.cpp measures it.
#include <algorithm>
#include <iterator>

#include "plugin/broker/nats/nats_broker.hpp"
#include "plugin/core/crash_point.hpp"
#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kLinger = milliseconds(1);       // publications gather this long
constexpr Duration kReplyLinger = milliseconds(4);  // and replies, for which nobody waits
constexpr Duration kLongestSleep = seconds(60);
constexpr Duration kFlushTimeout = seconds(2);
constexpr Duration kSettledAfter = seconds(10);  // a connection that lived so long was a good one

std::string pull_body(const PullRequest& pull) {
  std::string body = "{\"batch\":";
  append_number(body, static_cast<std::int64_t>(pull.batch));
  body.append(",\"expires\":");
  append_number(body, pull.expires.count());
  body.append(",\"idle_heartbeat\":");
  append_number(body, pull.heartbeat.count());
  if (pull.max_bytes > 0) {
    body.append(",\"max_bytes\":");
    append_number(body, static_cast<std::int64_t>(pull.max_bytes));
  }
  body.push_back('}');
  return body;
}

// `Permissions Violation for Publish to "subject"`
std::string quoted_in(const std::string& text) {
  const std::size_t from = text.find('"');
  if (from == std::string::npos) return {};
  const std::size_t to = text.find('"', from + 1);
  return to == std::string::npos ? std::string() : text.substr(from + 1, to - from - 1);
}

}  // namespace

void NatsBroker::run() {
  while (true) {
    Work work;
    {
      std::unique_lock lock(mutex_);
      sleep(lock);
      if (stopping_) break;
      work.events.swap(events_);
    }
    supervise(work);
    {
      std::unique_lock lock(mutex_);
      collect(work);
      log_changes(lock);
    }
    send(work);
  }
  shut_down();
}

void NatsBroker::sleep(std::unique_lock<std::mutex>& lock) {
  const MonoTime now = clock_.mono();
  MonoTime next = std::min(now + kLongestSleep, publications_.next_expiry());
  if (connection_ == nullptr) next = std::min(next, connect_at_);
  for (const Slot& slot : slots_) next = std::min(next, slot.lane.next_step());
  const auto urgent = [this] { return urgent_ || stopping_; };
  const auto publications = [this] { return connected_ && !unsent_.empty(); };
  const auto replies = [this] { return connected_ && !replies_.empty(); };
  const auto pressing = [&] { return urgent() || publications(); };
  if (next > now) puller_.wait_for(lock, next - now, [&] { return pressing() || replies(); });
  if (!pressing() && replies()) puller_.wait_for(lock, kReplyLinger, pressing);
  if (!urgent() && publications()) puller_.wait_for(lock, kLinger, urgent);
  urgent_ = false;
}

void NatsBroker::supervise(const Work& work) {
  for (const auto& [event, text] : work.events) handle(event, text);
  if (connection_ == nullptr) {
    if (clock_.mono() >= connect_at_) connect();
    return;
  }
  const std::uint64_t generation = connection_->generation();
  if (generation == generation_ || !connection_->connected()) return;
  generation_ = generation;
  log_.info("broker.reconnected", {{"server", connection_->connected_to()}});
  all_lanes_connected();
}

void NatsBroker::handle(ConnectionEvent event, const std::string& text) {
  if (connection_ == nullptr) return;  // of a connection that was dropped since
  switch (event) {
    case ConnectionEvent::disconnected:
      log_.warn("broker.disconnected");
      all_lanes_disconnected("disconnected from the NATS server, reconnecting");
      break;
    case ConnectionEvent::reconnected:
      // Also when the generation was seen already: the order of the two is not fixed.
      generation_ = connection_->generation();
      log_.info("broker.reconnected", {{"server", connection_->connected_to()}});
      all_lanes_connected();
      break;
    case ConnectionEvent::closed:
      drop_connection("the NATS connection was closed");
      break;
    case ConnectionEvent::lame_duck:
      log_.warn("broker.lame_duck", {{"server", connection_->connected_to()}});
      if (connection_->known_servers() > 1) {
        flush_connection();
        drop_connection("the NATS server is about to leave, connecting to another");
        connect_at_ = clock_.mono();
      }
      break;
    case ConnectionEvent::denied:
      handle_denied(text);
      break;
    case ConnectionEvent::slow:
      log_.warn("broker.slow", {{"reason", text}});
      break;
    case ConnectionEvent::failed:
      log_.warn("broker.error", {{"reason", text}});
      break;
  }
}

void NatsBroker::handle_denied(const std::string& text) {
  const std::string subject = quoted_in(text);
  const auto reply = parse_ack_reply(subject);
  const std::string reason = "the NATS user may not use " +
                             (subject.empty() ? "a subject" : "'" + subject + "'") +
                             "; grant the permissions that docs/operations.md lists";
  const MonoTime now = clock_.mono();
  // What somebody asked for must not stop our classes, and who does not grant it does not want it.
  bool of_service =
      subject.starts_with("$SRV.") || is_reply_subject(subject, options_.connection.inbox_prefix);
  {
    std::unique_lock lock(mutex_);
    publications_.on_denied(subject);
    bool found = false;
    const auto deny = [&](bool all) {
      for (Slot& slot : slots_) {
        const bool its = subject == slot.pull_subject || subject == slot.consumer_subject ||
                         subject == slot.stream_subject || (reply && slot.lane.is(*reply));
        if (its || all) slot.lane.on_denied(now, reason);
        found = found || its;
      }
    };
    deny(false);
    of_service = of_service && !found;
    if (!found && !of_service) deny(true);  // events or answers: no class works without them
    wake_for_confirmations(lock);
  }
  if (of_service) return log_.debug("broker.service_denied", {{"reason", text}});
  log_.error("broker.denied", {{"reason", text}});
  // A subscription that was refused is not asked for again on this connection.
  if (subject.starts_with(options_.connection.inbox_prefix)) drop_connection(reason);
}

void NatsBroker::connect() {
  const std::string inbox = options_.connection.inbox_prefix + ".>";
  auto opened = Connection::open(options_.connection, *this);
  Result<void> result{};
  if (!opened)
    result = std::unexpected(opened.error());
  else
    result = (*opened)->subscribe(inbox);
  if (!result) {
    log_.warn("broker.connect_failed", {{"reason", result.error().text}});
    all_lanes_disconnected(result.error().text);
    const std::lock_guard lock(mutex_);
    connect_at_ = clock_.mono() + backoff_ * 3 / 4 + random_.jitter(backoff_ / 2);
    backoff_ = std::min(backoff_ * 2, options_.rebuild_cap);
    return;
  }
  subscribe_service(**opened);
  connection_ = *std::move(opened);
  generation_ = connection_->generation();
  connected_at_ = clock_.mono();
  log_.info("broker.connected", {{"server", connection_->connected_to()}});
  all_lanes_connected();
}

void NatsBroker::subscribe_service(Connection& connection) {
  if (!options_.service) return;
  for (const std::string& subject : service_subjects(*options_.service))
    if (const auto done = connection.subscribe_too(subject); !done)
      log_.debug("broker.service_denied", {{"reason", done.error().text}});
}

void NatsBroker::send_service(const std::vector<ServiceRequest>& requests) {
  if (requests.empty() || !options_.service) return;
  const std::vector<ServiceCounts> counts =
      options_.service_counts ? options_.service_counts() : std::vector<ServiceCounts>{};
  for (const ServiceRequest& request : requests) {
    const auto answer = service_answer(*options_.service, request.subject, counts);
    // Whoever asked asks again: an answer that is lost is no loss.
    if (answer) (void)connection_->publish(request.reply, {}, *answer);
  }
}

void NatsBroker::flush_connection() {
  const auto flushed = connection_->flush(kFlushTimeout);
  if (!flushed) log_.warn("broker.flush_failed", {{"reason", flushed.error().text}});
}

void NatsBroker::drop_connection(const std::string& why) {
  log_.warn("broker.closed", {{"reason", why}});
  connection_.reset();
  all_lanes_disconnected(why);
  const std::lock_guard lock(mutex_);
  events_.clear();
  const MonoTime now = clock_.mono();
  if (now - connected_at_ >= kSettledAfter) backoff_ = options_.rebuild_first;
  connect_at_ = now + backoff_ * 3 / 4 + random_.jitter(backoff_ / 2);
  backoff_ = std::min(backoff_ * 2, options_.rebuild_cap);
}

void NatsBroker::all_lanes_connected() {
  const std::lock_guard lock(mutex_);
  connected_ = true;
  ++counters_.connects;
  for (Slot& slot : slots_) slot.lane.connected(clock_.mono());
}

void NatsBroker::all_lanes_disconnected(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    connected_ = false;
    for (Slot& slot : slots_) slot.lane.disconnected(why);
  }
  if (wake_) wake_();
}

// Under the lock.
void NatsBroker::collect(Work& work) {
  publications_.expire(clock_.mono());
  for (std::size_t index = 0; index < slots_.size(); ++index) collect_questions(index, work);
  std::erase_if(unsent_, [this](const auto& p) { return !publications_.waiting_for(p.first); });
  work.service.swap(asked_);
  if (!connected_) return;
  sort_replies(work);
  work.publications.swap(unsent_);
}

void NatsBroker::collect_questions(std::size_t index, Work& work) {
  Slot& slot = slots_[index];
  const LaneStep step = slot.lane.step(clock_.mono());
  const std::string prefix = options_.connection.inbox_prefix + ".";
  const std::string lane = std::to_string(index) + ".";
  if (step.probe_ack)
    work.questions.push_back(
        Question{.lane = index, .subject = &slot.probe_subject, .body = "+WPI"});
  if (step.ask_stream)
    work.questions.push_back(
        Question{.lane = index,
                 .subject = &slot.stream_subject,
                 .answer_to = prefix + "s." + lane + std::to_string(*step.ask_stream)});
  if (step.ask_consumer)
    work.questions.push_back(
        Question{.lane = index,
                 .subject = &slot.consumer_subject,
                 .answer_to = prefix + "c." + lane + std::to_string(*step.ask_consumer)});
  if (step.pull)
    work.questions.push_back(Question{.lane = index,
                                      .pull = step.pull->id,
                                      .subject = &slot.pull_subject,
                                      .answer_to = prefix + lane + std::to_string(step.pull->id),
                                      .body = pull_body(*step.pull)});
}

// Takes the replies that may go out now; the others wait in their lane or are forgotten.
void NatsBroker::sort_replies(Work& work) {
  work.replies.reserve(replies_.size());
  for (Reply& reply : replies_) {
    Slot& slot = slots_[reply.lane];
    switch (slot.lane.ack_fate(reply.incarnation)) {
      case AckFate::send:
        work.replies.push_back(std::move(reply));
        break;
      case AckFate::keep:
        if (reply.kind == ReplyKind::progress) break;  // comes again by itself
        slot.parked.push_back(std::move(reply));
        ++parked_;
        break;
      case AckFate::forget:
        ++counters_.replies_forgotten;
        break;
    }
  }
  replies_.clear();
}

// Leaves the lock: a log may block.
void NatsBroker::log_changes(std::unique_lock<std::mutex>& lock) {
  struct Line {
    Level level = Level::info;
    const char* event = nullptr;
    std::string class_name{};
    std::string text{};
  };
  std::vector<Line> lines;
  for (Slot& slot : slots_) {
    if (auto notice = slot.lane.take_notice())
      lines.push_back({Level::warn, "lane.notice", slot.class_name, *std::move(notice)});
    LaneState state = slot.lane.state();
    if (state.ready == slot.logged_ready && state.reason == slot.logged_reason) continue;
    slot.logged_ready = state.ready;
    slot.logged_reason = state.reason;
    if (state.ready)
      lines.push_back({Level::info, "lane.ready", slot.class_name, slot.lane.expected().durable});
    else if (state.opening && !state.fatal)  // a start that goes well is no warning
      lines.push_back({Level::info, "lane.not_ready", slot.class_name, std::move(state.reason)});
    else
      lines.push_back({state.fatal ? Level::error : Level::warn, "lane.not_ready", slot.class_name,
                       std::move(state.reason)});
  }
  lock.unlock();
  for (const Line& line : lines) {
    const std::array<Field, 2> fields{Field{"class", line.class_name}, Field{"text", line.text}};
    if (log_.enabled(line.level)) log_.write(line.level, line.event, fields);
  }
  if (!lines.empty() && wake_) wake_();  // the engine should see it too
}

void NatsBroker::send(Work& work) {
  if (connection_ != nullptr) {
    std::uint64_t pulls = 0;
    for (const Question& question : work.questions) {
      const bool sent =
          connection_->publish(*question.subject, question.answer_to, question.body).has_value();
      if (question.pull == 0) continue;
      if (sent) ++pulls;
      if (sent) continue;
      const std::lock_guard lock(mutex_);
      slots_[question.lane].lane.on_pull_failed(clock_.mono(), question.pull);
    }
    send_replies(work.replies);
    send_publications(work.publications);
    send_service(work.service);
    const std::lock_guard lock(mutex_);
    counters_.pulls += pulls;
  }
  std::unique_lock lock(mutex_);
  wake_for_confirmations(lock);
}

void NatsBroker::send_replies(std::vector<Reply>& replies) {
  if (replies.empty()) return;
  std::size_t sent = 0;
  std::string nak;
  // Not on a connection that has been made anew since the lanes were checked.
  const bool checked = connection_->generation() == generation_ && connection_->connected();
  while (checked && sent < replies.size()) {
    const Reply& reply = replies[sent];
    std::string_view body;
    switch (reply.kind) {
      case ReplyKind::ack:
        body = "+ACK";
        break;
      case ReplyKind::progress:
        body = "+WPI";
        break;
      case ReplyKind::terminate:
        body = "+TERM";
        break;  // bare: 2.9 ignores it with a reason
      case ReplyKind::nak:
        nak = "-NAK";
        if (reply.delay > Duration{}) {
          nak.append(" {\"delay\":");
          append_number(nak, reply.delay.count());
          nak.push_back('}');
        }
        body = nak;
        break;
    }
    if (!connection_->publish(reply.to, {}, body)) break;
    if (reply.kind == ReplyKind::ack) crash_point(CrashPoint::ack_sent);
    ++sent;
  }
  const std::lock_guard lock(mutex_);
  counters_.replies_sent += sent;
  for (std::size_t i = sent; i < replies.size(); ++i) {
    slots_[replies[i].lane].parked.push_back(std::move(replies[i]));
    ++parked_;
  }
}

void NatsBroker::send_publications(std::vector<std::pair<Ticket, Publication>>& publications) {
  for (auto& [ticket, publication] : publications) {
    MessageHeaders& headers = publication.headers;
    if (!publication.message_id.empty())
      headers.emplace_back("Nats-Msg-Id", std::move(publication.message_id));
    const std::string answer_to =
        options_.connection.inbox_prefix + ".p." + std::to_string(ticket.get());
    auto sent = connection_->publish(publication.subject, answer_to, headers, publication.body);
    if (sent) continue;
    Error error = std::move(sent).error();
    if (error.code != Errc::invalid) error.code = Errc::unavailable;
    const std::lock_guard lock(mutex_);
    publications_.on_failed(ticket, std::move(error));
  }
}

// What was never taken goes back at once instead of after ack_wait.
void NatsBroker::shut_down() {
  Work work;
  {
    const std::lock_guard lock(mutex_);
    for (Slot& slot : slots_) slot.lane.stop();
    if (connection_ != nullptr) sort_replies(work);
  }
  if (connection_ != nullptr) {
    send_replies(work.replies);
    const auto drained = connection_->drain_subscription(kFlushTimeout);
    if (!drained) log_.warn("broker.flush_failed", {{"reason", drained.error().text}});
    std::vector<Reply> back;
    {
      const std::lock_guard lock(mutex_);
      for (const Message& message : arrived_)
        back.push_back(Reply{
            .lane = message.message_class.get(), .kind = ReplyKind::nak, .to = message.reply});
      arrived_.clear();
    }
    send_replies(back);
    flush_connection();
    connection_.reset();
  }
  std::unique_lock lock(mutex_);
  connected_ = false;
  publications_.abandon("the connection to the NATS server was stopped");
  wake_for_confirmations(lock);
}

}  // namespace sendonce
