/* Work in pieces over the threads of the generated loops, and memory for each piece.
   Measured, 8 threads, float32: flip of 1000x1000 0.03 ms (one thread 0.15), max_pool2d of 16x32x64x64 1.4 ms (9). */
#include "native.h"
#include <pthread.h>
#include <stdlib.h>
static const Pool *pool;
HIDDEN void find_pool(void) {
  PyObject *loops = PyImport_ImportModule("retrograd.core._loops"),
           *capsule = loops ? PyObject_GetAttrString(loops, "pool") : NULL;
  pool = capsule ? PyCapsule_GetPointer(capsule, POOL_NAME) : NULL; /* it lives as long as its module, and that for ever */
  if (!pool) PyErr_Clear();
  Py_XDECREF(capsule);
  Py_XDECREF(loops);
}
HIDDEN int thread_count(void) { return pool ? *pool->threads : 1; }

typedef struct {
  Part part;
  void *job;
  long count, chunk;
} Cut;
static void run_piece(void *argument, long k) {
  const Cut *c = argument;
  const long first = k * c->chunk, last = first + c->chunk;
  c->part(c->job, first, last < c->count ? last : c->count);
}
HIDDEN void over(Part part, void *job, long count, long each) {
  const long chunk = each >= GRAIN ? 1 : GRAIN / (each > 0 ? each : 1);
  if (count <= chunk || thread_count() == 1) {
    if (count > 0) part(job, 0, count);
    return;
  }
  Cut c = {part, job, count, chunk};
  pool->parallel(run_piece, &c, (count + chunk - 1) / chunk);
}

/* ---- the BLAS: told to use one thread while several callers are in it, and then as many as before */
typedef struct {
  int (*get)(void);
  void (*set)(int);
  int before;
} Library;
static Library libraries[4];
static int library_count, inside;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void enter_or_leave(int step) {
  pthread_mutex_lock(&mutex);
  const int change = step > 0 ? !inside : inside == 1;
  inside += step;
  for (int i = 0; change && i < library_count; i++) {
    Library *l = libraries + i;
    if (step > 0) {
      l->before = l->get();
      l->set(1);
    } else
      l->set(l->before);
  }
  pthread_mutex_unlock(&mutex);
}
HIDDEN void over_blas(Part part, void *job, long count) {
  if (count < 2 || thread_count() == 1) {
    for (long k = 0; k < count; k++) part(job, k, k + 1);
    return;
  }
  Cut c = {part, job, count, 1};
  enter_or_leave(1);
  pool->parallel(run_piece, &c, count);
  enter_or_leave(-1);
}
/* use_blas(*addresses): for each library, of the function that tells its number of threads and of the one that sets it */
FUNCTION(use_blas) {
  library_count = 0;
  for (Py_ssize_t i = 0; i + 1 < given && library_count < 4; i += 2) {
    void *get = PyLong_AsVoidPtr(args[i]), *set = PyLong_AsVoidPtr(args[i + 1]);
    if (PyErr_Occurred()) return NULL;
    Library *l = libraries + library_count++;
    l->get = (int (*)(void))get;
    l->set = (void (*)(int))set;
  }
  Py_RETURN_NONE;
}

/* ---- memory */
#define KEPT ((size_t)8 << 20)
typedef struct {
  size_t size;
  size_t used;
} Header;
#define SLOTS 2 /* what is shared by all pieces, and what each has for itself */
static _Thread_local Header *kept[SLOTS];
HIDDEN void *borrow(size_t bytes) {
  Header *h = NULL;
  for (int i = 0; i < SLOTS; i++)
    if (kept[i] && !kept[i]->used && kept[i]->size >= bytes && (!h || kept[i]->size < h->size)) h = kept[i];
  if (!h) {
    void *p = NULL;
    if (posix_memalign(&p, 64, bytes + 64)) return NULL;
    h = p;
    h->size = bytes;
    h->used = 0;
  }
  h->used = 1;
  return (char *)h + 64;
}
HIDDEN void give_back(void *memory) {
  if (!memory) return;
  Header *h = (Header *)((char *)memory - 64);
  h->used = 0;
  int to = -1;
  for (int i = 0; i < SLOTS; i++) {
    if (kept[i] == h) return;
    if (!kept[i] || (!kept[i]->used && kept[i]->size < h->size && (to < 0 || (kept[to] && kept[i]->size < kept[to]->size))))
      to = i;
  }
  if (h->size <= KEPT && to >= 0) {
    free(kept[to]);
    kept[to] = h;
  } else
    free(h);
}
