#include "ledger/row_codec.hpp"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "ledger/bytes.hpp"
#include "ledger/crc32c.hpp"
#include "ledger/device.hpp"
#include "plugin/core/random.hpp"

namespace sendonce::test {
namespace {

WallTime at(std::int64_t seconds) {
  return WallTime(std::chrono::seconds(seconds));
}

template <class B>
B filled(std::uint8_t first) {
  B bytes;
  for (auto& byte : bytes.bytes) byte = first++;
  return bytes;
}

Row typical_claim() {
  Row row;
  row.key = filled<Key>(1);
  row.nid = filled<Nid>(101);
  row.event = LookupHash(0x1122334455667788);
  row.recipient = LookupHash(0x99AABBCCDDEEFF00);
  row.fence = Fence(0x0000000100000007);
  row.incarnation = Incarnation(1);
  row.ticket = Ticket(42);
  row.created = at(1'800'000'000);
  row.lease_end = at(1'800'000'030);
  row.deadline = at(1'800'086'400);
  row.keep_until = at(1'800'345'600);
  row.fingerprint = filled<Fingerprint>(200);
  row.message_class = "orders";
  row.provider = "apns";
  return row;
}

Row typical_accepted() {
  Row row = typical_claim();
  row.state = State::accepted;
  row.effect = Effect::sent;
  row.revision = 1;
  row.attempts = 1;
  row.ticket = Ticket{};
  row.lease_end = WallTime{};
  row.ended = at(1'800'000'001);
  row.keep_until = at(1'800'259'201);
  row.receipts.push_back({.at = row.ended,
                          .fence = row.fence,
                          .verdict = VerdictClass::accepted,
                          .effect = Effect::sent,
                          .message_id = "6CB2B1C2-7E50-4C1A-9C4B-0F3E8D1A2B3C"});
  return row;
}

Row full() {
  Row row = typical_accepted();
  row.state = State::failed;
  row.effect = Effect::not_sent;
  row.fault = Fault::request;
  row.dead_letter = DeadLetter::due;
  row.campaign = LookupHash(5);
  row.request = filled<RequestHash>(50);
  row.lease_end = at(5);
  row.next_at = at(6);
  row.ticket = Ticket(9);
  row.ref = "dev-1";
  row.reason = "PayloadTooLarge";
  for (std::uint64_t i = 0; row.receipts.size() < kReceiptsKept; ++i)
    row.receipts.push_back({.at = at(static_cast<std::int64_t>(i)),
                            .fence = Fence(i),
                            .verdict = VerdictClass::throttled,
                            .effect = Effect::not_sent,
                            .message_id = std::string(i * 15, 'm')});
  return row;
}

Row looked_for() {
  Row row = typical_claim();
  row.effect = Effect::maybe_sent;
  row.look_until = at(1'800'086'700);
  return row;
}

template <class B>
void randomise(B& bytes, Random& random) {
  for (auto& byte : bytes.bytes) byte = static_cast<std::uint8_t>(random.next());
}

std::string random_text(Random& random, std::size_t max) {
  std::string text(random.below(max + 1), '\0');
  for (char& c : text) c = static_cast<char>(random.next());
  return text;
}

WallTime random_time(Random& random) {
  return random.chance(0.3) ? WallTime{}
                            : WallTime(Duration(static_cast<std::int64_t>(random.next())));
}

Row random_row(Random& random) {
  Row row;
  randomise(row.key, random);
  randomise(row.nid, random);
  randomise(row.fingerprint, random);
  if (random.chance(0.5)) randomise(row.request, random);
  row.event = LookupHash(random.next());
  row.recipient = LookupHash(random.next());
  row.campaign = LookupHash(random.below(2) * random.next());
  row.state = static_cast<State>(random.below(6) + 1);
  row.effect = static_cast<Effect>(random.below(3));
  row.fault = static_cast<Fault>(random.below(8));
  row.dead_letter = static_cast<DeadLetter>(random.below(4));
  row.attempts = static_cast<std::uint16_t>(random.next());
  row.revision = static_cast<std::uint32_t>(random.next());
  row.fence = Fence(random.next());
  row.incarnation = Incarnation(static_cast<std::uint32_t>(random.next()));
  row.ticket = Ticket(random.below(2) * random.next());
  for (WallTime* t : {&row.created, &row.lease_end, &row.next_at, &row.deadline, &row.ended,
                      &row.keep_until, &row.look_until})
    *t = random_time(random);
  row.message_class = random_text(random, 64);
  row.provider = random_text(random, 64);
  row.ref = random_text(random, 64);
  row.reason = random_text(random, 255);
  row.receipts.resize(random.below(kReceiptsKept + 1));
  for (Receipt& receipt : row.receipts) {
    receipt.at = random.chance(0.5) ? row.ended : random_time(random);
    receipt.fence = random.chance(0.5) ? row.fence : Fence(random.next());
    receipt.verdict = static_cast<VerdictClass>(random.below(9));
    receipt.effect = static_cast<Effect>(random.below(3));
    receipt.message_id = random_text(random, 255);
  }
  return row;
}

std::string padded(const Row& row, std::size_t padding) {
  std::string bytes(encoded_size(row) + padding, 'x');
  encode_row(row, std::span<char>(bytes));
  return bytes;
}

TEST(RowCodec, RoundTrips) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const Row row = random_row(random);
    const auto decoded = decode_row(padded(row, random.below(80)));
    ASSERT_TRUE(decoded.has_value()) << decoded.error().text;
    ASSERT_EQ(*decoded, row);
  }
}

TEST(RowCodec, AnOrdinaryRowIsSmallAndItsClaimHasRoomForIt) {
  EXPECT_LE(encoded_size(typical_accepted()), 200U);
  EXPECT_LE(encoded_size(typical_accepted()), encoded_size(typical_claim()) + kClaimPadding);
}

TEST(RowCodec, PeekSeesWhatTheRowSays) {
  const Row row = full();
  const auto peek = peek_row(padded(row, 3));
  ASSERT_TRUE(peek.has_value());
  EXPECT_EQ(peek->key, row.key);
  EXPECT_EQ(peek->event, row.event);
  EXPECT_EQ(peek->recipient, row.recipient);
  EXPECT_EQ(peek->campaign, row.campaign);
  EXPECT_EQ(peek->state, row.state);
  EXPECT_EQ(peek->dead_letter, row.dead_letter);
  EXPECT_EQ(peek->created, row.created);
  EXPECT_EQ(peek->keep_until, row.keep_until);
  EXPECT_TRUE(is_row_of(encode_row(row), row.key));
  EXPECT_FALSE(is_row_of(encode_row(row), Key{}));
  EXPECT_FALSE(is_row_of("", row.key));
}

TEST(RowCodec, EveryTruncationIsRefused) {
  const std::string bytes = padded(full(), 0);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto decoded = decode_row(std::string_view(bytes).substr(0, size));
    ASSERT_FALSE(decoded.has_value()) << size;
    EXPECT_EQ(decoded.error().code, Errc::corrupt);
    ASSERT_FALSE(peek_row(std::string_view(bytes).substr(0, size)).has_value());
  }
}

TEST(RowCodec, EveryFlippedBitIsRefused) {
  const std::string good = padded(typical_accepted(), 20);
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_FALSE(decode_row(bytes).has_value()) << "bit " << bit;
  }
}

TEST(RowCodec, WrongValuesUnderARightChecksumAreRefused) {
  const std::string good = encode_row(full());
  Random random(2);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good;
    bytes[4 + random.below(bytes.size() - 4)] = static_cast<char>(random.next());
    const std::uint32_t crc = crc32c(std::string_view(bytes).substr(4));
    std::memcpy(bytes.data(), &crc, sizeof crc);
    const auto decoded = decode_row(bytes);  // must neither crash nor read beyond
    if (!decoded) ++refused;
    const auto peek = peek_row(bytes);
    if (decoded) {
      ASSERT_TRUE(peek.has_value()) << peek.error().text;
      EXPECT_EQ(peek->state, decoded->state);
      EXPECT_EQ(peek->campaign, decoded->campaign);
      EXPECT_EQ(peek->keep_until, decoded->keep_until);
      EXPECT_EQ(encode_row(*decoded).size(), bytes.size());
    }
  }
  EXPECT_GT(refused, 0);
}

// A start reads no more of an ended row than this.
TEST(RowCodec, PeekRefusesValuesOutOfRange) {
  const std::string good = encode_row(full());
  for (const std::size_t at : {122U, 123U, 124U, 125U, 126U, 127U}) {
    std::string bytes = good;
    bytes[at] = '\x63';
    const std::uint32_t crc = crc32c(std::string_view(bytes).substr(4));
    std::memcpy(bytes.data(), &crc, sizeof crc);
    EXPECT_FALSE(peek_row(bytes).has_value()) << at;
  }
}

TEST(RowCodec, ANewerVersionIsNamed) {
  std::string bytes = encode_row(typical_claim());
  bytes[6] = 2;
  const std::uint32_t crc = crc32c(std::string_view(bytes).substr(4));
  std::memcpy(bytes.data(), &crc, sizeof crc);
  const auto decoded = decode_row(bytes);
  ASSERT_FALSE(decoded.has_value());
  EXPECT_EQ(decoded.error().code, Errc::invalid);
}

// The files pin the format: what one version has written every later one must read. To add a file
// for a new version run with SENDONCE_WRITE_GOLDEN=1.
class Golden : public testing::TestWithParam<std::pair<std::string, Row>> {};

TEST_P(Golden, IsReadAndWrittenAlike) {
  const auto& [name, row] = GetParam();
  const std::string path =
      std::string(SENDONCE_SOURCE_DIR) + "/tests/unit/ledger/golden/" + name + ".v1.bin";
  if (std::getenv("SENDONCE_WRITE_GOLDEN") != nullptr)
    std::ofstream(path, std::ios::binary) << encode_row(row);
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(bytes.empty()) << path;
  const auto decoded = decode_row(bytes);
  ASSERT_TRUE(decoded.has_value()) << decoded.error().text;
  EXPECT_EQ(*decoded, row);
  EXPECT_EQ(encode_row(row), bytes);
}
std::string golden_name(const testing::TestParamInfo<std::pair<std::string, Row>>& tested) {
  return tested.param.first;
}
INSTANTIATE_TEST_SUITE_P(Rows, Golden,
                         testing::Values(std::pair("row_claimed", typical_claim()),
                                         std::pair("row_accepted", typical_accepted()),
                                         std::pair("row_full", full()),
                                         std::pair("row_looked_for", looked_for())),
                         golden_name);

std::string golden_bytes(const std::string& name) {
  std::ifstream file(
      std::string(SENDONCE_SOURCE_DIR) + "/tests/unit/ledger/golden/" + name + ".bin",
      std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

// Stored devices are read for ever.
TEST(DeviceCodec, GoldenFiles) {
  const WallTime since{std::chrono::seconds(1'800'000'000)};
  const std::vector<std::pair<std::string, DeviceRow>> all{
      {"device_invalid.v1",
       {.state = DeviceState::invalid,
        .since = since,
        .registered_at = since - std::chrono::hours(1)}},
      {"device_revoked.v1",
       {.state = DeviceState::revoked, .since = since, .registered_at = std::nullopt}},
      {"device_active.v2",
       {.state = DeviceState::active, .since = since, .registered_at = std::nullopt}}};
  for (const auto& [name, device] : all) {
    const std::string bytes = golden_bytes(name);
    const auto decoded = decode_device(bytes);
    ASSERT_TRUE(decoded.has_value()) << name << ": " << decoded.error().text;
    EXPECT_EQ(*decoded, device) << name;
    EXPECT_EQ(encode_device(device), bytes) << name;
  }
}

TEST(DeviceCodec, OnlyTheActiveAreOfVersionTwo) {
  std::string bytes = golden_bytes("device_active.v2");
  bytes[4] = 1;
  store(bytes.data(), crc32c(std::string_view(bytes).substr(4)));
  EXPECT_EQ(decode_device(bytes).error().code, Errc::corrupt);
  bytes[4] = 3;
  store(bytes.data(), crc32c(std::string_view(bytes).substr(4)));
  EXPECT_EQ(decode_device(bytes).error().code, Errc::invalid);
}

TEST(DeviceCodec, RoundTripsAndRefusesDamage) {
  const DeviceRow with{.state = DeviceState::revoked, .since = at(5), .registered_at = at(-7)};
  const DeviceRow without{
      .state = DeviceState::invalid, .since = at(5), .registered_at = std::nullopt};
  for (const DeviceRow& device : {with, without}) {
    const std::string good = encode_device(device);
    const auto decoded = decode_device(good);
    ASSERT_TRUE(decoded.has_value());
    EXPECT_EQ(*decoded, device);
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
      std::string bytes = good;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
      EXPECT_FALSE(decode_device(bytes).has_value()) << bit;
    }
    EXPECT_FALSE(decode_device(good.substr(1)).has_value());
  }
}

TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);  // RFC 3720 B.4 and every table of CRCs
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  Random random(3);
  for (std::size_t size = 0; size < 300; ++size) {
    const std::string bytes = [&] {
      std::string text(size, '\0');
      for (char& c : text) c = static_cast<char>(random.next());
      return text;
    }();
    EXPECT_EQ(crc32c(bytes), crc32c_portable(bytes));
  }
}

}  // namespace
}  // namespace sendonce::test
