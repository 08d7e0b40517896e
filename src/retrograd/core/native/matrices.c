/* Products of two matrices, and of stacks of them: whole kernels of mm, bmm and addmm. Small ones are computed here, where the
   setup of a BLAS takes longer than the sums; larger ones go to functions that Python names (`use_products`).
   Measured, float32, one thread, AVX-512 (with the BLAS): 32x64 by (128x64).T 2.6 us (5.0), 128x32 by 32x64 2.3 us (4.6). */
#include "native.h"
#include "packed.h"
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* which pays for matrices of a few elements */
#endif
#define FEW 8192            /* multiplications without tiles */
#define FEW_WHOLE 32768     /* of whole numbers */
#define FEW_COMPLEX 1024
#define MOST (1 << 18)      /* and with tiles, or of a stack */
#define DEEPEST 512         /* rows of a panel */
#define ROW_BYTES 128       /* of a panel */
static PyObject *plain_product = NULL, *stack_product = NULL;
/* use_products(matrices, stacks): the functions for large arrays */
FUNCTION(use_products) {
  Py_INCREF(args[0]);
  Py_INCREF(args[1]);
  Py_XSETREF(plain_product, args[0]);
  Py_XSETREF(stack_product, args[1]);
  Py_RETURN_NONE;
}

/* One matrix of each operand, with the distances of its rows and columns in elements; the result by rows. */
typedef struct {
  long m, k, n, ra, ka, rb, cb;
  int code;
} Shape;
/* Rows of b, packed where they have gaps, are added up. */
#define AXPY(T, HOW)                                                                   \
  HOW static __attribute__((noinline, hot)) void axpy_##T(const Shape *s, const void *left, const void *right, void *made) { \
    const long m = s->m, k = s->k, n = s->n;                                           \
    long rb = s->rb;                                                                   \
    T packed[FEW], *z = made;                                                          \
    const T *x = left, *y = right;                                                     \
    if (s->cb != 1 && k * n <= FEW) {                                                  \
      for (long j = 0; j < n; j++)                                                     \
        for (long p = 0; p < k; p++) packed[p * n + j] = y[p * rb + j * s->cb];        \
      y = packed;                                                                      \
      rb = n;                                                                          \
    }                                                                                  \
    for (long i = 0; i < m; i++, z += n) {                                             \
      if (!k) memset(z, 0, (size_t)n * sizeof(T));                                     \
      for (long p = 0; p < k; p++) {                                                   \
        const T v = x[i * s->ra + p * s->ka], *row = y + p * rb;                       \
        if (!p)                                                                        \
          for (long j = 0; j < n; j++) z[j] = v * row[j] + (T)0; /* a sum from 0 on */ \
        else                                                                           \
          for (long j = 0; j < n; j++) z[j] += v * row[j];                             \
      }                                                                                \
    }                                                                                  \
  }
AXPY(float, )
AXPY(double, )
AXPY(uint64_t, CLONES)
AXPY(uint32_t, )
AXPY(uint16_t, )
AXPY(uint8_t, )
/* Each element by itself: of whole numbers where rows of b lie apart, and of complex ones */
#define DOTS(T, HOW)                                                                                   \
  HOW static void dots_##T(   const Shape *s, const void *left, const void *right, void *made) {              \
    T *z = made;                                                                                       \
    for (long i = 0; i < s->m; i++)                                                                    \
      for (long j = 0; j < s->n; j++) {                                                                \
        const T *restrict x = (const T *)left + i * s->ra, *restrict y = (const T *)right + j * s->cb; \
        T sum = 0;                                                                                     \
        if (s->ka == 1)                                                                                \
          for (long p = 0; p < s->k; p++) sum += x[p] * y[p];                                          \
        else                                                                                           \
          for (long p = 0; p < s->k; p++) sum += x[p * s->ka] * y[p];                                  \
        *z++ = sum;                                                                                    \
      }                                                                                                \
  }
DOTS(uint64_t, CLONES)
DOTS(uint32_t, )
DOTS(uint16_t, )
DOTS(uint8_t, )
#define COMPLEX_DOTS(T)                                                                      \
  static void pairs_##T(const Shape *s, const void *left, const void *right, void *made) {   \
    T *z = made;                                                                             \
    for (long i = 0; i < s->m; i++)                                                          \
      for (long j = 0; j < s->n; j++, z += 2) {                                              \
        const T *x = (const T *)left + 2 * i * s->ra, *y = (const T *)right + 2 * j * s->cb; \
        T re = 0, im = 0;                                                                    \
        for (long p = 0; p < s->k; p++, x += 2 * s->ka, y += 2 * s->rb) {                    \
          re += x[0] * y[0] - x[1] * y[1];                                                   \
          im += x[0] * y[1] + x[1] * y[0];                                                   \
        }                                                                                    \
        z[0] = re;                                                                           \
        z[1] = im;                                                                           \
      }                                                                                      \
  }
