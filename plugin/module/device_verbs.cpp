#include "plugin/module/device_verbs.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "plugin/core/text.hpp"
#include "plugin/message/decode.hpp"
#include "plugin/module/admin_verbs.hpp"
#include "plugin/module/audit_verbs.hpp"

namespace sendonce {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kDevicesDefault = 100;
constexpr std::int64_t kDevicesMax = 10'000;

Json device_json(const DeviceHash& hash, const std::optional<DeviceRow>& row) {
  Json out{{"hash", hex(hash.view())}, {"state", row ? name(row->state) : "active"}};
  out["since"] = row ? Json(rfc3339(row->since)) : Json(nullptr);
  out["registered_at"] =
      row && row->registered_at ? Json(rfc3339(*row->registered_at)) : Json(nullptr);
  return out;
}

Result<std::uint16_t> provider_of(const OperatorView& view, const std::string& name) {
  const auto at = std::ranges::find(view.providers, name, &OperatorView::Provider::name);
  if (at == view.providers.end())
    return fail(Errc::invalid, "provider: there is no [provider." + name + "]");
  return static_cast<std::uint16_t>(at - view.providers.begin());
}

Result<DeviceHash> hash_from(const std::string& text) {
  const auto bytes = unhex(text);
  if (!bytes || bytes->size() != DeviceHash::kSize)
    return fail(Errc::invalid, "hash: 32 hex digits are wanted, as events of devices have them");
  DeviceHash hash;
  std::ranges::copy(*bytes, hash.bytes.begin());
  return hash;
}

std::string_view channel_of(const Json& target) {
  if (target.contains("phone")) return "sms";
  if (target.contains("email")) return "email";
  return target.contains("url") ? "webhook" : "push";
}

// Read as a target of an envelope is, so that it is hashed as one.
Result<Target> target_from(const std::string& text, const std::string& provider) {
  Json target = Json::parse(text, nullptr, false);
  if (!target.is_object()) return fail(Errc::invalid, "target: a JSON object is wanted");
  target["provider"] = provider;
  const Json envelope{{"event_id", "-"},
                      {"recipient", "-"},
                      {"channel", channel_of(target)},
                      {"template", "-"},
                      {"notification", {{"title", "-"}}},
                      {"targets", Json::array({target})}};
  auto note =
      EnvelopeDecoder().decode(envelope.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (!note) return fail(Errc::invalid, "target: not one of provider " + provider);
  return std::move(note->targets.front());
}

struct Named {
  DeviceHash hash{};
  std::optional<std::uint16_t> provider{};
};

Result<Named> device_in(const OperatorView& view, const DeviceHasher& hasher,
                        const AdminRequest& request) {
  SO_TRY(const std::string provider, request.text_or("provider", ""));
  SO_TRY(const std::string text, request.text_or("hash", ""));
  SO_TRY(const std::string target, request.text_or("target", ""));
  if (text.empty() == target.empty())
    return fail(Errc::invalid, "a device is named by its hash or by its token: one of them");
  Named out;
  if (!provider.empty()) {
    SO_TRY(out.provider, provider_of(view, provider));
  }
  if (!text.empty()) {
    SO_TRY(out.hash, hash_from(text));
    return out;
  }
  if (!out.provider) return fail(Errc::invalid, "provider: a token belongs to one (--provider)");
  SO_TRY(const Target read, target_from(target, provider));
  SO_TRY(out.hash, hasher(*out.provider, read));
  return out;
}

Result<void> show(const OperatorView& view, const DeviceHasher& hasher, EngineThread& engine,
                  const AdminRequest& request, AdminReply& reply) {
  SO_TRY(const Named device, device_in(view, hasher, request));
  SO_TRY(const FoundDevice found, ask_ledger<FoundDevice>(engine, FindDevice{device.hash}));
  reply.result(device_json(device.hash, found.row).dump());
  return {};
}

Result<void> list(const LmdbLedger& ledger, const Clock& clock, const AdminRequest& request,
                  AdminReply& reply) {
  SO_TRY(const std::string wanted, request.text_or("state", ""));
  SO_TRY(std::int64_t limit, request.number_or("limit", kDevicesDefault));
  limit = std::clamp<std::int64_t>(limit, 1, kDevicesMax);
  const auto state = device_state_from(wanted);
  if (!wanted.empty() && !state)
    return fail(Errc::invalid, "state: one of active, invalid, mismatch, suspect, revoked");
  std::int64_t shown = 0;
  bool more = false;
  ScanLimit patience(clock);
  const auto visit = [&](const DeviceHash& hash, const DeviceRow& row) {
    if (row.state != state.value_or(row.state)) return true;
    if (!state && row.state == DeviceState::active) return true;  // no exception any more
    if (shown == limit || !reply.item(device_json(hash, row).dump())) {
      more = true;
      return false;
    }
    ++shown;
    return true;
  };
  SO_CHECK(ledger.scan_devices(visit, [&] { return patience.goes_on(); }));
  Json result{{"devices", shown}, {"more", more || patience.cut()}};
  if (patience.cut()) result["ended_early"] = kScanCut;
  reply.result(result.dump());
  return {};
}

Result<void> set(const OperatorView& view, const DeviceHasher& hasher, EngineThread& engine,
                 Log& log, const AdminRequest& request, AdminReply& reply) {
  SO_TRY(const Signature signature, signature_of(request, true));
  SO_TRY(const std::string wanted, request.text("state"));
  const auto state = device_state_from(wanted);
  if (!state)
    return fail(Errc::invalid, "state: one of active, invalid, mismatch, suspect, revoked");
  SO_TRY(const Named device, device_in(view, hasher, request));
  if (!device.provider) return fail(Errc::invalid, "provider: whose device it is (--provider)");
  const OperatorView::Provider& provider = view.providers[*device.provider];
  const std::string note = signed_text("called " + wanted, signature);
  AuditEntry entry = audit_of(request, view.now);
  entry.object = hex(device.hash.view());
  entry.detail = wanted + ", provider " + provider.name;
  SO_TRY(const FoundDevice before,
         ask_ledger<FoundDevice>(engine, SetDevice{.hash = device.hash,
                                                   .kind = provider.kind,
                                                   .provider = provider.name,
                                                   .state = *state,
                                                   .text = note,
                                                   .audit = std::move(entry)}));
  log.warn("admin.device_set", {{"hash", hex(device.hash.view())}, {"what", note}});
  reply.result(Json{{"hash", hex(device.hash.view())},
                    {"state", wanted},
                    {"before", before.row ? name(before.row->state) : "active"}}
                   .dump());
  return {};
}

}  // namespace

bool is_device_verb(std::string_view verb) {
  return verb == "device_show" || verb == "device_list" || verb == "device_set";
}

Result<void> serve_devices(const OperatorView& view, const DeviceHasher& hasher,
                           EngineThread& engine, const LmdbLedger& ledger, const Clock& clock,
                           Log& log, const AdminRequest& request, AdminReply& reply) {
  if (request.verb == "device_show") return show(view, hasher, engine, request, reply);
  if (request.verb == "device_list") return list(ledger, clock, request, reply);
  return set(view, hasher, engine, log, request, reply);
}

}  // namespace sendonce
