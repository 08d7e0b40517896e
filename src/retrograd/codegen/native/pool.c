/* The thread pool: helpers spin for a moment, then sleep; none is started before the first large array; a forked child
   starts its own. A caller that finds the pool in use (another Python thread has it) does its tasks alone.

   The tasks of a job are dealt out in equal shares, the same to the same thread each time, so that what a thread has
   written is in its cache when the next kernel reads it. A thread that is done with its share takes from the others'.

   `state` is all that helpers look at while they spin: the number of the job, how many threads it is for, whether it is
   still open, and how many helpers have joined it. Joining is one compare-and-swap: no lock is taken unless a helper sleeps. */
#include "pool.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#define SPINS 4000
#define MOST 256 /* threads, see set_threads */
#define JOINED(state) ((state) & 1023)
#define OPEN 1024UL
#define THREADS(state) ((state) >> 11 & 1023)
#define JOB(state) ((state) >> 21)
HIDDEN int pool_threads = 1;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* for those that sleep, and for starting threads */
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static struct {
  Task task;
  void *argument;
} job; /* written while no helper is in a job */
static struct {
  _Alignas(64) atomic_long next;
  long end;
} shares[MOST];
static _Alignas(64) atomic_ulong state;
static _Alignas(64) atomic_int finished, sleepers, busy;
static int started;

static inline void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static void work(int self, int threads) {
  for (int i = 0; i < threads; i++) {
    const int share = (self + i) % threads;
    long k;
    while (atomic_load_explicit(&shares[share].next, memory_order_relaxed) < shares[share].end &&
           (k = atomic_fetch_add_explicit(&shares[share].next, 1, memory_order_relaxed)) < shares[share].end)
      job.task(job.argument, k);
  }
}

static void *helper(void *argument) {
  const int self = (int)((unsigned long)argument & 1023);
  unsigned long seen = (unsigned long)argument >> 10;
  for (;;) {
    for (long i = 0; i < SPINS && JOB(atomic_load_explicit(&state, memory_order_relaxed)) == seen; i++) relax();
    if (JOB(atomic_load(&state)) == seen) {
      pthread_mutex_lock(&mutex);
      atomic_fetch_add(&sleepers, 1);
      while (JOB(atomic_load(&state)) == seen) pthread_cond_wait(&wake, &mutex);
      atomic_fetch_sub(&sleepers, 1);
      pthread_mutex_unlock(&mutex);
    }
    unsigned long now = atomic_load(&state);
    seen = JOB(now);
    while (now & OPEN && JOB(now) == seen && (unsigned long)self < THREADS(now))
      if (atomic_compare_exchange_weak(&state, &now, now + 1)) {
        work(self, (int)THREADS(now));
        atomic_fetch_add(&finished, 1);
        break;
      }
  }
  return 0;
}

static void after_fork(void) {
  pthread_mutex_init(&mutex, 0);
  pthread_cond_init(&wake, 0);
  sleepers = 0;
  busy = 0;
  started = 0;
}
HIDDEN void pool_start(void) { pthread_atfork(0, 0, after_fork); }

static void start_helpers(int count) {
  pthread_mutex_lock(&mutex);
  while (started < count) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    const int failed =
        pthread_create(&thread, &attributes, helper, (void *)(JOB(atomic_load(&state)) << 10 | (unsigned long)(started + 1)));
    pthread_attr_destroy(&attributes);
    if (failed) break;
    started++;
  }
  pthread_mutex_unlock(&mutex);
}

HIDDEN void parallel(Task task, void *argument, long count) {
  const int wanted = pool_threads < count ? pool_threads : (int)count;
  if (wanted <= 1 || atomic_exchange(&busy, 1)) {
    for (long k = 0; k < count; k++) task(argument, k);
    return;
  }
  if (started < pool_threads - 1) start_helpers(pool_threads - 1);
  const int threads = wanted <= started + 1 ? wanted : started + 1;
  job.task = task;
  job.argument = argument;
  finished = 0;
  for (int i = 0; i < threads; i++) {
    shares[i].next = count * i / threads;
    shares[i].end = count * (i + 1) / threads;
  }
  atomic_store(&state, (JOB(atomic_load(&state)) + 1) << 21 | (unsigned long)threads << 11 | OPEN);
  if (atomic_load(&sleepers)) {
    pthread_mutex_lock(&mutex);
    pthread_cond_broadcast(&wake);
    pthread_mutex_unlock(&mutex);
  }
  work(0, threads);
  const int joined = (int)JOINED(atomic_fetch_and(&state, ~OPEN));
  for (int i = 0; atomic_load_explicit(&finished, memory_order_acquire) != joined; i++)
    if (i > 1000)
      sched_yield();
    else
      relax();
  atomic_store(&busy, 0);
}