COMPLEX_DOTS(float)
COMPLEX_DOTS(double)

static int is_real(int code) { return code == NPY_FLOAT || code == NPY_DOUBLE; }
/* A vector and a matrix whose rows are multiplied with it: the dot products of a matrix of few rows or columns. */
static int fits_dots(const Shape *s) {
  return is_real(s->code) && s->ka == 1 && s->rb == 1 && (s->m < 4 || s->n < 4) && s->k >= 8 && s->m * s->n * s->k <= MOST;
}
static int fits_tiles(const Shape *s) {
  return is_real(s->code) && s->m >= 2 && s->n >= 4 && s->k <= DEEPEST && s->m * s->n * s->k >= 1024 &&
         s->m * s->n * s->k <= MOST;
}
static int fits(const Shape *s) {
  const int integer = PyTypeNum_ISINTEGER(s->code);
  const long most = integer ? FEW_WHOLE : PyTypeNum_ISCOMPLEX(s->code) ? FEW_COMPLEX : FEW;
  return (s->m * s->n * s->k <= most && (s->k * s->n <= FEW || s->cb == 1 || (integer && s->rb == 1))) || fits_dots(s) ||
         fits_tiles(s);
}
/* The second operand is read by panels as wide as a tile, which are copied unless its rows lie together and fill them. */
static void by_tiles(const Shape *s, const char *a, const char *b, char *c) {
  char panel[DEEPEST * ROW_BYTES];
  const long size = s->code == NPY_FLOAT ? 4 : 8;
  const Narrow *wide = narrow_for((size_t)size), *slim = slim_for((size_t)size);
  for (long j = 0, n; j < s->n; j += n) {
    const Narrow *way = s->n - j <= slim->wide ? slim : wide;
    const char *from = b + j * s->cb * size;
    n = s->n - j < way->wide ? s->n - j : way->wide;
    if (s->cb == 1 && n == way->wide) {
      n = (s->n - j) / n * n;
      way->multiply(a, s->ra, s->ka, s->m, s->k, from, way->wide, s->rb, c + j * size, n, s->n, 0);
    } else {
      way->pack(from, s->rb, s->cb, s->k, n, panel);
      multiply_panels(way, a, s->ra, s->ka, s->m, s->k, panel, c + j * size, n, s->n, 0);
    }
  }
}
static void small_product(const Shape *s, const char *a, const char *b, char *c) {
  if (fits_dots(s)) {
    const long size = s->code == NPY_FLOAT ? 4 : 8;
    const Narrow *way = narrow_for((size_t)size);
    if (s->m < 4)
      for (long i = 0; i < s->m; i++) way->dots(a + i * s->ra * size, b, s->cb, s->k, s->n, c + i * s->n * size, 1);
    else
      for (long j = 0; j < s->n; j++) way->dots(b + j * s->cb * size, a, s->ra, s->k, s->m, c + j * size, s->n);
    return;
  }
  if (fits_tiles(s)) {
    by_tiles(s, a, b, c);
    return;
  }
#define WHOLE(T) (s->rb == 1 ? dots_##T : axpy_##T)(s, a, b, c)
  switch (s->code) {
  case NPY_FLOAT: axpy_float(s, a, b, c); return;
  case NPY_DOUBLE: axpy_double(s, a, b, c); return;
  case NPY_CFLOAT: pairs_float(s, a, b, c); return;
  case NPY_CDOUBLE: pairs_double(s, a, b, c); return;
  case NPY_BYTE:
  case NPY_UBYTE: WHOLE(uint8_t); return;
  case NPY_SHORT: WHOLE(uint16_t); return;
  case NPY_INT: WHOLE(uint32_t); return;
  default: WHOLE(uint64_t);
  }
}
/* The last two dims of two arrays of one type; 0 for what is not computed here */
static int shape_of(PyArrayObject *a, PyArrayObject *b, int nd, Shape *s) {
  const int code = code_of(a);
  int shift = 3; /* of the size of an element */
  if (PyArray_NDIM(a) != nd || PyArray_NDIM(b) != nd || code != code_of(b) || PyArray_DIM(a, nd - 1) != PyArray_DIM(b, nd - 2))
    return 0;
  switch (code) {
  case NPY_FLOAT:
  case NPY_INT: shift = 2; break;
  case NPY_DOUBLE:
  case NPY_CFLOAT:
  case NPY_LONG: break;
  case NPY_CDOUBLE: shift = 4; break;
  case NPY_BYTE:
  case NPY_UBYTE: shift = 0; break;
  case NPY_SHORT: shift = 1; break;
  default: return 0;
  }
  const npy_intp *p = PyArray_STRIDES(a) + nd - 2, *q = PyArray_STRIDES(b) + nd - 2;
  *s = (Shape){PyArray_DIM(a, nd - 2), PyArray_DIM(a, nd - 1), PyArray_DIM(b, nd - 1),
               p[0] >> shift, p[1] >> shift, q[0] >> shift, q[1] >> shift, code};
  return !((p[0] | p[1] | q[0] | q[1]) & ((1 << shift) - 1)) && PyArray_ISBEHAVED_RO(a) && PyArray_ISBEHAVED_RO(b);
}
static PyArrayObject *new_like(PyArrayObject *a, int nd, npy_intp *dims) {
  PyArray_Descr *kind = PyArray_DESCR(a);
  Py_INCREF(kind);
  return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, kind, nd, dims, NULL, NULL, 0, NULL);
}

