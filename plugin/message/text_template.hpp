// A text with places for what a notification says: "Your code is {data.code}". Parsed once, when
// the configuration is read; filled in by the provider, which escapes each value by where it goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/core/error.hpp"

namespace sendonce {

enum class TemplateField : std::uint8_t {
  title,
  body,
  html,
  data,          // the whole object: {json:data}, or {text:data} in a text
  data_member,   // {data.NAME}
  phone,         // E.164, with its +
  phone_digits,  // without it
  email,
  url,
  token,  // of a device
  ref,
  nid,
  key,  // of the delivery: 64 hex digits
  event_id,
  recipient,
  template_id,
  campaign_id,
  collapse,
  ttl,  // whole seconds until the deadline: fewer on every attempt
  // Of the request that is being signed.
  request_method,
  request_path,
  request_body,
  timestamp,  // seconds since 1970
};
[[nodiscard]] std::string_view name(TemplateField field);

struct TemplatePart {
  std::string text{};  // between the places, or the member's name in {data.NAME}
  std::optional<TemplateField> field{};
  bool optional = false;  // {title?}: may be missing
  bool json = false;      // {json:data.NAME}: the JSON value as the message has it; {json:ttl}
  friend bool operator==(const TemplatePart&, const TemplatePart&) = default;
};

enum class TemplateUse : std::uint8_t {
  text,       // a header, a form value, a part of the URL
  json,       // a leaf of a JSON body: {json:...} is allowed, alone
  signature,  // what is signed: {request.*} and {timestamp} are allowed
};

class TextTemplate {
 public:
  TextTemplate() = default;
  // invalid: what is wrong and at which character. "{{" and "}}" stand for single braces.
  [[nodiscard]] static Result<TextTemplate> parse(std::string_view text, TemplateUse use);

  [[nodiscard]] const std::string& source() const noexcept { return source_; }
  [[nodiscard]] const std::vector<TemplatePart>& parts() const noexcept { return parts_; }
  [[nodiscard]] bool empty() const noexcept { return parts_.empty(); }
  [[nodiscard]] bool uses(TemplateField field) const;
  // Nothing but one optional place: what it stands in is left out with it.
  [[nodiscard]] bool may_vanish() const;
  friend bool operator==(const TextTemplate&, const TextTemplate&) = default;

 private:
  [[nodiscard]] Result<void> add_place(std::string_view inside, std::size_t at, TemplateUse use);

  std::string source_{};
  std::vector<TemplatePart> parts_{};
};

}  // namespace sendonce
