// The connections to one mail server. A mail takes a connection, one that is free or a new one, and
// is not taken without; nothing waits here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugin/transport/smtp/connection.hpp"

namespace sendonce {

// Of the transport; lives as long as it does.
struct SmtpContext {
  const Clock& clock;
  EventLoop& loop;
  CurlMulti& multi;
  std::vector<Completion>& ready;  // ended, not yet polled
};

class SmtpPool {
 public:
  SmtpPool(const SmtpContext& context, SmtpOptions options, TrustStore trust);
  ~SmtpPool();  // mails on their way end with their proven effect
  SmtpPool(const SmtpPool&) = delete;
  SmtpPool& operator=(const SmtpPool&) = delete;

  [[nodiscard]] bool submit(Ticket ticket, HttpRequest&& request, Duration timeout);
  [[nodiscard]] bool cancel(Ticket ticket);  // false: not ours
  void renew();                              // connections end with their mail
  void drain();                              // the same, and takes no more
  [[nodiscard]] bool drained() const noexcept { return draining_ && connections_.empty(); }
  [[nodiscard]] PoolState state() const;

  void service();  // after each step
  [[nodiscard]] std::optional<MonoTime> due() const;
  void on_time(MonoTime now);

 private:
  void place(SmtpCall&& call);
  void finish(SmtpConnection::Ended&& ended);
  void note(const CallResult& result);
  [[nodiscard]] std::size_t busy() const;

  SmtpContext context_;
  SmtpOptions options_;
  TrustStore trust_;
  std::vector<std::unique_ptr<SmtpConnection>> connections_{};
  bool draining_ = false;
  std::uint64_t connects_ = 0;
  std::string last_error_{};
  std::optional<Cause> last_cause_{};
};

}  // namespace sendonce
