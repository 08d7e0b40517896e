/* Convolutions of few elements in direct loops: whole kernels of ops, forward only. Sums are in double precision.
   Measured, 3 filters of 2x2 over 1x2x4x4 float32: 0.9 us as a call of the op, 12 us by columns and a matrix product. */
#include "small.h"
#define MOST 4096 /* products */
typedef struct {
  long batch, in, out, groups, size[3], kernel[3], stride[3], pad[3], dilation[3], made[3];
  int transposed;
} Conv;
#define CORRELATE(T)                                                                                      \
  {                                                                                                       \
    const T *x = PyArray_DATA(input), *w = PyArray_DATA(weight), *b = bias ? PyArray_DATA(bias) : NULL;   \
    T *y = PyArray_DATA(made);                                                                            \
    for (long n = 0; n < c->batch; n++)                                                                   \
      for (long o = 0; o < c->out; o++) {                                                                 \
        const T *from = x + (n * c->in + o / (c->out / c->groups) * per) * area, *f = w + o * per * taps; \
        const double start = b ? b[o] : 0;                                                                \
        for (long i = 0; i < c->made[0]; i++)                                                             \
          for (long j = 0; j < c->made[1]; j++)                                                           \
            for (long k = 0; k < c->made[2]; k++) {                                                       \
              double sum = start;                                                                         \
              for (long u = 0; u < c->kernel[0]; u++) {                                                   \
                const long a = i * c->stride[0] - c->pad[0] + u * c->dilation[0];                         \
                if (a < 0 || a >= c->size[0]) continue;                                                   \
                for (long v = 0; v < c->kernel[1]; v++) {                                                 \
                  const long e = j * c->stride[1] - c->pad[1] + v * c->dilation[1];                       \
                  if (e < 0 || e >= c->size[1]) continue;                                                 \
                  for (long t = 0; t < c->kernel[2]; t++) {                                               \
                    const long g = k * c->stride[2] - c->pad[2] + t * c->dilation[2];                     \
                    if (g < 0 || g >= c->size[2]) continue;                                               \
                    const T *p = from + (a * c->size[1] + e) * c->size[2] + g,                            \
                            *q = f + (u * c->kernel[1] + v) * c->kernel[2] + t;                           \
                    for (long s = 0; s < per; s++) sum += (double)p[s * area] * (double)q[s * taps];      \
                  }                                                                                       \
                }                                                                                         \
              }                                                                                           \
              *y++ = (T)sum;                                                                              \
            }                                                                                             \
      }                                                                                                   \
  }
/* transposed: each output gathers the inputs whose windows it lies in */
#define SPREAD(T)                                                                                                \
  {                                                                                                              \
    const T *x = PyArray_DATA(input), *w = PyArray_DATA(weight), *b = bias ? PyArray_DATA(bias) : NULL;          \
    T *y = PyArray_DATA(made);                                                                                   \
    const long each = c->in / c->groups, mine = c->out / c->groups;                                              \
    for (long n = 0; n < c->batch; n++)                                                                          \
      for (long o = 0; o < c->out; o++) {                                                                        \
        const long group = o / mine;                                                                             \
        const T *from = x + (n * c->in + group * each) * area, *f = w + (group * each * mine + o % mine) * taps; \
        const double start = b ? b[o] : 0;                                                                       \
        for (long i = 0; i < c->made[0]; i++)                                                                    \
          for (long j = 0; j < c->made[1]; j++)                                                                  \
            for (long k = 0; k < c->made[2]; k++) {                                                              \
              double sum = start;                                                                                \
              for (long u = 0; u < c->kernel[0]; u++) {                                                          \
                long a = i + c->pad[0] - u * c->dilation[0];                                                     \
                if (a < 0 || a % c->stride[0] || (a /= c->stride[0]) >= c->size[0]) continue;                    \
                for (long v = 0; v < c->kernel[1]; v++) {                                                        \
                  long e = j + c->pad[1] - v * c->dilation[1];                                                   \
                  if (e < 0 || e % c->stride[1] || (e /= c->stride[1]) >= c->size[1]) continue;                  \
                  for (long t = 0; t < c->kernel[2]; t++) {                                                      \
                    long g = k + c->pad[2] - t * c->dilation[2];                                                 \
                    if (g < 0 || g % c->stride[2] || (g /= c->stride[2]) >= c->size[2]) continue;                \
                    const T *p = from + (a * c->size[1] + e) * c->size[2] + g,                                   \
                            *q = f + (u * c->kernel[1] + v) * c->kernel[2] + t;                                  \
                    for (long s = 0; s < each; s++) sum += (double)p[s * area] * (double)q[s * mine * taps];     \
                  }                                                                                              \
                }                                                                                                \
              }                                                                                                  \
              *y++ = (T)sum;                                                                                     \
            }                                                                                                    \
      }                                                                                                          \
  }