static int is_half(PyObject *o) {
  if (!PyArray_Check(o)) return 0;
  const int code = number_code((PyArrayObject *)o);
  return code == NPY_HALF || code == NPY_BFLOAT;
}
/* ---- the kernels: a new array, or None for what the layers do */
FUNCTION(mm) {
  PyArrayObject *a = given == 2 ? array_at(args, 0) : NULL, *b = a ? array_at(args, 1) : NULL;
  Shape s;
  if (!b) Py_RETURN_NONE;
  if (is_half(args[0])) return computed_in_float(mm, NULL, args, given);
  if (!shape_of(a, b, 2, &s)) Py_RETURN_NONE;
  if (!fits(&s)) {
    if (!is_real(s.code) || !plain_product) Py_RETURN_NONE;
    PyObject *made = tiled_product(a, b, NULL);
    return made || PyErr_Occurred() ? made : PyObject_Vectorcall(plain_product, args, 2, NULL);
  }
  npy_intp dims[2] = {s.m, s.n};
  PyArrayObject *made = new_like(a, 2, dims);
  if (made) small_product(&s, PyArray_BYTES(a), PyArray_BYTES(b), PyArray_BYTES(made));
  return (PyObject *)made;
}
/* self + mat1 @ mat2, for a matrix or, as layers compute it, a row `self` */
#define ADD_ROWS(T)                                                                           \
  static void add_rows_##T(T *z, const T *row, long m, long n, long step) {                   \
    for (long i = 0; i < m; i++, z += n, row += step)                                         \
      for (long j = 0; j < n; j++) z[j] += row[j];                                            \
  }
