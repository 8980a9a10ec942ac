// Whether a consumer and its stream are what a class needs (docs/operations.md, "Consumers").
// Pure, shared by the running sidecar, which refuses, and by setup, which repairs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/broker/nats/api_json.hpp"
#include "plugin/core/clock.hpp"

namespace sendonce {

inline constexpr std::string_view kLedgerMark = "sendonce ledger=";

// What a consumer's description says about its owner; empty when it says nothing.
[[nodiscard]] std::string_view ledger_in(std::string_view description);
// `description` with the owner set and any other text kept.
[[nodiscard]] std::string with_ledger(std::string_view description, std::string_view ledger_id);

struct ConsumerExpectation {
  std::string stream{};
  std::string durable{};
  std::string filter_subject{};
  std::string ledger_id{};
  Duration ack_wait{};         // the consumer's may be longer
  bool one_at_a_time = false;  // max_ack_pending = 1: in the order of the stream, repeats too
};

// A sentence that names what is wrong, both values and the remedy; empty when all is well.
[[nodiscard]] std::optional<std::string> consumer_fault(const ConsumerExpectation& expected,
                                                        const ConsumerInfo& found);
[[nodiscard]] std::optional<std::string> stream_fault(const ConsumerExpectation& expected,
                                                      const StreamInfo& found);

}  // namespace sendonce
