#include "plugin/module/admin_verbs.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "plugin/core/text.hpp"
#include "plugin/message/key.hpp"

namespace sendonce {
namespace {

constexpr std::int64_t kRowsDefault = 100;
constexpr std::int64_t kRowsMax = 10'000;

using Json = nlohmann::ordered_json;

Json time_json(WallTime t) {
  return t == WallTime{} ? Json(nullptr) : Json(rfc3339(t));
}

std::optional<State> state_from(std::string_view text) {
  for (const State s : {State::claimed, State::waiting, State::accepted, State::failed,
                        State::unknown, State::suppressed})
    if (name(s) == text) return s;
  return std::nullopt;
}

Json held_json(const std::vector<HeldDelivery>& deliveries) {
  Json out = Json::array();
  for (const HeldDelivery& d : deliveries)
    out.push_back({{"class", d.class_name},
                   {"stream", d.stream},
                   {"sequence", d.sequence},
                   {"target", d.target},
                   {"provider", d.provider},
                   {"doing", d.doing},
                   {"reason", d.reason}});
  return out;
}

}  // namespace

Result<Key> key_from(const std::string& text) {
  const auto bytes = unhex(text);
  if (!bytes || bytes->size() != Key::kSize)
    return fail(Errc::invalid, "key: 64 hex digits are wanted, as `sendonce key` prints them");
  Key key;
  std::copy(bytes->begin(), bytes->end(), key.bytes.begin());
  return key;
}

std::string row_json(std::string_view scope, const Row& row) {
  Json receipts = Json::array();
  for (const Receipt& r : row.receipts)
    receipts.push_back({{"at", rfc3339(r.at)},
                        {"verdict", name(r.verdict)},
                        {"effect", name(r.effect)},
                        {"message_id", r.message_id}});
  const Json j{{"key", hex(row.key.view())},
               {"nid", uuid_text(row.nid.bytes)},
               {"scope", scope},
               {"class", row.message_class},
               {"provider", row.provider},
               {"ref", row.ref},
               {"state", name(row.state)},
               {"effect", name(row.effect)},
               {"fault", name(row.fault)},
               {"reason", row.reason},
               {"attempts", row.attempts},
               {"revision", row.revision},
               {"dead_letter", name(row.dead_letter)},
               {"created", time_json(row.created)},
               {"lease_end", time_json(row.lease_end)},
               {"next_at", time_json(row.next_at)},
               {"deadline", time_json(row.deadline)},
               {"ended", time_json(row.ended)},
               {"keep_until", time_json(row.keep_until)},
               {"receipts", std::move(receipts)}};
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<RowFilter> filter_from(const AdminRequest& request, const LedgerSecret& secret) {
  RowFilter filter;
  SO_TRY(const std::string key, request.text_or("key", ""));
  SO_TRY(const std::string event, request.text_or("event", ""));
  SO_TRY(const std::string recipient, request.text_or("recipient", ""));
  SO_TRY(const std::string state, request.text_or("state", ""));
  SO_TRY(const std::string scope, request.text_or("scope", ""));
  KeyMaker keys{Credential(secret.expose())};
  if (!key.empty()) {
    SO_TRY(filter.key, key_from(key));
  }
  if (!event.empty()) filter.event = keys.event_lookup(event);
  if (!recipient.empty()) filter.recipient = keys.recipient_lookup(recipient);
  if (!scope.empty()) filter.scope = scope;
  if (!state.empty()) {
    filter.state = state_from(state);
    if (!filter.state)
      return fail(Errc::invalid,
                  "state: one of claimed, waiting, accepted, failed, unknown, suppressed");
  }
  return filter;
}

Result<void> list_rows(const LmdbLedger& ledger, const HeldLookup& held, const Clock& clock,
                       const AdminRequest& request, AdminReply& reply) {
  SO_TRY(const RowFilter filter, filter_from(request, ledger.secret()));
  SO_TRY(std::int64_t limit, request.number_or("limit", kRowsDefault));
  limit = std::clamp<std::int64_t>(limit, 1, kRowsMax);
  std::int64_t shown = 0;
  bool more = false;
  ScanLimit patience(clock);
  const auto visit = [&](std::string_view scope, const Row& row) {
    if (shown == limit || !reply.item(row_json(scope, row))) {
      more = true;
      return false;
    }
    ++shown;
    return true;
  };
  SO_CHECK(ledger.scan(filter, visit, [&] { return patience.goes_on(); }));
  Json result{{"rows", shown}, {"more", more || patience.cut()}};
  if (patience.cut()) result["ended_early"] = kScanCut;
  if (request.verb == "inspect" && filter.event) result["held"] = held_json(held(*filter.event));
  reply.result(result.dump(-1, ' ', false, Json::error_handler_t::replace));
  return {};
}

}  // namespace sendonce
