/* Connectionist temporal classification: the two passes over the trellis of each example. See ops/loss/ctc.py.
   Measured, one thread, forward and backward, 50 frames of 64 classes, 4 examples: 0.4 ms (with NumPy 6). */
#include "native.h"
#include <math.h>
typedef struct {
  long frames, batch, classes, width;
  int64_t blank;
  int zero_infinity, failed;
  const int64_t *targets, *starts, *lengths, *counts;
  const void *log_probs, *grad;
  void *loss, *alpha, *out;
} Ctc;
#define T float
#include "ctc.h"
#undef T
#define T double
#include "ctc.h"
#undef T
/* ctc(log_probs, targets, starts, lengths, counts, blank, loss, alpha[, grad, zero_infinity, out]): loss and alpha are
   written, or with a gradient read, and out is. Targets are int64, and within range. */
FUNCTION(ctc) {
  PyArrayObject *p = array_at(args, 0), *whole[4], *loss = array_at(args, 6), *alpha = array_at(args, 7),
                *grad = given > 8 ? array_at(args, 8) : NULL, *out = given > 8 ? array_at(args, 10) : NULL;
  Ctc j = {.failed = 0};
  if (!plain(p) || PyArray_NDIM(p) != 3 || !plain(loss) || !plain(alpha) ||
      (given > 8 && (!plain(grad) || !plain(out) || code_of(grad) != code_of(p) || code_of(out) != code_of(p) ||
                     PyArray_SIZE(out) != PyArray_SIZE(p))))
    Py_RETURN_NONE;
  const int code = code_of(p);
  if ((code != NPY_FLOAT && code != NPY_DOUBLE) || code_of(loss) != code || code_of(alpha) != code || PyArray_NDIM(alpha) != 3)
    Py_RETURN_NONE;
  j.frames = PyArray_DIM(p, 0);
  j.batch = PyArray_DIM(p, 1);
  j.classes = PyArray_DIM(p, 2);
  j.width = PyArray_DIM(alpha, 2);
  for (int i = 0; i < 4; i++) {
    whole[i] = array_at(args, 1 + i);
    if (!plain(whole[i]) || code_of(whole[i]) != NPY_LONG || (i && PyArray_SIZE(whole[i]) != j.batch)) Py_RETURN_NONE;
  }
  if (PyArray_DIM(alpha, 0) != j.batch || PyArray_DIM(alpha, 1) != j.frames || PyArray_SIZE(loss) != j.batch ||
      (grad && PyArray_SIZE(grad) != j.batch))
    Py_RETURN_NONE;
  j.targets = PyArray_DATA(whole[0]);
  j.starts = PyArray_DATA(whole[1]);
  j.lengths = PyArray_DATA(whole[2]);
  j.counts = PyArray_DATA(whole[3]);
  j.blank = PyLong_AsLong(args[5]);
  if (PyErr_Occurred()) return NULL;
  for (long b = 0; b < j.batch; b++) {
    if (j.counts[b] < 0 || 2 * j.counts[b] + 1 > j.width || j.lengths[b] < 0 || j.lengths[b] > j.frames || j.starts[b] < 0 ||
        j.starts[b] + j.counts[b] > PyArray_SIZE(whole[0]))
      Py_RETURN_NONE;
    for (long s = 0; s < j.counts[b]; s++) {
      const int64_t label = j.targets[j.starts[b] + s];
      if (label < 0 || label >= j.classes) Py_RETURN_NONE;
    }
  }
  j.log_probs = PyArray_DATA(p);
  j.loss = PyArray_DATA(loss);
  j.alpha = PyArray_DATA(alpha);
  j.grad = grad ? PyArray_DATA(grad) : NULL;
  j.out = out ? PyArray_DATA(out) : NULL;
  j.zero_infinity = given > 9 && args[9] == Py_True;
  Py_BEGIN_ALLOW_THREADS over(code == NPY_FLOAT ? ctc_part_float : ctc_part_double, &j, j.batch,
                              j.frames * (j.width * 24 + j.classes * 4));
  Py_END_ALLOW_THREADS if (j.failed) return PyErr_NoMemory();
  Py_RETURN_TRUE;
}

/* ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity): a whole kernel, losses and the first pass
 */
