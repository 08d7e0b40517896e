/* Convolution, pooling, and images as columns. The matrix products are those of the BLAS whose address is given.
   Measured, one thread, forward and backward, float32: conv2d 16x32x32x32 k3 to 64 channels 20 ms (with NumPy's strided
   copies 39), depthwise 2.4 ms (19), max_pool2d of 16x32x64x64 9 ms (42), avg_pool2d 7 ms (22). */
#include "native.h"
#include <stdlib.h>
typedef void (*Gemm)(void *, void *, void *, void *, void *, const void *, const void *, void *, const void *, void *,
                     const void *, void *, void *);
#define MOST_TAPS 64
typedef struct {
  long batch, channels, outputs, groups, size[3], kernel[3], stride[3], padding[3], dilation[3], out[3];
  long first[MOST_TAPS], last[MOST_TAPS]; /* the outputs that each place of the kernel sees inside of the image */
} Window;
typedef struct {
  long planes, size[3], out[3], step[3];
  const int64_t *start[3], *end[3];
} Boxes;
typedef struct {
  Window g;
  char what;
  void *x, *w, *y, *shares, *gemm;
  long space, images, weights, count;
  int failed;
} Convolution;
typedef struct {
  long batch, count, each;
  const void *x;
  void *y;
} Channels;
typedef struct {
  Boxes p;
  char what;
  void *x, *y, *third;
  long channels; /* 1, or those that are innermost */
} Pooling;
typedef struct {
  Window g;
  void *x, *c;
  int back;
} Columns;

static void range_of(const Window *g, int d, long k, long *first, long *last) {
  const long shift = g->padding[d] - k * g->dilation[d], s = g->stride[d], top = g->size[d] - 1 + shift;
  long a = shift > 0 ? (shift + s - 1) / s : 0, b = top < 0 ? 0 : top / s + 1;
  if (b > g->out[d]) b = g->out[d];
  if (a > b) a = b;
  *first = a;
  *last = b;
}
static int plain_window(const Window *g) {
  for (int d = 0; d < 3; d++)
    if (g->kernel[d] != 1 || g->stride[d] != 1 || g->padding[d]) return 0;
  return 1;
}
#define T float
#include "window.h"
#undef T
#define T double
#include "window.h"
#undef T

/* The settings: (batch, channels, outputs, groups, *size, *kernel, *stride, *padding, *dilation, *out), each of three. */
static int read_window(PyObject *o, Window *g) {
  if (!PyTuple_Check(o) || PyTuple_GET_SIZE(o) != 22) return 0;
  long *to = &g->batch;
  for (int i = 0; i < 22; i++) to[i] = PyLong_AsLong(PyTuple_GET_ITEM(o, i));
  if (PyErr_Occurred() || g->kernel[2] > MOST_TAPS) return 0;
  for (long k = 0; k < g->kernel[2]; k++) range_of(g, 2, k, &g->first[k], &g->last[k]);
  return 1;
}
static long taps(const Window *g) { return g->kernel[0] * g->kernel[1] * g->kernel[2]; }
static long outs(const Window *g) { return g->out[0] * g->out[1] * g->out[2]; }
static long ins(const Window *g) { return g->size[0] * g->size[1] * g->size[2]; }

/* convolve(x, weight, y, settings, address of gemm, what): what is c (y from x and weight), s (x from weight and y) or m
   (weight from x and y); what is made must hold zeros */
