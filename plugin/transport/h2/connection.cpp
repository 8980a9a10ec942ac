#include "plugin/transport/h2/connection.hpp"

#include <span>

#include <sys/epoll.h>

namespace sendonce {
namespace {

// Reads in one go; then others get their turn and this one goes on without waiting.
constexpr int kReadsAtOnce = 64;

}  // namespace

H2Connection::H2Connection(H2Context& context, const LinkOptions& link, H2Session::Options session,
                           CallList& waiting, H2Session::Owner& calls)
    : context_(context),
      client_certificate_(!link.client_certificate.empty()),
      peer_(link.endpoint.host + ":" + std::to_string(link.endpoint.port)),
      session_(std::move(session), context.clock, waiting, calls),
      link_(Link::open(context.multi, link, *this)),
      born_(context.now),
      last_read_(context.now) {}

H2Connection::~H2Connection() {
  if (!closed_ && link_->up()) {
    session_.say_goodbye();
    flush(0);
  }
  drop(Cause::connection_lost, "the connection was closed by us");
}

void H2Connection::on_link_up() {
  last_read_ = context_.now;
  context_.loop.watch(link_->fd(), EPOLLIN, *this);
  flush(0);
  // The handshake may have left the peer's first frames in the TLS layer, where epoll sees nothing.
  read_more();
}

void H2Connection::on_link_failed(const ConnectFailure& failure) {
  drop(failure.cause, failure.text);
}

void H2Connection::give_up_connecting() {
  if (link_->up()) {
    drop(Cause::connect, peer_ + " sent no HTTP/2 SETTINGS in time");
    return;
  }
  const ConnectFailure failure = link_->timed_out();
  drop(failure.cause, failure.text);
}

void H2Connection::on_event(std::uint32_t events) {
  if (closed_) return;
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_more();
  if (closed_ || (events & EPOLLOUT) == 0) return;
  watch_writable(false);
  flush(0);
}

void H2Connection::read_more() {
  read_pending_ = false;
  for (int i = 0; i < kReadsAtOnce && !closed_; ++i) {
    const Link::Outcome got = link_->read(context_.read_buffer);
    if (got.io == Link::Io::again) return;
    if (got.io != Link::Io::done) {
      on_read_end(got.io);
      return;
    }
    last_read_ = context_.now;
    if (!session_.input(std::span(context_.read_buffer).first(got.bytes))) {
      drop(Cause::connection_lost, "the peer broke the HTTP/2 protocol");
      return;
    }
  }
  read_pending_ = !closed_;
}

void H2Connection::on_read_end(Link::Io io) {
  if (session_.ready()) {
    drop(Cause::connection_lost,
         io == Link::Io::closed ? "the peer closed the connection" : "the connection broke");
  } else if (link_->certificate_refused()) {
    drop(Cause::client_auth, peer_ + " refused our client certificate: " +
                                 (client_certificate_ ? "renew it" : "none is configured"));
  } else if (client_certificate_) {
    drop(Cause::client_auth, peer_ +
                                 " closed the connection right after TLS, probably over our "
                                 "client certificate");
  } else {
    drop(Cause::connect, peer_ + " closed the connection right after TLS");
  }
}

void H2Connection::flush(std::size_t quota) {
  while (!closed_ && !blocked_ && link_->up()) {
    const auto bytes = session_.output(quota);
    if (bytes.empty()) {
      if (!session_.alive()) drop(Cause::connection_lost, "the HTTP/2 session has ended");
      return;
    }
    const Link::Outcome put = link_->write(bytes);
    switch (put.io) {
      case Link::Io::done:
        session_.accept(put.bytes);
        break;
      case Link::Io::again:
        watch_writable(true);
        return;
      case Link::Io::closed:
      case Link::Io::broken:
        // A RST_STREAM or GOAWAY that says more may still lie in the receive buffer.
        do read_more();
        while (read_pending_ && !closed_);
        drop(Cause::connection_lost, "the connection broke");
        return;
    }
  }
}

void H2Connection::watch_writable(bool writable) {
  if (writable == blocked_) return;
  blocked_ = writable;
  const std::uint32_t events = EPOLLIN | (writable ? std::uint32_t{EPOLLOUT} : 0U);
  context_.loop.change(link_->fd(), events, *this);
}

void H2Connection::drop(Cause cause, std::string text) {
  if (closed_) return;
  closed_ = true;
  if (link_->up()) context_.loop.forget(link_->fd(), *this);
  failure_ = {cause, std::move(text)};
  session_.lost(Cause::connection_lost, failure_.text);
}

}  // namespace sendonce
