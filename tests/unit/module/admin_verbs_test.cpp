// What the admin socket reads from a ledger: for a bounded time, and it says so.
#include "plugin/module/admin_verbs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "ledger/lmdb/open.hpp"
#include "tests/contract/ledger_rig.hpp"

namespace sendonce::test {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

// A second passes whenever somebody looks.
class SlowWorld final : public Clock {
 public:
  [[nodiscard]] WallTime wall() const override { return kNoon; }
  [[nodiscard]] MonoTime mono() const override { return MonoTime(std::chrono::seconds(++looked_)); }

 private:
  mutable int looked_ = 0;
};

class AdminVerbsTest : public testing::Test {
 protected:
  Json listed(const Clock& clock, const std::string& limit) {
    AdminReply reply(std::size_t{64} << 20U);
    const AdminRequest request{.verb = "list", .arguments = {{"limit", AdminValue(limit)}}};
    const auto done = list_rows(*ledger_, {}, clock, request, reply);
    EXPECT_TRUE(done.has_value());
    return Json::parse(std::move(reply).finish(done).body);
  }

  LedgerDir dir_{};
  std::unique_ptr<LmdbLedger> ledger_ = filled_ledger(dir_, 5000);
};

TEST_F(AdminVerbsTest, AListThatIsCutShortSaysSo) {
  const Json answer = listed(SlowWorld(), "10000");
  EXPECT_EQ(answer["rows"], 2000) << "two transactions of a thousand matches in 3 s";
  EXPECT_EQ(answer["more"], true);
  EXPECT_THAT(answer.value("ended_early", ""), HasSubstr("after 3 s"));
}

TEST_F(AdminVerbsTest, AListThatIsWholeDoesNot) {
  const auto clock = make_system_clock();
  const Json answer = listed(*clock, "10000");
  EXPECT_EQ(answer["rows"], 5000);
  EXPECT_EQ(answer["more"], false);
  EXPECT_FALSE(answer.contains("ended_early"));
  EXPECT_FALSE(listed(*clock, "5").contains("ended_early")) << "the limit is another matter";
}

}  // namespace
}  // namespace sendonce::test
