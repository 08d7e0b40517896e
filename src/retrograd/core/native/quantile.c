/* Whole kernels of ops that look at few elements along a dimension: quantiles, both extremes, clipped norms, turns by a right
   angle. Measured, 3x5 float32: quantile 1 us as a call of the op, 78 us in steps that are ops. */
#include "small.h"
#include <math.h>
#define LONGEST 256
typedef struct {
  long outer, n, inner;
} Lines;
/* x as (outer, n, inner) around a dimension, or all of it as one line where `dim` is None; and the shape without it, or with
 * size 1 */
static int lines_of(PyArrayObject *x, PyObject *dim, int keepdim, Lines *l, npy_intp *dims, int *rank) {
  const int nd = PyArray_NDIM(x);
  l->outer = l->inner = 1;
  *rank = 0;
  if (dim == Py_None) {
    l->n = PyArray_SIZE(x);
    if (keepdim)
      for (; *rank < nd; ++*rank) dims[*rank] = 1;
    return 1;
  }
  const int at = nd ? wrapped_dim(dim, nd) : -1;
  if (at < 0) return 0;
  l->n = PyArray_DIM(x, at);
  for (int d = 0; d < nd; d++) {
    const npy_intp n = PyArray_DIM(x, d);
    if (d < at)
      l->outer *= n;
    else if (d > at)
      l->inner *= n;
    if (d != at || keepdim) dims[(*rank)++] = d == at ? 1 : n;
  }
  return 1;
}
static int flag_of(PyObject *o) { return o == Py_True ? 1 : o == Py_False ? 0 : -1; }

/* quantile(self, q, dim, keepdim, interpolation): q is a number, or one or several in an array of the same dtype */
#define ROW(T)                                                                                                      \
  {                                                                                                                 \
    const T *p = (const T *)PyArray_DATA(x) + o * l.n * l.inner + i;                                                \
    T v[LONGEST];                                                                                                   \
    long m = 0;                                                                                                     \
    int spoilt = 0;                                                                                                 \
    for (long k = 0; k < l.n; k++) {                                                                                \
      const T e = p[k * l.inner];                                                                                   \
      if (e != e) {                                                                                                 \
        spoilt = 1;                                                                                                 \
        continue;                                                                                                   \
      }                                                                                                             \
      long at = m++;                                                                                                \
      for (; at && v[at - 1] > e; at--) v[at] = v[at - 1];                                                          \
      v[at] = e;                                                                                                    \
    }                                                                                                               \
    T *to = (T *)PyArray_DATA(made) + (o * l.inner + i) * count;                                                    \
    for (long c = 0; c < count; c++) {                                                                              \
      const T rank_of = (T)(is_number ? (T)number : ((const T *)PyArray_DATA(q))[c]) * (T)((ignore ? m : l.n) - 1); \
      T rank = rank_of < 0 ? 0 : rank_of;                                                                           \
      if ((spoilt && !ignore) || !m) {                                                                              \
        to[c] = (T)NAN;                                                                                             \
        continue;                                                                                                   \
      }                                                                                                             \
      if (way == 1)                                                                                                 \
        rank = (T)floor((double)rank);                                                                              \
      else if (way == 2)                                                                                            \
        rank = (T)ceil((double)rank);                                                                               \
      else if (way == 4)                                                                                            \
        rank = (T)nearbyint((double)rank);                                                                          \
      const long low = (long)rank, high = (long)ceil((double)rank);                                                 \
      const T a = v[low];                                                                                           \
      if (way == 0 || way == 3) {                                                                                   \
        const T b = v[high], w = way == 3 ? (T)0.5 : (T)(rank - (T)low);                                            \
        to[c] = w < (T)0.5 ? a + w * (b - a) : b - (b - a) * ((T)1 - w);                                            \
      } else                                                                                                        \
        to[c] = a;                                                                                                  \
    }                                                                                                               \
  }
