// Servers that die, freeze, forget, refuse, and links that may not be what they are asked to be.
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "plugin/broker/nats/connection.hpp"
#include "tests/integration/broker/rig.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/temp_dir.hpp"

namespace sendonce::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

class FailureTest : public ::testing::Test {
 protected:
  explicit FailureTest(const NatsOptions& options = {}) : rig(options) {}

  void start(std::string_view consumer = {}) {
    rig.make_stream();
    rig.make_consumer(kLedger, consumer);
    rig.start_broker();
    ASSERT_TRUE(rig.ready()) << rig.lane().reason;
  }
  // Takes, acks, and asks for more.
  void work() {
    std::vector<Message> batch;
    rig.broker->take(batch);
    const bool ready = rig.lane().ready;
    for (const Message& message : batch) {
      seen.insert(message.body);
      EXPECT_TRUE(rig.broker->ack(message));
    }
    if (ready) rig.broker->credit(kClass, 100);
  }
  bool all_done(std::size_t messages) {
    return eventually(
        [&] {
          work();
          return seen.size() >= messages;
        },
        seconds(30));
  }
  void publish(int from, int to) {
    for (int i = from; i < to; ++i) rig.publish("notify.otp.x", "m" + std::to_string(i));
  }
  bool not_ready_because(std::string_view part) {
    return eventually([&] { return !rig.lane().ready && contains(rig.lane().reason, part); },
                      seconds(15));
  }
  std::set<std::string> seen{};
  Rig rig;
};

TEST_F(FailureTest, AKilledServerLosesNothing) {
  start(R"("ack_wait":2000000000)");
  publish(0, 1000);
  rig.broker->credit(kClass, 100);
  EXPECT_TRUE(eventually([&] {
    work();
    return seen.size() >= 300;
  }));
  rig.server.kill();
  ASSERT_TRUE(eventually([&] {
    work();
    return !rig.lane().ready;
  }));
  EXPECT_FALSE(rig.broker->connected());
  ASSERT_TRUE(rig.server.restart());
  EXPECT_TRUE(all_done(1000));
  EXPECT_TRUE(eventually(
      [&] {
        work();
        return rig.stored() == 0;
      },
      seconds(60)));
  EXPECT_EQ(rig.lane().incarnation, 1U);
}

TEST_F(FailureTest, AcksGivenWhileTheServerIsAwayArriveLater) {
  start();
  publish(0, 50);
  rig.broker->credit(kClass, 100);
  ASSERT_TRUE(eventually([&] { return rig.take(50); }));
  rig.server.stop();
  ASSERT_TRUE(eventually([&] { return !rig.lane().ready; }));
  for (const Message& message : rig.taken) EXPECT_TRUE(rig.broker->ack(message));
  EXPECT_EQ(rig.broker->counters().replies_sent, 0U);
  ASSERT_TRUE(rig.server.restart());
  ASSERT_TRUE(rig.ready());
  EXPECT_TRUE(eventually([&] { return rig.stored() == 0; }));
  EXPECT_EQ(rig.broker->counters().replies_sent, 50U);
}

TEST_F(FailureTest, AServerThatStopsAndStartsIsFoundAgain) {
  start();
  rig.broker->credit(kClass, 100);
  publish(0, 10);
  EXPECT_TRUE(all_done(10));
  rig.server.stop();
  ASSERT_TRUE(not_ready_because("disconnected"));
  ASSERT_TRUE(rig.server.restart());
  publish(10, 20);
  EXPECT_TRUE(all_done(20));
}

TEST_F(FailureTest, AServerThatHasForgottenEverythingGetsNoOldAck) {
  start();
  publish(0, 1);
  rig.broker->credit(kClass, 10);
  ASSERT_TRUE(eventually([&] { return rig.take(1); }));
  rig.server.kill();
  rig.server.wipe_store();
  ASSERT_TRUE(eventually([&] { return !rig.lane().ready; }));
  ASSERT_TRUE(rig.broker->ack(rig.taken[0]));
  ASSERT_TRUE(rig.server.restart());
  ASSERT_TRUE(not_ready_because("does not exist"));
  rig.make_stream();
  rig.publish("notify.otp.x", "new");
  rig.make_consumer();
  ASSERT_TRUE(rig.ready());
  EXPECT_EQ(rig.lane().incarnation, 2U);
  EXPECT_EQ(rig.stored(), 1U);
  EXPECT_EQ(rig.broker->counters().replies_forgotten, 1U);
  rig.broker->credit(kClass, 10);
  EXPECT_TRUE(eventually([&] { return rig.take(2); }));
}

