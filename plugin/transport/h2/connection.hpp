// A Link and the H2Session that is spoken over it. Sets its own state and nothing else: the pool
// looks at it after each step, so nothing is destroyed while it is being served.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "plugin/transport/h2/context.hpp"
#include "plugin/transport/h2/link.hpp"
#include "plugin/transport/h2/session.hpp"

namespace sendonce {

class H2Connection final : private Link::Owner, private EventSource {
 public:
  H2Connection(H2Context& context, const LinkOptions& link, H2Session::Options session,
               CallList& waiting, H2Session::Owner& calls);
  ~H2Connection();  // open calls end as connection_lost; GOAWAY goes out if the socket takes it
  H2Connection(const H2Connection&) = delete;
  H2Connection& operator=(const H2Connection&) = delete;

  [[nodiscard]] bool closed() const noexcept { return closed_; }
  // Up, and the peer's SETTINGS are here.
  [[nodiscard]] bool ready() const noexcept { return !closed_ && session_.ready(); }
  // Ready, or still on its way to it, and not leaving.
  [[nodiscard]] bool usable() const noexcept { return !closed_ && !session_.leaving(); }
  [[nodiscard]] bool blocked() const noexcept { return blocked_; }
  [[nodiscard]] bool read_pending() const noexcept { return read_pending_; }
  [[nodiscard]] H2Session& session() noexcept { return session_; }
  [[nodiscard]] const H2Session& session() const noexcept { return session_; }
  // Why it is closed.
  [[nodiscard]] const ConnectFailure& failure() const noexcept { return failure_; }
  [[nodiscard]] MonoTime born() const noexcept { return born_; }
  [[nodiscard]] MonoTime last_read() const noexcept { return last_read_; }
  [[nodiscard]] bool resumed() const noexcept { return link_->resumed(); }

  // Writes until the socket is full or there is nothing left; starts at most `quota` waiting calls.
  void flush(std::size_t quota);
  void read_more();
  void drop(Cause cause, std::string text);
  void give_up_connecting();  // the connect deadline has come

  // Notes of the pool.
  std::optional<MonoTime> ready_at{};  // when the pool saw it become ready
  MonoTime pinged_at{};
  MonoTime retire_at{MonoTime::max()};
  bool goaway_seen = false;
  bool retired = false;  // its end is no news any more

 private:
  void on_link_up() override;
  void on_link_failed(const ConnectFailure& failure) override;
  void on_event(std::uint32_t events) override;
  void watch_writable(bool writable);
  void on_read_end(Link::Io io);

  H2Context& context_;
  bool client_certificate_;
  std::string peer_;
  H2Session session_;
  std::unique_ptr<Link> link_;
  ConnectFailure failure_{};
  MonoTime born_;
  MonoTime last_read_;
  bool closed_ = false;
  bool blocked_ = false;
  bool read_pending_ = false;
};

}  // namespace sendonce
