/* Elements in other places: turned round, moved on, picked, written over a part. New arrays, where few elements move; for
   many the kernels in Python use threads. Arguments come as the op's, in schema order; what is unusual is refused. */
static int is_by_rows(PyObject *o) {
  if (!is_array(o) || !PyArray_SIZE((PyArrayObject *)o) || !row_major_strides((PyArrayObject *)o)) return 0;
  PyArrayObject *a = (PyArrayObject *)o;
  return PyArray_NDIM(a) < MAXD && PyArray_ISALIGNED(a) && !PyDataType_REFCHK(PyArray_DESCR(a));
}
static int is_simple(PyObject *o) { return few_elements(o) && is_by_rows(o); }
static PyArrayObject *alike(PyArrayObject *a, int nd, const npy_intp *dims) {
  PyArray_Descr *type = PyArray_DESCR(a);
  Py_INCREF(type);
  return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, type, nd, (npy_intp *)dims, NULL, NULL, 0, NULL);
}
/* one run of bytes, without a call where it is short */
static inline void copy_run(char *to, const char *from, npy_intp n) {
#define ENDS(W)                      \
  {                                  \
    memcpy(to, from, W);             \
    memcpy(to + n - W, from + n - W, W); \
  }
  if (n > 32 || n < 4)
    memcpy(to, from, n);
  else if (n >= 16)
    ENDS(16)
  else if (n >= 8)
    ENDS(8)
  else
    ENDS(4)
#undef ENDS
}
/* items of one size over two dimensions, the longer one innermost */
#define CELLS(W)                                                                     \
  for (npy_intp i = 0; i < m; i++)                                                   \
    for (npy_intp k = 0; k < n; k++) memcpy(to + i * t0 + k * t, from + i * f0 + k * f, W); \
  break;
static void cells(npy_intp m, npy_intp n, char *to, npy_intp t0, npy_intp t, const char *from, npy_intp f0, npy_intp f,
                  npy_intp item) {
  if (m > n) {
    const npy_intp size = m, ts = t0, fs = f0;
    m = n;
    n = size;
    t0 = t;
    t = ts;
    f0 = f;
    f = fs;
  }
  switch (item) {
  case 4:
    if (t == 4 && f == -4)
      for (npy_intp i = 0; i < m; i++)
        for (npy_intp k = 0; k < n; k++) memcpy(to + i * t0 + 4 * k, from + i * f0 - 4 * k, 4);
    else
      CELLS(4)
    break;
  case 8: CELLS(8)
  case 2: CELLS(2)
  case 1: CELLS(1)
  default: CELLS(item)
  }
}
#undef CELLS
static void carry(int nd, const npy_intp *size, char *to, const npy_intp *ts, const char *from, const npy_intp *fs,
                  npy_intp item) {
  if (nd == 0)
    memcpy(to, from, item);
  else if (ts[nd - 1] == item && fs[nd - 1] == item) { /* runs of items */
    const npy_intp n = nd > 1 ? size[nd - 2] : 1, run = size[nd - 1] * item;
    if (nd > 2)
      for (npy_intp i = 0; i < *size; i++) carry(nd - 1, size + 1, to + i * *ts, ts + 1, from + i * *fs, fs + 1, item);
    else
      for (npy_intp i = 0; i < n; i++) copy_run(to + i * *ts, from + i * *fs, run);
  } else if (nd == 1)
    cells(1, *size, to, 0, *ts, from, 0, *fs, item);
  else if (nd == 2)
    cells(*size, size[1], to, *ts, ts[1], from, *fs, fs[1], item);
  else
    for (npy_intp i = 0; i < *size; i++) carry(nd - 1, size + 1, to + i * *ts, ts + 1, from + i * *fs, fs + 1, item);
}
static void steps_of(int nd, const npy_intp *size, npy_intp item, npy_intp *steps) {
  for (int i = nd - 1; i >= 0; i--) {
    steps[i] = item;
    item *= size[i];
  }
}
static npy_intp product(const npy_intp *size, int from, int to) {
  npy_intp n = 1;
  for (int i = from; i < to; i++) n *= size[i];
  return n;
}

