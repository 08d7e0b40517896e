/* Convolution, transposed convolution and their gradients without columns in memory. A source is laid out once with zeros
   around it, so that what one place of the kernel sees in all windows is one stretch of memory: the matrix of columns is rows
   that begin at known places, and tiles of the product read them where they lie. With a stride there is one plane for each
   remainder. What a transposed convolution makes is cut by the same remainders into phases, each of which is a convolution
   with stride 1 by some places of the kernel.
   Measured, one thread, float32, forward and backward (with columns and the BLAS): conv2d of 16x32x56x56 with 7x7, stride 2,
   48 ms (76), conv_transpose2d of 4x16x32x32 with 4x4, stride 2, 2.1 ms (3.1). */
#include "native.h"
#include <math.h>
#include <stdlib.h>
#define SPAN 4   /* tiles side by side that share a tile of weights */
#define STACK 64 /* rows of the result in one block */
#define DEEP 384 /* terms of a sum before the next weights are read */
typedef struct {
  long count[3], base[3], k, at, weights;
} Phase; /* outputs base + t apart, t < count; k terms; where places and weights begin */
typedef struct {
  long batch, groups, sources, outputs; /* channels of one group */
  long size[3], step[3], before[3], rows[3], made[3], apart[3];
  long axis, strip, strips, together, channel, need, padded, phases, shares, ldy, weights_of_group;
  const void *source, *other, *bias;
  void *target, *weights, *spare;
  int32_t *at;
  Phase *phase;
  int failed;
} Plan;
typedef struct {
  Part multiply, match, add;
  void (*pack)(const Plan *, const void *, long, long, const long *);
  long wide, lanes, high, down, across;
} Way;

#define TEMPLATE "tiles.h"
#include "levels.h"
static const Way *way_for(int code) {
  const int real = code == NPY_FLOAT;
#ifdef LEVELS
  return has_v4() ? real ? &way_float_v4 : &way_double_v4 : has_v3() ? real ? &way_float_v3 : &way_double_v3 : NULL; /* by columns */
#else
  return real ? &way_float_any : &way_double_any;
#endif
}

