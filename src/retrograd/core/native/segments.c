/* Whole kernels of small ops that go along one dimension: sums of segments, gated linear units. */
#include "small.h"
#include <math.h>

/* segment_reduce(data, reduce, lengths, indices, offsets, axis, unsafe, initial), of lengths or offsets in 64 bits */
#define COMBINED(E)                              \
  for (long k = first; k < last; k++) {          \
    const double v = *(const T *)(p + k * step); \
    a = k > first ? (double)(T)(E) : v;          \
  }
#define SEGMENT                                                                                                           \
  {                                                                                                                       \
    double a = start;                                                                                                     \
    const T zero = (T)start;                                                                                              \
    if (last > first) {                                                                                                   \
      switch (which) {                                                                                                    \
      case 0:                                                                                                             \
      case 1: COMBINED(a + v) a = (T)(a + zero); break;                                                                   \
      case 2: COMBINED(a * v) a = (T)(a * zero); break;                                                                   \
      case 3: COMBINED(a != a ? a : v > a || v != v ? v : a) a = a != a ? a : zero > a || zero != zero ? zero : a; break; \
      default: COMBINED(a != a ? a : v < a || v != v ? v : a) a = a != a ? a : zero < a || zero != zero ? zero : a;       \
      }                                                                                                                   \
      if (which == 1) a = (T)(a / (double)(last - first));                                                                \
    } else if (which == 1 && args[7] == Py_None)                                                                          \
      a = NAN;                                                                                                            \
    *(T *)q = (T)a;                                                                                                       \
  }
FUNCTION(segment_reduce) {
  static const char *const names[] = {"sum", "mean", "prod", "max", "min", "amax", "amin"};
  static const double starts[] = {0, 0, 1, -HUGE_VAL, HUGE_VAL};
  int which = 0;
  PyArrayObject *x = given == 8 && PyUnicode_Check(args[1]) && args[3] == Py_None ? array_at(args, 0) : NULL,
                *lengths = x && args[4] == Py_None ? array_at(args, 2) : NULL,
                *offsets = x && args[2] == Py_None ? array_at(args, 4) : NULL, *by = lengths ? lengths : offsets;
  if (!behaved(x) || !plain(x) || !is_real_code(code_of(x)) || !plain(by) || code_of(by) != NPY_LONG) Py_RETURN_NONE;
  while (which < 7 && PyUnicode_CompareWithASCIIString(args[1], names[which])) which++;
  if (which == 7) Py_RETURN_NONE;
  if (which > 4) which -= 2;
  const int nd = PyArray_NDIM(x), lead = PyArray_NDIM(by) - 1, axis = wrapped_dim(args[5], nd);
  double start = starts[which];
  if (axis < 0 || axis != lead || (args[7] != Py_None && !PyFloat_CheckExact(args[7]) && !PyLong_CheckExact(args[7])))
    Py_RETURN_NONE;
  if (args[7] != Py_None) {
    start = PyFloat_AsDouble(args[7]);
    if (PyErr_Occurred()) {
      PyErr_Clear();
      Py_RETURN_NONE;
    }
  }
  const long each = PyArray_DIM(by, lead), count = lengths ? each : each - 1, n = PyArray_DIM(x, axis);
  npy_intp dims[NPY_MAXDIMS];
  long rows = 1, inner = 1;
  for (int d = 0; d < nd; d++) {
    dims[d] = PyArray_DIM(x, d);
    if (d < axis) {
      if (PyArray_DIM(by, d) != dims[d]) Py_RETURN_NONE;
      rows *= dims[d];
    } else if (d > axis)
      inner *= dims[d];
  }
  dims[axis] = count;
  const int64_t *b = PyArray_DATA(by);
  const long size = PyArray_ITEMSIZE(x), step = inner * size;
  if (count < 0) Py_RETURN_NONE;
  for (long r = 0; r < rows; r++) { /* all segments lie within, one after another */
    long end = 0;
    for (long i = 0; i < each; i++) {
      const int64_t v = b[r * each + i];
      if (lengths) {
        if (v < 0 || v > n) Py_RETURN_NONE;
        end += v;
      } else {
        if (v < end || v > n) Py_RETURN_NONE;
        end = v;
      }
    }
    if (lengths && end != n) Py_RETURN_NONE;
  }
  PyArrayObject *made = new_of(x, nd, dims);
  if (!made) return NULL;
  char *q = PyArray_BYTES(made);
  for (long r = 0; r < rows; r++) {
    long end = lengths ? 0 : b[r * each];
    for (long i = 0; i < count; i++) {
      const long first = end, last = lengths ? end + b[r * each + i] : b[r * each + i + 1];
      end = last;
      for (long k = 0; k < inner; k++, q += size) {
        const char *p = PyArray_BYTES(x) + r * n * step + k * size;
        if (size == 4) {
          typedef float T;
          SEGMENT
        } else {
          typedef double T;
          SEGMENT
        }
      }
    }
  }
  return (PyObject *)made;
}

/* glu(self, dim) */
#define GATED(T, EXP)                                                                  \
  {                                                                                    \
    const T *p = PyArray_DATA(x);                                                      \
    T *q = PyArray_DATA(made);                                                         \
    for (long o = 0; o < outer; o++, p += 2 * run, q += run)                           \
      for (long i = 0; i < run; i++) q[i] = p[i] * ((T)1 / ((T)1 + EXP(-p[run + i]))); \
  }
FUNCTION(glu) {
  PyArrayObject *x = given == 2 ? array_at(args, 0) : NULL;
  if (!behaved(x) || !plain(x) || !is_real_code(code_of(x))) Py_RETURN_NONE;
  const int nd = PyArray_NDIM(x), dim = wrapped_dim(args[1], nd);
  npy_intp dims[NPY_MAXDIMS];
  long outer = 1, run = 1;
  if (dim < 0 || PyArray_DIM(x, dim) % 2) Py_RETURN_NONE;
  for (int d = 0; d < nd; d++) {
    dims[d] = d == dim ? PyArray_DIM(x, d) / 2 : PyArray_DIM(x, d);
    if (d < dim)
      outer *= dims[d];
    else
      run *= dims[d];
  }
  PyArrayObject *made = new_of(x, nd, dims);
  if (!made) return NULL;
  if (code_of(x) == NPY_FLOAT) GATED(float, expf) else GATED(double, exp) return (PyObject *)made;
}
