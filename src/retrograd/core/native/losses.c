/* Losses by margins, and distances of rows: sums of few terms at chosen places, with their gradients. New arrays; None
   for dtypes, shapes and targets that are not as they should be. Measured, one thread, float32, against the same with NumPy:
   multilabel_margin_loss of 3x4 0.3 us (40), pdist of 5x3 0.3 (45), cdist of 300x64 with p = 1 3 ms (30). */
#include "native.h"
#include <math.h>
enum { NONE, MEAN, SUM };
static int is_float(PyArrayObject *a) { return plain(a) && (code_of(a) == NPY_FLOAT || code_of(a) == NPY_DOUBLE); }
static int is_long(PyArrayObject *a) { return plain(a) && code_of(a) == NPY_LONG && sizeof(long) == 8; }
static double value_at(PyArrayObject *a, long i) {
  return code_of(a) == NPY_FLOAT ? (double)((const float *)PyArray_DATA(a))[i] : ((const double *)PyArray_DATA(a))[i];
}
static void put_at(PyObject *o, long i, double v) {
  PyArrayObject *a = (PyArrayObject *)o;
  if (code_of(a) == NPY_FLOAT)
    ((float *)PyArray_DATA(a))[i] = (float)v;
  else
    ((double *)PyArray_DATA(a))[i] = v;
}
static PyObject *pair_of(PyObject *a, PyObject *b) {
  PyObject *made = a && b ? PyTuple_Pack(2, a, b) : NULL;
  Py_XDECREF(a);
  Py_XDECREF(b);
  return made;
}
static int long_at(PyObject *o, long *to) {
  if (!PyLong_CheckExact(o)) return 0;
  *to = PyLong_AsLong(o);
  if (PyErr_Occurred()) {
    PyErr_Clear();
    return 0;
  }
  return 1;
}
static int double_at(PyObject *o, double *to) {
  if (!PyFloat_CheckExact(o) && !PyLong_CheckExact(o)) return 0;
  *to = PyFloat_AsDouble(o);
  if (PyErr_Occurred()) {
    PyErr_Clear();
    return 0;
  }
  return 1;
}

