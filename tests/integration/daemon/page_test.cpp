// `sendonce page` between a client and a real daemon.
#include <charconv>
#include <csignal>

#include <sysexits.h>

#include "tests/integration/daemon/rig.hpp"
#include "tests/support/http_exchange.hpp"

namespace sendonce::test {
namespace {

using ::testing::Not;

constexpr const char* kRefuses =
    "[[rule]]\nprovider = \"apns\"\nstatus = 413\nreason = \"PayloadTooLarge\"\n";

class PageTest : public DaemonTest {
 protected:
  void open_page() {
    auto process = Process::start({.program = cli::beside_us("sendonce"),
                                   .args = {"--json", "--config", world_->config_path(), "page"},
                                   .output = dir_ / "address",
                                   .errors = dir_ / "errors"});
    ASSERT_TRUE(process.has_value());
    page_.emplace(std::move(*process));
    ASSERT_TRUE(within(seconds(30), [&] { return said().ends_with('\n'); }));
    const std::string url = Json::parse(said()).value("url", "");
    ASSERT_THAT(url, ::testing::StartsWith("http://127.0.0.1:"));
    const std::size_t slash = url.find('/', 7);
    host_ = url.substr(7, slash - 7);
    entry_ = url.substr(slash);
    std::from_chars(host_.data() + 10, host_.data() + host_.size(), port_);
  }
  void enter() {
    const std::string answer = raw("GET", entry_);
    const std::string_view name = "Set-Cookie: ";
    const std::size_t at = answer.find(name);
    ASSERT_NE(at, std::string::npos) << answer;
    const std::size_t begin = at + name.size();
    cookie_ = answer.substr(begin, answer.find(';', begin) - begin);
    const std::string_view place = "Location: /#proof=";
    const std::size_t proof = answer.find(place) + place.size();
    proof_ = answer.substr(proof, answer.find('\r', proof) - proof);
  }
  // As the page asks; `more`: header fields instead of its own.
  [[nodiscard]] std::string raw(const std::string& method, const std::string& target,
                                const std::string& more = "") const {
    const UniqueFd fd = connect_loopback(port_);
    std::string text = method + " " + target + " HTTP/1.1\r\nHost: " + host_ + "\r\n";
    if (!cookie_.empty()) text += "Cookie: " + cookie_ + "\r\n";
    text += more.empty() ? "Origin: http://" + host_ + "\r\nSendonce-Request: " + proof_ + "\r\n"
                         : more;
    if (method == "POST") text += "Content-Length: 0\r\n";
    send_all(fd.get(), text + "\r\n");
    return read_to_end(fd.get());
  }
  [[nodiscard]] static int status_of(const std::string& answer) {
    return answer.size() < 12 ? 0 : std::stoi(answer.substr(9, 3));
  }
  [[nodiscard]] Json ask(const std::string& method, const std::string& target) const {
    const std::string answer = raw(method, target);
    return Json::parse(answer.substr(answer.find("\r\n\r\n") + 4), nullptr, false);
  }
  [[nodiscard]] std::string said() const { return read_file(dir_ / "address"); }
  [[nodiscard]] Json row(int event) const {
    const Json found = ask("GET", "/v1/inspect?event=e" + std::to_string(event));
    return found["items"].empty() ? Json::object() : found["items"][0];
  }

