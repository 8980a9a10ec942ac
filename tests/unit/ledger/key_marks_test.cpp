// A changed way of making keys is refused while it could send something again.
#include "ledger/key_marks.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ledger/lmdb/open.hpp"
#include "tests/contract/ledger_rig.hpp"

namespace sendonce::test {
namespace {

using std::chrono::hours;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kUsual = "1:event_id,recipient,channel,template";
const std::string kShort = "1:event_id,recipient";
const std::string kThird = "1:event_id,channel";
constexpr Duration kKeep = hours(48);

// One scope, one provider, and a ledger that is opened again and again.
class KeyMarksTest : public testing::Test {
 protected:
  KeyMarksTest() {
    const auto created = create_ledger(options({}));
    EXPECT_TRUE(created.has_value()) << (created ? "" : created.error().text);
  }

  LedgerOptions options(std::optional<KeyMarks> keys) const {
    LedgerOptions o;
    o.directory = dir_.path();
    o.scopes = scopes_;
    o.map_bytes = std::uint64_t{64} << 20U;
    o.reserve_bytes = std::uint64_t{1} << 20U;
    o.check_file_system = false;
    o.keys = std::move(keys);
    return o;
  }

  static KeyMarks marks(std::string recipe, std::string previous = {}, WallTime now = kNoon) {
    return {.now = now,
            .normal_forms = 1,
            .scopes = {{.scope = "orders",
                        .recipe = std::move(recipe),
                        .previous = std::move(previous),
                        .keep = kKeep}},
            .apps = {{.provider = "fcm", .app = "fcm:one"}}};
  }

  // Why it was refused; empty: it was opened. `stored`: claims a message stored then.
  std::string open(const std::optional<KeyMarks>& keys, std::optional<WallTime> stored = {}) {
    auto ledger = open_ledger(options(keys));
    if (!ledger) {
      EXPECT_EQ(ledger.error().code, Errc::invalid);
      return ledger.error().text;
    }
    if (!stored) return {};
    ClaimRequest claim = claim_of(++rows_);
    claim.stored_at = *stored;
    claim.deadline = *stored + hours(24);
    reply_ = reply_as<ClaimReply>(run(**ledger, Ticket(rows_), claim, *stored));
    return {};
  }

