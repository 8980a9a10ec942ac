// The doctor's lines, their stable form, and what they end with.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "plugin/cli/doctor/report.hpp"

namespace sendonce::cli {
namespace {

Report mixed() {
  Report r;
  r.green("nats", "", "nats://127.0.0.1:4222");
  r.yellow("clock", "", "not synchronised", {"timedatectl set-ntp true"});
  r.red("store", "", "/tmp/nats/jetstream", {"first", "second"}, 78);
  r.red("daemon", "", "is not running", {"start"}, 69);
  return r;
}

TEST(DoctorReport, the_first_red_line_is_the_exit_code) {
  EXPECT_EQ(mixed().exit_code(false), 78);
  Report green;
  green.green("nats", "", "there");
  EXPECT_EQ(green.exit_code(true), 0);
  green.yellow("clock", "", "x", {});
  EXPECT_EQ(green.exit_code(false), 0);
  EXPECT_EQ(green.exit_code(true), 2);
}

TEST(DoctorReport, text) {
  EXPECT_EQ(mixed().text(false),
            "green   nats    nats://127.0.0.1:4222\n"
            "yellow  clock   not synchronised\n"
            "        repair: timedatectl set-ntp true\n"
            "red     store   /tmp/nats/jetstream\n"
            "        repair: first\n"
            "                second\n"
            "red     daemon  is not running\n"
            "        repair: start\n"
            "\n1 green, 1 yellow, 2 red\n");
  EXPECT_NE(mixed().text(true).find("\033[31mred"), std::string::npos);
}

TEST(DoctorReport, json) {
  const auto json = nlohmann::json::parse(mixed().json());
  EXPECT_FALSE(json["healthy"]);
  EXPECT_EQ(json["red"], 2);
  ASSERT_EQ(json["checks"].size(), 4U);
  EXPECT_EQ(json["checks"][2], (nlohmann::json{{"check", "store"},
                                               {"object", ""},
                                               {"health", "red"},
                                               {"text", "/tmp/nats/jetstream"},
                                               {"repair", {"first", "second"}}}));
}

}  // namespace
}  // namespace sendonce::cli