/* ---- in another order */
static PyObject *native_flip(PyObject *const *args, Py_ssize_t n) { /* self, dims */
  Geometry g;
  npy_intp dims[MAXD], steps[MAXD];
  int k;
  unsigned turned = 0;
  if (n != 2 || !is_simple(args[0]) || !geometry_of(args[0], &g) || !ints_of(args[1], dims, &k)) return refuse();
  for (int i = 0; i < k; i++) {
    const npy_intp d = dims[i] < 0 ? dims[i] + g.n : dims[i];
    if (d < 0 || d >= g.n || turned >> d & 1) return refuse();
    turned |= 1u << d;
  }
  PyArrayObject *a = (PyArrayObject *)args[0], *made = alike(a, g.n, g.size);
  if (!made) return NULL;
  const char *from = PyArray_BYTES(a);
  memcpy(steps, g.step, sizeof steps);
  for (int d = 0; d < g.n; d++)
    if (turned >> d & 1) {
      from += (g.size[d] - 1) * g.step[d];
      g.step[d] = -g.step[d];
    }
  carry(g.n, g.size, PyArray_BYTES(made), steps, from, g.step, PyArray_ITEMSIZE(a));
  return (PyObject *)made;
}
static void roll_from(const Geometry *g, int d, const npy_intp *shift, npy_intp *size, char *to, const char *from,
                      npy_intp item) {
  if (d == g->n) {
    carry(g->n, size, to, g->step, from, g->step, item);
    return;
  }
  const npy_intp n = g->size[d], k = shift[d];
  if (n - k) {
    size[d] = n - k;
    roll_from(g, d + 1, shift, size, to + k * g->step[d], from, item);
  }
  if (k) {
    size[d] = k;
    roll_from(g, d + 1, shift, size, to, from + (n - k) * g->step[d], item);
  }
}
static PyObject *native_roll(PyObject *const *args, Py_ssize_t n) { /* self, shifts, dims */
  Geometry g;
  npy_intp by[MAXD], dims[MAXD], shift[MAXD] = {0}, size[MAXD];
  int k, m = 0, moved = 0;
  if (n < 2 || n > 3 || !is_simple(args[0]) || !geometry_of(args[0], &g) || !g.n || !ints_of(args[1], by, &k) ||
      (n > 2 && !ints_of(args[2], dims, &m)))
    return refuse();
  PyArrayObject *a = (PyArrayObject *)args[0];
  const int nd = g.n;
  if (!m && k != 1) return refuse();
  if (!m) {
    g.size[0] = PyArray_SIZE(a);
    g.step[0] = PyArray_ITEMSIZE(a);
    g.n = 1;
    dims[0] = 0;
    m = 1;
  }
  if (k != m) return refuse();
  for (int i = 0; i < m; i++) {
    const npy_intp d = dims[i] < 0 ? dims[i] + g.n : dims[i];
    if (d < 0 || d >= g.n) return refuse();
    const npy_intp s = g.size[d], r = by[i] % s;
    shift[d] = (shift[d] + r + s) % s;
  }
  for (int d = 0; d < g.n; d++) moved += shift[d] != 0;
  if (moved > 4) return refuse();
  PyArrayObject *made = alike(a, nd, PyArray_DIMS(a));
  if (!made) return NULL;
  roll_from(&g, 0, shift, size, PyArray_BYTES(made), PyArray_BYTES(a), PyArray_ITEMSIZE(a));
  return (PyObject *)made;
}
/* The array split into more dims and read in another order of them. */
static PyObject *regrouped(PyArrayObject *a, int k, const npy_intp *split, const int *order, int nd, const npy_intp *dims) {
  npy_intp steps[MAXD], size[MAXD], ts[MAXD], fs[MAXD];
  steps_of(k, split, PyArray_ITEMSIZE(a), steps);
  for (int i = 0; i < k; i++) {
    size[i] = split[order[i]];
    fs[i] = steps[order[i]];
  }
  steps_of(k, size, PyArray_ITEMSIZE(a), ts);
  PyArrayObject *made = alike(a, nd, dims);
  if (made) carry(k, size, PyArray_BYTES(made), ts, PyArray_BYTES(a), fs, PyArray_ITEMSIZE(a));
  return (PyObject *)made;
}
static PyObject *shuffle(PyObject *const *args, Py_ssize_t n, int back) { /* self, factor */
  npy_intp r, dims[MAXD];
  if (n != 2 || !is_simple(args[0]) || !int_of(args[1], &r) || r < 1) return refuse();
  PyArrayObject *a = (PyArrayObject *)args[0];
  const int nd = PyArray_NDIM(a);
  if (nd < 3) return refuse();
  memcpy(dims, PyArray_DIMS(a), nd * sizeof(npy_intp));
  const npy_intp c = dims[nd - 3], h = dims[nd - 2], w = dims[nd - 1], lead = product(dims, 0, nd - 3);
  if (r > 1000 || (back ? h % r || w % r : c % (r * r))) return refuse();
  dims[nd - 3] = back ? c * r * r : c / (r * r);
  dims[nd - 2] = back ? h / r : h * r;
  dims[nd - 1] = back ? w / r : w * r;
  const npy_intp apart[6] = {lead, c / (r * r), r, r, h, w}, whole[6] = {lead, c, h / r, r, w / r, r};
  const int out[6] = {0, 1, 4, 2, 5, 3}, in[6] = {0, 1, 3, 5, 2, 4};
  return regrouped(a, 6, back ? whole : apart, back ? in : out, nd, dims);
}
static PyObject *native_pixel_shuffle(PyObject *const *args, Py_ssize_t n) { return shuffle(args, n, 0); }
static PyObject *native_pixel_unshuffle(PyObject *const *args, Py_ssize_t n) { return shuffle(args, n, 1); }
static PyObject *native_channel_shuffle(PyObject *const *args, Py_ssize_t n) { /* self, groups */
  npy_intp groups;
  if (n != 2 || !is_simple(args[0]) || !int_of(args[1], &groups) || groups < 1) return refuse();
  PyArrayObject *a = (PyArrayObject *)args[0];
  const int nd = PyArray_NDIM(a);
  if (nd < 3 || PyArray_DIM(a, 1) % groups) return refuse();
  const npy_intp split[4] = {PyArray_DIM(a, 0), groups, PyArray_DIM(a, 1) / groups, product(PyArray_DIMS(a), 2, nd)};
  const int order[4] = {0, 2, 1, 3};
  return regrouped(a, 4, split, order, nd, PyArray_DIMS(a));
}
static PyObject *native_constant_pad_nd(PyObject *const *args, Py_ssize_t n) { /* self, pad, value */
  Geometry g;
  npy_intp pad[2 * MAXD], dims[MAXD], steps[MAXD];
  static PyObject *zero;
  PyObject *list;
  Py_ssize_t k;
  if (n < 2 || n > 3 || !is_simple(args[0]) || !geometry_of(args[0], &g) ||
      !(PyTuple_CheckExact(args[1]) || PyList_CheckExact(args[1])))
    return refuse();
  list = args[1];
  k = PySequence_Fast_GET_SIZE(list);
  if (k % 2 || k > 2 * g.n) return refuse();
  int grows = 0;
  for (Py_ssize_t i = 0; i < k; i++) {
    if (!int_of(PySequence_Fast_GET_ITEM(list, i), pad + i)) return refuse();
    grows |= pad[i] > 0;
  }
  if (!grows) return refuse();
  PyArrayObject *a = (PyArrayObject *)args[0];
  memcpy(dims, g.size, sizeof dims);
  npy_intp to[MAXD] = {0}, from[MAXD] = {0};
  for (Py_ssize_t i = 0; i < k / 2; i++) {
    const int d = g.n - 1 - (int)i;
    const npy_intp before = pad[2 * i], after = pad[2 * i + 1], cut = (before < 0 ? -before : 0) + (after < 0 ? -after : 0);
    dims[d] += before + after;
    if (g.size[d] - cut <= 0 || before > FEW || after > FEW) return refuse();
    to[d] = before > 0 ? before : 0;
    from[d] = before < 0 ? -before : 0;
    g.size[d] -= cut;
  }
  npy_intp bytes = PyArray_ITEMSIZE(a);
  for (int d = 0; d < g.n; d++) {
    bytes *= dims[d];
    if (bytes > 4 * FEW) return refuse();
  }
  if (!zero) zero = PyLong_FromLong(0);
  PyArrayObject *made = alike(a, g.n, dims);
  if (!made) return NULL;
  if (!number_into(n > 2 ? args[2] : zero, made)) {
    Py_DECREF(made);
    return refuse();
  }
  steps_of(g.n, dims, PyArray_ITEMSIZE(a), steps);
  char *p = PyArray_BYTES(made);
  const char *q = PyArray_BYTES(a);
  for (int d = 0; d < g.n; d++) {
    p += to[d] * steps[d];
    q += from[d] * g.step[d];
  }
  carry(g.n, g.size, p, steps, q, g.step, PyArray_ITEMSIZE(a));
  return (PyObject *)made;
}

