// What an operator's tools see of the daemon: metrics, health, the admin API, `nats micro`, traces.
// And what none of them may ever see.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include <sysexits.h>

#include "plugin/module/admin/admin_client.hpp"
#include "plugin/module/http/tcp_listener.hpp"
#include "tests/integration/daemon/rig.hpp"
#include "tests/support/http_exchange.hpp"

namespace sendonce::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Not;

class OperateTest : public DaemonTest {
 protected:
  void listen() {
    {
      const auto socket = listen_tcp("127.0.0.1", 0);
      ASSERT_TRUE(socket) << socket.error().text;
      sockaddr_in address{};
      socklen_t size = sizeof address;
      ::getsockname(socket->get(), reinterpret_cast<sockaddr*>(&address), &size);
      port_ = ntohs(address.sin_port);
    }
    replace_in_config(
        "[ledger]", "[metrics]\nlisten = \"127.0.0.1:" + std::to_string(port_) + "\"\n\n[ledger]");
  }
  [[nodiscard]] HttpSeen page(std::string_view path, std::string_view method = "GET") const {
    return get(connect_loopback(port_).get(), path, method);
  }
  [[nodiscard]] bool shows(std::string_view path, std::string_view text) const {
    return within(seconds(60), [&] { return page(path).body.find(text) != std::string::npos; });
  }
  std::uint16_t port_ = 0;
};