/* ---- margins: rows of scores */
static int rows_of(PyArrayObject *x, long *rows, long *classes) {
  if (!is_float(x) || PyArray_NDIM(x) < 1 || PyArray_NDIM(x) > 2 || !PyArray_SIZE(x)) return 0;
  *classes = PyArray_DIM(x, PyArray_NDIM(x) - 1);
  *rows = PyArray_SIZE(x) / *classes;
  return 1;
}
static double shared(PyArrayObject *g, long i, long rows, long reduction) {
  return value_at(g, reduction == NONE && PyArray_SIZE(g) > 1 ? i : 0) / (reduction == MEAN ? (double)rows : 1);
}
/* multi_margin(self, target, p, margin, weight, reduction, grad): the loss, or with `grad` its gradient */
FUNCTION(multi_margin) {
  PyArrayObject *x = array_at(args, 0), *t = array_at(args, 1), *w = args[4] == Py_None ? NULL : array_at(args, 4),
                *g = args[6] == Py_None ? NULL : array_at(args, 6);
  long rows, classes, p, reduction;
  double margin;
  if (given != 7 || !rows_of(x, &rows, &classes) || !is_long(t) || PyArray_NDIM(t) > 1 || PyArray_SIZE(t) != rows ||
      !long_at(args[2], &p) || (p != 1 && p != 2) || !double_at(args[3], &margin) || !long_at(args[5], &reduction))
    Py_RETURN_NONE;
  if ((args[4] != Py_None && (!is_float(w) || code_of(w) != code_of(x) || PyArray_NDIM(w) > 1 || PyArray_SIZE(w) != classes)) ||
      (args[6] != Py_None && (!is_float(g) || code_of(g) != code_of(x) || PyArray_SIZE(g) != (reduction == NONE ? rows : 1))))
    Py_RETURN_NONE;
  const int64_t *to = PyArray_DATA(t);
  for (long i = 0; i < rows; i++)
    if (to[i] < 0 || to[i] >= classes) Py_RETURN_NONE;
  const int code = code_of(x);
  double total = 0;
  PyObject *made = g                   ? PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), code)
                   : reduction == NONE ? PyArray_SimpleNew(PyArray_NDIM(t), PyArray_DIMS(t), code)
                                       : PyArray_SimpleNew(0, NULL, code);
  if (!made) return NULL;
  for (long i = 0; i < rows; i++) {
    const double right = value_at(x, i * classes + to[i]), scale = (w ? value_at(w, to[i]) : 1) / (double)classes,
                 grad = g ? shared(g, i, rows, reduction) : 0;
    double sum = 0, slopes = 0;
    for (long c = 0; c < classes; c++) {
      double gap = c == to[i] ? 0 : margin - right + value_at(x, i * classes + c);
      if (!(gap > 0)) gap = 0; /* not infinity times zero below */
      const double active = gap > 0 ? scale : 0;
      sum += active * (p == 1 ? gap : gap * gap);
      if (g) {
        const double slope = p == 1 ? active : 2 * active * gap;
        slopes += slope;
        put_at(made, i * classes + c, slope * grad);
      }
    }
    if (g)
      put_at(made, i * classes + to[i], -slopes * grad);
    else if (reduction == NONE)
      put_at(made, i, sum);
    total += sum;
  }
  if (!g && reduction != NONE) put_at(made, 0, reduction == MEAN ? total / (double)rows : total);
  return made;
}
/* multilabel_margin(self, target, reduction, grad): the loss and which classes are right, or the gradient */
FUNCTION(multilabel_margin) {
  PyArrayObject *x = array_at(args, 0), *t = array_at(args, 1), *g = args[3] == Py_None ? NULL : array_at(args, 3);
  long rows, classes, reduction;
  if (given != 4 || !rows_of(x, &rows, &classes) || !is_long(t) || PyArray_NDIM(t) != PyArray_NDIM(x) ||
      PyArray_SIZE(t) != PyArray_SIZE(x) || PyArray_DIM(t, PyArray_NDIM(t) - 1) != classes || !long_at(args[2], &reduction))
    Py_RETURN_NONE;
  if (args[3] != Py_None && (!is_float(g) || code_of(g) != code_of(x) || PyArray_SIZE(g) != (reduction == NONE ? rows : 1)))
    Py_RETURN_NONE;
  const int64_t *to = PyArray_DATA(t);
  const int code = code_of(x), nd = PyArray_NDIM(x);
  for (long i = 0; i < rows * classes; i++)
    if (to[i] < -1 || to[i] >= classes) Py_RETURN_NONE;
  PyObject *right = PyArray_ZEROS(nd, PyArray_DIMS(x), code, 0), *made = !right ? NULL
                                                                         : g    ? PyArray_ZEROS(nd, PyArray_DIMS(x), code, 0)
                                                                         : reduction == NONE
                                                                             ? PyArray_SimpleNew(nd - 1, PyArray_DIMS(x), code)
                                                                             : PyArray_SimpleNew(0, NULL, code);
  if (!made) {
    Py_XDECREF(right);
    return NULL;
  }
  double total = 0;
  for (long i = 0; i < rows; i++) {
    const int64_t *places = to + i * classes;
    long count = 0;
    while (count < classes && places[count] >= 0) put_at(right, i * classes + places[count++], 1);
    const double grad = g ? shared(g, i, rows, reduction) : 0;
    double sum = 0;
    for (long k = 0; k < count; k++) {
      const double own = value_at(x, i * classes + places[k]);
      double lowered = 0;
      for (long c = 0; c < classes; c++) {
        if (value_at((PyArrayObject *)right, i * classes + c) != 0) continue;
        const double gap = 1 - own + value_at(x, i * classes + c);
        if (!(gap > 0)) {
          if (gap != gap) sum += gap;
          continue;
        }
        sum += gap;
        if (g) {
          lowered += 1;
          put_at(made, i * classes + c, value_at((PyArrayObject *)made, i * classes + c) + grad / (double)classes);
        }
      }
      if (g)
        put_at(made, i * classes + places[k],
               value_at((PyArrayObject *)made, i * classes + places[k]) - lowered * grad / (double)classes);
    }
    sum /= (double)classes;
    if (!g && reduction == NONE) put_at(made, i, sum);
    total += sum;
  }
  if (g) {
    Py_DECREF(right);
    return made;
  }
  if (reduction != NONE) put_at(made, 0, reduction == MEAN ? total / (double)rows : total);
  return pair_of(made, right);
}