ADD_ROWS(float)
ADD_ROWS(double)
static int is_one(PyObject *o) { return PyLong_CheckExact(o) && PyLong_AsLong(o) == 1; }
HIDDEN PyObject *added_matrices(PyObject *const *args, Py_ssize_t given); /* smallproducts.c */
FUNCTION(addmm) {
  PyArrayObject *bias = given == 5 ? array_at(args, 0) : NULL, *a = bias ? array_at(args, 1) : NULL,
                *b = a ? array_at(args, 2) : NULL;
  if (!b) Py_RETURN_NONE;
  const int half = is_half(args[0]), rank = PyArray_NDIM(bias);
  if (!is_one(args[3]) || !is_one(args[4]) || (!half && !is_real(code_of(bias)))) return added_matrices(args, given);
  if (half) return computed_in_float(addmm, NULL, args, given);
  if ((rank != 1 && rank != 2) || !plain(bias) || PyArray_NDIM(a) != 2 || PyArray_NDIM(b) != 2 || code_of(bias) != code_of(b))
    Py_RETURN_NONE;
  const long m = PyArray_DIM(a, 0), n = PyArray_DIM(b, 1), step = rank == 2 && PyArray_DIM(bias, 0) == m ? n : 0;
  if (PyArray_DIM(bias, rank - 1) != n || (rank == 2 && !step && PyArray_DIM(bias, 0) != 1) || m * n > 16384) Py_RETURN_NONE;
  PyArrayObject *made = (PyArrayObject *)mm(module, args + 1, 2);
  if (!made || (PyObject *)made == Py_None) return (PyObject *)made;
  if (!plain(made)) {
    Py_DECREF(made);
    Py_RETURN_NONE;
  }
  if (code_of(made) == NPY_FLOAT)
    add_rows_float(PyArray_DATA(made), PyArray_DATA(bias), m, n, step);
  else
    add_rows_double(PyArray_DATA(made), PyArray_DATA(bias), m, n, step);
  return (PyObject *)made;
}
FUNCTION(bmm) {
  PyArrayObject *a = given == 2 ? array_at(args, 0) : NULL, *b = a ? array_at(args, 1) : NULL;
  Shape s;
  if (!b) Py_RETURN_NONE;
  if (is_half(args[0])) return computed_in_float(bmm, NULL, args, given);
  if (!shape_of(a, b, 3, &s) || PyArray_DIM(a, 0) != PyArray_DIM(b, 0)) Py_RETURN_NONE;
  const long count = PyArray_DIM(a, 0), each = s.m * s.n * s.k;
  const int outer = s.k == 1 && s.cb == 1 && is_real(s.code); /* one loop over the result, of any size */
  if (!outer && (!fits(&s) || count * each > MOST)) {
    if (!is_real(s.code) || !stack_product) Py_RETURN_NONE;
    return PyObject_Vectorcall(stack_product, args, 2, NULL);
  }
  npy_intp dims[3] = {count, s.m, s.n};
  PyArrayObject *made = new_like(a, 3, dims);
  if (!made) return NULL;
  const char *x = PyArray_BYTES(a), *y = PyArray_BYTES(b);
  char *z = PyArray_BYTES(made);
  const npy_intp sa = PyArray_STRIDE(a, 0), sb = PyArray_STRIDE(b, 0), sz = PyArray_STRIDE(made, 0);
  for (long i = 0; i < count; i++, x += sa, y += sb, z += sz) small_product(&s, x, y, z);
  return (PyObject *)made;
}

/* int_mm(a, b): bytes times signed bytes, added up in int32; small ones */
#define BYTE_ROWS(T)                                                                                                      \
  CLONES static void byte_rows_##T(const Shape *s, const T *x, const int8_t *y, int32_t *z) {                             \
    memset(z, 0, (size_t)(s->m * s->n) * 4);                                                                              \
    for (long i = 0; i < s->m; i++, z += s->n)                                                                            \
      for (long p = 0; p < s->k; p++) {                                                                                   \
        const int32_t v = x[i * s->ra + p * s->ka];                                                                       \
        const int8_t *row = y + p * s->rb;                                                                                \
        if (s->cb == 1)                                                                                                   \
          for (long j = 0; j < s->n; j++) z[j] += v * row[j];                                                             \
        else                                                                                                              \
          for (long j = 0; j < s->n; j++) z[j] += v * row[j * s->cb];                                                     \
      }                                                                                                                   \
  }
BYTE_ROWS(int8_t)
BYTE_ROWS(uint8_t)
FUNCTION(int_mm) {
  PyArrayObject *a = given == 2 ? array_at(args, 0) : NULL, *b = a ? array_at(args, 1) : NULL;
  if (!b || PyArray_NDIM(a) != 2 || PyArray_NDIM(b) != 2 || PyArray_DIM(a, 1) != PyArray_DIM(b, 0) || code_of(b) != NPY_BYTE ||
      (code_of(a) != NPY_BYTE && code_of(a) != NPY_UBYTE))
    Py_RETURN_NONE;
  const Shape s = {PyArray_DIM(a, 0),    PyArray_DIM(a, 1),    PyArray_DIM(b, 1),    PyArray_STRIDE(a, 0),
                   PyArray_STRIDE(a, 1), PyArray_STRIDE(b, 0), PyArray_STRIDE(b, 1), NPY_BYTE};
  if (s.m * s.n * s.k > FEW_WHOLE) Py_RETURN_NONE;
  npy_intp dims[2] = {s.m, s.n};
  PyObject *made = PyArray_SimpleNew(2, dims, NPY_INT);
  if (!made) return NULL;
  int32_t *z = PyArray_DATA((PyArrayObject *)made);
  if (code_of(a) == NPY_BYTE)
    byte_rows_int8_t(&s, PyArray_DATA(a), PyArray_DATA(b), z);
  else
    byte_rows_uint8_t(&s, PyArray_DATA(a), PyArray_DATA(b), z);
  return made;
}