FUNCTION(convolve) {
  PyArrayObject *x = array_at(args, 0), *w = array_at(args, 1), *y = array_at(args, 2);
  Window g;
  if (!plain(x) || !plain(w) || !plain(y) || code_of(x) != code_of(w) || code_of(x) != code_of(y) ||
      !read_window(args[3], &g)) {
    PyErr_Clear();
    Py_RETURN_NONE;
  }
  const int code = code_of(x);
  const char what = (char)PyUnicode_READ_CHAR(args[5], 0);
  void *gemm = PyLong_AsVoidPtr(args[4]);
  if (code != NPY_FLOAT && code != NPY_DOUBLE) Py_RETURN_NONE;
  const long k = g.channels / g.groups * taps(&g);
  if (k > 0x7fffffff || outs(&g) > 0x7fffffff || PyArray_SIZE(x) != g.batch * g.channels * ins(&g) ||
      PyArray_SIZE(y) != g.batch * g.outputs * outs(&g) || PyArray_SIZE(w) != g.outputs * k)
    Py_RETURN_NONE;
  const long out = outs(&g);
  const int single = g.channels == g.groups, bare = plain_window(&g) && !single;
  long space = bare ? 0 : k * out;
  if (single) { /* two planes with padding around them, in whole blocks */
    const long high = (g.size[1] > g.out[1] ? g.size[1] : g.out[1]) + g.dilation[1] * g.kernel[1] + 2 * g.padding[1];
    const long wide = (g.size[2] > g.out[2] ? g.size[2] : g.out[2]) + g.dilation[2] * g.kernel[2] + 2 * g.padding[2] + 32;
    space += 2 * high * wide;
  }
  /* pieces: some images each; at most 16 shares of the gradient of a weight, as long as those are small */
  const long weights = PyArray_SIZE(w), size = PyArray_ITEMSIZE(x), sets = g.batch;
  long shares = sets;
  if (what == 'm') {
    const long most = (PyArray_SIZE(x) + PyArray_SIZE(y)) / (2 * weights) + 1;
    shares = sets < 16 ? sets : 16;
    if (shares > most) shares = most;
  } else if (shares * g.groups > 64)
    shares = 64 / g.groups + 1;
  Convolution c = {
      g, what, PyArray_DATA(x), PyArray_DATA(w), PyArray_DATA(y), NULL, gemm, space, (sets + shares - 1) / shares, weights,
      0, 0};
  c.count = (g.batch + c.images - 1) / c.images;
  if (what == 'm' && c.count > 1 && !(c.shares = calloc((size_t)((c.count - 1) * weights), (size_t)size)))
    return PyErr_NoMemory();
  const int few = c.count * g.groups * 2 <= thread_count() && !single; /* large images: the matrix products use the threads */
  Part part = code == NPY_FLOAT ? convolve_part_float : convolve_part_double;
  Py_BEGIN_ALLOW_THREADS if (few || PyArray_SIZE(y) * k < 65536) part(&c, 0, c.count * g.groups);
  else over_blas(part, &c, c.count * g.groups);
  if (c.shares) over(code == NPY_FLOAT ? add_shares_float : add_shares_double, &c, weights, c.count);
  Py_END_ALLOW_THREADS free(c.shares);
  if (c.failed) return PyErr_NoMemory();
  Py_RETURN_TRUE;
}

/* channel_sums(x): of (batch, channels, ...) the sum of each channel, as a new array */
FUNCTION(channel_sums) {
  PyArrayObject *x = array_at(args, 0);
  if (!plain(x) || PyArray_NDIM(x) < 2 || !PyArray_SIZE(x) || (code_of(x) != NPY_FLOAT && code_of(x) != NPY_DOUBLE))
    Py_RETURN_NONE;
  Channels j = {PyArray_DIM(x, 0), PyArray_DIM(x, 1), 1, PyArray_DATA(x), NULL};
  npy_intp dims[1] = {j.count};
  PyObject *made = PyArray_SimpleNew(1, dims, code_of(x));
  if (!made) return NULL;
  j.each = PyArray_SIZE(x) / (j.batch * j.count);
  j.y = PyArray_DATA((PyArrayObject *)made);
  Py_BEGIN_ALLOW_THREADS over(code_of(x) == NPY_FLOAT ? channel_part_float : channel_part_double, &j, j.count,
                              j.batch * j.each);
  Py_END_ALLOW_THREADS return made;
}

