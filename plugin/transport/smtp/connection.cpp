#include "plugin/transport/smtp/connection.hpp"

#include <algorithm>
#include <utility>

#include <sys/epoll.h>

#include "plugin/core/assert.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kChunk = std::size_t{16} * 1024;
// However fast a server takes it: others wait for the thread, and a refusal wants to be read.
constexpr std::size_t kAtOnce = std::size_t{1} << 20U;
constexpr int kClosing = 421;  // RFC 5321 3.8: to any command
constexpr int kGoAhead = 354;

bool is_2xx(int code) {
  return code >= 200 && code < 300;
}

}  // namespace

SmtpConnection::SmtpConnection(CurlMulti& multi, EventLoop& loop, const Clock& clock,
                               const SmtpOptions& options, const TrustStore& trust, SmtpCall&& call)
    : loop_(loop),
      clock_(clock),
      opened_(clock.mono()),
      connect_due_(opened_ + options.connect_timeout),
      last_used_(opened_),
      call_(std::move(call)) {
  link_ = SmtpLink::open(multi, options, trust, *this);
}

SmtpConnection::~SmtpConnection() {
  leave();
  close();
}

MonoTime SmtpConnection::due() const {
  if (busy()) return up() ? call_->deadline : std::min(call_->deadline, connect_due_);
  return std::min(last_used_ + kSmtpIdleMax, opened_ + kSmtpAgeMax);
}

void SmtpConnection::on_time(MonoTime now) {
  if (over_ || now < due()) return;
  if (!busy()) {
    retired_ = true;
    return;
  }
  if (up() || now >= call_->deadline)
    return give_up(Cause::timed_out, link_->peer() + " did not answer in time");
  const CallFailure why = link_->timed_out();
  give_up(why.cause, why.text);
}

std::optional<SmtpConnection::Ended> SmtpConnection::take_ended() {
  if (retired_ && !busy()) leave();
  if (!result_) return std::nullopt;
  Ended ended{std::move(*call_), std::move(*result_), again_};
  call_.reset();
  result_.reset();
  again_ = false;
  if (retired_) leave();
  return ended;
}

// Farewell without waiting for the answer; a stalled server would make us wait.
void SmtpConnection::leave() {
  if (idle()) static_cast<void>(link_->write("QUIT\r\n"));
  over_ = true;
}

// ---- the link ---------------------------------------------------------------------------------

void SmtpConnection::on_link_up() {
  loop_.watch(link_->fd(), EPOLLIN, *this);
  watched_ = true;
  if (busy() && !result_) start_transaction();
}

void SmtpConnection::on_link_failed(CallResult&& why) {
  over_ = true;
  if (busy() && !result_) end(std::move(why), false);
}

void SmtpConnection::close() {
  over_ = true;
  if (!watched_) return;
  watched_ = false;
  loop_.forget(link_->fd(), *this);
}

void SmtpConnection::on_event(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) flush();
  if (!over_) read();
}

// ---- out --------------------------------------------------------------------------------------

void SmtpConnection::begin(SmtpCall&& call) {
  SO_ASSERT(idle());
  call_ = std::move(call);
  start_transaction();
}

// Law 12: the last look at the clock before the first byte.
void SmtpConnection::start_transaction() {
  const HttpRequest& request = call_->request;
  if (clock_.wall() > request.not_after_wall || clock_.mono() > request.not_after_mono) {
    CallFailure late;
    late.effect = Effect::not_sent;
    late.cause = Cause::not_started;
    late.text = "its deadline came before its first byte";
    if (!used_) retired_ = true;  // libcurl may close a connection that has never been spoken on
    return end(CallResult(std::move(late)), false);
  }
  if (dirty_) return send(Step::reset, "RSET\r\n");
  send(Step::sender, "MAIL FROM:<" + request.mail->sender + ">\r\n");
}

void SmtpConnection::send(Step step, std::string bytes) {
  step_ = step;
  out_ = std::move(bytes);
  written_ = 0;
  offered_ = 0;
  end_at_ = std::string::npos;
  flush();
}

void SmtpConnection::send_message() {
  SmtpMessage message = smtp_message(call_->request.body);
  step_ = Step::message;
  out_ = std::move(message.bytes);
  written_ = 0;
  offered_ = 0;
  end_at_ = message.end_at;
  flush();
}

void SmtpConnection::flush() {
  const std::size_t enough = written_ + kAtOnce;
  while (!over_ && written_ < out_.size()) {
    if (written_ >= enough) return watch(true);
    // The same bytes after `again`: TLS may hold a record of them. The end goes in a write of its
    // own, so that all before it can fail without a doubt.
    const std::size_t until = written_ < end_at_ ? std::min(end_at_, out_.size()) : out_.size();
    const std::string_view chunk =
        std::string_view(out_).substr(written_, std::min(until - written_, kChunk));
    offered_ = std::max(offered_, written_ + chunk.size());
    const SmtpLink::Outcome outcome = link_->write(chunk);
    if (outcome.io == SmtpLink::Io::again) return watch(true);
    if (outcome.io != SmtpLink::Io::done)
      return on_lost(Cause::connection_lost, "the connection was lost");
    written_ += outcome.bytes;
  }
  if (!over_) watch(false);
}

