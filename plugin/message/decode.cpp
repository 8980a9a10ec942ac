#include "plugin/message/decode.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "plugin/core/text.hpp"
#include "plugin/message/members.hpp"
#include "plugin/message/target_decoder.hpp"
#include "plugin/message/text_rule.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kMaxData = 100;

enum Member : std::uint8_t {
  event_id,
  recipient,
  channel,
  template_id,
  targets,
  notification_content,
  overrides,
  expires_at,
  collapse,
  campaign_id,
  idempotency_key
};
constexpr std::array<std::string_view, 11> kMembers{
    "event_id",  "recipient",  "channel",  "template",    "targets",        "notification",
    "overrides", "expires_at", "collapse", "campaign_id", "idempotency_key"};
constexpr std::array kMandatory{event_id, recipient, channel, targets};

enum ContentMember : std::uint8_t { title, body, html, data };
constexpr std::array<std::string_view, 4> kContentMembers{"title", "body", "html", "data"};

constexpr std::array<std::string_view, 6> kKinds{"apns", "fcm", "webpush", "sms", "email", "http"};

constexpr TextRule kDataNameRule{1, 128, Alphabet::one_line, ""};

Result<void> read_channel(JsonReader& reader, const JsonPath& path, Channel& out) {
  std::string scratch;
  std::optional<Channel> found;
  if (reader.type() == JsonType::string) found = channel_from(reader.string(scratch));
  // No provider serves in_app yet, so a target of it could have no destination.
  if (!found || *found == Channel::in_app)
    return path.refuse("must be one of push, sms, email, webhook");
  out = *found;
  return {};
}

}  // namespace

EnvelopeDecoder::EnvelopeDecoder() : parser_(JsonLimits{}) {}

Result<void> EnvelopeDecoder::read_data(JsonReader& reader, const JsonPath& path,
                                        Content& content) {
  constexpr std::string_view kExpected =
      "must be an object of at most 100 members, their names 1 to 128 bytes without control "
      "characters";
  if (reader.type() != JsonType::object) return path.refuse(kExpected);
  content.data.reserve(8);
  reader.enter();
  while (reader.next_member()) {
    if (content.data.size() == kMaxData || !obeys(reader.name(), kDataNameRule))
      return path.refuse(kExpected);
    DataMember& member = content.data.emplace_back(std::string(reader.name()), std::string());
    SO_CHECK(canonicaliser_.append(member.second, reader, JsonPath(path, member.first)));
  }
  std::sort(content.data.begin(), content.data.end());
  const auto twice = std::adjacent_find(
      content.data.begin(), content.data.end(),
      [](const DataMember& a, const DataMember& b) { return a.first == b.first; });
  if (twice != content.data.end())
    return JsonPath(path, twice->first).refuse("the member is given twice");
  return {};
}

Result<void> EnvelopeDecoder::read_notification(JsonReader& reader, const JsonPath& path,
                                                Content& content) {
  if (reader.type() != JsonType::object) return path.refuse("must be an object");
  MemberSet members(kContentMembers);
  reader.enter();
  while (reader.next_member()) {
    SO_TRY(const std::size_t member, members.meet(reader.name(), path));
    const JsonPath at(path, kContentMembers.at(member));
    switch (static_cast<ContentMember>(member)) {
      case title:
        SO_CHECK(read_text(reader, at, kTitleRule, content.title));
        break;
      case body:
        SO_CHECK(read_text(reader, at, kBodyRule, content.body));
        break;
      case html:
        SO_CHECK(read_text(reader, at, kHtmlRule, content.html));
        break;
      case data:
        SO_CHECK(read_data(reader, at, content));
        break;
    }
  }
  return {};
}

Result<void> EnvelopeDecoder::read_overrides(JsonReader& reader, const JsonPath& path,
                                             Notification& notification) {
  if (reader.type() != JsonType::object)
    return path.refuse("must be an object with one object for each kind of provider");
  MemberSet members(kKinds);
  reader.enter();
  while (reader.next_member()) {
    SO_TRY(const std::size_t member, members.meet(reader.name(), path));
    const JsonPath at(path, kKinds.at(member));
    if (reader.type() != JsonType::object) return at.refuse("must be an object");
    auto& entry =
        notification.overrides.emplace_back(static_cast<ProviderKind>(member), std::string());
    SO_CHECK(canonicaliser_.append(entry.second, reader, at));
  }
  std::sort(notification.overrides.begin(), notification.overrides.end());
  return {};
}

