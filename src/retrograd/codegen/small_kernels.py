"""Writes the C kernels for small matrix products and for frequent array queries.

NumPy's setup dominates the product of small matrices. A kernel takes two arrays; it returns None when they need promotion,
so that dispatch takes the slow path, and passes larger ones to the NumPy function.
"""
from __future__ import annotations

from pathlib import Path
from typing import Any

from retrograd.core.fast_kernels import PRODUCTS, is_lowered, kernel_name
from retrograd.core.opdef import OPS, OpDef

PRELUDE = r"""
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define HOT __attribute__((noinline, hot))      /* else a loop before a return is compiled for size */
#else
#define HOT
#endif
static inline int is_array(PyObject *o) { return Py_TYPE(o) == &PyArray_Type; }
static inline int is_float(int t) { return t == NPY_FLOAT || t == NPY_DOUBLE; }
static inline int contiguous(PyArrayObject *a) { return PyArray_FLAGS(a) & NPY_ARRAY_C_CONTIGUOUS; }
static inline PyArrayObject *new_shaped(PyArray_Descr *d, int n, npy_intp *dims) {
  Py_INCREF(d);
  return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, d, n, dims, NULL, NULL, 0, NULL);
}
"""

# Frequent array queries; NumPy's attributes create Python objects for each.
QUESTIONS = r"""
static PyObject *address(PyObject *self, PyObject *o) {
  if (!PyArray_Check(o)) return PyErr_Format(PyExc_TypeError, "not an array");
  return PyLong_FromVoidPtr(PyArray_DATA((PyArrayObject *)o));
}
static PyObject *strides_of(PyObject *self, PyObject *o) {
  if (!PyArray_Check(o)) return PyErr_Format(PyExc_TypeError, "not an array");
  PyArrayObject *a = (PyArrayObject *)o;
  int n = PyArray_NDIM(a), stepless = PyArray_SIZE(a) == 0;
  npy_intp item = PyArray_ITEMSIZE(a), step = 1;
  for (int i = 0; i < n; i++) if (PyArray_STRIDE(a, i) != 0) stepless = 0;
  PyObject *made = PyTuple_New(n); if (!made) return NULL;
  for (int i = n - 1; i >= 0; i--) {
    npy_intp s = PyArray_STRIDE(a, i), floor = s / item;
    if (s < 0 && s % item) floor--;
    PyObject *number = PyLong_FromSsize_t(stepless ? step : floor);
    if (!number) { Py_DECREF(made); return NULL; }
    PyTuple_SET_ITEM(made, i, number);
    if (PyArray_DIM(a, i) > 1) step *= PyArray_DIM(a, i);
  }
  return made;
}
static PyObject *empty_strided(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
  npy_intp dims[NPY_MAXDIMS], steps[NPY_MAXDIMS], reach = 0, count = 1, most;
  for (int k = 0; k < 2; k++) if (nargs != 3 || !(PyTuple_CheckExact(args[k]) || PyList_CheckExact(args[k]))) Py_RETURN_NONE;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(args[0]);
  if (n > NPY_MAXDIMS || PySequence_Fast_GET_SIZE(args[1]) != n || !PyArray_DescrCheck(args[2])) Py_RETURN_NONE;
  PyArray_Descr *type = (PyArray_Descr *)args[2]; const npy_intp item = PyDataType_ELSIZE(type); int gaps = 0;
  for (Py_ssize_t i = n - 1; i >= 0; i--) {
    PyObject *size = PySequence_Fast_GET_ITEM(args[0], i), *step = PySequence_Fast_GET_ITEM(args[1], i);
    if (!PyLong_CheckExact(size) || !PyLong_CheckExact(step)) Py_RETURN_NONE;
    dims[i] = PyLong_AsSsize_t(size); steps[i] = PyLong_AsSsize_t(step);
    if (PyErr_Occurred()) { PyErr_Clear(); Py_RETURN_NONE; }
    if (dims[i] <= 0 || steps[i] < 0 || __builtin_mul_overflow(dims[i] - 1, steps[i], &most)
        || __builtin_add_overflow(reach, most, &reach) || reach > NPY_MAX_INTP / 64) Py_RETURN_NONE;
    gaps |= steps[i] != count; if (__builtin_mul_overflow(count, dims[i], &count)) Py_RETURN_NONE;
    steps[i] *= item; }
  Py_INCREF(type);
  if (!gaps) return PyArray_Empty((int)n, dims, type, 0);
  reach++; PyObject *memory = PyArray_Empty(1, &reach, type, 0); if (!memory) return NULL;
  Py_INCREF(type);
  void *start = PyArray_DATA((PyArrayObject *)memory);
  PyObject *made = PyArray_NewFromDescr(&PyArray_Type, type, (int)n, dims, steps, start, NPY_ARRAY_WRITEABLE, NULL);
  if (!made) { Py_DECREF(memory); return NULL; }
  if (PyArray_SetBaseObject((PyArrayObject *)made, memory) < 0) { Py_DECREF(made); return NULL; }
  return made;
}
static PyObject *reshaped(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
  PyArrayObject *a = (PyArrayObject *)args[0];
  if (nargs != 2 || !is_array(args[0]) || !contiguous(a) || !(PyTuple_CheckExact(args[1]) || PyList_CheckExact(args[1])))
    Py_RETURN_NONE;
  npy_intp dims[NPY_MAXDIMS], total = PyArray_SIZE(a), count = 1;
  Py_ssize_t n = PySequence_Fast_GET_SIZE(args[1]);
  int open = -1;
  npy_intp step = PyArray_ITEMSIZE(a);
  if (total == 0 || n > NPY_MAXDIMS) Py_RETURN_NONE;
  for (int i = PyArray_NDIM(a) - 1; i >= 0; step *= PyArray_DIM(a, i), i--)      /* strides of dims of size 1 are free */
    if (PyArray_STRIDE(a, i) != step) Py_RETURN_NONE;
  for (int i = 0; i < n; i++) {
    PyObject *item = PySequence_Fast_GET_ITEM(args[1], i);
    if (!PyLong_CheckExact(item)) Py_RETURN_NONE;
    dims[i] = PyLong_AsSsize_t(item);
    if (dims[i] == -1) {
      if (PyErr_Occurred()) { PyErr_Clear(); Py_RETURN_NONE; }
      if (open >= 0) Py_RETURN_NONE;
      open = i;
    } else {
      if (dims[i] <= 0 || count > total / dims[i]) Py_RETURN_NONE;
      count *= dims[i];
    }
  }
  if (open >= 0) { if (total % count) Py_RETURN_NONE; dims[open] = total / count; }
  else if (count != total) Py_RETURN_NONE;
  PyArray_Descr *d = PyArray_DESCR(a); Py_INCREF(d);
  PyObject *made = PyArray_NewFromDescr(&PyArray_Type, d, (int)n, dims, NULL, PyArray_DATA(a),
                                        PyArray_FLAGS(a) & NPY_ARRAY_WRITEABLE, NULL);
  if (!made) return NULL;
  Py_INCREF(a);
  if (PyArray_SetBaseObject((PyArrayObject *)made, (PyObject *)a) < 0) { Py_DECREF(made); return NULL; }
  return made;
}
"""