TEST_F(OperateTest, MetricsAndHealthAreServedAndNothingElse) {
  make();
  listen();
  start();
  script("[[rule]]\nprovider = \"apns\"\ndelay = \"300ms\"\n");
  publish(0, 5);
  ASSERT_TRUE(settled());
  EXPECT_TRUE(
      shows("/metrics", "sendonce_outcomes_total{class=\"marketing\",outcome=\"accepted\"} 5"));
  EXPECT_TRUE(shows("/metrics", "sendonce_accepted_after_seconds_count{class=\"marketing\"} 5"));
  EXPECT_TRUE(
      shows("/metrics", "sendonce_provider_call_duration_seconds_count{provider=\"apns\"} 5"));
  EXPECT_THAT(page("/metrics").body,
              HasSubstr("call_duration_seconds_bucket{provider=\"apns\",le=\"0.25\"} 0"))
      << "none was faster than the provider";
  EXPECT_TRUE(shows("/metrics", "sendonce_ready 1"));
  EXPECT_THAT(page("/metrics").head,
              HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8"));
  EXPECT_THAT(page("/metrics").body,
              Not(HasSubstr("sendonce_ledger_commit_duration_seconds_count 0")));
  EXPECT_EQ(page("/livez").body, "{\"ok\":true,\"reasons\":[]}\n");
  EXPECT_EQ(page("/readyz").body, "{\"ok\":true,\"reasons\":[]}\n");
  for (const char* other : {"/", "/v1/status", "/v1/rows", "/metrics/", "/readyz/x"})
    EXPECT_EQ(page(other).status, 404) << other;
  EXPECT_EQ(page("/v1/reload", "POST").status, 404);
  EXPECT_EQ(page("/metrics", "POST").status, 405);
  EXPECT_EQ(stop(), EX_OK);
  EXPECT_FALSE(connect_loopback(port_)) << "the port is closed with the daemon";
}

TEST_F(OperateTest, EachReasonIsNamedWhileItLasts) {
  make({.provider_options = "breaker = { open_after = 2, probe = \"1s\" }\n"});
  listen();
  start();
  script("[[rule]]\nprovider = \"apns\"\nstatus = 403\nreason = \"InvalidProviderToken\"\n");
  publish(0, 1);
  EXPECT_TRUE(shows("/readyz", R"({"name":"provider.apns","text":"held (auth): )"));
  EXPECT_EQ(page("/readyz").status, 200) << "messages are still taken";
  EXPECT_TRUE(shows("/metrics", "sendonce_provider_holds{provider=\"apns\",fault=\"auth\"} 1"));
  world_->server().kill();
  EXPECT_TRUE(shows("/readyz", R"({"name":"nats","text":"not connected"})"));
  EXPECT_EQ(page("/readyz").status, 503);
  EXPECT_EQ(page("/livez").status, 200) << "a restart would help nobody";
  EXPECT_TRUE(shows("/metrics", "sendonce_nats_connected 0"));
  script("");
  restart_server();
  EXPECT_TRUE(within(seconds(60), [&] { return page("/readyz").status == 200; }));
  EXPECT_TRUE(shows("/readyz", "{\"ok\":true,\"reasons\":[]}"));
}

TEST_F(OperateTest, ATakenPortIsNamedAndStopsTheStart) {
  make();
  listen();
  const auto taken = listen_tcp("127.0.0.1", port_);
  ASSERT_TRUE(taken) << taken.error().text;
  start_without_wait();
  EXPECT_EQ(exit_code(), EX_TEMPFAIL);
  EXPECT_THAT(
      log(), HasSubstr("metrics.listen: cannot listen on 127.0.0.1 port " + std::to_string(port_)));
}

TEST_F(OperateTest, TheAdminApiIsAsItsDocumentSays) {
  make();
  start();
  publish(0, 3);
  ASSERT_TRUE(settled());
  const std::string said = world_->path("judge");
  // Debian's: the one that has python3-jsonschema.
  auto judge = Process::start({.program = "/usr/bin/python3",
                               .args = {"-B", SENDONCE_ADMIN_API, world_->config().instance.socket,
                                        SENDONCE_SOURCE_DIR "/config/schema/admin-api.json", "e1"},
                               .output = said});
  ASSERT_TRUE(judge.has_value()) << judge.error().text;
  const auto exit = judge->wait(seconds(60));
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->code, 0) << read_file(said);
  EXPECT_THAT(log(), HasSubstr("admin.reloaded"));
}

TEST_F(OperateTest, AnswersWhatNatsMicroAsks) {
  make();
  start();
  publish(0, 4);
  ASSERT_TRUE(settled());
  auto client = world_->connect();
  ASSERT_TRUE(client.has_value()) << client.error().text;
  const auto ask = [&](const std::string& subject) {
    const auto answer = (*client)->request(subject, "");
    return answer ? Json::parse(*answer, nullptr, false) : Json(answer.error().text);
  };
  const Json ping = ask("$SRV.PING");
  ASSERT_TRUE(ping.is_object()) << ping.dump();
  EXPECT_EQ(ping["type"], "io.nats.micro.v1.ping_response") << ping.dump();
  EXPECT_EQ(ping["name"], "demo");
  const std::string id = ping["id"];
  EXPECT_EQ(id, status().value("/ledger/id"_json_pointer, ""));
  const Json info = ask("$SRV.INFO.demo");
  ASSERT_TRUE(info.is_object()) << info.dump();
  EXPECT_EQ(info["type"], "io.nats.micro.v1.info_response");
  EXPECT_EQ(info["endpoints"][1]["name"], "marketing");
  EXPECT_EQ(info["endpoints"][1]["subject"], "notify.campaign.>");
  EXPECT_TRUE(within(seconds(60), [&] {
    const Json stats = ask("$SRV.STATS.demo." + id);
    return stats.is_object() && stats["type"] == "io.nats.micro.v1.stats_response" &&
           stats["endpoints"][1]["num_requests"] == 4 &&
           stats["endpoints"][1]["data"]["accepted"] == 4 &&
           stats["endpoints"][1]["average_processing_time"] > 0;
  }));
  EXPECT_TRUE(ask("$SRV.PING.other").is_string()) << "nobody answers for somebody else";
}

TEST_F(OperateTest, ATraceGoesFromTheMessageToEventsAndLog) {
  constexpr const char* kTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  make();
  start();
  auto client = world_->connect();
  ASSERT_TRUE(client.has_value()) << client.error().text;
  ASSERT_TRUE((*client)->subscribe("sendonce.outcome.>").has_value());
  const auto publish_traced = [&](const std::string& body, const std::string& trace) {
    auto publisher = world_->connect();
    ASSERT_TRUE(publisher.has_value());
    ASSERT_TRUE(
        (*publisher)
            ->publish(
                {.subject = "notify.campaign.x", .headers = {{"traceparent", trace}}, .body = body})
            .has_value());
  };
  const auto envelope = [](int n) {
    return R"({"event_id":"e)" + std::to_string(n) +
           R"(","recipient":"u","channel":"push","template":"t","targets":[)" + target(n) +
           R"(],"notification":{"title":"T"}})";
  };
  publish_traced(envelope(1), kTrace);
  publish_traced(envelope(2), "00-no-trace-00");
  publish_traced("{", kTrace);
  ASSERT_TRUE(settled());
  std::map<std::string, Json> events;
  EXPECT_TRUE(within(seconds(60), [&] {
    const auto messages = (*client)->next(std::chrono::milliseconds(100));
    if (!messages) return false;
    for (const RawMessage& m : *messages)
      for (const Json& event : Json::parse(m.body))
        events[event["data"]["event_id"].get<std::string>()] = event;
    return events.size() == 2;
  }));
  EXPECT_EQ(events["e1"].value("traceparent", ""), kTrace);
  EXPECT_FALSE(events["e2"].contains("traceparent")) << "it was none";
  EXPECT_TRUE(logs("trace_id=0af7651916cd43dd8448eb211c80319c"));
}

