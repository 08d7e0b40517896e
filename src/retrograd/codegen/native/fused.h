/* What the C of a fused region needs: vector math, loads of one block, and the walk over the rows of its arrays. */
#include <stdint.h>
#include <stddef.h>
#define BLOCK 1024
#include "basics.h"
#include "vmath.h"
#define GRAIN 32768L
/* Elements of type S that do not lie in a row, or are not of the computing type, go through a buffer of one block. */
#define COPIES(T, S, name)                                                                   \
  static __attribute__((noinline)) void in_##name(T *to, const char *p, long s, long m) {    \
    if (s == (long)sizeof(S))                                                                \
      for (long j = 0; j < m; j++) to[j] = (T)((const S *)p)[j];                             \
    else                                                                                     \
      for (long j = 0; j < m; j++) to[j] = (T) * (const S *)(p + j * s);                     \
  }                                                                                          \
  static __attribute__((noinline)) void out_##name(const T *from, char *p, long s, long m) { \
    if (s == (long)sizeof(S))                                                                \
      for (long j = 0; j < m; j++) ((S *)p)[j] = (S)from[j];                                 \
    else                                                                                     \
      for (long j = 0; j < m; j++) *(S *)(p + j * s) = (S)from[j];                           \
  }
COPIES(float, float, ff)
COPIES(float, uint8_t, fb)
COPIES(double, double, dd) COPIES(double, uint8_t, db)
/* Results larger than the caches are written past them: an ordinary store first reads the line that it writes. */
#define LARGE (32L << 20)
#define ALIGNED_BLOCK __attribute__((aligned(64)))
#if defined(__AVX512F__)
#define LINE 64
#elif defined(__AVX__)
#define LINE 32
#else
#define LINE 16
#endif
typedef float Vector __attribute__((vector_size(LINE), aligned(4), may_alias));
typedef float Aligned __attribute__((vector_size(LINE), may_alias));
#if defined(__clang__)
#define STREAMS 1
#define PUT(to, v) __builtin_nontemporal_store(v, to)
#define STREAMED __atomic_thread_fence(__ATOMIC_SEQ_CST);
#elif defined(__SSE2__)
#define STREAMS 1
#if defined(__AVX512F__)
#define PUT(to, v) __builtin_ia32_movntps512((float *)(to), v)
#elif defined(__AVX__)
#define PUT(to, v) __builtin_ia32_movntps256((float *)(to), v)
#else
#define PUT(to, v) __builtin_ia32_movntps((float *)(to), v)
#endif
#define STREAMED __builtin_ia32_sfence();
#else
#define STREAMS 0
#define PUT(to, v) *(to) = v
#define STREAMED
#endif
static __attribute__((noinline)) void stream(const char *from, char *to, long n) {
  long i = -(intptr_t)to & (LINE - 1);
  if (i > n) i = n;
  __builtin_memcpy(to, from, i);
  for (; i + LINE <= n; i += LINE) PUT((Aligned *)(to + i), *(const Vector *)(from + i));
  __builtin_memcpy(to + i, from + i, n - i);
}
/* A block of operand o as a plain pointer: the array itself where that is possible. */
#define LOAD(S, name, o)                                 \
  T u_##o[BLOCK];                                        \
  const T *q_##o = u_##o;                                \
  if (sizeof(S) == sizeof(T) && s[o] == (long)sizeof(T)) \
    q_##o = (const T *)(p[o] + b * s[o]);                \
  else                                                   \
    in_##name(u_##o, p[o] + b * s[o], s[o], m);
#define PLACE(S, o)             \
  ALIGNED_BLOCK T w_##o[BLOCK]; \
  T *z_##o = !streams && sizeof(S) == sizeof(T) && s[o] == (long)sizeof(T) ? (T *)(p[o] + b * s[o]) : w_##o;
