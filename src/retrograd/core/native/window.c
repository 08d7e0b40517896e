/* Convolution, pooling, and images as columns. The matrix products are those of the BLAS whose address is given.
   Measured, one thread, forward and backward, float32: conv2d 16x32x32x32 k3 to 64 channels 20 ms (with NumPy's strided
   copies 39), depthwise 2.4 ms (19), max_pool2d of 16x32x64x64 9 ms (42), avg_pool2d 7 ms (22). */
#include "native.h"
#include <stdlib.h>
typedef void (*Gemm)(void *, void *, void *, void *, void *, const void *, const void *, void *, const void *, void *, const void *, void *, void *);
#define MOST_TAPS 64
typedef struct {
  long batch, channels, outputs, groups, size[3], kernel[3], stride[3], padding[3], dilation[3], out[3];
  long together;                                /* images in one matrix product */
  long first[MOST_TAPS], last[MOST_TAPS];       /* the outputs that each place of the kernel sees inside of the image */
} Window;
typedef struct { long planes, size[3], out[3], step[3]; const int64_t *start[3], *end[3]; } Boxes;
typedef struct { Window g; char what; void *x, *w, *y, *shares, *gemm; long space, images, weights, count; int failed; } Convolution;
typedef struct { Boxes p; char what; void *x, *y, *third; } Pooling;
typedef struct { Window g; void *x, *c; int back; } Columns;

static void range_of(const Window *g, int d, long k, long *first, long *last) {
  const long shift = g->padding[d] - k * g->dilation[d], s = g->stride[d], top = g->size[d] - 1 + shift;
  long a = shift > 0 ? (shift + s - 1) / s : 0, b = top < 0 ? 0 : top / s + 1;
  if (b > g->out[d]) b = g->out[d];
  if (a > b) a = b;
  *first = a; *last = b; }
static int plain_window(const Window *g) {
  for (int d = 0; d < 3; d++) if (g->kernel[d] != 1 || g->stride[d] != 1 || g->padding[d]) return 0;
  return 1; }
#define T float
#include "window.h"
#undef T
#define T double
#include "window.h"
#undef T

/* The settings: (batch, channels, outputs, groups, *size, *kernel, *stride, *padding, *dilation, *out), each of three. */
static int read_window(PyObject *o, Window *g) {
  if (!PyTuple_Check(o) || PyTuple_GET_SIZE(o) != 22) return 0;
  long *to = &g->batch; for (int i = 0; i < 22; i++) to[i] = PyLong_AsLong(PyTuple_GET_ITEM(o, i));
  if (PyErr_Occurred() || g->kernel[2] > MOST_TAPS) return 0;
  for (long k = 0; k < g->kernel[2]; k++) range_of(g, 2, k, &g->first[k], &g->last[k]);
  return 1; }
static long taps(const Window *g) { return g->kernel[0] * g->kernel[1] * g->kernel[2]; }
static long outs(const Window *g) { return g->out[0] * g->out[1] * g->out[2]; }
static long ins(const Window *g) { return g->size[0] * g->size[1] * g->size[2]; }

/* convolve(x, weight, y, settings, address of gemm, what): what is c (y from x and weight), s (x from weight and y) or m
   (weight from x and y); what is made must hold zeros */
FUNCTION(convolve) {
  PyArrayObject *x = array_at(args, 0), *w = array_at(args, 1), *y = array_at(args, 2); Window g;
  if (!plain(x) || !plain(w) || !plain(y) || code_of(x) != code_of(w) || code_of(x) != code_of(y) || !read_window(args[3], &g)) { PyErr_Clear(); Py_RETURN_NONE; }
  const int code = code_of(x); const char what = (char)PyUnicode_READ_CHAR(args[5], 0); void *gemm = PyLong_AsVoidPtr(args[4]);
  if (code != NPY_FLOAT && code != NPY_DOUBLE) Py_RETURN_NONE;
  const long k = g.channels / g.groups * taps(&g);
  if (k > 0x7fffffff || outs(&g) > 0x7fffffff || PyArray_SIZE(x) != g.batch * g.channels * ins(&g) || PyArray_SIZE(y) != g.batch * g.outputs * outs(&g)
      || PyArray_SIZE(w) != g.outputs * k) Py_RETURN_NONE;
  /* matrices of about 512 columns, as long as they stay in cache */
  const long out = outs(&g), most = (1L << 20) / (k * out + 1) + 1, wanted = 512 / out;
  g.together = wanted < most ? wanted : most; if (g.together > g.batch) g.together = g.batch; if (g.together < 1) g.together = 1;
  const int single = g.channels == g.groups, bare = plain_window(&g) && g.together == 1 && !single;
  long space = bare ? 0 : (k + g.outputs) * g.together * out;
  if (single) {                                   /* two planes with padding around them, in whole blocks */
    const long high = (g.size[1] > g.out[1] ? g.size[1] : g.out[1]) + g.dilation[1] * g.kernel[1] + 2 * g.padding[1];
    const long wide = (g.size[2] > g.out[2] ? g.size[2] : g.out[2]) + g.dilation[2] * g.kernel[2] + 2 * g.padding[2] + 32;
    space += 2 * high * wide; }
  /* pieces: images that share a product; at most 16 shares of the gradient of a weight, as long as those are small */
  const long weights = PyArray_SIZE(w), size = PyArray_ITEMSIZE(x), sets = (g.batch + g.together - 1) / g.together; long shares = sets;
  if (what == 'm') { const long most = (PyArray_SIZE(x) + PyArray_SIZE(y)) / (2 * weights) + 1; shares = sets < 16 ? sets : 16; if (shares > most) shares = most; }
  else if (shares * g.groups > 64) shares = 64 / g.groups + 1;
  Convolution c = {g, what, PyArray_DATA(x), PyArray_DATA(w), PyArray_DATA(y), NULL, gemm, space, (sets + shares - 1) / shares * g.together, weights, 0, 0};
  c.count = (g.batch + c.images - 1) / c.images;
  if (what == 'm' && c.count > 1 && !(c.shares = calloc((size_t)((c.count - 1) * weights), (size_t)size))) return PyErr_NoMemory();
  const int few = c.count * g.groups * 2 <= thread_count() && !single;          /* large images: the matrix products use the threads */
  Part part = code == NPY_FLOAT ? convolve_part_float : convolve_part_double;
  Py_BEGIN_ALLOW_THREADS
  if (few || PyArray_SIZE(y) * k < 65536) part(&c, 0, c.count * g.groups); else over_blas(part, &c, c.count * g.groups);
  if (c.shares) over(code == NPY_FLOAT ? add_shares_float : add_shares_double, &c, weights, c.count);
  Py_END_ALLOW_THREADS
  free(c.shares); if (c.failed) return PyErr_NoMemory();
  Py_RETURN_TRUE; }

