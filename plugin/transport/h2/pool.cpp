#include "plugin/transport/h2/pool.hpp"

#include <algorithm>
#include <chrono>

#include "plugin/core/assert.hpp"

namespace sendonce {
namespace {

// After a connection that ends sooner, and has served less, the next one has to wait: a peer that
// takes connections only to drop them must not be hammered. Only without any answer does that wait
// grow. nginx, as it comes, ends a connection after 1,000 requests, which are soon sent.
constexpr Duration kTooShort = std::chrono::seconds(1);
constexpr Duration kProven = std::chrono::seconds(10);
constexpr std::uint64_t kServedMany = 100;
constexpr Duration kInUse = std::chrono::seconds(30);

}  // namespace

H2Pool::H2Pool(H2Context& context, H2Options options, Endpoint endpoint, TrustStore trust)
    : context_(context),
      options_(std::move(options)),
      endpoint_(std::move(endpoint)),
      trust_(std::move(trust)) {}

H2Pool::~H2Pool() {
  fail_waiting(Cause::not_started, "the transport is closing");
  connections_.clear();
}

// ---- calls ----------------------------------------------------------------------------------

bool H2Pool::submit(Ticket ticket, HttpRequest&& request, Duration timeout) {
  if (draining_) return false;
  if (waiting_for_retry() && !any_usable()) return false;
  if (waiting_.size() >= capacity() + options_.queue) return false;
  Call& call = context_.calls.take();
  call.ticket = ticket;
  call.request = std::move(request);
  call.submitted = context_.clock.mono();
  call.deadline = call.submitted + timeout;
  call.pool = this;
  waiting_.push_back(call);
  context_.wheel.arm(call);
  return true;
}

bool H2Pool::cancel(Ticket ticket) {
  if (Call* call = waiting_.find(ticket); call != nullptr) {
    waiting_.remove(*call);
    context_.complete_unsent(*call, Cause::cancelled, name(Cause::cancelled));
    return true;
  }
  for (const auto& c : connections_) {
    Call* call = c->session().find(ticket);
    if (call == nullptr) continue;
    c->session().abort(*call, Cause::cancelled);
    return true;
  }
  return false;
}

void H2Pool::expire(Call& call) {
  if (call.session == nullptr) {
    waiting_.remove(call);
    context_.complete_unsent(call, Cause::timed_out, "timed out before it could be started");
    return;
  }
  H2Session& session = *call.session;
  const MonoTime submitted = call.submitted;
  session.abort(call, Cause::timed_out);
  // Not a byte came since: is anybody there?
  for (const auto& c : connections_) {
    if (&c->session() != &session || c->last_read() >= submitted || session.owes_ping()) continue;
    session.ping();
    c->pinged_at = context_.now;
  }
}

void H2Pool::on_call_ended(Call& call, CallResult&& result) {
  last_used_ = context_.now;
  context_.complete(call, std::move(result));
}

void H2Pool::fail_waiting(Cause cause, const std::string& text) {
  while (!waiting_.empty()) {
    Call& call = *waiting_.front();
    waiting_.remove(call);
    context_.complete_unsent(call, cause, text);
  }
}

// ---- state ----------------------------------------------------------------------------------

bool H2Pool::waiting_for_retry() const {
  return retry_at_ && context_.now < *retry_at_;
}

bool H2Pool::any_usable() const {
  return std::ranges::any_of(connections_, [](const auto& c) { return c->usable(); });
}

std::size_t H2Pool::capacity() const {
  std::size_t sum = 0;
  for (const auto& c : connections_) {
    if (c->ready()) sum += c->session().capacity();
  }
  return sum;
}

PoolState H2Pool::state() const {
  PoolState s;
  const std::size_t free = capacity();
  s.room = free > waiting_.size() ? free - waiting_.size() : 0;
  s.open = waiting_.size();
  for (const auto& c : connections_) {
    s.open += c->session().open();
    if (c->ready() && c->usable()) ++s.connections;
  }
  if (waiting_for_retry() && s.connections == 0) s.retry_at = retry_at_;
  s.last_error = last_error_;
  s.last_cause = last_cause_;
  s.connects = connects_;
  s.goaways = goaways_;
  return s;
}

void H2Pool::warm_up() {
  warm_ = warm_ || !any_usable();
}

// A new credential, or the provider's fault: the next connection is tried at once.
void H2Pool::renew() {
  for (const auto& c : connections_) {
    c->retired = true;
    c->session().leave();
    if (!c->ready()) c->drop(Cause::connect, "replaced");
    warm_ = true;
  }
  failures_ = 0;
  retry_at_.reset();
}

void H2Pool::succeed(H2Pool& old) {
  while (!old.waiting_.empty()) {
    Call& call = *old.waiting_.front();
    old.waiting_.remove(call);
    call.pool = this;
    waiting_.push_back(call);
  }
  connects_ = old.connects_;
  goaways_ = old.goaways_;
  old.renew();
  warm_ = old.warm_;
  old.draining_ = true;
}

// ---- connections ----------------------------------------------------------------------------

void H2Pool::service() {
  // Writing may close a connection, and then another may be wanted.
  for (int round = 0; round < 4; ++round) {
    settle();
    pump();
    connect_if_needed();
    if (std::ranges::none_of(connections_, [](const auto& c) { return c->closed(); })) return;
  }
}

bool H2Pool::restless() const noexcept {
  return std::ranges::any_of(connections_,
                             [](const auto& c) { return c->closed() || c->read_pending(); });
}

void H2Pool::settle() {
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    H2Connection& c = *connections_[i];
    if (c.read_pending() && !c.closed()) c.read_more();
    if (c.ready() && !c.ready_at) on_ready(c);
    if (c.session().goaway() != nullptr && !c.goaway_seen) on_goaway(c);
    if (c.ready() && c.session().leaving() && c.session().open() == 0) {
      c.session().say_goodbye();
      c.flush(0);
      if (!c.blocked()) c.drop(Cause::connection_lost, "the connection has served");
    }
  }
  // An ended connection may start no other from within: first out of the list, then judged.
  for (std::size_t i = 0; i < connections_.size();) {
    if (!connections_[i]->closed()) {
      ++i;
      continue;
    }
    const std::unique_ptr<H2Connection> c = std::move(connections_[i]);
    connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(i));
    on_closed(*c);
  }
}

