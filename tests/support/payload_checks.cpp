#include "tests/support/payload_checks.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <span>

#include <simdjson.h>

namespace sendonce::test {
namespace {

using Element = simdjson::dom::element;
using Object = simdjson::dom::object;

constexpr std::size_t kMaxMessage = 4096;
constexpr std::size_t kMaxTopicMessage = 2048;
constexpr std::int64_t kMaxTtl = 2'419'200;  // 28 days, seconds

enum class Kind : std::uint8_t { text, boolean, number, texts, ttl, priority, free, object };

struct FieldSpec;
using Schema = std::span<const FieldSpec>;

struct FieldSpec {
  std::string_view name{};
  Kind kind = Kind::text;
  Schema members{};
};

// https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages
constexpr FieldSpec kLabelOptions[] = {{"analytics_label", Kind::text}};
constexpr FieldSpec kWebOptions[] = {{"link", Kind::text}, {"analytics_label", Kind::text}};
constexpr FieldSpec kAppleOptions[] = {{"analytics_label", Kind::text}, {"image", Kind::text}};
constexpr FieldSpec kNotification[] = {
    {"title", Kind::text}, {"body", Kind::text}, {"image", Kind::text}};
constexpr FieldSpec kAndroidNotification[] = {{"title", Kind::text},
                                              {"body", Kind::text},
                                              {"icon", Kind::text},
                                              {"color", Kind::text},
                                              {"sound", Kind::text},
                                              {"tag", Kind::text},
                                              {"click_action", Kind::text},
                                              {"body_loc_key", Kind::text},
                                              {"body_loc_args", Kind::free},
                                              {"title_loc_key", Kind::text},
                                              {"title_loc_args", Kind::free},
                                              {"channel_id", Kind::text},
                                              {"ticker", Kind::text},
                                              {"sticky", Kind::boolean},
                                              {"event_time", Kind::text},
                                              {"local_only", Kind::boolean},
                                              {"notification_priority", Kind::text},
                                              {"default_sound", Kind::boolean},
                                              {"default_vibrate_timings", Kind::boolean},
                                              {"default_light_settings", Kind::boolean},
                                              {"vibrate_timings", Kind::free},
                                              {"visibility", Kind::text},
                                              {"notification_count", Kind::number},
                                              {"light_settings", Kind::free},
                                              {"image", Kind::text},
                                              {"bypass_proxy_notification", Kind::boolean},
                                              {"proxy", Kind::text}};
constexpr FieldSpec kAndroid[] = {{"collapse_key", Kind::text},
                                  {"priority", Kind::priority},
                                  {"ttl", Kind::ttl},
                                  {"restricted_package_name", Kind::text},
                                  {"data", Kind::texts},
                                  {"notification", Kind::object, kAndroidNotification},
                                  {"fcm_options", Kind::object, kLabelOptions},
                                  {"direct_boot_ok", Kind::boolean},
                                  {"bandwidth_constrained_ok", Kind::boolean},
                                  {"restricted_satellite_ok", Kind::boolean}};
constexpr FieldSpec kWebpush[] = {{"headers", Kind::texts},
                                  {"data", Kind::texts},
                                  {"notification", Kind::free},
                                  {"fcm_options", Kind::object, kWebOptions}};
constexpr FieldSpec kApple[] = {{"headers", Kind::texts},
                                {"payload", Kind::free},
                                {"fcm_options", Kind::object, kAppleOptions},
                                {"live_activity_token", Kind::text}};
constexpr FieldSpec kMessage[] = {{"name", Kind::text},
                                  {"data", Kind::texts},
                                  {"notification", Kind::object, kNotification},
                                  {"android", Kind::object, kAndroid},
                                  {"webpush", Kind::object, kWebpush},
                                  {"apns", Kind::object, kApple},
                                  {"fcm_options", Kind::object, kLabelOptions},
                                  {"token", Kind::text},
                                  {"topic", Kind::text},
                                  {"condition", Kind::text},
                                  {"fid", Kind::text}};
constexpr FieldSpec kRequest[] = {{"validate_only", Kind::boolean},
                                  {"message", Kind::object, kMessage}};
constexpr std::string_view kTargets[] = {"token", "topic", "condition", "fid"};

// Google takes field names as declared and in lowerCamelCase.
bool same_name(std::string_view declared, std::string_view given) {
  if (declared == given) return true;
  std::size_t g = 0;
  for (std::size_t d = 0; d < declared.size(); ++d, ++g) {
    char c = declared[d];
    if (c == '_' && d + 1 < declared.size()) c = static_cast<char>(declared[++d] - 'a' + 'A');
    if (g >= given.size() || given[g] != c) return false;
  }
  return g == given.size();
}

const FieldSpec* find_field(Schema schema, std::string_view name) {
  for (const FieldSpec& f : schema) {
    if (same_name(f.name, name)) return &f;
  }
  return nullptr;
}

FcmFault wrong_type(const std::string& path, std::string_view type, Element value) {
  const std::string text =
      "Invalid value at '" + path + "' (" + std::string(type) + "), " + simdjson::to_string(value);
  return {.message = text, .field = path, .violation = true};
}

FcmFault unknown_name(const std::string& path, std::string_view name) {
  std::string text = "Invalid JSON payload received. Unknown name \"" + std::string(name) + "\"";
  if (!path.empty()) text += " at '" + path + "'";
  return {.message = text + ": Cannot find field.", .field = path, .violation = true};
}

FcmFault plain(std::string message) {
  return {.message = std::move(message)};
}

std::string joined(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

std::optional<FcmFault> check_texts(Element value, const std::string& path) {
  Object object;
  if (value.get(object) != simdjson::SUCCESS) return wrong_type(path, "Map", value);
  std::size_t n = 0;
  for (const auto& [key, member] : object) {
    if (!member.is_string()) {
      return wrong_type(path + "[" + std::to_string(n) + "].value", "TYPE_STRING", member);
    }
    ++n;
  }
  return std::nullopt;
}

bool valid_ttl(Element value) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS || !text.ends_with('s')) return false;
  std::int64_t seconds = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size() - 1, seconds);
  const bool whole = end == text.data() + text.size() - 1 || *end == '.';
  return error == std::errc{} && whole && seconds >= 0 && seconds <= kMaxTtl;
}

