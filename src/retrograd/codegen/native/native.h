/* Kernels written by hand over the generated loops: variances and norms. Arguments come as the op's, in schema order. */
typedef PyObject *(*Native)(PyObject *const *, Py_ssize_t);
#define ENTRY(name, wide) (tables[infos[IN_##name].file][3 * infos[IN_##name].index + (wide)])
static PyArrayObject *float_array(PyObject *o, int *code) { /* an array of floats, else NULL */
  if (!is_array(o)) return NULL;
  *code = code_of((PyArrayObject *)o);
  return *code <= F16 ? (PyArrayObject *)o : NULL;
}
static PyObject *new_array(int code, int nd, const npy_intp *dims) {
  return PyArray_NewFromDescr(&PyArray_Type, descr_of(code), nd, (npy_intp *)dims, NULL, NULL, 0, NULL);
}
static PyArrayObject *row_major(PyArrayObject *a) { /* a new reference */
  if (contiguous(a)) {
    Py_INCREF(a);
    return a;
  }
  if (PyArray_SIZE(a) <= 4096 || code_of(a) == OTHER || PyArray_NDIM(a) > MAXD)
    return (PyArrayObject *)PyArray_NewCopy(a, NPY_CORDER);
  PyArrayObject *made = (PyArrayObject *)new_array(code_of(a), PyArray_NDIM(a), PyArray_DIMS(a));
  if (made) copy_values(made, a);
  return made;
}
static int real_number(PyObject *o, double *to) {
  Number v;
  char integer;
  if (!number_of(o, &v, &integer)) return 0;
  *to = integer ? (double)v.i : v.d;
  return 1;
}
static int count_of(PyObject *o, long *to) {
  if (!PyLong_CheckExact(o)) return 0;
  *to = PyLong_AsLong(o);
  return !(*to == -1 && PyErr_Occurred());
}
static double sum_of(const Acc a) { return a.a.d + a.e; }

/* ---- var, std and with the mean: (self, dim, correction, keepdim) */
static PyObject *spread(PyObject *const *args, Py_ssize_t n, int root, int with_mean) {
  int code;
  PyArrayObject *x;
  char marked[MAXD + 1];
  double correction = 1;
  int keepdim = 0;
  if (n < 1 || !(x = float_array(args[0], &code)) || PyArray_NDIM(x) > MAXD ||
      !read_dims(n > 1 ? args[1] : NULL, PyArray_NDIM(x), marked))
    return refuse();
  if (n > 2 && args[2] != Py_None && !real_number(args[2], &correction)) return refuse();
  if (n > 3) {
    if (args[3] == Py_True)
      keepdim = 1;
    else if (args[3] != Py_False)
      return refuse();
  }
  const int nd = PyArray_NDIM(x);
  double count = 1;
  npy_intp dims[MAXD];
  int m = 0; /* all in double, as PyTorch does */
  for (int d = 0; d < nd; d++) {
    if (marked[d]) {
      count *= (double)PyArray_DIM(x, d);
      if (keepdim) dims[m++] = 1;
    } else
      dims[m++] = PyArray_DIM(x, d);
  }
  if (PyArray_SIZE(x) == 0 || count - correction <= 0) return refuse(); /* the layers warn */
  PyArrayObject *a[2] = {x, NULL};
  PyArrayObject *mean = (PyArrayObject *)reduce_arrays(infos + IN_mean, &ENTRY(mean, 0), a, marked, 1, code, 1, F64, NULL);
  if (!mean || (PyObject *)mean == Py_None) return (PyObject *)mean;
  a[1] = mean;
  PyArrayObject *square =
      (PyArrayObject *)reduce_arrays(infos + IN_deviation, &ENTRY(deviation, 0), a, marked, 1, code, 1, F64, NULL);
  if (!square || (PyObject *)square == Py_None) {
    Py_DECREF(mean);
    return (PyObject *)square;
  }
  PyObject *out = new_array(code, m, dims), *out_mean = with_mean ? new_array(code, m, dims) : NULL, *made = NULL;
  if (out && (out_mean || !with_mean)) {
    const double *s = PyArray_DATA(square), *mu = PyArray_DATA(mean);
    const npy_intp k = PyArray_SIZE(mean);
    const int size = item_size[code];
    char *p = PyArray_BYTES((PyArrayObject *)out), *q = with_mean ? PyArray_BYTES((PyArrayObject *)out_mean) : NULL;
    for (npy_intp i = 0; i < k; i++) {
      const double v = s[i] / (count - correction);
      put(p + i * size, code, root ? __builtin_sqrt(v) : v);
      if (q) put(q + i * size, code, v == v ? mu[i] : v);
    }
    made = with_mean ? PyTuple_Pack(2, out, out_mean) : (Py_INCREF(out), out);
  }
  Py_DECREF(mean);
  Py_DECREF(square);
  Py_XDECREF(out);
  Py_XDECREF(out_mean);
  return made;
}
static PyObject *native_var(PyObject *const *args, Py_ssize_t n) { return spread(args, n, 0, 0); }
static PyObject *native_std(PyObject *const *args, Py_ssize_t n) { return spread(args, n, 1, 0); }
static PyObject *native_var_mean(PyObject *const *args, Py_ssize_t n) { return spread(args, n, 0, 1); }
static PyObject *native_std_mean(PyObject *const *args, Py_ssize_t n) { return spread(args, n, 1, 1); }

