#include "tests/integration/daemon/rig.hpp"

#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>

#include "ledger/lmdb/open.hpp"
#include "tests/support/eventually.hpp"

namespace sendonce::test {
namespace {

// Of a class: @TIMES@.
constexpr const char* kTimes = R"(expires   = "10m"
claim     = "10s"
ack_wait  = "12s"
retention = "2d"
retry     = { first = "50ms", factor = 2.0, cap = "500ms", attempts = 12, horizon = "5m" })";

constexpr const char* kClasses = R"(
[class.otp]
subject   = "notify.otp.>"
@TIMES@
ambiguous = { default = "resend" }

[class.marketing]
subject   = "notify.campaign.>"
@TIMES@
ambiguous = { default = "give-up" }
)";

const char* subject_of(std::string_view message_class) {
  return message_class == "otp" ? "notify.otp.x" : "notify.campaign.x";
}

void replace_all(std::string& text, std::string_view what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
}

}  // namespace

DaemonTest::~DaemonTest() {
  if (HasFailure() && world_ != nullptr)
    std::fprintf(stderr, "the daemon's last words:\n%s\n", world_->log_tail().c_str());
}

void DaemonTest::make(cli::WorldOptions options) {
  start_provider();
  if (options.classes.empty()) options.classes = kClasses;
  replace_all(options.classes, "@TIMES@", kTimes);
  replace_all(options.classes, "@PORT@", std::to_string(provider_.port()));
  replace_all(options.classes, "@CREDENTIALS@", provider_.credentials());
  options.provider_port = provider_.port();
  options.credentials = provider_.credentials();
  auto world = cli::World::make(options);
  ASSERT_TRUE(world.has_value()) << world.error().text;
  world_ = std::move(*world);
  connect();
}

void DaemonTest::start_without_wait() {
  mark();
  const auto started = world_->start_daemon();
  ASSERT_TRUE(started.has_value()) << started.error().text;
}

void DaemonTest::start() {
  start_without_wait();
  ASSERT_TRUE(within(seconds(60), [this] { return status().value("state", "") == "ready"; }));
}

std::optional<int> DaemonTest::exit_code() {
  const auto exit = world_->daemon().wait(seconds(60));
  if (!exit || exit->signal != 0) return std::nullopt;
  return exit->code;
}

int DaemonTest::stop() {
  const auto exit = world_->daemon().terminate(seconds(60));
  return exit && exit->signal == 0 ? exit->code : -1;
}

// ---- publishing -------------------------------------------------------------------------------

std::string DaemonTest::token(int event) {
  std::array<char, 65> hex{};
  std::snprintf(hex.data(), hex.size(), "%064x", static_cast<unsigned>(event));
  return hex.data();
}

std::string DaemonTest::target(int event) {
  return R"({"provider":"apns","token":")" + token(event) + R"(","ref":"d)" +
         std::to_string(event) + R"("})";
}

void DaemonTest::publish(int from, int to, std::string_view message_class) {
  for (int i = from; i < to; ++i) {
    const std::string n = std::to_string(i);
    publish_body(message_class, R"({"event_id":"e)" + n + R"(","recipient":"u)" + n +
                                    R"(","channel":"push","template":"t","targets":[)" + target(i) +
                                    R"(],"notification":{"title":"T","body":"B"}})");
  }
}

void DaemonTest::publish_body(std::string_view message_class, const std::string& body) {
  const auto done = client_->publish({.subject = subject_of(message_class), .body = body});
  ASSERT_TRUE(done.has_value()) << done.error().text;
}

// The client does not survive its server.
void DaemonTest::connect() {
  const bool up = within(seconds(60), [this] {
    auto made = world_->connect();
    if (!made) return false;
    client_ = std::move(*made);
    return client_->request("$JS.API.INFO", "").has_value();
  });
  ASSERT_TRUE(up);
}

// ---- looking ----------------------------------------------------------------------------------

Json DaemonTest::status() const {
  const auto text = world_->status();
  return text ? Json::parse(*text, nullptr, false) : Json::object();
}

