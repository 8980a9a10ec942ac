#include "plugin/broker/nats/api_json.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "plugin/core/assert.hpp"
#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

using nlohmann::json;

// Readers that never throw: a member of another type reads as absent.
const json* member(const json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

const json& object_in(const json& object, const char* name) {
  static const json kNothing = json::object();
  const json* found = member(object, name);
  return found != nullptr && found->is_object() ? *found : kNothing;
}

std::string text_of(const json& object, const char* name) {
  const json* found = member(object, name);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t integer_of(const json& object, const char* name, std::int64_t otherwise) {
  const json* found = member(object, name);
  return found != nullptr && found->is_number_integer() ? found->get<std::int64_t>() : otherwise;
}

std::uint64_t count_of(const json& object, const char* name) {
  const json* found = member(object, name);
  return found != nullptr && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

bool flag_of(const json& object, const char* name) {
  const json* found = member(object, name);
  return found != nullptr && found->is_boolean() && found->get<bool>();
}

// JetStream writes durations as nanoseconds; none is negative.
Duration duration_of(const json& object, const char* name) {
  return Duration(std::max<std::int64_t>(0, integer_of(object, name, 0)));
}

bool has_items(const json& object, const char* name) {
  const json* found = member(object, name);
  return found != nullptr && found->is_array() && !found->empty();
}

std::optional<ApiError> error_in(const json& answer) {
  const json* error = member(answer, "error");
  if (error == nullptr || error->is_null()) return std::nullopt;
  return ApiError{.code = static_cast<int>(integer_of(*error, "code", 0)),
                  .err_code = static_cast<int>(integer_of(*error, "err_code", 0)),
                  .description = text_of(*error, "description")};
}

ApiAnswer<json> parse_answer(std::string_view text) {
  json answer = json::parse(text, nullptr, false);
  if (!answer.is_object())
    return std::unexpected(ApiError{.description = "the answer is not a JSON object"});
  if (auto error = error_in(answer)) return std::unexpected(*std::move(error));
  return answer;
}

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

ApiAnswer<PubAck> parse_pub_ack(std::string_view json_text_in) {
  const auto answer = parse_answer(json_text_in);
  if (!answer) return std::unexpected(answer.error());
  PubAck ack{.stream = text_of(*answer, "stream"),
             .seq = count_of(*answer, "seq"),
             .duplicate = flag_of(*answer, "duplicate")};
  if (ack.stream.empty())
    return std::unexpected(ApiError{.description = "the answer is not a publish confirmation"});
  return ack;
}

ApiAnswer<StreamInfo> parse_stream_info(std::string_view json_text_in) {
  const auto answer = parse_answer(json_text_in);
  if (!answer) return std::unexpected(answer.error());
  const json& config = object_in(*answer, "config");
  StreamInfo info{.name = text_of(config, "name"),
                  .created = text_of(*answer, "created"),
                  .retention = text_of(config, "retention"),
                  .duplicate_window = duration_of(config, "duplicate_window"),
                  .max_age = duration_of(config, "max_age"),
                  .sealed = flag_of(config, "sealed"),
                  .no_ack = flag_of(config, "no_ack"),
                  .mirror = !object_in(config, "mirror").empty(),
                  .messages = count_of(object_in(*answer, "state"), "messages"),
                  .matching = !object_in(object_in(*answer, "state"), "subjects").empty(),
                  .config = dump(config)};
  if (const json* subjects = member(config, "subjects"); subjects != nullptr) {
    for (const json& subject : *subjects)
      if (subject.is_string()) info.subjects.push_back(subject.get<std::string>());
  }
  if (info.name.empty() || info.created.empty())
    return std::unexpected(ApiError{.description = "the answer is not a stream's description"});
  return info;
}

ApiAnswer<ConsumerInfo> parse_consumer_info(std::string_view json_text_in) {
  const auto answer = parse_answer(json_text_in);
  if (!answer) return std::unexpected(answer.error());
  const json& config = object_in(*answer, "config");
  ConsumerInfo info{.stream = text_of(*answer, "stream_name"),
                    .name = text_of(*answer, "name"),
                    .created = text_of(*answer, "created"),
                    .description = text_of(config, "description"),
                    .filter_subject = text_of(config, "filter_subject"),
                    .several_filters = has_items(config, "filter_subjects"),
                    .deliver_subject = text_of(config, "deliver_subject"),
                    .deliver_policy = text_of(config, "deliver_policy"),
                    .ack_policy = text_of(config, "ack_policy"),
                    .ack_wait = duration_of(config, "ack_wait"),
                    .max_deliver = integer_of(config, "max_deliver", -1),
                    .max_ack_pending = integer_of(config, "max_ack_pending", 0),
                    .backoff = has_items(config, "backoff"),
                    .headers_only = flag_of(config, "headers_only"),
                    .inactive_threshold = duration_of(config, "inactive_threshold"),
                    .pending = count_of(*answer, "num_pending"),
                    .ack_pending = count_of(*answer, "num_ack_pending"),
                    .waiting = count_of(*answer, "num_waiting"),
                    .config = dump(config)};
  if (info.name.empty() || info.created.empty())
    return std::unexpected(ApiError{.description = "the answer is not a consumer's description"});
  return info;
}

std::optional<ApiError> parse_api_error(std::string_view json_text_in) {
  const auto answer = parse_answer(json_text_in);
  if (answer) return std::nullopt;
  return answer.error();
}

std::string patch_object(std::string_view object, const std::vector<MemberPatch>& members) {
  json patched = json::parse(object, nullptr, false);
  SO_ASSERT(patched.is_object());
  for (const auto& [name, value] : members) {
    if (!value) {
      patched.erase(name);
      continue;
    }
    json parsed = json::parse(*value, nullptr, false);
    SO_ASSERT(!parsed.is_discarded());
    patched[name] = std::move(parsed);
  }
  return dump(patched);
}

std::string json_text(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string json_text(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) {
    if (out.size() > 1) out.push_back(',');
    append_json_string(out, text);
  }
  out.push_back(']');
  return out;
}

}  // namespace sendonce
