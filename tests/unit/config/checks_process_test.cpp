#include <gmock/gmock.h>

#include "config/checks.hpp"
#include "tests/unit/config/fixture.hpp"

namespace sendonce::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> with_nats(std::string_view lines) {
  return findings_of(with_more(good(), "[nats]\n" + std::string(lines)));
}

TEST(CheckPresence, SomethingToDo) {
  EXPECT_THAT(findings_of("config_version = 1\n"),
              ElementsAre("t.toml:1:1: error: class: there is no class of messages; add a "
                          "[class.NAME] with subject, expires, retention, ambiguous and route",
                          "t.toml:1:1: error: provider: there is no provider; add a "
                          "[provider.NAME]"));
}

TEST(CheckNames, SafeEverywhere) {
  EXPECT_THAT(findings_of(with_line(good(), 3, "name = \"edge 1\"")),
              ElementsAre("t.toml:3:8: error: instance.name: not a name that can be used; use 1 to "
                          "64 letters, digits, _ and -"));
  EXPECT_THAT(findings_of(with_line(good(), 8, "[class.\"o.tp\"]")),
              ElementsAre(HasSubstr("t.toml:8:1: error: class.o.tp: not a name")));
  EXPECT_THAT(findings_of(with_line(good(), 4, "[provider.\"a/b\"]")),
              Contains(HasSubstr("t.toml:4:1: error: provider.a/b: not a name")));
  EXPECT_THAT(findings_of(with_more(good(), "key_scope = \"a.b\"")),
              ElementsAre(HasSubstr("t.toml:14:13: error: class.otp.key_scope: not a name")));
  EXPECT_THAT(findings_of(with_more(good(), "stream = \"a>\"")),
              ElementsAre(HasSubstr("class.otp.stream: not a name")));
  EXPECT_THAT(with_nats("outcomes_stream = \"a b\"\ndead_letter_stream = \"a.b\""),
              ElementsAre(HasSubstr("nats.outcomes_stream"), HasSubstr("nats.dead_letter_stream")));
}

std::vector<std::string> with_devices(std::string_view lines) {
  return findings_of(with_more(good(), "[devices]\n" + std::string(lines)));
}

TEST(CheckReports, SubjectsOfTheirOwn) {
  EXPECT_THAT(with_devices(""), IsEmpty());
  EXPECT_THAT(with_devices("reports = \"device-reports.>\""), IsEmpty());
  EXPECT_THAT(with_devices("reports = \"device-reports.>\"\nstream = \"NOTIFY\""), IsEmpty());
  for (const char* bad : {"a..b", ">.a", "a b", "$JS.>"})
    EXPECT_THAT(with_devices("reports = \"" + std::string(bad) + "\""),
                ElementsAre(HasSubstr("t.toml:15:11: error: devices.reports: not a subject")))
        << bad;
  for (const char* own : {"sendonce.device.>", "sendonce.>", "*.device.x"})
    EXPECT_THAT(with_devices("reports = \"" + std::string(own) + "\""),
                ElementsAre(HasSubstr("takes in the events that this process publishes itself")))
        << own;
  EXPECT_THAT(with_devices("reports = \"notify.*.x\""),
              ElementsAre(HasSubstr("devices.reports: some subjects belong to class otp too")));
}

TEST(CheckReports, AStreamAndANameOfTheirOwn) {
  for (const char* own : {"SENDONCE_OUTCOMES", "SENDONCE_DLQ"})
    EXPECT_THAT(
        with_devices("reports = \"reports.>\"\nstream = \"" + std::string(own) + "\""),
        ElementsAre(HasSubstr("devices.stream: is a stream that this process publishes to")));
  EXPECT_THAT(with_devices("reports = \"reports.>\"\nstream = \"a.b\""),
              ElementsAre(HasSubstr("devices.stream: not a name")));
  const std::string named = with_line(good(), 8, "[class.devices]");
  EXPECT_THAT(findings_of(named), IsEmpty());
  EXPECT_THAT(findings_of(with_more(named, "[devices]\nreports = \"reports.>\"")),
              ElementsAre(HasSubstr("class.devices: beside devices.reports this name is taken")));
}

TEST(CheckPaths, Absolute) {
  EXPECT_THAT(
      findings_of(with_line(good(), 3, "state_dir = \"var\"\nsocket = \"run\"")),
      ElementsAre("t.toml:3:13: error: instance.state_dir: not an absolute path; start it "
                  "with /",
                  "t.toml:4:10: error: instance.socket: not an absolute path; start it with "
                  "/"));
  EXPECT_THAT(findings_of(with_line(good(), 3, "socket = \"/" + std::string(107, 's') + "\"")),
              ElementsAre(HasSubstr("longer than a Unix socket's name can be")));
  EXPECT_THAT(with_nats("tls.ca = \"ca.pem\""), ElementsAre(HasSubstr("nats.tls.ca: not an abs")));
}

