// How APNs, FCM and a gateway for SMS say what they mean, byte for byte, and how a request to them
// names its delivery.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plugin/core/ids.hpp"
#include "plugin/message/notification.hpp"
#include "plugin/transport/transport.hpp"
#include "tests/simulation/service.hpp"

namespace sendonce::sim {

enum class Saying : std::uint8_t {
  busy,
  server_error,
  throttled,      // one destination
  throttled_all,  // everything
  bad_credential,
  stale_credential,
  wrong_setup,
  wrong_environment,  // APNs: in the words for a dead token
  wrong_part,         // FCM: the APNs key in the console
  bad_content,
  mismatch,
  dead,
  unknown_code,
  dead_in_a_server_error,
};

[[nodiscard]] Reply say(ProviderKind kind, Saying saying);
// With its receipt, the nth that the service gives.
[[nodiscard]] HttpAnswer acceptance(ProviderKind kind, std::uint64_t n);
// `status` of a server error, where the kind has several.
[[nodiscard]] HttpAnswer server_error_with(ProviderKind kind, int status);

// Where the request goes: the token or the number.
[[nodiscard]] std::string destination_in(ProviderKind kind, const HttpRequest& request);
// What the request is told apart by, and the same from the side of the delivery.
[[nodiscard]] std::string request_name(ProviderKind kind, const HttpRequest& request);
[[nodiscard]] std::string request_name(ProviderKind kind, const Key& key, const std::string& nid,
                                       const std::string& destination);

}  // namespace sendonce::sim