/* Settings come as Python values; `before` and `after` differ where padding keeps a size and is uneven. NULL in `padding`:
 * "same". */
static PyObject *convolved(PyObject *const *args, int rank, PyObject *stride, PyObject *padding, PyObject *dilation,
                           PyObject *extra, PyObject *groups, int transposed) {
  PyArrayObject *input = array_at(args, 0), *weight = array_at(args, 1), *bias = args[2] == Py_None ? NULL : array_at(args, 2);
  Conv made_of, *c = &made_of;
  long s[3], p[3], d[3], e[3] = {0};
  int same = 0;
  if (!plain(input) || !plain(weight) || (args[2] != Py_None && !plain(bias)) || !is_real_code(code_of(input)) ||
      code_of(weight) != code_of(input) || (bias && code_of(bias) != code_of(input)))
    Py_RETURN_NONE;
  if (!rank) rank = PyArray_NDIM(weight) - 2;
  const int nd = PyArray_NDIM(input), lead = nd - rank;
  if (rank < 1 || rank > 3 || PyArray_NDIM(weight) != rank + 2 || lead != 2)
    Py_RETURN_NONE; /* without a batch, the result is a view */
  if (!settings_of(stride, s, rank, 1) || !settings_of(dilation, d, rank, 1) || (extra && !settings_of(extra, e, rank, 0)) ||
      !PyLong_CheckExact(groups))
    Py_RETURN_NONE;
  if (PyUnicode_Check(padding)) {
    same = !PyUnicode_CompareWithASCIIString(padding, "same");
    if (!same && PyUnicode_CompareWithASCIIString(padding, "valid")) Py_RETURN_NONE;
    for (int i = 0; i < rank; i++) {
      p[i] = same ? d[i] * (PyArray_DIM(weight, 2 + i) - 1) / 2 : 0;
      if (same && s[i] != 1) Py_RETURN_NONE;
    }
  } else if (!settings_of(padding, p, rank, 0))
    Py_RETURN_NONE;
  c->groups = PyLong_AsLong(groups);
  c->transposed = transposed;
  c->batch = lead == 2 ? PyArray_DIM(input, 0) : 1;
  c->in = PyArray_DIM(input, lead - 1);
  if (PyErr_Occurred()) {
    PyErr_Clear();
    Py_RETURN_NONE;
  }
  const long first = PyArray_DIM(weight, 0), second = PyArray_DIM(weight, 1);
  if (c->groups < 1 || first < 1 || second < 1 || first % c->groups) Py_RETURN_NONE;
  c->out = transposed ? second * c->groups : first;
  if (transposed ? c->in != first : c->in != second * c->groups) Py_RETURN_NONE;
  if (bias && (PyArray_NDIM(bias) != 1 || PyArray_DIM(bias, 0) != c->out)) Py_RETURN_NONE;
  long area = 1, taps = 1, result = 1;
  const long per = c->in / c->groups;
  npy_intp dims[5];
  if (lead == 2) dims[0] = c->batch;
  dims[lead - 1] = c->out;
  for (int i = 0; i < 3; i++) {
    c->size[i] = c->kernel[i] = c->stride[i] = c->dilation[i] = c->made[i] = 1;
    c->pad[i] = 0;
  }
  for (int i = 0; i < rank; i++) {
    const int k = 3 - rank + i;
    c->size[k] = PyArray_DIM(input, lead + i);
    c->kernel[k] = PyArray_DIM(weight, 2 + i);
    c->stride[k] = s[i];
    c->pad[k] = p[i];
    c->dilation[k] = d[i];
    const long reach = d[i] * (c->kernel[k] - 1);
    if (c->size[k] < 1 || c->kernel[k] < 1) Py_RETURN_NONE;
    if (transposed) {
      if (e[i] >= s[i] && e[i] >= d[i]) Py_RETURN_NONE;
      c->made[k] = (c->size[k] - 1) * s[i] - 2 * p[i] + reach + e[i] + 1;
    } else {
      if (!same && c->size[k] + 2 * p[i] <= reach) Py_RETURN_NONE;
      c->made[k] = same ? c->size[k] : (c->size[k] + 2 * p[i] - reach - 1) / s[i] + 1;
    }
    if (c->made[k] < 1 || c->made[k] > MOST) Py_RETURN_NONE;
    area *= c->size[k];
    taps *= c->kernel[k];
    result *= c->made[k];
    dims[lead + i] = c->made[k];
  }
  if (c->batch < 1 || area > MOST || taps > MOST || result > MOST || c->batch > MOST || c->out > MOST ||
      result * c->out > MOST || result * c->out * c->batch > MOST || result * c->out * c->batch * per * taps > MOST)
    Py_RETURN_NONE;
  if (!transposed && (c->pad[0] || c->pad[1] || c->pad[2] ||
                      same)) { /* where padding meets a weight that is infinite or no number, the product is none */
    const long n = PyArray_SIZE(weight);
    const float *f = PyArray_DATA(weight);
    const double *g = PyArray_DATA(weight);
    for (long i = 0; i < n; i++) {
      const double v = code_of(weight) == NPY_FLOAT ? (double)f[i] : g[i];
      if (!(v - v == 0)) Py_RETURN_NONE;
    }
  }
  PyArrayObject *made = new_of(input, nd, dims);
  if (!made) return NULL;
  if (transposed) {
    if (code_of(input) == NPY_FLOAT) SPREAD(float) else SPREAD(double)
  } else {
    if (code_of(input) == NPY_FLOAT) CORRELATE(float) else CORRELATE(double)
  }
  return (PyObject *)made;
}

/* convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups): with a batch */
FUNCTION(convolution) {
  PyArrayObject *x = given == 9 ? array_at(args, 0) : NULL, *w = x ? array_at(args, 1) : NULL;
  if (!w || PyArray_NDIM(x) != PyArray_NDIM(w)) Py_RETURN_NONE;
  return convolved(args, 0, args[3], args[4], args[5], args[7], args[8], args[6] == Py_True);
}
/* conv1d(input, weight, bias, stride, padding, dilation, groups) and so on; padding may be a word */
#define PLAIN(rank)                                                            \
  FUNCTION(conv##rank##d) {                                                    \
    if (given != 7) Py_RETURN_NONE;                                            \
    return convolved(args, rank, args[3], args[4], args[5], NULL, args[6], 0); \
  }
PLAIN(1)
PLAIN(2)
PLAIN(3)
/* conv_transpose1d(input, weight, bias, stride, padding, output_padding, groups, dilation) */
#define TURNED(rank)                                                              \
  FUNCTION(conv_transpose##rank##d) {                                             \
    if (given != 8) Py_RETURN_NONE;                                               \
    return convolved(args, rank, args[3], args[4], args[7], args[5], args[6], 1); \
  }
    TURNED(1) TURNED(2) TURNED(3)
