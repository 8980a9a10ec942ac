// A generic endpoint as a test wants it, and the two of fake_vendors.hpp: POST /hook/DESTINATION is
// taken and answered with
// {"id":"msg-N"}. It knows repeats by Idempotency-Key: the same request again gets the first
// answer and is not taken again, another body under a known key gets 422
// (draft-ietf-httpapi-idempotency-key-header). What had an X-Reference can be asked about by
// GET /hook/DESTINATION?reference=R: {"count":1,"messages":[{"id":"msg-N"}]}, or a count of 0. Its
// search is a little behind.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "plugin/core/clock.hpp"
#include "tests/support/fake_vendors.hpp"
#include "tests/support/http_message.hpp"
#include "tests/support/script.hpp"

namespace sendonce::test {

struct HttpConfig {
  std::string authorization{};  // that every request must carry; empty: none
  Duration search_lag = std::chrono::milliseconds(300);
  VendorConfig vendors{};
};

// On the server's thread.
class FakeHttp {
 public:
  explicit FakeHttp(HttpConfig config) : config_(std::move(config)), vendors_(config_.vendors) {}

  struct Judged {
    std::string destination{};  // as it stands in the path
    std::string_view key{};
    std::string reason{};   // not empty: refused
    bool known = false;     // a repeat
    bool question = false;  // sends nothing
    Vendor vendor = Vendor::none;
  };
  [[nodiscard]] Judged judge(const Request& request) const;
  // The provider has taken it, whether or not its answer arrives.
  void take(const Judged& judged, const Request& request);
  void write(const Judged& judged, const Request& request, Reply& reply);
  static void write_refused(const Judged& judged, Reply& reply);
  static void write_scripted(const Judged& judged, const Action& action, Reply& reply);
  // Client credentials: no delivery, and counted by nobody.
  void answer_oauth(const Request& request, Reply& reply) { vendors_.answer_oauth(request, reply); }

 private:
  struct Taken {
    std::string body{};
    std::string id{};
  };
  HttpConfig config_;
  FakeVendors vendors_;
  std::unordered_map<std::string, Taken> taken_{};  // by key
  struct Found {
    std::string id{};
    WallTime since{};
  };
  void write_found(const Request& request, Reply& reply) const;

  std::unordered_map<std::string, Found> found_{};  // by reference
  std::string latest_{};                            // the id of a request without a key
  std::uint64_t count_ = 0;
};

}  // namespace sendonce::test
