#include "plugin/core/log.hpp"

#include <functional>
#include <string>

#include <gtest/gtest.h>

namespace sendonce {
namespace {

using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

std::string written(Level least, LogFormat format, bool journald,
                    const std::function<void(Log&)>& act) {
  CaptureStderr();
  const auto log = make_stderr_log(least, format, journald);
  act(*log);
  return GetCapturedStderr();
}

std::string without_time(const std::string& line) {
  const std::size_t level = line.find("level");
  return level == std::string::npos ? line : line.substr(level);
}

TEST(StderrLog, WritesOneLogfmtLineAnEvent) {
  const std::string out = written(Level::info, LogFormat::logfmt, false, [](Log& log) {
    log.info("claim.busy", {{"key", "0a1b2c3d"}, {"attempt", 2}});
  });
  EXPECT_EQ(out.rfind("time=20", 0), 0U);
  EXPECT_EQ(without_time(out), "level=info event=claim.busy key=0a1b2c3d attempt=2\n");
}

TEST(StderrLog, QuotesWhatWouldBreakALine) {
  const std::string out = written(Level::info, LogFormat::logfmt, true, [](Log& log) {
    log.warn("x", {{"a", "two words"}, {"b", ""}, {"c", "line\nbreak"}, {"d", "k=v"}});
  });
  EXPECT_EQ(out, "<4>level=warn event=x a=\"two words\" b=\"\" c=\"line\\nbreak\" d=\"k=v\"\n");
}

TEST(StderrLog, NeverTakesAValueForAFormat) {
  const std::string out = written(Level::info, LogFormat::logfmt, true,
                                  [](Log& log) { log.info("x", {{"a", "{}%s{0}"}}); });
  EXPECT_EQ(out, "<6>level=info event=x a={}%s{0}\n");
}

TEST(StderrLog, WritesJson) {
  const std::string out = written(Level::debug, LogFormat::json, false,
                                  [](Log& log) { log.error("x", {{"a", "say \"hi\""}}); });
  EXPECT_EQ(out.rfind("{\"time\":\"20", 0), 0U);
  EXPECT_NE(out.find("\"level\":\"error\",\"event\":\"x\",\"a\":\"say \\\"hi\\\"\"}\n"),
            std::string::npos);
}

TEST(StderrLog, LeavesOutWhatIsBelowItsLevel) {
  const std::string out = written(Level::warn, LogFormat::logfmt, true, [](Log& log) {
    log.debug("a");
    log.info("b");
    log.warn("c");
  });
  EXPECT_EQ(out, "<4>level=warn event=c\n");
}

TEST(StderrLog, JournaldPrioritiesAreThoseOfSyslog) {
  const std::string out = written(Level::debug, LogFormat::logfmt, true, [](Log& log) {
    log.debug("a");
    log.info("b");
    log.warn("c");
    log.error("d");
  });
  EXPECT_EQ(out,
            "<7>level=debug event=a\n<6>level=info event=b\n"
            "<4>level=warn event=c\n<3>level=error event=d\n");
}

TEST(NullLog, IsNeverEnabled) {
  EXPECT_FALSE(make_null_log()->enabled(Level::error));
}

}  // namespace
}  // namespace sendonce
