#include "plugin/broker/nats/publications.hpp"

#include <iterator>

#include "plugin/core/assert.hpp"

namespace sendonce {

Result<void> publish_result(std::string_view subject, const ApiAnswer<PubAck>& answer) {
  const std::string to(subject);
  if (answer) {
    // Seen after a leader change: called a duplicate though nothing was stored (nats-server 6415).
    if (answer->seq == 0)
      return fail(Errc::unavailable, "the confirmation for " + to + " has no sequence");
    return {};
  }
  const ApiError& error = answer.error();
  const std::string said =
      (error.err_code != 0 ? std::to_string(error.err_code) + " " : "") + error.description;
  const bool never =
      error.err_code == js_error::kMessageTooLarge || error.err_code == js_error::kStreamSealed ||
      (error.err_code >= js_error::kRollupFirst && error.err_code <= js_error::kRollupLast);
  if (never)
    return fail(Errc::invalid, "the stream refuses what is published to " + to + ": " + said);
  return fail(Errc::unavailable, "not stored, published to " + to + ": " + said);
}

Error no_stream_error(std::string_view subject) {
  return {Errc::unavailable, "no stream takes " + std::string(subject) +
                                 " or its leader is away (10076); if this stays, run "
                                 "`sendonce setup`"};
}

void Publications::add(Ticket ticket, std::string subject, MonoTime now) {
  const MonoTime deadline = now + timeout_;
  const bool fresh = waiting_.emplace(ticket, Waiting{std::move(subject), deadline}).second;
  SO_ASSERT(fresh);
  deadlines_.emplace_back(deadline, ticket);
}

void Publications::confirm(Ticket ticket, Result<void> result) {
  if (waiting_.erase(ticket) == 0) return;
  confirmed_.push_back(Confirmation{.ticket = ticket, .result = std::move(result)});
}

void Publications::on_answer(Ticket ticket, std::string_view body) {
  const auto found = waiting_.find(ticket);
  if (found == waiting_.end()) return;
  confirm(ticket, publish_result(found->second.subject, parse_pub_ack(body)));
}

void Publications::on_no_responders(Ticket ticket) {
  const auto found = waiting_.find(ticket);
  if (found == waiting_.end()) return;
  confirm(ticket, std::unexpected(no_stream_error(found->second.subject)));
}

void Publications::on_failed(Ticket ticket, Error error) {
  confirm(ticket, std::unexpected(std::move(error)));
}

void Publications::on_denied(std::string_view subject) {
  std::vector<Ticket> denied;
  for (const auto& [ticket, waiting] : waiting_)
    if (waiting.subject == subject) denied.push_back(ticket);
  for (const Ticket ticket : denied)
    confirm(ticket, fail(Errc::unavailable, "not permitted to publish to " + std::string(subject)));
}

void Publications::expire(MonoTime now) {
  while (!deadlines_.empty()) {
    const auto [deadline, ticket] = deadlines_.front();
    const auto found = waiting_.find(ticket);
    if (found != waiting_.end() && found->second.deadline == deadline) {
      if (deadline > now) return;
      const std::string subject = found->second.subject;
      confirm(ticket, fail(Errc::unavailable, "no confirmation in time for " + subject));
    }
    deadlines_.pop_front();
  }
}

void Publications::abandon(const std::string& why) {
  while (!waiting_.empty()) confirm(waiting_.begin()->first, fail(Errc::unavailable, why));
  deadlines_.clear();
}

void Publications::take(std::vector<Confirmation>& confirmations) {
  if (confirmations.empty()) {
    confirmations.swap(confirmed_);
    return;
  }
  confirmations.insert(confirmations.end(), std::make_move_iterator(confirmed_.begin()),
                       std::make_move_iterator(confirmed_.end()));
  confirmed_.clear();
}

MonoTime Publications::next_expiry() const {
  return waiting_.empty() ? MonoTime::max() : deadlines_.front().first;
}

}  // namespace sendonce
