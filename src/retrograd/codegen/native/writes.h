/* Writing into an array, and new arrays with the same values. Where elements change their order, large arrays are left to
   the kernels in Python, whose steps cost nothing there, and threads take part. Arguments come as the op's, in schema order;
   what is unusual is refused. */
#define FEW (1 << 17)                            /* bytes */
typedef struct {
  char *to;
  const char *from;
  npy_intp n;
} Move;
static void move_task(void *argument, long k) {
  const Move *m = argument;
  const npy_intp first = k * FEW, left = m->n - first;
  memcpy(m->to + first, m->from + first, left < FEW ? left : FEW);
}
/* n bytes, by several threads where they are many */
static void move_bytes(void *to, const void *from, npy_intp n) {
  if (n <= 2 * FEW) {
    memcpy(to, from, n);
    return;
  }
  Move m = {to, from, n};
  Py_BEGIN_ALLOW_THREADS parallel(move_task, &m, (n + FEW - 1) / FEW);
  Py_END_ALLOW_THREADS
}
static int row_major_strides(PyArrayObject *a) { /* also along dimensions of size 1, where NumPy does not look */
  npy_intp wanted = PyArray_ITEMSIZE(a);
  for (int i = PyArray_NDIM(a) - 1; i >= 0; i--) {
    if (PyArray_STRIDE(a, i) != wanted) return 0;
    wanted *= PyArray_DIM(a, i);
  }
  return 1;
}
static int few_elements(PyObject *o) {
  return is_array(o) && PyArray_SIZE((PyArrayObject *)o) > 0 && PyArray_NBYTES((PyArrayObject *)o) <= FEW;
}