#include "short_norm.h"
/* ---- layer norm: rows of the normalized dims */
static double ONE_VALUE = 1, ZERO_VALUE = 0;
/* gamma or beta: None, or an array of `count` elements of the input's dtype, or of float32 with a half; 0 refuses */
static int parameter(PyObject *o, int code, npy_intp count, PyArrayObject **to, int *to_code) {
  *to = NULL;
  *to_code = F64;
  if (o == Py_None) return 1;
  if (!(*to = float_array(o, to_code)) || !contiguous(*to) || PyArray_SIZE(*to) != count) return 0;
  return *to_code == code || (*to_code == F32 && (code == BF16 || code == F16));
}
static void as_operand(Lines *j, int o, PyArrayObject *a, int code, double *instead) {
  j->p[o] = a ? PyArray_BYTES(a) : (char *)instead;
  j->t[o] = a ? code : F64;
  j->cs[o] = a ? item_size[code] : 0;
}
static int layer_shape(PyArrayObject *x, PyObject *shape, int *outer, npy_intp *n) {
  PyObject *const *items;
  Py_ssize_t k;
  if (PyTuple_CheckExact(shape)) {
    items = PySequence_Fast_ITEMS(shape);
    k = PyTuple_GET_SIZE(shape);
  } else if (PyList_CheckExact(shape)) {
    items = PySequence_Fast_ITEMS(shape);
    k = PyList_GET_SIZE(shape);
  } else
    return 0;
  const int nd = PyArray_NDIM(x);
  if (!k || k > nd || nd > MAXD) return 0;
  *outer = nd - (int)k;
  *n = 1;
  for (int i = 0; i < k; i++) {
    long e;
    if (!count_of(items[i], &e) || e != PyArray_DIM(x, *outer + i)) return 0;
    *n *= e;
  }
  return 1;
}
/* whether a parameter, if there is one, has the shape of the dims of x from `outer` on */
static int has_shape(PyArrayObject *w, PyArrayObject *x, int outer) {
  if (!w) return 1;
  if (PyArray_NDIM(w) != PyArray_NDIM(x) - outer) return 0;
  for (int d = 0; d < PyArray_NDIM(w); d++)
    if (PyArray_DIM(w, d) != PyArray_DIM(x, outer + d)) return 0;
  return 1;
}
static PyObject *native_layer_norm(PyObject *const *args, Py_ssize_t n) {
  int code, wc, bc, outer;
  PyArrayObject *x, *w, *b;
  npy_intp width;
  double eps;
  if (n != 5 || !(x = float_array(args[0], &code)) || !layer_shape(x, args[1], &outer, &width) ||
      !parameter(args[2], code, width, &w, &wc) || !parameter(args[3], code, width, &b, &bc) || !real_number(args[4], &eps) ||
      !PyArray_SIZE(x))
    return refuse();
  if ((w && b && wc != bc) || !has_shape(w, x, outer) || !has_shape(b, x, outer)) return refuse();
  const int nd = PyArray_NDIM(x), wide = type_of(code), kept = w ? wc : code;
  npy_intp dims[MAXD];
  for (int d = 0; d < nd; d++) dims[d] = d < outer ? PyArray_DIM(x, d) : 1;
  if (!(x = row_major(x))) return NULL;
  PyObject *out = new_array(code, nd, PyArray_DIMS(x)), *mean = new_array(kept, nd, dims), *rstd = new_array(kept, nd, dims),
           *made = NULL;
  if (out && mean && rstd) {
    Lines j;
    memset(&j, 0, sizeof j);
    Number num;
    num.d = eps;
    const long rows = PyArray_SIZE(x) / width;
    j.f = (LineFn)ENTRY(layer_norm, wide).f[0];
    j.nop = 6;
    j.nd = 1;
    j.kept = infos[IN_layer_norm].kept;
    j.wide = wide;
    j.num = &num;
    j.n = width;
    j.rows = rows;
    j.shape[0] = rows;
    j.p[0] = PyArray_BYTES(x);
    j.t[0] = code;
    j.cs[0] = item_size[code];
    j.st[0][0] = width * item_size[code];
    as_operand(&j, 1, w, wc, &ONE_VALUE);
    as_operand(&j, 2, b, bc, &ZERO_VALUE);
    j.p[3] = PyArray_BYTES((PyArrayObject *)out);
    j.t[3] = code;
    j.cs[3] = item_size[code];
    j.st[3][0] = j.st[0][0];
    j.p[4] = PyArray_BYTES((PyArrayObject *)mean);
    j.t[4] = kept;
    j.st[4][0] = item_size[kept];
    j.p[5] = PyArray_BYTES((PyArrayObject *)rstd);
    j.t[5] = kept;
    j.st[5][0] = item_size[kept];
    if (width <= FEW_IN_ROW && rows * width <= GRAIN && code <= F64) {
      double mu, var, rs;
      for (long r = 0; r < rows; r++) {
        if (code == F32) {
          short_norm_float((float *)j.p[0] + r * width, (float *)j.p[3] + r * width, width, eps, w ? (float *)j.p[1] : NULL,
                           b ? (float *)j.p[2] : NULL, &mu, &var, &rs);
          ((float *)j.p[4])[r] = (float)mu;
          ((float *)j.p[5])[r] = (float)rs;
        } else
          short_norm_double((double *)j.p[0] + r * width, (double *)j.p[3] + r * width, width, eps, w ? (double *)j.p[1] : NULL,
                            b ? (double *)j.p[2] : NULL, (double *)j.p[4] + r, &var, (double *)j.p[5] + r);
      }
      made = PyTuple_Pack(3, out, mean, rstd);
    } else
      made = run_lines(&j, 0) < 0 ? PyErr_NoMemory() : PyTuple_Pack(3, out, mean, rstd);
  }
  Py_DECREF(x);
  Py_XDECREF(out);
  Py_XDECREF(mean);
  Py_XDECREF(rstd);
  return made;
}
static int masked(PyObject *o, int *mask) { /* bool[3] */
  if (!PyList_CheckExact(o) && !PyTuple_CheckExact(o)) return 0;
  if (PySequence_Fast_GET_SIZE(o) != 3) return 0;
  for (int i = 0; i < 3; i++) mask[i] = PyObject_IsTrue(PySequence_Fast_GET_ITEM(o, i));
  return 1;
}
static PyObject *packed(PyObject **made, const int *mask) {
  PyObject *t = PyTuple_New(3);
  if (!t) return NULL;
  for (int i = 0; i < 3; i++) {
    PyObject *o = mask[i] ? made[i] : Py_None;
    Py_INCREF(o);
    PyTuple_SET_ITEM(t, i, o);
  }
  return t;
}
/* grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask */
static PyObject *native_layer_norm_backward(PyObject *const *args, Py_ssize_t n) {
  int gc, code, mc, rc, wc, outer, mask[3];
  PyArrayObject *g, *x, *mu, *rs, *w;
  npy_intp width;
  if (n != 8 || !(g = float_array(args[0], &gc)) || !(x = float_array(args[1], &code)) || gc != code ||
      !layer_shape(x, args[2], &outer, &width) || !PyArray_SIZE(x) || PyArray_SIZE(g) != PyArray_SIZE(x) ||
      !(mu = float_array(args[3], &mc)) || !(rs = float_array(args[4], &rc)) || !contiguous(mu) || !contiguous(rs) ||
      PyArray_SIZE(mu) * width != PyArray_SIZE(x) || PyArray_SIZE(rs) * width != PyArray_SIZE(x) ||
      !parameter(args[5], code, width, &w, &wc) || !masked(args[7], mask))
    return refuse();
  const int nd = PyArray_NDIM(x), wide = type_of(code), kept = w ? wc : code;
  if (!(x = row_major(x))) return NULL;
  if (!(g = row_major(g))) {
    Py_DECREF(x);
    return NULL;
  }
  PyObject *made[3] = {new_array(code, nd, PyArray_DIMS(x)), new_array(kept, nd - outer, PyArray_DIMS(x) + outer),
                       new_array(kept, nd - outer, PyArray_DIMS(x) + outer)},
           *result = NULL;
  if (made[0] && made[1] && made[2]) {
    Lines j;
    memset(&j, 0, sizeof j);
    const long rows = PyArray_SIZE(x) / width, size = item_size[code];
    const int in = mask[1] || mask[2] ? IN_layer_norm_backward : IN_layer_norm_input;
    j.f = (LineFn)tables[infos[in].file][3 * infos[in].index + wide].f[0];
    j.nop = mask[1] || mask[2] ? 8 : 6;
    j.nd = 1;
    j.kept = infos[in].kept;
    j.wide = wide;
    j.n = width;
    j.rows = rows;
    j.shape[0] = rows;
    j.p[0] = PyArray_BYTES(g);
    j.p[1] = PyArray_BYTES(x);
    j.p[5] = PyArray_BYTES((PyArrayObject *)made[0]);
    for (int k = 0; k < 3; k++) {
      const int o = k < 2 ? k : 5;
      j.t[o] = code;
      j.cs[o] = size;
      j.st[o][0] = width * size;
    }
    j.p[2] = PyArray_BYTES(mu);
    j.t[2] = mc;
    j.st[2][0] = item_size[mc];
    j.p[3] = PyArray_BYTES(rs);
    j.t[3] = rc;
    j.st[3][0] = item_size[rc];
    as_operand(&j, 4, w, wc, &ONE_VALUE);
    if (j.nop == 8)
      for (int k = 6; k < 8; k++) {
        j.t[k] = kept;
        j.sums[k] = PyArray_BYTES((PyArrayObject *)made[k - 5]);
      }
    result = run_lines(&j, 0) < 0 ? PyErr_NoMemory() : packed(made, mask);
  }
  Py_DECREF(x);
  Py_DECREF(g);
  for (int i = 0; i < 3; i++) Py_XDECREF(made[i]);
  return result;
}

