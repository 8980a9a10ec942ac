// Publications that wait for the stream's confirmation, and what each answer means (an action for
// every code is in docs/operations.md, "Publish errors"). No I/O, no thread: NatsBroker steps it
// under its lock.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugin/broker/broker.hpp"
#include "plugin/broker/nats/api_json.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/ids.hpp"

namespace sendonce {

// A stream's answer to a publication to `subject`. unavailable: publish again with the same
// message id, also when no stream takes the subject, since an operator can still make one.
// invalid: this publication, as it is, never.
[[nodiscard]] Result<void> publish_result(std::string_view subject,
                                          const ApiAnswer<PubAck>& answer);
// 503: nobody listens on the subject.
[[nodiscard]] Error no_stream_error(std::string_view subject);

class Publications {
 public:
  explicit Publications(Duration timeout) : timeout_(timeout) {}

  // The ticket is in use until it is confirmed; then it may be used again for the same publication.
  void add(Ticket ticket, std::string subject, MonoTime now);
  // Each is confirmed once: a ticket that is not waiting any more is ignored.
  void on_answer(Ticket ticket, std::string_view body);
  void on_no_responders(Ticket ticket);
  void on_failed(Ticket ticket, Error error);
  // All to this subject: the server does not permit it.
  void on_denied(std::string_view subject);
  void expire(MonoTime now);
  void abandon(const std::string& why);  // all of them, unavailable

  void take(std::vector<Confirmation>& confirmations);
  [[nodiscard]] bool any_confirmed() const { return !confirmed_.empty(); }
  [[nodiscard]] bool waiting_for(Ticket ticket) const { return waiting_.contains(ticket); }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  [[nodiscard]] MonoTime next_expiry() const;

 private:
  struct Waiting {
    std::string subject{};
    MonoTime deadline{};
  };
  void confirm(Ticket ticket, Result<void> result);

  Duration timeout_;
  std::unordered_map<Ticket, Waiting> waiting_{};
  std::deque<std::pair<MonoTime, Ticket>> deadlines_{};  // in order: one time-out for all
  std::vector<Confirmation> confirmed_{};
};

}  // namespace sendonce
