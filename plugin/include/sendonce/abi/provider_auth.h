/* SPDX-License-Identifier: Apache-2.0
 *
 * sendonce/abi/provider_auth.h - credentials that are exchanged for others, an optional interface
 * of a provider module: query(SENDONCE_AUTH_1). The exchange has the shape of a call: prepare makes
 * the request, accept judges its answer and stores what it brought. Needed only where a request
 * cannot be made from the settings alone. The rules are those of provider.h.
 */
#ifndef SENDONCE_ABI_PROVIDER_AUTH_H
#define SENDONCE_ABI_PROVIDER_AUTH_H

#include "sendonce/abi/provider.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SENDONCE_AUTH_1 "sendonce.auth/1"

typedef struct sendonce_auth_api {
  uint32_t struct_size;
  uint32_t reserved0;
  /* Not 0 when prepare has a usable credential. [instance] */
  int32_t (*ready)(const sendonce_provider* provider, int64_t now_ns);
  /* The request for a credential when one is due, also before the old one ends; `url` is left empty
   * when none is. It must begin with the configured auth.token_endpoint. [instance] */
  sendonce_rc (*prepare)(sendonce_provider* provider, int64_t now_ns, sendonce_request* out,
                         sendonce_text* error);
  /* Its answer: ACCEPTED when a new credential was stored, PROVIDER_AUTH or CONFIG_ERROR when ours
   * was refused, anything else is tried again later. [instance] */
  void (*accept)(sendonce_provider* provider, const sendonce_answer* answer, sendonce_verdict* out);
  /* classify said PROVIDER_AUTH: the credential at hand is not to be used again. [instance] */
  void (*refused)(sendonce_provider* provider, int64_t now_ns);
} sendonce_auth_api;

#ifdef __cplusplus
}
#endif
#endif /* SENDONCE_ABI_PROVIDER_AUTH_H */
