/* SPDX-License-Identifier: Apache-2.0
 *
 * sendonce/abi/host.h - how a process runs the sendonce sidecar inside itself.
 *
 *   const sendonce_module_api *api = sendonce_module_v1(SENDONCE_ABI_MINOR);  // NULL: too old
 *   sendonce_instance *instance = NULL;
 *   if (api->open(&host, "/etc/sendonce/sendonce.toml", &instance, &error) == SENDONCE_OK &&
 *       api->start(instance, &error) == SENDONCE_OK) {
 *     while (!asked_to_end) api->pump(instance, 64);         // from the host's own loop
 *     api->drain(instance, SENDONCE_DRAIN_CONFIGURED, &error);
 *   }
 *   api->close(instance);
 *
 * Link with libsendonce.so.0, or dlopen() it and look the symbol up by SENDONCE_MODULE_ENTRY. The
 * library cannot be unloaded: dlclose() is allowed and does nothing.
 *
 * What a host may rely on:
 *   - Before start there is no thread, no open descriptor and no open ledger, so a host may fork
 *     after check and open. After start it must not fork and go on using the instance.
 *   - The library installs no signal handler, blocks all signals in its own threads, never ends
 *     the process on purpose (a broken invariant aborts it), and changes neither environment nor
 *     locale.
 *   - When stop has returned, all threads of the library have ended, but one: a name that the
 *     system's resolver is still looking up keeps a thread of libcurl until the resolver gives up.
 *   - One ledger is open in one instance of one process; a second open of it says BUSY.
 *
 * States of an instance, in order: open -> started -> (draining) -> stopped. A stopped instance can
 * only be closed.
 */
#ifndef SENDONCE_ABI_HOST_H
#define SENDONCE_ABI_HOST_H

#include "sendonce/abi/base.h"

#define SENDONCE_MODULE_ENTRY "sendonce_module_v1"