// ---- secrets ----------------------------------------------------------------------------------

constexpr const char* kClasses = R"(
[class.otp]
subject   = "notify.otp.>"
@TIMES@
ambiguous = { default = "give-up" }
route     = { push = ["apns", "fcm"], sms = ["gate"] }

[class.marketing]
subject   = "notify.campaign.>"
@TIMES@
ambiguous = { default = "give-up" }

[provider.gate]
kind     = "http"
channel  = "sms"
endpoint = "https://localhost:@PORT@"
path     = "/hook/{phone_digits}"
version  = "1.1"
json     = { to = "{phone}", text = "{body}" }
auth     = { type = "basic", user = "u", secret = "file:@CREDENTIALS@/apns.p8" }
receipt  = { pointer = "/id" }
call     = { connect = "2s", total = "3s" }
tls      = { ca = "@CREDENTIALS@/ca.pem" }
)";

// A run with everything in it: sent, refused, failed, undecodable, held, reloaded.
class SecretsTest : public OperateTest {
 protected:
  static std::string apns_token(char c) { return std::string(31, c) + "7f" + std::string(31, c); }
  void publish_all() {
    const auto push = [&](const std::string& event, const std::string& where) {
      publish_body("otp", R"({"event_id":")" + event + R"(","recipient":"person-)" + kPerson +
                              R"(","channel":"push","template":"t","targets":[)" + where +
                              R"(],"notification":{"title":"T","body":")" + kText + R"("}})");
    };
    push("a", R"({"provider":"apns","token":")" + apns_token('a') + R"("})");
    push("b", R"({"provider":"apns","token":")" + apns_token('b') + R"("})");
    push("f", R"({"provider":"fcm","token":")" + std::string(kFcmToken) + R"("})");
    push("bad", R"({"provider":"apns","token":"zz)" + apns_token('c') + R"("})");
    publish_body("otp", R"({"event_id":"s","recipient":"person-)" + std::string(kPerson) +
                            R"(","channel":"sms","template":"t","targets":[{"kind":"sms",)"
                            R"("phone":"+)" +
                            kPhone + R"("}],"notification":{"body":")" + kText + R"("}})");
    publish_body("otp", std::string(R"({"event_id":"x","secret":")") + kText + "\"}");
  }
  // Every line of a key file that is long enough to be a part of the key.
  void add_file(const fs::path& file) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);)
      if (line.size() >= 40 && !line.starts_with("---")) secrets_.push_back(line);
    const std::string text = read_file(file);
    static const std::regex kPem("[A-Za-z0-9+/]{40,}");
    for (std::sregex_iterator at(text.begin(), text.end(), kPem), end; at != end; ++at)
      secrets_.push_back(at->str());
  }
  void expect_clean(const std::string& where, const std::string& text) const {
    EXPECT_FALSE(text.empty()) << where << " shows nothing at all";
    for (const std::string& secret : secrets_)
      EXPECT_EQ(text.find(secret), std::string::npos) << where << " shows " << secret;
    // Headers of signed tokens, tokens of the fake token endpoint, credentials in a header.
    for (const char* minted : {"eyJhbGciOi", "eyJ0eXAiOi", "ya29.", "earer ", "Basic dT"})
      EXPECT_EQ(text.find(minted), std::string::npos) << where << " shows " << minted;
  }

  // What `sendonce tail attempts` and `tail log` print, as far as it has come.
  void follow() {
    for (auto& [verb, feed] : feeds_) {
      auto asking = AdminClient::connect(world_->config().instance.socket, seconds(10));
      ASSERT_TRUE(asking.has_value()) << asking.error().text;
      AdminRequest request{.verb = verb};
      if (!feed.next.empty()) request.arguments.emplace_back("after", feed.next);
      const auto end = asking->call(request, [&](std::string_view line) { feed.text += line; });
      ASSERT_TRUE(end.has_value()) << end.error().text;
      feed.next = Json::parse(*end)["next"].dump();
    }
  }
  struct Feed {
    std::string next{};
    std::string text{};
  };
  std::map<std::string, Feed> feeds_{{"tail_attempts", {}}, {"tail_log", {}}};

  static constexpr const char* kText = "only-for-one-pair-of-eyes";
  static constexpr const char* kPerson = "q8z7x6w5v4";
  static constexpr const char* kPhone = "15555550199";
  static constexpr const char* kFcmToken =
      "fcmTokenThatNobodyMaySee:APA91bHun4MxP5egoKMwt2KZFBaFUH";
  std::vector<std::string> secrets_{kText,           kPerson,         kPhone,         kFcmToken,
                                    apns_token('a'), apns_token('b'), apns_token('c')};
};

