// Two services as the shipped profiles call them, strict about what they are sent:
//   POST /v2/email/outbound-emails     Amazon SES, version 2: the request must be signed
//   POST /v1/APP/messages:send         Huawei Push Kit: one token, and a bearer token of ours
//   POST /oauth2/v3/token              its client credentials
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

#include "tests/support/http_message.hpp"

namespace sendonce::test {

struct VendorConfig {
  std::string aws_key_id = "AKIDEXAMPLE";
  std::string aws_secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
  std::string aws_token = "session/token+of==";
  std::string aws_region = "us-east-1";
  std::string client_id = "104001234";
  std::string client_secret = "client secret&of=huawei";
};

enum class Vendor : std::uint8_t { none, ses, huawei, huawei_oauth };
[[nodiscard]] Vendor vendor_of(std::string_view path);

// On the server's thread.
class FakeVendors {
 public:
  explicit FakeVendors(VendorConfig config) : config_(std::move(config)) {}

  struct Judged {
    std::string destination{};
    std::string reason{};  // not empty: refused
  };
  [[nodiscard]] Judged judge(Vendor vendor, const Request& request) const;
  void write(Vendor vendor, Reply& reply);
  static void write_refused(Vendor vendor, std::string_view reason, Reply& reply);
  void answer_oauth(const Request& request, Reply& reply);

 private:
  [[nodiscard]] std::string signature_fault(const Request& request) const;

  VendorConfig config_;
  std::unordered_set<std::string> issued_{};
  std::uint64_t count_ = 0;
};

}  // namespace sendonce::test
