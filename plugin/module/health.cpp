#include "plugin/module/health.hpp"

#include "plugin/core/text.hpp"
#include "plugin/core/verdict.hpp"
#include "plugin/module/status.hpp"

namespace sendonce {
namespace {

bool has_begun(std::int32_t state) {
  return state == SENDONCE_STATE_READY || state == SENDONCE_STATE_WAITING;
}

void add_providers(const HealthInput& in, std::vector<HealthReason>& out) {
  for (std::size_t i = 0; i < in.report.providers.size(); ++i)
    for (const auto& [part, hold] : in.report.providers[i].holds) {
      std::string text = "held";
      if (!part.empty()) text.append(" in part ").append(part);
      text.append(" (").append(name(hold.fault)).append("): ").append(hold.reason);
      out.push_back({"provider." + in.config.providers[i].name, std::move(text)});
    }
}

void add_classes(const HealthInput& in, std::vector<HealthReason>& out) {
  for (std::size_t i = 0; i < in.report.classes.size(); ++i) {
    const std::string& why = in.report.classes[i].not_ready;
    if (in.lanes[i].ready && why.empty()) continue;
    out.push_back({"class." + in.config.classes[i].name, why.empty() ? in.lanes[i].reason : why});
  }
  const auto& reports = in.report.device_reports;
  const std::string why = reports ? reports->not_ready : std::string();
  for (std::size_t i = in.report.classes.size(); i < in.lanes.size(); ++i)
    if (!in.lanes[i].ready || !why.empty())
      out.push_back({std::string(kReportsLane), why.empty() ? in.lanes[i].reason : why});
}

}  // namespace

std::vector<HealthReason> reasons_against(const HealthInput& in) {
  std::vector<HealthReason> out;
  if (!has_begun(in.state.state)) {
    std::string text(state_name(in.state.state));
    if (!in.state.reason.empty() && in.state.reason != text) text.append(": ") += in.state.reason;
    out.push_back({"instance", std::move(text)});
  }
  if (!in.nats_connected) out.push_back({"nats", "not connected"});
  const LedgerStats& ledger = in.report.ledger;
  if (ledger.claims_stopped)
    out.push_back({"ledger", "no room for new claims: the map or the disk is nearly full"});
  add_classes(in, out);
  add_providers(in, out);
  return out;
}

HttpReply health_reply(bool ok, const std::vector<HealthReason>& reasons) {
  HttpReply reply{.status = ok ? 200 : 503};
  reply.body = ok ? R"({"ok":true,"reasons":[)" : R"({"ok":false,"reasons":[)";
  for (const HealthReason& reason : reasons) {
    if (!reply.body.ends_with('[')) reply.body.push_back(',');
    reply.body.append(R"({"name":)");
    append_json_string(reply.body, reason.name);
    reply.body.append(R"(,"text":)");
    append_json_string(reply.body, reason.text);
    reply.body.push_back('}');
  }
  reply.body.append("]}\n");
  return reply;
}

}  // namespace sendonce