# Half precision, where the arrays are few: products of copies in float, rounded.
HALVES = r"""
#define FEW_HALVES 4096
static int is_half(PyObject *o) {
  if (!is_array(o)) return 0;
  const int code = number_code((PyArrayObject *)o);
  return code == NPY_HALF || code == NPY_BFLOAT;
}
static PyObject *widened(PyArrayObject *a, int code) {
  const int nd = PyArray_NDIM(a);
  if (nd > 3 || PyArray_SIZE(a) > FEW_HALVES || number_code(a) != code || !PyArray_ISALIGNED(a)) return NULL;
  npy_intp n[3] = {1, 1, 1}, s[3] = {0}, i, j, k;
  for (int d = 0; d < nd; d++) { n[3 - nd + d] = PyArray_DIM(a, d); s[3 - nd + d] = PyArray_STRIDE(a, d); }
  PyObject *made = PyArray_SimpleNew(nd, PyArray_DIMS(a), NPY_FLOAT); if (!made) return NULL;
  float *to = PyArray_DATA((PyArrayObject *)made);
  for (i = 0; i < n[0]; i++) for (j = 0; j < n[1]; j++) for (k = 0; k < n[2]; k++) {
    const uint16_t v = *(const uint16_t *)(PyArray_BYTES(a) + i * s[0] + j * s[1] + k * s[2]);
    *to++ = code == NPY_HALF ? from_half(v) : from_bfloat(v); }
  return made;
}
static PyObject *in_float(PyObject *(*kernel)(PyObject *, PyObject *const *, Py_ssize_t), PyObject *const *args, Py_ssize_t n) {
  PyObject *wide[5], *made = NULL;
  const int code = number_code((PyArrayObject *)args[0]);
  Py_ssize_t known = 0;
  for (; n <= 5 && known < n; known++) {
    wide[known] = is_array(args[known]) ? widened((PyArrayObject *)args[known], code) : Py_NewRef(args[known]);
    if (!wide[known]) break;
  }
  if (known == n) made = kernel(NULL, wide, n);
  while (known) Py_DECREF(wide[--known]);
  if (PyErr_Occurred()) return NULL;
  if (!made || made == Py_None) { Py_XDECREF(made); Py_RETURN_NONE; }
  PyArrayObject *r = (PyArrayObject *)made, *rounded = new_shaped(PyArray_DESCR((PyArrayObject *)args[0]), PyArray_NDIM(r),
                                                                  PyArray_DIMS(r));
  const npy_intp count = PyArray_SIZE(r); const float *from = PyArray_DATA(r);
  uint16_t *to = rounded ? PyArray_DATA(rounded) : NULL;
  for (npy_intp i = 0; to && i < count; i++) to[i] = code == NPY_HALF ? to_half(from[i]) : to_bfloat(from[i]);
  Py_DECREF(made);
  return (PyObject *)rounded;
}
"""