bool valid_priority(Element value) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) return false;
  return text == "normal" || text == "high" || text == "NORMAL" || text == "HIGH";
}

std::optional<FcmFault> check_object(Element value, Schema schema, const std::string& path);

std::optional<FcmFault> check_field(Element value, const FieldSpec& spec, const std::string& path) {
  switch (spec.kind) {
    case Kind::text:
      if (!value.is_string()) return wrong_type(path, "TYPE_STRING", value);
      return std::nullopt;
    case Kind::boolean:
      if (!value.is_bool()) return wrong_type(path, "TYPE_BOOL", value);
      return std::nullopt;
    case Kind::number:
      if (!value.is_int64()) return wrong_type(path, "TYPE_INT32", value);
      return std::nullopt;
    case Kind::texts:
      return check_texts(value, path);
    case Kind::ttl:
      if (!valid_ttl(value))
        return wrong_type(path, "type.googleapis.com/google.protobuf.Duration", value);
      return std::nullopt;
    case Kind::priority:
      if (!valid_priority(value))
        return wrong_type(path, "type.googleapis.com/google.firebase.fcm.v1.AndroidMessagePriority",
                          value);
      return std::nullopt;
    case Kind::free:
      return std::nullopt;
    case Kind::object:
      return check_object(value, spec.members, path);
  }
  return std::nullopt;
}

std::optional<FcmFault> check_object(Element value, Schema schema, const std::string& path) {
  Object object;
  if (value.get(object) != simdjson::SUCCESS) return wrong_type(path, "Message", value);
  for (const auto& [key, member] : object) {
    const FieldSpec* spec = find_field(schema, key);
    if (spec == nullptr) return unknown_name(path, key);
    // A path is made only where a fault needs one or an object is entered.
    const bool simple = spec->kind == Kind::text && member.is_string();
    if (simple || spec->kind == Kind::free) continue;
    if (auto fault = check_field(member, *spec, joined(path, spec->name))) return fault;
  }
  return std::nullopt;
}