/* ---- a copy in which one part is another array: (self, src, and what the view takes) */
static PyObject *over_part(PyObject *const *args, Py_ssize_t n, Native view, PyObject *const *rest, Py_ssize_t k) {
  if (!is_by_rows(args[0]) || !few_elements(args[1]) || !PyArray_ISALIGNED((PyArrayObject *)args[1])) return refuse();
  PyArrayObject *a = (PyArrayObject *)args[0], *src = (PyArrayObject *)args[1];
  if (PyArray_DESCR(a) != PyArray_DESCR(src) || PyArray_NDIM(src) > MAXD) return refuse();
  PyArrayObject *made = alike(a, PyArray_NDIM(a), PyArray_DIMS(a));
  if (!made) return NULL;
  PyObject *given[8] = {(PyObject *)made};
  for (Py_ssize_t i = 0; i < k; i++) given[i + 1] = rest[i];
  PyObject *part = view(given, k + 1);
  if (!part) {
    Py_DECREF(made);
    return NULL;
  }
  PyArrayObject *p = (PyArrayObject *)part;
  if (part == Py_None || !PyArray_SAMESHAPE(p, src)) {
    Py_DECREF(part);
    Py_DECREF(made);
    return refuse();
  }
  move_bytes(PyArray_BYTES(made), PyArray_BYTES(a), PyArray_NBYTES(a));
  carry(PyArray_NDIM(src), PyArray_DIMS(src), PyArray_BYTES(p), PyArray_STRIDES(p), PyArray_BYTES(src), PyArray_STRIDES(src),
        PyArray_ITEMSIZE(src));
  Py_DECREF(part);
  return (PyObject *)made;
}
static PyObject *numbers[2]; /* 0 and 1 */
static void make_numbers(void) {
  if (!numbers[0]) {
    numbers[0] = PyLong_FromLong(0);
    numbers[1] = PyLong_FromLong(1);
  }
}
static PyObject *native_select_scatter(PyObject *const *args, Py_ssize_t n) {
  return n == 4 ? over_part(args, n, native_select, args + 2, 2) : refuse();
}
static PyObject *native_slice_scatter(PyObject *const *args, Py_ssize_t n) {
  make_numbers();
  PyObject *rest[4] = {numbers[0], Py_None, Py_None, numbers[1]};
  if (n < 2 || n > 6) return refuse();
  for (Py_ssize_t i = 2; i < n; i++) rest[i - 2] = args[i];
  return over_part(args, n, native_slice, rest, 4);
}
static PyObject *native_diagonal_scatter(PyObject *const *args, Py_ssize_t n) {
  make_numbers();
  PyObject *rest[3] = {numbers[0], numbers[0], numbers[1]};
  if (n < 2 || n > 5) return refuse();
  for (Py_ssize_t i = 2; i < n; i++) rest[i - 2] = args[i];
  return over_part(args, n, native_diagonal, rest, 3);
}