/* ---- group and batch norm: segments of `size` elements, one per (example, channel) */
typedef struct {
  long N, C, size, groups;
  int wide, code, wc, bc, training;
  char *x, *g, *out, *w, *b;
  double eps;
  double *mean, *rstd, *var;
  double *sum_g, *sum_gx;
  RowFn sum, deviation, total, dot;
  PointFn affine, gradient;
  int want;
} Norm;
static double parameter_at(const char *p, int code, long i, double instead) {
  return p ? get(p + i * item_size[code], code) : instead;
}
static void centre(const Norm *j, long first, long step, long count, long k) { /* mean and rstd of `count` segments */
  const long size = item_size[j->code], s[2] = {size, 0};
  const char t[2] = {(char)j->code, F64};
  double total = 0, square = 0;
  const double all = (double)count * j->size;
  const long each = step == 1 ? count * j->size : j->size; /* segments one behind the other are one */
  if (step == 1) count = 1;
  if (count == 1 && each <= FEW_IN_ROW && j->code <= F64) {
    if (j->code == F32)
      short_norm_float((float *)j->x + first * j->size, NULL, each, j->eps, NULL, NULL, j->mean + k, j->var + k, j->rstd + k);
    else
      short_norm_double((double *)j->x + first * j->size, NULL, each, j->eps, NULL, NULL, j->mean + k, j->var + k, j->rstd + k);
    return;
  }
  for (long i = 0; i < count; i++) {
    char *q[1] = {j->x + (first + i * step) * j->size * size};
    total += sum_of(j->sum(q, s, t, each, NULL));
  }
  double mu = total / all, rough = j->wide ? mu : (double)(float)mu;
  for (long i = 0; i < count; i++) {
    char *q[2] = {j->x + (first + i * step) * j->size * size, (char *)&rough};
    square += sum_of(j->deviation(q, s, t, each, NULL));
  }
  const double var = square / all - (mu - rough) * (mu - rough);
  j->mean[k] = mu;
  j->var[k] = var < 0 ? 0 : var;
  j->rstd[k] = 1 / __builtin_sqrt(j->var[k] + j->eps);
}
static void apply(const Norm *j, long segment, long channel, long k) {
  if (j->size <= FEW_IN_ROW && j->code <= F64) {
    const double a = j->rstd[k] * parameter_at(j->w, j->wc, channel, 1), b = parameter_at(j->b, j->bc, channel, 0);
    if (j->code == F32)
      short_affine_float((float *)j->x + segment * j->size, (float *)j->out + segment * j->size, j->size, j->mean[k], a, b);
    else
      short_affine_double((double *)j->x + segment * j->size, (double *)j->out + segment * j->size, j->size, j->mean[k], a, b);
    return;
  }
  const long size = item_size[j->code], s[2] = {size, size};
  const char t[2] = {(char)j->code, (char)j->code};
  Number num[3];
  num[0].d = j->mean[k];
  num[1].d = j->rstd[k] * parameter_at(j->w, j->wc, channel, 1);
  num[2].d = parameter_at(j->b, j->bc, channel, 0);
  char *q[2] = {j->x + segment * j->size * size, j->out + segment * j->size * size};
  j->affine(q, s, t, j->size, num);
}
static void gather_sums(const Norm *j, long segment, long k) {
  const long size = item_size[j->code], s[2] = {size, size};
  const char t[2] = {(char)j->code, (char)j->code};
  Number num;
  num.d = j->mean[k];
  char *q[2] = {j->g + segment * j->size * size, j->x + segment * j->size * size};
  j->sum_g[segment] = sum_of(j->total(q, s, t, j->size, NULL));
  j->sum_gx[segment] = sum_of(j->dot(q, s, t, j->size, &num));
}
static void send_back(const Norm *j, long segment, long channel, long k, double mean_u,
                      double mean_ux) { /* a g + (x - m) b + c */
  const long size = item_size[j->code], s[3] = {size, size, size};
  const char t[3] = {(char)j->code, (char)j->code, (char)j->code};
  Number num[4];
  const double r = j->rstd[k];
  num[0].d = r * parameter_at(j->w, j->wc, channel, 1);
  num[1].d = j->mean[k];
  num[2].d = -r * r * mean_ux;
  num[3].d = -r * mean_u;
  char *q[3] = {j->g + segment * j->size * size, j->x + segment * j->size * size, j->out + segment * j->size * size};
  j->gradient(q, s, t, j->size, num);
}
static void group_forward(void *a, long k) { /* k: (example, group) */
  const Norm *j = a;
  const long each = j->C / j->groups, first = k * each;
  centre(j, first, 1, each, k);
  for (long i = 0; i < each; i++) apply(j, first + i, k % j->groups * each + i, k);
}
static void group_back(void *a, long k) {
  const Norm *j = a;
  const long each = j->C / j->groups, first = k * each, c0 = k % j->groups * each;
  const double all = (double)each * j->size;
  double u = 0, ux = 0;
  for (long i = 0; i < each; i++) {
    gather_sums(j, first + i, k);
    const double w = parameter_at(j->w, j->wc, c0 + i, 1);
    u += w * j->sum_g[first + i];
    ux += w * j->sum_gx[first + i];
  }
  if (j->want)
    for (long i = 0; i < each; i++) send_back(j, first + i, c0 + i, k, u / all, ux * j->rstd[k] / all);
}
static void batch_forward(void *a, long k) { /* k: a channel */
  const Norm *j = a;
  if (j->training) centre(j, k, j->C, j->N, k);
  for (long i = 0; i < j->N; i++) apply(j, i * j->C + k, k, k);
}
static void batch_back(void *a, long k) {
  const Norm *j = a;
  const double all = (double)j->N * j->size, w = parameter_at(j->w, j->wc, k, 1);
  double u = 0, ux = 0;
  for (long i = 0; i < j->N; i++) {
    gather_sums(j, i * j->C + k, k);
    u += j->sum_g[i * j->C + k];
    ux += j->sum_gx[i * j->C + k];
  }
  if (j->want)
    for (long i = 0; i < j->N; i++)
      send_back(j, i * j->C + k, k, k, j->training ? w * u / all : 0, j->training ? w * ux * j->rstd[k] / all : 0);
}
static void norm_loops(Norm *j) {
  j->sum = j->total = (RowFn)ENTRY(sum, j->wide).f[0];
  j->deviation = (RowFn)ENTRY(deviation, j->wide).f[0];
  j->dot = (RowFn)ENTRY(dot, j->wide).f[0];
  j->affine = (PointFn)ENTRY(affine, j->wide).f[0];
  j->gradient = (PointFn)ENTRY(gradient, j->wide).f[0];
}
static void run_norm(Task f, Norm *j, long tasks) {
  if (j->N * j->C * j->size > 4096) {
    Py_BEGIN_ALLOW_THREADS parallel(f, j, tasks);
    Py_END_ALLOW_THREADS
  } else
    for (long k = 0; k < tasks; k++) f(j, k);
}
/* Images or volumes that may be channels-last, whose result is too. */
static int other_format(PyArrayObject *x) { return (PyArray_NDIM(x) == 4 || PyArray_NDIM(x) == 5) && !contiguous(x); }
/* input, weight, bias, N, C, HxW, group, eps */
static PyObject *native_group_norm(PyObject *const *args, Py_ssize_t n) {
  Norm j;
  memset(&j, 0, sizeof j);
  PyArrayObject *x, *w, *b;
  if (n != 8 || !(x = float_array(args[0], &j.code)) || !count_of(args[3], &j.N) || !count_of(args[4], &j.C) ||
      !count_of(args[5], &j.size) || !count_of(args[6], &j.groups) || !real_number(args[7], &j.eps) ||
      !parameter(args[1], j.code, j.C, &w, &j.wc) || !parameter(args[2], j.code, j.C, &b, &j.bc) || (w && b && j.wc != j.bc) ||
      (w && PyArray_NDIM(w) != 1) || (b && PyArray_NDIM(b) != 1) ||
      !PyArray_SIZE(x) || j.N * j.C * j.size != PyArray_SIZE(x) || j.groups < 1 || j.C % j.groups || other_format(x))
    return refuse();
  const int kept = w ? j.wc : j.code;
  const npy_intp dims[2] = {j.N, j.groups};
  const long k = j.N * j.groups;
  if (!(x = row_major(x))) return NULL;
  PyObject *out = new_array(j.code, PyArray_NDIM(x), PyArray_DIMS(x)), *mean = new_array(kept, 2, dims),
           *rstd = new_array(kept, 2, dims), *made = NULL;
  double *memory = malloc(sizeof(double) * 3 * k);
  if (out && mean && rstd && memory) {
    j.wide = type_of(j.code);
    j.x = PyArray_BYTES(x);
    j.out = PyArray_BYTES((PyArrayObject *)out);
    j.w = w ? PyArray_BYTES(w) : NULL;
    j.b = b ? PyArray_BYTES(b) : NULL;
    j.mean = memory;
    j.rstd = memory + k;
    j.var = memory + 2 * k;
    norm_loops(&j);
    run_norm(group_forward, &j, k);
    pack_doubles(j.mean, PyArray_BYTES((PyArrayObject *)mean), kept, k);
    pack_doubles(j.rstd, PyArray_BYTES((PyArrayObject *)rstd), kept, k);
    made = PyTuple_Pack(3, out, mean, rstd);
  } else if (!PyErr_Occurred())
    PyErr_NoMemory();
  free(memory);
  Py_DECREF(x);
  Py_XDECREF(out);
  Py_XDECREF(mean);
  Py_XDECREF(rstd);
  return made;
}
/* the gradients of gamma and beta from the sums of the segments */
static void channel_sums(const Norm *j, int per_group, PyObject **made, int kept) {
  for (long c = 0; c < j->C; c++) {
    double w = 0, b = 0;
    for (long i = 0; i < j->N; i++) {
      const long s = i * j->C + c, k = per_group ? s / (j->C / j->groups) : c;
      w += j->sum_gx[s] * j->rstd[k];
      b += j->sum_g[s];
    }
    put(PyArray_BYTES((PyArrayObject *)made[1]) + c * item_size[kept], kept, w);
    put(PyArray_BYTES((PyArrayObject *)made[2]) + c * item_size[kept], kept, b);
  }
}
/* grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask */
static PyObject *native_group_norm_backward(PyObject *const *args, Py_ssize_t n) {
  Norm j;
  memset(&j, 0, sizeof j);
  PyArrayObject *g, *x, *mu, *rs, *w;
  int gc, mc, rc, mask[3];
  if (n != 10 || !(g = float_array(args[0], &gc)) || !(x = float_array(args[1], &j.code)) || gc != j.code ||
      !(mu = float_array(args[2], &mc)) || !(rs = float_array(args[3], &rc)) || !count_of(args[5], &j.N) ||
      !count_of(args[6], &j.C) || !count_of(args[7], &j.size) || !count_of(args[8], &j.groups) || !masked(args[9], mask) ||
      !parameter(args[4], j.code, j.C, &w, &j.wc) || !PyArray_SIZE(x) || PyArray_SIZE(g) != PyArray_SIZE(x) ||
      j.N * j.C * j.size != PyArray_SIZE(x) || j.groups < 1 || j.C % j.groups || !contiguous(mu) || !contiguous(rs) ||
      PyArray_SIZE(mu) != j.N * j.groups || PyArray_SIZE(rs) != j.N * j.groups || other_format(x))
    return refuse();
  const int kept = w ? j.wc : j.code;
  const npy_intp dims[1] = {j.C};
  const long k = j.N * j.groups;
  if (!(x = row_major(x))) return NULL;
  if (!(g = row_major(g))) {
    Py_DECREF(x);
    return NULL;
  }
  PyObject *made[3] = {new_array(j.code, PyArray_NDIM(x), PyArray_DIMS(x)), new_array(kept, 1, dims), new_array(kept, 1, dims)},
           *result = NULL;
  double *memory = malloc(sizeof(double) * 2 * (k + j.N * j.C));
  if (made[0] && made[1] && made[2] && memory) {
    j.wide = type_of(j.code);
    j.want = mask[0];
    j.x = PyArray_BYTES(x);
    j.g = PyArray_BYTES(g);
    j.out = PyArray_BYTES((PyArrayObject *)made[0]);
    j.w = w ? PyArray_BYTES(w) : NULL;
    j.mean = memory;
    j.rstd = memory + k;
    j.sum_g = memory + 2 * k;
    j.sum_gx = j.sum_g + j.N * j.C;
    for (long i = 0; i < k; i++) {
      j.mean[i] = get(PyArray_BYTES(mu) + i * item_size[mc], mc);
      j.rstd[i] = get(PyArray_BYTES(rs) + i * item_size[rc], rc);
    }
    norm_loops(&j);
    run_norm(group_back, &j, k);
    channel_sums(&j, 1, made, kept);
    result = packed(made, mask);
  } else if (!PyErr_Occurred())
    PyErr_NoMemory();
  free(memory);
  Py_DECREF(x);
  Py_DECREF(g);
  for (int i = 0; i < 3; i++) Py_XDECREF(made[i]);
  return result;
}
/* Channels of few elements each, as one run for every channel: (N, C, size) as (C, N, size), or back. */
#define TURN(S)                                                      \
  for (long i0 = 0; i0 < a; i0 += 16)                                \
    for (long j0 = 0; j0 < b; j0 += 16)                              \
      for (long i = i0, i1 = i0 + 16 < a ? i0 + 16 : a; i < i1; i++) \
        for (long j = j0, j1 = j0 + 16 < b ? j0 + 16 : b; j < j1; j++) ((S *)to)[i * b + j] = ((const S *)from)[j * a + i];
