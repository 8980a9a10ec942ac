// `sendonce doctor` with the faults that operators meet, each staged for real: it finds the one
// that is there, prints what repairs it, changes nothing and asks no provider for anything.
#include <filesystem>
#include <fstream>

#include <sys/stat.h>
#include <sysexits.h>

#include "tests/integration/daemon/rig.hpp"

namespace sendonce::test {
namespace {

using ::testing::Not;

class DoctorTest : public DaemonTest {
 protected:
  // The lines of --json.
  [[nodiscard]] std::pair<int, Json> examined(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"doctor", "--json"});
    const Ran ran = sendonce(std::move(more));
    Json json = Json::parse(ran.text, nullptr, false);
    EXPECT_TRUE(json.is_object()) << ran.text;
    return {ran.code, std::move(json)};
  }
  [[nodiscard]] static Json line(const Json& report, std::string_view check,
                                 std::string_view object = "") {
    for (const Json& c : report.value("checks", Json::array()))
      if (c["check"] == check && (object.empty() || c["object"] == object)) return c;
    return Json::object();
  }
  static void expect_red(const Json& report, std::string_view check, const char* says,
                         const char* repair) {
    const Json found = line(report, check);
    EXPECT_EQ(found.value("health", ""), "red") << report.dump(1);
    EXPECT_THAT(found.value("text", ""), HasSubstr(says));
    EXPECT_THAT(found["repair"].dump(), HasSubstr(repair));
  }
  // The store of the test's server is a temporary directory; all else must be well. Yellow depends
  // on the machine: its clock, its disk.
  static void expect_well(const Json& report) {
    for (const Json& c : report["checks"]) {
      if (c["check"] == "store") continue;
      EXPECT_NE(c["health"], "red") << c.dump();
    }
  }
  void change_consumer(const Json& config) {
    const Json answer = api("CONSUMER.DURABLE.CREATE.NOTIFY.sendonce_marketing",
                            Json{{"stream_name", "NOTIFY"}, {"config", config}}.dump());
    EXPECT_FALSE(answer.contains("error")) << answer.dump();
  }
  // As a person would: what is printed, in a shell.
  [[nodiscard]] static int run_in_shell(const std::string& command) {
    return std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe,cert-env33-c)
  }
};

TEST_F(DoctorTest, AHealthySystemIsGreenAndLeftAlone) {
  make();
  start();
  publish(0, 3);
  ASSERT_TRUE(settled());
  const std::uint64_t before = received();
  const std::string stream = api("STREAM.INFO.NOTIFY")["config"].dump();
  const std::string consumer = api("CONSUMER.INFO.NOTIFY.sendonce_marketing")["config"].dump();
  const Json report = examined().second;
  expect_well(report);
  for (const char* check : {"config", "credential", "ledger", "ledger.map", "ledger.disk", "daemon",
                            "class", "nats", "jetstream", "stream", "consumer", "provider"})
    EXPECT_FALSE(line(report, check).empty()) << check;
  EXPECT_EQ(received(), before) << "a provider was asked for something";
  EXPECT_EQ(api("STREAM.INFO.NOTIFY")["config"].dump(), stream);
  EXPECT_EQ(api("CONSUMER.INFO.NOTIFY.sendonce_marketing")["config"].dump(), consumer);
  EXPECT_EQ(stop(), EX_OK);
}

TEST_F(DoctorTest, WithoutADaemonTheLedgerItselfIsRead) {
  make();
  start();
  publish(0, 5);
  ASSERT_TRUE(settled());
  ASSERT_EQ(stop(), EX_OK);
  const Json report = examined().second;
  expect_red(report, "daemon", "is not running", "systemctl enable --now sendonced");
  EXPECT_THAT(line(report, "ledger.rows").value("text", ""), HasSubstr("5 of 5 rows"));
  EXPECT_EQ(line(report, "consumer").value("health", ""), "green");
}

TEST_F(DoctorTest, ADamagedRowIsFound) {
  make();
  start();
  publish(0, 5);
  ASSERT_TRUE(settled());
  ASSERT_EQ(stop(), EX_OK);
  const std::string data = ledger_directory(world_->config().instance) + "/data.mdb";
  std::string bytes = read_file(data);
  std::size_t flipped = 0;  // in every copy of a row's class
  for (std::size_t at = 0; (at = bytes.find("marketing", at)) != std::string::npos; ++at, ++flipped)
    bytes[at + 2] = 'R';
  ASSERT_GT(flipped, 0U);
  std::ofstream(data, std::ios::binary) << bytes;
  const Json report = examined().second;
  EXPECT_EQ(line(report, "ledger.rows").value("health", "") == "red" ||
                line(report, "ledger").value("health", "") == "red",
            true)
      << report.dump(1);
}

