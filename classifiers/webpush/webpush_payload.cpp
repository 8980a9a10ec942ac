#include "classifiers/webpush/webpush_payload.hpp"

#include "classifiers/json_patch.hpp"
#include "classifiers/overrides.hpp"
#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

void append_text(std::string& out, std::string_view name, std::string_view text) {
  if (text.empty()) return;
  out.append(",\"").append(name).append("\":");
  append_json_string(out, text);
}

void append_data(std::string& out, const std::vector<DataMember>& data) {
  if (data.empty()) return;
  out.append(R"(,"data")");
  char before = '{';
  out.push_back(':');
  for (const auto& [name, value] : data) {
    out.push_back(before);
    append_json_string(out, name);
    out.append(":").append(value);
    before = ',';
  }
  out.push_back('}');
}

}  // namespace

Result<std::string> webpush_payload(const Notification& notification, std::string_view nid,
                                    std::string_view collapse) {
  const Content& content = notification.content;
  std::string out = R"({"nid":)";
  append_json_string(out, nid);
  append_text(out, "tag", collapse);
  append_text(out, "title", content.title);
  append_text(out, "body", content.body);
  append_data(out, content.data);
  out.push_back('}');
  const std::string_view overrides = overrides_of(notification, ProviderKind::webpush);
  if (overrides.empty()) return out;
  SO_TRY(const JsonTree merged, patched(out, overrides, "overrides.webpush"));
  if (merged.string_at("nid") != nid)
    return fail(Errc::invalid, "overrides.webpush may not change nid");
  out.clear();
  append_json(out, merged);
  return out;
}

}  // namespace sendonce
