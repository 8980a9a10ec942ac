// The NATS service protocol (ADR-32, https://github.com/nats-io/nats-architecture-and-design): what
// `nats micro ls`, `info` and `stats` ask of everybody who is there. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugin/core/clock.hpp"

namespace sendonce {

struct ServiceEndpoint {  // a class of messages
  std::string name{};
  std::string subject{};
  std::string group{};  // who shares the work: the durable
};

struct ServiceDescription {
  std::string name{};
  std::string id{};       // of this instance: the ledger's
  std::string version{};  // semver
  std::vector<ServiceEndpoint> endpoints{};
  WallTime started{};
};

struct ServiceCounts {  // of an endpoint
  std::uint64_t requests = 0;
  std::uint64_t errors = 0;
  Duration processing{};  // of all requests together
  std::vector<std::pair<std::string, std::uint64_t>> data{};
};

// All that has to be subscribed to.
[[nodiscard]] std::vector<std::string> service_subjects(const ServiceDescription& service);
// Empty: the subject is none of them. `counts` are by endpoint, those that are missing are 0.
[[nodiscard]] std::optional<std::string> service_answer(const ServiceDescription& service,
                                                        std::string_view subject,
                                                        std::span<const ServiceCounts> counts);
// Whether an answer may go there: whoever asks names the subject, and must not make us speak where
// only we may (an ack of JetStream, an outcome event).
[[nodiscard]] bool is_reply_subject(std::string_view subject, std::string_view inbox_prefix);

}  // namespace sendonce
