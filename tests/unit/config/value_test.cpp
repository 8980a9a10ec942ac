#include "config/value.hpp"

#include <array>
#include <limits>

#include <gmock/gmock.h>

#include "config/key_spec.hpp"

namespace sendonce::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

TomlNode text_node(std::string text) {
  TomlNode out;
  out.type = TomlType::text;
  out.text = std::move(text);
  out.at = {"f", 2, 5};
  return out;
}

TomlNode integer_node(std::int64_t value) {
  TomlNode out;
  out.type = TomlType::integer;
  out.integer = value;
  return out;
}

TEST(Value, RefusalsCarryThePosition) {
  std::string out = "kept";
  const Refused refused = read_text(out, integer_node(1));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->text, "must be a string, is an integer");
  EXPECT_EQ(out, "kept");
  EXPECT_EQ(to_text(read_text(out, text_node(""))->at), "f:2:5");
  EXPECT_THAT(read_text(out, text_node("a\nb"))->text, HasSubstr("control characters"));
}

TEST(Value, IntegersKeepToTheirBounds) {
  std::uint32_t out = 7;
  EXPECT_EQ(read_integer(out, integer_node(0), {1, 64})->remedy, "choose from 1 to 64");
  EXPECT_TRUE(read_integer(out, integer_node(65), {1, 64}));
  EXPECT_TRUE(read_integer(out, integer_node(-1), {1, 64}));
  EXPECT_EQ(out, 7U);
  EXPECT_FALSE(read_integer(out, integer_node(64), {1, 64}));
  EXPECT_EQ(out, 64U);
}

TEST(Value, NumbersRefuseNanAndInfinity) {
  double out = 0;
  TomlNode node;
  node.type = TomlType::number;
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(), 0.999, 10.001}) {
    node.number = bad;
    EXPECT_TRUE(read_number(out, node, {1000, 10'000}));
  }
  EXPECT_FALSE(read_number(out, integer_node(2), {1000, 10'000}));
  EXPECT_EQ(out, 2.0);
}

TEST(Value, DurationsNeedTheirUnitAndBounds) {
  Duration out{};
  EXPECT_EQ(read_duration(out, integer_node(25), between(1s, 1h))->text,
            "must be a duration with its unit in quotes, is an integer");
  EXPECT_EQ(read_duration(out, text_node("25"), between(1s, 1h))->text, "the unit is missing");
  EXPECT_EQ(read_duration(out, text_node("2h"), between(1s, 1h))->remedy, "choose from 1s to 1h");
  EXPECT_FALSE(read_duration(out, text_node("25s"), between(1s, 1h)));
  EXPECT_EQ(out, 25s);
}

TEST(Value, SizesAndRates) {
  std::uint64_t size = 0;
  EXPECT_EQ(read_size(size, text_node("1MiB"), {16 << 20, 1 << 30})->remedy,
            "choose from 16MiB to 1GiB");
  EXPECT_TRUE(read_size(size, text_node("16777215TiB"), {0, 1 << 30}));
  EXPECT_FALSE(read_size(size, text_node("64MiB"), {16 << 20, 1 << 30}));
  double rate = 0;
  EXPECT_EQ(read_rate(rate, text_node("0/s"))->text, "a rate of 0 would never send");
  EXPECT_FALSE(read_rate(rate, text_node("600/m")));
  EXPECT_EQ(rate, 10.0);
}

TEST(Value, SecretsAreReferencesAndNeverEchoed) {
  std::optional<SecretRef> out;
  for (const char* bad :
       {"hunter2", "", "cred:", "cred:../hunter2", "cred:a/hunter2", "cred:.hunter2",
        "file:hunter2", "file:", "file:/", "file:/a/../hunter2", "file:/hunter2/..", "env:hunter2",
        "-----BEGIN PRIVATE KEY-----hunter2"}) {
    const Refused refused = read_secret(out, text_node(bad));
    ASSERT_TRUE(refused) << bad;
    EXPECT_THAT(refused->text + refused->remedy, Not(HasSubstr("hunter2")));
    EXPECT_FALSE(out);
  }
  EXPECT_TRUE(read_secret(out, integer_node(5)));
  EXPECT_FALSE(read_secret(out, text_node("cred:apns.p8")));
  EXPECT_EQ(out->text, "cred:apns.p8");
  EXPECT_EQ(to_text(out->at), "f:2:5");
  EXPECT_FALSE(read_secret(out, text_node("file:/etc/keys/a..b")));
}

TEST(Value, ChoicesNameTheNearest) {
  std::size_t out = 9;
  const Refused refused = read_choice(out, text_node("giveup"), names_of(AmbiguityPolicy{}));
  EXPECT_EQ(refused->remedy,
            "did you mean \"give-up\"? choose resend, resend-with-key, lookup or give-up");
  EXPECT_EQ(out, 9U);
  EXPECT_FALSE(read_choice(out, text_node("give-up"), names_of(AmbiguityPolicy{})));
  EXPECT_EQ(static_cast<AmbiguityPolicy>(out), AmbiguityPolicy::give_up);
}

TEST(Value, ChoiceNamesFollowTheEnumerators) {
  EXPECT_EQ(choice_text(Durability::process), "process");
  EXPECT_EQ(choice_text(ApnsEnvironment::sandbox), "sandbox");
  EXPECT_EQ(choice_text(AmbiguityPolicy::resend_with_key), "resend-with-key");
  EXPECT_EQ(choice_text(AmbiguityPolicy::lookup), "lookup");
  EXPECT_EQ(choice_text(Priority::high), "high");
  EXPECT_EQ(choice_text(EventsMode::exceptions), "exceptions");
}

TEST(Value, ArraysOfStrings) {
  std::vector<std::string> out{"kept"};
  TomlNode array;
  array.type = TomlType::array;
  EXPECT_EQ(read_texts(out, array)->text, "is empty");
  array.items = {text_node("a"), integer_node(1)};
  EXPECT_EQ(read_texts(out, array)->text, "must be a string, is an integer");
  EXPECT_EQ(out, std::vector<std::string>{"kept"});
  array.items.pop_back();
  EXPECT_FALSE(read_texts(out, array));
  EXPECT_EQ(toml_texts({"a", "b\"c"}), R"(["a", "b\"c"])");
}

}  // namespace
}  // namespace sendonce::test