// ---- the five staged faults -------------------------------------------------------------------

TEST_F(DoctorTest, JetStreamIsSwitchedOff) {
  make();
  world_->server().configure("jetstream: disabled\n");
  ASSERT_TRUE(world_->server().restart().has_value());
  const auto [code, report] = examined();
  expect_red(report, "jetstream", "switched off", "jetstream { store_dir: \\\"/var/lib/nats\\\" }");
  EXPECT_EQ(code, EX_UNAVAILABLE);
  EXPECT_TRUE(line(report, "consumer").empty()) << "nobody can know";
}

// The printed line, in the file that doctor named, repairs it.
TEST_F(DoctorTest, TheRepairOfJetStreamWorksAsPrinted) {
  make();
  world_->server().configure("jetstream: disabled\n");
  ASSERT_TRUE(world_->server().restart().has_value());
  std::string command = line(examined().second, "jetstream")["repair"][0].get<std::string>();
  const std::string file = command.substr(command.rfind(">> ") + 3);
  ASSERT_TRUE(std::filesystem::exists(file)) << command;
  const std::string lasting = world_->path("lasting");
  command.replace(command.find("/var/lib/nats"), std::string("/var/lib/nats").size(), lasting);
  ASSERT_EQ(run_in_shell(command), 0);
  // What a restart of the service would do, with the file as it is now.
  const std::string after = read_file(file).substr(read_file(file).rfind("jetstream {"));
  world_->server().configure("jetstream: disabled\n" + after);
  restart_server();
  EXPECT_EQ(line(examined().second, "jetstream").value("health", ""), "green");
  EXPECT_TRUE(std::filesystem::exists(lasting + "/jetstream"));
}

TEST_F(DoctorTest, AKeyThatIsNone) {
  make();
  std::ofstream(provider_.credentials() + "/apns.p8") << "junk\n";
  const auto [code, report] = examined();
  EXPECT_EQ(code, EX_CONFIG);
  expect_red(report, "credential", "auth.key", "install -m 0600");
}

TEST_F(DoctorTest, AKeyThatTheProviderRefuses) {
  make();
  start();
  script("[[rule]]\nprovider = \"apns\"\nstatus = 403\nreason = \"InvalidProviderToken\"\n");
  publish(0, 1);
  ASSERT_TRUE(logs("provider.held"));
  const Json report = examined().second;
  expect_red(report, "hold", "InvalidProviderToken", "install -m 0600");
  EXPECT_THAT(line(report, "hold")["repair"].dump(), HasSubstr("reload"));
}

TEST_F(DoctorTest, AKeyThatOthersMayRead) {
  make();
  std::filesystem::permissions(provider_.credentials() + "/apns.p8",
                               std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  const auto [code, report] = examined();
  EXPECT_EQ(code, EX_NOPERM);
  expect_red(report, "credential", "open to group or others", "install -m 0600");
}

TEST_F(DoctorTest, AMapThatIsFull) {
  make({.map_size = "16MiB"});
  start();
  int published = 0;
  ASSERT_TRUE(within(seconds(300), [&] {
    if (stored() < 10) {
      std::string targets;
      for (int i = 0; i < 500; ++i) targets += (i == 0 ? "" : ",") + target(published + i);
      publish_body("marketing", R"({"event_id":"w)" + std::to_string(published) +
                                    R"(","recipient":"u","channel":"push","template":"t",)" +
                                    R"("targets":[)" + targets +
                                    R"(],"notification":{"title":"T"}})");
      published += 500;
    }
    // With events told, nothing makes room any more.
    const Json s = status();
    return s.value("/ledger/claims_stopped"_json_pointer, false) &&
           s.value("/ledger/outbox_entries"_json_pointer, 1) == 0 &&
           s.value("/ledger/open_rows"_json_pointer, 1) == 0;
  }));
  const auto [code, report] = examined();
  expect_red(report, "ledger.map", "of 16MiB used", "64MiB");
  EXPECT_EQ(code, EX_IOERR);
  ASSERT_EQ(stop(), EX_OK);
  // Offline as well (claims stop at 85 % and begin again at 80), and what is printed repairs it.
  const Json offline = examined().second;
  EXPECT_NE(line(offline, "ledger.map").value("health", ""), "green") << offline.dump(1);
  ASSERT_EQ(run_in_shell(line(offline, "ledger.map")["repair"][0].get<std::string>()), 0);
  const Json after = examined().second;
  EXPECT_EQ(line(after, "ledger.map").value("health", ""), "green") << after.dump(1);
  start();
  ASSERT_TRUE(settled());
  EXPECT_EQ(stop(), EX_OK);
}