/* ---- distances of rows: the p-norms of their differences */
typedef struct {
  const void *a, *b, *d, *g;
  void *out;
  long n, m, width, batch;
  double p;
  int code;
} Rows;
#if defined(__GNUC__) && !defined(__clang__)
#define IN_ANY_ORDER __attribute__((optimize("O3", "associative-math", "no-signed-zeros", "no-trapping-math")))
#else
#define IN_ANY_ORDER
#endif
#define NORMS(T)                                                                                                             \
  static double norm_##T(const T *x, const T *y, long width, double p) {                                                     \
    double total = 0;                                                                                                        \
    for (long k = 0; k < width; k++) {                                                                                       \
      const double a = fabs((double)(T)(x[k] - y[k]));                                                                       \
      if (p == 2)                                                                                                            \
        total += a * a;                                                                                                      \
      else if (p == 1)                                                                                                       \
        total += a;                                                                                                          \
      else if (p == 0)                                                                                                       \
        total += a > 0 ? 1 : a;                                                                                              \
      else if (isinf(p)) {                                                                                                   \
        if (a > total || a != a) total = a;                                                                                  \
        if (a != a) break;                                                                                                   \
      } else                                                                                                                 \
        total += pow(a, p);                                                                                                  \
    }                                                                                                                        \
    return p == 2 ? sqrt(total) : p == 1 || p == 0 || isinf(p) ? total : pow(total, 1 / p);                                  \
  }                                                                                                                          \
  static inline double slope_##T(double d, double distance, double p) {                                                      \
    const double sign = d > 0 ? 1 : d < 0 ? -1 : d;                                                                          \
    if (p == 0) return 0;                                                                                                    \
    if (p == 1) return sign;                                                                                                 \
    if (isinf(p)) return sign * ((T)fabs(d) == (T)distance);                                                                 \
    if (distance == 0 || (p < 1 && d == 0)) return 0;                                                                        \
    return p == 2 ? d / distance : sign * pow(fabs(d), p - 1) / pow(distance, p - 1);                                        \
  }                                                                                                                          \
  CLONES IN_ANY_ORDER static double euclid_##T(const T *x, const T *y, long width) {                                         \
    T sum = 0;                                                                                                               \
    for (long k = 0; k < width; k++) sum += (x[k] - y[k]) * (x[k] - y[k]);                                                   \
    return sqrt((double)sum);                                                                                                \
  }                                                                                                                          \
  CLONES static void push_##T(T factor, const T *x, const T *y, T *restrict a, T *restrict b, long width) {                  \
    for (long e = 0; e < width; e++) {                                                                                       \
      const T v = factor * (x[e] - y[e]);                                                                                    \
      a[e] += v;                                                                                                             \
      b[e] -= v;                                                                                                             \
    }                                                                                                                        \
  }                                                                                                                          \
  static void between_##T(void *j_, long first, long last) {                                                                 \
    const Rows *j = j_;                                                                                                      \
    for (long r = first; r < last; r++) {                                                                                    \
      const T *x = (const T *)j->a + r * j->width, *y = (const T *)j->b + r / j->n * j->m * j->width;                        \
      T *to = (T *)j->out + r * j->m;                                                                                        \
      for (long k = 0; k < j->m; k++) to[k] = (T)norm_##T(x, y + k * j->width, j->width, j->p);                              \
    }                                                                                                                        \
  }                                                                                                                          \
  static void between_back_##T(void *j_, long first, long last) {                                                            \
    const Rows *j = j_;                                                                                                      \
    for (long r = first; r < last; r++) {                                                                                    \
      const T *x = (const T *)j->a + r * j->width, *y = (const T *)j->b + r / j->n * j->m * j->width,                        \
              *d = (const T *)j->d + r * j->m, *g = (const T *)j->g + r * j->m;                                              \
      T *to = (T *)j->out + r * j->width;                                                                                    \
      for (long e = 0; e < j->width; e++) {                                                                                  \
        double sum = 0;                                                                                                      \
        for (long k = 0; k < j->m; k++) sum += g[k] * slope_##T((double)(T)(x[e] - y[k * j->width + e]), d[k], j->p);        \
        to[e] = (T)sum;                                                                                                      \
      }                                                                                                                      \
    }                                                                                                                        \
  }                                                                                                                          \
  static void among_##T(const Rows *j) {                                                                                     \
    const T *x = j->a;                                                                                                       \
    T *to = j->out;                                                                                                          \
    for (long a = 0; a < j->n; a++)                                                                                          \
      for (long b = a + 1; b < j->n; b++)                                                                                    \
        *to++ = (T)(j->p == 2 ? euclid_##T(x + a * j->width, x + b * j->width, j->width)                                     \
                              : norm_##T(x + a * j->width, x + b * j->width, j->width, j->p));                               \
  }                                                                                                                          \
  static void among_back_##T(const Rows *j) {                                                                                \
    const T *x = j->a, *d = j->d, *g = j->g;                                                                                 \
    T *to = j->out;                                                                                                          \
    if (j->p == 2) {                                                                                                         \
      for (long a = 0; a < j->n; a++)                                                                                        \
        for (long b = a + 1; b < j->n; b++, d++, g++)                                                                        \
          if (*d != 0)                                                                                                       \
            push_##T((T)((double)*g / (double)*d), x + a * j->width, x + b * j->width, to + a * j->width, to + b * j->width, \
                     j->width);                                                                                              \
      return;                                                                                                                \
    }                                                                                                                        \
    for (long a = 0; a < j->n; a++)                                                                                          \
      for (long b = a + 1; b < j->n; b++, d++, g++)                                                                          \
        for (long e = 0; e < j->width; e++) {                                                                                \
          const T v = (T)(*g * slope_##T((double)(T)(x[a * j->width + e] - x[b * j->width + e]), *d, j->p));                 \
          to[a * j->width + e] += v;                                                                                         \
          to[b * j->width + e] -= v;                                                                                         \
        }                                                                                                                    \
  }
