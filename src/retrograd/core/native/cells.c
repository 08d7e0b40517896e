/* Recurrent cells and attention: matrix products of the BLAS whose address is given, and between them one pass over what
   stays in cache. Measured, one thread, forward and backward, float32: LSTM 16x50x64-128 4.6 ms (op by op 24),
   attention 8x8x128x64 with a causal mask 11 ms (op by op 24). */
#include "native.h"
#include "packed.h"
#include <math.h>
#include <stdlib.h>
#define INLINE static inline __attribute__((always_inline))
typedef void (*Gemm)(void *, void *, void *, void *, void *, const void *, const void *, void *, const void *, void *,
                     const void *, void *, void *);

/* exp to 2 units in the last place, without branches, so that loops around it are vectorised */
INLINE float exp_float(float x) {
  const float c = x < -104.f ? -104.f : x > 89.f ? 89.f : x, k = __builtin_rintf(c * 1.44269504088896341f);
  const float r = (c - k * 0.693359375f) + k * 2.12194440e-4f;
  float y = 1.9875691500e-4f;
  y = y * r + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = (y * r * r + r) + 1.f;
  const int n = (int)k, half = n >> 1;
  int32_t a = (half + 127) << 23, b = (n - half + 127) << 23;
  float s, t;
  memcpy(&s, &a, 4);
  memcpy(&t, &b, 4);
  return y * s * t; /* NaN remains one */
}
/* the bits of one or the other: a choice that the compiler does not turn into a branch, which would end vectors */
INLINE float chosen(int first, float a, float b) {
  const uint32_t mask = (uint32_t)-first;
  return float_of((bits_of(a) & mask) | (bits_of(b) & ~mask));
}
INLINE double exp_double(double x) { return exp(x); }
INLINE float tanh_float(float x) { /* near 0 by its series, so that small values keep their digits */
  const float a = __builtin_fabsf(x), e = exp_float(-2.f * a), far = (1.f - e) / (1.f + e), q = x * x;
  const float near = a * (1.f + q * (-3.33331972e-1f + q * (1.33187413e-1f + q * (-5.25766304e-2f + q * 1.76949724e-2f))));
  return __builtin_copysignf(chosen(a < 0.4f, near, far), x);
}
INLINE double tanh_double(double x) { return tanh(x); }
#define T float
#define NAME(name) name##_float
#include "cells.h"
#undef T
#undef NAME
#define T double
#define NAME(name) name##_double
#include "cells.h"

static int floats(PyArrayObject *a) { return code_of(a) == NPY_FLOAT || code_of(a) == NPY_DOUBLE; }
static int match(PyArrayObject **a, int n) {
  for (int i = 0; i < n; i++)
    if (!plain(a[i]) || code_of(a[i]) != code_of(a[0]) || !floats(a[0])) return 0;
  return 1;
}

/* whether the arrays of an LSTM have the sizes that their letters say: g for all gates, s for all states, b for one step's, w
   for the weight; what does not fit is for the caller to refuse */
static int fits(PyArrayObject **a, const char *letters) {
  if (PyArray_NDIM(a[0]) != 3 || PyArray_DIM(a[0], 2) % 4) return 0;
  const npy_intp steps = PyArray_DIM(a[0], 0), batch = PyArray_DIM(a[0], 1), hidden = PyArray_DIM(a[0], 2) / 4;
  for (int i = 0; letters[i]; i++) {
    const npy_intp wanted = letters[i] == 'g'   ? steps * batch * 4 * hidden
                            : letters[i] == 's' ? steps * batch * hidden
                            : letters[i] == 'b' ? batch * hidden
                                                : 4 * hidden * hidden;
    if (PyArray_SIZE(a[i]) != wanted) return 0;
  }
  return 1;
}

/* lstm_forward(gates, h0, c0, weight, hs, cs, address of gemm): gates (steps, batch, 4 hidden) hold what the input
   contributes, and then the gates; the weight is (hidden, 4 hidden); hs and cs (steps, batch, hidden) are written */