/* unfold(x, columns, settings), fold(columns, x, settings): for each image of the batch; fold adds to x */
static PyObject *columns_of(PyObject *const *args, int back) {
  PyArrayObject *x = array_at(args, back), *c = array_at(args, !back); Window g;
  if (!plain(x) || !plain(c) || code_of(x) != code_of(c) || !read_window(args[2], &g)) { PyErr_Clear(); Py_RETURN_NONE; }
  const int code = code_of(x); const long in = g.channels * ins(&g), out = g.channels * taps(&g) * outs(&g);
  if ((code != NPY_FLOAT && code != NPY_DOUBLE) || PyArray_SIZE(x) != g.batch * in || PyArray_SIZE(c) != g.batch * out) Py_RETURN_NONE;
  Columns j = {g, PyArray_DATA(x), PyArray_DATA(c), back};
  Py_BEGIN_ALLOW_THREADS
  over(code == NPY_FLOAT ? columns_part_float : columns_part_double, &j, g.batch * g.channels, taps(&g) * outs(&g));
  Py_END_ALLOW_THREADS
  Py_RETURN_TRUE; }
FUNCTION(unfold) { return columns_of(args, 0); }
FUNCTION(fold) { return columns_of(args, 1); }

/* pool(x, y, third, (planes, *size, *out, *step), (starts, ends) of each dimension, what): what is x (maximum, with
   indices third), m (mean, divided by third) or s (each y divided by third and shared out to x) */
FUNCTION(pool) {
  PyArrayObject *x = array_at(args, 0), *y = array_at(args, 1), *third = array_at(args, 2); Boxes p; const char what = (char)PyUnicode_READ_CHAR(args[5], 0);
  if (!plain(x) || !plain(y) || !plain(third) || code_of(x) != code_of(y) || !PyTuple_Check(args[3]) || PyTuple_GET_SIZE(args[3]) != 10) Py_RETURN_NONE;
  const int code = code_of(x); if (code != NPY_FLOAT && code != NPY_DOUBLE) Py_RETURN_NONE;
  if (what == 'x' ? code_of(third) != NPY_LONG || sizeof(long) != 8 : code_of(third) != code) Py_RETURN_NONE;
  long *to = &p.planes; for (int i = 0; i < 10; i++) to[i] = PyLong_AsLong(PyTuple_GET_ITEM(args[3], i));
  if (PyErr_Occurred()) return NULL;
  for (int d = 0; d < 3; d++) {
    PyArrayObject *b = (PyArrayObject *)PyTuple_GET_ITEM(args[4], 2 * d), *e = (PyArrayObject *)PyTuple_GET_ITEM(args[4], 2 * d + 1);
    if (!plain(b) || !plain(e) || code_of(b) != NPY_LONG || code_of(e) != NPY_LONG || PyArray_SIZE(b) != p.out[d] || PyArray_SIZE(e) != p.out[d]) Py_RETURN_NONE;
    p.start[d] = PyArray_DATA(b); p.end[d] = PyArray_DATA(e); }
  Pooling j = {p, what, PyArray_DATA(x), PyArray_DATA(y), PyArray_DATA(third)}; const long in = p.size[0] * p.size[1] * p.size[2], out = p.out[0] * p.out[1] * p.out[2];
  Py_BEGIN_ALLOW_THREADS
  over(code == NPY_FLOAT ? pool_part_float : pool_part_double, &j, p.planes, in > out ? in : out);
  Py_END_ALLOW_THREADS
  Py_RETURN_TRUE; }