NORMS(float)
NORMS(double)
/* pair_distances(x, p, distances, grad): of all pairs of rows; with distances and `grad` the gradient */
FUNCTION(pair_distances) {
  PyArrayObject *x = array_at(args, 0), *d = given == 4 ? array_at(args, 2) : NULL, *g = given == 4 ? array_at(args, 3) : NULL;
  Rows j;
  const int back = given == 4 && args[3] != Py_None;
  if (given != 4 || !is_float(x) || PyArray_NDIM(x) != 2 || !double_at(args[1], &j.p) || !(j.p >= 0)) Py_RETURN_NONE;
  j.n = PyArray_DIM(x, 0);
  j.width = PyArray_DIM(x, 1);
  const long pairs = j.n * (j.n - 1) / 2;
  npy_intp dims[1] = {pairs};
  const int code = code_of(x);
  if (j.n < 2 || j.n > 1 << 15 ||
      (back && (!is_float(d) || !is_float(g) || code_of(d) != code || code_of(g) != code || PyArray_SIZE(d) != pairs ||
                PyArray_SIZE(g) != pairs)))
    Py_RETURN_NONE;
  PyObject *made = back ? PyArray_ZEROS(2, PyArray_DIMS(x), code, 0) : PyArray_SimpleNew(1, dims, code);
  if (!made) return NULL;
  j.a = PyArray_DATA(x);
  j.out = PyArray_DATA((PyArrayObject *)made);
  j.d = back ? PyArray_DATA(d) : NULL;
  j.g = back ? PyArray_DATA(g) : NULL;
  Py_BEGIN_ALLOW_THREADS if (code == NPY_FLOAT) {
    if (back)
      among_back_float(&j);
    else
      among_float(&j);
  }
  else if (back) among_back_double(&j);
  else among_double(&j);
  Py_END_ALLOW_THREADS return made;
}
/* row_distances(x, y, p, distances, grad): of the rows of each matrix of x from those of y; or the gradient of x */
FUNCTION(row_distances) {
  PyArrayObject *x = array_at(args, 0), *y = array_at(args, 1), *d = given == 5 ? array_at(args, 3) : NULL,
                *g = given == 5 ? array_at(args, 4) : NULL;
  Rows j;
  const int back = given == 5 && args[4] != Py_None;
  npy_intp dims[NPY_MAXDIMS_LEGACY_ITERS];
  if (given != 5 || !is_float(x) || !is_float(y) || code_of(x) != code_of(y) || PyArray_NDIM(x) < 2 || PyArray_NDIM(x) > 8 ||
      PyArray_NDIM(x) != PyArray_NDIM(y) || !double_at(args[2], &j.p) || !(j.p >= 0) || !PyArray_SIZE(x) || !PyArray_SIZE(y))
    Py_RETURN_NONE;
  const int nd = PyArray_NDIM(x), code = code_of(x);
  for (int i = 0; i < nd; i++) {
    dims[i] = PyArray_DIM(x, i);
    if (i != nd - 2 && PyArray_DIM(y, i) != dims[i]) Py_RETURN_NONE;
  }
  j.n = dims[nd - 2];
  j.width = dims[nd - 1];
  j.m = PyArray_DIM(y, nd - 2);
  const long rows = PyArray_SIZE(x) / j.width;
  if (back && (!is_float(d) || !is_float(g) || code_of(d) != code || code_of(g) != code || PyArray_SIZE(d) != rows * j.m ||
               PyArray_SIZE(g) != rows * j.m))
    Py_RETURN_NONE;
  if (!back) dims[nd - 1] = j.m;
  PyObject *made = PyArray_SimpleNew(nd, dims, code);
  if (!made) return NULL;
  j.a = PyArray_DATA(x);
  j.b = PyArray_DATA(y);
  j.out = PyArray_DATA((PyArrayObject *)made);
  j.d = back ? PyArray_DATA(d) : NULL;
  j.g = back ? PyArray_DATA(g) : NULL;
  Part part = code == NPY_FLOAT ? (back ? between_back_float : between_float) : back ? between_back_double : between_double;
  Py_BEGIN_ALLOW_THREADS over(part, &j, rows, j.m * j.width * (j.p == 1 || j.p == 2 ? 1 : 16));
  Py_END_ALLOW_THREADS return made;
}