// The bytes that reach the device: keys and values of data and notification.
std::size_t visible_size(Object message) {
  std::size_t size = 0;
  for (const std::string_view part : {"data", "notification"}) {
    Object object;
    if (message[part].get(object) != simdjson::SUCCESS) continue;
    for (const auto& [key, value] : object) {
      std::string_view text;
      if (value.get(text) == simdjson::SUCCESS) size += key.size() + text.size();
    }
  }
  return size;
}

std::optional<FcmFault> check_data_keys(Object message) {
  Object data;
  if (message["data"].get(data) != simdjson::SUCCESS) return std::nullopt;
  for (const auto& [key, value] : data) {
    const std::string_view k = key;
    if (k == "from" || k == "message_type" || k.starts_with("google.") || k.starts_with("gcm.")) {
      return plain("Invalid data payload key: " + std::string(k));
    }
  }
  return std::nullopt;
}

bool plausible_token(std::string_view token) {
  return !token.empty() && std::ranges::all_of(token, [](char c) { return c > ' ' && c < 127; });
}

std::optional<FcmFault> check_message(Object message, std::string_view& target) {
  std::string_view kind;
  for (const std::string_view name : kTargets) {
    std::string_view value;
    if (message[name].get(value) != simdjson::SUCCESS) continue;
    if (!kind.empty()) {
      return FcmFault{.message =
                          "Invalid value at 'message' (oneof), oneof field 'target' is "
                          "already set. Cannot set '" +
                          std::string(name) + "'",
                      .field = "message",
                      .violation = true};
    }
    kind = name;
    target = value;
  }
  if (kind.empty()) return plain("Recipient of the message is not set.");
  if (kind == "token" && !plausible_token(target)) {
    return plain("The registration token is not a valid FCM registration token");
  }
  if (auto fault = check_data_keys(message)) return fault;
  const bool many = kind == "topic" || kind == "condition";
  if (visible_size(message) > (many ? kMaxTopicMessage : kMaxMessage)) {
    return plain("Android message is too big");
  }
  Element payload;
  if (message["apns"]["payload"].get(payload) == simdjson::SUCCESS &&
      simdjson::minify(payload).size() > kMaxMessage) {
    return plain("APNs message is too big");
  }
  return std::nullopt;
}

}  // namespace

struct PayloadChecks::State {
  simdjson::dom::parser parser{};
};

PayloadChecks::PayloadChecks() : state_(std::make_unique<State>()) {}
PayloadChecks::~PayloadChecks() = default;

bool PayloadChecks::apns_payload(std::string_view body) {
  Object object;
  return state_->parser.parse(body.data(), body.size()).get(object) == simdjson::SUCCESS &&
         object.begin() != object.end();
}

FcmMessage PayloadChecks::fcm_message(std::string_view body, bool lenient) {
  FcmMessage out{};
  Element root;
  if (state_->parser.parse(body.data(), body.size()).get(root) != simdjson::SUCCESS) {
    out.fault =
        FcmFault{.message = "Invalid JSON payload received. Unexpected token.", .violation = true};
    return out;
  }
  if (!lenient) out.fault = check_object(root, kRequest, "");
  Object message;
  if (out.fault || root["message"].get(message) != simdjson::SUCCESS) {
    if (!out.fault) out.fault = plain("Request contains an invalid argument.");
    return out;
  }
  bool dry = false;
  out.dry_run = root["validate_only"].get(dry) == simdjson::SUCCESS && dry;
  std::string_view nid;
  if (message["data"]["nid"].get(nid) == simdjson::SUCCESS) out.nid = nid;
  out.fault = check_message(message, out.token);
  return out;
}

}  // namespace sendonce::test
