// FCM HTTP v1 as it answers
// (https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages/send and
// .../ErrorCode).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "plugin/core/clock.hpp"
#include "tests/support/fake_oauth.hpp"
#include "tests/support/http_message.hpp"
#include "tests/support/payload_checks.hpp"
#include "tests/support/script.hpp"

namespace sendonce::test {

struct FcmConfig {
  std::string project{};
  bool lenient = false;  // fields are not checked
};

// On the server's thread.
class FakeFcm {
 public:
  FakeFcm(FcmConfig config, const FakeOauth& oauth) : config_(std::move(config)), oauth_(oauth) {}

  enum class Refusal : std::uint8_t {
    none,
    path,  // HTML 404
    no_credential,
    bad_credential,
    old_credential,
    project,
    message,  // `fault` says what
  };
  struct Judged {
    Refusal refusal = Refusal::none;
    FcmMessage message{};  // views into the parser: until the next judge()
  };
  [[nodiscard]] Judged judge(const Request& request);

  void write_accepted(Reply& reply);
  static void write_refused(const Judged& judged, Reply& reply);
  void write_scripted(const Action& action, Reply& reply);
  // A short name of why it was refused, for the record.
  [[nodiscard]] static std::string_view reason_of(Refusal refusal);

 private:
  [[nodiscard]] Refusal credential_fault(const Request& request);

  FcmConfig config_;
  const FakeOauth& oauth_;
  PayloadChecks checks_{};
  Random random_{system_seed()};
  std::string last_authorization_{};  // that was good
  WallTime looked_up_{};              // when
};

}  // namespace sendonce::test
