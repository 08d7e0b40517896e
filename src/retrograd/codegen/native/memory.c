/* Memory of large arrays, under NumPy (NEP 49): freed blocks are kept and used again, since fresh pages cost more than
   most kernels. What is kept and what is in use together never exceed the most that was ever in use. */
#include "kernel.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif
#define LARGE ((size_t)128 << 10)
#define HUGE_PAGE ((size_t)2 << 20)
#define PAGE ((size_t)4096)
typedef struct Block {
  void *p;
  size_t size;
  struct Block *next, *older, *newer;
  int free;
} Block;
#define SLOTS 4096
static Block *table[SLOTS], *oldest, *newest; /* by address; the free ones by age */
static size_t live, peak, cached, limit = (size_t)4 << 30, hits, misses;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static inline size_t slot(const void *p) { return ((uintptr_t)p >> 12) * 0x9E3779B97F4A7C15ull >> 52; }
static size_t rounded(size_t n) { /* up to an eighth of waste, so that blocks of similar sizes fit */
  size_t step = PAGE;
  while (step * 16 < n) step *= 2;
  return (n + step - 1) / step * step;
}
static void unlink_free(Block *b) {
  if (b->older)
    b->older->newer = b->newer;
  else
    oldest = b->newer;
  if (b->newer)
    b->newer->older = b->older;
  else
    newest = b->older;
  b->free = 0;
  cached -= b->size;
}
static void forget(Block *b) {
  Block **at = &table[slot(b->p)];
  while (*at != b) at = &(*at)->next;
  *at = b->next;
  free(b->p);
  free(b);
}
static void trim(size_t keep) {
  while (oldest && cached > keep) {
    Block *b = oldest;
    unlink_free(b);
    forget(b);
  }
}

static void *take(size_t n) {
  n = rounded(n);
  pthread_mutex_lock(&mutex);
  Block *b = newest;
  while (b && b->size != n) b = b->older;
  if (b) {
    unlink_free(b);
    hits++;
  } else {
    misses++;
    const size_t top = peak > live + n ? peak : live + n;
    trim(top - live - n);
    void *p = 0;
    for (int attempt = 0; attempt < 2 && !p; attempt++) {
      if (posix_memalign(&p, n >= 2 * HUGE_PAGE ? HUGE_PAGE : PAGE, n)) p = 0;
      if (!p) trim(0);
    }
    b = p ? malloc(sizeof *b) : 0;
    if (!b) {
      free(p);
      pthread_mutex_unlock(&mutex);
      return 0;
    }
#ifdef __linux__
    if (n >= 2 * HUGE_PAGE) madvise(p, n, MADV_HUGEPAGE);
#endif
    b->p = p;
    b->size = n;
    b->free = 0;
    b->next = table[slot(p)];
    table[slot(p)] = b;
  }
  live += n;
  if (live > peak) peak = live;
  pthread_mutex_unlock(&mutex);
  return b->p;
}
static Block *find(const void *p) {
  Block *b = table[slot(p)];
  while (b && b->p != p) b = b->next;
  return b;
}
static int give(void *p) { /* whether p was one of ours */
  if ((uintptr_t)p & (PAGE - 1) || !p) return 0;
  pthread_mutex_lock(&mutex);
  Block *b = find(p);
  if (b) {
    live -= b->size;
    b->free = 1;
    cached += b->size;
    b->older = newest;
    b->newer = 0;
    if (newest)
      newest->newer = b;
    else
      oldest = b;
    newest = b;
    trim(limit);
  }
  pthread_mutex_unlock(&mutex);
  return b != 0;
}

static void *memory_malloc(void *c, size_t n) { return n >= LARGE ? take(n) : malloc(n ? n : 1); }
static void memory_free(void *c, void *p, size_t n) {
  if (!give(p)) free(p);
}
static void *memory_calloc(void *c, size_t a, size_t b) {
  size_t n;
  if (__builtin_mul_overflow(a, b, &n)) return 0;
  if (n < LARGE) return calloc(a ? a : 1, b ? b : 1);
  void *p = take(n);
  if (p) memset(p, 0, n);
  return p;
}
static void *memory_realloc(void *c, void *p, size_t n) {
  size_t old = 0;
  if (p && !((uintptr_t)p & (PAGE - 1))) {
    pthread_mutex_lock(&mutex);
    Block *b = find(p);
    old = b ? b->size : 0;
    pthread_mutex_unlock(&mutex);
  }
  if (!old) return realloc(p, n ? n : 1);
  void *q = memory_malloc(c, n);
  if (!q) return 0;
  memcpy(q, p, old < n ? old : n);
  give(p);
  return q;
}
static PyDataMem_Handler handler = {"retrograd", 1, {NULL, memory_malloc, memory_calloc, memory_realloc, memory_free}};

static void before_fork(void) { pthread_mutex_lock(&mutex); }
static void in_either(void) { pthread_mutex_unlock(&mutex); }
/* use_memory(): large arrays of this thread's context come from here */
PyObject *use_memory(PyObject *self, PyObject *unused) {
  static int prepared;
  if (!prepared) {
    pthread_atfork(before_fork, in_either, in_either);
    prepared = 1;
  }
  PyObject *capsule = PyCapsule_New(&handler, "mem_handler", NULL);
  if (!capsule) return NULL;
  PyObject *old = PyDataMem_SetHandler(capsule);
  Py_DECREF(capsule);
  if (!old) return NULL;
  Py_DECREF(old);
  Py_RETURN_NONE;
}
/* memory_limit(bytes): the most that is kept for later; 0 keeps nothing */
PyObject *memory_limit(PyObject *self, PyObject *bytes) {
  const size_t n = PyLong_AsSize_t(bytes);
  if (PyErr_Occurred()) return NULL;
  pthread_mutex_lock(&mutex);
  limit = n;
  trim(limit);
  pthread_mutex_unlock(&mutex);
  Py_RETURN_NONE;
}
PyObject *empty_memory(PyObject *self, PyObject *unused) {
  pthread_mutex_lock(&mutex);
  trim(0);
  peak = live;
  pthread_mutex_unlock(&mutex);
  Py_RETURN_NONE;
}
PyObject *memory_stats(PyObject *self, PyObject *unused) {
  pthread_mutex_lock(&mutex);
  const size_t l = live, p = peak, c = cached, h = hits, m = misses, t = limit;
  pthread_mutex_unlock(&mutex);
  return Py_BuildValue("{s:n,s:n,s:n,s:n,s:n,s:n}", "allocated", (Py_ssize_t)l, "peak", (Py_ssize_t)p, "cached", (Py_ssize_t)c,
                       "reused", (Py_ssize_t)h, "fresh", (Py_ssize_t)m, "limit", (Py_ssize_t)t);
}
PyObject *reset_memory_peak(PyObject *self, PyObject *unused) {
  pthread_mutex_lock(&mutex);
  peak = live;
  trim(0);
  pthread_mutex_unlock(&mutex);
  Py_RETURN_NONE;
}
