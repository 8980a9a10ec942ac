// Publishes the ledger's outbox: reads entries, publishes each under `<ledger id>.<sequence>`, and
// has them removed once their stream has confirmed. Events are at least once; the id makes repeats
// recognisable. Single-threaded, stepped by the engine.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ledger/ledger.hpp"
#include "plugin/broker/broker.hpp"
#include "plugin/core/log.hpp"

namespace sendonce {

class OutboxPublisher {
 public:
  OutboxPublisher(Broker& broker, Log& log, std::string ledger_id)
      : broker_(broker), log_(log), ledger_id_(std::move(ledger_id)) {}

  // Adds what it wants from the ledger, and publishes again what has failed.
  void poll(const LedgerStats& stats, MonoTime now, std::vector<TicketedRequest>& requests);
  void on_page(OutboxPage page);
  void on_removed() { removing_.clear(); }
  void on_ledger_error(Ticket ticket, MonoTime now);
  void on_confirmed(OutboxSeq seq, const Result<void>& result, MonoTime now);

  [[nodiscard]] std::uint64_t published() const { return published_; }
  // Why the stream has not confirmed an entry; empty once it has confirmed one.
  [[nodiscard]] const std::string& last_error() const { return last_error_; }

 private:
  struct InFlight {
    OutboxEntry entry{};
    std::optional<MonoTime> retry_at{};
    std::uint32_t failures = 0;
  };
  void publish(const OutboxEntry& entry);

  Broker& broker_;
  Log& log_;
  std::string ledger_id_;
  std::map<OutboxSeq, InFlight> in_flight_{};
  std::vector<OutboxSeq> confirmed_{};
  std::vector<OutboxSeq> removing_{};  // the ledger has been asked to
  MonoTime ask_again_{};               // not before; it had no room
  OutboxSeq read_up_to_{};
  bool reading_ = false;
  std::string last_error_{};
  std::uint64_t published_ = 0;
};

}  // namespace sendonce