/* Whether the elements fill one block of memory from the first on, in any order. */
static int gapless(PyArrayObject *a) {
  npy_intp wanted = PyArray_ITEMSIZE(a);
  const int nd = PyArray_NDIM(a);
  unsigned long seen = 0;
  if (contiguous(a)) return 1;
  for (int used = 0; used < nd; used++) {
    int d = 0;
    while (d < nd && (seen >> d & 1 || (PyArray_DIM(a, d) != 1 && PyArray_STRIDE(a, d) != wanted))) d++;
    if (d == nd) return 0;
    seen |= 1ul << d;
    wanted *= PyArray_DIM(a, d);
  }
  return 1;
}
/* The strides that a copy has whose items are of `size` bytes: those of the array if it has no gaps, else in their order. */
static void kept_strides(PyArrayObject *a, npy_intp size, npy_intp *strides) {
  const int nd = PyArray_NDIM(a);
  const npy_intp unit = PyArray_ITEMSIZE(a), *shape = PyArray_DIMS(a), *st = PyArray_STRIDES(a);
  int order[MAXD], dense = 1, used = 0;
  for (int d = 0; d < nd; d++) { /* dims of several items, the nearest first */
    if (shape[d] < 2) continue;
    int k = used++;
    for (; k > 0 && st[order[k - 1]] > st[d]; k--) order[k] = order[k - 1];
    order[k] = d;
  }
  npy_intp step = unit;
  for (int i = 0; i < used && dense; i++) {
    dense = st[order[i]] == step;
    step *= shape[order[i]];
  }
  if (dense) {
    for (int d = 0; d < nd; d++) strides[d] = st[d] / unit * size;
    return;
  }
  for (int i = 0; i < nd; i++) order[i] = nd - 1 - i;
  for (int i = 1; i < nd; i++)
    for (int k = i, j = i - 1; j >= 0; j--) { /* ambiguous dims (stride 0) keep their place */
      const int x = order[j], y = order[k];
      if (!st[x] || !st[y]) continue;
      if (st[x] < st[y] || (st[x] == st[y] && shape[x] <= shape[y])) break;
      order[j] = y;
      order[k] = x;
      k = j;
    }
  step = size;
  for (int i = 0; i < nd; i++) {
    strides[order[i]] = step;
    step *= shape[order[i]] > 1 ? shape[order[i]] : 1;
  }
}
/* A copy in the array's memory order; of its own dtype where it is small or by rows. */
static PyObject *copy_as(PyObject *o, PyArray_Descr *type, int by_rows) {
  if (!is_array(o)) return refuse();
  PyArrayObject *a = (PyArrayObject *)o;
  const int same = type == PyArray_DESCR(a), nd = PyArray_NDIM(a), rows = row_major_strides(a);
  if (!PyArray_SIZE(a) || nd > MAXD || (same && !rows && PyArray_NBYTES(a) > FEW) || (!(same && rows) && code_of(a) == OTHER))
    return refuse();
  npy_intp strides[MAXD];
  if (!rows && !by_rows) kept_strides(a, PyDataType_ELSIZE(type), strides);
  Py_INCREF(type);
  PyArrayObject *made = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, type, nd, PyArray_DIMS(a),
                                                              rows || by_rows ? NULL : strides, NULL, 0, NULL);
  if (!made) return NULL;
  if (!same && code_of(made) == OTHER) {
    Py_DECREF(made);
    return refuse();
  }
  if (same && rows)
    move_bytes(PyArray_DATA(made), PyArray_DATA(a), PyArray_NBYTES(a));
  else
    copy_values(made, a);
  return (PyObject *)made;
}
static PyObject *native_clone(PyObject *const *args, Py_ssize_t n) {
  int by_rows = 0;
  if (n != 2 || !is_array(args[0])) return refuse();
  if (args[1] != Py_None) { /* a memory format */
    PyObject *name = PyObject_GetAttrString(args[1], "name");
    if (!name) return NULL;
    by_rows = PyUnicode_Check(name) && !PyUnicode_CompareWithASCIIString(name, "contiguous_format");
    Py_DECREF(name);
    if (!by_rows) return refuse();
  }
  return copy_as(args[0], PyArray_DESCR((PyArrayObject *)args[0]), by_rows);
}
static PyObject *native_to_copy(PyObject *const *args, Py_ssize_t n) {
  if (n != 7 || args[2] != Py_None || args[3] != Py_None || args[4] != Py_None || args[6] != Py_None) return refuse();
  if (!PyArray_DescrCheck(args[1])) return refuse();
  return copy_as(args[0], (PyArray_Descr *)args[1], 0);
}
/* Whether no two elements of the array share memory, as far as strides tell. */
static int apart(PyArrayObject *a) {
  for (int d = 0; d < PyArray_NDIM(a); d++)
    if (PyArray_DIM(a, d) > 1 && !PyArray_STRIDE(a, d)) return 0;
  return 1;
}
static PyObject *native_copy_(PyObject *const *args, Py_ssize_t n) {
  if (n != 3 || !is_array(args[0]) || !is_array(args[1])) return refuse();
  PyArrayObject *to = (PyArrayObject *)args[0], *from = (PyArrayObject *)args[1];
  if (!PyArray_SIZE(to) || !PyArray_ISWRITEABLE(to) || !PyArray_SAMESHAPE(to, from) || owner_of(to) == owner_of(from)) return refuse();
  const int same = PyArray_DESCR(to) == PyArray_DESCR(from);
  if (same && PyDataType_REFCHK(PyArray_DESCR(to))) return refuse();
  if (same && contiguous(to) && contiguous(from)) {
    if (clashes(to, from)) /* two owners may have one memory */
      memmove(PyArray_DATA(to), PyArray_DATA(from), PyArray_NBYTES(to));
    else
      move_bytes(PyArray_DATA(to), PyArray_DATA(from), PyArray_NBYTES(to));
  } else if ((same && PyArray_NBYTES(to) > FEW) || code_of(to) == OTHER || code_of(from) == OTHER || clashes(to, from) || !apart(to))
    return refuse();
  else
    copy_values(to, from);
  Py_INCREF(to);
  return (PyObject *)to;
}
/* One value as an item of a dtype; 0 if the dtype does not take it as it is. */
static int item_of(PyObject *o, int code, char *item) {
  Number v;
  char integer;
  if (code == OTHER || !number_of(o, &v, &integer)) return 0;
  if (code < I64) {
    if (integer == 2) return 0;
    if (integer) v.d = (double)v.i;
    const double most = code == F64 ? Py_HUGE_VAL : code == F32 ? 3.4028234663852886e38 : code == F16 ? 65504. : 3.3895313892515355e38;
    if (__builtin_isfinite(v.d) && (v.d > most || v.d < -most)) return 0;
    put(item, code, v.d);
    return 1;
  }
  if (!integer || (integer == 2) != (code == BOOL) || !fits(v.i, code)) return 0;
  __builtin_memcpy(item, &v.i, 8); /* the low bytes come first */
  return 1;
}
typedef struct {
  char *p;
  long n;
  int size;
  char item[8];
} Filling;
/* `n` bytes at p, with the bytes of the word again and again; in the widest stores that the machine has */
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("O3"), target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
static void repeat_word(char *p, long n, uint64_t word) {
  const long whole = n / 8;
  for (long i = 0; i < whole; i++) __builtin_memcpy(p + 8 * i, &word, 8);
  __builtin_memcpy(p + 8 * whole, &word, n % 8);
}
static void fill_task(void *argument, long k) {
  const Filling *f = argument;
  const long first = k * 2 * GRAIN, m = f->n - first < 2 * GRAIN ? f->n - first : 2 * GRAIN;
  uint64_t word = 0;
  for (int i = 0; i < 8; i += f->size) __builtin_memcpy((char *)&word + i, f->item, f->size);
  repeat_word(f->p + first * f->size, m * f->size, word);
}
static int item_into(const char *item, PyArrayObject *to) {
  Filling f;
  __builtin_memcpy(f.item, item, 8);
  f.p = PyArray_BYTES(to);
  f.n = PyArray_SIZE(to);
  f.size = PyArray_ITEMSIZE(to);
  if (f.n <= 2 * GRAIN) {
    fill_task(&f, 0);
    return 1;
  }
  Py_BEGIN_ALLOW_THREADS parallel(fill_task, &f, (f.n + 2 * GRAIN - 1) / (2 * GRAIN));
  Py_END_ALLOW_THREADS
  return 1;
}
static int number_into(PyObject *o, PyArrayObject *to) { /* one value everywhere */
  char item[8];
  if (is_array(o)) { /* of no dimensions */
    PyArrayObject *a = (PyArrayObject *)o;
    if (PyArray_NDIM(a) || PyArray_DESCR(a) != PyArray_DESCR(to) || code_of(to) == OTHER) return 0;
    __builtin_memcpy(item, PyArray_DATA(a), PyArray_ITEMSIZE(a));
    return item_into(item, to);
  }
  return item_of(o, code_of(to), item) && item_into(item, to);
}
static PyObject *native_zero_(PyObject *const *args, Py_ssize_t n) {
  static const char zeros[8] = {0};
  if (n != 1 || !is_array(args[0])) return refuse();
  PyArrayObject *to = (PyArrayObject *)args[0];
  if (!PyArray_SIZE(to) || !PyArray_ISWRITEABLE(to) || !gapless(to)) return refuse();
  if (PyArray_NBYTES(to) <= FEW)
    memset(PyArray_DATA(to), 0, PyArray_NBYTES(to));
  else if (code_of(to) == OTHER || !item_into(zeros, to))
    return refuse();
  Py_INCREF(to);
  return (PyObject *)to;
}
static PyObject *native_fill_(PyObject *const *args, Py_ssize_t n) {
  if (n != 2 || !is_array(args[0])) return refuse();
  PyArrayObject *to = (PyArrayObject *)args[0];
  if (!PyArray_SIZE(to) || !PyArray_ISWRITEABLE(to) || !gapless(to) || !number_into(args[1], to)) return refuse();
  Py_INCREF(to);
  return (PyObject *)to;
}
static PyObject *native_fill(PyObject *const *args, Py_ssize_t n) {
  if (n != 2 || !is_array(args[0])) return refuse();
  PyArrayObject *a = (PyArrayObject *)args[0];
  const int rows = row_major_strides(a);
  if (!PyArray_SIZE(a) || PyArray_NDIM(a) > MAXD || (!rows && !gapless(a))) return refuse();
  npy_intp strides[MAXD];
  if (!rows) kept_strides(a, PyArray_ITEMSIZE(a), strides);
  PyArray_Descr *type = PyArray_DESCR(a);
  Py_INCREF(type);
  PyObject *made =
      PyArray_NewFromDescr(&PyArray_Type, type, PyArray_NDIM(a), PyArray_DIMS(a), rows ? NULL : strides, NULL, 0, NULL);
  if (!made || number_into(args[1], (PyArrayObject *)made)) return made;
  Py_DECREF(made);
  return refuse();
}