TEST_F(FailureTest, AFrozenServerIsNoticedAndUsedAgain) {
  start();
  rig.broker->credit(kClass, 100);
  publish(0, 10);
  EXPECT_TRUE(all_done(10));
  rig.server.freeze();
  EXPECT_TRUE(not_ready_because(""));
  rig.server.thaw();
  EXPECT_TRUE(eventually([&] { return rig.lane().ready; }, seconds(15))) << rig.lane().reason;
  publish(10, 20);
  EXPECT_TRUE(all_done(20));
}

class LameDuckTest : public FailureTest {
 protected:
  LameDuckTest() : FailureTest(impatient()) {}
  static NatsOptions impatient() {
    NatsOptions options;
    options.extra = "lame_duck_grace_period: 500ms, lame_duck_duration: 30s";
    return options;
  }
};

TEST_F(LameDuckTest, TheServerIsLeftAndFoundAgain) {
  start();
  rig.broker->credit(kClass, 100);
  publish(0, 10);
  EXPECT_TRUE(all_done(10));
  rig.server.lame_duck();
  EXPECT_TRUE(not_ready_because(""));
  ASSERT_TRUE(rig.server.restart());
  publish(10, 20);
  EXPECT_TRUE(all_done(20));
}

TEST_F(FailureTest, WithoutJetStreamTheReasonSaysSo) {
  NatsOptions options;
  options.jetstream = false;
  Rig plain(options);
  plain.start_broker();
  EXPECT_TRUE(eventually([&] { return contains(plain.lane().reason, "JetStream"); }))
      << plain.lane().reason;
  EXPECT_TRUE(plain.broker->connected());
  EXPECT_FALSE(plain.lane().ready);
}

TEST_F(FailureTest, AServerThatDoesNotExistIsWaitedFor) {
  auto options = rig.broker_options();
  options.connection.servers = {"nats://secret:password@127.0.0.1:1"};
  rig.start_broker(options);
  EXPECT_TRUE(not_ready_because("cannot connect")) << rig.lane().reason;
  EXPECT_FALSE(contains(rig.lane().reason, "password")) << rig.lane().reason;
  EXPECT_TRUE(contains(rig.lane().reason, "127.0.0.1:1"));
  EXPECT_FALSE(rig.lane().fatal);
}

TEST_F(FailureTest, TlsNeverFallsBackToClearText) {
  auto options = rig.broker_options();
  options.connection.servers = {"tls://" + rig.server.address()};
  rig.start_broker(options);
  EXPECT_TRUE(not_ready_because("cannot connect")) << rig.lane().reason;
  EXPECT_FALSE(rig.broker->connected());
  EXPECT_EQ(rig.broker->counters().connects, 0U);
}

// Two refusals in a row close a cnats connection for good (nats.c issue 244).
TEST_F(FailureTest, AConnectionThatWasRefusedTwiceIsBuiltAnew) {
  const TempDir dir;
  const auto set_password = [&](const std::string& password) {
    dir.write("auth.conf", "authorization { user: u, password: " + password + " }\n");
  };
  set_password("first");
  NatsOptions options;
  // Relative to the server's configuration, which has a directory beside this one.
  options.extra = "include '../" + dir.path().filename().string() + "/auth.conf'";
  auto server = NatsServer::start(options);
  ASSERT_TRUE(server) << server.error().text;
  auto broker_options = rig.broker_options();
  broker_options.connection.servers = {"nats://u:first@" + server->address()};
  rig.start_broker(broker_options);
  ASSERT_TRUE(eventually([&] { return rig.broker->connected(); })) << rig.lane().reason;
  server->stop();
  set_password("second");
  ASSERT_TRUE(server->restart());
  ASSERT_TRUE(not_ready_because("cannot connect")) << rig.lane().reason;
  server->stop();
  set_password("first");
  ASSERT_TRUE(server->restart());
  EXPECT_TRUE(eventually([&] { return rig.broker->connected(); }, seconds(20)));
  EXPECT_GE(rig.broker->counters().connects, 2U);
}

// A server with an administrator and a user `s` that may do what `permissions` say.
NatsOptions with_permissions(const std::string& publish, const std::string& subscribe) {
  NatsOptions options;
  options.extra =
      "authorization { users: [ {user: admin, password: a}, {user: s, password: s, "
      "permissions: { publish: " +
      publish + ", subscribe: " + subscribe +
      " } } ] }\n"
      "no_auth_user: admin\n";
  return options;
}

