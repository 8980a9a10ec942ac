#include "config/finding.hpp"

#include <gtest/gtest.h>

namespace sendonce::test {
namespace {

TEST(Finding, NamesPlaceFieldAndRemedy) {
  const Finding finding{
      Severity::error, {"a.toml", 3, 9}, "class.otp.claim", "too short", "make it longer"};
  EXPECT_EQ(to_text(finding), "a.toml:3:9: error: class.otp.claim: too short; make it longer");
  EXPECT_EQ(to_text(Finding{Severity::warning, {"a.toml", 0, 0}, "", "odd", ""}),
            "a.toml: warning: odd");
}

TEST(Finding, WarningsAreNoErrors) {
  Findings findings{{Severity::warning, {}, "", "odd", ""}};
  EXPECT_FALSE(has_errors(findings));
  findings.push_back({Severity::error, {"b", 1, 1}, "", "bad", ""});
  findings.push_back({Severity::error, {"b", 2, 1}, "", "worse", ""});
  EXPECT_TRUE(has_errors(findings));
  EXPECT_EQ(to_error(findings).text, "b:1:1: error: bad\nb:2:1: error: worse");
  EXPECT_EQ(to_error(findings).code, Errc::invalid);
}

TEST(Finding, SortsByPlace) {
  Findings findings{{Severity::error, {"b", 1, 1}, "", "4", ""},
                    {Severity::error, {"a", 10, 1}, "", "3", ""},
                    {Severity::error, {"a", 9, 7}, "", "2", ""},
                    {Severity::error, {"a", 9, 2}, "", "1", ""}};
  sort_by_place(findings);
  std::string order;
  for (const Finding& finding : findings) order += finding.text;
  EXPECT_EQ(order, "1234");
}

TEST(KeyPositions, FallsBackToTheTableAround) {
  KeyPositions positions;
  EXPECT_EQ(to_text(positions.find("class.otp.claim")), "");
  positions.set("", {"f", 1, 1});
  positions.set("class.otp", {"f", 4, 1});
  positions.set("class.otp.retry.first", {"f", 7, 9});
  EXPECT_EQ(to_text(positions.find("class.otp.retry.first")), "f:7:9");
  EXPECT_EQ(to_text(positions.find("class.otp.retry.cap")), "f:4:1");
  EXPECT_EQ(to_text(positions.find("class.other.claim")), "f:1:1");
  EXPECT_TRUE(positions.given("class.otp.retry.first"));
  EXPECT_FALSE(positions.given("class.otp.retry"));
  positions.set("class.otp", {"g", 2, 1});
  EXPECT_EQ(to_text(positions.find("class.otp")), "g:2:1");
}

}  // namespace
}  // namespace sendonce::test
