#include "plugin/module/status.hpp"

#include <array>

#include <nlohmann/json.hpp>

#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

using Json = nlohmann::ordered_json;

// Reasons may hold what others wrote; one wrong byte must not keep everybody from reading.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json class_json(const ClassConfig& c, const ClassReport& r, const LaneState& lane) {
  const ClassCounters& n = r.counters;
  return {{"name", c.name},
          {"ready", r.not_ready.empty()},
          {"reason", r.not_ready},
          {"paused", r.paused},
          {"held", r.held},
          {"oldest_held", r.oldest_held ? Json(rfc3339(*r.oldest_held)) : Json(nullptr)},
          {"pending", lane.pending},
          {"ack_pending", lane.ack_pending},
          {"received", n.received},
          {"redelivered", n.redelivered},
          {"undecodable", n.undecodable},
          {"targets", n.targets},
          {"claimed", n.claimed},
          {"taken_over", n.taken_over},
          {"calls", n.calls},
          {"repeats_in_doubt", n.repeats_in_doubt},
          {"looks_undecided", n.looks[0]},
          {"looks_absent", n.looks[1]},
          {"looks_found", n.looks[2]},
          {"failovers", n.failovers},
          {"accepted", n.accepted},
          {"failed", n.failed},
          {"unknown", n.unknown},
          {"suppressed", n.suppressed},
          {"conflicts", n.conflicts},
          {"duplicates_suppressed", n.duplicates_suppressed},
          {"found_ended", n.found_ended},
          {"fenced", n.fenced},
          {"dead_letters", n.dead_letters},
          {"acked", n.acked},
          {"postponed", n.postponed},
          {"forgotten", n.forgotten}};
}

Json provider_json(const ProviderConfig& c, const ProviderReport& r) {
  Json verdicts = Json::object();
  for (std::size_t i = 0; i < r.counters.verdicts.size(); ++i)
    verdicts[std::string(name(static_cast<VerdictClass>(i)))] = r.counters.verdicts[i];
  Json holds = Json::array();
  for (const auto& [part, hold] : r.holds)
    holds.push_back({{"part", part}, {"fault", name(hold.fault)}, {"reason", hold.reason}});
  return {{"name", c.name},
          {"kind", name(c.kind)},
          {"connections", r.pool.connections},
          {"in_flight", r.pool.open},
          {"room", r.pool.room},
          {"queued", r.queued},
          {"connects", r.pool.connects},
          {"goaways", r.pool.goaways},
          {"last_error", r.pool.last_error},
          {"holds", std::move(holds)},
          {"paused", r.paused},
          {"invalidations_held", r.invalidations_held},
          {"device_faults_withheld", r.counters.device_faults_withheld},
          {"mismatches", r.mismatches},
          {"mismatches_withheld", r.counters.mismatches_withheld},
          {"devices_reused", r.counters.devices_reused},
          {"verdicts", std::move(verdicts)},
          {"calls_by_duration", r.counters.calls.counts()}};
}

Json ledger_json(const std::string& id, const LedgerStats& s) {
  return {{"id", id},
          {"rows", s.rows},
          {"open_rows", s.open_rows},
          {"outbox_entries", s.outbox_entries},
          {"used_bytes", s.used_bytes},
          {"map_bytes", s.map_bytes},
          {"claims_stopped", s.claims_stopped}};
}

}  // namespace

std::string_view state_name(std::int32_t state) {
  constexpr std::array<std::string_view, 6> kNames{"starting", "ready",   "waiting",
                                                   "draining", "stopped", "failed"};
  SO_ASSERT(state >= 0 && static_cast<std::size_t>(state) < kNames.size());
  return kNames[static_cast<std::size_t>(state)];
}

std::string changes_json(const std::vector<Change>& changes) {
  Json out = Json::array();
  for (const Change& c : changes)
    out.push_back({{"field", c.field}, {"before", c.before}, {"after", c.after}});
  return text_of(Json{{"changes", std::move(out)}});
}

std::string render_status(const StatusInput& in, const EngineReport* report) {
  Json j{{"instance", in.config.instance.name},
         {"state", state_name(in.state.state)},
         {"reason", in.state.reason},
         {"config_hash", in.config.hash}};
  if (report == nullptr) return text_of(j);
  j["started"] = rfc3339(in.started);
  j["time"] = rfc3339(in.now);
  j["ledger"] = ledger_json(in.ledger_id, report->ledger);
  j["events_published"] = report->events_published;
  j["duration_bounds"] = DurationHistogram::kBounds;
  if (const auto& reports = report->device_reports) {
    const DeviceReportCounters& n = reports->counters;
    j["device_reports"] = {{"applied", n.applied},
                           {"unchanged", n.unchanged},
                           {"refused", n.refused},
                           {"ready", reports->not_ready.empty()},
                           {"reason", reports->not_ready}};
  }
  j["classes"] = Json::array();
  for (std::size_t i = 0; i < report->classes.size(); ++i)
    j["classes"].push_back(class_json(in.config.classes[i], report->classes[i],
                                      i < in.lanes.size() ? in.lanes[i] : LaneState{}));
  j["providers"] = Json::array();
  for (std::size_t i = 0; i < report->providers.size(); ++i)
    j["providers"].push_back(provider_json(in.config.providers[i], report->providers[i]));
  return text_of(j);
}

}  // namespace sendonce