  LedgerDir dir_{};
  std::vector<std::string> scopes_{"orders"};
  std::uint64_t rows_ = 0;
  ClaimReply reply_{};
};

TEST_F(KeyMarksTest, AnotherRecipeIsRefusedAndBothAreNamed) {
  ASSERT_THAT(open(marks(kUsual), kNoon), IsEmpty());
  EXPECT_THAT(open(marks(kShort)),
              AllOf(HasSubstr("orders"), HasSubstr(kUsual), HasSubstr(kShort),
                    HasSubstr(R"(key_previous = ["event_id", "recipient", "channel", "template"])"),
                    HasSubstr("--accept-keys")));
  EXPECT_THAT(open(marks(kUsual)), IsEmpty());  // the refusal has changed nothing
}

TEST_F(KeyMarksTest, TheOldOneUnderKeyPreviousIsEnough) {
  ASSERT_THAT(open(marks(kUsual), kNoon), IsEmpty());
  EXPECT_THAT(open(marks(kShort, kUsual)), IsEmpty());
  EXPECT_THAT(open(marks(kShort, kUsual)), IsEmpty());
  EXPECT_THAT(open(marks(kUsual, kShort)), IsEmpty());  // and back
}

TEST_F(KeyMarksTest, KeyPreviousMustStayAsLongAsRowsMayBeNeeded) {
  ASSERT_THAT(open(marks(kUsual), kNoon), IsEmpty());
  ASSERT_THAT(open(marks(kShort, kUsual, kNoon + hours(1)), kNoon + hours(48)), IsEmpty());
  EXPECT_THAT(open(marks(kShort, {}, kNoon + hours(48))),
              AllOf(HasSubstr(kUsual), HasSubstr("2027-01-17"), HasSubstr("one change at a time")));
  EXPECT_THAT(open(marks(kThird, kShort, kNoon + hours(48))), HasSubstr(kUsual));
  EXPECT_THAT(open(marks(kShort, {}, kNoon + hours(49))), IsEmpty());
}

// Law 13: the newest message says that it is still Noon.
TEST_F(KeyMarksTest, OneWrongClockDoesNotEndKeyPrevious) {
  ASSERT_THAT(open(marks(kUsual), kNoon), IsEmpty());
  ASSERT_THAT(open(marks(kShort, kUsual)), IsEmpty());
  EXPECT_THAT(open(marks(kShort, {}, kNoon + hours(1000))), HasSubstr(kUsual));
}

TEST_F(KeyMarksTest, AnotherAppOfAProviderIsRefusedAndBothAreNamed) {
  ASSERT_THAT(open(marks(kUsual), kNoon), IsEmpty());
  KeyMarks other = marks(kUsual);
  other.apps[0].app = "fcm:two";
  EXPECT_THAT(open(other), AllOf(HasSubstr("provider fcm"), HasSubstr("fcm:one"),
                                 HasSubstr("fcm:two"), HasSubstr("--accept-keys")));
  other.apps[0] = {.provider = "fcm-two", .app = "fcm:two"};
  EXPECT_THAT(open(other), IsEmpty());  // without the old one, for now
  other.apps.push_back({.provider = "fcm", .app = "fcm:two"});
  EXPECT_THAT(open(other), HasSubstr("fcm:one"));
}

TEST_F(KeyMarksTest, OtherNormalFormsAreRefused) {
  ASSERT_THAT(open(marks(kUsual), kNoon), IsEmpty());
  KeyMarks other = marks(kUsual);
  other.normal_forms = 2;
  EXPECT_THAT(open(other), HasSubstr("normal forms"));
}

// Rows of a class that is not configured just now would not be found when it comes back.
TEST_F(KeyMarksTest, AClassThatIsAwayIsNotForgotten) {
  ASSERT_THAT(open(marks(kUsual), kNoon), IsEmpty());
  const auto without_orders = [](std::string app) {
    KeyMarks keys = marks(kUsual);
    keys.scopes[0].scope = "news";
    keys.apps[0].app = std::move(app);
    return keys;
  };
  scopes_ = {"news"};
  EXPECT_THAT(open(without_orders("fcm:two")), HasSubstr("fcm:one"));
  KeyMarks forms = without_orders("fcm:one");
  forms.normal_forms = 2;
  EXPECT_THAT(open(forms), HasSubstr("normal forms"));

  KeyMarks accepted = without_orders("fcm:two");
  accepted.now = kNoon + hours(1);
  ASSERT_TRUE(accept_keys(options({}), accepted, false).has_value());
  EXPECT_THAT(open(accepted), IsEmpty());
  scopes_ = {"orders", "news"};
  KeyMarks both = accepted;
  both.scopes.push_back(marks(kUsual).scopes[0]);
  ASSERT_THAT(open(both, kNoon + hours(1) - Duration(1)), IsEmpty());
  EXPECT_EQ(std::get<Claimed>(reply_).carried, Effect::maybe_sent);
}

TEST_F(KeyMarksTest, ALedgerThatRemembersNothingTakesAnything) {
  ASSERT_THAT(open(marks(kUsual)), IsEmpty());
  KeyMarks other = marks(kShort);
  other.apps[0].app = "fcm:two";
  EXPECT_THAT(open(other), IsEmpty());
}

TEST_F(KeyMarksTest, AnOlderLedgerAdoptsWhatItFinds) {
  ASSERT_THAT(open(std::nullopt, kNoon), IsEmpty());
  ASSERT_THAT(open(marks(kShort, kUsual)), IsEmpty());
  EXPECT_THAT(open(marks(kShort)), HasSubstr(kUsual));  // it may well be as old as today
  EXPECT_THAT(open(marks(kThird)), HasSubstr(kShort));
}

TEST_F(KeyMarksTest, AcceptedOnPurposeOlderMessagesMayHaveBeenSent) {
  ASSERT_THAT(open(marks(kUsual), kNoon), IsEmpty());
  const KeyMarks other = marks(kShort, {}, kNoon + hours(1));
  const auto shown = accept_keys(options({}), other, true);
  ASSERT_TRUE(shown.has_value()) << shown.error().text;
  EXPECT_THAT(*shown, SizeIs(1));
  EXPECT_THAT(open(other), HasSubstr(kUsual));  // only shown
  const auto accepted = accept_keys(options({}), other, false);
  ASSERT_TRUE(accepted.has_value()) << accepted.error().text;
  EXPECT_EQ(*accepted, *shown);
  ASSERT_THAT(open(other, kNoon + hours(1) - Duration(1)), IsEmpty());
  EXPECT_EQ(std::get<Claimed>(reply_).carried, Effect::maybe_sent);
  ASSERT_THAT(open(other, kNoon + hours(1)), IsEmpty());
  EXPECT_EQ(std::get<Claimed>(reply_).carried, Effect::not_sent);
}

TEST_F(KeyMarksTest, AcceptingWhereNothingHasChangedPutsNothingInDoubt) {
  ASSERT_THAT(open(marks(kUsual), kNoon), IsEmpty());
  const auto accepted = accept_keys(options({}), marks(kUsual, {}, kNoon + hours(1)), false);
  ASSERT_TRUE(accepted.has_value()) << accepted.error().text;
  EXPECT_THAT(*accepted, IsEmpty());
  ASSERT_THAT(open(marks(kUsual), kNoon), IsEmpty());
  EXPECT_EQ(std::get<Claimed>(reply_).carried, Effect::not_sent);
}

}  // namespace
}  // namespace sendonce::test