/* unfold(x, columns, settings), fold(columns, x, settings): for each image of the batch; fold adds to x */
static PyObject *columns_of(PyObject *const *args, int back) {
  PyArrayObject *x = array_at(args, back), *c = array_at(args, !back);
  Window g;
  if (!plain(x) || !plain(c) || code_of(x) != code_of(c) || !read_window(args[2], &g)) {
    PyErr_Clear();
    Py_RETURN_NONE;
  }
  const int code = code_of(x);
  const long in = g.channels * ins(&g), out = g.channels * taps(&g) * outs(&g);
  if ((code != NPY_FLOAT && code != NPY_DOUBLE) || PyArray_SIZE(x) != g.batch * in || PyArray_SIZE(c) != g.batch * out)
    Py_RETURN_NONE;
  Columns j = {g, PyArray_DATA(x), PyArray_DATA(c), back};
  Py_BEGIN_ALLOW_THREADS over(code == NPY_FLOAT ? columns_part_float : columns_part_double, &j, g.batch * g.channels,
                              taps(&g) * outs(&g));
  Py_END_ALLOW_THREADS Py_RETURN_TRUE;
}
FUNCTION(unfold) { return columns_of(args, 0); }
FUNCTION(fold) { return columns_of(args, 1); }

/* pool(x, y, third, (planes, *size, *out, *step), (starts, ends) of each dimension, what): what is x (maximum, with
   indices third), m (mean, divided by third) or s (each y divided by third and shared out to x) */
FUNCTION(pool) {
  PyArrayObject *x = array_at(args, 0), *y = array_at(args, 1), *third = array_at(args, 2);
  Boxes p;
  const char what = (char)PyUnicode_READ_CHAR(args[5], 0);
  if (!plain(x) || !plain(y) || !plain(third) || code_of(x) != code_of(y) || !PyTuple_Check(args[3]) ||
      PyTuple_GET_SIZE(args[3]) != 10)
    Py_RETURN_NONE;
  const int code = code_of(x);
  if (code != NPY_FLOAT && code != NPY_DOUBLE) Py_RETURN_NONE;
  if (what == 'x' ? code_of(third) != NPY_LONG || sizeof(long) != 8 : code_of(third) != code) Py_RETURN_NONE;
  long *to = &p.planes;
  for (int i = 0; i < 10; i++) to[i] = PyLong_AsLong(PyTuple_GET_ITEM(args[3], i));
  if (PyErr_Occurred()) return NULL;
  for (int d = 0; d < 3; d++) {
    PyArrayObject *b = (PyArrayObject *)PyTuple_GET_ITEM(args[4], 2 * d),
                  *e = (PyArrayObject *)PyTuple_GET_ITEM(args[4], 2 * d + 1);
    if (!plain(b) || !plain(e) || code_of(b) != NPY_LONG || code_of(e) != NPY_LONG || PyArray_SIZE(b) != p.out[d] ||
        PyArray_SIZE(e) != p.out[d])
      Py_RETURN_NONE;
    p.start[d] = PyArray_DATA(b);
    p.end[d] = PyArray_DATA(e);
  }
  Pooling j = {p, what, PyArray_DATA(x), PyArray_DATA(y), PyArray_DATA(third), 1};
  const long in = p.size[0] * p.size[1] * p.size[2], out = p.out[0] * p.out[1] * p.out[2];
  Py_BEGIN_ALLOW_THREADS over(code == NPY_FLOAT ? pool_part_float : pool_part_double, &j, p.planes, in > out ? in : out);
  Py_END_ALLOW_THREADS Py_RETURN_TRUE;
}