#define STORE(S, name, o)                                             \
  if (z_##o == w_##o) {                                               \
    if (streams && s[o] == (long)sizeof(S) && sizeof(S) == sizeof(T)) \
      stream((char *)w_##o, p[o] + b * s[o], m * (long)sizeof(S));    \
    else                                                              \
      out_##name(w_##o, p[o] + b * s[o], s[o], m);                    \
  }
    /* The geometry of a region: number of operands and of outer dims, rows, elements in a row, their strides in bytes per
       operand, the outer shape, and the strides of each operand along it; then for each sum how many rows go into one result.
       Sums are taken part by part of every row, in the order of memory: they do not depend on the number of threads. */
    typedef void (*Region)(char **p, const long *s, long n, const Number *num, double *sums, int streams);
typedef void (*Finish)(char **p, long at, const double *sums, double count, const Number *num);
typedef void (*Parallel)(void (*task)(void *, long), void *argument, long count);
typedef struct {
  Region f;
  char **p;
  const long *inner, *shape, *outer;
  const Number *num;
  double *sums;
  long nop, nd, nsum, rows, n, chunk, part, parts;
  int streams;
} Job;
static void task(void *argument, long k) {
  const Job *j = argument;
  const long r0 = k / j->parts * j->chunk, c0 = k % j->parts * j->part;
  const long r1 = r0 + j->chunk < j->rows ? r0 + j->chunk : j->rows, n = c0 + j->part < j->n ? j->part : j->n - c0;
  char *q[j->nop];
  long at[j->nd + 1], left = r0;
  for (long o = 0; o < j->nop; o++) q[o] = j->p[o] + c0 * j->inner[o];
  for (long d = j->nd - 1; d >= 0; d--) {
    at[d] = left % j->shape[d];
    left /= j->shape[d];
    for (long o = 0; o < j->nop; o++) q[o] += at[d] * j->outer[o * j->nd + d];
  }
  for (long r = r0; r < r1; r++) {
    j->f(q, j->inner, n, j->num, j->sums ? j->sums + (r * j->parts + k % j->parts) * j->nsum : 0, j->streams);
    for (long d = j->nd - 1; d >= 0; d--) {
      if (++at[d] < j->shape[d]) {
        for (long o = 0; o < j->nop; o++) q[o] += j->outer[o * j->nd + d];
        break;
      }
      at[d] = 0;
      for (long o = 0; o < j->nop; o++) q[o] -= (j->shape[d] - 1) * j->outer[o * j->nd + d];
    }
  }
  if (j->streams) { STREAMED }
}
void *malloc(size_t);
void free(void *);
static void run(Region f, char **p, const long *g, const Number *num, Parallel parallel, long nsum, const Finish *finish,
                int streams) {
  Job j;
  j.f = f;
  j.nsum = nsum;
  j.sums = 0;
  j.p = p;
  j.num = num;
  j.nop = g[0];
  j.nd = g[1];
  j.rows = g[2];
  j.n = g[3];
  j.inner = g + 4;
  j.shape = j.inner + j.nop;
  j.outer = j.shape + j.nd;
  if (j.rows <= 0 || j.n <= 0) return;
  j.streams = STREAMS && streams && j.rows * j.n * 4 >= LARGE;
  j.part = j.n < GRAIN ? j.n : GRAIN;
  j.parts = (j.n + j.part - 1) / j.part;
  j.chunk = GRAIN / j.part;
  if (j.chunk < 1) j.chunk = 1;
  const long tasks = (j.rows + j.chunk - 1) / j.chunk * j.parts;
  if (nsum) {
    j.sums = malloc((size_t)(j.rows * j.parts * nsum) * sizeof(double));
    if (!j.sums) __builtin_trap();
  }
  if (parallel && tasks > 1)
    parallel(task, &j, tasks);
  else
    for (long k = 0; k < tasks; k++) task(&j, k);
  const long *group = j.outer + j.nop * j.nd;
  for (long i = 0; i < nsum; i++)
    for (long r = 0; r < j.rows; r += group[i]) {
      double total = 0, e = 0; /* compensated */
      for (long k = r * j.parts; k < (r + group[i]) * j.parts; k++) {
        const double x = j.sums[k * nsum + i], t = total + x, z = t - total, d = (total - (t - z)) + (x - z);
        e += d == d ? d : 0;
        total = t;
      }
      total += e;
      finish[i](p, r / group[i], &total, (double)(group[i] * j.n), num);
    }
  free(j.sums);
}
