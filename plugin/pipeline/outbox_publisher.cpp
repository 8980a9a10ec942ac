#include "plugin/pipeline/outbox_publisher.hpp"

#include <algorithm>

#include "plugin/core/crash_point.hpp"
#include "plugin/pipeline/tickets.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kInFlightMax = 64;
constexpr std::size_t kReadMax = 32;
constexpr Duration kRetryFirst = std::chrono::milliseconds(250);
constexpr Duration kRetryMax = std::chrono::seconds(10);
constexpr Duration kLedgerRetry = std::chrono::milliseconds(500);

}  // namespace

void OutboxPublisher::publish(const OutboxEntry& entry) {
  crash_point(CrashPoint::event_read);
  Publication p{.subject = entry.subject,
                .message_id = ledger_id_ + '.' + std::to_string(entry.seq.get()),
                .headers = {{"Content-Type", "application/cloudevents-batch+json"}},
                .body = entry.body};
  broker_.publish(ticket_of(TicketKind::publication, entry.seq.get()), std::move(p));
}

void OutboxPublisher::poll(const LedgerStats& stats, MonoTime now,
                           std::vector<TicketedRequest>& requests) {
  for (auto& [seq, in_flight] : in_flight_) {
    if (!in_flight.retry_at || *in_flight.retry_at > now) continue;
    in_flight.retry_at.reset();
    publish(in_flight.entry);
  }
  if (!confirmed_.empty() && removing_.empty() && ask_again_ <= now) {
    removing_.swap(confirmed_);
    requests.push_back(
        {ticket_of(TicketKind::outbox_remove, 0), OutboxRemove{.entries = removing_}});
  }
  const bool more = stats.outbox_last > read_up_to_ && ask_again_ <= now;
  if (more && !reading_ && in_flight_.size() + kReadMax <= kInFlightMax) {
    reading_ = true;
    requests.push_back({ticket_of(TicketKind::outbox_read, 0),
                        OutboxRead{.after = read_up_to_, .max_entries = kReadMax}});
  }
}

void OutboxPublisher::on_page(OutboxPage page) {
  reading_ = false;
  for (OutboxEntry& entry : page.entries) {
    read_up_to_ = std::max(read_up_to_, entry.seq);
    publish(entry);
    const OutboxSeq seq = entry.seq;
    in_flight_.try_emplace(seq, InFlight{.entry = std::move(entry)});
  }
}

// Nothing was changed: what was asked for is due again. An entry that is never removed would stop
// its class for being too old, although the stream has it.
void OutboxPublisher::on_ledger_error(Ticket ticket, MonoTime now) {
  ask_again_ = now + kLedgerRetry;
  if (kind_of(ticket) == TicketKind::outbox_read) reading_ = false;
  if (kind_of(ticket) != TicketKind::outbox_remove) return;
  confirmed_.insert(confirmed_.end(), removing_.begin(), removing_.end());
  removing_.clear();
}

void OutboxPublisher::on_confirmed(OutboxSeq seq, const Result<void>& result, MonoTime now) {
  const auto it = in_flight_.find(seq);
  if (it == in_flight_.end()) return;
  last_error_ = result ? std::string() : result.error().text;
  if (result) {
    crash_point(CrashPoint::event_confirmed);
    ++published_;
    confirmed_.push_back(seq);
    in_flight_.erase(it);
    return;
  }
  InFlight& failed = it->second;
  const Duration delay = std::min(kRetryFirst * (1U << std::min(failed.failures, 8U)), kRetryMax);
  if (failed.failures++ % 16 == 0)
    log_.warn("outbox.publish_failed", {{"subject", failed.entry.subject},
                                        {"sequence", seq.get()},
                                        {"error", result.error().text}});
  failed.retry_at = now + delay;
}

}  // namespace sendonce
