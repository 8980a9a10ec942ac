// APNs as it answers (https://developer.apple.com/documentation/usernotifications,
// "Sending notification requests to APNs" and "Handling notification responses from APNs").
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/random.hpp"
#include "tests/support/http_message.hpp"
#include "tests/support/jwt.hpp"
#include "tests/support/payload_checks.hpp"
#include "tests/support/script.hpp"

namespace sendonce::test {

struct ApnsKey {
  std::string team{};
  std::string key_id{};
  std::string pem{};  // the public key, or the .p8 file it belongs to
};

struct ApnsConfig {
  std::vector<ApnsKey> keys{};
  std::vector<std::string> topics{};  // bundle ids; the suffix of a push type is added by the rule
  bool sandbox = false;               // answers carry apns-unique-id
  bool lenient = false;               // the payload is not parsed
};

// On the server's thread.
class FakeApns {
 public:
  // Fails `invalid` when a key is not P-256.
  [[nodiscard]] static Result<std::unique_ptr<FakeApns>> make(ApnsConfig config);

  // The device token in a request's path; empty when there is none.
  [[nodiscard]] static std::string_view token_of(std::string_view path);
  // Why APNs refuses the request; empty when it takes it.
  [[nodiscard]] std::string_view refusal(const Request& request);

  void write_accepted(const Request& request, Reply& reply);
  // With the status that is documented for the reason, 400 for an unknown one.
  void write_refused(std::string_view reason, const Request& request, Reply& reply);
  // The answer of a rule of the script.
  void write_scripted(const Action& action, const Request& request, Reply& reply);
  void forget(std::uint64_t connection);

 private:
  struct Verified {
    std::string_view fault{};  // empty: the signature fits
    std::string key_id{};
    std::int64_t issued_at = 0;
  };
  struct Peer {                   // what is bound to a connection
    std::string authorization{};  // the latest that was good
    Verified verified{};
    std::vector<std::string> used{};  // every one that was good here
    WallTime updated{};               // when the latest new one came
    bool updated_once = false;
  };

  struct Key {
    ApnsKey config{};
    std::unique_ptr<JwtVerifier> verifier{};
  };

  explicit FakeApns(ApnsConfig config, std::vector<Key> keys);
  [[nodiscard]] Verified verify(std::string_view bearer) const;
  [[nodiscard]] const Verified& verified(std::string_view authorization);
  [[nodiscard]] std::string_view credential_fault(std::string_view authorization,
                                                  const Request& request);
  [[nodiscard]] std::string_view topic_fault(std::string_view topic, std::string_view type) const;
  void write_id(const Request& request, Reply& reply);

  ApnsConfig config_;
  std::vector<Key> keys_;
  PayloadChecks checks_{};
  Random random_{system_seed()};
  std::unordered_map<std::string, Verified> cache_{};
  std::unordered_map<std::uint64_t, Peer> peers_{};
};

}  // namespace sendonce::test
