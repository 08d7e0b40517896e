/* Views: sizes and strides of an array over the same memory. Each function takes its op's arguments in schema order and
   refuses what has no elements, what is wrong and what is unusual: the kernel in Python then decides, and has the words. */
typedef struct {
  int n;
  npy_intp size[MAXD], step[MAXD], shift;
} Geometry; /* steps and shift in bytes */

static int geometry_of(PyObject *o, Geometry *g) {
  if (!is_array(o)) return 0;
  PyArrayObject *a = (PyArrayObject *)o;
  if ((g->n = PyArray_NDIM(a)) > MAXD - 1 || PyArray_SIZE(a) == 0) return 0;
  for (int i = 0; i < g->n; i++) {
    g->size[i] = PyArray_DIM(a, i);
    g->step[i] = PyArray_STRIDE(a, i);
  }
  g->shift = 0;
  return 1;
}
static PyObject *seen_as(PyObject *o, const Geometry *g, PyArray_Descr *type) {
  PyArrayObject *a = (PyArrayObject *)o;
  Py_INCREF(type);
  PyObject *made = PyArray_NewFromDescr(&PyArray_Type, type, g->n, (npy_intp *)g->size, (npy_intp *)g->step,
                                        PyArray_BYTES(a) + g->shift, PyArray_FLAGS(a) & NPY_ARRAY_WRITEABLE, NULL);
  if (!made) return NULL;
  Py_INCREF(o);
  if (PyArray_SetBaseObject((PyArrayObject *)made, o) < 0) {
    Py_DECREF(made);
    return NULL;
  }
  return made;
}
static PyArrayObject *owner_of(PyArrayObject *a) {
  while (PyArray_BASE(a) && Py_TYPE(PyArray_BASE(a)) == &PyArray_Type) a = (PyArrayObject *)PyArray_BASE(a);
  return a;
}
static PyObject *seen(PyObject *o, const Geometry *g) { return seen_as(o, g, PyArray_DESCR((PyArrayObject *)o)); }
static int int_of(PyObject *o, npy_intp *to) {
  if (!PyLong_CheckExact(o)) return 0;
  *to = PyLong_AsSsize_t(o);
  if (*to == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    return 0;
  }
  return 1;
}
static int dim_of(PyObject *o, int n, int *to) { /* counted from the front */
  npy_intp d;
  if (!int_of(o, &d) || d < -n || d >= n) return 0;
  *to = (int)(d < 0 ? d + n : d);
  return 1;
}
static int ints_of(PyObject *o, npy_intp *to, int *n) {
  if (!PyTuple_CheckExact(o) && !PyList_CheckExact(o)) return 0;
  Py_ssize_t k = PySequence_Fast_GET_SIZE(o);
  if (k > MAXD) return 0;
  for (Py_ssize_t i = 0; i < k; i++)
    if (!int_of(PySequence_Fast_GET_ITEM(o, i), to + i)) return 0;
  *n = (int)k;
  return 1;
}
static void drop_dim(Geometry *g, int d) {
  for (int i = d; i + 1 < g->n; i++) {
    g->size[i] = g->size[i + 1];
    g->step[i] = g->step[i + 1];
  }
  g->n--;
}

/* ---- the same sizes, or in another order */
static PyObject *native_alias(PyObject *const *args, Py_ssize_t n) {
  Geometry g;
  return n == 1 && geometry_of(args[0], &g) ? seen(args[0], &g) : refuse();
}
static PyObject *native_transpose(PyObject *const *args, Py_ssize_t n) {
  Geometry g;
  int a, b;
  if (n != 3 || !geometry_of(args[0], &g) || !dim_of(args[1], g.n, &a) || !dim_of(args[2], g.n, &b)) return refuse();
  npy_intp size = g.size[a], step = g.step[a];
  g.size[a] = g.size[b];
  g.step[a] = g.step[b];
  g.size[b] = size;
  g.step[b] = step;
  return seen(args[0], &g);
}
static PyObject *native_t(PyObject *const *args, Py_ssize_t n) {
  Geometry g;
  if (n != 1 || !geometry_of(args[0], &g) || g.n != 2) return refuse();
  npy_intp size = g.size[0], step = g.step[0];
  g.size[0] = g.size[1];
  g.step[0] = g.step[1];
  g.size[1] = size;
  g.step[1] = step;
  return seen(args[0], &g);
}
static PyObject *native_permute(PyObject *const *args, Py_ssize_t n) {
  Geometry g, made;
  npy_intp dims[MAXD];
  int k;
  unsigned used = 0;
  if (n != 2 || !geometry_of(args[0], &g) || !ints_of(args[1], dims, &k) || k != g.n) return refuse();
  made.n = g.n;
  made.shift = 0;
  for (int i = 0; i < k; i++) {
    npy_intp d = dims[i] < 0 ? dims[i] + k : dims[i];
    if (d < 0 || d >= k || used >> d & 1) return refuse();
    used |= 1u << d;
    made.size[i] = g.size[d];
    made.step[i] = g.step[d];
  }
  return seen(args[0], &made);
}

