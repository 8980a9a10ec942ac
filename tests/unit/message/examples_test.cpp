// Every file in examples/ against the decoder, and mutations of all of them: any bytes give a
// notification or `invalid`. schema_test.py reads the same files.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plugin/core/random.hpp"
#include "plugin/message/decode.hpp"
#include "tests/unit/message/example_files.hpp"

namespace sendonce {
namespace {

const test::ExampleFiles kExamples("examples");

// What stands in the examples and must not be in any error text.
void expect_harmless(const std::string& text) {
  for (const char* value : {"740f4707", "+4915112345678", "jane.doe", "user_42", "ord-8812",
                            "Your parcel", "On its way", "push.example.net", "482913"})
    EXPECT_EQ(text.find(value), std::string::npos) << text;
  for (const char c : text) EXPECT_TRUE(c >= ' ' && c <= '~') << text;
}

TEST(Examples, ValidOnesAreDecoded) {
  const auto valid = kExamples.texts("valid");
  EXPECT_GE(valid.size(), 15U);
  EnvelopeDecoder decoder;
  for (const auto& [file, text] : valid) {
    const auto n = decoder.decode(text);
    EXPECT_TRUE(n) << file << ": " << n.error().text;
  }
}

TEST(Examples, InvalidOnesAreRefusedAtTheirPath) {
  const auto paths = kExamples.expected_paths();
  const auto invalid = kExamples.texts("invalid");
  EXPECT_GE(invalid.size(), 40U);
  EXPECT_EQ(invalid.size(), paths.size());
  EnvelopeDecoder decoder;
  for (const auto& [file, text] : invalid) {
    ASSERT_TRUE(paths.contains(file)) << file << " is not in invalid.txt";
    const auto n = decoder.decode(text);
    ASSERT_FALSE(n) << file;
    EXPECT_EQ(n.error().code, Errc::invalid);
    EXPECT_EQ(n.error().text.substr(0, n.error().text.find(": ")), paths.at(file))
        << file << ": " << n.error().text;
    expect_harmless(n.error().text);
  }
}

std::string mutated(std::string text, Random& random) {
  static constexpr std::string_view kPieces[] = {
      "{", "}", "[", "]", "\"", "\\", ",", ":", "0", "\\u", "\xc2", "null", "\"a\":1,", " ", "-"};
  for (std::uint64_t edits = 1 + random.below(4); edits > 0 && !text.empty(); --edits) {
    const std::size_t at = random.below(text.size());
    switch (random.below(5)) {
      case 0:
        text[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        text.erase(at, 1 + random.below(8));
        break;
      case 2:
        text.insert(at, kPieces[random.below(std::size(kPieces))]);
        break;
      case 3:
        text.insert(at, text.substr(random.below(text.size()), random.below(40)));
        break;
      default:
        text.resize(at);
        break;
    }
  }
  return text;
}

TEST(Examples, AnyMutationIsDecodedOrRefused) {
  Random random(20261129);
  EnvelopeDecoder decoder;
  JsonParser parser{JsonLimits{}};
  std::size_t accepted = 0;
  for (const char* folder : {"valid", "invalid"}) {
    for (const auto& [file, text] : kExamples.texts(folder)) {
      for (int i = 0; i < 200; ++i) {
        const std::string bytes = mutated(text, random);
        const auto n = decoder.decode(bytes);
        if (!n) {
          ASSERT_EQ(n.error().code, Errc::invalid) << bytes;
          ASSERT_EQ(n.error().text.rfind('$', 0), 0U) << n.error().text;
          continue;
        }
        ++accepted;
        ASSERT_FALSE(n->targets.empty());
        // What was made canonical is JSON and stays as it is.
        ASSERT_EQ(canonical_json(parser, n->canonical_content), n->canonical_content) << bytes;
      }
    }
  }
  EXPECT_GT(accepted, 200U);
}

}  // namespace
}  // namespace sendonce