FUNCTION(lstm_forward) {
  PyArrayObject *a[6];
  for (int i = 0; i < 6; i++) a[i] = array_at(args, i);
  if (!match(a, 6) || !fits(a, "gbbwss")) Py_RETURN_NONE;
  const long steps = PyArray_DIM(a[0], 0), batch = PyArray_DIM(a[0], 1), hidden = PyArray_DIM(a[0], 2) / 4;
  void *gemm = PyLong_AsVoidPtr(args[6]);
  Py_BEGIN_ALLOW_THREADS
#define RUN(X)                                                                                                           \
  lstm_forward_##X(steps, batch, hidden, PyArray_DATA(a[0]), PyArray_DATA(a[1]), PyArray_DATA(a[2]), PyArray_DATA(a[3]), \
                   PyArray_DATA(a[4]), PyArray_DATA(a[5]), gemm)
      if (code_of(a[0]) == NPY_FLOAT) RUN(float);
  else RUN(double);
#undef RUN
  Py_END_ALLOW_THREADS Py_RETURN_TRUE;
}
/* lstm_backward(gates, c0, cs, weight, grad of hs, dh, dc, slopes, address of gemm): dh and dc hold the gradients of the
   last states, and then those of the first; slopes (as gates) is written */
FUNCTION(lstm_backward) {
  PyArrayObject *a[8];
  for (int i = 0; i < 8; i++) a[i] = array_at(args, i);
  if (!match(a, 8) || !fits(a, "gbswsbbg")) Py_RETURN_NONE;
  const long steps = PyArray_DIM(a[0], 0), batch = PyArray_DIM(a[0], 1), hidden = PyArray_DIM(a[0], 2) / 4;
  void *gemm = PyLong_AsVoidPtr(args[8]);
  Py_BEGIN_ALLOW_THREADS
#define RUN(X)                                                                                                            \
  lstm_backward_##X(steps, batch, hidden, PyArray_DATA(a[0]), PyArray_DATA(a[1]), PyArray_DATA(a[2]), PyArray_DATA(a[3]), \
                    PyArray_DATA(a[4]), PyArray_DATA(a[5]), PyArray_DATA(a[6]), PyArray_DATA(a[7]), gemm)
      if (code_of(a[0]) == NPY_FLOAT) RUN(float);
  else RUN(double);
#undef RUN
  Py_END_ALLOW_THREADS Py_RETURN_TRUE;
}

/* ---- attention: arrays (batch, heads, positions, width) whose last dimension is contiguous; a mask to be added may have
   any strides, or be None */