/* ---- dimensions of size 1 */
static PyObject *native_squeeze(PyObject *const *args, Py_ssize_t n) { /* of all dimensions, of one, or of several */
  Geometry g;
  npy_intp dims[MAXD];
  int k = 1;
  unsigned chosen = ~0u;
  if (n < 1 || n > 2 || !geometry_of(args[0], &g) || !g.n) return refuse();
  if (n == 2) {
    if (!int_of(args[1], dims) && !ints_of(args[1], dims, &k)) return refuse();
    chosen = 0;
    for (int i = 0; i < k; i++) {
      npy_intp d = dims[i] < 0 ? dims[i] + g.n : dims[i];
      if (d < 0 || d >= g.n || chosen >> d & 1) return refuse();
      chosen |= 1u << d;
    }
  }
  for (int i = g.n - 1; i >= 0; i--)
    if (chosen >> i & 1 && g.size[i] == 1) drop_dim(&g, i);
  return seen(args[0], &g);
}
static PyObject *native_unsqueeze(PyObject *const *args, Py_ssize_t n) {
  Geometry g;
  int d;
  if (n != 2 || !geometry_of(args[0], &g) || !dim_of(args[1], g.n + 1, &d)) return refuse();
  npy_intp step = d < g.n ? g.size[d] * g.step[d] : PyArray_ITEMSIZE((PyArrayObject *)args[0]);
  for (int i = g.n; i > d; i--) {
    g.size[i] = g.size[i - 1];
    g.step[i] = g.step[i - 1];
  }
  g.size[d] = 1;
  g.step[d] = step;
  g.n++;
  return seen(args[0], &g);
}

/* ---- other sizes */
static PyObject *native_expand(PyObject *const *args, Py_ssize_t n) {
  Geometry g, made;
  if (n < 2 || !geometry_of(args[0], &g) || !ints_of(args[1], made.size, &made.n) || made.n < g.n) return refuse();
  const int extra = made.n - g.n;
  made.shift = 0;
  for (int i = made.n - 1; i >= 0; i--) {
    npy_intp have = i >= extra ? g.size[i - extra] : 1;
    npy_intp step = i >= extra ? g.step[i - extra] : i + 1 < made.n ? made.size[i + 1] * made.step[i + 1] : 0;
    if (made.size[i] == -1 && i >= extra) made.size[i] = have;
    if (made.size[i] <= 0) return refuse();
    if (made.size[i] != have) {
      if (have != 1) return refuse();
      step = 0;
    }
    made.step[i] = step;
  }
  return seen(args[0], &made);
}
static int infer(npy_intp *size, int n, npy_intp total) { /* one size of -1 is what the others leave */
  npy_intp count = 1;
  int open = -1;
  for (int i = 0; i < n; i++) {
    if (size[i] == -1) {
      if (open >= 0) return 0;
      open = i;
    } else {
      if (size[i] <= 0 || count > total / size[i]) return 0;
      count *= size[i];
    }
  }
  if (open < 0) return count == total;
  if (total % count) return 0;
  size[open] = total / count;
  return 1;
}
static PyObject *native_view(PyObject *const *args, Py_ssize_t n) {
  Geometry g, made;
  if (n != 2 || !geometry_of(args[0], &g) || !ints_of(args[1], made.size, &made.n)) return refuse();
  if (!infer(made.size, made.n, PyArray_SIZE((PyArrayObject *)args[0]))) return refuse();
  made.shift = 0;
  if (!g.n)
    for (int i = 0; i < made.n; i++) made.step[i] = PyArray_ITEMSIZE((PyArrayObject *)args[0]);
  else {
    int at = made.n - 1;
    npy_intp base = g.step[g.n - 1], chunk = 1, covered = 1;
    for (int d = g.n - 1; d >= 0; d--) {
      chunk *= g.size[d];
      if (d && (g.size[d - 1] == 1 || g.step[d - 1] == chunk * base)) continue;
      for (; at >= 0 && (covered < chunk || made.size[at] == 1); at--) {
        made.step[at] = covered * base;
        covered *= made.size[at];
      }
      if (covered != chunk) return refuse();
      if (d) {
        base = g.step[d - 1];
        chunk = covered = 1;
      }
    }
    if (at != -1) return refuse();
  }
  return seen(args[0], &made);
}
static PyObject *native_as_strided(PyObject *const *args, Py_ssize_t n) {
  Geometry g, made;
  npy_intp offset = 0, reach = 0;
  int k;
  if (n != 4 || !geometry_of(args[0], &g) || !ints_of(args[1], made.size, &made.n) || !ints_of(args[2], made.step, &k) ||
      k != made.n)
    return refuse();
  PyArrayObject *a = (PyArrayObject *)args[0], *owner = owner_of(a);
  const npy_intp item = PyArray_ITEMSIZE(a), start = PyArray_BYTES(a) - PyArray_BYTES(owner), most = PyArray_NBYTES(owner);
  if (args[3] == Py_None)
    offset = start;
  else if (!int_of(args[3], &offset) || offset < 0 || offset > most / item)
    return refuse();
  else
    offset *= item;
  for (int i = 0; i < k; i++) {
    if (made.size[i] <= 0 || made.step[i] < 0 || made.step[i] > most ||
        (made.size[i] > 1 && made.step[i] * item > most / (made.size[i] - 1)))
      return refuse();
    reach += (made.size[i] - 1) * (made.step[i] *= item);
  }
  if (offset < 0 || offset + reach + item > most) return refuse();
  made.shift = offset - start;
  return seen(args[0], &made);
}

