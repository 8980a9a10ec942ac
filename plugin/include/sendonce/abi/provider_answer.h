/* SPDX-License-Identifier: Apache-2.0
 *
 * sendonce/abi/provider_answer.h - what came back from a provider, and what a provider module makes
 * of it. Part of provider.h.
 */
#ifndef SENDONCE_ABI_PROVIDER_ANSWER_H
#define SENDONCE_ABI_PROVIDER_ANSWER_H

#include "sendonce/abi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The value is a credential, or differs with every request: it is kept out of the compression
 * table of HTTP/2 (RFC 7541 7.1.3). `authorization` and `cookie` always are. */
#define SENDONCE_HEADER_SENSITIVE 1u

typedef struct sendonce_header { /* never changes */
  sendonce_str name;             /* any case */
  sendonce_str value;            /* printable, no space at an end, at most 8 KiB */
  uint32_t flags;                /* SENDONCE_HEADER_* */
  uint32_t reserved0;            /* zero */
} sendonce_header;

/* May the person have got it? */
enum { SENDONCE_EFFECT_NOT_SENT = 1, SENDONCE_EFFECT_MAYBE_SENT = 2, SENDONCE_EFFECT_SENT = 3 };

/* Why there is no whole answer. */
enum {
  SENDONCE_CAUSE_NONE = 0, /* there is one */
  SENDONCE_CAUSE_CONNECT = 1,
  SENDONCE_CAUSE_TLS = 2,
  SENDONCE_CAUSE_CLIENT_AUTH = 3,
  SENDONCE_CAUSE_REFUSED = 4,
  SENDONCE_CAUSE_RESET = 5,
  SENDONCE_CAUSE_CONNECTION_LOST = 6,
  SENDONCE_CAUSE_TIMED_OUT = 7,
  SENDONCE_CAUSE_CANCELLED = 8,
  SENDONCE_CAUSE_OVERSIZED = 9,
  SENDONCE_CAUSE_NOT_STARTED = 10
};

/* What came back. Bodies are as the network brought them: cut, empty, no UTF-8, of a front end. */
typedef struct sendonce_answer {
  uint32_t struct_size;
  int32_t status; /* HTTP status; with a cause that of the part that came, or 0 */
  int32_t cause;  /* SENDONCE_CAUSE_* */
  int32_t effect; /* with a cause: what the transport has proved */
  int64_t now_ns;
  const sendonce_header* headers; /* names in lower case */
  uint64_t header_count;
  sendonce_str body;
} sendonce_answer;

/* What an answer means, in the words of docs/guarantees.md, with the fault that goes with it. */
enum {
  SENDONCE_ACCEPTED = 1,       /* NONE: taken, with its receipt in message_id */
  SENDONCE_RETRYABLE = 2,      /* PROVIDER: asks for another try */
  SENDONCE_THROTTLED = 3,      /* THROTTLE: asks to wait; not counted */
  SENDONCE_TOKEN_TERMINAL = 4, /* DEVICE: this destination is dead. Ends it for good */
  SENDONCE_TOKEN_MISMATCH = 5, /* MISMATCH: alive, but not for this sender */
  SENDONCE_PROVIDER_AUTH = 6,  /* AUTH: our credential; the provider is held, nothing is lost */
  SENDONCE_PAYLOAD_ERROR = 7,  /* REQUEST: this message can never be sent as it is */
  SENDONCE_CONFIG_ERROR = 8,   /* CONFIG: account, sender, address; the provider is held */
  SENDONCE_AMBIGUOUS = 9       /* PROVIDER: may have been sent; the class of the message decides */
};

/* Who must act. */
enum {
  SENDONCE_FAULT_NONE = 1,
  SENDONCE_FAULT_DEVICE = 2,
  SENDONCE_FAULT_MISMATCH = 3,
  SENDONCE_FAULT_AUTH = 4,
  SENDONCE_FAULT_REQUEST = 5,
  SENDONCE_FAULT_CONFIG = 6,
  SENDONCE_FAULT_THROTTLE = 7,
  SENDONCE_FAULT_PROVIDER = 8
};

/* How far it reaches: what a hold pauses. */
enum {
  SENDONCE_SCOPE_DELIVERY = 1,
  SENDONCE_SCOPE_DEVICE = 2,
  SENDONCE_SCOPE_PART = 3, /* of the provider, named by `part` */
  SENDONCE_SCOPE_PROVIDER = 4
};

/* Only `verdict` must be said. The host reads everything else that is 0 from it: the fault beside
 * it above; effect SENT for ACCEPTED, MAYBE_SENT for AMBIGUOUS, RETRYABLE and whatever answers 5xx,
 * 408 or 3xx (but 307, 308), else NOT_SENT; scope PROVIDER for AUTH, CONFIG and THROTTLE, DEVICE
 * for tokens, else DELIVERY.
 *
 * It takes for ambiguous what contradicts itself or is none of the values above. Otherwise:
 *   - ACCEPTED only for a whole 2xx, with a receipt unless the module says NO_RECEIPT;
 *   - TOKEN_TERMINAL and, in a 2xx, 5xx, 408 or 3xx (but 307, 308), anything NOT_SENT only because
 *     of what the answer contains: the module is asked again about the bare status, and if it says
 *     the same, it was the status alone, by which nothing but a 410 ends a destination and a 2xx,
 *     5xx, 408 or 3xx counts as maybe sent;
 *   - without a whole answer the effect is the transport's, and of the verdict only THROTTLED with
 *     its time counts;
 *   - a Retry-After in the answer is never cut short. */
typedef struct sendonce_verdict {
  uint32_t struct_size;
  int32_t verdict; /* SENDONCE_ACCEPTED and so on */
  int32_t effect;  /* SENDONCE_EFFECT_* */
  int32_t fault;   /* SENDONCE_FAULT_* */
  int32_t scope;   /* SENDONCE_SCOPE_* */
  uint32_t reserved0;
  uint64_t retry_after_ms;  /* at most 7 days */
  int64_t invalid_since_ns; /* TOKEN_TERMINAL: the provider's time, since the Unix epoch */
  sendonce_str message_id;  /* the receipt: 1 to 256 visible ASCII characters */
  sendonce_str reason;      /* the provider's code: at most 64 letters, digits, "_", "-", "." */
  sendonce_str part;        /* as reason */
} sendonce_verdict;

#ifdef __cplusplus
}
#endif
#endif /* SENDONCE_ABI_PROVIDER_ANSWER_H */