NatsBrokerOptions as_limited_user(const Rig& rig) {
  auto options = rig.broker_options();
  options.connection.servers = {"nats://s:s@" + rig.server.address()};
  return options;
}

constexpr const char* kApi = R"("$JS.API.CONSUMER.MSG.NEXT.NOTIFY.sendonce_otp",)"
                             R"("$JS.API.CONSUMER.INFO.NOTIFY.sendonce_otp",)"
                             R"("$JS.API.STREAM.INFO.NOTIFY")";

TEST(BrokerPermissions, ThoseThatAreDocumentedAreEnough) {
  Rig rig(with_permissions(
      std::string("[") + kApi + R"(,"$JS.ACK.NOTIFY.sendonce_otp.>","sendonce.>"])",
      R"("_INBOX.sendonce.test.>")"));
  rig.make_stream();
  rig.make_consumer();
  rig.make_stream("OUT", "sendonce.outcome.>");
  rig.publish("notify.otp.x", "m");
  rig.start_broker(as_limited_user(rig));
  ASSERT_TRUE(rig.ready()) << rig.lane().reason;
  rig.broker->credit(kClass, 1);
  ASSERT_TRUE(eventually([&] { return rig.take(1); }));
  ASSERT_TRUE(rig.broker->ack(rig.taken[0]));
  EXPECT_TRUE(eventually([&] { return rig.stored() == 0; }));
  rig.broker->publish(Ticket(1), {.subject = "sendonce.outcome.a", .body = "b"});
  const auto confirmed = rig.confirmation(Ticket(1));
  ASSERT_TRUE(confirmed.has_value());
  EXPECT_TRUE(*confirmed);
  // Not one refusal in all that time.
  EXPECT_TRUE(rig.lane().ready);
}

TEST(BrokerPermissions, WithoutTheRightToAckItIsNotReadyAndTheSubjectIsNamed) {
  Rig rig(with_permissions(std::string("[") + kApi + "]", R"("_INBOX.sendonce.test.>")"));
  rig.make_stream();
  rig.make_consumer();
  rig.start_broker(as_limited_user(rig));
  const auto denied = [&] {
    const LaneState lane = rig.lane();
    return !lane.ready && contains(lane.reason, "$JS.ACK.NOTIFY.sendonce_otp");
  };
  ASSERT_TRUE(eventually(denied)) << rig.lane().reason;
  // And stays so over several checks.
  const MonoTime until = rig.clock->mono() + seconds(2);
  bool stays = true;
  ASSERT_TRUE(eventually([&] {
    stays = stays && denied();
    return rig.clock->mono() >= until;
  }));
  EXPECT_TRUE(stays) << rig.lane().reason;
}

TEST(BrokerPermissions, WithoutAnInboxItIsNotReady) {
  Rig rig(with_permissions("\">\"", "\"other.>\""));
  rig.make_stream();
  rig.make_consumer();
  rig.start_broker(as_limited_user(rig));
  EXPECT_TRUE(eventually([&] {
    return !rig.lane().ready && contains(rig.lane().reason, "_INBOX.sendonce.test");
  })) << rig.lane().reason;
}

TEST(BrokerPermissions, AForbiddenEventSubjectIsSaid) {
  Rig rig(with_permissions(std::string("[") + kApi + R"(,"$JS.ACK.NOTIFY.sendonce_otp.>"])",
                           R"("_INBOX.sendonce.test.>")"));
  rig.make_stream();
  rig.make_consumer();
  rig.start_broker(as_limited_user(rig));
  ASSERT_TRUE(rig.ready());
  rig.broker->publish(Ticket(1), {.subject = "sendonce.outcome.a", .body = "b"});
  const auto confirmed = rig.confirmation(Ticket(1));
  ASSERT_TRUE(confirmed.has_value());
  ASSERT_FALSE(*confirmed);
  EXPECT_EQ(confirmed->error().code, Errc::unavailable);
  EXPECT_TRUE(contains(confirmed->error().text, "sendonce.outcome.a"));
  EXPECT_TRUE(contains(rig.lane().reason, "sendonce.outcome.a")) << rig.lane().reason;
}

