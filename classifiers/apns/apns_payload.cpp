#include "classifiers/apns/apns_payload.hpp"

#include "classifiers/json_patch.hpp"
#include "classifiers/overrides.hpp"
#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

constexpr std::string_view kWake = R"("content-available":1)";

void append_aps(std::string& out, const Content& content, bool wake) {
  out.append(R"({"aps":{)");
  if (content.title.empty() && content.body.empty()) {
    if (wake) out.append(kWake);
  } else {
    out.append(R"("alert":{)");
    if (!content.title.empty()) {
      out.append(R"("title":)");
      append_json_string(out, content.title);
    }
    if (!content.body.empty()) {
      out.append(content.title.empty() ? R"("body":)" : R"(,"body":)");
      append_json_string(out, content.body);
    }
    out.push_back('}');
  }
  out.push_back('}');
}

Result<void> append_data(std::string& out, const std::vector<DataMember>& data) {
  for (const auto& [name, value] : data) {
    if (name == "aps" || name == "nid")
      return fail(Errc::invalid, "notification.data." + name + " is a reserved name");
    out.push_back(',');
    append_json_string(out, name);
    out.push_back(':');
    out.append(value);
  }
  return {};
}

// Whether the person notices anything.
bool is_noticed(const JsonTree& aps) {
  return aps.find("alert") != nullptr || aps.find("sound") != nullptr ||
         aps.find("badge") != nullptr;
}

Result<ApnsPayload> with_overrides(std::string_view payload, std::string_view overrides,
                                   std::string_view nid, bool push_type_given) {
  SO_TRY(JsonTree merged, patched(payload, overrides, "overrides.apns"));
  if (merged.string_at("nid") != nid)
    return fail(Errc::invalid, "overrides.apns may not change nid");
  JsonTree* aps = merged.find("aps");
  if (aps == nullptr || !aps->is(JsonTree::Type::object))
    return fail(Errc::invalid, "overrides.apns.aps must be an object");
  ApnsPayload out;
  out.background = !push_type_given && !is_noticed(*aps);
  if (out.background && aps->find("content-available") == nullptr) {
    JsonTree one;
    one.type = JsonTree::Type::number;
    one.text = "1";
    aps->names.emplace_back("content-available");
    aps->children.push_back(one);
  }
  append_json(out.body, merged);
  return out;
}

}  // namespace

Result<ApnsPayload> apns_payload(const Notification& notification, std::string_view nid,
                                 bool push_type_given) {
  const Content& content = notification.content;
  const std::string_view overrides = overrides_of(notification, ProviderKind::apns);
  ApnsPayload out;
  out.background = !push_type_given && content.title.empty() && content.body.empty();
  std::size_t size = 96 + content.title.size() + content.body.size();
  for (const auto& [name, value] : content.data) size += name.size() + value.size() + 4;
  out.body.reserve(size);
  append_aps(out.body, content, out.background && overrides.empty());
  out.body.append(R"(,"nid":")").append(nid).push_back('"');
  SO_CHECK(append_data(out.body, content.data));
  out.body.push_back('}');
  if (overrides.empty()) return out;
  return with_overrides(out.body, overrides, nid, push_type_given);
}

}  // namespace sendonce