/* ---- parts */
static PyObject *native_select(PyObject *const *args, Py_ssize_t n) {
  Geometry g;
  int d;
  npy_intp i;
  if (n != 3 || !geometry_of(args[0], &g) || !dim_of(args[1], g.n, &d) || !int_of(args[2], &i) || i < -g.size[d] ||
      i >= g.size[d])
    return refuse();
  g.shift = (i < 0 ? i + g.size[d] : i) * g.step[d];
  drop_dim(&g, d);
  return seen(args[0], &g);
}
static PyObject *native_slice(PyObject *const *args, Py_ssize_t n) {
  Geometry g;
  int d;
  npy_intp start = 0, end, step;
  if (n != 5 || !geometry_of(args[0], &g) || !dim_of(args[1], g.n, &d)) return refuse();
  const npy_intp size = end = g.size[d];
  if (args[2] != Py_None && !int_of(args[2], &start)) return refuse();
  if (args[3] != Py_None && !int_of(args[3], &end)) return refuse();
  if (!int_of(args[4], &step) || step <= 0) return refuse();
  if (start < 0) start += size;
  if (end < 0) end += size;
  if (start < 0) start = 0;
  if (end > size) end = size;
  if (start >= end) return refuse();
  g.shift = start * g.step[d];
  g.size[d] = (end - start - 1) / step + 1;
  g.step[d] *= step;
  return seen(args[0], &g);
}
static PyObject *native_diagonal(PyObject *const *args, Py_ssize_t n) {
  Geometry g;
  int a, b;
  npy_intp offset;
  if (n != 4 || !geometry_of(args[0], &g) || !int_of(args[1], &offset) || !dim_of(args[2], g.n, &a) ||
      !dim_of(args[3], g.n, &b) || a == b)
    return refuse();
  npy_intp rows = g.size[a], columns = g.size[b], step = g.step[a] + g.step[b], length;
  if (offset >= columns || -offset >= rows) return refuse();
  if (offset >= 0) {
    length = rows < columns - offset ? rows : columns - offset;
    g.shift = offset * g.step[b];
  } else {
    length = rows + offset < columns ? rows + offset : columns;
    g.shift = -offset * g.step[a];
  }
  drop_dim(&g, a > b ? a : b);
  drop_dim(&g, a > b ? b : a);
  g.size[g.n] = length;
  g.step[g.n++] = step;
  return seen(args[0], &g);
}
static PyObject *native_unfold(PyObject *const *args, Py_ssize_t n) {
  Geometry g;
  int d;
  npy_intp size, step;
  if (n != 4 || !geometry_of(args[0], &g) || !dim_of(args[1], g.n, &d) || !int_of(args[2], &size) || !int_of(args[3], &step))
    return refuse();
  if (size <= 0 || size > g.size[d] || step <= 0) return refuse();
  g.size[g.n] = size;
  g.step[g.n++] = g.step[d];
  g.size[d] = (g.size[d] - size) / step + 1;
  g.step[d] *= step;
  return seen(args[0], &g);
}
static PyObject *native_unbind(PyObject *const *args, Py_ssize_t n) {
  Geometry g;
  int d;
  if (n != 2 || !geometry_of(args[0], &g) || !dim_of(args[1], g.n, &d)) return refuse();
  const npy_intp count = g.size[d], step = g.step[d];
  drop_dim(&g, d);
  PyObject *made = PyList_New(count);
  if (!made) return NULL;
  for (npy_intp i = 0; i < count; i++, g.shift += step) {
    PyObject *part = seen(args[0], &g);
    if (!part) {
      Py_DECREF(made);
      return NULL;
    }
    PyList_SET_ITEM(made, i, part);
  }
  return made;
}
static PyObject *parts_of(PyObject *o, Geometry *g, int d, npy_intp count, const npy_intp *lengths, npy_intp length) {
  const npy_intp total = g->size[d];
  npy_intp start = 0;
  PyObject *made = PyList_New(count);
  if (!made) return NULL;
  for (npy_intp i = 0; i < count; i++) {
    g->size[d] = lengths ? lengths[i] : total - start < length ? total - start : length;
    g->shift = start * g->step[d];
    PyObject *part = seen(o, g);
    if (!part) {
      Py_DECREF(made);
      return NULL;
    }
    PyList_SET_ITEM(made, i, part);
    start += g->size[d];
  }
  return made;
}
static PyObject *native_split(PyObject *const *args, Py_ssize_t n) {
  Geometry g;
  int d;
  npy_intp length;
  if (n != 3 || !geometry_of(args[0], &g) || !int_of(args[1], &length) || length <= 0 || !dim_of(args[2], g.n, &d))
    return refuse();
  return parts_of(args[0], &g, d, (g.size[d] - 1) / length + 1, NULL, length);
}
static PyObject *native_split_with_sizes(PyObject *const *args, Py_ssize_t n) {
  Geometry g;
  int d, count;
  npy_intp lengths[MAXD], total = 0;
  if (n != 3 || !geometry_of(args[0], &g) || !ints_of(args[1], lengths, &count) || !dim_of(args[2], g.n, &d)) return refuse();
  for (int i = 0; i < count; i++) {
    if (lengths[i] <= 0 || lengths[i] > g.size[d]) return refuse();
    total += lengths[i];
  }
  return total == g.size[d] ? parts_of(args[0], &g, d, count, lengths, 0) : refuse();
}