TEST_F(SecretsTest, NothingThatIsToldHasOne) {
  make({.classes = kClasses, .log_level = "debug"});
  add_file(provider_.credentials() + "/apns.p8");
  add_file(provider_.credentials() + "/service-account.json");
  ASSERT_GT(secrets_.size(), 9U);
  listen();
  auto client = world_->connect();
  ASSERT_TRUE(client.has_value()) << client.error().text;
  for (const char* subject : {"sendonce.outcome.>"})
    ASSERT_TRUE((*client)->subscribe(subject).has_value());
  start();
  script(
      "[[rule]]\nprovider = \"apns\"\nnth = [1]\nstatus = 410\nreason = \"Unregistered\"\n"
      "[[rule]]\nprovider = \"http\"\nnth = [1]\nstatus = 401\nreason = \"no\"\n");
  follow();
  publish_all();
  publish_all();
  follow();
  reload("daemon.reloaded");
  ASSERT_TRUE(within(seconds(90), [&] {
    follow();
    const auto left = world_->unsettled(**client);
    return left && *left == 0;
  }));
  follow();
  ASSERT_TRUE(shows("/metrics", "sendonce_outbox_entries 0"));
  std::string events;
  ASSERT_TRUE(within(seconds(60), [&] {
    const auto messages = (*client)->next(std::chrono::milliseconds(200));
    if (!messages) return false;
    for (const RawMessage& m : *messages) events += m.subject + m.body;
    return messages->empty() && !events.empty();
  }));
  expect_clean("events", events);
  for (const char* path : {"/metrics", "/livez", "/readyz"}) expect_clean(path, page(path).body);
  for (const std::vector<std::string>& verb : {std::vector<std::string>{"status", "--json"},
                                               {"list", "--json"},
                                               {"inspect", "b"},
                                               {"audit"},
                                               {"top", "--once", "--interval", "100ms"}})
    expect_clean(verb[0], sendonce(verb).text);
  for (const auto& [verb, feed] : feeds_) expect_clean(verb, feed.text);
  const auto stats = (*client)->request("$SRV.STATS", "");
  ASSERT_TRUE(stats.has_value());
  expect_clean("$SRV.STATS", *stats);
  EXPECT_EQ(stop(), EX_OK);
  expect_clean("log", read_file(world_->daemon_log()));
  for (const auto& file : fs::recursive_directory_iterator(world_->state_dir()))
    if (file.is_regular_file() && file.path().filename() == "data.mdb")
      expect_clean("ledger", read_file(file.path()));
}

}  // namespace
}  // namespace sendonce::test
