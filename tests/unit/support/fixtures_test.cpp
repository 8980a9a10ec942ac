#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/eventually.hpp"
#include "tests/support/nats_fixture.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_dir.hpp"

namespace sendonce::test {
namespace {

TEST(TempDir, goes_with_its_content) {
  std::filesystem::path path;
  {
    const TempDir dir;
    path = dir.path();
    dir.write("a", "content");
    EXPECT_EQ(read_file(dir / "a"), "content");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Process, output_and_exit_code_are_seen) {
  const TempDir dir;
  auto child = Process::start({.program = "sh",
                               .args = {"-c", "echo out $WORD; echo err >&2; exit 3"},
                               .environment = {"WORD=given"},
                               .output = dir / "out",
                               .errors = dir / "err"});
  ASSERT_TRUE(child) << child.error().text;
  const auto exit = child->wait();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 3);
  EXPECT_EQ(read_file(dir / "out"), "out given\n");
  EXPECT_EQ(read_file(dir / "err"), "err\n");
  EXPECT_FALSE(child->running());
}

TEST(Process, what_cannot_run_is_an_error) {
  const TempDir dir;
  EXPECT_FALSE(Process::start({.program = "no-such-program-at-all"}));
  EXPECT_FALSE(Process::start({.program = dir.write("plain", "no program").string()}));
}

TEST(Process, a_frozen_child_can_be_killed_and_dies_with_its_owner) {
  pid_t pid = -1;
  {
    auto child = Process::start({.program = "sleep", .args = {"1000"}});
    ASSERT_TRUE(child);
    pid = child->pid();
    child->freeze();
    EXPECT_FALSE(child->wait(std::chrono::milliseconds(1)));
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST(Process, terminate_reports_the_signal) {
  auto child = Process::start({.program = "sleep", .args = {"1000"}});
  ASSERT_TRUE(child);
  const auto exit = child->terminate();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->signal, SIGTERM);
}

TEST(Eventually, a_false_condition_ends_at_the_deadline) {
  int calls = 0;
  EXPECT_FALSE(eventually([&] { return ++calls < 0; }, std::chrono::milliseconds(5)));
  EXPECT_GT(calls, 1);
}

TEST(NatsServer, survives_kill_and_freeze_on_the_same_port) {
  auto server = NatsServer::start();
  ASSERT_TRUE(server) << server.error().text;
  const auto port = server->port();
  EXPECT_NE(port, 0);
  EXPECT_NE(server->log().find("JetStream"), std::string::npos);
  server->freeze();
  server->kill();
  EXPECT_FALSE(server->process().running());
  ASSERT_TRUE(server->restart());
  EXPECT_EQ(server->port(), port);
  server->stop();
  EXPECT_FALSE(server->process().running());
}

TEST(NatsServer, a_bad_configuration_is_reported) {
  const auto server = NatsServer::start({.extra = "no such thing {"});
  ASSERT_FALSE(server);
  EXPECT_NE(server.error().text.find("does not answer"), std::string::npos);
}

}  // namespace
}  // namespace sendonce::test
