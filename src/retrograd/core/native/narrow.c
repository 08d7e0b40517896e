/* Products of few rows with a packed matrix, whose panels stay in cache from one product to the next.
   Measured, one thread, float32: 50 products of 16x128 by 128x512 in a row, each of the last one's result, 0.8 ms (with the
   BLAS, which packs the matrix each time, 1.45). */
#include "native.h"
#include "packed.h"
/* Columns of a panel from rows of another matrix, four at a time; how many are done */
#if defined(__SSE2__)
#include <emmintrin.h>
static long turn_floats(float *to, long wide, const float *from, long step, long k, long m) {
  long j = 0;
  for (; j + 4 <= m; j += 4, from += 4 * step) {
    long p = 0;
    for (; p + 4 <= k; p += 4) {
      __m128 r0 = _mm_loadu_ps(from + p), r1 = _mm_loadu_ps(from + step + p);
      __m128 r2 = _mm_loadu_ps(from + 2 * step + p), r3 = _mm_loadu_ps(from + 3 * step + p);
      _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
      float *q = to + p * wide + j;
      _mm_storeu_ps(q, r0);
      _mm_storeu_ps(q + wide, r1);
      _mm_storeu_ps(q + 2 * wide, r2);
      _mm_storeu_ps(q + 3 * wide, r3);
    }
    for (; p < k; p++)
      for (long i = 0; i < 4; i++) to[p * wide + j + i] = from[i * step + p];
  }
  return j;
}
#else
static long turn_floats(float *to, long wide, const float *from, long step, long k, long m) { return 0; }
#endif
#define TEMPLATE "narrow.h"
#define PORTABLE
#include "levels.h"
HIDDEN const Narrow *narrow_for(size_t size) {
#ifdef LEVELS
  if (has_v4()) return size == 4 ? &way_float_v4 : &way_double_v4;
#endif
  return slim_for(size);
}
HIDDEN const Narrow *slim_for(size_t size) {
#ifdef LEVELS
  if (has_v3()) return size == 4 ? &way_float_v3 : &way_double_v3;
#endif
  return size == 4 ? &way_float_any : &way_double_any;
}

/* ---- whole products, cut into blocks that are packed one after the other */
#define DEEP 384 /* terms of a sum */
#define BROAD 512 /* columns */
/* Whether the tiles are faster than the BLAS of SciPy and NumPy, whose kernels for AMD have vectors of half the size. */
static int tiles_are_faster(void) {
#ifdef LEVELS
  return __builtin_cpu_is("amd") && narrow_for(4) == &way_float_v4;
#else
  return 0;
#endif
}
static int strides_of(PyArrayObject *a, long *row, long *column) {
  const long size = PyArray_ITEMSIZE(a);
  *row = PyArray_STRIDE(a, 0) / size;
  *column = PyArray_STRIDE(a, 1) / size;
  return PyArray_ISBEHAVED_RO(a) && PyArray_STRIDE(a, 0) % size == 0 && PyArray_STRIDE(a, 1) % size == 0;
}
static size_t block_bytes(const Narrow *way, long n, long k) {
  return packed_bytes(way, k < DEEP ? k : DEEP, n < BROAD ? n : BROAD);
}
/* C = alpha A B, or C + alpha A B, with the elements of A and B anywhere and the rows of C `gap` elements apart */
static void in_blocks(const Narrow *way, long rows, long n, long k, const char *a, long ra, long ka, const char *b, long rb,
                      long cb, char *c, long gap, double alpha, int add, char *packed) {
  const long deep = k < DEEP ? k : DEEP, broad = n < BROAD ? n : BROAD, size = way->size;
  for (long j = 0; j < n; j += broad)
    for (long i = 0; i < k; i += deep) {
      const long columns = n - j < broad ? n - j : broad, terms = k - i < deep ? k - i : deep;
      way->pack(b + (i * rb + j * cb) * size, rb, cb, terms, columns, packed);
      if (alpha != 1) {
        const long count = (long)packed_bytes(way, terms, columns) / size;
        if (size == 4)
          for (long v = 0; v < count; v++) ((float *)packed)[v] *= (float)alpha;
        else
          for (long v = 0; v < count; v++) ((double *)packed)[v] *= alpha;
      }
      multiply_panels(way, a + i * ka * size, ra, ka, rows, terms, packed, c + j * size, columns, gap, add || i > 0);
    }
}
/* ---- sgemm and dgemm of the BLAS by tiles; what these do not do faster is left to the routine itself */
typedef void (*Gemm)(char *, char *, int *, int *, int *, const void *, const void *, int *, const void *, int *, const void *,
                     void *, int *);
