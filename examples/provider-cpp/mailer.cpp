// A mail service in C++: POST /hook/ADDRESS with JSON, answered with {"id":"..."}.
// c++ -std=c++20 -shared -fPIC -fvisibility=hidden mailer.cpp -o mailer.so
//
// Nothing may be thrown over the boundary: every function that can throw, and std::string can, is
// called through guarded().
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "sendonce/abi/provider.h"

struct sendonce_provider {
  std::string authorization{};
  std::string url{};
  std::string body{};
  sendonce_header headers[2]{};
};

namespace {

std::string_view view(const sendonce_str& text) {
  return {text.data, static_cast<std::size_t>(text.size)};
}

sendonce_str str(std::string_view text) {
  return {text.data(), text.size()};
}

sendonce_rc refuse(sendonce_text* error, std::string_view text) {
  error->size = text.size();
  if (error->capacity == 0) return SENDONCE_E_INVALID;
  const std::size_t size = text.copy(error->data, error->capacity - 1);
  error->data[size] = '\0';
  return SENDONCE_E_INVALID;
}

template <class F>
sendonce_rc guarded(sendonce_text* error, F&& f) noexcept {
  try {
    return f();
  } catch (const std::exception& e) {
    return refuse(error, e.what());
  }
}

void append_json(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += '\\';
    if (byte >= 0x20)
      out += c;
    else
      (out += "\\u00") += {kHex[byte >> 4U], kHex[byte & 15U]};
  }
  out += '"';
}

void append_percent(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    (out += '%') += {kHex[byte >> 4U], kHex[byte & 15U]};
  }
}

sendonce_rc create(const sendonce_provider_config* config, sendonce_provider** out,
                   sendonce_text* error) {
  return guarded(error, [&]() -> sendonce_rc {
    std::string_view token;
    for (std::uint64_t i = 0; i < config->setting_count; ++i) {
      if (view(config->settings[i].key) != "token")
        return refuse(error, "a setting that is unknown: only token is known");
      token = view(config->settings[i].value);
    }
    if (token.empty()) return refuse(error, "token is missing: token = \"cred:NAME\"");
    *out = new sendonce_provider{.authorization = "Bearer " + std::string(token)};
    return SENDONCE_OK;
  });
}

void destroy(sendonce_provider* p) {
  delete p;
}

void describe(const sendonce_provider*, sendonce_provider_description* out) {
  out->channels = 1U << SENDONCE_CHANNEL_EMAIL;
}

sendonce_rc prepare(sendonce_provider* p, const sendonce_delivery* d, sendonce_request* out,
                    sendonce_text* error) {
  return guarded(error, [&]() -> sendonce_rc {
    if (d->title.size == 0) return refuse(error, "a mail needs a title, its subject");
    p->url = "/hook/";
    append_percent(p->url, view(d->target->destination));
    p->body = "{\"subject\":";
    append_json(p->body, view(d->title));
    append_json(p->body += ",\"text\":", view(d->body));
    append_json(p->body += ",\"reference\":", view(d->key));
    p->body += '}';
    p->headers[0] = {str("authorization"), str(p->authorization), 0, 0};
    p->headers[1] = {str("content-type"), str("application/json"), 0, 0};
    out->url = str(p->url);
    out->body = str(p->body);
    out->headers = p->headers;
    out->header_count = 2;
    return SENDONCE_OK;
  });
}

// What it does not know it leaves ambiguous, and the class of the message decides.
void classify(sendonce_provider*, const sendonce_target*, const sendonce_answer* answer,
              sendonce_verdict* out) {
  const std::string_view body = view(answer->body);
  const bool whole = answer->cause == SENDONCE_CAUSE_NONE;
  out->verdict = SENDONCE_AMBIGUOUS;
  if (whole && answer->status == 200 && body.starts_with("{\"id\":\"") && body.ends_with("\"}")) {
    const std::string_view id = body.substr(7, body.size() - 9);
    if (id.find('"') != id.npos) return;  // more members than this one
    out->verdict = SENDONCE_ACCEPTED;
    out->message_id = str(id);
  } else if (answer->status == 401) {
    out->verdict = SENDONCE_PROVIDER_AUTH;
  } else if (answer->status == 422) {
    const bool dead = body == "{\"code\":\"mailbox_gone\"}";
    out->verdict = dead ? SENDONCE_TOKEN_TERMINAL : SENDONCE_PAYLOAD_ERROR;
    if (dead) out->reason = str("mailbox_gone");
  } else if (answer->status == 429) {
    out->verdict = SENDONCE_THROTTLED;
  }
}

constexpr sendonce_provider_api kApi{.struct_size = sizeof kApi,
                                     .abi_minor = SENDONCE_ABI_MINOR,
                                     .name = "mailer",
                                     .version = "1.0.0",
                                     .create = create,
                                     .destroy = destroy,
                                     .describe = describe,
                                     .prepare = prepare,
                                     .classify = classify,
                                     .query = nullptr};

}  // namespace

const sendonce_provider_api* sendonce_provider_v1(std::uint32_t /*host_abi_minor*/) {
  return &kApi;
}