class Refusals final : public ConnectionSink {
 public:
  void on_message(RawMessage) override {}
  void on_event(ConnectionEvent event, std::string text) override {
    const std::lock_guard lock(mutex_);
    if (event == ConnectionEvent::denied) texts_.push_back(std::move(text));
  }
  std::vector<std::string> texts() {
    const std::lock_guard lock(mutex_);
    return texts_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

// What the connection remembers is of the latest: many may have come before the first is told.
TEST(BrokerPermissions, EachRefusalNamesItsOwnSubject) {
  const Rig rig(with_permissions("\"allowed\"", R"("_INBOX.sendonce.test.>")"));
  Refusals refusals;
  auto options = as_limited_user(rig).connection;
  options.inbox_prefix = make_inbox_prefix("test");
  Connection::prepare();
  auto opened = Connection::open(options, refusals);
  ASSERT_TRUE(opened) << opened.error().text;
  constexpr std::size_t kMany = 50;
  for (std::size_t i = 0; i < kMany; ++i)
    ASSERT_TRUE((*opened)->publish("not.allowed." + std::to_string(i) + ".x", "", "m"));
  ASSERT_TRUE(eventually([&] { return refusals.texts().size() == kMany; }));
  const auto texts = refusals.texts();
  for (std::size_t i = 0; i < kMany; ++i)
    EXPECT_TRUE(contains(texts[i], "not.allowed." + std::to_string(i) + ".x")) << texts[i];
}

// Whoever asks the service protocol must harm nobody, and who does not grant it loses nothing else.
TEST(BrokerPermissions, TheServiceProtocolIsOptional) {
  Rig rig(with_permissions(std::string("[") + kApi + R"(,"$JS.ACK.NOTIFY.sendonce_otp.>"])",
                           R"("_INBOX.sendonce.test.>")"));
  rig.make_stream();
  rig.make_consumer();
  auto options = as_limited_user(rig);
  options.service = ServiceDescription{.name = "edge", .id = "L1", .version = "0.1.0"};
  rig.start_broker(std::move(options));
  ASSERT_TRUE(rig.ready()) << rig.lane().reason;
  EXPECT_FALSE(rig.asks("$SRV.PING")) << "nobody listens";
  EXPECT_TRUE(rig.lane().ready) << rig.lane().reason;
}

TEST(BrokerPermissions, AnAnswerThatIsNotPermittedStopsNoClass) {
  Rig rig(with_permissions(std::string("[") + kApi + R"(,"$JS.ACK.NOTIFY.sendonce_otp.>"])",
                           R"(["_INBOX.sendonce.test.>","$SRV.>"])"));
  rig.make_stream();
  rig.make_consumer();
  auto options = as_limited_user(rig);
  options.service = ServiceDescription{.name = "edge", .id = "L1", .version = "0.1.0"};
  rig.start_broker(std::move(options));
  ASSERT_TRUE(rig.ready()) << rig.lane().reason;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(rig.asks("$SRV.PING")) << "no answer may come";
  EXPECT_TRUE(rig.lane().ready) << rig.lane().reason;
}

// An ack, or an event of ours, in our name.
TEST(BrokerService, SpeaksOnlyIntoInboxes) {
  Rig rig;
  rig.make_stream();
  rig.make_consumer();
  rig.make_stream("OUT", "sendonce.>");
  auto options = rig.broker_options();
  options.service = ServiceDescription{.name = "edge", .id = "L1", .version = "0.1.0"};
  rig.start_broker(std::move(options));
  ASSERT_TRUE(rig.ready()) << rig.lane().reason;
  rig.tell("$SRV.PING", "sendonce.outcome.otp.accepted");
  rig.tell("$SRV.PING", "$JS.ACK.NOTIFY.sendonce_otp.1.1.1.1.0");
  EXPECT_TRUE(rig.asks("$SRV.PING.edge.L1")) << "after both";
  EXPECT_EQ(rig.stored("OUT"), 0U);
}

std::size_t threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST(BrokerThreads, NoneBeforeTheStartAndAllHaveTheirSignalsBlocked) {
  Rig rig;
  rig.make_stream();
  rig.make_consumer();
  std::set<std::string> before;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
    before.insert(task.path().string());
  NatsBroker broker(rig.broker_options(), *rig.clock, *rig.log, [] {});
  EXPECT_EQ(threads(), before.size());
  broker.start();
  ASSERT_TRUE(eventually([&] { return broker.lane(kClass).ready; }));
  std::size_t ours = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (before.contains(task.path().string())) continue;
    ++ours;
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("SigBlk:")) {
        // SIGTERM (15), SIGINT (2), SIGHUP (1), SIGUSR1 (10)
        const unsigned long long mask = std::stoull(line.substr(7), nullptr, 16);
        EXPECT_EQ(mask & 0x4203U, 0x4203U) << line;
      }
  }
  EXPECT_GE(ours, 2U);
  broker.stop();
  EXPECT_TRUE(eventually([&] { return threads() <= before.size(); }));
}

}  // namespace
}  // namespace sendonce::test