std::uint64_t DaemonTest::counter(const char* name, std::string_view message_class) const {
  const Json all = status();
  for (const Json& c : all.value("classes", Json::array()))
    if (c.value("name", "") == message_class) return c.value(name, std::uint64_t{0});
  return 0;
}

Json DaemonTest::api(const std::string& what, const std::string& body) {
  const auto answer = client_->request("$JS.API." + what, body);
  return answer ? Json::parse(*answer, nullptr, false) : Json::object();
}

std::uint64_t DaemonTest::stored() {
  return api("STREAM.INFO.NOTIFY").value("/state/messages"_json_pointer, std::uint64_t{1'000'000});
}

std::string DaemonTest::log() const {
  return read_file(world_->daemon_log()).substr(marked_);
}

void DaemonTest::mark() {
  marked_ = read_file(world_->daemon_log()).size();
}

bool DaemonTest::logs(std::string_view text, seconds limit) const {
  return within(limit, [&] { return log().find(text) != std::string::npos; });
}

std::map<int, State> DaemonTest::rows() const {
  std::map<int, State> out;
  const auto reader = LedgerReader::open(ledger_directory(world_->config().instance));
  EXPECT_TRUE(reader.has_value()) << reader.error().text;
  if (!reader) return out;
  const auto scanned = (*reader)->scan({}, [&](std::string_view, const Row& row) {
    int event = -1;
    std::from_chars(row.ref.data() + 1, row.ref.data() + row.ref.size(), event);
    out[event] = row.state;
    return true;
  });
  EXPECT_TRUE(scanned.has_value());
  return out;
}

bool DaemonTest::within(seconds limit, const std::function<bool()>& so) {
  return eventually(so, limit, std::chrono::milliseconds(20));
}

// By the consumers: a killed nats-server 2.9 leaves acked messages on a work queue for good, which
// no consumer delivers again (measured: 44 of 450 after three kills).
bool DaemonTest::settled(seconds limit) {
  return within(limit, [this] {
    const auto left = world_->unsettled(*client_);
    return left && *left == 0;
  });
}

void DaemonTest::expect_no_early_ack(std::uint64_t published) {
  const std::uint64_t acked = published - stored();  // first, so that it cannot run ahead
  std::uint64_t ended = 0;
  for (const char* name : {"accepted", "failed", "unknown", "suppressed", "conflicts",
                           "duplicates_suppressed", "found_ended"})
    ended += counter(name, "marketing") + counter(name, "otp");
  EXPECT_LE(acked, ended);
}

void DaemonTest::expect_each_once(int from, int to) const {
  for (int i = from; i < to; ++i) {
    const Copies copies = seen(i);
    EXPECT_EQ(copies.received, 1U) << "event " << i;
    EXPECT_EQ(copies.accepted, 1U) << "event " << i;
  }
}

// ---- doing ------------------------------------------------------------------------------------

void DaemonTest::script(const std::string& toml) {
  const auto played = provider_.script(toml);
  ASSERT_TRUE(played.has_value()) << played.error().text;
}

void DaemonTest::start_provider() {
  const auto started = provider_.start();
  ASSERT_TRUE(started.has_value()) << started.error().text;
}

void DaemonTest::replace_in_config(std::string_view text, std::string_view with) {
  std::string config = read_file(world_->config_path());
  const std::size_t at = config.find(text);
  ASSERT_NE(at, std::string::npos) << text;
  world_->write_config(config.replace(at, text.size(), with));
}

void DaemonTest::reload(std::string_view event) {
  mark();
  world_->daemon().signal(SIGHUP);
  ASSERT_TRUE(logs(event)) << event;
}

Ran DaemonTest::sendonce(std::vector<std::string> args) const {
  const TempDir dir;
  args.insert(args.begin(), {"--config", world_->config_path()});
  auto process = Process::start(
      {.program = cli::beside_us("sendonce"), .args = std::move(args), .output = dir / "out"});
  if (!process) return {};
  const auto exit = process->wait(seconds(60));
  return {exit && exit->signal == 0 ? exit->code : -1, read_file(dir / "out")};
}

void DaemonTest::restart_server() {
  const auto up = world_->server().restart();
  ASSERT_TRUE(up.has_value()) << up.error().text;
  connect();
}

}  // namespace sendonce::test