/* ---- pooling from its settings */
static int read_settings(PyObject *o, int rank, long *to) { /* one number for all dimensions, or one for each */
  if (PyLong_CheckExact(o)) {
    for (int d = 0; d < rank; d++) to[d] = PyLong_AsLong(o);
    return !PyErr_Occurred();
  }
  if (!PyTuple_CheckExact(o) && !PyList_CheckExact(o)) return 0;
  const long n = PySequence_Fast_GET_SIZE(o);
  if (n != 1 && n != rank) return 0;
  for (int d = 0; d < rank; d++) {
    PyObject *v = PySequence_Fast_GET_ITEM(o, n == 1 ? 0 : d);
    if (!PyLong_CheckExact(v)) return 0;
    to[d] = PyLong_AsLong(v);
  }
  return !PyErr_Occurred();
}
static int row_major(PyArrayObject *x) { /* also along dimensions of size 1 */
  npy_intp wanted = PyArray_ITEMSIZE(x);
  for (int d = PyArray_NDIM(x) - 1; d >= 0; d--) {
    if (PyArray_STRIDE(x, d) != wanted) return 0;
    wanted *= PyArray_DIM(x, d);
  }
  return 1;
}
/* Whether images have their channels innermost; sizes of 1, which leave that open, do not count. */
static int channels_last(PyArrayObject *x) {
  const npy_intp *n = PyArray_DIMS(x), *s = PyArray_STRIDES(x), item = PyArray_ITEMSIZE(x);
  return PyArray_NDIM(x) == 4 && n[1] > 1 && n[2] > 1 && n[3] > 1 && s[1] == item && s[3] == n[1] * item &&
         s[2] == n[3] * s[3] && s[0] == n[2] * s[2];
}
static PyObject *image_array(const npy_intp *dims, int code) {
  const npy_intp item = code == NPY_FLOAT ? 4 : 8,
                 strides[4] = {dims[1] * dims[2] * dims[3] * item, item, dims[1] * dims[3] * item, dims[1] * item};
  return PyArray_New(&PyArray_Type, 4, (npy_intp *)dims, code, (npy_intp *)strides, NULL, 0, 0, NULL);
}
/* pool_windows(x, what, rank, kernel, stride, padding, dilation, ceil_mode, count_include_pad, divisor, grad): x the maximum
   and its indices, m the mean, s the gradient of the mean from `grad`, of which x has the shape; X, M and S for windows that
   share the input out to as many outputs as `kernel` says. A new array, or two; None for settings that are out of order. */
