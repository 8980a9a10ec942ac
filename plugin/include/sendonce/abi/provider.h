/* SPDX-License-Identifier: Apache-2.0
 *
 * sendonce/abi/provider.h - how to teach sendonce a provider that it does not know.
 *
 * A provider module does no input or output, keeps no clock and starts no thread. It turns a
 * delivery into an HTTP request (prepare), and an answer into a verdict (classify). Sockets, TLS,
 * retries, rates, the ledger and the acknowledgement are sendonce's. docs/providers.md, "A provider
 * in C", goes from an empty file to a running one; `sendonce-provider-check FILE.so` tests a
 * module.
 *
 *   const sendonce_provider_api *sendonce_provider_v1(uint32_t host_abi_minor) { return &api; }
 *
 * Rules beside those of base.h:
 *   - Threads: every function that takes an instance is tagged [instance]: one thread at a time for
 *     each instance, several instances at once. So no state outside of instances that changes.
 *   - Pure: the result depends on the arguments, the settings, and what the functions of
 *     provider_auth.h have stored. The time is an argument.
 *   - What a module returns (strings, arrays) is its own and stays as it is until the next call on
 *     the same instance, or is part of what the same call was given. What it is given is valid
 *     until its function returns.
 *   - Zero means "not said": the host then takes what its documentation says, and of two readings
 *     always the careful one.
 *   - Settings, destinations and contents are secret or personal: they belong into requests, never
 *     into a reason, a receipt or an error text. The host throws away texts in which it finds one.
 *   - Nobody trusts a verdict: the host corrects what an answer cannot say (provider_answer.h).
 */
#ifndef SENDONCE_ABI_PROVIDER_H
#define SENDONCE_ABI_PROVIDER_H

#include "sendonce/abi/provider_answer.h"

#define SENDONCE_PROVIDER_ENTRY "sendonce_provider_v1"

