// Are these bodies what APNs and FCM take? The only file of tests/support that parses JSON at the
// rate of requests.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sendonce::test {

// What is wrong with an FCM request, in Google's words.
struct FcmFault {
  std::string message{};
  std::string field{};     // of a BadRequest violation; may be empty with `violation`
  bool violation = false;  // details hold google.rpc.BadRequest, else the FcmError INVALID_ARGUMENT
};

struct FcmMessage {
  std::optional<FcmFault> fault{};
  std::string_view token{};  // of the target, or its topic or condition
  std::string_view nid{};    // data.nid
  bool dry_run = false;      // validate_only
};

// One thread at a time. Views live until the next call.
class PayloadChecks {
 public:
  PayloadChecks();
  ~PayloadChecks();
  PayloadChecks(const PayloadChecks&) = delete;
  PayloadChecks& operator=(const PayloadChecks&) = delete;

  // A JSON object with at least one member.
  [[nodiscard]] bool apns_payload(std::string_view body);
  // The body of messages:send: known fields of the right types, exactly one target, sizes. With
  // `lenient` only target and nid are read.
  [[nodiscard]] FcmMessage fcm_message(std::string_view body, bool lenient);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sendonce::test
