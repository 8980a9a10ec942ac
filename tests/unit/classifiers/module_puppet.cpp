#include "tests/unit/classifiers/module_puppet.hpp"

#include <cstring>

struct sendonce_provider {
  std::uint32_t number = 0;
};

namespace sendonce::test {
namespace {

std::string text(const sendonce_str& from) {
  return from.size == 0 ? std::string() : std::string(from.data, from.size);
}

void write_error(sendonce_text* out) {
  const Puppet& p = puppet();
  const std::size_t size = std::min<std::size_t>(p.error.size(), out->capacity);
  std::memcpy(out->data, p.error.data(), size);
  if (p.end_error && size < out->capacity) out->data[size] = '\0';
  out->size = p.error.size();
}

sendonce_rc create(const sendonce_provider_config* config, sendonce_provider** out,
                   sendonce_text* error) {
  Puppet& p = puppet();
  p.settings.clear();
  for (std::uint64_t i = 0; i < config->setting_count; ++i)
    p.settings.emplace_back(text(config->settings[i].key), text(config->settings[i].value));
  write_error(error);
  if (p.create_rc != SENDONCE_OK || p.makes_nothing) return p.create_rc;
  *out = new sendonce_provider{};
  ++p.alive;
  return SENDONCE_OK;
}

void destroy(sendonce_provider* instance) {
  --puppet().alive;
  delete instance;
}

void describe(const sendonce_provider*, sendonce_provider_description* out) {
  const std::uint32_t size = out->struct_size;
  *out = puppet().description;
  out->struct_size = size;
}

sendonce_rc prepare(sendonce_provider*, const sendonce_delivery* d, sendonce_request* out,
                    sendonce_text* error) {
  Puppet& p = puppet();
  p.seen = text(d->target->destination) + " " + text(d->target->ref) + " " + text(d->title) + " " +
           text(d->body) + " " + text(d->collapse) + " " + text(d->key).substr(0, 8) + " " +
           text(d->nid).substr(0, 8);
  for (std::uint64_t i = 0; i < d->data_count; ++i)
    p.seen += " " + text(d->data[i].key) + "=" + text(d->data[i].value);
  write_error(error);
  const std::uint32_t size = out->struct_size;
  *out = p.request;
  out->struct_size = size;
  return p.prepare_rc;
}

void classify(sendonce_provider*, const sendonce_target*, const sendonce_answer* answer,
              sendonce_verdict* out) {
  Puppet& p = puppet();
  ++p.asked;
  const bool bare = answer->body.size == 0 && answer->header_count == 0;
  if (!bare || p.asked == 1) {
    p.last_status = answer->status;
    p.last_cause = answer->cause;
    p.last_effect = answer->effect;
  }
  *out = p.by_contents && bare ? p.verdict_of_status : p.verdict;
}

const void* query(sendonce_provider*, const char* name) {
  return std::strcmp(name, SENDONCE_AUTH_1) == 0 ? puppet().auth : nullptr;
}

std::int32_t auth_ready(const sendonce_provider*, std::int64_t) {
  return puppet().has_credential ? 1 : 0;
}

sendonce_rc auth_prepare(sendonce_provider*, std::int64_t, sendonce_request* out, sendonce_text*) {
  *out = puppet().auth_request;
  return SENDONCE_OK;
}

void auth_accept(sendonce_provider*, const sendonce_answer*, sendonce_verdict* out) {
  ++puppet().exchanges;
  *out = puppet().auth_verdict;
}

void auth_refused(sendonce_provider*, std::int64_t) {
  ++puppet().refusals;
  puppet().has_credential = false;
}

constexpr sendonce_provider_api kApi{sizeof kApi, 0,        "puppet", "0.1",    create,
                                     destroy,     describe, prepare,  classify, query};
constexpr sendonce_auth_api kAuth{sizeof kAuth, 0,           auth_ready,
                                  auth_prepare, auth_accept, auth_refused};

}  // namespace

Puppet& puppet() {
  static Puppet only;
  return only;
}

void reset_puppet() {
  puppet() = Puppet{};
  puppet().description.channels = 1U << SENDONCE_CHANNEL_SMS;
  puppet().request.url = c("/send");
  puppet().request.body = c("hello");
  puppet().auth_request.url = c("https://gate.example.com/token");
}

const sendonce_provider_api& puppet_api() {
  return kApi;
}
const sendonce_auth_api& puppet_auth() {
  return kAuth;
}

sendonce_verdict says(std::int32_t verdict, std::int32_t effect) {
  sendonce_verdict v{};
  v.verdict = verdict;
  v.effect = effect;
  return v;
}

sendonce_str c(const char* from) {
  return {from, std::strlen(from)};
}

}  // namespace sendonce::test