static int read_heads(PyObject *o, Heads *h) {
  if (!PyArray_Check(o)) return 0;
  PyArrayObject *a = (PyArrayObject *)o;
  const long size = PyArray_ITEMSIZE(a);
  if (PyArray_NDIM(a) != 4 || !PyArray_ISALIGNED(a) || !PyArray_ISNOTSWAPPED(a) || !floats(a)) return 0;
  h->p = PyArray_BYTES(a);
  for (int d = 0; d < 4; d++) {
    h->n[d] = PyArray_DIM(a, d);
    h->s[d] = PyArray_STRIDE(a, d) / size;
  }
  return 1;
}
static int rows_of(const Heads *h) { return (h->s[3] == 1 || h->n[3] == 1) && h->s[2] >= h->n[3] && h->s[2] < 0x7fffffff; }
static void *known_gemm[2]; /* of float and double, once one was given */
static void run_attention(Attention *j, int code) {
  const Heads *h = j->h;
  j->space = (size_t)(2 * QUERIES * h[1].n[2]) * 8 + 64;
  Part part = code == NPY_FLOAT ? attention_part_float : attention_part_double;
  const long heads = h[0].n[0] * h[0].n[1];
  if (heads * h[0].n[2] * h[1].n[2] < 4096) {
    part(j, 0, heads);
    return;
  }
  Py_BEGIN_ALLOW_THREADS if (heads * 2 <= thread_count()) part(j, 0, heads);
  else over_blas(part, j, heads);
  Py_END_ALLOW_THREADS
}
static PyObject *attend(PyObject *const *args, int count, int back) {
  Attention j;
  memset(&j, 0, sizeof j);
  Heads *h = j.h; /* query key value output logsumexp | grad dq dk dv | mask */
  for (int i = 0; i < count; i++) {
    if (args[i] == Py_None && i == count - 1) break;
    if (!read_heads(args[i], &h[i == count - 1 ? 9 : i]) ||
        code_of((PyArrayObject *)args[i]) != code_of((PyArrayObject *)args[0]))
      Py_RETURN_NONE;
    if (i != 4 && i != count - 1 && !rows_of(&h[i])) Py_RETURN_NONE;
  }
  j.causal = args[count] == Py_True;
  j.back = back;
  j.scale = PyFloat_AsDouble(args[count + 1]);
  j.gemm = PyLong_AsVoidPtr(args[count + 2]);
  if (PyErr_Occurred()) return NULL;
  const int code = code_of((PyArrayObject *)args[0]);
  known_gemm[code == NPY_DOUBLE] = j.gemm;
  run_attention(&j, code);
  if (j.failed) return PyErr_NoMemory();
  Py_RETURN_TRUE;
}
/* attention_forward(query, key, value, output, logsumexp, mask, causal, scale, gemm) */
FUNCTION(attention_forward) { return attend(args, 6, 0); }
/* attention_backward(query, key, value, output, logsumexp, grad, dq, dk, dv, mask, causal, scale, gemm); dk, dv hold zeros */
FUNCTION(attention_backward) { return attend(args, 10, 1); }
/* attention(query, key, value, dropout, causal, mask, scale): the whole kernel of the op without dropout and mask, output and
   logsumexp; None for other sizes and orders, and until one of the functions above was given a gemm. Measured, 2x2x4x4: 3.4 us
   as a call of the op, 7.2 in steps of Python. */
FUNCTION(attention) {
  Attention j;
  memset(&j, 0, sizeof j);
  Heads *h = j.h;
  if (given != 7 || args[5] != Py_None || !PyFloat_CheckExact(args[3]) || PyFloat_AS_DOUBLE(args[3]) != 0) Py_RETURN_NONE;
  for (int i = 0; i < 3; i++)
    if (!read_heads(args[i], &h[i]) || !rows_of(&h[i]) || code_of((PyArrayObject *)args[i]) != code_of((PyArrayObject *)args[0]) ||
        !PyArray_SIZE((PyArrayObject *)args[i]) || h[i].n[0] != h[0].n[0] || h[i].n[1] != h[0].n[1] || h[i].n[3] != h[0].n[3])
      Py_RETURN_NONE;
  PyArrayObject *q = (PyArrayObject *)args[0];
  const int code = code_of(q);
  const npy_intp size = PyArray_ITEMSIZE(q);
  j.gemm = known_gemm[code == NPY_DOUBLE];
  if (!j.gemm || h[1].n[2] != h[2].n[2] || (args[6] != Py_None && !PyFloat_CheckExact(args[6]))) Py_RETURN_NONE;
  j.scale = args[6] == Py_None ? 1 / sqrt((double)h[0].n[3]) : PyFloat_AS_DOUBLE(args[6]);
  j.causal = args[4] == Py_True;
  /* the sums lie by query, then by head */
  npy_intp strides[3] = {h[0].n[2] * h[0].n[1] * size, size, h[0].n[1] * size};
  PyObject *output = PyArray_SimpleNew(4, PyArray_DIMS(q), code), *sums = output ? PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(code), 3, PyArray_DIMS(q), strides, NULL, 0, NULL)
                     : NULL;
  if (!sums) {
    Py_XDECREF(output);
    return NULL;
  }
  read_heads(output, &h[3]);
  h[4].p = PyArray_BYTES((PyArrayObject *)sums);
  for (int d = 0; d < 3; d++) {
    h[4].n[d] = h[0].n[d];
    h[4].s[d] = strides[d] / size;
  }
  h[4].n[3] = 1;
  run_attention(&j, code);
  PyObject *made = j.failed ? PyErr_NoMemory() : PyTuple_Pack(2, output, sums);
  Py_DECREF(output);
  Py_DECREF(sums);
  return made;
}
