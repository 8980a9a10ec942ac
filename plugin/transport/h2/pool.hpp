// The connections of one provider and the requests that wait for them.
//
// A request that is taken waits here until a connection starts it; while it waits it is provably
// not sent. Connections are opened when work waits, one at a time; after a failure not before a
// backoff with jitter has passed, and then a single one as a probe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugin/transport/h2/connection.hpp"
#include "plugin/transport/h2/context.hpp"
#include "plugin/transport/h2/options.hpp"

namespace sendonce {

class H2Pool final : private H2Session::Owner {
 public:
  H2Pool(H2Context& context, H2Options options, Endpoint endpoint, TrustStore trust);
  ~H2Pool();  // every call has ended by then, into the context
  H2Pool(const H2Pool&) = delete;
  H2Pool& operator=(const H2Pool&) = delete;

  [[nodiscard]] const H2Options& options() const noexcept { return options_; }
  [[nodiscard]] const TrustStore& trust() const noexcept { return trust_; }

  [[nodiscard]] bool submit(Ticket ticket, HttpRequest&& request, Duration timeout);
  [[nodiscard]] bool cancel(Ticket ticket);  // false: not ours
  void expire(Call& call);                   // its deadline has come; already off the wheel
  void warm_up();
  void renew();
  // Continues what `old` began: its waiting calls and its counters. `old` only drains from now on.
  void succeed(H2Pool& old);
  [[nodiscard]] bool drained() const noexcept { return draining_ && connections_.empty(); }
  [[nodiscard]] PoolState state() const;

  // Looks after connections and starts what may start. To be called after each step.
  void service();
  // Something is left that must not wait for a descriptor.
  [[nodiscard]] bool restless() const noexcept;
  [[nodiscard]] std::optional<MonoTime> due() const;
  void on_time();

 private:
  void on_call_ended(Call& call, CallResult&& result) override;

  void settle();
  void on_ready(H2Connection& c);
  void on_goaway(H2Connection& c);
  void on_end_of_service(H2Connection& c, bool scolded, std::string reason);
  void on_closed(H2Connection& c);
  void pump();
  void connect_if_needed();
  [[nodiscard]] bool wants_connection() const;
  void connect();
  void back_off();
  void fail_waiting(Cause cause, const std::string& text);
  void watch_over(H2Connection& c);
  [[nodiscard]] MonoTime due(const H2Connection& c) const;
  [[nodiscard]] bool waiting_for_retry() const;
  [[nodiscard]] std::size_t capacity() const;
  [[nodiscard]] bool any_usable() const;

  H2Context& context_;
  H2Options options_;
  Endpoint endpoint_;
  TrustStore trust_;
  TlsSessions sessions_{};
  CallList waiting_{};
  std::vector<std::unique_ptr<H2Connection>> connections_{};
  std::size_t turn_ = 0;  // which connection is served first
  bool warm_ = false;     // a connection is wanted though nothing waits
  bool draining_ = false;
  MonoTime last_used_{};        // when a call last ended on a connection
  std::uint32_t failures_ = 0;  // in a row
  std::optional<MonoTime> retry_at_{};
  std::string last_error_{};
  std::optional<Cause> last_cause_{};
  std::uint64_t connects_ = 0;
  std::uint64_t goaways_ = 0;
};

}  // namespace sendonce
