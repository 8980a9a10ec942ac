/* Preloaded into a process: its wall clock is off by as many nanoseconds as the file that
 * SENDONCE_TEST_CLOCK names holds (a native int64), and follows when they change. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)
#define SEEN __attribute__((visibility("default")))

static const volatile int64_t* offset;

__attribute__((constructor)) static void find_offset(void) {
  const char* file = getenv("SENDONCE_TEST_CLOCK");
  const int fd = file == NULL ? -1 : open(file, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  void* page = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (page != MAP_FAILED) offset = page;
}

SEEN int clock_gettime(clockid_t id, struct timespec* t) {
  if (syscall(SYS_clock_gettime, id, t) != 0) return -1;
  if (id != CLOCK_REALTIME || offset == NULL) return 0;
  const int64_t now = (int64_t)t->tv_sec * SECOND + t->tv_nsec + *offset;
  t->tv_sec = now / SECOND;
  t->tv_nsec = now % SECOND;
  return 0;
}

SEEN int gettimeofday(struct timeval* restrict t, void* restrict zone) {
  (void)zone;
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  t->tv_sec = now.tv_sec;
  t->tv_usec = now.tv_nsec / 1000;
  return 0;
}

SEEN time_t time(time_t* t) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  if (t != NULL) *t = now.tv_sec;
  return now.tv_sec;
}
