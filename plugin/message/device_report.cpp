#include "plugin/message/device_report.hpp"

#include <algorithm>
#include <array>

#include "plugin/core/assert.hpp"
#include "plugin/core/text.hpp"
#include "plugin/message/members.hpp"
#include "plugin/message/target_decoder.hpp"
#include "plugin/message/text_rule.hpp"

namespace sendonce {
namespace {

constexpr JsonLimits kLimits{.max_bytes = std::size_t{16} << 10U, .max_depth = 2};

enum Member : std::uint8_t { provider, kind, hash = 7, state, reason, at };
constexpr std::array<std::string_view, 11> kMembers{"provider", "kind",   "token", "subscription",
                                                    "phone",    "email",  "url",   "hash",
                                                    "state",    "reason", "at"};
static_assert(kDestinationMembers.size() == hash && kMembers[at] == "at");

constexpr std::array kStates{ReportedState::active, ReportedState::suspect, ReportedState::revoked};

constexpr std::string_view kOneDevice =
    "must have exactly one of token, subscription, phone, email, url and hash";

constexpr TextRule kReasonRule{1, 120, Alphabet::one_line,
                               "must be a string of 1 to 120 bytes without control characters"};

Result<DeviceHash> read_hash(JsonReader& reader, const JsonPath& path) {
  std::string scratch;
  std::optional<std::string> bytes;
  if (reader.type() == JsonType::string) bytes = unhex(reader.string(scratch));
  if (!bytes || bytes->size() != DeviceHash::kSize) return path.refuse("must be 32 hex digits");
  DeviceHash out;
  std::ranges::copy(*bytes, out.bytes.begin());
  return out;
}

Result<ReportedState> read_state(JsonReader& reader, const JsonPath& path) {
  std::string scratch;
  const std::string_view text =
      reader.type() == JsonType::string ? reader.string(scratch) : std::string_view();
  const auto* const found =
      std::ranges::find(kStates, text, [](ReportedState s) { return name(s); });
  if (found == kStates.end()) return path.refuse("must be one of active, suspect, revoked");
  return *found;
}

Result<void> read_member(std::size_t member, JsonReader& reader, const JsonPath& path,
                         DeviceReport& out) {
  if (member < kDestinationMembers.size())
    return read_destination(member, reader, path, out.target);
  switch (member) {
    case hash: {
      SO_TRY(out.hash, read_hash(reader, path));
      return {};
    }
    case state: {
      SO_TRY(out.state, read_state(reader, path));
      return {};
    }
    case reason:
      return read_text(reader, path, kReasonRule, out.reason);
    case at: {
      SO_TRY(out.at, read_time(reader, path));
      return {};
    }
    default:
      SO_ASSERT(false);
  }
}

Result<void> check(const MemberSet& members, const DeviceReport& report) {
  const JsonPath root;
  const auto form = report.form;
  if (form.has_value() == report.hash.has_value()) return root.refuse(kOneDevice);
  if (members.has(provider) == members.has(kind))
    return root.refuse("must have exactly one of provider and kind");
  if (!members.has(state)) return JsonPath(root, kMembers[state]).refuse("is missing");
  if (report.target.kind && form && form_for(*report.target.kind) != *form)
    return JsonPath(root, kMembers[kind]).refuse("does not take the destination that is given");
  return {};
}

}  // namespace

std::string_view name(ReportedState state) {
  switch (state) {
    case ReportedState::active:
      return "active";
    case ReportedState::suspect:
      return "suspect";
    case ReportedState::revoked:
      return "revoked";
  }
  SO_ASSERT(false);
}

DeviceReportDecoder::DeviceReportDecoder() : parser_(kLimits) {}

Result<DeviceReport> DeviceReportDecoder::decode(std::string_view bytes) {
  auto parsed = parser_.parse(bytes);
  if (!parsed) return fail(parsed.error().code, "$: " + parsed.error().text);
  JsonReader& reader = *parsed;
  const JsonPath root;
  if (reader.type() != JsonType::object) return root.refuse("must be an object");
  DeviceReport out;
  MemberSet members(kMembers);
  reader.enter();
  while (reader.next_member()) {
    SO_TRY(const std::size_t member, members.meet(reader.name(), root));
    const auto given = form_of(member);
    if (given && out.form) return root.refuse(kOneDevice);
    if (given) out.form = given;
    SO_CHECK(read_member(member, reader, JsonPath(root, kMembers.at(member)), out));
  }
  SO_CHECK(check(members, out));
  return out;
}

}  // namespace sendonce
