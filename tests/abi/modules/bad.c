/* Modules that are wrong in one way each, chosen when this is compiled: WRONG_MAJOR, TOO_SHORT,
 * HOLES, NAMELESS, TOO_NEW, LIAR, CRASHER, SILENT. */
#include <stdlib.h>
#include <string.h>

#include "sendonce/abi/provider.h"

struct sendonce_provider {
  uint32_t unused;
};

static sendonce_str str(const char* text) {
  return (sendonce_str){text, strlen(text)};
}

static sendonce_rc create(const sendonce_provider_config* config, sendonce_provider** out,
                          sendonce_text* error) {
  (void)config, (void)error;
#ifdef SILENT
  (void)out;
  return SENDONCE_E_INVALID;
#else
  *out = calloc(1, sizeof **out);
  return SENDONCE_OK;
#endif
}

static void destroy(sendonce_provider* p) {
  free(p);
}

static void describe(const sendonce_provider* p, sendonce_provider_description* out) {
  (void)p;
  out->channels = 1u << SENDONCE_CHANNEL_SMS;
}

static sendonce_rc prepare(sendonce_provider* p, const sendonce_delivery* d, sendonce_request* out,
                           sendonce_text* error) {
  (void)p, (void)d, (void)error;
  out->url = str("/hook/bad");
  return SENDONCE_OK;
}

static void classify(sendonce_provider* p, const sendonce_target* t, const sendonce_answer* a,
                     sendonce_verdict* out) {
  (void)p, (void)t;
#ifdef CRASHER
  abort();
#endif
  /* Every 4xx ends the destination, and everything else is taken. */
  out->verdict = a->status / 100 == 4 ? SENDONCE_TOKEN_TERMINAL : SENDONCE_ACCEPTED;
  out->message_id = str("r-1");
}

static const sendonce_provider_api api = {
#ifdef TOO_SHORT
    .struct_size = offsetof(sendonce_provider_api, classify),
#else
    .struct_size = sizeof(sendonce_provider_api),
#endif
#ifndef NAMELESS
    .name = "bad",
#endif
    .version = "0.1.0",
    .create = create,
    .destroy = destroy,
    .describe = describe,
#ifndef HOLES
    .prepare = prepare,
#endif
    .classify = classify,
};

#ifdef WRONG_MAJOR
SENDONCE_EXPORT const sendonce_provider_api* sendonce_provider_v2(uint32_t host_abi_minor);
const sendonce_provider_api* sendonce_provider_v2(uint32_t host_abi_minor) {
#else
const sendonce_provider_api* sendonce_provider_v1(uint32_t host_abi_minor) {
#endif
  (void)host_abi_minor;
#ifdef HOLES
  (void)prepare;
#endif
#ifdef TOO_NEW
  (void)api;
  return NULL;
#else
  return &api;
#endif
}