void H2Pool::on_ready(H2Connection& c) {
  c.ready_at = context_.now;
  if (options_.max_age > Duration{0}) {
    // Spread, or connections that began together would end together for ever.
    c.retire_at = context_.now + options_.max_age - context_.random.jitter(options_.max_age / 10);
  }
  ++connects_;
  warm_ = false;
  last_error_.clear();
  last_cause_.reset();
  context_.log.info(
      "h2.connected",
      {{"provider", options_.name}, {"host", endpoint_.host}, {"resumed", c.resumed() ? 1 : 0}});
  // This one takes the place of one that is too old.
  for (const auto& other : connections_) {
    if (other.get() == &c || !other->usable() || context_.now < other->retire_at) continue;
    other->retired = true;
    other->session().leave();
    break;
  }
}

void H2Pool::on_goaway(H2Connection& c) {
  const H2Session::GoAway& goaway = *c.session().goaway();
  c.goaway_seen = true;
  ++goaways_;
  context_.log.info("h2.goaway",
                    {{"provider", options_.name}, {"error", goaway.error}, {"text", goaway.text}});
  on_end_of_service(c, goaway.error != 0, "the peer sent GOAWAY: " + goaway.text);
}

// It will take no more requests. `scolded`: the peer found fault with us.
void H2Pool::on_end_of_service(H2Connection& c, bool scolded, std::string reason) {
  if (c.retired || !c.ready_at) return;
  c.retired = true;
  const Duration lived = context_.now - *c.ready_at;
  const std::uint64_t answers = c.session().answers();
  const bool serves = answers > 0 || lived >= kProven;
  const bool proven = serves && (answers >= kServedMany || lived >= kTooShort);
  if (serves) failures_ = 0;
  last_error_ = std::move(reason);
  if (scolded || !proven) {
    back_off();
    last_cause_ = Cause::connection_lost;  // else it has served, and says nothing of the next one
  }
  // In use: be ready for the next request. An idle provider may close as it likes.
  if (context_.now - last_used_ < kInUse) warm_ = true;
}

void H2Pool::on_closed(H2Connection& c) {
  const ConnectFailure& why = c.failure();
  if (c.ready_at) {
    context_.log.info("h2.closed", {{"provider", options_.name}, {"reason", why.text}});
    on_end_of_service(c, false, why.text);
    return;
  }
  if (c.retired) return;
  last_error_ = why.text;
  last_cause_ = why.cause;
  back_off();
  context_.log.warn("h2.connect_failed", {{"provider", options_.name},
                                          {"cause", name(why.cause)},
                                          {"reason", why.text},
                                          {"failures", failures_}});
  if (!any_usable()) fail_waiting(why.cause, why.text);
}