TEST(CheckNats, ServersWithoutSecrets) {
  EXPECT_THAT(with_nats("servers = [\"nats://a:4222\", \"tls://b\"]"), IsEmpty());
  EXPECT_THAT(with_nats("servers = [\"a:4222\"]"),
              ElementsAre("t.toml:15:11: error: nats.servers: not the URL of a NATS server; write "
                          "nats://host:port or tls://host:port"));
  EXPECT_THAT(with_nats("servers = [\"http://a\"]"), ElementsAre(HasSubstr("not the URL")));
  const auto findings = with_nats("servers = [\"nats://user:hunter2@a\"]");
  EXPECT_THAT(findings, ElementsAre(HasSubstr("holds a user or password; name a .creds file")));
  EXPECT_THAT(findings, Not(Contains(HasSubstr("hunter2"))));
}

TEST(CheckNats, DomainOrPrefix) {
  EXPECT_THAT(with_nats("domain = \"hub\""), IsEmpty());
  EXPECT_THAT(with_nats("api_prefix = \"$JS.hub.API\""), IsEmpty());
  EXPECT_THAT(with_nats("domain = \"hub\"\napi_prefix = \"JS\""),
              ElementsAre("t.toml:16:14: error: nats.api_prefix: given together with domain; keep "
                          "one of the two"));
  EXPECT_THAT(with_nats("domain = \"a.b\""), ElementsAre(HasSubstr("nats.domain: not a name")));
  for (const char* bad : {"JS.", "JS.>", "JS.*.API"})
    EXPECT_THAT(with_nats("api_prefix = \"" + std::string(bad) + "\""),
                ElementsAre(HasSubstr("nats.api_prefix: not the beginning of a subject")))
        << bad;
}

TEST(CheckStreams, InAndOutDiffer) {
  EXPECT_THAT(
      with_nats("dead_letter_stream = \"SENDONCE_OUTCOMES\""),
      ElementsAre(HasSubstr("t.toml:15:22: error: nats.dead_letter_stream: is the stream of "
                            "outcomes too")));
  EXPECT_THAT(findings_of(with_more(good(), "stream = \"SENDONCE_DLQ\"")),
              ElementsAre(HasSubstr("class.otp.stream: is a stream that this process publishes to "
                                    "itself")));
}

TEST(CheckMetrics, OnLoopbackUnlessSaidOtherwise) {
  const auto with = [](const std::string& lines) {
    return findings_of(with_more(good(), "[metrics]\n" + lines));
  };
  for (const char* fine :
       {"", "listen = \"127.0.0.1:8227\"", "listen = \"[::1]:8227\"",
        "listen = \"0.0.0.0:8227\"\nremote = true", "listen = \"[::]:8227\"\nremote = true"})
    EXPECT_THAT(with(fine), IsEmpty()) << fine;
  for (const char* open :
       {"0.0.0.0:8227", "[::]:8227", "192.0.2.1:8227", "[2001:db8::1]:8227", "128.0.0.1:8227"})
    EXPECT_THAT(with("listen = \"" + std::string(open) + "\""),
                ElementsAre("t.toml:15:10: error: metrics.listen: can be reached from other "
                            "machines; write 127.0.0.1, or remote = true if everybody who reaches "
                            "it may read it"))
        << open;
  for (const char* bad : {"8227", "localhost:8227", "127.0.0.1", "127.0.0.1:0", "/run/x.sock"})
    EXPECT_THAT(with("listen = \"" + std::string(bad) + "\"\nremote = true"),
                ElementsAre("t.toml:15:10: error: metrics.listen: not an address with a port; "
                            "write 127.0.0.1:8227 or [::1]:8227"))
        << bad;
}

TEST(CheckMapSize, RoomForTheRowsExpected) {
  // 2 days at 100/s: 17 million rows, 5 GB.
  EXPECT_THAT(findings_of(with_more(good(), "rate = \"100/s\"")), IsEmpty());
  EXPECT_THAT(findings_of(with_more(good(), "rate = \"100/s\"\n[ledger]\nmap_size = \"4GiB\"")),
              ElementsAre("t.toml:16:12: warning: ledger.map_size: 4GiB is too small for the rows "
                          "that the classes' rates and retentions add up to; make it at least "
                          "\"6GiB\", or shorten a retention"));
}

}  // namespace
}  // namespace sendonce::test
