#include "config/reference.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

namespace sendonce::test {
namespace {

using testing::HasSubstr;

constexpr const char* kFile = SENDONCE_SOURCE_DIR "/docs/configuration.md";

TEST(Reference, TheCommittedOneIsCurrent) {
  const std::string reference = config_reference();
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  if (std::getenv("SENDONCE_UPDATE") != nullptr) std::ofstream(kFile) << reference;
  std::ostringstream committed;
  committed << std::ifstream(kFile).rdbuf();
  EXPECT_EQ(committed.str(), reference)
      << "SENDONCE_UPDATE=1 test_config --gtest_filter=Reference.* writes it anew";
}

TEST(Reference, PrintsTypesDefaultsAndReload) {
  const std::string reference = config_reference();
  EXPECT_THAT(reference, HasSubstr("| `drain` | duration, 1s to 10m | `\"20s\"` | now |"));
  EXPECT_THAT(
      reference,
      HasSubstr(
          "| `kind` | `apns`, `fcm`, `webpush`, `http`, `module` | **mandatory** | restart |"));
  EXPECT_THAT(reference, HasSubstr("| `retry.factor` | number, 1.0 to 10.0 | `2.0` | now |"));
  EXPECT_THAT(reference, HasSubstr("| `key_scope` | string | the class's name | restart |"));
}

}  // namespace
}  // namespace sendonce::test
