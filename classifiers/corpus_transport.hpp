// What a recorded line says about the connection, as the transport port would report it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "classifiers/json_tree.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

// The member `transport` of a line. A field that is absent is unknown.
struct RecordedTransport {
  std::string layer{};  // curl, h2, tls, tcp, app, …
  std::string event{};
  std::optional<std::int64_t> code{};          // CURLE, the first one of several
  std::optional<std::int64_t> prereq_calls{};  // how often libcurl was about to send the request
  std::optional<std::int64_t> connect_code{};  // the proxy's answer to CONNECT
  std::optional<std::int64_t> tls_alert{};
  std::optional<std::int64_t> h2_error{};
  std::optional<std::int64_t> in_flight{};
  std::optional<bool> last_stream_below_ours{};
};

[[nodiscard]] RecordedTransport read_transport(const JsonTree& object);

// False: an answer came in full (CURLE 0).
[[nodiscard]] bool has_failed(const RecordedTransport& seen);

// Cause and effect. `not_sent` only with proof: no call of libcurl's pre-request callback, a
// refused stream, a connection that never came up or had nothing in flight. Everything else, known
// or not, is maybe_sent.
[[nodiscard]] CallFailure failure_of(const RecordedTransport& seen);

}  // namespace sendonce