FUNCTION(pool_windows) {
  PyArrayObject *x = given == 11 ? array_at(args, 0) : NULL, *grad = given == 11 ? array_at(args, 10) : NULL;
  const int last = x && channels_last(x) && PyArray_ISALIGNED(x) && PyArray_ISNOTSWAPPED(x);
  if (!last && (!plain(x) || !PyArray_SIZE(x) || !row_major(x))) Py_RETURN_NONE;
  const int code = code_of(x), rank = (int)PyLong_AsLong(args[2]), nd = PyArray_NDIM(x), lead = nd - rank;
  if (last && (rank != 2 || !PyArray_SIZE(x) || PyArray_SIZE(x) > INT32_MAX)) Py_RETURN_NONE;
  const char letter = (char)PyUnicode_READ_CHAR(args[1], 0);
  const int adapts = letter < 'a';
  const char what = adapts ? letter + 32 : letter;
  long k[3], s[3], p[3] = {0, 0, 0}, d[3] = {1, 1, 1}, out[3];
  if ((code != NPY_FLOAT && code != NPY_DOUBLE) || sizeof(long) != 8 || rank < 1 || rank > 3 || (lead != 1 && lead != 2) ||
      !read_settings(args[3], rank, k)) {
    PyErr_Clear();
    Py_RETURN_NONE;
  }
  const npy_intp *size = PyArray_DIMS(x) + lead;
  int ceil_mode = 0, padded = 0;
  long override = 0, total = 0, all = 1;
  if (!adapts) {
    const int same = (PyTuple_CheckExact(args[4]) || PyList_CheckExact(args[4])) && !PySequence_Fast_GET_SIZE(args[4]);
    if (!(same || read_settings(args[4], rank, s)) || !read_settings(args[5], rank, p) ||
        (args[6] != Py_None && !read_settings(args[6], rank, d))) {
      PyErr_Clear();
      Py_RETURN_NONE;
    }
    if (same) memcpy(s, k, sizeof s);
    if (args[9] != Py_None) {
      override = PyLong_CheckExact(args[9]) ? PyLong_AsLong(args[9]) : 0;
      if (PyErr_Occurred()) PyErr_Clear();
      if (!override) Py_RETURN_NONE;
    }
    ceil_mode = args[7] == Py_True;
    padded = args[8] == Py_True;
  }
  for (int i = 0; i < rank; i++) {
    if (adapts)
      out[i] = k[i];
    else {
      if (k[i] < 1 || s[i] < 1 || d[i] < 1 || p[i] < 0 || p[i] > k[i] / 2 || (what != 'x' && rank == 3 && size[i] < k[i]))
        Py_RETURN_NONE;
      const long room = size[i] + 2 * p[i] - d[i] * (k[i] - 1) - 1 + (ceil_mode ? s[i] - 1 : 0);
      if (room < 0) Py_RETURN_NONE;
      out[i] = room / s[i] + 1;
      if (ceil_mode && (out[i] - 1) * s[i] >= size[i] + p[i]) out[i]--;
    }
    if (out[i] < 1) Py_RETURN_NONE;
    total += out[i];
    all *= out[i];
  }
  if (what == 's') {
    if (!grad || !(last ? PyArray_ISALIGNED(grad) && PyArray_ISNOTSWAPPED(grad) : plain(grad)) || code_of(grad) != code ||
        PyArray_NDIM(grad) != nd)
      Py_RETURN_NONE;
    for (int i = 0; i < nd; i++)
      if (PyArray_DIM(grad, i) != (i < lead ? PyArray_DIM(x, i) : out[i - lead])) Py_RETURN_NONE;
  }
  npy_intp dims[5];
  for (int i = 0; i < nd; i++) dims[i] = i < lead || what == 's' ? PyArray_DIM(x, i) : out[i - lead];
  if (last && what == 's') { /* gradients of outputs in the same order */
    npy_intp step = PyArray_ITEMSIZE(grad);
    for (int i = 0; i < 4; i++) {
      const int place = i == 0 ? 1 : i == 3 ? 0 : 4 - i;
      if (PyArray_DIM(grad, place) > 1 && PyArray_STRIDE(grad, place) != step) Py_RETURN_NONE;
      step *= PyArray_DIM(grad, place);
    }
  }
  PyObject *y = last         ? image_array(dims, code)
                : what == 's' ? PyArray_ZEROS(nd, dims, code, 0)
                              : PyArray_SimpleNew(nd, dims, code),
           *index = y && what == 'x' ? (last ? image_array(dims, NPY_LONG) : PyArray_SimpleNew(nd, dims, NPY_LONG)) : NULL;
  if (y && last && what == 's') memset(PyArray_DATA((PyArrayObject *)y), 0, (size_t)PyArray_NBYTES((PyArrayObject *)y));
  char *space = borrow((size_t)(2 * (total + 3) + all) * 8);
  if (!y || !space || (what == 'x' && !index)) {
    Py_XDECREF(y);
    Py_XDECREF(index);
    give_back(space);
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
  }
  int64_t *edge = (int64_t *)space;
  void *divisor = edge + 2 * (total + 3);
  Pooling j;
  j.what = what;
  j.p.planes = lead == 2 ? PyArray_DIM(x, 0) * PyArray_DIM(x, 1) : PyArray_DIM(x, 0);
  static int64_t zero = 0, one = 1;
  for (int i = 0; i < 3; i++) {
    const int a = i - (3 - rank);
    j.p.size[i] = a < 0 ? 1 : size[a];
    j.p.out[i] = a < 0 ? 1 : out[a];
    j.p.step[i] = a < 0 || adapts || what != 'x' ? 1 : d[a];
    if (a < 0) {
      j.p.start[i] = &zero;
      j.p.end[i] = &one;
      continue;
    }
    int64_t *start = edge, *end = edge + out[a];
    edge += 2 * out[a];
    j.p.start[i] = start;
    j.p.end[i] = end;
    for (long o = 0; o < out[a]; o++) {
      if (adapts) {
        start[o] = o * size[a] / out[a];
        end[o] = ((o + 1) * size[a] + out[a] - 1) / out[a];
        continue;
      }
      long from = o * s[a] - p[a], to = from + d[a] * (k[a] - 1) + 1;
      if (to > size[a]) to = size[a];
      if (from < 0) from += (-from + d[a] - 1) / d[a] * d[a];
      start[o] = from;
      end[o] = to;
    }
  }
  if (what != 'x') { /* what the sum of each window is divided by */
    long i = 0;
    for (long a = 0; a < j.p.out[0]; a++)
      for (long b = 0; b < j.p.out[1]; b++)
        for (long c = 0; c < j.p.out[2]; c++, i++) {
          const long at[3] = {a, b, c};
          double n = 1;
          for (int q = 3 - rank; q < 3; q++) {
            const int e = q - (3 - rank);
            long from = adapts ? 0 : at[q] * s[e] - p[e], to = adapts ? 0 : from + k[e];
            if (!adapts && padded) {
              if (to > size[e] + p[e]) to = size[e] + p[e];
              n *= (double)(to - from);
            } else
              n *= (double)(j.p.end[q][at[q]] - j.p.start[q][at[q]]);
          }
          if (override) n = (double) override;
          if (code == NPY_FLOAT)
            ((float *)divisor)[i] = (float)n;
          else
            ((double *)divisor)[i] = n;
        }
  }
  j.x = what == 's' ? PyArray_DATA((PyArrayObject *)y) : PyArray_DATA(x);
  j.y = what == 's' ? PyArray_DATA(grad) : PyArray_DATA((PyArrayObject *)y);
  j.third = what == 'x' ? PyArray_DATA((PyArrayObject *)index) : divisor;
  const long in = j.p.size[0] * j.p.size[1] * j.p.size[2];
  Part part = last ? (code == NPY_FLOAT ? last_part_float : last_part_double)
                   : (code == NPY_FLOAT ? pool_part_float : pool_part_double);
  const long most = j.p.planes * (in > all ? in : all);
  j.channels = last ? PyArray_DIM(x, 1) : 1;
  const long parts = !last ? j.p.planes : PyArray_DIM(x, 0) * (what == 's' ? 1 : j.p.out[0] * j.p.out[1]);
  if (most < 4096)
    part(&j, 0, parts);
  else {
    Py_BEGIN_ALLOW_THREADS over(part, &j, parts, most / parts + 1);
    Py_END_ALLOW_THREADS
  }
  give_back(space);
  if (what != 'x') return y;
  PyObject *made = PyTuple_Pack(2, y, index);
  Py_DECREF(y);
  Py_DECREF(index);
  return made;
}