# The product of two small matrices: rows of the second one, packed where they have gaps, are added up.
MULTIPLY = r"""
#define FEW_PRODUCTS 8192
#define PRODUCT(T) static void product_##T(PyArrayObject *a, PyArrayObject *b, PyArrayObject *r) { \
  const npy_intp m = PyArray_DIM(a, 0), k = PyArray_DIM(a, 1), n = PyArray_DIM(b, 1); \
  const npy_intp as0 = PyArray_STRIDE(a, 0) / (npy_intp)sizeof(T), as1 = PyArray_STRIDE(a, 1) / (npy_intp)sizeof(T); \
  npy_intp bs0 = PyArray_STRIDE(b, 0) / (npy_intp)sizeof(T), i, j, p; \
    const npy_intp bs1 = PyArray_STRIDE(b, 1) / (npy_intp)sizeof(T); \
  T *z = PyArray_DATA(r), packed[FEW_PRODUCTS]; const T *x = PyArray_DATA(a), *y = PyArray_DATA(b); \
  if (bs1 != 1 && k * n <= FEW_PRODUCTS) { for (j = 0; j < n; j++) for (p = 0; p < k; \
    p++) packed[p * n + j] = y[p * bs0 + j * bs1]; y = packed; bs0 = n; } \
  memset(z, 0, m * n * sizeof(T)); \
  for (i = 0; i < m; i++, z += n) for (p = 0; p < k; p++) { const T v = x[i * as0 + p * as1]; const T *row = y + p * bs0; \
    for (j = 0; j < n; j++) z[j] += v * row[j]; } }
PRODUCT(float)
PRODUCT(double)
/* A transposed second operand, as in linear layers, is slow in the BLAS for few rows: a copy by rows pays for itself.
   Measured, float32, 32x64 by 64x128: 8.5 us (14.7), 64x64 by 64x64: 7 us (12.7). */
#if defined(__SSE2__)
#include <emmintrin.h>
#endif
static PyObject *by_rows(PyArrayObject *b) {
  const npy_intp k = PyArray_DIM(b, 0), n = PyArray_DIM(b, 1), step = PyArray_STRIDE(b, 1) / 4;
  PyArrayObject *made = new_shaped(PyArray_DESCR(b), 2, PyArray_DIMS(b)); if (!made) return NULL;
  const float *y = PyArray_DATA(b); float *z = PyArray_DATA(made);
  npy_intp j = 0, p;
#if defined(__SSE2__)
  for (; j + 4 <= n; j += 4) {
    for (p = 0; p + 4 <= k; p += 4) {
      __m128 r0 = _mm_loadu_ps(y + j * step + p), r1 = _mm_loadu_ps(y + (j + 1) * step + p);
      __m128 r2 = _mm_loadu_ps(y + (j + 2) * step + p), r3 = _mm_loadu_ps(y + (j + 3) * step + p);
      _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
      _mm_storeu_ps(z + p * n + j, r0); _mm_storeu_ps(z + (p + 1) * n + j, r1);
      _mm_storeu_ps(z + (p + 2) * n + j, r2); _mm_storeu_ps(z + (p + 3) * n + j, r3);
    }
    for (; p < k; p++) for (npy_intp i = j; i < j + 4; i++) z[p * n + i] = y[i * step + p];
  }
#endif
  for (; j < n; j++) for (p = 0; p < k; p++) z[p * n + j] = y[j * step + p];
  return (PyObject *)made;
}
static int pays_by_rows(PyArrayObject *b, npy_intp m, npy_intp k, npy_intp n) {
  return PyArray_TYPE(b) == NPY_FLOAT && m >= 16 && m <= 96 && k >= 8 && n >= 8 && k * n <= 16384 && PyArray_ISALIGNED(b)
    && PyArray_STRIDE(b, 0) == 4 && PyArray_STRIDE(b, 1) >= 4 * k && PyArray_STRIDE(b, 1) % 4 == 0;
}
/* Products of medium size: tiles of the result stay in registers. The second operand is read by panels as wide as a tile,
   which are copied unless its rows are contiguous and fill them. A BLAS spends as long on its setup and on its copies.
   Measured, float32, one thread, AVX-512: 32x64 by (128x64).T 2.6 us (5.0), 128x32 by 32x64 2.3 us (4.6). */
#if defined(__x86_64__) && defined(__GNUC__)
#define MOST_PRODUCTS (1 << 18)
#define DEEPEST 512
#define TILE(NAME, ISA, L, ROWS) typedef float NAME##_v __attribute__((vector_size(4 * L), aligned(4), may_alias)); \
static void __attribute__((target(ISA))) NAME(long k, const float *x, long as0, long as1, const float *y, long ys, \
                                              float *z, long zs) { \
  NAME##_v sum[ROWS][2] = {0}; \
  for (long p = 0; p < k; p++, y += ys, x += as1) { const NAME##_v b = *(const NAME##_v *)y, c = *(const NAME##_v *)(y + L); \
    _Pragma("GCC unroll 8") for (int i = 0; i < ROWS; i++) { const float v = x[i * as0]; \
      sum[i][0] += v * b; sum[i][1] += v * c; } } \
  _Pragma("GCC unroll 8") for (int i = 0; i < ROWS; i++, z += zs) { \
    *(NAME##_v *)z = sum[i][0]; *(NAME##_v *)(z + L) = sum[i][1]; } }
TILE(tall_512, "avx512f,prefer-vector-width=512", 16, 8)
TILE(flat_512, "avx512f,prefer-vector-width=512", 16, 2)
TILE(tall_256, "avx2,fma", 8, 4)
TILE(flat_256, "avx2,fma", 8, 2)
typedef void Tile(long, const float *, long, long, const float *, long, float *, long);
typedef struct { Tile *tall, *flat; int rows, width; } Tiles;
static const Tiles tiles_512 = {tall_512, flat_512, 8, 32}, tiles_256 = {tall_256, flat_256, 4, 16};
static const Tiles *tiles, *narrow;     /* the second ones for panels of few columns */
static void choose_tiles(void) {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) tiles = narrow = &tiles_256;
  if (narrow && __builtin_cpu_supports("avx512f")) tiles = &tiles_512;
}
/* `wide` columns of y from column j on, as a panel with zeros after the last one */
static void copy_panel(float *panel, long w, const float *y, long ys, long step, long k, long wide) {
  long j = 0, p;
  if (wide < w) memset(panel, 0, k * w * 4);
  for (; ys == 1 && j + 4 <= wide; j += 4) {
    for (p = 0; p + 4 <= k; p += 4) {
      const float *from = y + j * step + p;
      __m128 r0 = _mm_loadu_ps(from), r1 = _mm_loadu_ps(from + step);
      __m128 r2 = _mm_loadu_ps(from + 2 * step), r3 = _mm_loadu_ps(from + 3 * step);
      _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
      float *to = panel + p * w + j;
      _mm_storeu_ps(to, r0); _mm_storeu_ps(to + w, r1); _mm_storeu_ps(to + 2 * w, r2); _mm_storeu_ps(to + 3 * w, r3);
    }
    for (; p < k; p++) for (long i = j; i < j + 4; i++) panel[p * w + i] = y[i * step + p];
  }
  for (p = 0; p < k; p++) for (long i = j; i < wide; i++) panel[p * w + i] = y[p * ys + i * step];
}
static void tiled_product(PyArrayObject *a, PyArrayObject *b, PyArrayObject *r) {
  const long m = PyArray_DIM(a, 0), k = PyArray_DIM(a, 1), n = PyArray_DIM(b, 1);
  const long as0 = PyArray_STRIDE(a, 0) / 4, as1 = PyArray_STRIDE(a, 1) / 4;
  const long bs0 = PyArray_STRIDE(b, 0) / 4, bs1 = PyArray_STRIDE(b, 1) / 4;
  float panel[DEEPEST * 32], part[8 * 32], *z = PyArray_DATA(r);
  const float *x = PyArray_DATA(a), *y = PyArray_DATA(b);
  for (long j = 0, wide; j < n; j += wide) {
    const Tiles *t = n - j <= narrow->width ? narrow : tiles;
    const long w = t->width, rows = t->rows;
    wide = n - j < w ? n - j : w;
    const int own = wide < w || bs1 != 1;
    const float *q = own ? panel : y + j;
    if (own) copy_panel(panel, w, y + j * bs1, bs0, bs1, k, wide);
    for (long i = 0, count; i < m; i += count) {
      const int tall = m - i >= rows, single = m - i == 1;
      count = tall ? rows : single ? 1 : 2;
      float *to = wide < w || single ? part : z + i * n + j;   /* the flat tile reads a single row twice */
      (tall ? t->tall : t->flat)(k, x + i * as0, single ? 0 : as0, as1, q, own ? w : bs0, to, to == part ? w : n);
      if (to == part) for (long h = 0; h < count; h++) memcpy(z + (i + h) * n + j, part + h * w, wide * 4);
    }
  }
}
static int fits_tiles(PyArrayObject *a, PyArrayObject *b, npy_intp m, npy_intp k, npy_intp n) {
  return tiles && PyArray_TYPE(a) == NPY_FLOAT && m >= 2 && n >= 4 && k <= DEEPEST && m * n * k <= MOST_PRODUCTS
    && m * n * k >= 1024 && PyArray_ISALIGNED(a) && PyArray_ISALIGNED(b) && PyArray_ISNOTSWAPPED(a) && PyArray_ISNOTSWAPPED(b)
    && !((PyArray_STRIDE(a, 0) | PyArray_STRIDE(a, 1) | PyArray_STRIDE(b, 0) | PyArray_STRIDE(b, 1)) % 4);
}
#else
static void choose_tiles(void) {}
static int fits_tiles(PyArrayObject *a, PyArrayObject *b, npy_intp m, npy_intp k, npy_intp n) { return 0; }
static void tiled_product(PyArrayObject *a, PyArrayObject *b, PyArrayObject *r) {}
#endif
/* The product of two matrices of one type of floats: small ones here, others by NumPy; None for what they do not agree on. */
static PyObject *matrix_product(PyObject *numpy, PyObject *const *args) {
  PyArrayObject *a = (PyArrayObject *)args[0], *b = (PyArrayObject *)args[1];
  if (!is_array(args[0]) || !is_array(args[1])) Py_RETURN_NONE;
  const int t = PyArray_TYPE(a);
  if (t != PyArray_TYPE(b) || PyArray_NDIM(a) != 2 || PyArray_NDIM(b) != 2 || !is_float(t)) Py_RETURN_NONE;
  const npy_intp m = PyArray_DIM(a, 0), k = PyArray_DIM(a, 1), n = PyArray_DIM(b, 1);
  if (k != PyArray_DIM(b, 0)) Py_RETURN_NONE;
  const int tiled = fits_tiles(a, b, m, k, n);
  if (!tiled && (m * n * k > FEW_PRODUCTS || k * n > FEW_PRODUCTS)) {
    if (!pays_by_rows(b, m, k, n)) return PyObject_Vectorcall(numpy, args, 2, NULL);
    PyObject *pair[2] = {args[0], by_rows(b)}; if (!pair[1]) return NULL;
    PyObject *made = PyObject_Vectorcall(numpy, pair, 2, NULL);
    Py_DECREF(pair[1]);
    return made;
  }
  npy_intp dims[2] = {m, n};
  PyArrayObject *r = new_shaped(PyArray_DESCR(a), 2, dims); if (!r) return NULL;
  if (tiled) tiled_product(a, b, r);
  else if (t == NPY_FLOAT) product_float(a, b, r); else product_double(a, b, r);
  return (PyObject *)r;
}
"""

