/* The frozen layout of provider modules of ABI 1.0 on LP64. When a line fails: append, do not edit.
 */
#include <stdio.h>

#include "sendonce/abi/provider_auth.h"

#define AT(type, member, offset) \
  _Static_assert(offsetof(type, member) == (offset), #type "." #member " moved")
/* Grows only at its end: the figure is the size in ABI 1.0. */
#define AT_LEAST(type, size) _Static_assert(sizeof(type) >= (size), #type " shrank")
#define EXACTLY(type, size) _Static_assert(sizeof(type) == (size), #type " is frozen")

AT_LEAST(sendonce_provider_config, 56);
AT(sendonce_provider_config, struct_size, 0);
AT(sendonce_provider_config, channel, 4);
AT(sendonce_provider_config, endpoint, 8);
AT(sendonce_provider_config, token_endpoint, 24);
AT(sendonce_provider_config, settings, 40);
AT(sendonce_provider_config, setting_count, 48);

AT_LEAST(sendonce_provider_description, 40);
AT(sendonce_provider_description, struct_size, 0);
AT(sendonce_provider_description, channels, 4);
AT(sendonce_provider_description, flags, 8);
AT(sendonce_provider_description, reserved0, 12);
AT(sendonce_provider_description, idempotency_window_ms, 16);
AT(sendonce_provider_description, idempotency_header, 24);

AT_LEAST(sendonce_target, 48);
AT(sendonce_target, struct_size, 0);
AT(sendonce_target, channel, 4);
AT(sendonce_target, registered_at_ns, 8);
AT(sendonce_target, destination, 16);
AT(sendonce_target, ref, 32);

AT_LEAST(sendonce_delivery, 208);
AT(sendonce_delivery, struct_size, 0);
AT(sendonce_delivery, reserved0, 4);
AT(sendonce_delivery, now_ns, 8);
AT(sendonce_delivery, deadline_ns, 16);
AT(sendonce_delivery, target, 24);
AT(sendonce_delivery, key, 32);
AT(sendonce_delivery, nid, 48);
AT(sendonce_delivery, collapse, 64);
AT(sendonce_delivery, event_id, 80);
AT(sendonce_delivery, recipient, 96);
AT(sendonce_delivery, template_id, 112);
AT(sendonce_delivery, campaign_id, 128);
AT(sendonce_delivery, title, 144);
AT(sendonce_delivery, body, 160);
AT(sendonce_delivery, html, 176);
AT(sendonce_delivery, data, 192);
AT(sendonce_delivery, data_count, 200);

EXACTLY(sendonce_header, 40);
AT(sendonce_header, name, 0);
AT(sendonce_header, value, 16);
AT(sendonce_header, flags, 32);
AT(sendonce_header, reserved0, 36);

AT_LEAST(sendonce_request, 80);
AT(sendonce_request, struct_size, 0);
AT(sendonce_request, reserved0, 4);
AT(sendonce_request, method, 8);
AT(sendonce_request, url, 24);
AT(sendonce_request, headers, 40);
AT(sendonce_request, header_count, 48);
AT(sendonce_request, body, 56);
AT(sendonce_request, body_credential_at, 72);

AT_LEAST(sendonce_answer, 56);
AT(sendonce_answer, struct_size, 0);
AT(sendonce_answer, status, 4);
AT(sendonce_answer, cause, 8);
AT(sendonce_answer, effect, 12);
AT(sendonce_answer, now_ns, 16);
AT(sendonce_answer, headers, 24);
AT(sendonce_answer, header_count, 32);
AT(sendonce_answer, body, 40);

AT_LEAST(sendonce_verdict, 88);
AT(sendonce_verdict, struct_size, 0);
AT(sendonce_verdict, verdict, 4);
AT(sendonce_verdict, effect, 8);
AT(sendonce_verdict, fault, 12);
AT(sendonce_verdict, scope, 16);
AT(sendonce_verdict, reserved0, 20);
AT(sendonce_verdict, retry_after_ms, 24);
AT(sendonce_verdict, invalid_since_ns, 32);
AT(sendonce_verdict, message_id, 40);
AT(sendonce_verdict, reason, 56);
AT(sendonce_verdict, part, 72);

AT_LEAST(sendonce_provider_api, 72);
AT(sendonce_provider_api, struct_size, 0);
AT(sendonce_provider_api, abi_minor, 4);
AT(sendonce_provider_api, name, 8);
AT(sendonce_provider_api, version, 16);
AT(sendonce_provider_api, create, 24);
AT(sendonce_provider_api, destroy, 32);
AT(sendonce_provider_api, describe, 40);
AT(sendonce_provider_api, prepare, 48);
AT(sendonce_provider_api, classify, 56);
AT(sendonce_provider_api, query, 64);

AT_LEAST(sendonce_auth_api, 40);
AT(sendonce_auth_api, struct_size, 0);
AT(sendonce_auth_api, reserved0, 4);
AT(sendonce_auth_api, ready, 8);
AT(sendonce_auth_api, prepare, 16);
AT(sendonce_auth_api, accept, 24);
AT(sendonce_auth_api, refused, 32);

_Static_assert(SENDONCE_CHANNEL_SMS == 1 && SENDONCE_CHANNEL_EMAIL == 2 &&
                   SENDONCE_CHANNEL_WEBHOOK == 3,
               "a channel changed its value");
_Static_assert(SENDONCE_PROVIDER_ACTS_ON_WHOLE == 1u && SENDONCE_PROVIDER_NO_RECEIPT == 2u &&
                   SENDONCE_HEADER_SENSITIVE == 1u,
               "a flag changed its value");
_Static_assert(SENDONCE_EFFECT_NOT_SENT == 1 && SENDONCE_EFFECT_MAYBE_SENT == 2 &&
                   SENDONCE_EFFECT_SENT == 3,
               "an effect changed its value");
_Static_assert(SENDONCE_CAUSE_NONE == 0 && SENDONCE_CAUSE_CONNECT == 1 && SENDONCE_CAUSE_TLS == 2 &&
                   SENDONCE_CAUSE_CLIENT_AUTH == 3 && SENDONCE_CAUSE_REFUSED == 4 &&
                   SENDONCE_CAUSE_RESET == 5 && SENDONCE_CAUSE_CONNECTION_LOST == 6 &&
                   SENDONCE_CAUSE_TIMED_OUT == 7 && SENDONCE_CAUSE_CANCELLED == 8 &&
                   SENDONCE_CAUSE_OVERSIZED == 9 && SENDONCE_CAUSE_NOT_STARTED == 10,
               "a cause changed its value");
_Static_assert(SENDONCE_ACCEPTED == 1 && SENDONCE_RETRYABLE == 2 && SENDONCE_THROTTLED == 3 &&
                   SENDONCE_TOKEN_TERMINAL == 4 && SENDONCE_TOKEN_MISMATCH == 5 &&
                   SENDONCE_PROVIDER_AUTH == 6 && SENDONCE_PAYLOAD_ERROR == 7 &&
                   SENDONCE_CONFIG_ERROR == 8 && SENDONCE_AMBIGUOUS == 9,
               "a verdict changed its value");
_Static_assert(SENDONCE_FAULT_NONE == 1 && SENDONCE_FAULT_DEVICE == 2 &&
                   SENDONCE_FAULT_MISMATCH == 3 && SENDONCE_FAULT_AUTH == 4 &&
                   SENDONCE_FAULT_REQUEST == 5 && SENDONCE_FAULT_CONFIG == 6 &&
                   SENDONCE_FAULT_THROTTLE == 7 && SENDONCE_FAULT_PROVIDER == 8,
               "a fault changed its value");
_Static_assert(SENDONCE_SCOPE_DELIVERY == 1 && SENDONCE_SCOPE_DEVICE == 2 &&
                   SENDONCE_SCOPE_PART == 3 && SENDONCE_SCOPE_PROVIDER == 4,
               "a scope changed its value");

int main(void) {
  puts("provider ABI 1.0: the layout is as frozen");
  return 0;
}
