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
  if (!plain(x) || !PyArray_SIZE(x) || !is_real_code(code_of(x)) || !plain(by) || code_of(by) != NPY_LONG) Py_RETURN_NONE;
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

/* ---- bags: sums or means of rows of a table. Measured, one thread, float32, 6700 bags of 3 rows of 64: 0.8 ms (gathered and
   added with NumPy 2.7). */
typedef struct {
  const char *table, *weights;
  const int64_t *index, *start;
  char *out;
  int code, mean;
  long count, bags, width, padding;
} Bags;
#define BAG(T, A, IN, OUT)                                                                        \
  for (long b = first; b < last; b++) {                                                           \
    const long from = j->start[b], end = b + 1 < j->bags ? j->start[b + 1] : j->count;            \
    for (long c0 = 0; c0 < j->width; c0 += 256) {                                                 \
      const long m = j->width - c0 < 256 ? j->width - c0 : 256;                                   \
      long met = 0;                                                                               \
      A sum[256] = {0};                                                                           \
      for (long i = from; i < end; i++) {                                                         \
        if (j->index[i] == j->padding) continue;                                                  \
        const T *row = (const T *)j->table + j->index[i] * j->width + c0;                         \
        met++;                                                                                    \
        if (j->weights) {                                                                         \
          const A w = (A)IN(((const T *)j->weights)[i]);                                          \
          for (long c = 0; c < m; c++) sum[c] += (A)IN(row[c]) * w;                               \
        } else                                                                                    \
          for (long c = 0; c < m; c++) sum[c] += (A)IN(row[c]);                                   \
      }                                                                                           \
      T *to = (T *)j->out + b * j->width + c0;                                                    \
      if (j->mean && met > 1)                                                                     \
        for (long c = 0; c < m; c++) sum[c] = (A)((double)sum[c] / (double)met);                  \
      for (long c = 0; c < m; c++) to[c] = (T)OUT(sum[c]);                                        \
    }                                                                                             \
  }                                                                                               \
  break;
CLONES static void sum_part(void *argument, long first, long last) {
  const Bags *j = argument;
  switch (j->code) {
  case NPY_FLOAT: BAG(float, float, , )
  case NPY_DOUBLE: BAG(double, double, , )
  case NPY_HALF: BAG(uint16_t, float, from_half, to_half)
  default: BAG(uint16_t, float, from_bfloat, to_bfloat)
  }
}
/* sum_bags(out, table, index, start, padding, mean, weights or None): True if `out` was filled; `start` does not decrease, and
   a padding that is no index is negative */
FUNCTION(sum_bags) {
  Bags j;
  PyArrayObject *out = given == 7 ? array_at(args, 0) : NULL, *table = out ? array_at(args, 1) : NULL,
                *index = out ? array_at(args, 2) : NULL, *start = out ? array_at(args, 3) : NULL,
                *weights = out && args[6] != Py_None ? array_at(args, 6) : NULL;
  if (!plain(out) || !plain(table) || !plain(index) || !plain(start) || !PyArray_ISWRITEABLE(out) || PyArray_NDIM(table) != 2 ||
      PyArray_NDIM(out) != 2 || PyArray_NDIM(index) != 1 || PyArray_NDIM(start) != 1 || code_of(index) != NPY_INT64 ||
      code_of(start) != NPY_INT64 || PyArray_DESCR(out) != PyArray_DESCR(table) || (args[6] != Py_None && !plain(weights)))
    Py_RETURN_NONE;
  j.code = number_code(table);
  j.width = PyArray_DIM(table, 1);
  j.count = PyArray_DIM(index, 0);
  j.bags = PyArray_DIM(out, 0);
  j.padding = PyLong_AsLong(args[4]);
  j.mean = args[5] == Py_True;
  if (PyErr_Occurred()) return NULL;
  if ((j.code != NPY_FLOAT && j.code != NPY_DOUBLE && j.code != NPY_HALF && j.code != NPY_BFLOAT) ||
      PyArray_DIM(out, 1) != j.width || PyArray_DIM(start, 0) < j.bags ||
      (weights && (PyArray_DESCR(weights) != PyArray_DESCR(table) || PyArray_NDIM(weights) != 1 || PyArray_DIM(weights, 0) != j.count)))
    Py_RETURN_NONE;
  j.table = PyArray_BYTES(table);
  j.out = PyArray_BYTES(out);
  j.weights = weights ? PyArray_BYTES(weights) : NULL;
  j.index = PyArray_DATA(index);
  j.start = PyArray_DATA(start);
  const long rows = PyArray_DIM(table, 0);
  for (long i = 0; i < j.count; i++)
    if (j.index[i] < 0 || j.index[i] >= rows) Py_RETURN_NONE;
  for (long b = 0; b < j.bags; b++)
    if (j.start[b] < (b ? j.start[b - 1] : 0) || j.start[b] > j.count) Py_RETURN_NONE;
  if (!j.bags || !j.width) Py_RETURN_TRUE;
  Py_BEGIN_ALLOW_THREADS over(sum_part, &j, j.bags, (j.count / j.bags + 1) * j.width);
  Py_END_ALLOW_THREADS Py_RETURN_TRUE;
}
