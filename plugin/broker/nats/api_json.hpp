// The JSON of the JetStream API (nats-server, server/jetstream_api.go; docs.nats.io "NATS API
// reference"), as far as we read or write it. Total: any text gives an answer or an ApiError.
// Unknown members survive an update: setup sends back what it read, with few members replaced.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugin/core/clock.hpp"

namespace sendonce {

// Error codes we act on (nats-server, server/errors.json).
namespace js_error {
inline constexpr int kConsumerNotFound = 10014;
inline constexpr int kNotEnabledForAccount = 10039;
inline constexpr int kMessageTooLarge = 10054;
inline constexpr int kStreamNotFound = 10059;
inline constexpr int kNotEnabled = 10076;
inline constexpr int kStreamSealed = 10109;
inline constexpr int kRollupFirst = 10110;  // .. kRollupLast: headers that the stream forbids
inline constexpr int kRollupLast = 10113;
}  // namespace js_error

struct ApiError {
  int code = 0;      // HTTP-like; 0: the answer was not understood
  int err_code = 0;  // js_error
  std::string description{};
};

template <class T>
using ApiAnswer = std::expected<T, ApiError>;

struct PubAck {
  std::string stream{};
  std::uint64_t seq = 0;
  bool duplicate = false;
};

struct StreamInfo {
  std::string name{};
  std::string created{};  // as written
  std::vector<std::string> subjects{};
  std::string retention{};  // limits, interest, workqueue
  Duration duplicate_window{};
  Duration max_age{};
  bool sealed = false;
  bool no_ack = false;  // publications are never confirmed
  bool mirror = false;
  std::uint64_t messages = 0;
  bool matching = false;  // some of them match the filter of the request, if it had one
  std::vector<std::string> without{};  // filters that none of them matches, where setup has asked
  std::string config{};                // the whole configuration, minified JSON
};

struct ConsumerInfo {
  std::string stream{};
  std::string name{};
  std::string created{};
  std::string description{};
  std::string filter_subject{};
  bool several_filters = false;   // filter_subjects, server >= 2.10
  std::string deliver_subject{};  // not empty: a push consumer
  std::string deliver_policy{};
  std::string ack_policy{};
  Duration ack_wait{};
  std::int64_t max_deliver = -1;
  std::int64_t max_ack_pending = 0;
  bool backoff = false;
  bool headers_only = false;
  Duration inactive_threshold{};
  std::uint64_t pending = 0;
  std::uint64_t ack_pending = 0;
  std::uint64_t waiting = 0;
  std::string config{};
};

[[nodiscard]] ApiAnswer<PubAck> parse_pub_ack(std::string_view json);
[[nodiscard]] ApiAnswer<StreamInfo> parse_stream_info(std::string_view json);
[[nodiscard]] ApiAnswer<ConsumerInfo> parse_consumer_info(std::string_view json);
// Of any API answer: its error, if it has one.
[[nodiscard]] std::optional<ApiError> parse_api_error(std::string_view json);

// A member to set (JSON text) or, when empty, to remove.
using MemberPatch = std::pair<std::string, std::optional<std::string>>;
// `object` with these members replaced, everything else as it was. `object` must be an object.
[[nodiscard]] std::string patch_object(std::string_view object,
                                       const std::vector<MemberPatch>& members);
[[nodiscard]] std::string json_text(std::string_view text);
[[nodiscard]] std::string json_text(const std::vector<std::string>& texts);

}  // namespace sendonce