/* pool_fractional(x, rank, kernel, output, samples): maxima of windows that start where the samples say, and their indices.
   The windows of one plane start at trunc((i + u) a) - trunc(u a) for a sample u and the mean distance a. */
#define FRACTIONAL(T)                                                                                                          \
  static void fractional_##T(const T *x, const T *u, long planes, int rank, const long *n, const long *k, const long *o, T *y, \
                             int64_t *index, long *at) {                                                                       \
    long *start[3];                                                                                                            \
    start[0] = at;                                                                                                             \
    start[1] = at + o[0];                                                                                                      \
    start[2] = start[1] + o[1];                                                                                                \
    for (long c = 0; c < planes; c++, x += n[0] * n[1] * n[2], u += rank) {                                                    \
      for (int d = 3 - rank; d < 3; d++) {                                                                                     \
        const int e = d - (3 - rank);                                                                                          \
        const T sample = u[rank == 2 ? 1 - e : e], distance = o[d] > 1 ? (T)(n[d] - k[d]) / (T)(o[d] - 1) : 0;                 \
        const long first = (long)(sample * distance);                                                                          \
        for (long i = 0; i < o[d]; i++)                                                                                        \
          start[d][i] = i == o[d] - 1 ? n[d] - k[d] : (long)(((T)i + sample) * distance) - first;                              \
      }                                                                                                                        \
      for (int d = 0; d < 3 - rank; d++) start[d][0] = 0;                                                                      \
      for (long a = 0; a < o[0]; a++)                                                                                          \
        for (long b = 0; b < o[1]; b++)                                                                                        \
          for (long e = 0; e < o[2]; e++) {                                                                                    \
            long best = (start[0][a] * n[1] + start[1][b]) * n[2] + start[2][e];                                               \
            T top = x[best];                                                                                                   \
            for (long i = 0; i < k[0] && top == top; i++)                                                                      \
              for (long j = 0; j < k[1] && top == top; j++)                                                                    \
                for (long m = 0; m < k[2]; m++) {                                                                              \
                  const long q = ((start[0][a] + i) * n[1] + start[1][b] + j) * n[2] + start[2][e] + m;                        \
                  if (x[q] > top || x[q] != x[q]) {                                                                            \
                    top = x[q];                                                                                                \
                    best = q;                                                                                                  \
                    if (top != top) break;                                                                                     \
                  }                                                                                                            \
                }                                                                                                              \
            *y++ = top;                                                                                                        \
            *index++ = best;                                                                                                   \
          }                                                                                                                    \
    }                                                                                                                          \
  }
