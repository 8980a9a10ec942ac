#include "ledger/audit.hpp"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

namespace sendonce::test {
namespace {

AuditEntry typical() {
  return {.seq = AuditSeq(7),
          .at = WallTime(std::chrono::seconds(1'800'000'000)),
          .uid = 1000,
          .user = "alice",
          .by = "al",
          .verb = "resolve",
          .object = std::string(64, 'a'),
          .detail = "accepted, class orders",
          .reason = "the customer has it: J\u00fcrgen",
          .result = "done, unknown -> accepted"};
}

TEST(AuditCodec, RoundTripsAndRefusesDamage) {
  AuditEntry nobody = typical();
  nobody.uid.reset();
  for (const AuditEntry& entry : {typical(), nobody, AuditEntry{.seq = AuditSeq(7)}}) {
    const std::string good = encode_audit(entry);
    const auto decoded = decode_audit(AuditSeq(7), good);
    ASSERT_TRUE(decoded.has_value()) << decoded.error().text;
    EXPECT_EQ(*decoded, entry);
    for (std::size_t size = 0; size < good.size(); ++size)
      EXPECT_FALSE(decode_audit(AuditSeq(7), good.substr(0, size)).has_value());
    EXPECT_FALSE(decode_audit(AuditSeq(7), good + "x").has_value());
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
      std::string bytes = good;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
      EXPECT_FALSE(decode_audit(AuditSeq(7), bytes).has_value()) << bit;
    }
  }
}

// What one version has written every later one must read. A new version's file is written with
// SENDONCE_WRITE_GOLDEN=1.
TEST(AuditCodec, TheGoldenFileIsReadAndWrittenAlike) {
  const std::string path = SENDONCE_SOURCE_DIR "/tests/unit/ledger/golden/audit.v1.bin";
  if (std::getenv("SENDONCE_WRITE_GOLDEN") != nullptr)
    std::ofstream(path, std::ios::binary) << encode_audit(typical());
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(bytes.empty()) << path;
  const auto decoded = decode_audit(AuditSeq(7), bytes);
  ASSERT_TRUE(decoded.has_value()) << decoded.error().text;
  EXPECT_EQ(*decoded, typical());
  EXPECT_EQ(encode_audit(typical()), bytes);
}

TEST(AuditText, IsUtf8OnOneLineAndBounded) {
  EXPECT_EQ(audit_text("a\nb\tc\x7f"), "a b c ");
  EXPECT_EQ(audit_text("\xff\xfe"), "??");
  EXPECT_EQ(audit_text(std::string(1000, 'x')), std::string(kAuditTextMax, 'x'));
  // A character on the edge goes as a whole.
  const std::string edge = std::string(kAuditTextMax - 1, 'x') + "\u00fc";
  EXPECT_EQ(audit_text(edge), std::string(kAuditTextMax - 1, 'x'));
  EXPECT_EQ(audit_text("J\u00fcrgen"), "J\u00fcrgen");
  AuditEntry entry = typical();
  entry.reason = std::string(70'000, 'r');
  const auto decoded = decode_audit(entry.seq, encode_audit(entry));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->reason.size(), kAuditTextMax);
}

}  // namespace
}  // namespace sendonce::test