MATMUL = r"""
static PyObject *np_{name};
static PyObject *{name}(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {{
  if (nargs != 2) Py_RETURN_NONE;
  if (is_half(args[0])) return in_float({name}, args, nargs);
  return matrix_product(np_{name}, args);
}}
"""

# self + mat1 @ mat2, for a matrix or, as layers compute it, a row `self`.
ADDMM = r"""
static PyObject *np_{name};
#define ADD_ROWS(T) static HOT void add_rows_##T(T *z, const T *row, npy_intp m, npy_intp n, npy_intp step) {{ \
  for (npy_intp i = 0; i < m; i++, z += n, row += step) for (npy_intp j = 0; j < n; j++) z[j] += row[j]; }}
ADD_ROWS(float)
ADD_ROWS(double)
static int is_one(PyObject *o) {{ return PyLong_CheckExact(o) && PyLong_AsLong(o) == 1; }}
static PyObject *{name}(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {{
  if (nargs != 5 || !is_array(args[0]) || !is_array(args[1]) || !is_array(args[2])) Py_RETURN_NONE;
  if (!is_one(args[3]) || !is_one(args[4])) Py_RETURN_NONE;
  if (is_half(args[0])) return in_float({name}, args, nargs);
  PyArrayObject *bias = (PyArrayObject *)args[0], *b = (PyArrayObject *)args[2];
  PyArrayObject *a = (PyArrayObject *)args[1]; const int rank = PyArray_NDIM(bias);
  if ((rank != 1 && rank != 2) || !contiguous(bias) || PyArray_NDIM(a) != 2 || PyArray_NDIM(b) != 2
    || PyArray_TYPE(bias) != PyArray_TYPE(b)) Py_RETURN_NONE;
  const npy_intp m = PyArray_DIM(a, 0), n = PyArray_DIM(b, 1), step = rank == 2 && PyArray_DIM(bias, 0) == m ? n : 0;
  if (PyArray_DIM(bias, rank - 1) != n || (rank == 2 && !step && PyArray_DIM(bias, 0) != 1) || m * n > 16384) Py_RETURN_NONE;
  PyArrayObject *made = (PyArrayObject *)matrix_product(np_{name}, args + 1);
  if (!made || (PyObject *)made == Py_None) return (PyObject *)made;
  if (!is_array((PyObject *)made) || !contiguous(made)) {{ Py_DECREF(made); Py_RETURN_NONE; }}
  if (PyArray_TYPE(made) == NPY_FLOAT) add_rows_float(PyArray_DATA(made), PyArray_DATA(bias), m, n, step);
  else add_rows_double(PyArray_DATA(made), PyArray_DATA(bias), m, n, step);
  return (PyObject *)made;
}}
"""