  TempDir dir_{};
  std::optional<Process> page_{};
  std::string host_{};
  std::string entry_{};
  std::string cookie_{};
  std::string proof_{};
  std::uint16_t port_ = 0;
};

TEST_F(PageTest, WhatTheDaemonSaysArrives) {
  make();
  start();
  publish(1, 4);
  ASSERT_TRUE(settled());
  open_page();
  EXPECT_EQ(status_of(raw("GET", "/v1/status")), 401) << "before the token is exchanged";
  enter();
  EXPECT_EQ(status_of(raw("GET", entry_)), 303) << "to the page, without the token";
  EXPECT_EQ(ask("GET", "/v1/status").value("state", ""), "ready");
  EXPECT_EQ(row(2).value("state", ""), "accepted");
  EXPECT_THAT(raw("GET", "/metrics"), HasSubstr("sendonce_outcomes_total"));
  EXPECT_THAT(raw("GET", "/"), HasSubstr("<script type=\"module\" src=\"/app.js\">"));
  const std::string bad = raw("GET", "/v1/rows?colour=red");
  EXPECT_EQ(status_of(bad), 400);
  EXPECT_THAT(bad, HasSubstr("colour"));
  cookie_.clear();
  EXPECT_EQ(status_of(raw("GET", entry_)), 403) << "the token is used";
  page_->signal(SIGINT);
  const auto exit = page_->wait(seconds(30));
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, EX_OK) << "Ctrl-C is its ordinary end";
}

TEST_F(PageTest, AStrangerChangesNothing) {
  make();
  start();
  open_page();
  enter();
  const std::string target = "/v1/pause?name=marketing&reason=x";
  const std::string request = "Sendonce-Request: " + proof_ + "\r\n";
  const std::string own = "Origin: http://" + host_ + "\r\n";
  for (const std::string& fields :
       {"Origin: http://evil.example\r\n" + request, request, "Origin: null\r\n" + request,
        own + "Sendonce-Request: 1\r\n",
        std::string("Content-Type: application/x-www-form-urlencoded\r\n")})
    EXPECT_EQ(status_of(raw("POST", target, fields)), 403) << fields;
  EXPECT_EQ(status_of(raw("GET", "/v1/status", own)), 403) << "a cookie alone";
  const std::string whose = host_;
  host_ = "evil.example:" + std::to_string(port_);
  EXPECT_EQ(status_of(raw("POST", target)), 421);
  host_ = whose;
  EXPECT_EQ(status_of(raw("OPTIONS", target)), 405);
  EXPECT_EQ(status()["classes"][1].value("paused", "-"), "");
  EXPECT_EQ(status_of(raw("POST", target)), 200) << "the page itself may";
  EXPECT_TRUE(logs("admin.paused"));
}

TEST_F(PageTest, ALetterIsReplayedOnce) {
  make();
  start();
  script(kRefuses);
  publish(1, 2);
  ASSERT_TRUE(settled());
  script("");
  open_page();
  enter();
  ASSERT_TRUE(within(seconds(30), [&] { return ask("GET", "/letters").value("depth", 0) == 1; }));
  const Json letters = ask("GET", "/letters?limit=10");
  ASSERT_EQ(letters["items"].size(), 1U);
  EXPECT_EQ(letters["items"][0]["row_state"], "failed");
  EXPECT_EQ(letters["more"], false);
  EXPECT_THAT(letters.dump(), Not(HasSubstr(token(1)))) << "no payload";
  const Json done = ask("POST", "/letters/replay?sequence=1");
  EXPECT_EQ(done.value("done", false), true) << done.dump();
  ASSERT_TRUE(within(seconds(60), [&] { return row(1).value("state", "") == "accepted"; }));
  ASSERT_TRUE(settled());
  EXPECT_EQ(seen(1).accepted, 1U);
  const Json again = ask("POST", "/letters/replay?sequence=1");
  EXPECT_EQ(again.value("done", true), false);
  EXPECT_THAT(again.value("text", ""), HasSubstr("it was sent"));
  EXPECT_EQ(status_of(raw("POST", "/letters/replay?sequence=1&force=true")), 400) << "no reason";
  EXPECT_EQ(status_of(raw("POST", "/letters/replay?sequence=99")), 400);
  EXPECT_EQ(seen(1).received, 2U);
}

TEST_F(PageTest, ADecisionHasTheNameOfTheUserWhoRunsIt) {
  make();
  start();
  script("[[rule]]\nprovider = \"apns\"\nclose = \"fin\"\nprocessed = true\n");
  publish(1, 2);
  ASSERT_TRUE(settled());
  open_page();
  enter();
  const Json unknown = row(1);
  ASSERT_EQ(unknown.value("state", ""), "unknown") << unknown.dump();
  const std::string target = "/v1/delivery/resolve?key=" + unknown.value("key", "");
  EXPECT_EQ(status_of(raw("POST", target + "&as=accepted")), 400) << "why?";
  const Json done = ask("POST", target + "&as=accepted&reason=seen&by=mallory");
  EXPECT_EQ(done.value("done", false), true) << done.dump();
  EXPECT_EQ(row(1).value("state", ""), "accepted");
  EXPECT_TRUE(logs(": seen"));
  EXPECT_THAT(log(), Not(HasSubstr("mallory")));
}

TEST_F(PageTest, ADaemonThatIsAwayIsSaidAndWaitedFor) {
  make();
  open_page();
  EXPECT_THAT(read_file(dir_ / "errors"), HasSubstr("is sendonced running?"));
  enter();
  const std::string away = raw("GET", "/v1/status");
  EXPECT_EQ(status_of(away), 502);
  EXPECT_THAT(away, HasSubstr("application/problem+json"));
  start();
  EXPECT_EQ(status_of(raw("GET", "/v1/status")), 200);
  world_->kill_daemon();
  EXPECT_EQ(status_of(raw("GET", "/v1/status")), 502);
  EXPECT_EQ(status_of(raw("GET", "/")), 200) << "the page itself is still there";
}

}  // namespace
}  // namespace sendonce::test