/* ---- the negative log likelihood of weighted classes: scores (C), (N, C) or (N, C, ...), one target for each row */
typedef struct {
  PyArrayObject *scores, *weight;
  const int64_t *target;
  long n, classes, rest, ignored, reduction;
} Weighted;
static int read_weighted(PyObject *const *args, PyObject *reduction, PyObject *ignored, Weighted *w) {
  PyArrayObject *t = array_at(args, 1);
  w->scores = array_at(args, 0);
  w->weight = array_at(args, 2);
  if (!is_float(w->scores) || !is_long(t) || !is_float(w->weight) || code_of(w->weight) != code_of(w->scores) ||
      !long_at(reduction, &w->reduction) || !long_at(ignored, &w->ignored) || !PyArray_SIZE(w->scores) || !PyArray_SIZE(t))
    return 0;
  const int nd = PyArray_NDIM(w->scores), many = nd > 1;
  if (nd < 1 || (!many && PyArray_SIZE(t) != 1) || (many && PyArray_NDIM(t) != nd - 1)) return 0;
  w->n = w->rest = 1;
  if (many) {
    w->n = PyArray_DIM(w->scores, 0);
    if (PyArray_DIM(t, 0) != w->n) return 0;
    for (int d = 2; d < nd; d++) {
      if (PyArray_DIM(t, d - 1) != PyArray_DIM(w->scores, d)) return 0;
      w->rest *= PyArray_DIM(w->scores, d);
    }
  }
  w->classes = PyArray_DIM(w->scores, many);
  if (PyArray_NDIM(w->weight) != 1 || PyArray_DIM(w->weight, 0) != w->classes) return 0;
  w->target = PyArray_DATA(t);
  for (long i = 0; i < w->n * w->rest; i++)
    if (w->target[i] != w->ignored && (w->target[i] < 0 || w->target[i] >= w->classes)) return 0;
  return 1;
}
static long place_of(const Weighted *w, long i) {
  return (i / w->rest * w->classes + w->target[i]) * w->rest + i % w->rest;
}
/* nll_weighted(scores, target, weight, reduction, ignore_index): the loss, and the sum of the weights of the targets */
FUNCTION(nll_weighted) {
  Weighted w;
  if (given != 5 || !read_weighted(args, args[3], args[4], &w)) Py_RETURN_NONE;
  PyArrayObject *t = (PyArrayObject *)args[1];
  const int code = code_of(w.scores), each = w.reduction == NONE;
  PyObject *out = PyArray_SimpleNew(each && PyArray_NDIM(w.scores) > 1 ? PyArray_NDIM(t) : 0, PyArray_DIMS(t), code),
           *total = PyArray_SimpleNew(0, NULL, code);
  if (out && total) {
    double sum = 0, weights = 0;
    for (long i = 0; i < w.n * w.rest; i++) {
      double v = 0;
      if (w.target[i] != w.ignored) {
        const double one = value_at(w.weight, w.target[i]);
        v = -value_at(w.scores, place_of(&w, i)) * one;
        if (code == NPY_FLOAT) v = (float)v;
        weights += one;
      }
      sum += v;
      if (each) put_at(out, i, v);
    }
    if (code == NPY_FLOAT) {
      sum = (float)sum;
      weights = (float)weights;
    }
    if (!each) put_at(out, 0, w.reduction == MEAN ? sum / weights : sum);
    put_at(total, 0, each ? 0 : weights);
  }
  return pair_of(out, total);
}
/* nll_weighted_backward(scores, target, weight, reduction, ignore_index, grad, total): the gradient of the scores */
FUNCTION(nll_weighted_backward) {
  Weighted w;
  PyArrayObject *grad = given == 7 ? array_at(args, 5) : NULL, *total = given == 7 ? array_at(args, 6) : NULL;
  if (!is_float(grad) || !is_float(total) || PyArray_SIZE(total) != 1 || !read_weighted(args, args[3], args[4], &w) ||
      code_of(grad) != code_of(w.scores) || code_of(total) != code_of(w.scores) ||
      PyArray_SIZE(grad) != (w.reduction == NONE ? w.n * w.rest : 1))
    Py_RETURN_NONE;
  PyObject *made = PyArray_ZEROS(PyArray_NDIM(w.scores), PyArray_DIMS(w.scores), code_of(w.scores), 0);
  if (!made) return NULL;
  const double all = value_at(total, 0);
  for (long i = 0; i < w.n * w.rest; i++) {
    if (w.target[i] == w.ignored) continue;
    const double one = value_at(w.weight, w.target[i]);
    double v = -one * value_at(grad, w.reduction == NONE ? i : 0);
    if (code_of(w.scores) == NPY_FLOAT) v = (float)v;
    if (w.reduction == MEAN) v = one == 0 ? 0 : v / all;
    put_at(made, place_of(&w, i), v);
  }
  return made;
}
