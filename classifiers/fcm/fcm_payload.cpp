#include "classifiers/fcm/fcm_payload.hpp"

#include <array>

#include "classifiers/json_patch.hpp"
#include "classifiers/overrides.hpp"
#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

// "Keys and values of notification and data", https://firebase.google.com/docs/cloud-messaging
constexpr std::size_t kMessageMax = 4096;

bool is_reserved(std::string_view name) {
  return name == "nid" || name == "from" || name == "message_type" || name.starts_with("google.") ||
         name.starts_with("gcm.");
}

// The least number of bytes that a string in JSON can stand for.
std::size_t least_size(std::string_view written) {
  std::size_t size = 0;
  for (std::size_t i = 1; i + 1 < written.size(); ++i, ++size) {
    if (written[i] != '\\') continue;
    i += i + 1 < written.size() && written[i + 1] == 'u' ? 5U : 1U;
  }
  return size;
}

Result<void> check_data(const Content& content) {
  std::size_t size = content.title.size() + content.body.size();
  for (const auto& [name, value] : content.data) {
    const std::string shown = "notification.data." + printable_name(name);
    if (!value.starts_with('"')) return fail(Errc::invalid, shown + " must be a string");
    if (is_reserved(name)) return fail(Errc::invalid, shown + " is a reserved name");
    size += name.size() + least_size(value);
  }
  if (size > kMessageMax)
    return fail(Errc::invalid, "notification and data have at least " + std::to_string(size) +
                                   " bytes, FCM takes " + std::to_string(kMessageMax));
  return {};
}

void append_member(std::string& out, std::string_view name, std::string_view text) {
  out.append(name);
  append_json_string(out, text);
}

void append_content(std::string& out, const Content& content, std::string_view nid) {
  if (!content.title.empty() || !content.body.empty()) {
    out.append(R"(,"notification":{)");
    if (!content.title.empty()) append_member(out, R"("title":)", content.title);
    if (!content.body.empty())
      append_member(out, content.title.empty() ? R"("body":)" : R"(,"body":)", content.body);
    out.push_back('}');
  }
  out.append(R"(,"data":{)");
  for (const auto& [name, value] : content.data) {
    append_json_string(out, name);
    out.push_back(':');
    out.append(value).push_back(',');
  }
  out.append(R"("nid":")").append(nid).append("\"}");
}

void append_lifetimes(std::string& out, const FcmPayloadFields& fields, bool shown) {
  out.append(R"(,"android":{"ttl":")");
  append_number(out, fields.ttl_s);
  out.append("s\"");
  // android.notification would make a notification of a message that has only data.
  if (shown && !fields.collapse.empty()) {
    append_member(out, R"(,"notification":{"tag":)", fields.collapse);
    out.push_back('}');
  }
  out.append(R"(},"apns":{"headers":{"apns-expiration":")");
  append_number(out, fields.expiration_s);
  out.push_back('"');
  if (!fields.collapse.empty()) append_member(out, R"(,"apns-collapse-id":)", fields.collapse);
  out.append(R"(}},"webpush":{"headers":{"TTL":")");
  append_number(out, fields.ttl_s);
  out.append("\"}}");
}

// What RFC 7396 could do to a message that is none of the producer's business.
Result<void> check_merged(const JsonTree& message, const FcmPayloadFields& fields) {
  for (const std::string_view name : {"topic", "condition", "fid", "name"})
    if (message.find(name) != nullptr)
      return fail(Errc::invalid, "overrides.fcm may not set " + std::string(name));
  if (message.string_at("token") != fields.token)
    return fail(Errc::invalid, "overrides.fcm may not change token");
  const JsonTree* data = message.find("data");
  if (data == nullptr || data->string_at("nid") != fields.nid)
    return fail(Errc::invalid, "overrides.fcm may not change data.nid");
  for (std::size_t i = 0; i < data->names.size(); ++i)
    if (!data->children[i].is(JsonTree::Type::string))
      return fail(Errc::invalid,
                  "overrides.fcm.data." + printable_name(data->names[i]) + " must be a string");
  return {};
}

Result<std::string> with_overrides(std::string_view message, std::string_view overrides,
                                   const FcmPayloadFields& fields) {
  SO_TRY(const JsonTree merged, patched(message, overrides, "overrides.fcm"));
  SO_CHECK(check_merged(merged, fields));
  std::string out = R"({"message":)";
  append_json(out, merged);
  out.push_back('}');
  return out;
}

}  // namespace

Result<std::string> fcm_payload(const Notification& notification, const FcmPayloadFields& fields) {
  const Content& content = notification.content;
  SO_CHECK(check_data(content));
  constexpr std::string_view kBegin = R"({"message":)";
  std::size_t size = 320 + content.title.size() + content.body.size() + fields.token.size() +
                     2 * fields.collapse.size();
  for (const auto& [name, value] : content.data) size += name.size() + value.size() + 4;
  std::string out;
  out.reserve(size);
  out.append(kBegin);
  append_member(out, R"({"token":)", fields.token);
  append_content(out, content, fields.nid);
  append_lifetimes(out, fields, !content.title.empty() || !content.body.empty());
  out.append("}}");
  const std::string_view overrides = overrides_of(notification, ProviderKind::fcm);
  if (overrides.empty()) return out;
  const std::string_view message =
      std::string_view(out).substr(kBegin.size(), out.size() - kBegin.size() - 1);
  return with_overrides(message, overrides, fields);
}

}  // namespace sendonce
