/* A text-message gateway: POST /hook/DIGITS with the text, answered with {"id":"..."}.
 * cc -std=c11 -shared -fPIC -fvisibility=hidden gate.c -o gate.so */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sendonce/abi/provider.h"

struct sendonce_provider {
  char authorization[300], url[32];
  sendonce_header headers[2];
};

static sendonce_str str(const char* text) {
  return (sendonce_str){text, strlen(text)};
}
static int is(sendonce_str a, const char* b) {
  return a.size == strlen(b) && memcmp(a.data, b, a.size) == 0;
}
static sendonce_rc refuse(sendonce_text* error, const char* text) {
  error->size = (uint64_t)snprintf(error->data, error->capacity, "%s", text);
  return SENDONCE_E_INVALID;
}

static sendonce_rc create(const sendonce_provider_config* config, sendonce_provider** out,
                          sendonce_text* error) {
  const sendonce_kv* only = config->settings;
  if (config->setting_count != 1 || !is(only->key, "token") || only->value.size > 256)
    return refuse(error, "settings: name token, and nothing else");
  sendonce_provider* p = *out = calloc(1, sizeof *p);
  if (p == NULL) return SENDONCE_E_EXHAUSTED;
  snprintf(p->authorization, sizeof p->authorization, "Bearer %.*s", (int)only->value.size,
           only->value.data);
  p->headers[0] = (sendonce_header){str("authorization"), str(p->authorization), 0, 0};
  p->headers[1] = (sendonce_header){str("content-type"), str("text/plain; charset=utf-8"), 0, 0};
  return SENDONCE_OK;
}

static void destroy(sendonce_provider* p) {
  free(p);
}
static void describe(const sendonce_provider* p, sendonce_provider_description* out) {
  (void)p;
  out->channels = 1u << SENDONCE_CHANNEL_SMS;
  out->idempotency_header = str("idempotency-key");
  out->idempotency_window_ms = 24u * 3600 * 1000;
}

static sendonce_rc prepare(sendonce_provider* p, const sendonce_delivery* d, sendonce_request* out,
                           sendonce_text* error) {
  const sendonce_str to = d->target->destination; /* "+" and digits, at most 15 */
  if (d->body.size == 0 || d->body.size > 1600) return refuse(error, "text: 1 to 1600 bytes");
  snprintf(p->url, sizeof p->url, "/hook/%.*s", (int)to.size - 1, to.data + 1);
  out->url = str(p->url);
  out->headers = p->headers, out->header_count = 2;
  out->body = d->body;
  return SENDONCE_OK;
}

static void classify(sendonce_provider* p, const sendonce_target* t, const sendonce_answer* a,
                     sendonce_verdict* out) {
  (void)p, (void)t;
  const sendonce_str b = a->body; /* {"id":"msg-1"} */
  const int has_id = a->cause == 0 && b.size > 9 && !memcmp(b.data, "{\"id\":\"", 7) &&
                     memchr(b.data + 7, '"', b.size - 7) == b.data + b.size - 2 &&
                     b.data[b.size - 1] == '}';
  if (has_id) out->message_id = (sendonce_str){b.data + 7, b.size - 9};
  out->verdict = a->status == 200 && has_id                         ? SENDONCE_ACCEPTED
                 : a->status == 401 || a->status == 403             ? SENDONCE_PROVIDER_AUTH
                 : a->status == 422 && is(b, "{\"code\":\"dead\"}") ? SENDONCE_TOKEN_TERMINAL
                 : a->status == 422                                 ? SENDONCE_PAYLOAD_ERROR
                 : a->status == 429                                 ? SENDONCE_THROTTLED
                                                                    : SENDONCE_AMBIGUOUS; /* safe */
}

static const sendonce_provider_api api = {sizeof api, 0,        "gate",  "1.0.0",  create,
                                          destroy,    describe, prepare, classify, NULL};
const sendonce_provider_api* sendonce_provider_v1(uint32_t host) {
  return (void)host, &api;
}
