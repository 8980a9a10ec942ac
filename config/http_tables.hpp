// The tables of kind = "http" whose names are free: from TOML into templates, and
// back into TOML in one line. A refusal has the place of the very value that is wrong.
#pragma once

#include <string>
#include <vector>

#include "config/value.hpp"
#include "plugin/message/http_spec.hpp"

namespace sendonce {

[[nodiscard]] Refused read_template(TextTemplate& out, const TomlNode& node, TemplateUse use);
[[nodiscard]] Refused read_templates(NamedTemplates& out, const TomlNode& node);
// As read_templates; names are header names and kept in lower case.
[[nodiscard]] Refused read_header_templates(NamedTemplates& out, const TomlNode& node);
[[nodiscard]] Refused read_json_template(std::optional<JsonTemplate>& out, const TomlNode& node);
[[nodiscard]] Refused read_pointer(std::string& out, const TomlNode& node);
[[nodiscard]] Refused read_header_name(std::string& out, const TomlNode& node);
[[nodiscard]] Refused read_channel(Channel& out, const TomlNode& node);

[[nodiscard]] std::string toml_templates(const NamedTemplates& from);
[[nodiscard]] std::string toml_json(const JsonTemplate& from);

}  // namespace sendonce
