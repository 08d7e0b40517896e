/* The negative log likelihood of classes without weights: scores (C), (N, C) or (N, C, H, W) in rows, one target for each. */
typedef struct {
  PyArrayObject *scores;
  const npy_int64 *target;
  int code, many;
  npy_intp n, classes, rest, ignored;
} Classes;
static int read_classes(PyObject *scores, PyObject *target, PyObject *weight, PyObject *ignored, Classes *c) {
  if (weight != Py_None || !(c->scores = float_array(scores, &c->code)) || !is_array(target) || !int_of(ignored, &c->ignored))
    return 0;
  PyArrayObject *t = (PyArrayObject *)target;
  const int nd = PyArray_NDIM(c->scores);
  if (!contiguous(c->scores) || !contiguous(t) || PyArray_TYPE(t) != NPY_INT64 || PyArray_SIZE(t) == 0 ||
      PyArray_SIZE(c->scores) == 0)
    return 0;
  c->many = nd > 1;
  c->rest = 1;
  c->target = PyArray_DATA(t);
  if (nd == 1) {
    if (PyArray_SIZE(t) != 1 || PyArray_NDIM(t) > 1) return 0;
    c->n = 1;
  } else {
    if ((nd != 2 && nd != 4) || PyArray_NDIM(t) != nd - 1 || PyArray_DIM(t, 0) != PyArray_DIM(c->scores, 0)) return 0;
    for (int d = 2; d < nd; d++) {
      if (PyArray_DIM(t, d - 1) != PyArray_DIM(c->scores, d)) return 0;
      c->rest *= PyArray_DIM(c->scores, d);
    }
    c->n = PyArray_DIM(c->scores, 0);
  }
  c->classes = PyArray_DIM(c->scores, c->many);
  for (npy_intp i = 0; i < c->n * c->rest; i++)
    if (c->target[i] != c->ignored && (c->target[i] < 0 || c->target[i] >= c->classes)) return 0;
  return 1;
}
static inline npy_intp place_of(const Classes *c, npy_intp i) {
  return ((i / c->rest) * c->classes + c->target[i]) * c->rest + i % c->rest;
}

/* self, target, weight, reduction, ignore_index -> the loss and the number of targets */
static PyObject *native_nll_loss(PyObject *const *args, Py_ssize_t n) {
  Classes c;
  long reduction;
  if (n != 5 || !count_of(args[3], &reduction) || !read_classes(args[0], args[1], args[2], args[4], &c)) return refuse();
  const npy_intp count = c.n * c.rest;
  PyArrayObject *t = (PyArrayObject *)args[1];
  const int size = item_size[c.code];
  PyObject *out = new_array(c.code, reduction || !c.many ? 0 : PyArray_NDIM(t), PyArray_DIMS(t)),
           *total = new_array(c.code, 0, NULL);
  if (!out || !total) {
    Py_XDECREF(out);
    Py_XDECREF(total);
    return NULL;
  }
  char *z = PyArray_BYTES((PyArrayObject *)out);
  const char *x = PyArray_BYTES(c.scores);
  double sum = 0;
  npy_intp used = 0;
  for (npy_intp i = 0; i < count; i++) {
    const int counts = c.target[i] != c.ignored;
    double v = 0;
    if (counts) {
      const npy_intp p = place_of(&c, i);
      v = -get(x + p * size, c.code);
      used++;
    }
    if (reduction)
      sum += v;
    else
      put(z + i * size, c.code, v);
  }
  if (reduction)
    put(z, c.code, reduction == 1 ? (c.code == F64 ? sum / (double)used : (double)((float)sum / (float)used)) : sum);
  put(PyArray_BYTES((PyArrayObject *)total), c.code, reduction ? (double)used : 0);
  PyObject *made = PyTuple_Pack(2, out, total);
  Py_DECREF(out);
  Py_DECREF(total);
  return made;
}
/* grad_output, self, target, weight, reduction, ignore_index, total_weight */
static PyObject *native_nll_loss_backward(PyObject *const *args, Py_ssize_t n) {
  Classes c;
  long reduction;
  int code;
  if (n != 7 || !count_of(args[4], &reduction) || !read_classes(args[1], args[2], args[3], args[5], &c)) return refuse();
  PyArrayObject *g = float_array(args[0], &code), *total;
  int other;
  const npy_intp count = c.n * c.rest;
  if (!g || code != c.code || !contiguous(g) || PyArray_SIZE(g) != (reduction ? 1 : count)) return refuse();
  if (!(total = float_array(args[6], &other)) || other != code || PyArray_SIZE(total) != 1) return refuse();
  Py_INCREF(PyArray_DESCR(g));
  PyObject *made = PyArray_Zeros(PyArray_NDIM(c.scores), PyArray_DIMS(c.scores), PyArray_DESCR(g), 0);
  if (!made) return NULL;
#define SPREAD(T)                                          \
  {                                                        \
    T *z = PyArray_DATA((PyArrayObject *)made);            \
    const T *p = PyArray_DATA(g);                          \
    const T all = *(const T *)PyArray_DATA(total);         \
    for (npy_intp i = 0; i < count; i++)                   \
      if (c.target[i] != c.ignored) {                      \
        const T v = -p[reduction ? 0 : i];                 \
        z[place_of(&c, i)] = reduction == 1 ? v / all : v; \
      }                                                    \
  }
  if (code == F32)
    SPREAD(float)
  else if (code == F64)
    SPREAD(double)
  else {
    const float all = (float)get(PyArray_BYTES(total), code);
    for (npy_intp i = 0; i < count; i++)
      if (c.target[i] != c.ignored) {
        const float v = -(float)get(PyArray_BYTES(g) + (reduction ? 0 : i) * 2, code);
        put(PyArray_BYTES((PyArrayObject *)made) + place_of(&c, i) * 2, code, reduction == 1 ? v / all : v);
      }
  }
  return made;
}