static long floor_of(long a, long b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
static int all_finite(const void *w, long n, int code) {
  if (code == NPY_FLOAT) {
    const float *v = w;
    float s = 0;
    for (long i = 0; i < n; i++) s += v[i] * 0;
    return s == 0;
  }
  const double *v = w;
  double s = 0;
  for (long i = 0; i < n; i++) s += v[i] * 0;
  return s == 0;
}
/* How much of the source is in one piece of work: `most` bytes of it unless that is fewer than `least` columns. */
static void cut(Plan *p, const long *count, const long *reach, long most, long least, long size) {
  const long parts = p->step[0] * p->step[1] * p->step[2];
  long inner = 1;
  p->axis = count[0] > 1 ? 0 : count[1] > 1 ? 1 : 2;
  for (int d = 0; d < 3; d++)
    if (d != p->axis) inner *= p->rows[d];
  const long line = p->sources * parts * inner * size, fits = most / line - reach[p->axis], total = count[p->axis];
  long strip = (least + inner - 1) / inner, even = total * p->batch * p->groups / 32;
  if (even > fits) even = fits;
  if (strip < even) strip = even;
  p->together = 1;
  if (strip >= total) {
    strip = total;
    const long plane = inner * p->rows[p->axis];
    p->together = least / plane;
    if (p->together > p->batch) p->together = p->batch;
    if (p->together < 1) p->together = 1;
  } else {
    p->strips = (total + strip - 1) / strip;
    strip = (total + p->strips - 1) / p->strips;
    p->rows[p->axis] = strip + reach[p->axis];
  }
  p->strip = strip;
  p->strips = (total + strip - 1) / strip;
}

/* convolve_tiles(source, weight, target, settings, what, bias): what is c (target = y from source = x), s (target = x from
   source = y) or m (weight from source = x and target = y; it must hold zeros). Settings and shapes as for `convolve`; bias an
   array or None. None for what is not done. */
FUNCTION(convolve_tiles) {
  PyArrayObject *x = array_at(args, 0), *w = array_at(args, 1), *y = array_at(args, 2), *bias = array_at(args, 5);
  long v[22];
  if (!plain(x) || !plain(w) || !plain(y) || code_of(x) != code_of(w) || code_of(x) != code_of(y) || !PyTuple_Check(args[3]) ||
      PyTuple_GET_SIZE(args[3]) != 22)
    Py_RETURN_NONE;
  for (int i = 0; i < 22; i++) v[i] = PyLong_AsLong(PyTuple_GET_ITEM(args[3], i));
  if (PyErr_Occurred()) {
    PyErr_Clear();
    Py_RETURN_NONE;
  }
  const long *in = v + 4, *kernel = v + 7, *stride = v + 10, *padding = v + 13, *dilation = v + 16, *out = v + 19,
             groups = v[3], ci = v[1] / groups, co = v[2] / groups, taps = kernel[0] * kernel[1] * kernel[2];
  const int code = code_of(x);
  const char what = (char)PyUnicode_READ_CHAR(args[4], 0);
  const long size = PyArray_ITEMSIZE(x);
  if ((code != NPY_FLOAT && code != NPY_DOUBLE) || PyArray_SIZE(w) != groups * co * ci * taps ||
      PyArray_SIZE(what == 's' ? y : x) != v[0] * v[1] * in[0] * in[1] * in[2] ||
      PyArray_SIZE(what == 's' ? x : y) != v[0] * v[2] * out[0] * out[1] * out[2])
    Py_RETURN_NONE;
  if (bias && (!plain(bias) || code_of(bias) != code || PyArray_SIZE(bias) != (what == 's' ? v[1] : v[2]))) Py_RETURN_NONE;
  const Way *way = way_for(code);
  if (!way) Py_RETURN_NONE;
  const int back = what == 's';
  Plan p = {.batch = v[0], .groups = groups, .sources = back ? co : ci, .outputs = back ? ci : co};
  long phases = 1;
  for (int d = 0; d < 3; d++) {
    p.size[d] = back ? out[d] : in[d];
    p.made[d] = back ? in[d] : out[d];
    p.step[d] = back ? 1 : stride[d];
    p.apart[d] = back ? stride[d] : 1;
    phases *= p.apart[d];
  }
  if (phases > 64 || taps * (back ? co : ci) > 1L << 24 || (back && !all_finite(PyArray_DATA(w), PyArray_SIZE(w), code)))
    Py_RETURN_NONE;
  /* where a place k of the kernel looks: output t sees source t * step + look[d][k]; in phase r those with a remainder */
  long reach[3], most[3], total = 0;
  for (int d = 0; d < 3; d++) {
    long low = 0, high = 0;
    most[d] = (p.made[d] + p.apart[d] - 1) / p.apart[d];
    for (long r = 0; r < p.apart[d]; r++)
      for (long k = 0; k < kernel[d]; k++) {
        long look;
        if (back) {
          if ((r + padding[d] - k * dilation[d]) % stride[d]) continue;
          look = (r + padding[d] - k * dilation[d]) / stride[d];
        } else
          look = k * dilation[d] - padding[d];
        const long count = (p.made[d] - r + p.apart[d] - 1) / p.apart[d],
                   end = look + (count - 1) * p.step[d] - (p.size[d] - 1);
        if (look < low) low = look;
        if (end > high) high = end;
      }
    p.before[d] = -low;
    const long after = high;
    reach[d] = 0;
    for (long r = 0; r < p.apart[d]; r++)
      for (long k = 0; k < kernel[d]; k++) {
        long look;
        if (back) {
          if ((r + padding[d] - k * dilation[d]) % stride[d]) continue;
          look = (r + padding[d] - k * dilation[d]) / stride[d];
        } else
          look = k * dilation[d] - padding[d];
        const long far = (look + p.before[d]) / p.step[d];
        if (far > reach[d]) reach[d] = far;
      }
    p.rows[d] = p.step[d] == 1 ? p.size[d] + (p.before[d] > after ? p.before[d] : after)
                               : (p.before[d] + p.size[d] + after + p.step[d] - 1) / p.step[d];
    if (p.rows[d] < most[d]) p.rows[d] = most[d];
  } /* no two outputs in one column */
  if (what == 'm')
    cut(&p, most, reach, 384L << 10, 1024, size);
  else
    cut(&p, most, reach, 256L << 10, SPAN * way->wide, size);
  const long parts = p.step[0] * p.step[1] * p.step[2], plane = p.rows[0] * p.rows[1] * p.rows[2];
  p.channel = parts * p.together * plane;
  /* the phases: their places and weights */
  const long terms = p.sources * taps;
  long *listed = malloc((size_t)(phases + taps) * sizeof(long) + 64), *list = listed;
  p.phase = malloc((size_t)phases * sizeof(Phase));
  p.at = malloc((size_t)(terms + 16) * sizeof(int32_t));
  const long tail = p.outputs % way->high;
  p.padded = p.outputs - tail + (tail == 0 ? 0 : tail <= way->high / 2 ? way->high / 2 : way->high);
  if (!listed || !p.phase || !p.at) {
    free(listed);
    free(p.phase);
    free(p.at);
    return PyErr_NoMemory();
  }
  long r[3], far = 0;
  p.phases = phases;
  for (long f = 0, place = 0, weights = 0; f < phases; f++) {
    Phase *h = p.phase + f;
    r[0] = f / (p.apart[1] * p.apart[2]);
    r[1] = f / p.apart[2] % p.apart[1];
    r[2] = f % p.apart[2];
    long *count = list++;
    *count = 0;
    for (int d = 0; d < 3; d++) {
      h->base[d] = r[d];
      h->count[d] = p.made[d] > r[d] ? (p.made[d] - r[d] + p.apart[d] - 1) / p.apart[d] : 0;
    }
    long at[3];
    int32_t *to = p.at + place;
    for (long k0 = 0; k0 < kernel[0]; k0++)
      for (long k1 = 0; k1 < kernel[1]; k1++)
        for (long k2 = 0; k2 < kernel[2]; k2++) {
          const long k[3] = {k0, k1, k2};
          int seen = 1;
          for (int d = 0; d < 3 && seen; d++) {
            const long value = back ? r[d] + padding[d] - k[d] * dilation[d] : k[d] * dilation[d] - padding[d];
            if (back && floor_of(value, stride[d]) * stride[d] != value) seen = 0;
            at[d] = (back ? floor_of(value, stride[d]) : value) + p.before[d];
          }
          if (!seen) continue;
          const long part = ((at[0] % p.step[0]) * p.step[1] + at[1] % p.step[1]) * p.step[2] + at[2] % p.step[2];
          to[*count] = (int32_t)(part * p.together * plane + ((at[0] / p.step[0]) * p.rows[1] + at[1] / p.step[1]) * p.rows[2] +
                                 at[2] / p.step[2]);
          list[(*count)++] = (k0 * kernel[1] + k1) * kernel[2] + k2;
        }
    for (long c = p.sources - 1; c >= 0; c--)
      for (long i = *count - 1; i >= 0; i--) {
        to[c * *count + i] = (int32_t)(to[i] + c * p.channel);
        if (to[c * *count + i] > far) far = to[c * *count + i];
      }
    h->k = p.sources * *count;
    h->at = place;
    h->weights = weights;
    place += h->k;
    weights += groups * h->k * p.padded;
    list += *count;
    total = weights;
  }
  memset(p.at + terms, 0, 16 * sizeof(int32_t));
  const long columns = p.together * plane;
  p.ldy = (columns + way->lanes - 1) / way->lanes * way->lanes;
  p.need = far + p.ldy + way->wide + 16;
  if (p.need < p.sources * p.channel) p.need = p.sources * p.channel;
  p.need = (p.need + 63) / 64 * 64;
  const long sets = (p.batch + p.together - 1) / p.together, weights = groups * p.outputs * p.phase->k;
  PyObject *answer = Py_True;
  p.source = PyArray_DATA(x);
  p.shares = 1;
  p.bias = bias ? PyArray_DATA(bias) : NULL;
  p.weights_of_group = co * ci * taps;
  if (p.sources * p.channel >= 0x7fffffff || p.need >= 0x7fffffff)
    answer = Py_None;
  else if (what == 'm') {
    const long items = sets * p.strips, few = (PyArray_SIZE(x) + PyArray_SIZE(y)) / (2 * weights) + 1;
    p.other = PyArray_DATA(y);
    p.target = PyArray_DATA(w);
    p.shares = items < 16 ? items : 16;
    if (p.shares > few) p.shares = few;
    p.shares = (items + (items + p.shares - 1) / p.shares - 1) / ((items + p.shares - 1) / p.shares);
    if (p.shares > 1 && !(p.spare = calloc((size_t)((p.shares - 1) * weights), (size_t)size)))
      p.failed = 1;
    else {
      Py_BEGIN_ALLOW_THREADS over(way->match, &p, p.shares * groups, 2 * GRAIN);
      if (p.shares > 1 && !p.failed) over(way->add, &p, weights, p.shares);
      Py_END_ALLOW_THREADS if (!all_finite(p.target, weights, code)) answer = Py_None;
    }
  } /* no number times a zero between two rows */
  else {
    p.target = PyArray_DATA(y);
    if (!(p.weights = borrow((size_t)(total + 64) * (size_t)size)))
      p.failed = 1;
    else {
      const long count = sets * p.strips * groups;
      Py_BEGIN_ALLOW_THREADS way->pack(&p, PyArray_DATA(w), back ? ci * taps : taps, back ? taps : ci * taps, listed);
      if (PyArray_SIZE(y) * terms < 65536)
        way->multiply(&p, 0, count);
      else
        over(way->multiply, &p, count, 2 * GRAIN);
      Py_END_ALLOW_THREADS
    }
  }
  give_back(p.weights);
  free(p.spare);
  free(listed);
  free(p.phase);
  free(p.at);
  if (p.failed) return PyErr_NoMemory();
  return Py_NewRef(answer);
}
