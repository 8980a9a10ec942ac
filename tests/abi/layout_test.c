/* The frozen layout of ABI 1.0 on LP64. When a line here fails: append, do not edit. */
#include <stdio.h>

#include "sendonce/abi/base.h"
#include "sendonce/abi/host.h"

#define AT(type, member, offset) \
  _Static_assert(offsetof(type, member) == (offset), #type "." #member " moved")
/* Grows only at its end: the figure is the size in ABI 1.0. */
#define AT_LEAST(type, size) _Static_assert(sizeof(type) >= (size), #type " shrank")
#define EXACTLY(type, size) _Static_assert(sizeof(type) == (size), #type " is frozen")

_Static_assert(sizeof(void*) == 8 && sizeof(void (*)(void)) == 8, "the figures are for LP64");
_Static_assert(SENDONCE_ABI_MAJOR == 1u, "another major version has files of its own");

EXACTLY(sendonce_rc, 4);
EXACTLY(sendonce_str, 16);
AT(sendonce_str, data, 0);
AT(sendonce_str, size, 8);
EXACTLY(sendonce_kv, 32);
AT(sendonce_kv, key, 0);
AT(sendonce_kv, value, 16);
EXACTLY(sendonce_text, 24);
AT(sendonce_text, data, 0);
AT(sendonce_text, capacity, 8);
AT(sendonce_text, size, 16);

_Static_assert(SENDONCE_OK == 0 && SENDONCE_E_INVALID == 1 && SENDONCE_E_UNAVAILABLE == 2 &&
                   SENDONCE_E_EXHAUSTED == 3 && SENDONCE_E_CORRUPT == 4 && SENDONCE_E_DENIED == 5 &&
                   SENDONCE_E_BUSY == 6 && SENDONCE_E_STATE == 7 && SENDONCE_E_STALLED == 8 &&
                   SENDONCE_E_INTERNAL == 9,
               "a result code changed its value");
_Static_assert(SENDONCE_LEVEL_DEBUG == 0 && SENDONCE_LEVEL_INFO == 1 && SENDONCE_LEVEL_WARN == 2 &&
                   SENDONCE_LEVEL_ERROR == 3,
               "a level changed its value");
_Static_assert(SENDONCE_STATE_STARTING == 0 && SENDONCE_STATE_READY == 1 &&
                   SENDONCE_STATE_WAITING == 2 && SENDONCE_STATE_DRAINING == 3 &&
                   SENDONCE_STATE_STOPPED == 4 && SENDONCE_STATE_FAILED == 5,
               "a state changed its value");
_Static_assert(SENDONCE_HOST_ANY_THREAD == 1u, "a flag changed its value");
_Static_assert(SENDONCE_HOST_LOG_DEBUG == 2u && SENDONCE_HOST_LOG_WARN == 4u &&
                   SENDONCE_HOST_LOG_ERROR == 8u,
               "a flag changed its value");
_Static_assert(SENDONCE_DRAIN_CONFIGURED == UINT64_MAX, "the drain value changed");

AT_LEAST(sendonce_log_event, 48);
AT(sendonce_log_event, struct_size, 0);
AT(sendonce_log_event, level, 4);
AT(sendonce_log_event, time_ns, 8);
AT(sendonce_log_event, event, 16);
AT(sendonce_log_event, fields, 32);
AT(sendonce_log_event, field_count, 40);

AT_LEAST(sendonce_state_event, 32);
AT(sendonce_state_event, struct_size, 0);
AT(sendonce_state_event, state, 4);
AT(sendonce_state_event, exit_code, 8);
AT(sendonce_state_event, reserved0, 12);
AT(sendonce_state_event, reason, 16);

AT_LEAST(sendonce_host, 48);
AT(sendonce_host, struct_size, 0);
AT(sendonce_host, abi_minor, 4);
AT(sendonce_host, flags, 8);
AT(sendonce_host, admin_fd, 12);
AT(sendonce_host, name, 16);
AT(sendonce_host, ctx, 24);
AT(sendonce_host, log, 32);
AT(sendonce_host, state, 40);

AT_LEAST(sendonce_module_api, 96);
AT(sendonce_module_api, struct_size, 0);
AT(sendonce_module_api, abi_minor, 4);
AT(sendonce_module_api, version, 8);
AT(sendonce_module_api, check, 16);
AT(sendonce_module_api, open, 24);
AT(sendonce_module_api, start, 32);
AT(sendonce_module_api, reload, 40);
AT(sendonce_module_api, drain, 48);
AT(sendonce_module_api, stop, 56);
AT(sendonce_module_api, close, 64);
AT(sendonce_module_api, status, 72);
AT(sendonce_module_api, metrics, 80);
AT(sendonce_module_api, pump, 88);

/* A host compiled with a shorter table must be seen as such. */
static int has_sees_what_is_there(void) {
  sendonce_host host = {0};
  host.struct_size = (uint32_t)sizeof host;
  const int whole = SENDONCE_HAS(&host, sendonce_host, state);
  host.struct_size = (uint32_t)offsetof(sendonce_host, state);
  return whole && !SENDONCE_HAS(&host, sendonce_host, state) &&
         SENDONCE_HAS(&host, sendonce_host, log);
}

int main(void) {
  if (!has_sees_what_is_there()) {
    puts("SENDONCE_HAS is wrong");
    return 1;
  }
  puts("ABI 1.0: the layout is as frozen");
  return 0;
}