FRACTIONAL(float) FRACTIONAL(double) FUNCTION(pool_fractional) {
  PyArrayObject *x = array_at(args, 0), *u = array_at(args, 4);
  const int rank = (int)PyLong_AsLong(args[1]);
  long kernel[3], output[3], n[3] = {1, 1, 1}, k[3] = {1, 1, 1}, o[3] = {1, 1, 1};
  if (!plain(x) || !plain(u) || !PyArray_SIZE(x) || !row_major(x) || code_of(x) != code_of(u) ||
      (code_of(x) != NPY_FLOAT && code_of(x) != NPY_DOUBLE) || (rank != 2 && rank != 3))
    Py_RETURN_NONE;
  const int nd = PyArray_NDIM(x), lead = nd - rank, code = code_of(x);
  if ((lead != 1 && lead != 2) || !read_settings(args[2], rank, kernel) || !read_settings(args[3], rank, output)) {
    PyErr_Clear();
    Py_RETURN_NONE;
  }
  const long batch = lead == 2 ? PyArray_DIM(x, 0) : 1, channels = PyArray_DIM(x, lead - 1);
  long total = 0;
  npy_intp dims[5];
  if (PyArray_NDIM(u) != 3 || PyArray_DIM(u, 0) < batch || PyArray_DIM(u, 1) != channels || PyArray_DIM(u, 2) != rank)
    Py_RETURN_NONE;
  for (int d = 0; d < rank; d++) {
    const int i = d + 3 - rank;
    n[i] = PyArray_DIM(x, lead + d);
    k[i] = kernel[d];
    o[i] = output[d];
    if (k[i] < 1 || o[i] < 1 || o[i] + k[i] - 1 > n[i] - (rank == 3)) Py_RETURN_NONE;
  }
  for (int d = 0; d < 3; d++) total += o[d];
  const long samples = batch * channels * rank; /* a sample out of [0, 1) could point anywhere */
  for (long i = 0; i < samples; i++) {
    const double v = code == NPY_FLOAT ? (double)((const float *)PyArray_DATA(u))[i] : ((const double *)PyArray_DATA(u))[i];
    if (!(v >= 0 && v <= 1)) Py_RETURN_NONE;
  }
  for (int i = 0; i < nd; i++) dims[i] = i < lead ? PyArray_DIM(x, i) : output[i - lead];
  PyObject *y = PyArray_SimpleNew(nd, dims, code), *index = y ? PyArray_SimpleNew(nd, dims, NPY_LONG) : NULL;
  long *space = borrow((size_t)total * 8);
  if (!index || !space) {
    Py_XDECREF(y);
    Py_XDECREF(index);
    give_back(space);
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
  }
  int64_t *places = PyArray_DATA((PyArrayObject *)index);
  if (code == NPY_FLOAT)
    fractional_float(PyArray_DATA(x), PyArray_DATA(u), batch * channels, rank, n, k, o, PyArray_DATA((PyArrayObject *)y),
                     places, space);
  else
    fractional_double(PyArray_DATA(x), PyArray_DATA(u), batch * channels, rank, n, k, o, PyArray_DATA((PyArrayObject *)y),
                      places, space);
  give_back(space);
  PyObject *made = PyTuple_Pack(2, y, index);
  Py_DECREF(y);
  Py_DECREF(index);
  return made;
}