/* ---- by positions along a dimension: a vector of int64, all within range */
static const int64_t *places_of(PyObject *o, npy_intp size, npy_intp least, npy_intp *count) {
  if (!is_array(o)) return NULL;
  PyArrayObject *a = (PyArrayObject *)o;
  if (code_of(a) != I64 || !contiguous(a) || !PyArray_ISALIGNED(a) || PyArray_SIZE(a) > FEW) return NULL;
  const int64_t *p = PyArray_DATA(a);
  *count = PyArray_SIZE(a);
  for (npy_intp i = 0; i < *count; i++)
    if (p[i] < least || p[i] >= size) return NULL;
  return p;
}
static PyObject *native_index_select(PyObject *const *args, Py_ssize_t n) { /* self, dim, index */
  Geometry g;
  int d;
  npy_intp count;
  const int64_t *at;
  if (n != 3 || !is_by_rows(args[0]) || !geometry_of(args[0], &g) || !dim_of(args[1], g.n, &d) ||
      !(at = places_of(args[2], g.size[d], 0, &count)) || PyArray_NDIM((PyArrayObject *)args[2]) > 1 || !count)
    return refuse();
  PyArrayObject *a = (PyArrayObject *)args[0];
  const npy_intp outer = product(g.size, 0, d), size = g.size[d], run = g.step[d];
  if (outer * count * run > 4 * FEW) return refuse();
  g.size[d] = count;
  PyArrayObject *made = alike(a, g.n, g.size);
  if (!made) return NULL;
  char *to = PyArray_BYTES(made);
  const char *from = PyArray_BYTES(a);
  for (npy_intp k = 0; k < outer; k++, from += size * run)
    for (npy_intp i = 0; i < count; i++, to += run) copy_run(to, from + at[i] * run, run);
  return (PyObject *)made;
}
static PyObject *native_take(PyObject *const *args, Py_ssize_t n) { /* self, index: as if it were a vector */
  npy_intp count, size;
  const int64_t *at;
  if (n != 2 || !is_by_rows(args[0]) || !few_elements(args[1]) || !row_major_strides((PyArrayObject *)args[1])) return refuse();
  PyArrayObject *a = (PyArrayObject *)args[0];
  size = PyArray_SIZE(a);
  if (!(at = places_of(args[1], size, -size, &count))) return refuse();
  PyArrayObject *made = alike(a, PyArray_NDIM((PyArrayObject *)args[1]), PyArray_DIMS((PyArrayObject *)args[1]));
  if (!made) return NULL;
  const npy_intp item = PyArray_ITEMSIZE(a);
  char *to = PyArray_BYTES(made);
  const char *from = PyArray_BYTES(a);
  for (npy_intp i = 0; i < count; i++) memcpy(to + i * item, from + (at[i] < 0 ? at[i] + size : at[i]) * item, item);
  return (PyObject *)made;
}
/* A copy with rows filled with a number, replaced by those of another array, or with these added. */
static PyObject *with_rows(PyObject *const *args, char how) { /* self, dim, index, value or source */
  Geometry g;
  int d;
  npy_intp count;
  const int64_t *at;
  PyArrayObject *source = NULL, *value = NULL;
  if (!is_by_rows(args[0]) || !geometry_of(args[0], &g) || !dim_of(args[1], g.n, &d) ||
      !(at = places_of(args[2], g.size[d], how == 'f' ? -g.size[d] : 0, &count)) ||
      PyArray_NDIM((PyArrayObject *)args[2]) > 1 || !count)
    return refuse();
  PyArrayObject *a = (PyArrayObject *)args[0];
  const int code = code_of(a);
  const npy_intp item = PyArray_ITEMSIZE(a), outer = product(g.size, 0, d), size = g.size[d], run = g.step[d];
  if (how == 'f') {
    if (!(value = alike(a, 0, NULL))) return NULL;
    if (!number_into(args[3], value)) {
      Py_DECREF(value);
      return refuse();
    }
  } else {
    if (!is_simple(args[3])) return refuse();
    source = (PyArrayObject *)args[3];
    if (PyArray_DESCR(source) != PyArray_DESCR(a) || PyArray_NDIM(source) != g.n ||
        (how == '+' && code != F32 && code != F64 && code != I64))
      return refuse();
    for (int i = 0; i < g.n; i++)
      if (PyArray_DIM(source, i) != (i == d ? count : g.size[i])) return refuse();
  }
  PyArrayObject *made = alike(a, g.n, g.size);
  if (!made) {
    Py_XDECREF(value);
    return NULL;
  }
  char *to = PyArray_BYTES(made);
  const char *from = source ? PyArray_BYTES(source) : PyArray_BYTES(value);
  move_bytes(to, PyArray_BYTES(a), PyArray_NBYTES(a));
#define ADD_ROW(T)                                          \
  {                                                         \
    T *p = (T *)q;                                          \
    const T *s = (const T *)from;                           \
    for (npy_intp e = 0; e < run / item; e++) p[e] += s[e]; \
  }
  for (npy_intp k = 0; k < outer; k++, to += size * run)
    for (npy_intp i = 0; i < count; i++) {
      char *q = to + (at[i] < 0 ? at[i] + size : at[i]) * run;
      if (how == 'f') {
        for (npy_intp e = 0; e < run; e += item) memcpy(q + e, from, item);
        continue;
      }
      if (how == '=')
        memcpy(q, from, run);
      else if (code == F32)
        ADD_ROW(float) else if (code == F64) ADD_ROW(double) else ADD_ROW(int64_t) from += run;
    }
  Py_XDECREF(value);
  return (PyObject *)made;
}
static PyObject *native_index_fill(PyObject *const *args, Py_ssize_t n) { return n == 4 ? with_rows(args, 'f') : refuse(); }
static PyObject *native_index_copy(PyObject *const *args, Py_ssize_t n) { return n == 4 ? with_rows(args, '=') : refuse(); }
static PyObject *native_index_add(PyObject *const *args, Py_ssize_t n) {
  return n < 4 || n > 5 || (n == 5 && !(PyLong_CheckExact(args[4]) && PyLong_AsLong(args[4]) == 1)) ? refuse()
                                                                                                    : with_rows(args, '+');
}

