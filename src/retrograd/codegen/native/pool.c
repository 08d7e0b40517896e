/* The thread pool: helpers spin for a moment, then sleep; none is started before the first large array; a forked child
   starts its own. A caller that finds the pool in use (another Python thread has it) does its tasks alone. */
#include "pool.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#define SPINS 4000
HIDDEN int pool_threads = 1;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static Task job; static void *job_argument; static long job_count; static int job_helpers;
static atomic_long next_task; static atomic_int working, busy; static atomic_ulong generation; static int started;

static inline void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}
static void claim(Task task, void *argument, long count) { long k; while ((k = atomic_fetch_add(&next_task, 1)) < count) task(argument, k); }
static void *helper(void *seen_at_start) {
  unsigned long seen = (unsigned long)seen_at_start;
  for (;;) {
    for (long i = 0; i < SPINS && atomic_load_explicit(&generation, memory_order_relaxed) == seen; i++) relax();
    pthread_mutex_lock(&mutex);
    while (generation == seen) pthread_cond_wait(&wake, &mutex);
    seen = generation;
    Task task = job; void *argument = job_argument; long count = job_count;
    const int join = argument && job_helpers > 0; if (join) { job_helpers--; working++; }
    pthread_mutex_unlock(&mutex);
    if (join) { claim(task, argument, count); working--; }
  }
  return 0; }
static void after_fork(void) {
  pthread_mutex_init(&mutex, 0); pthread_cond_init(&wake, 0); job_argument = 0; working = 0; busy = 0; started = 0; }
HIDDEN void pool_start(void) { pthread_atfork(0, 0, after_fork); }

HIDDEN void parallel(Task task, void *argument, long count) {
  const int threads = pool_threads;
  if (count == 1 || threads == 1 || atomic_exchange(&busy, 1)) { for (long k = 0; k < count; k++) task(argument, k); return; }
  pthread_mutex_lock(&mutex);
  while (started < threads - 1) {
    pthread_t thread; pthread_attr_t attributes; pthread_attr_init(&attributes); pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    const int failed = pthread_create(&thread, &attributes, helper, (void *)(unsigned long)generation); pthread_attr_destroy(&attributes);
    if (failed) break;
    started++; }
  job = task; job_argument = argument; job_count = count; job_helpers = threads - 1; next_task = 0; generation++;
  pthread_cond_broadcast(&wake);
  pthread_mutex_unlock(&mutex);
  claim(task, argument, count);
  pthread_mutex_lock(&mutex); job_argument = 0; pthread_mutex_unlock(&mutex);
  for (int i = 0; working; i++) if (i > 1000) sched_yield(); else relax();
  busy = 0; }