#ifdef __cplusplus
extern "C" {
#endif

/* What a provider delivers; fixes the form of its destinations. */
enum {
  SENDONCE_CHANNEL_SMS = 1,    /* E.164: "+" and digits */
  SENDONCE_CHANNEL_EMAIL = 2,  /* local@domain, the domain in lower case */
  SENDONCE_CHANNEL_WEBHOOK = 3 /* an https URL; it is data, the request goes to the endpoint */
};

/* What the configuration says of one instance. */
typedef struct sendonce_provider_config {
  uint32_t struct_size;
  int32_t channel;             /* SENDONCE_CHANNEL_* */
  sendonce_str endpoint;       /* https://host[:port] */
  sendonce_str token_endpoint; /* auth.token_endpoint, for provider_auth.h */
  const sendonce_kv* settings; /* [provider.NAME.settings], secrets read from their files */
  uint64_t setting_count;
} sendonce_provider_config;

/* The provider's endpoint does nothing with a request whose end never came. Without this flag such
 * a request counts as maybe sent. */
#define SENDONCE_PROVIDER_ACTS_ON_WHOLE 1u
/* Its answers carry no receipt: a 2xx that classify accepts needs none. */
#define SENDONCE_PROVIDER_NO_RECEIPT 2u

/* What the module can do. */
typedef struct sendonce_provider_description {
  uint32_t struct_size;
  uint32_t channels;  /* bits: 1u << SENDONCE_CHANNEL_SMS and so on */
  uint32_t flags;     /* SENDONCE_PROVIDER_* */
  uint32_t reserved0; /* zero */
  /* The endpoint recognises a repeat by this header, for so long after the first request; empty: it
   * does not. The host sets the header, where the configuration asks for it. */
  uint64_t idempotency_window_ms;
  sendonce_str idempotency_header;
} sendonce_provider_description;

/* Where to. */
typedef struct sendonce_target {
  uint32_t struct_size;
  int32_t channel;          /* SENDONCE_CHANNEL_* */
  int64_t registered_at_ns; /* since the Unix epoch; 0: unknown */
  sendonce_str destination; /* in normal form */
  sendonce_str ref;         /* opaque, from the envelope */
} sendonce_target;

/* One delivery, the same for every attempt but for now_ns. Times since the Unix epoch. A text that
 * is empty is one that the notification does not have. */
typedef struct sendonce_delivery {
  uint32_t struct_size;
  uint32_t reserved0;
  int64_t now_ns;
  int64_t deadline_ns; /* a message that arrives later is of no use */
  const sendonce_target* target;
  sendonce_str key; /* of the delivery: 64 hex digits, the same for every attempt */
  sendonce_str nid; /* of the notification: a UUID */
  sendonce_str collapse;
  sendonce_str event_id;
  sendonce_str recipient;
  sendonce_str template_id;
  sendonce_str campaign_id;
  sendonce_str title;
  sendonce_str body;
  sendonce_str html;
  const sendonce_kv* data; /* values are JSON texts */
  uint64_t data_count;
} sendonce_delivery;

/* A request. Whatever goes beyond the limits named here makes it a payload error. */
typedef struct sendonce_request {
  uint32_t struct_size;
  uint32_t reserved0;  /* zero */
  sendonce_str method; /* POST, PUT, PATCH or GET; empty: POST */
  /* "/path?query" below the endpoint, or a whole URL that begins with the endpoint. Visible ASCII
   * without a fragment, at most 8 KiB. */
  sendonce_str url;
  /* At most 64. Not those of the connection (host, content-length, transfer-encoding, ...), nor the
   * idempotency header. */
  const sendonce_header* headers;
  uint64_t header_count;
  sendonce_str body; /* at most 1 MiB; none with GET */
  /* From this byte on the body is a credential, which may differ in a repeat; 0: it holds none. */
  uint64_t body_credential_at;
} sendonce_request;

/* One configured provider. The module's own, from create to destroy. */
typedef struct sendonce_provider sendonce_provider;

/* The table. `query` may lie beyond struct_size. */
typedef struct sendonce_provider_api {
  uint32_t struct_size;
  uint32_t abi_minor;  /* SENDONCE_ABI_MINOR of the module */
  const char* name;    /* of the module, for logs: at most 64 visible ASCII characters */
  const char* version; /* the same */

  /* Makes an instance; *out is set only on OK. INVALID: a setting is missing, unknown or wrong, and
   * the text says which and what to write. Called by `check-config` too. `error` is never NULL,
   * here and below. [any] */
  sendonce_rc (*create)(const sendonce_provider_config* config, sendonce_provider** out,
                        sendonce_text* error);
  void (*destroy)(sendonce_provider* provider); /* never NULL. [instance] */

  /* Fills `out`, the same at every call. [instance] */
  void (*describe)(const sendonce_provider* provider, sendonce_provider_description* out);

  /* Makes the request; for the same delivery always the same bytes, but for credentials and
   * shrinking lifetimes. Any error means that this message can never be sent: it ends as failed,
   * with a dead letter that holds the text. [instance] */
  sendonce_rc (*prepare)(sendonce_provider* provider, const sendonce_delivery* delivery,
                         sendonce_request* out, sendonce_text* error);

  /* Fills `out`. Total: whatever bytes came back, and also when none did. [instance] */
  void (*classify)(sendonce_provider* provider, const sendonce_target* target,
                   const sendonce_answer* answer, sendonce_verdict* out);

  /* An optional interface by its name (provider_auth.h); it lives as long as the table. NULL: not
   * there. [instance] */
  const void* (*query)(sendonce_provider* provider, const char* interface_id);
} sendonce_provider_api;

/* The one exported symbol. The table is constant and lives as long as the process. NULL when the
 * module cannot serve a host of that minor version. [any] */
typedef const sendonce_provider_api* (*sendonce_provider_entry_fn)(uint32_t host_abi_minor);
SENDONCE_EXPORT const sendonce_provider_api* sendonce_provider_v1(uint32_t host_abi_minor);

#ifdef __cplusplus
}
#endif
#endif /* SENDONCE_ABI_PROVIDER_H */