static void turn_channels(char *to, char *from, int code, long a, long b, long size) {
  if (size == 1) {
    switch (item_size[code]) {
    case 4: TURN(uint32_t) break;
    case 8: TURN(uint64_t) break;
    default: TURN(uint16_t)
    }
    return;
  }
  const long item = item_size[code], shape[3] = {a, b, size}, fs[3] = {size * item, a * size * item, item},
             ts[3] = {b * size * item, size * item, item};
  Job j;
  j.f = (PointFn)ENTRY(copy, type_of(code)).f[0];
  j.nop = 2;
  j.nd = 3;
  j.num = NULL;
  j.p[0] = from;
  j.p[1] = to;
  j.t[0] = j.t[1] = (char)code;
  for (int d = 0; d < 3; d++) {
    j.shape[d] = shape[d];
    j.st[0][d] = fs[d];
    j.st[1][d] = ts[d];
  }
  run_point(&j);
}
static PyObject *by_channel(PyArrayObject *x, Norm *j) {
  const npy_intp dims[3] = {j->C, j->N, j->size};
  PyObject *made = new_array(j->code, 3, dims);
  if (made) turn_channels(PyArray_BYTES((PyArrayObject *)made), PyArray_BYTES(x), j->code, j->C, j->N, j->size);
  return made;
}
#define BRIEF 16
static int batch_shape(PyArrayObject *x, Norm *j) {
  const int nd = PyArray_NDIM(x);
  if (nd < 2 || !PyArray_SIZE(x)) return 0;
  j->N = PyArray_DIM(x, 0);
  j->C = PyArray_DIM(x, 1);
  j->size = PyArray_SIZE(x) / j->N / j->C;
  j->groups = 1;
  if (nd < 4 || PyArray_IS_C_CONTIGUOUS(x) || PyArray_STRIDE(x, 1) != PyArray_ITEMSIZE(x)) return 1;
  /* images and volumes with their channels innermost, whose results are like that: matrices, unless they have gaps */
  npy_intp step = PyArray_ITEMSIZE(x) * j->C;
  for (int d = nd - 1; d >= 0; d -= d == 2 ? 2 : 1) {
    if (PyArray_STRIDE(x, d) != step || (d > 1 && PyArray_DIM(x, d) < 2)) return 0;
    step *= PyArray_DIM(x, d);
  }
  j->N *= j->size;
  j->size = 1;
  return j->C >= 4;
}
/* Images with their channels innermost as the matrix that they are, and a new array of their strides. */
static PyArrayObject *as_matrix(PyArrayObject *x, const Norm *j) {
  const int nd = PyArray_NDIM(x);
  npy_intp order[MAXD], dims[2] = {j->N, j->C};
  for (int d = 0; d < nd; d++) order[d] = d == nd - 1 ? 1 : d ? d + 1 : 0;
  PyArray_Dims by = {order, nd}, shape = {dims, 2};
  PyArrayObject *turned = (PyArrayObject *)PyArray_Transpose(x, &by), *rows = NULL;
  if (turned) {
    rows = row_major(turned);
    Py_DECREF(turned);
  }
  if (!rows) return NULL;
  turned = (PyArrayObject *)PyArray_Newshape(rows, &shape, NPY_CORDER);
  Py_DECREF(rows);
  return turned;
}
static PyObject *like_images(PyArrayObject *x) {
  PyArray_Descr *descr = PyArray_DESCR(x);
  Py_INCREF(descr);
  return PyArray_NewFromDescr(&PyArray_Type, descr, PyArray_NDIM(x), PyArray_DIMS(x), PyArray_STRIDES(x), NULL, 0, NULL);
}
#define IS_TURNED(j, x) ((j).size == 1 && (j).N * (j).C == PyArray_SIZE(x) && (j).N != PyArray_DIM(x, 0))
/* Channels of one element for each example, the columns of a matrix: reduced down the columns, computed row by row. */
static int column_sums(const Info *I, const Entry *E, const Norm *j, PyArrayObject *const *a, double *to) {
  char marked[MAXD + 1];
  for (int d = 0; d < PyArray_NDIM(a[0]); d++) marked[d] = d != 1;
  PyArrayObject *made = (PyArrayObject *)reduce_arrays(I, E, a, marked, 1, j->code, j->wide, F64, NULL);
  if (!made || (PyObject *)made == Py_None) {
    PyErr_Clear();
    Py_XDECREF(made);
    return 0;
  }
  memcpy(to, PyArray_DATA(made), sizeof(double) * j->C);
  Py_DECREF(made);
  return 1;
}
static PyArrayObject *means_of(const Norm *j, int nd) { /* as the loops read them */
  npy_intp dims[MAXD];
  for (int d = 0; d < nd; d++) dims[d] = d == 1 ? j->C : 1;
  PyArrayObject *made = (PyArrayObject *)new_array(j->wide ? F64 : F32, nd, dims);
  if (made) pack_doubles(j->mean, PyArray_BYTES(made), j->wide ? F64 : F32, j->C);
  return made;
}
static int columns_centre(Norm *j, PyArrayObject *x) {
  PyArrayObject *a[2] = {x, NULL};
  if (!column_sums(infos + IN_mean, &ENTRY(mean, 0), j, a, j->mean) || !(a[1] = means_of(j, PyArray_NDIM(x)))) return 0;
  const int done = column_sums(infos + IN_deviation, &ENTRY(deviation, 0), j, a, j->var);
  for (long c = 0; c < j->C; c++) {
    const double off = j->mean[c] - (j->wide ? j->mean[c] : (double)(float)j->mean[c]),
                 var = j->var[c] / (double)j->N - off * off;
    j->var[c] = var < 0 ? 0 : var;
    j->rstd[c] = 1 / __builtin_sqrt(j->var[c] + j->eps);
  }
  Py_DECREF(a[1]);
  return done;
}
/* the columns' numbers, `count` to each, as operands from `first` on; the arrays before them and the result are matrices.
   Short rows are joined to longer ones, for which the numbers are repeated. */
