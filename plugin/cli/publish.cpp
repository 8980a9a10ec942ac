#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>
#include <sysexits.h>

#include "config/credentials.hpp"
#include "plugin/broker/nats/publisher.hpp"
#include "plugin/cli/commands.hpp"
#include "plugin/cli/envelope.hpp"
#include "plugin/cli/output.hpp"
#include "plugin/core/text.hpp"
#include "plugin/message/decode.hpp"
#include "plugin/message/key.hpp"
#include "plugin/module/compose.hpp"

namespace sendonce::cli {
namespace {

constexpr std::size_t kEnvelopeMax = 256UL << 10U;

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

// The first class subject with its wildcards filled in.
std::string subject_of(const ClassConfig& c, const std::string& tail) {
  std::string subject;
  std::size_t at = 0;
  while (at <= c.subject.size()) {
    const std::size_t dot = std::min(c.subject.find('.', at), c.subject.size());
    const std::string token = c.subject.substr(at, dot - at);
    if (!subject.empty()) subject.push_back('.');
    subject += token == "*" || token == ">" ? tail : token;
    at = dot + 1;
  }
  return subject;
}

const ClassConfig* find_class(const Config& config, const std::string& name) {
  const auto it = std::ranges::find(config.classes, name, &ClassConfig::name);
  return it == config.classes.end() ? nullptr : &*it;
}

Error no_class(const std::string& name) {
  return {Errc::invalid, "no [class." + name + "] in the configuration"};
}

// False: the target has no key, and standard error says why.
bool print_key(const Composition& composed, const Target& t, std::size_t number, KeyMaker& keys,
               const NidDigest& digest) {
  const auto slot = std::ranges::find_if(composed.slots, [&](const ProviderSlot& s) {
    return t.kind ? s.config.kind == *t.kind : s.config.name == t.provider;
  });
  if (slot == composed.slots.end()) {
    std::fprintf(stderr, "sendonce: targets[%zu]: no such provider in the configuration\n", number);
    return false;
  }
  const auto normal = slot->provider->normal_form(t);
  if (!normal) {
    std::fprintf(stderr, "sendonce: targets[%zu]: %s\n", number, normal.error().text.c_str());
    return false;
  }
  const Key k = keys.delivery_key(digest, slot->config.kind, slot->provider->app_scope(), *normal);
  const Json out{{"target", number},
                 {"provider", slot->config.name},
                 {"nid", uuid_text(nid_from(digest).bytes)},
                 {"key", hex(k.view())}};
  std::printf("%s\n", out.dump().c_str());
  return true;
}

}  // namespace

Result<std::string> envelope_of(const PublishOptions& options) {
  std::string envelope;
  if (!options.file.empty()) {
    SO_TRY(envelope, read_all(options.file, kEnvelopeMax));
  } else {
    SO_TRY(const Json data, data_of(options.data));
    Json j{{"event_id", options.event},
           {"recipient", options.recipient},
           {"channel", "push"},
           {"template", options.template_id},
           {"targets", Json::array()},
           {"notification", {{"title", options.title}, {"body", options.body}, {"data", data}}}};
    for (const std::string& t : options.tokens)
      j["targets"].push_back({{"provider", options.provider}, {"token", t}});
    if (!options.expires_at.empty()) j["expires_at"] = options.expires_at;
    envelope = j.dump();
  }
  SO_CHECK(EnvelopeDecoder().decode(envelope));
  return envelope;
}

int publish(const Common& common, const PublishOptions& options) {
  const auto config = load(common.config, Surroundings::ignore);
  if (!config) return EX_CONFIG;
  const ClassConfig* c = find_class(*config, options.message_class);
  if (c == nullptr) return failed(no_class(options.message_class));
  const auto envelope = envelope_of(options);
  if (!envelope) return failed(envelope.error());
  auto connection = connection_of(*config, credentials_directory());
  if (!connection) return failed(connection.error());
  auto client = Publisher::connect(std::move(*connection));
  if (!client) return failed(client.error());
  const auto stored = (*client)->publish(
      {.subject = subject_of(*c, "cli"), .message_id = options.message_id, .body = *envelope});
  if (!stored) return failed(stored.error());
  const Json out{
      {"stream", stored->stream}, {"sequence", stored->seq}, {"duplicate", stored->duplicate}};
  std::printf("%s\n", out.dump().c_str());
  return EX_OK;
}

int key(const Common& common, const KeyOptions& options) {
  const auto config = load(common.config, Surroundings::ignore);
  if (!config) return EX_CONFIG;
  const ClassConfig* c = find_class(*config, options.message_class);
  if (c == nullptr) return failed(no_class(options.message_class));
  const auto text = read_all(options.file, kEnvelopeMax);
  if (!text) return failed(text.error());
  const auto note = EnvelopeDecoder().decode(*text);
  if (!note) return failed(note.error());
  ApnsTokenSources tokens;
  const auto composed = compose(*config, credentials_directory(), tokens);
  if (!composed) return failed(composed.error());
  const ClassPolicy& policy =
      composed->classes[static_cast<std::size_t>(c - config->classes.data())];
  KeyMaker keys{Credential(std::string(32, '\0'))};  // push keys hold no keyed part
  const auto digest = keys.nid_digest(policy.recipe, *note);
  if (!digest) return failed(digest.error());
  bool all = true;
  for (std::size_t i = 0; i < note->targets.size(); ++i)
    all = print_key(*composed, note->targets[i], i, keys, *digest) && all;
  return all ? EX_OK : EX_DATAERR;
}

}  // namespace sendonce::cli