/* ---- complex numbers as pairs and back */
static PyObject *native_view_as_real(PyObject *const *args, Py_ssize_t n) {
  Geometry g;
  if (n != 1 || !geometry_of(args[0], &g)) return refuse();
  const int type = PyArray_TYPE((PyArrayObject *)args[0]);
  if (type != NPY_CFLOAT && type != NPY_CDOUBLE) return refuse();
  g.size[g.n] = 2;
  g.step[g.n++] = PyArray_ITEMSIZE((PyArrayObject *)args[0]) / 2;
  PyArray_Descr *part = PyArray_DescrFromType(type == NPY_CFLOAT ? NPY_FLOAT : NPY_DOUBLE);
  PyObject *made = seen_as(args[0], &g, part);
  Py_DECREF(part);
  return made;
}
static PyObject *native_view_as_complex(PyObject *const *args, Py_ssize_t n) {
  Geometry g;
  if (n != 1 || !geometry_of(args[0], &g) || !g.n) return refuse();
  PyArrayObject *a = (PyArrayObject *)args[0], *owner = owner_of(a);
  const int type = PyArray_TYPE(a);
  const npy_intp item = PyArray_ITEMSIZE(a);
  if ((type != NPY_FLOAT && type != NPY_DOUBLE) || (PyArray_BYTES(a) - PyArray_BYTES(owner)) % (2 * item)) return refuse();
  if (g.size[--g.n] != 2 || g.step[g.n] != item) return refuse();
  for (int i = 0; i < g.n; i++)
    if (g.step[i] % (2 * item)) return refuse();
  PyArray_Descr *whole = PyArray_DescrFromType(type == NPY_FLOAT ? NPY_CFLOAT : NPY_CDOUBLE);
  PyObject *made = seen_as(args[0], &g, whole);
  Py_DECREF(whole);
  return made;
}