static int columns_run(const Norm *j, LineFn f, char *const *arrays, int first, double *const *numbers, int count) {
  const int code = j->wide ? F64 : F32, size = item_size[code];
  const long joined = j->C < 128 && j->N >= 64 ? 256 / j->C : 1, each = joined * j->C;
  char *memory = malloc((size_t)count * each * size);
  if (!memory) return 0;
  for (int i = 0; i < count; i++)
    for (long k = 0; k < joined; k++) pack_doubles(numbers[i], memory + (i * each + k * j->C) * size, code, j->C);
  int done = 1;
  for (int rest = 0; rest < 2 && done; rest++) { /* whole rows, then what is left */
    Lines l;
    memset(&l, 0, sizeof l);
    l.f = f;
    l.nop = first + count + 1;
    l.nd = 1;
    l.wide = j->wide;
    l.n = rest ? j->N % joined * j->C : each;
    l.rows = l.shape[0] = rest ? 1 : j->N / joined;
    if (!l.n) break;
    for (int o = 0; o < l.nop; o++) {
      const int number = o >= first && o < first + count;
      l.t[o] = (char)(number ? code : j->code);
      l.cs[o] = item_size[(int)l.t[o]];
      l.st[o][0] = number ? 0 : each * l.cs[o];
      l.p[o] = number ? memory + (size_t)(o - first) * each * size
                      : arrays[o < first ? o : first] + (rest ? j->N / joined * each * l.cs[o] : 0);
    }
    done = run_lines(&l, 0) == 0;
  }
  free(memory);
  return done;
}
static int columns_forward(Norm *j, PyArrayObject *x) {
  if (j->training && !columns_centre(j, x)) return 0;
  double *a = malloc(sizeof(double) * 2 * j->C), *b = a + j->C;
  if (!a) return 0;
  for (long c = 0; c < j->C; c++) {
    a[c] = j->rstd[c] * parameter_at(j->w, j->wc, c, 1);
    b[c] = parameter_at(j->b, j->bc, c, 0);
  }
  char *arrays[2] = {j->x, j->out};
  double *numbers[3] = {j->mean, a, b};
  const int done = columns_run(j, (LineFn)ENTRY(shifted, j->wide).f[0], arrays, 1, numbers, 3);
  free(a);
  return done;
}
static int columns_back(Norm *j, PyArrayObject *x, PyArrayObject *g) {
  PyArrayObject *a[3] = {g, x, means_of(j, PyArray_NDIM(x))};
  if (!a[2]) return 0;
  int done = column_sums(infos + IN_sum, &ENTRY(sum, 0), j, a, j->sum_g) &&
             column_sums(infos + IN_products, &ENTRY(products, 0), j, a, j->sum_gx);
  if (done && j->want) {
    double *s = malloc(sizeof(double) * 3 * j->C);
    done = s != NULL;
    for (long c = 0; done && c < j->C; c++) {
      const double r = j->rstd[c], w = parameter_at(j->w, j->wc, c, 1),
                   off = j->mean[c] - (j->wide ? j->mean[c] : (double)(float)j->mean[c]),
                   sum = j->sum_gx[c] - off * j->sum_g[c];
      s[c] = r * w;
      s[j->C + c] = j->training ? -r * r * r * w * sum / (double)j->N : 0;
      s[2 * j->C + c] = j->training ? -r * w * j->sum_g[c] / (double)j->N : 0;
    }
    char *arrays[3] = {j->g, j->x, j->out};
    double *numbers[4] = {j->mean, s, s + j->C, s + 2 * j->C};
    done = done && columns_run(j, (LineFn)ENTRY(slopes, j->wide).f[0], arrays, 2, numbers, 4);
    free(s);
  }
  Py_DECREF(a[2]);
  return done;
}
#define IS_MATRIX(j, x) ((j).size == 1 && (j).N > 1 && (j).C >= 4 && PyArray_NDIM(x) <= MAXD)
/* input, weight, bias, running_mean, running_var, training, momentum, eps */
static PyObject *native_batch_norm(PyObject *const *args, Py_ssize_t n) {
  Norm j;
  memset(&j, 0, sizeof j);
  PyArrayObject *x, *w, *b, *rm, *rv;
  int mc, vc;
  double momentum;
  if (n != 8 || !(x = float_array(args[0], &j.code)) || !batch_shape(x, &j) || !parameter(args[1], j.code, j.C, &w, &j.wc) ||
      !parameter(args[2], j.code, j.C, &b, &j.bc) || !parameter(args[3], j.code, j.C, &rm, &mc) ||
      !parameter(args[4], j.code, j.C, &rv, &vc) || !real_number(args[6], &momentum) || !real_number(args[7], &j.eps))
    return refuse();
  j.training = args[5] == Py_True;
  if (!j.training && (args[5] != Py_False || !rm || !rv)) return refuse();
  const int kept = w ? j.wc : b ? j.bc : rm ? mc : j.code;
  const npy_intp dims[1] = {j.training ? j.C : 0};
  const long k = j.C;
  PyArrayObject *images_last = IS_TURNED(j, x) ? x : NULL;
  if (!(x = images_last ? as_matrix(x, &j) : row_major(x))) return NULL;
  PyObject *out = images_last ? like_images(images_last) : new_array(j.code, PyArray_NDIM(x), PyArray_DIMS(x)),
           *mean = new_array(kept, 1, dims), *rstd = new_array(kept, 1, dims), *made = NULL;
  double *memory = malloc(sizeof(double) * 3 * k);
  if (out && mean && rstd && memory) {
    j.wide = type_of(j.code);
    j.x = PyArray_BYTES(x);
    j.out = PyArray_BYTES((PyArrayObject *)out);
    j.w = w ? PyArray_BYTES(w) : NULL;
    j.b = b ? PyArray_BYTES(b) : NULL;
    j.mean = memory;
    j.rstd = memory + k;
    j.var = memory + 2 * k;
    const long images = j.N, size = j.size;
    PyObject *turned = NULL;
    const int matrix = IS_MATRIX(j, x);
    if (!matrix && j.size < BRIEF && j.N > 1 && j.C > 1 && (turned = by_channel(x, &j))) {
      j.x = j.out = PyArray_BYTES((PyArrayObject *)turned);
      j.size *= j.N;
      j.N = 1;
    }
    if (!j.training)
      for (long c = 0; c < k; c++) {
        j.mean[c] = get(PyArray_BYTES(rm) + c * item_size[mc], mc);
        j.rstd[c] = 1 / __builtin_sqrt(get(PyArray_BYTES(rv) + c * item_size[vc], vc) + j.eps);
      }
    norm_loops(&j);
    if (!matrix || !columns_forward(&j, x)) run_norm(batch_forward, &j, k);
    if (turned) {
      turn_channels(PyArray_BYTES((PyArrayObject *)out), j.out, j.code, images, j.C, size);
      Py_DECREF(turned);
    }
    if (j.training) {
      pack_doubles(j.mean, PyArray_BYTES((PyArrayObject *)mean), kept, k);
      pack_doubles(j.rstd, PyArray_BYTES((PyArrayObject *)rstd), kept, k);
      const double count = (double)j.N * j.size;
      for (long c = 0; c < k; c++) {
        if (rm) {
          char *p = PyArray_BYTES(rm) + c * item_size[mc];
          put(p, mc, momentum * j.mean[c] + (1 - momentum) * get(p, mc));
        }
        if (rv) {
          char *p = PyArray_BYTES(rv) + c * item_size[vc];
          put(p, vc, momentum * (count > 1 ? j.var[c] * count / (count - 1) : Py_NAN) + (1 - momentum) * get(p, vc));
        }
      }
    }
    made = PyTuple_Pack(3, out, mean, rstd);
  } else if (!PyErr_Occurred())
    PyErr_NoMemory();
  free(memory);
  Py_DECREF(x);
  Py_XDECREF(out);
  Py_XDECREF(mean);
  Py_XDECREF(rstd);
  return made;
}
/* input, weight, bias, training, momentum, eps: without statistics that are kept */
static PyObject *native_batch_norm_alone(PyObject *const *args, Py_ssize_t n) {
  if (n != 6) return refuse();
  PyObject *whole[8] = {args[0], args[1], args[2], Py_None, Py_None, args[3], args[4], args[5]};
  return native_batch_norm(whole, 8);
}
/* grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask */
static PyObject *native_batch_norm_backward(PyObject *const *args, Py_ssize_t n) {
  Norm j;
  memset(&j, 0, sizeof j);
  PyArrayObject *g, *x, *w, *mu, *rs;
  int gc, mc, rc, mask[3];
  if (n != 10 || !(g = float_array(args[0], &gc)) || !(x = float_array(args[1], &j.code)) || gc != j.code ||
      !batch_shape(x, &j) || PyArray_SIZE(g) != PyArray_SIZE(x) || !parameter(args[2], j.code, j.C, &w, &j.wc) ||
      !real_number(args[8], &j.eps) || !masked(args[9], mask))
    return refuse();
  j.training = args[7] == Py_True;
  if (!j.training && args[7] != Py_False) return refuse();
  if (!parameter(args[j.training ? 5 : 3], j.code, j.C, &mu, &mc) ||
      !parameter(args[j.training ? 6 : 4], j.code, j.C, &rs, &rc) || !mu || !rs)
    return refuse();
  const int kept = w ? j.wc : j.code;
  const npy_intp dims[1] = {j.C};
  const long k = j.C;
  PyArrayObject *images_last = IS_TURNED(j, x) ? x : NULL;
  if (images_last && (PyArray_NDIM(g) != PyArray_NDIM(x) ||
                      memcmp(PyArray_DIMS(g), PyArray_DIMS(x), PyArray_NDIM(x) * sizeof(npy_intp))))
    return refuse();
  if (!(x = images_last ? as_matrix(x, &j) : row_major(x))) return NULL;
  if (!(g = images_last ? as_matrix(g, &j) : row_major(g))) {
    Py_DECREF(x);
    return NULL;
  }
  PyObject *made[3] = {images_last ? like_images(images_last) : new_array(j.code, PyArray_NDIM(x), PyArray_DIMS(x)),
                       new_array(kept, 1, dims), new_array(kept, 1, dims)},
           *result = NULL;
  double *memory = malloc(sizeof(double) * 2 * (k + j.N * j.C));
  if (made[0] && made[1] && made[2] && memory) {
    j.wide = type_of(j.code);
    j.want = mask[0];
    j.x = PyArray_BYTES(x);
    j.g = PyArray_BYTES(g);
    j.out = PyArray_BYTES((PyArrayObject *)made[0]);
    j.w = w ? PyArray_BYTES(w) : NULL;
    j.mean = memory;
    j.rstd = memory + k;
    j.sum_g = memory + 2 * k;
    j.sum_gx = j.sum_g + j.N * j.C;
    for (long c = 0; c < k; c++) {
      j.mean[c] = get(PyArray_BYTES(mu) + c * item_size[mc], mc);
      const double v = get(PyArray_BYTES(rs) + c * item_size[rc], rc);
      j.rstd[c] = j.training ? v : 1 / __builtin_sqrt(v + j.eps);
    }
    const long images = j.N, size = j.size;
    PyObject *turned[2] = {NULL, NULL};
    const int matrix = IS_MATRIX(j, x) && columns_back(&j, x, g);
    if (matrix)
      j.N = 1; /* one sum for each channel */
    else if (j.size < BRIEF && j.N > 1 && j.C > 1 && (turned[0] = by_channel(x, &j)) && (turned[1] = by_channel(g, &j))) {
      j.x = PyArray_BYTES((PyArrayObject *)turned[0]);
      j.g = j.out = PyArray_BYTES((PyArrayObject *)turned[1]);
      j.size *= j.N;
      j.N = 1;
    }
    norm_loops(&j);
    if (!matrix) run_norm(batch_back, &j, k);
    channel_sums(&j, 0, made, kept);
    if (turned[1] && mask[0]) turn_channels(PyArray_BYTES((PyArrayObject *)made[0]), j.out, j.code, images, j.C, size);
    Py_XDECREF(turned[0]);
    Py_XDECREF(turned[1]);
    result = packed(made, mask);
  } else if (!PyErr_Occurred())
    PyErr_NoMemory();
  free(memory);
  Py_DECREF(x);
  Py_DECREF(g);
  for (int i = 0; i < 3; i++) Py_XDECREF(made[i]);
  return result;
}

