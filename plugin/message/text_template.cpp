#include "plugin/message/text_template.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "plugin/core/nearest.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kLongestTemplate = 65'536;
constexpr std::string_view kData = "data.";
constexpr std::string_view kJson = "json:";
constexpr std::string_view kText = "text:";

constexpr std::array<std::pair<std::string_view, TemplateField>, 23> kNames{{
    {"title", TemplateField::title},
    {"body", TemplateField::body},
    {"html", TemplateField::html},
    {"data", TemplateField::data},
    {"data.NAME", TemplateField::data_member},
    {"phone", TemplateField::phone},
    {"phone_digits", TemplateField::phone_digits},
    {"email", TemplateField::email},
    {"url", TemplateField::url},
    {"token", TemplateField::token},
    {"ref", TemplateField::ref},
    {"nid", TemplateField::nid},
    {"key", TemplateField::key},
    {"event_id", TemplateField::event_id},
    {"recipient", TemplateField::recipient},
    {"template", TemplateField::template_id},
    {"campaign_id", TemplateField::campaign_id},
    {"collapse", TemplateField::collapse},
    {"ttl", TemplateField::ttl},
    {"request.method", TemplateField::request_method},
    {"request.path", TemplateField::request_path},
    {"request.body", TemplateField::request_body},
    {"timestamp", TemplateField::timestamp},
}};

bool is_of_the_request(TemplateField field) {
  return field >= TemplateField::request_method;
}

std::string place(std::size_t at) {
  return "character " + std::to_string(at + 1) + ": ";
}

std::unexpected<Error> unknown(std::string_view wanted, std::size_t at, TemplateUse use) {
  std::vector<std::string_view> known;
  for (const auto& [known_name, field] : kNames)
    if (use == TemplateUse::signature || !is_of_the_request(field)) known.push_back(known_name);
  std::string text = place(at) + "there is no such value";
  if (const std::string_view close = nearest(wanted, known); !close.empty())
    text.append(", did you mean {").append(close).append("}?");
  else
    text.append(", there are {title}, {body}, {data.NAME}, {phone}, {nid} and others");
  return fail(Errc::invalid, std::move(text));
}

std::optional<TemplateField> field_from(std::string_view text) {
  const auto* const found =
      std::ranges::find(kNames, text, &std::pair<std::string_view, TemplateField>::first);
  if (found == kNames.end() || found->second == TemplateField::data_member) return std::nullopt;
  return found->second;
}

}  // namespace

std::string_view name(TemplateField field) {
  return kNames.at(static_cast<std::size_t>(field)).first;
}

bool TextTemplate::uses(TemplateField field) const {
  return std::ranges::any_of(parts_, [field](const TemplatePart& p) { return p.field == field; });
}

bool TextTemplate::may_vanish() const {
  return parts_.size() == 1 && parts_.front().optional;
}

Result<void> TextTemplate::add_place(std::string_view inside, std::size_t at, TemplateUse use) {
  TemplatePart part;
  const std::string_view whole = inside;
  if (inside.ends_with('?')) {
    part.optional = true;
    inside.remove_suffix(1);
  }
  if (inside.starts_with(kJson)) {
    part.json = true;
    inside.remove_prefix(kJson.size());
    if (use != TemplateUse::json)
      return fail(Errc::invalid, place(at) + "{json:...} may stand in a JSON body only");
  }
  const bool as_text = inside.starts_with(kText);
  if (as_text) inside.remove_prefix(kText.size());
  if (inside.starts_with(kData) && inside.size() > kData.size()) {
    part.field = TemplateField::data_member;
    part.text = inside.substr(kData.size());
  } else {
    part.field = field_from(inside);
  }
  if (!part.field || (is_of_the_request(*part.field) && use != TemplateUse::signature))
    return unknown(whole, at, use);
  const bool of_data =
      part.field == TemplateField::data || part.field == TemplateField::data_member;
  if (as_text && (part.json || part.field != TemplateField::data))
    return fail(Errc::invalid, place(at) + "only {text:data} is JSON in a text");
  if (part.json && !of_data && part.field != TemplateField::ttl)
    return fail(Errc::invalid,
                place(at) + "only {json:data}, {json:data.NAME} and {json:ttl} are JSON");
  if (part.field == TemplateField::ttl && use == TemplateUse::signature)
    return fail(Errc::invalid, place(at) + "{ttl} may not be signed by itself");
  if (part.field == TemplateField::data && !part.json && !as_text)
    return fail(Errc::invalid,
                place(at) +
                    "data is an object: write {data.NAME} for one of its members, {json:data} in a "
                    "JSON body, or {text:data} for a text that holds JSON");
  parts_.push_back(std::move(part));
  return {};
}

Result<TextTemplate> TextTemplate::parse(std::string_view text, TemplateUse use) {
  if (text.size() > kLongestTemplate) return fail(Errc::invalid, "longer than 64 KiB");
  TextTemplate out;
  out.source_ = text;
  std::string literal;
  const auto flush = [&] {
    if (!literal.empty()) out.parts_.push_back({.text = std::exchange(literal, {})});
  };
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const bool doubled = at + 1 < text.size() && text[at + 1] == c;
    if ((c != '{' && c != '}') || doubled) {
      literal.push_back(c);
      at += c == '{' || c == '}' ? 2 : 1;
      continue;
    }
    const std::size_t end = c == '{' ? text.find_first_of("{}", at + 1) : std::string_view::npos;
    if (end == std::string_view::npos || text[end] != '}')
      return fail(Errc::invalid, place(at) + "a single brace: write {NAME}, or double the brace");
    flush();
    SO_CHECK(out.add_place(text.substr(at + 1, end - at - 1), at, use));
    at = end + 1;
  }
  flush();
  const bool has_json =
      std::ranges::any_of(out.parts_, [](const TemplatePart& p) { return p.json; });
  if (has_json && out.parts_.size() != 1)
    return fail(Errc::invalid, "{json:...} must be the whole text");
  return out;
}

}  // namespace sendonce
