// A real daemon between a real nats-server and the fake provider, and everything that can be seen
// of it from outside: its log, its status, its exit code, the stream, and the provider's witness.
//
// The provider runs in the test's own process (tests/support/staged_provider.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "ledger/row.hpp"
#include "plugin/cli/demo/world.hpp"
#include "tests/support/staged_provider.hpp"

namespace sendonce::test {

using Json = nlohmann::json;
using std::chrono::seconds;
using ::testing::HasSubstr;

// How a program ended, and what it said.
struct Ran {
  int code = -1;
  std::string text{};
};

class DaemonTest : public ::testing::Test {
 protected:
  ~DaemonTest() override;

  // Everything but the daemon. In options.classes, which may hold providers too, @PORT@ and
  // @CREDENTIALS@ stand for the provider's, @TIMES@ for short waits. The classes are otp
  // (resend) and marketing (give-up).
  void make(cli::WorldOptions options = {});
  void start();                                  // the daemon; waits until it is ready
  void start_without_wait();                     // the daemon
  [[nodiscard]] std::optional<int> exit_code();  // waits for the daemon's end by itself
  [[nodiscard]] int stop();                      // SIGTERM; its exit code, -1 when it was killed

  // The events numbered [from, to), each for a device of its own at APNs.
  void publish(int from, int to, std::string_view message_class = "marketing");
  void publish_body(std::string_view message_class, const std::string& body);
  [[nodiscard]] static std::string token(int event);
  [[nodiscard]] static std::string target(int event);

  // ---- what can be seen
  [[nodiscard]] Json status() const;  // null: it does not answer
  [[nodiscard]] std::uint64_t counter(const char* name,
                                      std::string_view message_class = "marketing") const;
  [[nodiscard]] std::uint64_t stored();  // messages that are not acked
  [[nodiscard]] Json api(const std::string& what, const std::string& body = "");
  [[nodiscard]] std::string log() const;  // since the last mark()
  void mark();
  [[nodiscard]] bool logs(std::string_view text, seconds within = seconds(60)) const;
  [[nodiscard]] Copies seen(int event) const {  // by the provider, in all its lives
    return provider_.seen(ProviderKind::apns, token(event));
  }
  [[nodiscard]] std::uint64_t received() const { return provider_.received(); }
  [[nodiscard]] std::uint64_t connections() const { return provider_.connections(); }
  // Of the ledger, offline, by event.
  [[nodiscard]] std::map<int, State> rows() const;
  [[nodiscard]] static bool within(seconds limit, const std::function<bool()>& so);
  [[nodiscard]] bool settled(seconds limit = seconds(90));  // every message is acked

  // No message is acked before its row has ended. Of this life of the daemon.
  void expect_no_early_ack(std::uint64_t published);
  // Nothing was acked and nothing sent.
  void expect_untouched(std::uint64_t published) {
    EXPECT_EQ(stored(), published);
    EXPECT_EQ(received(), 0U);
  }
  // The provider took each of the events once, and saw none of them twice.
  void expect_each_once(int from, int to) const;

  // ---- what can be done to it
  void script(const std::string& toml);  // the provider's faults from now on
  void stop_provider() { provider_.stop(); }
  void start_provider();
  void replace_in_config(std::string_view text, std::string_view with);
  void reload(std::string_view event);  // SIGHUP; waits until the event is logged
  [[nodiscard]] Ran sendonce(std::vector<std::string> args) const;
  void restart_server();  // after it was killed

  StagedProvider provider_{};
  std::unique_ptr<cli::World> world_{};

 private:
  void connect();

  std::unique_ptr<Publisher> client_{};
  std::size_t marked_ = 0;
};

}  // namespace sendonce::test
