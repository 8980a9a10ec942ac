#include "classifiers/http/http_render.hpp"

#include <algorithm>
#include <array>

#include "classifiers/json_tree.hpp"
#include "classifiers/overrides.hpp"
#include "plugin/core/text.hpp"
#include "plugin/message/key.hpp"

namespace sendonce {
namespace {

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

void append_percent(std::string& out, std::string_view value, bool form) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (const char c : value) {
    const auto b = static_cast<unsigned char>(c);
    if (is_unreserved(c)) {
      out.push_back(c);
    } else if (form && c == ' ') {
      out.push_back('+');
    } else {
      out.push_back('%');
      out.push_back(kHex[b >> 4U]);
      out.push_back(kHex[b & 15U]);
    }
  }
}

bool has_controls(std::string_view value) {
  return std::ranges::any_of(value, [](char c) {
    const auto b = static_cast<unsigned char>(c);
    return b < 0x20 || b == 0x7f;
  });
}

const DataMember* member_of(const Content& content, std::string_view wanted) {
  const auto found = std::ranges::find(content.data, wanted, &DataMember::first);
  return found == content.data.end() ? nullptr : &*found;
}

std::string named(const TemplatePart& part) {
  if (part.field == TemplateField::data_member)
    return "notification.data." + printable_name(part.text);
  return std::string(name(*part.field));
}

Result<void> check_place(const TemplatePart& part, std::string_view value, Place place,
                         std::string_view what) {
  if (place == Place::header && has_controls(value))
    return fail(Errc::invalid, named(part) + " has control characters, and the provider's " +
                                   std::string(what) + " is a header");
  if (place == Place::path && value.size() <= 2 && value.find_first_not_of('.') == value.npos)
    return fail(Errc::invalid, named(part) + " may not stand in a path");
  return {};
}

std::string target_of(const Attempt& attempt, Channel channel) {
  return attempt.notification.channel == channel ? attempt.target.destination.expose()
                                                 : std::string();
}

}  // namespace

void append_escaped(std::string& out, std::string_view value, Place place) {
  switch (place) {
    case Place::path:
    case Place::query:
      return append_percent(out, value, false);
    case Place::form:
      return append_percent(out, value, true);
    case Place::json: {
      std::string quoted;
      append_json_string(quoted, value);
      out.append(quoted, 1, quoted.size() - 2);
      return;
    }
    case Place::header:
    case Place::plain:
      out.append(value);
      return;
  }
}

Result<std::string> Renderer::data_text(std::string_view member) const {
  const DataMember* found = member_of(attempt_.notification.content, member);
  if (found == nullptr || found->second == "null") return std::string();
  const auto tree = parse_json_tree(found->second);
  const bool plain = tree && !tree->is(JsonTree::Type::object) && !tree->is(JsonTree::Type::array);
  if (!plain)
    return fail(Errc::invalid, "notification.data." + printable_name(member) +
                                   " is no text, number or truth value");
  return tree->text;
}

std::string Renderer::data_json(const TemplatePart& part) const {
  const Content& content = attempt_.notification.content;
  if (part.field == TemplateField::data_member) {
    const DataMember* found = member_of(content, part.text);
    return found == nullptr ? std::string() : found->second;
  }
  if (content.data.empty()) return {};
  std::string out;
  for (const auto& [member, value] : content.data) {
    out.push_back(out.empty() ? '{' : ',');
    append_json_string(out, member);
    out.append(":").append(value);
  }
  out.push_back('}');
  return out;
}

