// One connection to a mail server and the mail that is being submitted on it, in lockstep: RSET if
// the last mail was refused, MAIL, RCPT, DATA, the message (RFC 5321 3.3).
//
// What may have been sent is decided by one byte: the first of the message's end. Before it has
// been passed to a write call nothing was sent; after it only the server's reply tells.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "plugin/transport/event_loop.hpp"
#include "plugin/transport/smtp/link.hpp"

namespace sendonce {

// A mail on its way.
struct SmtpCall {
  Ticket ticket{};
  HttpRequest request{};
  MonoTime submitted{};
  MonoTime deadline{};
  bool fresh = false;  // must not go by a connection that was used before
};

class SmtpConnection final : private SmtpLink::Owner, private EventSource {
 public:
  // Begins to connect, for this call. All references must outlive it.
  SmtpConnection(CurlMulti& multi, EventLoop& loop, const Clock& clock, const SmtpOptions& options,
                 const TrustStore& trust, SmtpCall&& call);
  ~SmtpConnection();  // says QUIT when it may
  SmtpConnection(const SmtpConnection&) = delete;
  SmtpConnection& operator=(const SmtpConnection&) = delete;

  [[nodiscard]] bool up() const noexcept { return link_->up(); }
  [[nodiscard]] bool busy() const noexcept { return call_.has_value(); }
  // Free for the next mail.
  [[nodiscard]] bool idle() const noexcept { return up() && !busy() && !over_; }
  // Of no use any more; its call, if any, has ended.
  [[nodiscard]] bool over() const noexcept { return over_ && !busy(); }
  [[nodiscard]] const std::optional<SmtpCall>& call() const noexcept { return call_; }
  // When something is due, were it the end of an idle connection.
  [[nodiscard]] MonoTime due() const;

  void begin(SmtpCall&& call);  // idle()
  // Ends the call with its proven effect, and the connection.
  void give_up(Cause cause, std::string_view text);
  void on_time(MonoTime now);
  void retire() { retired_ = true; }  // no mail after this one

  struct Ended {
    SmtpCall call{};
    CallResult result{};
    bool again = false;  // nothing of it was taken, the connection was stale: use a fresh one
  };
  // What has ended since the last look.
  [[nodiscard]] std::optional<Ended> take_ended();

 private:
  enum class Step : std::uint8_t { none, reset, sender, recipient, data, message };

  void on_link_up() override;
  void on_link_failed(CallResult&& why) override;
  void on_event(std::uint32_t events) override;

  void start_transaction();
  void send(Step step, std::string bytes);
  void send_message();
  void flush();
  void watch(bool for_room);
  void read();
  void on_bytes(std::string_view bytes);
  void on_reply(SmtpReply&& reply, bool more);
  void on_lost(Cause cause, std::string_view why);
  void answer(SmtpReply&& reply);
  void end(CallResult&& result, bool again);
  void leave();
  void close();
  [[nodiscard]] bool is_stale() const;
  [[nodiscard]] bool end_was_offered() const;
  [[nodiscard]] CallFailure failure(Cause cause, std::string_view text) const;

  EventLoop& loop_;
  const Clock& clock_;
  MonoTime opened_{};
  MonoTime connect_due_{};
  MonoTime last_used_{};
  std::unique_ptr<SmtpLink> link_{};
  std::optional<SmtpCall> call_{};
  std::optional<CallResult> result_{};
  bool again_ = false;
  bool watched_ = false;
  bool wants_room_ = false;
  bool over_ = false;
  bool retired_ = false;
  bool used_ = false;   // a mail has gone by it
  bool dirty_ = false;  // a mail was begun that is not to be
  Step step_ = Step::none;
  std::string out_{};
  std::size_t written_ = 0;  // of out_
  std::size_t offered_ = 0;  // of out_, passed to a write call
  std::size_t end_at_ = 0;   // of out_, in Step::message
  SmtpReplyReader reader_{};
  std::array<char, 4096> buffer_{};
};

}  // namespace sendonce
