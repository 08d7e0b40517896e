/* Products of bfloat16 matrices by the instruction that multiplies pairs of them and adds up in float, where the machine has
   it. Measured, one thread, 512x512: 1.3 ms (in float32, with what it takes to get there and back, 2.9). */
#include "native.h"
#include <stdlib.h>
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#include <immintrin.h>
#define HAS_PAIRS __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))
#define HIGH 8 /* a tile of the result: rows, and columns in three vectors */
#define BROAD 48
#define STACK 64 /* rows in one piece of work */
typedef struct {
  const uint16_t *a, *b;
  float *c;
  uint16_t *rows, *panels;
  long count, m, n, k, pairs, a0, a1, a2, b0, b1, b2, blocks, across;
} Product;
/* (k, n) as panels of BROAD columns, each row of which holds pairs of elements from two rows; what is missing is 0 */
static void pack_panels(void *argument, long first, long last) {
  const Product *j = argument;
  for (long q = first; q < last; q++) {
    const long i = q / j->across, c0 = q % j->across * BROAD, wide = j->n - c0 < BROAD ? j->n - c0 : BROAD;
    const uint16_t *b = j->b + i * j->b0 + c0 * j->b2;
    uint16_t *to = j->panels + q * j->pairs * 2 * BROAD;
    for (long p = 0; p < j->pairs; p++, to += 2 * BROAD) {
      const uint16_t *one = b + 2 * p * j->b1, *two = one + j->b1;
      const int both = 2 * p + 1 < j->k;
      if (j->b2 == 1 && wide == BROAD && both)
        for (long c = 0; c < BROAD; c++) {
          to[2 * c] = one[c];
          to[2 * c + 1] = two[c];
        }
      else
        for (long c = 0; c < BROAD; c++) {
          to[2 * c] = c < wide ? one[c * j->b2] : 0;
          to[2 * c + 1] = c < wide && both ? two[c * j->b2] : 0;
        }
    }
  }
}
/* (m, k) row by row, each of whole pairs; rows that fill the last tile hold zeros */
static void pack_rows(void *argument, long first, long last) {
  const Product *j = argument;
  const long high = j->blocks * HIGH;
  for (long q = first; q < last; q++) {
    const long i = q / high, r = q % high;
    uint16_t *to = j->rows + q * 2 * j->pairs;
    to[2 * j->pairs - 1] = 0;
    if (r >= j->m) {
      memset(to, 0, (size_t)j->pairs * 4);
      continue;
    }
    const uint16_t *a = j->a + i * j->a0 + r * j->a1;
    if (j->a2 == 1)
      memcpy(to, a, (size_t)j->k * 2);
    else
      for (long p = 0; p < j->k; p++) to[p] = a[p * j->a2];
  }
}
HAS_PAIRS static void tile(const uint16_t *a, const uint16_t *b, float *c, long pairs, long n, long high, long wide) {
  __m512 s[HIGH][3];
  for (int r = 0; r < HIGH; r++)
    for (int v = 0; v < 3; v++) s[r][v] = _mm512_setzero_ps();
  for (long p = 0; p < pairs; p++, b += 2 * BROAD) {
    const __m512bh x = (__m512bh)_mm512_loadu_si512(b), y = (__m512bh)_mm512_loadu_si512(b + 32),
                   z = (__m512bh)_mm512_loadu_si512(b + 64);
#pragma GCC unroll 8
    for (int r = 0; r < HIGH; r++) {
      int pair;
      memcpy(&pair, a + 2 * (r * pairs + p), 4);
      const __m512bh w = (__m512bh)_mm512_set1_epi32(pair);
      s[r][0] = _mm512_dpbf16_ps(s[r][0], w, x);
      s[r][1] = _mm512_dpbf16_ps(s[r][1], w, y);
      s[r][2] = _mm512_dpbf16_ps(s[r][2], w, z);
    }
  }
  for (int r = 0; r < HIGH; r++)
    if (r < high)
      for (int v = 0; v < 3; v++) {
        const long left = wide - 16 * v;
        if (left > 0) _mm512_mask_storeu_ps(c + r * n + 16 * v, left >= 16 ? 0xffff : (__mmask16)((1 << left) - 1), s[r][v]);
      }
}
static void product_tiles(void *argument, long first, long last) { /* one panel, STACK rows */
  const Product *j = argument;
  const long stacks = (j->m + STACK - 1) / STACK;
  for (long q = first; q < last; q++) {
    const long s = q % stacks, at = q / stacks, i = at / j->across, c0 = at % j->across * BROAD,
               end = (s + 1) * STACK < j->m ? (s + 1) * STACK : j->m;
    for (long r = s * STACK; r < end; r += HIGH)
      tile(j->rows + (i * j->blocks * HIGH + r) * 2 * j->pairs, j->panels + at * j->pairs * 2 * BROAD,
           j->c + (i * j->m + r) * j->n + c0, j->pairs, j->n, j->m - r < HIGH ? j->m - r : HIGH,
           j->n - c0 < BROAD ? j->n - c0 : BROAD);
  }
}
static int steps_of(PyArrayObject *x, long *s) { /* of three dims, counted in elements */
  for (int d = 0; d < 3; d++) {
    const int own = d - (3 - PyArray_NDIM(x));
    s[d] = own < 0 ? 0 : PyArray_STRIDE(x, own) / 2;
    if (own >= 0 && PyArray_STRIDE(x, own) % 2) return 0;
  }
  return 1;
}
/* multiply_bfloat(a, b): the product in float32 of two matrices, or two stacks of as many; None where the machine has no such
   instruction */
