#include "plugin/cli/envelope.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "classifiers/fcm/fcm_payload.hpp"
#include "config/collapse.hpp"
#include "config/credentials.hpp"
#include "plugin/cli/output.hpp"
#include "plugin/message/decode.hpp"
#include "plugin/message/key.hpp"
#include "plugin/module/compose.hpp"

namespace sendonce::cli {
namespace {

using Json = nlohmann::ordered_json;

Result<Json> data_of(const std::vector<std::string>& members) {
  Json data = Json::object();
  for (const std::string& m : members) {
    const std::size_t equals = m.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(Errc::invalid, "--data: NAME=VALUE is wanted");
    data[m.substr(0, equals)] = m.substr(equals + 1);
  }
  return data;
}

struct Destinations {
  const char* channel;
  const char* member;  // of a target
  const char* kind;    // of a target that names no provider
  const std::vector<std::string>& given;
};

Destinations destinations_of(const PublishOptions& o) {
  if (!o.phones.empty()) return {"sms", "phone", "sms", o.phones};
  if (!o.emails.empty()) return {"email", "email", "email", o.emails};
  if (!o.urls.empty()) return {"webhook", "url", "http", o.urls};
  return {"push", "token", "", o.tokens};
}

Result<std::string> envelope_from_options(const PublishOptions& o) {
  SO_TRY(const Json data, data_of(o.data));
  const Destinations to = destinations_of(o);
  Json j{{"event_id", o.event}, {"recipient", o.recipient}, {"channel", to.channel}};
  const auto add = [&j](const char* member, const std::string& value) {
    if (!value.empty()) j[member] = value;
  };
  add("template", o.template_id);
  add("campaign_id", o.campaign);
  add("expires_at", o.expires_at);
  j["targets"] = Json::array();
  const bool named = !o.provider.empty() || *to.kind == '\0';
  for (const std::string& destination : to.given)
    j["targets"].push_back(
        {{named ? "provider" : "kind", named ? o.provider : to.kind}, {to.member, destination}});
  j["notification"] = {{"title", o.title}, {"body", o.body}, {"data", data}};
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Of the route that the target may take; null: none.
const ProviderConfig* provider_of(const Config& config, const ClassConfig& of, Channel channel,
                                  const Target& t) {
  const auto route = of.route.find(channel);
  if (route == of.route.end()) return nullptr;
  for (const std::string& wanted : route->second) {
    const auto it = std::ranges::find(config.providers, wanted, &ProviderConfig::name);
    if (it == config.providers.end()) continue;
    if (t.kind ? it->kind == *t.kind : it->name == t.provider) return &*it;
  }
  return nullptr;
}

// The body that the provider would be asked to take.
Result<void> check_payload(Provider& provider, const Attempt& attempt, WallTime now) {
  if (provider.capabilities().kind == ProviderKind::fcm) {
    SO_CHECK(fcm_payload(attempt.notification, {.token = attempt.target.destination.expose()}));
    return {};
  }
  static_cast<void>(provider.needs_auth(now));
  if (!provider.ready(now)) return {};
  SO_CHECK(provider.prepare(attempt, now));
  return {};
}

Result<void> check_target(const ProviderSlot& slot, const Notification& note, Target& target,
                          const ClassConfig& of, const NidDigest& nid) {
  SO_TRY(target.destination, slot.provider->normal_form(target));
  std::string collapse = note.collapse.empty() ? expand_collapse(of.collapse, note) : note.collapse;
  if (collapse.empty()) collapse = collapse_from(nid);
  const WallTime now = make_system_clock()->wall();
  const Key key{};
  return check_payload(*slot.provider,
                       {.notification = note,
                        .target = target,
                        .key = key,
                        .nid = nid,
                        .collapse = collapse,
                        .deadline = now + of.expires,
                        .stored = now},
                       now);
}

std::string place(std::size_t target) {
  return "$.targets[" + std::to_string(target) + "]: ";
}

}  // namespace

Result<std::string> envelope_of(const PublishOptions& options) {
  return options.file.empty() ? envelope_from_options(options)
                              : read_all(options.file, kEnvelopeMax);
}

Judgement judge_envelope(const Config& config, const ClassConfig& of, const std::string& envelope) {
  auto decoded = EnvelopeDecoder().decode(envelope);
  if (!decoded) return {.refused = std::move(decoded.error().text)};
  Notification& note = *decoded;
  if (note.expires_at && *note.expires_at <= make_system_clock()->wall())
    return {.refused = "$.expires_at: the time has passed, it would not be sent"};
  std::vector<const ProviderConfig*> providers;
  for (std::size_t i = 0; i < note.targets.size(); ++i) {
    providers.push_back(provider_of(config, of, note.channel, note.targets[i]));
    if (providers.back() == nullptr)
      return {.refused = place(i) + "no such provider on the " + std::string(name(note.channel)) +
                         " route of class " + of.name};
  }
  const auto recipe = make_recipe(of.key_scope, of.key);
  if (!recipe) return {.refused = recipe.error().text};
  KeyMaker keys{Credential(std::string(32, '\0'))};  // only whether there is a key matters
  const auto nid = keys.nid_digest(*recipe, note);
  if (!nid) return {.refused = nid.error().text};

  ApnsTokenSources tokens;
  const auto composed = compose(config, credentials_directory(), tokens);
  if (!composed)
    return {.unchecked = "tokens and payload are not checked: " + composed.error().text};
  for (std::size_t i = 0; i < note.targets.size(); ++i) {
    const auto at = static_cast<std::size_t>(providers[i] - config.providers.data());
    const auto good = check_target(composed->slots[at], note, note.targets[i], of, *nid);
    if (!good) return {.refused = place(i) + good.error().text};
  }
  return {};
}

}  // namespace sendonce::cli
