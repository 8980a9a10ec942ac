/* SPDX-License-Identifier: Apache-2.0
 *
 * sendonce/abi/base.h - what every C interface of sendonce has in common.
 *
 * Rules for all structs and calls in sendonce/abi/:
 *   - C11 with <stdint.h> and <stddef.h>, nothing else; also valid C++. No padding, no bit fields,
 *     no enum types in a struct or a signature.
 *   - Every table and every struct that may grow starts with `struct_size`, set by the side that
 *     ALLOCATES it to the sizeof it was compiled with. The other side asks SENDONCE_HAS() before it
 *     touches a member that was added after 1.0. An out-struct is zeroed by its allocator: zero
 *     means "not filled". The small value types (sendonce_str, sendonce_kv, sendonce_text) never
 *     change.
 *   - Members are only ever appended. Order, width and meaning of a member never change within a
 *     major version; the major version is part of the one symbol that a library exports.
 *   - Strings: a sendonce_str is UTF-8, sized, borrowed for the duration of the call and NOT
 *     NUL-terminated. A `const char *` is NUL-terminated UTF-8; as an argument it is borrowed for
 *     the call, in a table it lives as long as the table.
 *   - Memory never changes owner: who allocates frees.
 *   - No call throws or longjmps across the boundary, in either direction.
 *   - Names carry units: _ns, _ms, _bytes.
 *   - Threads: every function is tagged. [control]: one thread at a time, never from within a
 *     callback. [any]: any thread, also several at once.
 */
#ifndef SENDONCE_ABI_BASE_H
#define SENDONCE_ABI_BASE_H

#include <stddef.h>
#include <stdint.h>

#define SENDONCE_ABI_MAJOR 1u
#define SENDONCE_ABI_MINOR 0u

#if defined(__GNUC__)
#define SENDONCE_EXPORT __attribute__((visibility("default")))
#else
#define SENDONCE_EXPORT
#endif

/* True when *p, as allocated by the other side, is long enough to hold `member`. */
#ifdef __cplusplus
#define SENDONCE_SIZEOF(type, member) sizeof(type::member)
#else
#define SENDONCE_SIZEOF(type, member) sizeof(((type*)0)->member)
#endif
#define SENDONCE_HAS(p, type, member) \
  ((p)->struct_size >= offsetof(type, member) + SENDONCE_SIZEOF(type, member))

#ifdef __cplusplus
extern "C" {
#endif

/* Borrowed text. */
typedef struct sendonce_str {
  const char* data; /* may be NULL when size is 0 */
  uint64_t size;    /* in bytes, without any NUL */
} sendonce_str;

typedef struct sendonce_kv {
  sendonce_str key;
  sendonce_str value;
} sendonce_kv;

/* A buffer that the caller lends for text. The callee writes at most `capacity` bytes, ends them
 * with NUL when capacity > 0, and sets `size` to the length of the whole text without the NUL: the
 * text was cut when size >= capacity. Where a call takes a pointer to one for its error, NULL says
 * that the caller does not want it; such a text names the place and the remedy, and never holds a
 * token, credential, address or payload. */
typedef struct sendonce_text {
  char* data;
  uint64_t capacity;
  uint64_t size;
} sendonce_text;

/* Result of a call. Read an unknown value as SENDONCE_E_INTERNAL. */
typedef int32_t sendonce_rc;
enum {
  SENDONCE_OK = 0,
  SENDONCE_E_INVALID = 1,     /* argument, configuration or input is wrong: fix it, do not retry */
  SENDONCE_E_UNAVAILABLE = 2, /* may succeed later without any change */
  SENDONCE_E_EXHAUSTED = 3,   /* a limit was reached: disk, map, queue; nothing was changed */
  SENDONCE_E_CORRUPT = 4,     /* stored data contradicts itself: stop */
  SENDONCE_E_DENIED = 5,      /* permission is missing */
  SENDONCE_E_BUSY = 6,        /* another process or instance owns it */
  SENDONCE_E_STATE = 7,       /* not allowed in the present state of the instance */
  SENDONCE_E_STALLED = 8,     /* a thread of the module makes no progress */
  SENDONCE_E_INTERNAL = 9     /* a bug */
};

#ifdef __cplusplus
}
#endif
#endif /* SENDONCE_ABI_BASE_H */