Result<std::string> Renderer::value_of(const TemplatePart& part) const {
  const Notification& note = attempt_.notification;
  if (part.field == TemplateField::ttl) return std::to_string(ttl_.count());
  if (part.json) return data_json(part);
  switch (*part.field) {
    case TemplateField::title:
      return note.content.title;
    case TemplateField::body:
      return note.content.body;
    case TemplateField::html:
      return note.content.html;
    case TemplateField::data:
      return data_json(part);
    case TemplateField::data_member:
      return data_text(part.text);
    case TemplateField::phone:
      return target_of(attempt_, Channel::sms);
    case TemplateField::phone_digits: {
      const std::string phone = target_of(attempt_, Channel::sms);
      return phone.empty() ? phone : phone.substr(1);
    }
    case TemplateField::email:
      return target_of(attempt_, Channel::email);
    case TemplateField::url:
      return target_of(attempt_, Channel::webhook);
    case TemplateField::token:
      return target_of(attempt_, Channel::push);
    case TemplateField::ref:
      return attempt_.target.ref;
    case TemplateField::nid:
      return uuid_text(nid_from(attempt_.nid).bytes);
    case TemplateField::key:
      return hex(attempt_.key.view());
    case TemplateField::event_id:
      return note.event_id;
    case TemplateField::recipient:
      return note.recipient;
    case TemplateField::template_id:
      return note.template_id;
    case TemplateField::campaign_id:
      return note.campaign_id;
    case TemplateField::collapse:
      return std::string(attempt_.collapse);
    case TemplateField::ttl:  // above
    case TemplateField::request_method:
    case TemplateField::request_path:
    case TemplateField::request_body:
    case TemplateField::timestamp:
      break;
  }
  SO_ASSERT(request_ != nullptr);  // the configuration was checked
  const std::array<std::string_view, 4> of_request{request_->method, request_->path, request_->body,
                                                   request_->timestamp};
  return std::string(of_request.at(static_cast<std::size_t>(*part.field) -
                                   static_cast<std::size_t>(TemplateField::request_method)));
}

Result<std::optional<std::string>> Renderer::text(const TextTemplate& from, Place place,
                                                  std::string_view what) const {
  std::string out;
  for (const TemplatePart& part : from.parts()) {
    if (!part.field) {
      if (place == Place::json)
        append_escaped(out, part.text, place);
      else
        out.append(part.text);  // the operator's own words
      continue;
    }
    SO_TRY(const std::string value, value_of(part));
    const bool may_be_empty = *part.field == TemplateField::request_body;
    if (value.empty() && !may_be_empty) {
      if (from.may_vanish()) return std::nullopt;
      if (part.optional) continue;
      return fail(Errc::invalid, named(part) + " is missing, and the provider's " +
                                     std::string(what) + " needs it");
    }
    SO_CHECK(check_place(part, value, place, what));
    append_escaped(out, value, part.json ? Place::plain : place);
  }
  return out;
}

// Leaves `out` as it is where the value is missing that it is made of alone. Within an array an
// object goes with the member that is missing: [{ type = "text/html", value = "{html?}" }].
Result<void> Renderer::append_json(std::string& out, const JsonTemplate& from,
                                   std::string_view what) const {
  switch (from.type) {
    case JsonTemplate::Type::literal:
      out.append(from.literal);
      return {};
    case JsonTemplate::Type::text: {
      SO_TRY(const auto value, text(from.text, Place::json, what));
      if (!value) return {};
      const bool raw = !from.text.empty() && from.text.parts().front().json;
      out.append(raw ? "" : "\"").append(*value).append(raw ? "" : "\"");
      return {};
    }
    case JsonTemplate::Type::array:
    case JsonTemplate::Type::object:
      break;
  }
  return append_children(out, from, what);
}

Result<void> Renderer::append_children(std::string& out, const JsonTemplate& from,
                                       std::string_view what) const {
  const bool object = from.type == JsonTemplate::Type::object;
  out.push_back(object ? '{' : '[');
  const std::size_t begin = out.size();
  for (std::size_t i = 0; i < from.children.size(); ++i) {
    if (!object && lacks_member(from.children[i])) continue;
    std::string child;
    SO_CHECK(append_json(child, from.children[i],
                         object ? std::string(what) + "." + from.names[i] : std::string(what)));
    if (child.empty()) continue;
    if (out.size() != begin) out.push_back(',');
    if (object) {
      append_json_string(out, from.names[i]);
      out.push_back(':');
    }
    out.append(child);
  }
  out.push_back(object ? '}' : ']');
  return {};
}

bool Renderer::lacks_member(const JsonTemplate& from) const {
  return from.type == JsonTemplate::Type::object &&
         std::ranges::any_of(from.children, [this](const JsonTemplate& child) {
           if (child.type != JsonTemplate::Type::text || !child.text.may_vanish()) return false;
           const auto value = value_of(child.text.parts().front());
           return value && value->empty();
         });
}

Result<std::string> Renderer::json(const JsonTemplate& from) const {
  std::string out;
  SO_CHECK(append_json(out, from, "json"));
  return out;
}

}  // namespace sendonce