/* ---- elements at places that several vectors of positions name together: (self, indices, values, accumulate) */
static PyObject *native_index_put(PyObject *const *args, Py_ssize_t n) {
  Geometry g;
  const int64_t *at[MAXD];
  npy_intp count = -1, length;
  int m = 0;
  if (n < 3 || n > 5 || !is_by_rows(args[0]) || !geometry_of(args[0], &g) || !PyList_CheckExact(args[1]) ||
      !few_elements(args[2]))
    return refuse();
  const int adds = n > 3 && args[3] == Py_True;
  PyArrayObject *a = (PyArrayObject *)args[0], *v = (PyArrayObject *)args[2];
  const int code = code_of(a);
  const Py_ssize_t given = PyList_GET_SIZE(args[1]);
  if (!given || given > g.n) return refuse();
  for (Py_ssize_t i = 0; i < given; i++) {
    PyObject *o = PyList_GET_ITEM(args[1], i);
    if (o == Py_None) {
      for (Py_ssize_t k = i + 1; k < given; k++)
        if (PyList_GET_ITEM(args[1], k) != Py_None) return refuse();
      break;
    }
    if (!is_array(o) || PyArray_NDIM((PyArrayObject *)o) != 1 || !(at[i] = places_of(o, g.size[i], -g.size[i], &length)) ||
        (count >= 0 && length != count))
      return refuse();
    count = length;
    m++;
  }
  if (m < 1 || count < 1 || PyArray_DESCR(v) != PyArray_DESCR(a) || !row_major_strides(v) || !PyArray_ISALIGNED(v) ||
      (adds && code != F32 && code != F64 && code != I64))
    return refuse();
  const npy_intp item = PyArray_ITEMSIZE(a), run = m == g.n ? item : g.step[m - 1];
  const int whole = PyArray_NDIM(v) == g.n - m + 1;
  if (whole) {
    if (PyArray_DIM(v, 0) != count) return refuse();
    for (int d = m; d < g.n; d++)
      if (PyArray_DIM(v, d - m + 1) != g.size[d]) return refuse();
  } else if (PyArray_NDIM(v) || run != item)
    return refuse();
  PyArrayObject *made = alike(a, g.n, g.size);
  if (!made) return NULL;
  char *to = PyArray_BYTES(made);
  const char *from = PyArray_BYTES(v);
  move_bytes(to, PyArray_BYTES(a), PyArray_NBYTES(a));
  for (npy_intp i = 0; i < count; i++, from += whole ? run : 0) {
    char *q = to;
    for (int d = 0; d < m; d++) q += (at[d][i] < 0 ? at[d][i] + g.size[d] : at[d][i]) * g.step[d];
    if (!adds)
      memcpy(q, from, run);
    else if (code == F32)
      ADD_ROW(float) else if (code == F64) ADD_ROW(double) else ADD_ROW(int64_t)
  }
  return (PyObject *)made;
}
static PyObject *native_put(PyObject *const *args, Py_ssize_t n) { /* self, index, source, accumulate: as if it were a vector */
  npy_intp count, size;
  const int64_t *at;
  if (n < 3 || n > 4 || !is_by_rows(args[0]) || !few_elements(args[1]) || !is_simple(args[2])) return refuse();
  PyArrayObject *a = (PyArrayObject *)args[0], *v = (PyArrayObject *)args[2];
  size = PyArray_SIZE(a);
  const int adds = n > 3 && args[3] == Py_True, code = code_of(a);
  if (!(at = places_of(args[1], size, -size, &count)) || PyArray_DESCR(v) != PyArray_DESCR(a) || PyArray_SIZE(v) != count ||
      (adds && code != F32 && code != F64 && code != I64))
    return refuse();
  PyArrayObject *made = alike(a, PyArray_NDIM(a), PyArray_DIMS(a));
  if (!made) return NULL;
  const npy_intp item = PyArray_ITEMSIZE(a), run = item;
  char *to = PyArray_BYTES(made);
  const char *from = PyArray_BYTES(v);
  move_bytes(to, PyArray_BYTES(a), PyArray_NBYTES(a));
  for (npy_intp i = 0; i < count; i++, from += item) {
    char *q = to + (at[i] < 0 ? at[i] + size : at[i]) * item;
    if (!adds)
      memcpy(q, from, item);
    else if (code == F32)
      ADD_ROW(float) else if (code == F64) ADD_ROW(double) else ADD_ROW(int64_t)
  }
  return (PyObject *)made;
}