void H2Pool::back_off() {
  ++failures_;
  Duration delay = options_.backoff_min;
  for (std::uint32_t i = 1; i < failures_ && delay < options_.backoff_max; ++i) delay *= 2;
  delay = std::min(delay, options_.backoff_max);
  retry_at_ = context_.now + delay / 2 + context_.random.jitter(delay / 2);
}

bool H2Pool::wants_connection() const {
  // Those that only wait for their last answers count here, or a peer could make us pile them up.
  if (connections_.size() >= 2 * options_.connections + 2) return false;
  std::size_t ready = 0;
  bool too_old = false;
  for (const auto& c : connections_) {
    if (!c->usable()) continue;
    if (!c->ready()) return false;  // one at a time
    ++ready;
    if (context_.now >= c->retire_at) too_old = true;
    // Its limit is about to rise; and a lone request must wait for its answer anyway.
    if (options_.one_stream_first && !c->session().trusted()) return false;
  }
  if (ready == 0) return warm_ || !waiting_.empty();
  return too_old || (!waiting_.empty() && ready < options_.connections);
}

void H2Pool::connect_if_needed() {
  if (draining_ || waiting_for_retry() || !wants_connection()) return;
  connect();
}

void H2Pool::connect() {
  const LinkOptions link{endpoint_,
                         trust_,
                         sessions_,
                         options_.client_certificate,
                         options_.client_key,
                         options_.proxy,
                         options_.proxy_credentials,
                         options_.connect_timeout};
  H2Session::Options session;
  session.authority = endpoint_.authority;
  session.streams = options_.streams;
  session.acts_on_whole = options_.acts_on_whole;
  session.one_stream_first = options_.one_stream_first;
  session.limits = options_.limits;
  H2Session::Owner& calls = *this;
  connections_.push_back(
      std::make_unique<H2Connection>(context_, link, std::move(session), waiting_, calls));
}

void H2Pool::pump() {
  const std::size_t n = connections_.size();
  if (n == 0) return;
  std::size_t able = 0;
  for (const auto& c : connections_) {
    if (c->ready() && c->session().capacity() > 0) ++able;
  }
  turn_ = (turn_ + 1) % n;
  for (std::size_t i = 0; i < n; ++i) {
    H2Connection& c = *connections_[(turn_ + i) % n];
    if (c.closed()) continue;
    std::size_t quota = 0;
    if (able > 0 && c.ready() && c.session().capacity() > 0) {
      quota = (waiting_.size() + able - 1) / able;  // an even share of what waits
      --able;
    }
    if (quota > 0 || c.session().wants_write()) c.flush(quota);
  }
}

// ---- time -----------------------------------------------------------------------------------

MonoTime H2Pool::due(const H2Connection& c) const {
  if (c.closed()) return context_.now;
  if (!c.ready()) return c.born() + options_.connect_timeout;
  const MonoTime ping = c.session().owes_ping() ? c.pinged_at + options_.ping_timeout
                                                : c.last_read() + options_.ping_idle;
  // When it is too old and its successor is on the way, there is nothing more to do.
  return context_.now < c.retire_at ? std::min(ping, c.retire_at) : ping;
}

std::optional<MonoTime> H2Pool::due() const {
  std::optional<MonoTime> first;
  if (waiting_for_retry() && (warm_ || !waiting_.empty())) first = *retry_at_;
  for (const auto& c : connections_) {
    const MonoTime t = due(*c);
    if (!first || t < *first) first = t;
  }
  return first;
}

void H2Pool::on_time() {
  for (const auto& c : connections_) watch_over(*c);
}

void H2Pool::watch_over(H2Connection& c) {
  if (c.closed()) return;
  if (!c.ready()) {
    if (context_.now >= c.born() + options_.connect_timeout) c.give_up_connecting();
    return;
  }
  H2Session& session = c.session();
  if (session.owes_ping()) {
    if (context_.now >= c.pinged_at + options_.ping_timeout) {
      c.drop(Cause::connection_lost, "the peer does not answer PING");
    }
  } else if (context_.now >= c.last_read() + options_.ping_idle) {
    session.ping();
    c.pinged_at = context_.now;
  }
}

}  // namespace sendonce
