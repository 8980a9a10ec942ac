#include "plugin/broker/nats/consumer_check.hpp"

#include <cstddef>
#include <utility>

#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

std::string ownership_fault(const ConsumerExpectation& expected, const ConsumerInfo& found,
                            const std::string& name) {
  const std::string_view owner = ledger_in(found.description);
  const std::string ours = "this ledger is " + expected.ledger_id;
  if (owner.empty())
    return name + " belongs to no ledger, " + ours +
           "; if no other sidecar works on it, run `sendonce setup --adopt` for its class";
  return name + " belongs to ledger " + std::string(owner) + ", " + ours +
         "; use that ledger, or, if it is gone for good, run `sendonce setup --adopt` for its "
         "class";
}

}  // namespace

std::string_view ledger_in(std::string_view description) {
  const std::size_t mark = description.find(kLedgerMark);
  if (mark == std::string_view::npos) return {};
  const std::string_view rest = description.substr(mark + kLedgerMark.size());
  return rest.substr(0, rest.find_first_of(" ,;\t\n"));
}

std::string with_ledger(std::string_view description, std::string_view ledger_id) {
  const std::string_view old = ledger_in(description);
  const std::size_t mark = description.find(kLedgerMark);
  if (mark == std::string_view::npos) {
    const std::string kept(description);
    return std::string(kLedgerMark) + std::string(ledger_id) + (kept.empty() ? "" : " " + kept);
  }
  std::string out(description.substr(0, mark + kLedgerMark.size()));
  out.append(ledger_id);
  out.append(description.substr(mark + kLedgerMark.size() + old.size()));
  return out;
}

std::optional<std::string> consumer_fault(const ConsumerExpectation& expected,
                                          const ConsumerInfo& found) {
  const std::string name = "consumer " + found.name + " of stream " + found.stream;
  if (ledger_in(found.description) != expected.ledger_id)
    return ownership_fault(expected, found, name);
  const auto wrong = [&name](std::string what) {
    return name + " " + std::move(what) + "; run `sendonce setup`";
  };
  if (!found.deliver_subject.empty()) return wrong("is a push consumer, a pull consumer is needed");
  if (found.ack_policy != "explicit")
    return wrong("has ack_policy " + found.ack_policy + ", explicit is needed");
  if (found.max_deliver != -1)
    return wrong("has max_deliver " + std::to_string(found.max_deliver) +
                 ", -1 is needed: attempts are counted in the ledger");
  if (found.backoff) return wrong("has a backoff list, none is needed: it overrides ack_wait");
  if (found.several_filters || found.filter_subject != expected.filter_subject)
    return wrong("filters " +
                 (found.several_filters          ? "several subjects"
                  : found.filter_subject.empty() ? "nothing"
                                                 : "'" + found.filter_subject + "'") +
                 ", the class's subject is '" + expected.filter_subject + "'");
  if (found.headers_only) return wrong("delivers headers only, bodies are needed");
  if (found.ack_wait < expected.ack_wait)
    return wrong("has ack_wait " + duration_text(found.ack_wait) + ", the class needs " +
                 duration_text(expected.ack_wait));
  if (expected.one_at_a_time && found.max_ack_pending != 1)
    return wrong("has max_ack_pending " + std::to_string(found.max_ack_pending) +
                 ", 1 is needed: a repeat must not overtake what was reported after it");
  if (found.inactive_threshold > Duration{})
    return wrong("has an inactive_threshold: it would be deleted while the sidecar is down");
  return std::nullopt;
}

std::optional<std::string> stream_fault(const ConsumerExpectation& expected,
                                        const StreamInfo& found) {
  if (found.name == expected.stream) return std::nullopt;
  return "asked for stream " + expected.stream + ", the server described " + found.name;
}

}  // namespace sendonce
