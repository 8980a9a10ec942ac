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

using Json = nlohmann::ordered_json;

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
    std::fprintf(stderr, "sendonce: $.targets[%zu]: no such provider in the configuration\n",
                 number);
    return false;
  }
  if (slot->config.kind == ProviderKind::sms || slot->config.kind == ProviderKind::email) {
    std::fprintf(stderr,
                 "sendonce: $.targets[%zu]: keys of phone numbers and addresses are made with the "
                 "ledger's secret; ask the daemon for the event: sendonce inspect EVENT\n",
                 number);
    return false;
  }
  const auto normal = slot->provider->normal_form(t);
  if (!normal) {
    std::fprintf(stderr, "sendonce: $.targets[%zu]: %s\n", number, normal.error().text.c_str());
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

namespace {

// Options that an envelope cannot do without; empty: all are there.
std::string missing_options(const PublishOptions& o) {
  std::string missing;
  const auto need = [&missing](bool given, const char* option) {
    if (!given) missing += (missing.empty() ? "" : ", ") + std::string(option);
  };
  need(!o.event.empty(), "--event");
  need(!o.recipient.empty(), "--recipient");
  const bool other = !o.phones.empty() || !o.emails.empty() || !o.urls.empty();
  need(other || !o.provider.empty(), "--provider");
  need(other || !o.tokens.empty(), "--token (or --phone, --email or --url alone)");
  return missing;
}

int refused(const std::string& why) {
  return failed({Errc::invalid, why + "; nothing was published (--unchecked does, to see what "
                                      "becomes of it)"});
}

}  // namespace

int publish(const Common& common, const PublishOptions& options) {
  const auto config = load(common.config, Surroundings::ignore);
  if (!config) return EX_CONFIG;
  const ClassConfig* c = find_class(*config, options.message_class);
  if (c == nullptr) return failed(no_class(options.message_class));
  const std::string missing =
      options.file.empty() && !options.unchecked ? missing_options(options) : std::string();
  if (!missing.empty())
    return usage_failed("publish", "missing: " + missing + ", or --file with a whole envelope");
  const auto envelope = envelope_of(options);
  if (!envelope) return failed(envelope.error());
  if (!options.unchecked) {
    const Judgement judged = judge_envelope(*config, *c, *envelope);
    if (!judged.refused.empty()) return refused(judged.refused);
    if (!judged.unchecked.empty()) note(judged.unchecked);
  }
  auto connection = connection_of(*config, credentials_directory());
  if (!connection) return failed_config(connection.error());
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
  if (!composed) return failed_config(composed.error());
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