#define MOST 256
static int lengths_of(PyObject *o, long batch, int64_t *to) { /* ints, or one dimension of them */
  if (PyArray_Check(o)) {
    PyArrayObject *a = (PyArrayObject *)o;
    if (!plain(a) || code_of(a) != NPY_LONG || PyArray_NDIM(a) != 1 || PyArray_DIM(a, 0) != batch) return 0;
    memcpy(to, PyArray_DATA(a), (size_t)batch * 8);
    return 1;
  }
  if ((!PyTuple_CheckExact(o) && !PyList_CheckExact(o)) || PySequence_Fast_GET_SIZE(o) != batch) return 0;
  for (long b = 0; b < batch; b++) {
    PyObject *v = PySequence_Fast_GET_ITEM(o, b);
    if (!PyLong_CheckExact(v)) return 0;
    to[b] = PyLong_AsLong(v);
    if (to[b] == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      return 0;
    }
  }
  return 1;
}
FUNCTION(ctc_loss) {
  PyArrayObject *p = given == 6 && PyLong_CheckExact(args[4]) ? array_at(args, 0) : NULL,
                *targets = p ? array_at(args, 1) : NULL;
  int64_t lengths[MOST], counts[MOST], starts[MOST];
  Ctc j = {.failed = 0};
  long longest = 0, total = 0;
  if (!plain(p) || PyArray_NDIM(p) != 3 || !PyArray_SIZE(p) || !plain(targets) || code_of(targets) != NPY_LONG ||
      (PyArray_NDIM(targets) != 1 && PyArray_NDIM(targets) != 2))
    Py_RETURN_NONE;
  const int code = code_of(p), flat = PyArray_NDIM(targets) == 1;
  j.frames = PyArray_DIM(p, 0);
  j.batch = PyArray_DIM(p, 1);
  j.classes = PyArray_DIM(p, 2);
  j.blank = PyLong_AsLong(args[4]);
  if (PyErr_Occurred()) {
    PyErr_Clear();
    Py_RETURN_NONE;
  }
  if ((code != NPY_FLOAT && code != NPY_DOUBLE) || j.batch > MOST || j.blank < 0 || j.blank >= j.classes ||
      !lengths_of(args[2], j.batch, lengths) || !lengths_of(args[3], j.batch, counts) ||
      (!flat && PyArray_DIM(targets, 0) != j.batch))
    Py_RETURN_NONE;
  j.targets = PyArray_DATA(targets);
  for (long b = 0; b < j.batch; b++) {
    if (lengths[b] < 0 || lengths[b] > j.frames || counts[b] < 0 || counts[b] > PyArray_DIM(targets, flat ? 0 : 1))
      Py_RETURN_NONE;
    starts[b] = flat ? total : b * PyArray_DIM(targets, 1);
    total += counts[b];
    if (counts[b] > longest) longest = counts[b];
    if (flat && total > PyArray_DIM(targets, 0)) Py_RETURN_NONE;
    for (long s = 0; s < counts[b]; s++) {
      const int64_t label = j.targets[starts[b] + s];
      if (label < 0 || label >= j.classes) Py_RETURN_NONE;
    }
  }
  if (flat && total != PyArray_DIM(targets, 0)) Py_RETURN_NONE;
  npy_intp dims[3] = {j.batch, j.frames, 2 * longest + 1};
  j.width = dims[2];
  PyObject *loss = PyArray_SimpleNew(1, dims, code), *alpha = loss ? PyArray_SimpleNew(3, dims, code) : NULL;
  if (!alpha) {
    Py_XDECREF(loss);
    return NULL;
  }
  j.starts = starts;
  j.lengths = lengths;
  j.counts = counts;
  j.log_probs = PyArray_DATA(p);
  j.loss = PyArray_DATA((PyArrayObject *)loss);
  j.alpha = PyArray_DATA((PyArrayObject *)alpha);
  Py_BEGIN_ALLOW_THREADS over(code == NPY_FLOAT ? ctc_part_float : ctc_part_double, &j, j.batch,
                              j.frames * (j.width * 24 + j.classes * 4));
  Py_END_ALLOW_THREADS PyObject *both = PyTuple_Pack(2, loss, alpha);
  Py_DECREF(loss);
  Py_DECREF(alpha);
  return both;
}