# Batched products: small ones, and outer products of any size, which are one loop over the result.
BMM = r"""
static PyObject *np_{name};
#define MULTIPLY_ALL(T) {{ T *z = PyArray_DATA(r); npy_intp i, j, p; \
  npy_intp as1 = PyArray_STRIDE(a, 1) / sizeof(T), as2 = PyArray_STRIDE(a, 2) / sizeof(T); \
  npy_intp bs1 = PyArray_STRIDE(b, 1) / sizeof(T); \
  for (npy_intp s = 0; s < count; s++) {{ \
    const T *x = (const T *)(PyArray_BYTES(a) + s * PyArray_STRIDE(a, 0)); \
    const T *y = (const T *)(PyArray_BYTES(b) + s * PyArray_STRIDE(b, 0)); \
    for (i = 0; i < m; i++, z += n) {{ T v = k ? x[i * as1] : 0; \
      for (j = 0; j < n; j++) z[j] = k ? v * y[j] + (T)0 : 0;   /* a sum from 0 on: no -0 */ \
      for (p = 1; p < k; p++) {{ v = x[i * as1 + p * as2]; for (j = 0; j < n; j++) z[j] += v * y[p * bs1 + j]; }} }} }} }}
static PyObject *{name}(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {{
  PyArrayObject *a = (PyArrayObject *)args[0], *b = (PyArrayObject *)args[1];
  if (nargs == 2 && is_half(args[0])) return in_float({name}, args, nargs);
  if (is_array(args[0]) && is_array(args[1])) {{
    int t = PyArray_TYPE(a);
    if (t != PyArray_TYPE(b) || PyArray_NDIM(a) != 3 || PyArray_NDIM(b) != 3 || !is_float(t)) Py_RETURN_NONE;
    npy_intp count = PyArray_DIM(a, 0), m = PyArray_DIM(a, 1), k = PyArray_DIM(a, 2), n = PyArray_DIM(b, 2);
    if (k != PyArray_DIM(b, 1) || count != PyArray_DIM(b, 0)) Py_RETURN_NONE;
    if (PyArray_STRIDE(b, 2) == PyArray_ITEMSIZE(b) && (k == 1 || count * m * n * k <= (m * n * k <= 128 ? 65536 : 2048))) {{
      npy_intp dims[3] = {{count, m, n}};
      PyArrayObject *r = new_shaped(PyArray_DESCR(a), 3, dims); if (!r) return NULL;
      if (t == NPY_FLOAT) MULTIPLY_ALL(float) else MULTIPLY_ALL(double)
      return (PyObject *)r;
    }}
    return PyObject_Vectorcall(np_{name}, args, 2, NULL);
  }}
  Py_RETURN_NONE;
}}
"""

