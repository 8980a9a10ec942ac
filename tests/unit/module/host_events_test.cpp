// What reaches the host, and at which level.
#include "plugin/module/host_events.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sendonce::test {
namespace {

using testing::ElementsAre;

class HostEventsTest : public testing::Test {
 protected:
  HostEvents events_with(std::uint32_t flags) {
    sendonce_host host{};
    host.struct_size = sizeof host;
    host.flags = flags;
    host.ctx = this;
    host.log = [](void* self, const sendonce_log_event* event) {
      static_cast<HostEventsTest*>(self)->heard_.emplace_back(event->event.data, event->event.size);
    };
    return HostEvents(host, *clock_);
  }
  // What the host hears of one event of each level.
  std::vector<std::string> heard_of_each(std::uint32_t flags) {
    heard_.clear();
    HostEvents events = events_with(flags);
    events.debug("a.debug");
    events.info("an.info");
    events.warn("a.warning");
    events.error("an.error");
    events.pump(100);
    return heard_;
  }

  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::vector<std::string> heard_{};
};

TEST_F(HostEventsTest, TheHostChoosesTheLevel) {
  EXPECT_THAT(heard_of_each(0), ElementsAre("an.info", "a.warning", "an.error"));
  EXPECT_THAT(heard_of_each(SENDONCE_HOST_LOG_DEBUG),
              ElementsAre("a.debug", "an.info", "a.warning", "an.error"));
  EXPECT_THAT(heard_of_each(SENDONCE_HOST_LOG_WARN), ElementsAre("a.warning", "an.error"));
  EXPECT_THAT(heard_of_each(SENDONCE_HOST_LOG_ERROR), ElementsAre("an.error"));
  EXPECT_THAT(heard_of_each(SENDONCE_HOST_LOG_DEBUG | SENDONCE_HOST_ANY_THREAD),
              ElementsAre("a.debug", "an.info", "a.warning", "an.error"));
}

TEST_F(HostEventsTest, WithoutACallbackStderrHasTheSameLevels) {
  for (const auto& [flags, least] :
       {std::pair{0U, Level::info}, std::pair{SENDONCE_HOST_LOG_DEBUG, Level::debug},
        std::pair{SENDONCE_HOST_LOG_WARN, Level::warn},
        std::pair{SENDONCE_HOST_LOG_ERROR, Level::error}}) {
    sendonce_host host{};
    host.struct_size = sizeof host;
    host.flags = flags;
    HostEvents events(host, *clock_);
    testing::internal::CaptureStderr();
    for (const Level l : {Level::debug, Level::info, Level::warn, Level::error})
      events.write(l, name(l), {});
    const std::string said = testing::internal::GetCapturedStderr();
    for (const Level l : {Level::debug, Level::info, Level::warn, Level::error})
      EXPECT_EQ(said.find("event=" + std::string(name(l))) != std::string::npos, l >= least)
          << said;
  }
}

}  // namespace
}  // namespace sendonce::test