/* ---- arrays one behind the other, along a dimension or a new one */
static PyObject *join_arrays(PyObject *list, PyObject *place, int fresh) {
  if (!PyList_CheckExact(list) || !PyList_GET_SIZE(list)) return refuse();
  const Py_ssize_t count = PyList_GET_SIZE(list);
  int dim;
  npy_intp dims[MAXD], along = 0, bytes = 0, outer = 1;
  PyObject *first = PyList_GET_ITEM(list, 0);
  if (!is_array(first)) return refuse();
  PyArrayObject *a = (PyArrayObject *)first;
  const int nd = PyArray_NDIM(a), rank = nd + fresh;
  if (!rank || rank > MAXD || !dim_of(place, rank, &dim)) return refuse();
  if (!fresh && nd > 3 && nd < 6) { /* channels may be innermost where sizes leave that open */
    int spatial = 0;
    for (int d = 2; d < nd; d++) spatial |= PyArray_DIM(a, d) > 1;
    if (PyArray_DIM(a, 1) == 1 || !spatial) return refuse();
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    PyArrayObject *b = (PyArrayObject *)PyList_GET_ITEM(list, i);
    if (!is_array((PyObject *)b) || PyArray_DESCR(b) != PyArray_DESCR(a) || PyArray_NDIM(b) != nd || !contiguous(b))
      return refuse();
    for (int d = 0; d < nd; d++)
      if (PyArray_DIM(b, d) != PyArray_DIM(a, d) && (fresh || d != dim)) return refuse();
    along += fresh ? 1 : PyArray_DIM(b, dim);
    bytes += PyArray_NBYTES(b);
    if (!PyArray_SIZE(b) || bytes > 4 * FEW) return refuse();
  }
  for (int d = 0; d < rank; d++) dims[d] = d == dim ? along : PyArray_DIM(a, d - (fresh && d > dim));
  for (int d = 0; d < dim; d++) outer *= dims[d];
  PyArray_Descr *type = PyArray_DESCR(a);
  Py_INCREF(type);
  PyObject *made = PyArray_NewFromDescr(&PyArray_Type, type, rank, dims, NULL, NULL, 0, NULL);
  if (!made) return NULL;
  const npy_intp row = bytes / outer;
  char *to = PyArray_BYTES((PyArrayObject *)made);
  for (Py_ssize_t i = 0; i < count; i++) {
    PyArrayObject *b = (PyArrayObject *)PyList_GET_ITEM(list, i);
    const npy_intp part = PyArray_NBYTES(b) / outer;
    const char *from = PyArray_BYTES(b);
    for (npy_intp k = 0; k < outer; k++) memcpy(to + k * row, from + k * part, part);
    to += part;
  }
  return made;
}
static PyObject *native_cat(PyObject *const *args, Py_ssize_t n) {
  return n == 2 ? join_arrays(args[0], args[1], 0) : refuse();
}
static PyObject *native_stack(PyObject *const *args, Py_ssize_t n) {
  return n == 2 ? join_arrays(args[0], args[1], 1) : refuse();
}
