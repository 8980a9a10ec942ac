/* A module of ABI 1.0, compiled with the headers as they were then, and with the shortest table
 * that was ever allowed. It must load and work for as long as the major version is 1. */
#include <stdlib.h>
#include <string.h>

#include "sendonce/abi/provider.h"

struct sendonce_provider {
  uint32_t calls;
};

static sendonce_str str(const char* text) {
  return (sendonce_str){text, strlen(text)};
}

static sendonce_rc create(const sendonce_provider_config* config, sendonce_provider** out,
                          sendonce_text* error) {
  (void)error;
  if (!SENDONCE_HAS(config, sendonce_provider_config, setting_count)) return SENDONCE_E_INTERNAL;
  *out = calloc(1, sizeof **out);
  return *out != NULL ? SENDONCE_OK : SENDONCE_E_EXHAUSTED;
}

static void destroy(sendonce_provider* p) {
  free(p);
}

static void describe(const sendonce_provider* p, sendonce_provider_description* out) {
  (void)p;
  out->channels = 1u << SENDONCE_CHANNEL_SMS | 1u << SENDONCE_CHANNEL_WEBHOOK;
  out->flags = SENDONCE_PROVIDER_NO_RECEIPT;
}

static sendonce_rc prepare(sendonce_provider* p, const sendonce_delivery* d, sendonce_request* out,
                           sendonce_text* error) {
  (void)error;
  ++p->calls;
  out->url = str("/old");
  out->body = d->body;
  return SENDONCE_OK;
}

static void classify(sendonce_provider* p, const sendonce_target* t, const sendonce_answer* a,
                     sendonce_verdict* out) {
  (void)p, (void)t;
  out->verdict = SENDONCE_AMBIGUOUS;
  if (a->cause == SENDONCE_CAUSE_NONE && a->status / 100 == 2) out->verdict = SENDONCE_ACCEPTED;
}

static const sendonce_provider_api api = {offsetof(sendonce_provider_api, query),
                                          0,
                                          "old",
                                          "1.0.0",
                                          create,
                                          destroy,
                                          describe,
                                          prepare,
                                          classify,
                                          NULL};

const sendonce_provider_api* sendonce_provider_v1(uint32_t host_abi_minor) {
  return (void)host_abi_minor, &api;
}