static PyObject *quantiles(PyObject *const *args, Py_ssize_t given, int ignore) {
  static const char *const ways[] = {"linear", "lower", "higher", "midpoint", "nearest"};
  int way = 0, rank;
  Lines l;
  npy_intp dims[NPY_MAXDIMS + 1], strides[NPY_MAXDIMS + 1];
  PyArrayObject *x = given == 5 && PyUnicode_Check(args[4]) ? array_at(args, 0) : NULL, *q = x ? array_at(args, 1) : NULL;
  const int keepdim = x ? flag_of(args[3]) : -1, is_number = x && PyFloat_CheckExact(args[1]);
  if (keepdim < 0 || !behaved(x) || !plain(x) || !is_real_code(code_of(x)) ||
      !lines_of(x, args[2], keepdim, &l, dims + 1, &rank) || l.n > LONGEST || l.n < 1)
    Py_RETURN_NONE;
  while (way < 5 && PyUnicode_CompareWithASCIIString(args[4], ways[way])) way++;
  if (way == 5 || (!is_number && (!plain(q) || PyArray_DESCR(q) != PyArray_DESCR(x) || PyArray_NDIM(q) > 1 ||
                                  PyArray_SIZE(q) < 1 || PyArray_SIZE(q) > 64)))
    Py_RETURN_NONE;
  const double number = is_number ? PyFloat_AS_DOUBLE(args[1]) : 0;
  const long count = is_number ? 1 : PyArray_SIZE(q), size = PyArray_ITEMSIZE(x);
  const int several = !is_number && PyArray_NDIM(q) == 1;
  for (long c = 0; c < count; c++) {
    const double v = is_number   ? number
                     : size == 4 ? ((const float *)PyArray_DATA(q))[c]
                                 : ((const double *)PyArray_DATA(q))[c];
    if (!(v >= 0 && v <= 1)) Py_RETURN_NONE;
  }
  dims[0] = count;
  strides[0] = size;
  npy_intp step = count * size;
  for (int d = rank; d >= 1; d--) {
    strides[d] = step;
    step *= dims[d];
  } /* the quantiles of one line lie side by side */
  PyArray_Descr *kind = PyArray_DESCR(x);
  Py_INCREF(kind);
  PyArrayObject *made = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, kind, rank + several, dims + !several,
                                                              strides + !several, NULL, 0, NULL);
  if (!made) return NULL;
  for (long o = 0; o < l.outer; o++)
    for (long i = 0; i < l.inner; i++)
      if (size == 4)
        ROW(float)
      else
        ROW(double)
  return (PyObject *)made;
}
FUNCTION(quantile) { return quantiles(args, given, 0); }
FUNCTION(nanquantile) { return quantiles(args, given, 1); }

/* aminmax(self, dim, keepdim) */
#define ENDS(T)                                               \
  {                                                           \
    const T *p = PyArray_DATA(x);                             \
    T *low = PyArray_DATA(least), *high = PyArray_DATA(most); \
    for (long o = 0; o < l.outer; o++)                        \
      for (long i = 0; i < l.inner; i++) {                    \
        const T *r = p + o * l.n * l.inner + i;               \
        T a = *r, b = *r;                                     \
        long k = 1;                                           \
        if (l.inner == 1 && l.n >= 32) {                      \
          T x0[16], x1[16];                                   \
          for (int c = 0; c < 16; c++) x0[c] = x1[c] = r[c];  \
          for (k = 16; k + 16 <= l.n; k += 16)                \
            for (int c = 0; c < 16; c++) {                    \
              const T v = r[k + c];                           \
              x0[c] = (v < x0[c]) | (v != v) ? v : x0[c];     \
              x1[c] = (v > x1[c]) | (v != v) ? v : x1[c];     \
            }                                                 \
          for (int c = 0; c < 16; c++) {                      \
            a = a != a ? a : x0[c] < a || x0[c] != x0[c] ? x0[c] : a; \
            b = b != b ? b : x1[c] > b || x1[c] != x1[c] ? x1[c] : b; \
          }                                                   \
        }                                                     \
        for (; k < l.n; k++) {                                \
          const T v = r[k * l.inner];                         \
          a = a != a ? a : v < a || v != v ? v : a;           \
          b = b != b ? b : v > b || v != v ? v : b;           \
        }                                                     \
        *low++ = a;                                           \
        *high++ = b;                                          \
      }                                                       \
  }
FUNCTION(aminmax) {
  PyArrayObject *x = given == 3 ? array_at(args, 0) : NULL;
  const int keepdim = x ? flag_of(args[2]) : -1;
  Lines l;
  npy_intp dims[NPY_MAXDIMS];
  int rank;
  if (keepdim < 0 || !behaved(x) || !plain(x) || (!is_real_code(code_of(x)) && code_of(x) != NPY_LONG) ||
      !lines_of(x, args[1], keepdim, &l, dims, &rank))
    Py_RETURN_NONE;
  PyArrayObject *least = new_of(x, rank, dims), *most = least ? new_of(x, rank, dims) : NULL;
  if (!most) {
    Py_XDECREF(least);
    return NULL;
  }
  if (code_of(x) == NPY_FLOAT)
    ENDS(float)
  else if (code_of(x) == NPY_DOUBLE)
    ENDS(double) else ENDS(int64_t) PyObject *both = PyTuple_Pack(2, least, most);
  Py_DECREF(least);
  Py_DECREF(most);
  return both;
}

