// Throw-away credentials for tests and for the fake provider: a certificate authority, server and
// client certificates, an APNs key, a service account. Nothing here is meant to protect anything.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sendonce::test {

struct Identity {
  std::string certificate{};  // PEM
  std::string key{};          // PEM, PKCS #8
};

struct LeafOptions {
  std::vector<std::string> names{"DNS:localhost", "IP:127.0.0.1", "IP:::1"};
  std::chrono::seconds not_before = -std::chrono::hours(1);  // from now
  std::chrono::seconds not_after =
      std::chrono::hours(24 * 90);  // from now; the daemon warns of 30 days
  bool client = false;              // for client authentication
};

// A P-256 certificate authority, made anew with each object.
class Authority {
 public:
  Authority();
  ~Authority();
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;

  [[nodiscard]] const std::string& pem() const noexcept { return pem_; }
  [[nodiscard]] Identity issue(const LeafOptions& options = {}) const;
  // A certificate for another name, and one that ended an hour ago.
  [[nodiscard]] Identity wrong_name() const;
  [[nodiscard]] Identity expired() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::string pem_{};
};

struct KeyPair {
  std::string private_pem{};  // PKCS #8; for P-256 this is what Apple calls a .p8 file
  std::string public_pem{};   // SubjectPublicKeyInfo
};

[[nodiscard]] KeyPair make_p256_key();
[[nodiscard]] KeyPair make_rsa_key();  // 2048 bits

// A Google service-account file with the fields that clients read.
[[nodiscard]] std::string service_account_json(std::string_view project, std::string_view email,
                                               std::string_view token_uri,
                                               std::string_view private_pem);

}  // namespace sendonce::test
