#include "plugin/transport/smtp/pool.hpp"

#include <algorithm>
#include <utility>

namespace sendonce {
namespace {

// Of an envelope, as of a header field: no line may end in it.
bool is_address(std::string_view text) {
  return std::ranges::all_of(text,
                             [](char c) { return c > ' ' && c < 0x7f && c != '<' && c != '>'; });
}

CallFailure refused(std::string_view why) {
  CallFailure failure;
  failure.effect = Effect::not_sent;
  failure.cause = Cause::not_started;
  failure.text = why;
  return failure;
}

}  // namespace

SmtpPool::SmtpPool(const SmtpContext& context, SmtpOptions options, TrustStore trust)
    : context_(context), options_(std::move(options)), trust_(std::move(trust)) {}

SmtpPool::~SmtpPool() {
  for (const auto& c : connections_)
    if (c->busy()) c->give_up(Cause::not_started, "the transport is closing");
  service();
}

std::size_t SmtpPool::busy() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(connections_, [](const auto& c) { return c->busy(); }));
}

bool SmtpPool::submit(Ticket ticket, HttpRequest&& request, Duration timeout) {
  if (draining_ || busy() >= options_.connections) return false;
  const MonoTime now = context_.clock.mono();
  if (!request.mail || !is_address(request.mail->sender) || !is_address(request.mail->recipient) ||
      request.mail->recipient.empty()) {
    context_.ready.push_back({ticket, refused("an address of the envelope is none"), Duration{0}});
    return true;
  }
  place({ticket, std::move(request), now, now + timeout, false});
  return true;
}

void SmtpPool::place(SmtpCall&& call) {
  if (!call.fresh) {
    // The one used last: the others may idle until they are closed.
    for (auto it = connections_.rbegin(); it != connections_.rend(); ++it)
      if ((*it)->idle()) return (*it)->begin(std::move(call));
  }
  // A stale connection is worth none: it makes room.
  if (connections_.size() >= options_.connections)
    std::erase_if(connections_, [](const auto& c) { return !c->busy(); });
  ++connects_;
  connections_.push_back(std::make_unique<SmtpConnection>(
      context_.multi, context_.loop, context_.clock, options_, trust_, std::move(call)));
}

bool SmtpPool::cancel(Ticket ticket) {
  for (const auto& c : connections_) {
    if (!c->busy() || c->call()->ticket != ticket) continue;
    c->give_up(Cause::cancelled, "cancelled");
    return true;
  }
  return false;
}

void SmtpPool::renew() {
  for (const auto& c : connections_) c->retire();
}

void SmtpPool::drain() {
  draining_ = true;
  renew();
}

void SmtpPool::service() {
  std::vector<SmtpCall> again;
  for (const auto& c : connections_) {
    auto ended = c->take_ended();
    if (!ended) continue;
    if (ended->again && !ended->call.fresh) {
      again.push_back(std::move(ended->call));
      continue;
    }
    finish(std::move(*ended));
  }
  std::erase_if(connections_, [](const auto& c) { return c->over(); });
  for (SmtpCall& call : again) {
    call.fresh = true;
    place(std::move(call));
  }
}

void SmtpPool::finish(SmtpConnection::Ended&& ended) {
  note(ended.result);
  context_.ready.push_back(
      {ended.call.ticket, std::move(ended.result), context_.clock.mono() - ended.call.submitted});
}

void SmtpPool::note(const CallResult& result) {
  if (const auto* failure = std::get_if<CallFailure>(&result)) {
    last_error_ = failure->text;
    last_cause_ = failure->cause;
    return;
  }
  last_error_.clear();
  last_cause_.reset();
}

PoolState SmtpPool::state() const {
  PoolState out;
  out.open = busy();
  out.room = draining_ || out.open >= options_.connections ? 0 : options_.connections - out.open;
  out.connections = static_cast<std::size_t>(
      std::ranges::count_if(connections_, [](const auto& c) { return c->up() && !c->over(); }));
  out.connects = connects_;
  out.last_error = last_error_;
  out.last_cause = last_cause_;
  return out;
}

std::optional<MonoTime> SmtpPool::due() const {
  std::optional<MonoTime> first;
  for (const auto& c : connections_)
    if (const MonoTime t = c->due(); !first || t < *first) first = t;
  return first;
}

void SmtpPool::on_time(MonoTime now) {
  for (const auto& c : connections_) c->on_time(now);
}

}  // namespace sendonce