#ifdef __cplusplus
extern "C" {
#endif

/* Severities, of log events and of findings. */
enum {
  SENDONCE_LEVEL_DEBUG = 0,
  SENDONCE_LEVEL_INFO = 1,
  SENDONCE_LEVEL_WARN = 2,
  SENDONCE_LEVEL_ERROR = 3
};

/* One structured log event; docs/operations.md lists the events. */
typedef struct sendonce_log_event {
  uint32_t struct_size;
  int32_t level;             /* SENDONCE_LEVEL_* */
  int64_t time_ns;           /* since the Unix epoch */
  sendonce_str event;        /* a stable dotted name such as "ledger.opened" */
  const sendonce_kv* fields; /* borrowed for the call */
  uint64_t field_count;
} sendonce_log_event;

/* What an instance is doing. */
enum {
  SENDONCE_STATE_STARTING = 0, /* opening the ledger, connecting; takes no messages yet */
  SENDONCE_STATE_READY = 1,    /* at least one class takes messages */
  SENDONCE_STATE_WAITING = 2,  /* started, but nothing can be sent now; `reason` says why */
  SENDONCE_STATE_DRAINING = 3,
  SENDONCE_STATE_STOPPED = 4,
  SENDONCE_STATE_FAILED = 5 /* it will not go on: call stop and close, then exit */
};

typedef struct sendonce_state_event {
  uint32_t struct_size;
  int32_t state;       /* SENDONCE_STATE_* */
  int32_t exit_code;   /* with FAILED: the exit code a daemon should leave with, see sysexits.h */
  uint32_t reserved0;  /* zero */
  sendonce_str reason; /* safe to print; names the remedy */
} sendonce_state_event;

/* The callbacks below come from pump(), on its thread, unless this flag is set: then they come at
 * once, from any thread of the library, and must not block. */
#define SENDONCE_HOST_ANY_THREAD 1u
/* What is logged, through `log` or to stderr: at most one of these. None: INFO and worse. A host
 * that filters by itself still saves the work of making what it would throw away. */
#define SENDONCE_HOST_LOG_DEBUG 2u /* everything */
#define SENDONCE_HOST_LOG_WARN 4u  /* WARN and worse */
#define SENDONCE_HOST_LOG_ERROR 8u /* ERROR alone */

/* What the host lends. The struct is copied by open; `ctx` must outlive the instance. */
typedef struct sendonce_host {
  uint32_t struct_size;
  uint32_t abi_minor; /* SENDONCE_ABI_MINOR of the host */
  uint32_t flags;     /* SENDONCE_HOST_* */
  int32_t admin_fd;   /* a listening Unix socket to serve (socket activation), which stays the
                       * host's; -1: make our own */
  const char* name;   /* of the host program, for logs and the connection's name */
  void* ctx;          /* handed back unchanged */

  /* One log event. NULL: logs go to stderr. */
  void (*log)(void* ctx, const sendonce_log_event* event);
  /* The instance has changed its state. NULL: the host does not care. */
  void (*state)(void* ctx, const sendonce_state_event* event);
} sendonce_host;

/* One finding of check, worst first. [control], called on the caller's thread. */
typedef void (*sendonce_finding_fn)(void* ctx, int32_t level, sendonce_str text);

/* The time that the configuration gives to calls in flight ([instance] drain). */
#define SENDONCE_DRAIN_CONFIGURED UINT64_MAX

/* One sidecar. Owned by the library, from open to close. */
typedef struct sendonce_instance sendonce_instance;

typedef struct sendonce_module_api {
  uint32_t struct_size;
  uint32_t abi_minor;  /* highest minor version that the library implements */
  const char* version; /* of the library, semver, for logs */

  /* Reads the configuration file and, as start would, the credentials and certificates it names,
   * and says what is wrong with them. Touches no state, opens no ledger and no connection; may be
   * called at any time, also beside a running instance. OK when there is no finding of level ERROR,
   * else INVALID or DENIED as from open. `finding` may be NULL. [any] */
  sendonce_rc (*check)(const char* path, sendonce_finding_fn finding, void* ctx,
                       sendonce_text* error);

  /* Reads the configuration and makes an instance. *out is set only on OK. INVALID names file, line
   * and column; DENIED: nothing is wrong but that a credential may not be read, or may be read by
   * others too. [control] */
  sendonce_rc (*open)(const sendonce_host* host, const char* path, sendonce_instance** out,
                      sendonce_text* error);

  /* Opens the ledger, starts the threads, begins to connect. Returns when the ledger is open, which
   * takes up to a second per million remembered keys; the connections come up later, as a change
   * of state. BUSY: another process owns the ledger. DENIED: no permission for it, the socket or a
   * credential. On any error nothing is left running and start may be called again.
   * [control] */
  sendonce_rc (*start)(sendonce_instance* instance, sendonce_text* error);

  /* Reads the file again and takes over what may change while running. On any error the old
   * configuration stays in force, whole; INVALID also names a change that needs a restart.
   * [control] */
  sendonce_rc (*reload)(sendonce_instance* instance, sendonce_text* error);

  /* Takes no more messages, gives the calls in flight up to `timeout_ms` to end, or as long as the
   * configuration says (SENDONCE_DRAIN_CONFIGURED), gives back what never started, flushes, then
   * stops. OK when nothing was left in flight; UNAVAILABLE when the time was up: those deliveries
   * stay claimed and are in doubt. Stopped in both cases. [control] */
  sendonce_rc (*drain)(sendonce_instance* instance, uint64_t timeout_ms, sendonce_text* error);

  /* Stops now: calls in flight are cut off and in doubt. Does nothing when it has stopped already.
   * Everything that was durable stays so. [control] */
  sendonce_rc (*stop)(sendonce_instance* instance, sendonce_text* error);

  /* Stops if need be and frees the instance; NULL is allowed. [control] */
  void (*close)(sendonce_instance* instance);

  /* The state as one JSON object, as `sendonce status` shows it. EXHAUSTED when `out` is too short:
   * out->size then says what is needed. [any], between open and close */
  sendonce_rc (*status)(sendonce_instance* instance, sendonce_text* out);

  /* The metrics in the Prometheus text format. Otherwise as status. [any], between open and close
   */
  sendonce_rc (*metrics)(sendonce_instance* instance, sendonce_text* out);

  /* Hands out at most `max_events` queued callbacks; never blocks, but for a reload that was asked
   * for on the admin socket, which is carried out here. OK while every thread of the library makes
   * progress; STALLED otherwise, and then a host should not feed its watchdog. Call it a few times
   * a second even with SENDONCE_HOST_ANY_THREAD, when that matters. [control] */
  sendonce_rc (*pump)(sendonce_instance* instance, uint32_t max_events);
} sendonce_module_api;

/* The one exported symbol. The table is constant and lives as long as the process. NULL when the
 * library cannot serve a host of that minor version. [any] */
typedef const sendonce_module_api* (*sendonce_module_entry_fn)(uint32_t host_abi_minor);
SENDONCE_EXPORT const sendonce_module_api* sendonce_module_v1(uint32_t host_abi_minor);

#ifdef __cplusplus
}
#endif
#endif /* SENDONCE_ABI_HOST_H */