TEST_F(DoctorTest, AConsumerWithOtherSettings) {
  make();
  start();
  Json config = api("CONSUMER.INFO.NOTIFY.sendonce_marketing")["config"];
  config["max_deliver"] = 5;
  change_consumer(config);
  const auto [code, report] = examined();
  const Json found = line(report, "consumer", "NOTIFY/sendonce_marketing");
  EXPECT_EQ(found["health"], "red") << report.dump(1);
  EXPECT_THAT(found["text"].get<std::string>(), HasSubstr("max_deliver is 5, wanted is -1"));
  EXPECT_EQ(line(report, "consumer", "NOTIFY/sendonce_otp")["health"], "green");
  EXPECT_NE(code, EX_OK);
  // The printed command repairs it.
  const std::string command = found["repair"][0].get<std::string>();
  EXPECT_THAT(command, HasSubstr("setup"));
  ASSERT_EQ(sendonce({"setup"}).code, EX_OK);
  EXPECT_EQ(line(examined().second, "consumer", "NOTIFY/sendonce_marketing")["health"], "green");
}

TEST_F(DoctorTest, AConsumerThatDiffersHarmlesslyIsYellow) {
  make();
  start();
  Json config = api("CONSUMER.INFO.NOTIFY.sendonce_marketing")["config"];
  config["ack_wait"] = 60'000'000'000;
  change_consumer(config);
  const Json report = examined().second;
  EXPECT_EQ(line(report, "consumer", "NOTIFY/sendonce_marketing")["health"], "yellow");
}

TEST_F(DoctorTest, AConsumerOfAnotherLedger) {
  make();
  Json config = api("CONSUMER.INFO.NOTIFY.sendonce_marketing")["config"];
  config["description"] = "sendonce ledger=somebody-elses";
  change_consumer(config);
  const Json found = line(examined().second, "consumer", "NOTIFY/sendonce_marketing");
  EXPECT_EQ(found["health"], "red");
  EXPECT_THAT(found["repair"].dump(), HasSubstr("setup --adopt marketing"));
}

TEST_F(DoctorTest, AStoreThatARestartLoses) {
  make();
  const Json report = examined().second;
  const Json found = line(report, "store");
  const std::string place = std::filesystem::temp_directory_path().string();
  if (place != "/tmp") GTEST_SKIP() << "temporary files are in " << place;
  EXPECT_EQ(found["health"], "red") << report.dump(1);
  EXPECT_THAT(found["text"].get<std::string>(), HasSubstr("/tmp/"));
  EXPECT_THAT(found["repair"].dump(), HasSubstr("/var/lib/nats"));
}

TEST_F(DoctorTest, AStoreElsewhereIsGreenByFileAndByMonitoring) {
  make();
  const std::filesystem::path here = std::filesystem::current_path();
  if (here.string().starts_with("/tmp")) GTEST_SKIP() << "the tests run below /tmp";
  const TempDir lasting(here);
  const std::string store = "jetstream { store_dir: \"" + lasting.path().string() + "\" }\n";
  world_->server().configure(store);
  restart_server();
  EXPECT_EQ(line(examined().second, "store")["health"], "green");
  world_->server().configure(
      store + "http: \"127.0.0.1:" + std::to_string(world_->server().port() + 1) + "\"\n");
  restart_server();
  EXPECT_EQ(line(examined().second, "store")["health"], "green");
}

// ---- and others -------------------------------------------------------------------------------

TEST_F(DoctorTest, NoServerNoProvider) {
  make();
  world_->server().stop();
  stop_provider();
  const Json report = examined().second;
  expect_red(report, "nats", "cannot connect", "systemctl enable --now nats-server");
  expect_red(report, "provider", "cannot be reached", "getent hosts localhost");
  EXPECT_TRUE(line(examined({"--no-providers"}).second, "provider").empty());
}

TEST_F(DoctorTest, NothingIsMadeYet) {
  make({.setup = false});
  const Json report = examined().second;
  expect_red(report, "ledger", "there is no ledger yet", "setup");
  EXPECT_EQ(line(report, "stream", "NOTIFY")["text"], "is missing");
  EXPECT_FALSE(std::filesystem::exists(ledger_directory(world_->config().instance)));
  ASSERT_EQ(sendonce({"setup"}).code, EX_OK);
  start();
  expect_well(examined().second);
}

TEST_F(DoctorTest, NoSecretIsPrinted) {
  make();
  const Ran ran = sendonce({"doctor"});
  EXPECT_THAT(ran.text, Not(HasSubstr("PRIVATE KEY")));
  const std::string key = read_file(provider_.credentials() + "/apns.p8");
  EXPECT_THAT(ran.text, Not(HasSubstr(key.substr(30, 40))));
  EXPECT_THAT(ran.text, HasSubstr("green"));
  EXPECT_THAT(ran.text, HasSubstr("repair: "));
}

}  // namespace
}  // namespace sendonce::test