#include "lists.h"
#include "scan.h"
#include "views.h"
#include "writes.h"
#include "moves.h"
#include "nll.h"
#include "recurrences.h"
#include "gate.h"
static const struct {
  const char *name;
  Native function;
} by_hand[] = {{"var", native_var},
               {"std", native_std},
               {"var_mean", native_var_mean},
               {"std_mean", native_std_mean},
               {"layer_norm", native_layer_norm},
               {"layer_norm_backward", native_layer_norm_backward},
               {"group_norm", native_group_norm},
               {"group_norm_backward", native_group_norm_backward},
               {"batch_norm_alone", native_batch_norm_alone},
               {"batch_norm", native_batch_norm},
               {"batch_norm_backward", native_batch_norm_backward},
               {"cumsum", native_cumsum},
               {"cumprod", native_cumprod},
               {"cummax", native_cummax},
               {"cummin", native_cummin},
               {"alias", native_alias},
               {"transpose", native_transpose},
               {"t", native_t},
               {"permute", native_permute},
               {"squeeze", native_squeeze},
               {"unsqueeze", native_unsqueeze},
               {"expand", native_expand},
               {"view", native_view},
               {"as_strided", native_as_strided},
               {"select", native_select},
               {"slice", native_slice},
               {"diagonal", native_diagonal},
               {"unfold", native_unfold},
               {"unbind", native_unbind},
               {"split", native_split},
               {"split_with_sizes", native_split_with_sizes},
               {"view_as_real", native_view_as_real},
               {"view_as_complex", native_view_as_complex},
               {"clone", native_clone},
               {"to_copy", native_to_copy},
               {"copy_", native_copy_},
               {"zero_", native_zero_},
               {"fill_", native_fill_},
               {"fill", native_fill},
               {"nll_loss", native_nll_loss},
               {"nll_loss_backward", native_nll_loss_backward},
               {"cat", native_cat},
               {"stack", native_stack},
               {"flip", native_flip},
               {"roll", native_roll},
               {"pixel_shuffle", native_pixel_shuffle},
               {"pixel_unshuffle", native_pixel_unshuffle},
               {"channel_shuffle", native_channel_shuffle},
               {"constant_pad_nd", native_constant_pad_nd},
               {"select_scatter", native_select_scatter},
               {"slice_scatter", native_slice_scatter},
               {"diagonal_scatter", native_diagonal_scatter},
               {"index_select", native_index_select},
               {"take", native_take},
               {"index_fill", native_index_fill},
               {"index_copy", native_index_copy},
               {"index_add", native_index_add},
               {"index_put", native_index_put},
               {"put", native_put},
               {"trace", native_trace},
               {"diag_embed", native_diag_embed},
               {"glu", native_glu},
               POLYNOMIALS(POLYNOMIAL_ROW){NULL, NULL}};