void SmtpConnection::watch(bool for_room) {
  if (std::exchange(wants_room_, for_room) == for_room) return;
  loop_.change(link_->fd(), for_room ? EPOLLIN | EPOLLOUT : EPOLLIN, *this);
}

// ---- in ---------------------------------------------------------------------------------------

void SmtpConnection::read() {
  while (!over_) {
    const SmtpLink::Outcome outcome = link_->read(buffer_);
    if (outcome.io == SmtpLink::Io::again) return;
    if (outcome.io != SmtpLink::Io::done)
      return on_lost(Cause::connection_lost, "the connection was lost");
    on_bytes({buffer_.data(), outcome.bytes});
  }
}

void SmtpConnection::on_bytes(std::string_view bytes) {
  while (!bytes.empty() && !over_) {
    switch (reader_.feed(bytes)) {
      case SmtpReplyReader::State::more:
        return;
      case SmtpReplyReader::State::whole:
        on_reply(reader_.take(), !bytes.empty());
        break;
      case SmtpReplyReader::State::broken:
        return on_lost(Cause::connection_lost, "an answer is no SMTP");
      case SmtpReplyReader::State::oversized:
        return on_lost(Cause::oversized, "the answer is too large");
    }
  }
}

// `more`: bytes follow that nobody has asked for. What answers what is not known from there on.
void SmtpConnection::on_reply(SmtpReply&& reply, bool more) {
  const bool waits = busy() && !result_;
  if (!waits) return close();  // it takes its leave, or answers what was not asked
  const bool early = step_ == Step::message && !end_was_offered();
  if (reply.code == kClosing || more || early) {
    const bool refuses = reply.code >= 400;
    if (reply.code == kClosing && is_stale()) {
      answer(std::move(reply));
      again_ = true;
    } else if (refuses || (step_ == Step::message && !early)) {
      answer(std::move(reply));
    } else {
      on_lost(Cause::connection_lost, "answers came that nothing had asked for");
    }
    return close();
  }
  switch (step_) {
    case Step::none:
      return close();
    case Step::reset:
      dirty_ = false;
      if (is_2xx(reply.code)) return start_transaction();
      answer(std::move(reply));
      again_ = true;
      return close();
    case Step::sender:
      if (!is_2xx(reply.code)) return answer(std::move(reply));
      dirty_ = true;
      return send(Step::recipient, "RCPT TO:<" + call_->request.mail->recipient + ">\r\n");
    case Step::recipient:
      if (!is_2xx(reply.code)) return answer(std::move(reply));
      return send(Step::data, "DATA\r\n");
    case Step::data:
      if (reply.code == kGoAhead) return send_message();
      if (is_2xx(reply.code)) return on_lost(Cause::connection_lost, "DATA was not understood");
      return answer(std::move(reply));
    case Step::message:
      dirty_ = false;
      return answer(std::move(reply));
  }
}

void SmtpConnection::answer(SmtpReply&& reply) {
  HttpAnswer out;
  out.status = reply.code;
  out.body = std::move(reply.lines);
  switch (step_) {
    case Step::none:
    case Step::reset:
    case Step::sender:
      out.step = MailStep::sender;
      break;
    case Step::recipient:
      out.step = MailStep::recipient;
      break;
    case Step::data:
      out.step = MailStep::data;
      break;
    case Step::message:
      out.step = end_was_offered() ? MailStep::message : MailStep::data;
      break;
  }
  end(CallResult(std::move(out)), false);
}

// ---- ends -------------------------------------------------------------------------------------

// A server may close a connection that idles, just when it is used again. Until MAIL has been
// answered it has taken nothing.
bool SmtpConnection::is_stale() const {
  return used_ && (step_ == Step::reset || step_ == Step::sender);
}

bool SmtpConnection::end_was_offered() const {
  return step_ == Step::message && offered_ > end_at_;
}

CallFailure SmtpConnection::failure(Cause cause, std::string_view text) const {
  CallFailure out;
  out.effect = end_was_offered() ? Effect::maybe_sent : Effect::not_sent;
  out.cause = cause;
  out.complete = end_was_offered();
  out.text = text;
  return out;
}

void SmtpConnection::end(CallResult&& result, bool again) {
  result_ = std::move(result);
  again_ = again;
  used_ = true;
  last_used_ = clock_.mono();
}

void SmtpConnection::on_lost(Cause cause, std::string_view why) {
  close();
  if (!busy() || result_) return;
  end(CallResult(failure(cause, link_->peer() + ": " + std::string(why))), is_stale());
}

void SmtpConnection::give_up(Cause cause, std::string_view text) {
  close();
  if (!busy()) return;
  again_ = false;
  if (!result_) end(CallResult(failure(cause, text)), false);
}

}  // namespace sendonce