/* renorm(self, p, dim, maxnorm): slices whose norm is larger are scaled down to it */
#define CLIPPED(T)                                                          \
  {                                                                         \
    const T *from = PyArray_DATA(x);                                        \
    T *to = PyArray_DATA(made);                                             \
    for (long k = 0; k < l.n; k++) {                                        \
      double sum = 0;                                                       \
      for (long o = 0; o < l.outer; o++)                                    \
        for (long i = 0; i < l.inner; i++) {                                \
          const double v = fabs((double)from[(o * l.n + k) * l.inner + i]); \
          if (p == 2)                                                       \
            sum += v * v;                                                   \
          else if (p == 1)                                                  \
            sum += v;                                                       \
          else if (isinf(p))                                                \
            sum = v > sum || v != v ? v : sum;                              \
          else                                                              \
            sum += pow(v, p);                                               \
        }                                                                   \
      const T norm = (T)(p == 2               ? sqrt(sum)                   \
                         : p == 1 || isinf(p) ? sum                         \
                                              : pow(sum, 1 / p)),           \
              scale = norm > (T)most ? (T)most / (norm + (T)1e-7) : (T)1;   \
      for (long o = 0; o < l.outer; o++)                                    \
        for (long i = 0; i < l.inner; i++) {                                \
          const long at = (o * l.n + k) * l.inner + i;                      \
          to[at] = from[at] * scale;                                        \
        }                                                                   \
    }                                                                       \
  }
static int number_of(PyObject *o, double *to) {
  *to = PyFloat_CheckExact(o) ? PyFloat_AS_DOUBLE(o) : PyLong_CheckExact(o) ? PyLong_AsDouble(o) : -1;
  if (PyErr_Occurred()) {
    PyErr_Clear();
    return 0;
  }
  return *to >= 0;
}
FUNCTION(renorm) {
  PyArrayObject *x = given == 4 ? array_at(args, 0) : NULL;
  double p, most;
  Lines l;
  npy_intp dims[NPY_MAXDIMS];
  int rank;
  if (!behaved(x) || !plain(x) || !is_real_code(code_of(x)) || PyArray_NDIM(x) < 2 || args[2] == Py_None ||
      !lines_of(x, args[2], 0, &l, dims, &rank) || !number_of(args[1], &p) || !number_of(args[3], &most) || p == 0)
    Py_RETURN_NONE;
  PyArrayObject *made = new_of(x, PyArray_NDIM(x), PyArray_DIMS(x));
  if (!made) return NULL;
  if (code_of(x) == NPY_FLOAT) CLIPPED(float) else CLIPPED(double) return (PyObject *)made;
}

/* rot90(self, k, dims): a flipped copy whose two dimensions are then exchanged */
FUNCTION(rot90) {
  PyArrayObject *x = given == 3 && PyLong_CheckExact(args[1]) ? array_at(args, 0) : NULL;
  long two[2];
  npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS], from[NPY_MAXDIMS], step;
  if (!behaved(x) || !plain(x) || ints_of(args[2], two, 2) != 2) Py_RETURN_NONE;
  const int nd = PyArray_NDIM(x);
  long k = PyLong_AsLong(args[1]);
  if (PyErr_Occurred()) {
    PyErr_Clear();
    Py_RETURN_NONE;
  }
  for (int i = 0; i < 2; i++) {
    if (two[i] < -nd || two[i] >= nd) Py_RETURN_NONE;
    two[i] = two[i] < 0 ? two[i] + nd : two[i];
  }
  k = (k % 4 + 4) % 4;
  if (two[0] == two[1] || k % 2 == 0) Py_RETURN_NONE;
  const int turned = (int)(k == 1 ? two[1] : two[0]);
  const char *p = PyArray_BYTES(x);
  step = PyArray_ITEMSIZE(x);
  for (int d = nd - 1; d >= 0; d--) {
    dims[d] = PyArray_DIM(x, d);
    strides[d] = step;
    step *= dims[d];
    from[d] = PyArray_STRIDE(x, d);
  }
  p += (dims[turned] - 1) * from[turned];
  from[turned] = -from[turned];
  const int a = (int)two[0], b = (int)two[1];
#define EXCHANGE(v)          \
  {                          \
    const npy_intp t = v[a]; \
    v[a] = v[b];             \
    v[b] = t;                \
  }
  EXCHANGE(dims) EXCHANGE(strides) EXCHANGE(from) PyArray_Descr *kind = PyArray_DESCR(x);
  Py_INCREF(kind);
  PyArrayObject *made = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, kind, nd, dims, strides, NULL, 0, NULL);
  if (!made) return NULL;
  copy_places(nd, dims, PyArray_BYTES(made), strides, p, from, PyArray_ITEMSIZE(x));
  return (PyObject *)made;
}
