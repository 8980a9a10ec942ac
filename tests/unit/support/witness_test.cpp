#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/eventually.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/unit/support/provider_rig.hpp"

namespace sendonce::test {
namespace {

using Json = nlohmann::json;

TEST(Witness, counts_destinations_and_keys) {
  Witness witness;
  witness.count(ProviderKind::apns, "aa", "1", true);
  witness.count(ProviderKind::apns, "aa", "1", false);
  witness.count(ProviderKind::apns, "aa", "2", true);
  witness.count(ProviderKind::fcm, "aa", "1", false);
  EXPECT_EQ(witness.destination(ProviderKind::apns, "aa").received, 3U);
  EXPECT_EQ(witness.destination(ProviderKind::apns, "aa").accepted, 2U);
  EXPECT_EQ(witness.copies(ProviderKind::apns, "aa", "1").received, 2U);
  EXPECT_EQ(witness.copies(ProviderKind::apns, "aa", "1").accepted, 1U);
  EXPECT_EQ(witness.copies(ProviderKind::apns, "aa", "3").received, 0U);
  const WitnessTotals totals = witness.totals();
  EXPECT_EQ(totals.copies.received, 4U);
  EXPECT_EQ(totals.keys, 3U);
  EXPECT_EQ(totals.keys_accepted, 2U);
  EXPECT_EQ(totals.duplicates, 0U);
}

TEST(Witness, a_second_acceptance_is_a_duplicate_and_a_third_is_the_same_one) {
  Witness witness;
  for (int i = 0; i < 3; ++i) witness.count(ProviderKind::apns, "aa", "1", true);
  EXPECT_EQ(witness.totals().duplicates, 1U);
  const auto duplicates = witness.duplicates();
  ASSERT_EQ(duplicates.size(), 1U);
  EXPECT_EQ(duplicates[0].destination, "aa");
  EXPECT_EQ(duplicates[0].id, "1");
  EXPECT_EQ(duplicates[0].copies.accepted, 3U);
}

TEST(Witness, says_when_it_no_longer_remembers_all) {
  Witness witness(2);
  for (const char* id : {"1", "2", "3"}) witness.count(ProviderKind::apns, "aa", id, true);
  EXPECT_FALSE(witness.totals().complete);
  EXPECT_EQ(witness.totals().copies.accepted, 3U);
  EXPECT_EQ(witness.totals().keys, 2U);
}

class RecordTest : public ProviderRig {};

TEST_F(RecordTest, pages_show_the_counts) {
  start();
  const auto client = connect();
  push(*client);
  push(*client);
  const auto page = [&](const std::string& path) {
    return Json::parse(client->request("GET", path, {}, "").body);
  };
  const Json stats = page("/__stats");
  EXPECT_EQ(stats["received"], 2);
  EXPECT_EQ(stats["accepted"], 2);
  EXPECT_EQ(stats["duplicates"], 1);
  EXPECT_FALSE(stats.contains("destinations"));
  const Json detail = page("/__stats?detail=1");
  EXPECT_EQ(detail["destinations"]["apns:" + std::string(kToken)]["accepted"], 2);
  const Json duplicates = page("/__duplicates");
  EXPECT_EQ(duplicates["duplicates"][0]["id"], kId);
  EXPECT_EQ(duplicates["duplicates"][0]["accepted"], 2);
  const Json copies = page("/__copies?provider=apns&destination=" + std::string(kToken) +
                           "&id=" + std::string(kId));
  EXPECT_EQ(copies["accepted"], 2);
  EXPECT_EQ(client->request("GET", "/__else", {}, "").status, 404);
}

TEST_F(RecordTest, one_line_a_request) {
  const TempDir dir;
  const std::string file = (dir / "record.jsonl").string();
  FakeProviderOptions options = options_for(credentials());
  options.record = file;
  auto script = Script::parse("[[rule]]\nnth = 2\nreset = 2\nprocessed = true", "s");
  options.script = std::move(*script);
  start(std::move(options));
  const auto client = connect();
  push(*client);
  push(*client);
  client->request("POST", device("zz"), apns_headers(), kPayload);
  std::vector<Json> lines;
  ASSERT_TRUE(eventually([&] {
    lines.clear();
    std::istringstream in(read_file(file));
    for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
    return lines.size() == 3;
  }));
  EXPECT_EQ(lines[0]["connection"], 1);
  EXPECT_EQ(lines[0]["stream"], 1);
  EXPECT_EQ(lines[0]["path"], device());
  EXPECT_EQ(lines[0]["destination"], kToken);
  EXPECT_EQ(lines[0]["id"], kId);
  EXPECT_EQ(lines[0]["status"], 200);
  EXPECT_EQ(lines[0]["accepted"], true);
  EXPECT_EQ(lines[0]["body_bytes"], kPayload.size());
  EXPECT_EQ(lines[0]["body_sha256"].get<std::string>().size(), 64U);
  EXPECT_EQ(lines[0]["headers"]["apns-topic"], credentials().topic);
  EXPECT_TRUE(lines[0]["headers"]["authorization"].get<std::string>().starts_with("sha256:"));
  EXPECT_EQ(lines[1]["ending"], "reset");
  EXPECT_EQ(lines[1]["scripted"], true);
  EXPECT_EQ(lines[1]["accepted"], true);
  EXPECT_EQ(lines[2]["reason"], "BadDeviceToken");
  EXPECT_EQ(lines[2]["accepted"], false);
  EXPECT_EQ(read_file(file).find(bearer), std::string::npos) << "no credential in the record";
}

TEST_F(RecordTest, an_unwritable_record_is_an_error) {
  FakeProviderOptions options = options_for(credentials());
  options.record = "/no/such/directory/record.jsonl";
  EXPECT_FALSE(FakeProvider::start(std::move(options)));
}

}  // namespace
}  // namespace sendonce::test