static Gemm routines[2];
static int gemm_by_tiles(const Narrow *way, char ta, char tb, long m, long n, long k, double alpha, const void *a, long lda,
                         const void *b, long ldb, double beta, void *c, long ldc) {
  const double work = (double)m * (double)n * (double)k;
  if ((beta != 0 && beta != 1) || n < 4 || m < 8 || k < 1 || work < 8192 || (thread_count() > 1 && work > 4194304.)) return 0;
  char *packed = borrow(block_bytes(way, m, k));
  if (!packed) return 0;
  const int plain_a = ta == 'N' || ta == 'n', plain_b = tb == 'N' || tb == 'n'; /* by rows: C' = B' A' */
  in_blocks(way, n, m, k, b, plain_b ? ldb : 1, plain_b ? 1 : ldb, a, plain_a ? lda : 1, plain_a ? 1 : lda, c, ldc, alpha,
            beta == 1, packed);
  give_back(packed);
  return 1;
}
static void sgemm_by_tiles(char *ta, char *tb, int *m, int *n, int *k, const float *alpha, const void *a, int *lda, const void *b,
                           int *ldb, const float *beta, void *c, int *ldc) {
  if (!gemm_by_tiles(narrow_for(4), *ta, *tb, *m, *n, *k, (double)*alpha, a, *lda, b, *ldb, (double)*beta, c, *ldc))
    routines[0](ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
static void dgemm_by_tiles(char *ta, char *tb, int *m, int *n, int *k, const double *alpha, const void *a, int *lda,
                           const void *b, int *ldb, const double *beta, void *c, int *ldc) {
  if (!gemm_by_tiles(narrow_for(8), *ta, *tb, *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc))
    routines[1](ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
/* tiled_routine(name, address): the address of a faster routine than the BLAS's, or the same one */
FUNCTION(tiled_routine) {
  void *address = PyLong_AsVoidPtr(args[1]);
  if (PyErr_Occurred()) return NULL;
  const int single = !PyUnicode_CompareWithASCIIString(args[0], "sgemm");
  if (tiles_are_faster() && (single || !PyUnicode_CompareWithASCIIString(args[0], "dgemm"))) {
    routines[!single] = (Gemm)address;
    address = single ? (void *)sgemm_by_tiles : (void *)dgemm_by_tiles;
  }
  return PyLong_FromVoidPtr(address);
}

/* multiply_packed(a, b, c or None): c = a b, of matrices of one dtype in any order; c is by rows, and new without one. None where
   the BLAS does it better: with `c` of its caller only where threads would help, otherwise also on machines that it knows. */
HIDDEN PyObject *tiled_product(PyArrayObject *a, PyArrayObject *b, PyArrayObject *c) {
  long ra, ka, rb, cb;
  if (PyArray_NDIM(a) != 2 || PyArray_NDIM(b) != 2 || code_of(a) != code_of(b) ||
      (code_of(a) != NPY_FLOAT && code_of(a) != NPY_DOUBLE) || !strides_of(a, &ra, &ka) || !strides_of(b, &rb, &cb) ||
      (c && (!plain(c) || !PyArray_ISWRITEABLE(c) || PyArray_NDIM(c) != 2 || code_of(a) != code_of(c))) ||
      (!c && !tiles_are_faster()))
    return NULL;
  const long rows = PyArray_DIM(a, 0), k = PyArray_DIM(a, 1), n = PyArray_DIM(b, 1), size = PyArray_ITEMSIZE(a);
  const double work = (double)rows * (double)n * (double)k;
  if (PyArray_DIM(b, 0) != k || !k || !n || (c && (PyArray_DIM(c, 0) != rows || PyArray_DIM(c, 1) != n)) ||
      (thread_count() > 1 && work > 4194304.) || (!c && (rows < 8 || n < 8 || work < 16384.)))
    return NULL;
  const Narrow *way = narrow_for((size_t)size);
  char *packed = borrow(block_bytes(way, n, k));
  if (!packed) return PyErr_NoMemory();
  npy_intp dims[2] = {rows, n};
  PyArrayObject *made = c;
  if (c)
    Py_INCREF(c);
  else
    made = (PyArrayObject *)PyArray_SimpleNew(2, dims, code_of(a));
  if (made) {
    const char *p = PyArray_BYTES(a), *q = PyArray_BYTES(b);
    char *to = PyArray_BYTES(made);
    Py_BEGIN_ALLOW_THREADS in_blocks(way, rows, n, k, p, ra, ka, q, rb, cb, to, n, 1, 0, packed);
    Py_END_ALLOW_THREADS
  }
  give_back(packed);
  return (PyObject *)made;
}
FUNCTION(multiply_packed) {
  PyArrayObject *a = array_at(args, 0), *b = array_at(args, 1), *c = array_at(args, 2);
  PyObject *made = a && b && (c || args[2] == Py_None) ? tiled_product(a, b, c) : NULL;
  if (!made && !PyErr_Occurred()) Py_RETURN_NONE;
  return made;
}
