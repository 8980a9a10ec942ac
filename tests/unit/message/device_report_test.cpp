// Every file in report_examples/ against the decoder, and mutations of all of them: any bytes give
// a report or `invalid`. schema_test.py reads the same files.
#include "plugin/message/device_report.hpp"

#include <string>

#include <gtest/gtest.h>

#include "plugin/core/random.hpp"
#include "tests/unit/message/example_files.hpp"

namespace sendonce {
namespace {

const test::ExampleFiles kExamples("report_examples");

void expect_harmless(const std::string& text) {
  for (const char* value : {"740f4707", "+4915112345678", "jane.doe", "push.example.net"})
    EXPECT_EQ(text.find(value), std::string::npos) << text;
  for (const char c : text) EXPECT_TRUE(c >= ' ' && c <= '~') << text;
}

TEST(DeviceReportExamples, ValidOnesAreDecoded) {
  const auto valid = kExamples.texts("valid");
  EXPECT_GE(valid.size(), 15U);
  DeviceReportDecoder decoder;
  for (const auto& [file, text] : valid) {
    const auto report = decoder.decode(text);
    EXPECT_TRUE(report) << file << ": " << report.error().text;
  }
}

TEST(DeviceReportExamples, InvalidOnesAreRefusedAtTheirPath) {
  const auto paths = kExamples.expected_paths();
  const auto invalid = kExamples.texts("invalid");
  EXPECT_GE(invalid.size(), 40U);
  EXPECT_EQ(invalid.size(), paths.size());
  DeviceReportDecoder decoder;
  for (const auto& [file, text] : invalid) {
    ASSERT_TRUE(paths.contains(file)) << file << " is not in invalid.txt";
    const auto report = decoder.decode(text);
    ASSERT_FALSE(report) << file;
    EXPECT_EQ(report.error().code, Errc::invalid);
    EXPECT_EQ(report.error().text.substr(0, report.error().text.find(": ")), paths.at(file))
        << file << ": " << report.error().text;
    expect_harmless(report.error().text);
  }
}

TEST(DeviceReportExamples, AnyMutationIsDecodedOrRefused) {
  Random random(20261130);
  DeviceReportDecoder decoder;
  std::size_t accepted = 0;
  for (const char* folder : {"valid", "invalid"}) {
    for (const auto& [file, text] : kExamples.texts(folder)) {
      for (int i = 0; i < 200 && !text.empty(); ++i) {
        std::string bytes = text;
        for (std::uint64_t edits = 1 + random.below(3); edits > 0; --edits)
          bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
        const auto report = decoder.decode(bytes);
        if (report) {
          ++accepted;
          EXPECT_NE(report->hash.has_value(), report->form.has_value()) << bytes;
        } else {
          ASSERT_EQ(report.error().code, Errc::invalid) << bytes;
          ASSERT_TRUE(report.error().text.starts_with('$')) << report.error().text;
        }
      }
    }
  }
  EXPECT_GT(accepted, 100U);
}

TEST(DeviceReport, SaysWhatItSays) {
  DeviceReportDecoder decoder;
  const auto report = decoder.decode(
      R"({"provider":"apns","token":"aa","state":"revoked","reason":"off","at":"2026-11-30T08:00:00Z"})");
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->target.provider, "apns");
  EXPECT_EQ(report->target.destination.expose(), "aa");
  EXPECT_EQ(report->form, DestinationForm::token);
  EXPECT_EQ(report->state, ReportedState::revoked);
  EXPECT_EQ(report->reason, "off");
  ASSERT_TRUE(report->at.has_value());
  EXPECT_EQ(*report->at, WallTime(std::chrono::seconds(1'796'025'600)));
}

TEST(DeviceReport, AHashIsReadInAnyCase) {
  DeviceReportDecoder decoder;
  const auto report = decoder.decode(
      R"({"kind":"fcm","hash":"00ff00ff00ff00ff00FF00FF00FF00FF","state":"suspect"})");
  ASSERT_TRUE(report.has_value()) << report.error().text;
  ASSERT_TRUE(report->hash.has_value());
  EXPECT_EQ(report->hash->bytes[1], 0xff);
  EXPECT_EQ(report->hash->bytes[15], 0xff);
  EXPECT_EQ(report->target.kind, ProviderKind::fcm);
}

TEST(DeviceReport, NamesItsStates) {
  DeviceReportDecoder decoder;
  for (const ReportedState state :
       {ReportedState::active, ReportedState::suspect, ReportedState::revoked}) {
    std::string text = R"({"kind":"fcm","token":"t","state":")";
    text += name(state);
    text += "\"}";
    const auto report = decoder.decode(text);
    ASSERT_TRUE(report.has_value());
    EXPECT_EQ(report->state, state);
  }
}

}  // namespace
}  // namespace sendonce