Result<void> EnvelopeDecoder::read_envelope(JsonReader& reader, Notification& out) {
  const JsonPath root;
  if (reader.type() != JsonType::object) return root.refuse("must be an object");
  MemberSet members(kMembers);
  FirstWith first_with;
  reader.enter();
  while (reader.next_member()) {
    SO_TRY(const std::size_t member, members.meet(reader.name(), root));
    const JsonPath at(root, kMembers.at(member));
    switch (static_cast<Member>(member)) {
      case event_id:
        SO_CHECK(read_text(reader, at, kIdRule, out.event_id));
        break;
      case recipient:
        SO_CHECK(read_text(reader, at, kIdRule, out.recipient));
        break;
      case channel:
        SO_CHECK(read_channel(reader, at, out.channel));
        break;
      case template_id:
        SO_CHECK(read_text(reader, at, kIdRule, out.template_id));
        break;
      case targets:
        SO_CHECK(read_targets(reader, at, out.targets, first_with));
        break;
      case notification_content:
        SO_CHECK(read_notification(reader, at, out.content));
        break;
      case overrides:
        SO_CHECK(read_overrides(reader, at, out));
        break;
      case expires_at: {
        SO_TRY(out.expires_at, read_time(reader, at));
        break;
      }
      case collapse:
        SO_CHECK(read_text(reader, at, kShortIdRule, out.collapse));
        break;
      case campaign_id:
        SO_CHECK(read_text(reader, at, kIdRule, out.campaign_id));
        break;
      case idempotency_key:
        SO_CHECK(read_text(reader, at, kIdRule, out.idempotency_key));
        break;
    }
  }
  for (const Member member : kMandatory)
    if (!members.has(member)) return JsonPath(root, kMembers.at(member)).refuse("is missing");
  if (!members.has(notification_content) && !members.has(overrides))
    return JsonPath(root, "notification").refuse("is missing, and there are no overrides either");
  SO_CHECK(check_channel(first_with, out.channel, JsonPath(root, "targets")));
  remove_repeated(out.targets);
  return {};
}

Result<Notification> EnvelopeDecoder::decode(std::string_view bytes) {
  Result<Notification> notification;
  if (auto done = decode(bytes, *notification); !done)
    notification = std::unexpected(std::move(done).error());
  return notification;
}

Result<void> EnvelopeDecoder::decode(std::string_view bytes, Notification& notification) {
  clear(notification);
  auto reader = parser_.parse(bytes);
  if (!reader) return fail(reader.error().code, "$: " + reader.error().text);
  SO_CHECK(read_envelope(*reader, notification));
  append_canonical_content(notification.canonical_content, notification);
  return {};
}

std::string canonical_content(const Notification& notification) {
  std::string out;
  append_canonical_content(out, notification);
  return out;
}

void append_canonical_content(std::string& out, const Notification& notification) {
  const Content& content = notification.content;
  out.reserve(content.title.size() + content.body.size() + content.html.size() + 128);
  const auto member = [&out](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    if (out.back() != '{') out.push_back(',');
    out.append("\"").append(name).append("\":");
    append_json_string(out, value);
  };
  out.push_back('{');
  member("collapse", notification.collapse);
  if (out.back() != '{') out.push_back(',');
  out.append("\"notification\":{");
  member("body", content.body);
  if (!content.data.empty()) {
    if (out.back() != '{') out.push_back(',');
    out.append("\"data\":{");
    for (const auto& [name, value] : content.data) {
      if (out.back() != '{') out.push_back(',');
      append_json_string(out, name);
      out.append(":").append(value);
    }
    out.push_back('}');
  }
  member("html", content.html);
  member("title", content.title);
  out.push_back('}');
  member("template", notification.template_id);
  out.push_back('}');
}

}  // namespace sendonce
