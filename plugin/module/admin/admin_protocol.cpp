#include "plugin/module/admin/admin_protocol.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

using Json = nlohmann::json;

constexpr std::array kCodes{
    std::pair{Errc::invalid, std::string_view("invalid")},
    std::pair{Errc::unavailable, std::string_view("unavailable")},
    std::pair{Errc::exhausted, std::string_view("exhausted")},
    std::pair{Errc::corrupt, std::string_view("corrupt")},
    std::pair{Errc::denied, std::string_view("denied")},
    std::pair{Errc::busy, std::string_view("busy")},
    std::pair{Errc::internal, std::string_view("internal")},
};

std::string_view code_name(Errc code) {
  const auto* at = std::ranges::find(kCodes, code, [](const auto& entry) { return entry.first; });
  return at == kCodes.end() ? "internal" : at->second;
}

Errc code_from(std::string_view text) {
  const auto* at = std::ranges::find(kCodes, text, [](const auto& entry) { return entry.second; });
  return at == kCodes.end() ? Errc::internal : at->first;
}

// An object without a duplicate name at its top; the library would silently take the last.
std::optional<Json> parse_object(std::string_view line) {
  std::set<std::string> names;
  bool duplicate = false;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth == 1 && event == Json::parse_event_t::key) {
      duplicate |= !names.insert(parsed.get<std::string>()).second;
    }
    return true;
  };
  Json object = Json::parse(line, watch, /*allow_exceptions=*/false);
  if (!object.is_object() || duplicate) return std::nullopt;
  return object;
}

std::string minified(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

bool is_utf8(const std::string& text) {
  const Json json(text);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) ==
         json.dump(-1, ' ', false, Json::error_handler_t::ignore);
}

Result<AdminValue> value_of(const std::string& argument, const Json& json) {
  if (json.is_string()) return AdminValue(json.get<std::string>());
  if (json.is_boolean()) return AdminValue(json.get<bool>());
  const bool too_large =
      json.is_number_unsigned() && json.get<std::uint64_t>() > std::uint64_t{INT64_MAX};
  if (json.is_number_integer() && !too_large) return AdminValue(json.get<std::int64_t>());
  return fail(Errc::invalid,
              "argument '" + argument + "': must be a text, a whole number or a boolean");
}

const AdminValue* find(const AdminRequest& request, std::string_view argument) {
  const auto at = std::ranges::find(
      request.arguments, argument, [](const auto& entry) { return std::string_view(entry.first); });
  return at == request.arguments.end() ? nullptr : &at->second;
}

template <class T>
Result<T> typed(const AdminRequest& request, std::string_view argument, T other,
                std::string_view type_name) {
  const AdminValue* value = find(request, argument);
  if (value == nullptr) return other;
  if (const T* right = std::get_if<T>(value)) return *right;
  return fail(Errc::invalid, request.verb + ": argument '" + std::string(argument) + "' must be " +
                                 std::string(type_name));
}

}  // namespace

Result<std::string> AdminRequest::text(std::string_view argument) const {
  if (find(*this, argument) == nullptr) {
    return fail(Errc::invalid, verb + ": argument '" + std::string(argument) + "' is missing");
  }
  return text_or(argument, {});
}

Result<std::string> AdminRequest::text_or(std::string_view argument, std::string other) const {
  return typed(*this, argument, std::move(other), "a text");
}

Result<bool> AdminRequest::flag_or(std::string_view argument, bool other) const {
  return typed(*this, argument, other, "true or false");
}

Result<std::int64_t> AdminRequest::number_or(std::string_view argument, std::int64_t other) const {
  return typed(*this, argument, other, "a whole number");
}

Result<void> AdminRequest::only(std::initializer_list<std::string_view> known) const {
  for (const auto& [argument, value] : arguments) {
    if (std::ranges::find(known, std::string_view(argument)) == known.end()) {
      return fail(Errc::invalid, verb + ": there is no argument '" + argument + "'");
    }
  }
  return {};
}

bool AdminReply::item(std::string_view json) {
  SO_ASSERT(json.find('\n') == std::string_view::npos);
  constexpr std::string_view kBegin = R"({"more":true,"item":)";
  constexpr std::string_view kEnd = "}\n";
  if (lines_.size() + kBegin.size() + json.size() + kEnd.size() > room_) return false;
  lines_.append(kBegin).append(json).append(kEnd);
  return true;
}

void AdminReply::result(std::string json) {
  SO_ASSERT(json.find('\n') == std::string::npos);
  result_ = std::move(json);
}

std::string AdminReply::finish(const Result<void>& outcome) && {
  std::string text = std::move(lines_);
  if (outcome) {
    text.append(R"({"ok":true,"result":)").append(result_).append("}\n");
    return text;
  }
  text.append(R"({"ok":false,"error":{"code":)");
  append_json_string(text, code_name(outcome.error().code));
  text.append(R"(,"text":)");
  append_json_string(text, outcome.error().text);
  text.append("}}\n");
  return text;
}

Result<AdminRequest> parse_admin_request(std::string_view line) {
  const auto object = parse_object(line);
  if (!object) return fail(Errc::invalid, "the request is not one JSON object with unique names");
  AdminRequest request;
  for (const auto& [argument, json] : object->items()) {
    SO_TRY(AdminValue value, value_of(argument, json));
    if (argument == "verb") {
      const auto* verb = std::get_if<std::string>(&value);
      if (verb == nullptr) return fail(Errc::invalid, "'verb' must be a text");
      request.verb = *verb;
    } else {
      request.arguments.emplace_back(argument, std::move(value));
    }
  }
  if (request.verb.empty()) return fail(Errc::invalid, "the request has no 'verb'");
  return request;
}

Result<std::string> format_admin_request(const AdminRequest& request) {
  Json object = Json::object();
  object["verb"] = request.verb;
  for (const auto& [argument, value] : request.arguments) {
    const auto* text = std::get_if<std::string>(&value);
    if (text != nullptr && !is_utf8(*text)) {
      return fail(Errc::invalid, request.verb + ": argument '" + argument + "' is not UTF-8");
    }
    std::visit([&, &name = argument](const auto& plain) { object[name] = plain; }, value);
  }
  return minified(object) + '\n';
}

Result<AdminAnswerLine> parse_admin_answer(std::string_view line) {
  const auto object = parse_object(line);
  const auto bad = [] { return fail(Errc::corrupt, "the daemon's answer makes no sense"); };
  if (!object) return bad();
  if (object->contains("more")) {
    if (!object->contains("item")) return bad();
    return AdminItem{minified((*object)["item"])};
  }
  const auto ok = object->find("ok");
  if (ok == object->end() || !ok->is_boolean()) return bad();
  if (ok->get<bool>()) {
    if (!object->contains("result")) return bad();
    return AdminEnd{minified((*object)["result"])};
  }
  const auto error = object->find("error");
  if (error == object->end() || !error->is_object()) return bad();
  const Json code = error->value("code", Json());
  const Json text = error->value("text", Json());
  if (!code.is_string() || !text.is_string()) return bad();
  return AdminEnd{fail(code_from(code.get<std::string>()), text.get<std::string>())};
}

}  // namespace sendonce