ENDING = r"""
static PyObject *bind(PyObject *self, PyObject *args) {{
  const char *name; PyObject *function;
  if (!PyArg_ParseTuple(args, "sO", &name, &function)) return NULL;
{bindings}
  PyErr_Format(PyExc_KeyError, "no kernel is called %s", name);
  return NULL;
}}
static PyMethodDef methods[] = {{
{methods}
  {{"address", address, METH_O, NULL}}, {{"strides_of", strides_of, METH_O, NULL}},
  {{"reshaped", (PyCFunction)(void *)reshaped, METH_FASTCALL, NULL}},
  {{"empty_strided", (PyCFunction)(void *)empty_strided, METH_FASTCALL, NULL}},
  {{"bind", bind, METH_VARARGS, NULL}}, {{NULL}}
}};
static struct PyModuleDef module = {{PyModuleDef_HEAD_INIT, "_kernels", NULL, -1, methods}};
PyMODINIT_FUNC PyInit__kernels(void) {{ import_array(); import_umath(); choose_tiles(); return PyModule_Create(&module); }}
"""


def lowered() -> list[tuple[str, Any]]:
    """The products, with the names of their kernels."""
    return [(kernel_name(op), op) for packet in OPS.values() for op in packet.overloads_
            if is_lowered(op) and op.lower in PRODUCTS]


def kernel_source(name: str, op: OpDef) -> str:
    return {"matmul": MATMUL, "bmm": BMM, "addmm": ADDMM}[op.lower].format(name=name)


def write_kernels(path: str) -> bool:
    """Write the C file; return whether there was anything to write."""
    ops = lowered()
    names = [name for name, _ in ops]
    bindings = "\n".join(f'  if (strcmp(name, "{n}") == 0) {{ Py_INCREF(function); np_{n} = function; Py_RETURN_NONE; }}'
                         for n in names)
    methods = "\n".join(f'  {{"{n}", (PyCFunction)(void *){n}, METH_FASTCALL, NULL}},' for n in names)
    halves = Path(__file__).parent.parent / "core" / "native" / "half.h"
    text = PRELUDE + QUESTIONS + halves.read_text() + HALVES + MULTIPLY + "".join(kernel_source(name, op) for name, op in ops)
    text += ENDING.format(bindings=bindings, methods=methods)
    with open(path, "w") as file:
        file.write(text)
    return bool(ops)