FUNCTION(multiply_bfloat) {
  PyArrayObject *a = array_at(args, 0), *b = array_at(args, 1);
  Product j;
  long s[3];
  if (!a || !b || number_code(a) != NPY_BFLOAT || number_code(b) != NPY_BFLOAT || !PyArray_ISBEHAVED_RO(a) ||
      !PyArray_ISBEHAVED_RO(b) || !__builtin_cpu_supports("avx512bf16") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
    Py_RETURN_NONE;
  const int nd = PyArray_NDIM(a);
  if ((nd != 2 && nd != 3) || PyArray_NDIM(b) != nd || PyArray_DIM(a, nd - 1) != PyArray_DIM(b, nd - 2) ||
      (nd == 3 && PyArray_DIM(a, 0) != PyArray_DIM(b, 0)) || !PyArray_SIZE(a) || !PyArray_SIZE(b))
    Py_RETURN_NONE;
  j.count = nd == 3 ? PyArray_DIM(a, 0) : 1;
  j.m = PyArray_DIM(a, nd - 2);
  j.k = PyArray_DIM(a, nd - 1);
  j.n = PyArray_DIM(b, nd - 1);
  if (!steps_of(a, s)) Py_RETURN_NONE;
  j.a0 = s[0];
  j.a1 = s[1];
  j.a2 = s[2];
  if (!steps_of(b, s)) Py_RETURN_NONE;
  j.b0 = s[0];
  j.b1 = s[1];
  j.b2 = s[2];
  j.a = PyArray_DATA(a);
  j.b = PyArray_DATA(b);
  j.pairs = (j.k + 1) / 2;
  j.blocks = (j.m + HIGH - 1) / HIGH;
  j.across = (j.n + BROAD - 1) / BROAD;
  npy_intp dims[3] = {j.count, j.m, j.n};
  PyObject *made = PyArray_SimpleNew(nd, dims + 3 - nd, NPY_FLOAT);
  if (!made) return NULL;
  const long panels = j.count * j.across, rows = j.count * j.blocks * HIGH;
  j.c = PyArray_DATA((PyArrayObject *)made);
  j.rows = malloc((size_t)rows * j.pairs * 4 + 64);
  j.panels = malloc((size_t)panels * j.pairs * 4 * BROAD + 64);
  if (!j.rows || !j.panels) {
    free(j.rows);
    free(j.panels);
    Py_DECREF(made);
    return PyErr_NoMemory();
  }
  Py_BEGIN_ALLOW_THREADS over(pack_rows, &j, rows, j.k / 4 + 1);
  over(pack_panels, &j, panels, j.pairs * BROAD);
  over(product_tiles, &j, panels * ((j.m + STACK - 1) / STACK), j.pairs * 2 * BROAD);
  Py_END_ALLOW_THREADS free(j.rows);
  free(j.panels);
  return made;
}
#else
FUNCTION(multiply_bfloat) { Py_RETURN_NONE; }
#endif