/* ---- diagonals */
static PyObject *native_trace(PyObject *const *args, Py_ssize_t n) {
  Geometry g;
  if (n != 1 || !is_by_rows(args[0]) || !geometry_of(args[0], &g) || g.n != 2) return refuse();
  PyArrayObject *a = (PyArrayObject *)args[0];
  const int code = code_of(a);
  if (code != F32 && code != F64 && code != I64) return refuse();
  PyObject *made = new_array(code, 0, NULL);
  if (!made) return NULL;
  const npy_intp count = g.size[0] < g.size[1] ? g.size[0] : g.size[1], step = g.size[1] + 1;
  void *to = PyArray_DATA((PyArrayObject *)made);
  const void *from = PyArray_DATA(a);
  double total = 0;
  int64_t whole = 0;
  for (npy_intp i = 0; i < count; i++)
    if (code == F32)
      total += ((const float *)from)[i * step];
    else if (code == F64)
      total += ((const double *)from)[i * step];
    else
      whole += ((const int64_t *)from)[i * step];
  if (code == F32)
    *(float *)to = (float)total;
  else if (code == F64)
    *(double *)to = total;
  else
    *(int64_t *)to = whole;
  return made;
}
static PyObject *native_diag_embed(PyObject *const *args, Py_ssize_t n) { /* self, offset, dim1, dim2 */
  Geometry g;
  npy_intp offset = 0, dims[MAXD];
  int a = 0, b = 1;
  if (n < 1 || n > 4 || !is_simple(args[0]) || !geometry_of(args[0], &g) || !g.n || g.n > MAXD - 3 ||
      (n > 1 && !int_of(args[1], &offset)) || offset > FEW || offset < -FEW)
    return refuse();
  a = g.n - 1;
  b = g.n;
  if ((n > 2 && !dim_of(args[2], g.n + 1, &a)) || (n > 3 && !dim_of(args[3], g.n + 1, &b)) || a == b) return refuse();
  PyArrayObject *x = (PyArrayObject *)args[0];
  const npy_intp size = g.size[g.n - 1] + (offset < 0 ? -offset : offset);
  for (int d = 0, k = 0; d <= g.n; d++) dims[d] = d == a || d == b ? size : g.size[k++];
  if (product(dims, 0, g.n + 1) * PyArray_ITEMSIZE(x) > 4 * FEW) return refuse();
  PyArray_Descr *type = PyArray_DESCR(x);
  Py_INCREF(type);
  PyArrayObject *made = (PyArrayObject *)PyArray_Zeros(g.n + 1, dims, type, 0);
  if (!made) return NULL;
  npy_intp steps[MAXD], ts[MAXD];
  steps_of(g.n + 1, dims, PyArray_ITEMSIZE(x), steps);
  char *to = PyArray_BYTES(made) + (offset > 0 ? offset * steps[b] : -offset * steps[a]);
  for (int d = 0, k = 0; d <= g.n; d++)
    if (d != a && d != b) ts[k++] = steps[d];
  ts[g.n - 1] = steps[a] + steps[b];
  carry(g.n, g.size, to, ts, PyArray_BYTES(x), g.step, PyArray_ITEMSIZE(x));
  return (PyObject *)made;
}
