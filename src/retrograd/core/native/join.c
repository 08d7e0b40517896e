/* Whole kernels of ops that move elements to new memory, for few elements of any strides: stacks, repetition, padding,
   Kronecker products. Measured, 3x4 float32: vstack 0.5 us as a call of the op, 3 us in steps of Python; padding by reflection
   0.6, 9. */
#include "small.h"

/* ---- hstack, vstack, dstack, column_stack: cat of tensors that are given dimensions of size 1 first */
typedef struct {
  int nd;
  npy_intp n[NPY_MAXDIMS], step[NPY_MAXDIMS];
} Seen;
static void as_seen(PyArrayObject *a, int how, Seen *s) {
  const int nd = PyArray_NDIM(a);
  int front = 0, least = nd;
  if (how == 'h') least = nd ? nd : 1;
  if (how == 'v') {
    least = nd < 2 ? 2 : nd;
    front = nd < 2 ? 2 - nd : 0;
  }
  if (how == 'd') {
    least = nd < 3 ? 3 : nd;
    front = nd < 2 ? 1 : 0;
  }
  if (how == 'c') least = nd < 2 ? 2 : nd;
  s->nd = least;
  for (int d = 0; d < least; d++) {
    s->n[d] = 1;
    s->step[d] = 0;
  }
  for (int d = 0; d < nd; d++) {
    s->n[d + front] = PyArray_DIM(a, d);
    s->step[d + front] = PyArray_STRIDE(a, d);
  }
}
static PyObject *stacked(PyObject *const *args, Py_ssize_t given, int how) {
  const Py_ssize_t count = given == 1 && PyList_CheckExact(args[0]) ? PyList_GET_SIZE(args[0]) : 0;
  Seen s, first;
  npy_intp total = 0;
  long elements = 0;
  int dim = 0;
  if (!count) Py_RETURN_NONE;
  PyObject *const *items = PySequence_Fast_ITEMS(args[0]);
  for (Py_ssize_t i = 0; i < count; i++) {
    PyArrayObject *a = array_at(items, i);
    if (!behaved(a) || !in_row_order(a) || PyArray_DESCR(a) != PyArray_DESCR((PyArrayObject *)items[0])) Py_RETURN_NONE;
    as_seen(a, how, &s);
    elements += PyArray_SIZE(a);
    if (!i) {
      first = s;
      dim = how == 'h' ? (s.nd > 1) : how == 'v' ? 0 : how == 'd' ? 2 : 1;
      if (dim >= s.nd) Py_RETURN_NONE;
    }
    if (s.nd != first.nd || elements > SMALL) Py_RETURN_NONE;
    for (int d = 0; d < s.nd; d++)
      if (d != dim && s.n[d] != first.n[d]) Py_RETURN_NONE;
    total += s.n[dim];
  }
  first.n[dim] = total;
  PyArrayObject *made = new_of((PyArrayObject *)items[0], first.nd, first.n);
  if (!made) return NULL;
  char *to = PyArray_BYTES(made);
  const long size = PyArray_ITEMSIZE(made);
  for (Py_ssize_t i = 0; i < count; i++) {
    PyArrayObject *a = (PyArrayObject *)items[i];
    as_seen(a, how, &s);
    copy_places(s.nd, s.n, to, PyArray_STRIDES(made), PyArray_BYTES(a), s.step, size);
    to += s.n[dim] * PyArray_STRIDE(made, dim);
  }
  return (PyObject *)made;
}
FUNCTION(hstack) { return stacked(args, given, 'h'); }
FUNCTION(vstack) { return stacked(args, given, 'v'); }
FUNCTION(dstack) { return stacked(args, given, 'd'); }
FUNCTION(column_stack) { return stacked(args, given, 'c'); }

/* ---- repeat(self, repeats), tile(self, dims) */
static PyObject *repeated(PyArrayObject *x, const long *times, int count) {
  const int nd = PyArray_NDIM(x), lead = count - nd;
  npy_intp dims[NPY_MAXDIMS], n[2 * 16], from[2 * 16], to[2 * 16];
  long total = 1;
  if (count > 16 || lead < 0) Py_RETURN_NONE;
  for (int d = 0; d < count; d++) {
    if (times[d] < 1) Py_RETURN_NONE;
    dims[d] = times[d] * (d < lead ? 1 : PyArray_DIM(x, d - lead));
    total *= dims[d];
    if (total > SMALL) Py_RETURN_NONE;
  }
  PyArrayObject *made = new_of(x, count, dims);
  if (!made) return NULL;
  for (int d = 0; d < count; d++) {
    const npy_intp size = d < lead ? 1 : PyArray_DIM(x, d - lead), step = PyArray_STRIDE(made, d);
    n[2 * d] = times[d];
    from[2 * d] = 0;
    to[2 * d] = step * size;
    n[2 * d + 1] = size;
    from[2 * d + 1] = d < lead ? 0 : PyArray_STRIDE(x, d - lead);
    to[2 * d + 1] = step;
  }
  copy_places(2 * count, n, PyArray_BYTES(made), to, PyArray_BYTES(x), from, PyArray_ITEMSIZE(x));
  return (PyObject *)made;
}
FUNCTION(repeat) {
  PyArrayObject *x = given == 2 ? array_at(args, 0) : NULL;
  long times[16];
  const int count = behaved(x) ? ints_of(args[1], times, 16) : -1;
  if (count < 1 || !in_row_order(x)) Py_RETURN_NONE;
  return repeated(x, times, count);
}
FUNCTION(tile) {
  PyArrayObject *x = given == 2 ? array_at(args, 0) : NULL;
  long times[32];
  int count = behaved(x) ? ints_of(args[1], times, 16) : -1;
  if (count < 1 || !in_row_order(x) || PyArray_NDIM(x) > 16) Py_RETURN_NONE;
  const int missing = PyArray_NDIM(x) - count;
  if (missing > 0) {
    memmove(times + missing, times, (size_t)count * sizeof(long));
    for (int i = 0; i < missing; i++) times[i] = 1;
    count += missing;
  }
  return repeated(x, times, count);
}

/* ---- pad(self, pad, mode, value), reflection_pad(self, padding), replication_pad(self, padding) */
static PyObject *padded(PyArrayObject *x, PyObject *amounts, int mode, PyObject *value) {
  long by[16], total = 1;
  const int count = behaved(x) ? ints_of(amounts, by, 16) : -1, nd = count >= 0 ? PyArray_NDIM(x) : 0;
  npy_intp dims[NPY_MAXDIMS];
  int16_t place[SMALL];
  const int16_t *places[NPY_MAXDIMS];
  union {
    double d;
    int64_t i;
  } number = {0};
  if (count < 2 || count % 2 || count > 2 * nd || !in_row_order(x) || code_of(x) == NPY_BOOL) Py_RETURN_NONE;
  if (mode != 'c' && (count > 6 || (nd - count / 2 != 1 && nd - count / 2 != 2))) Py_RETURN_NONE;
  if (mode == 'c' && value != Py_None && !element_of(value, code_of(x), &number)) Py_RETURN_NONE;
  long used = 0;
  int some = 0;
  for (int d = 0; d < nd; d++) {
    const int i = nd - 1 - d;
    const long size = PyArray_DIM(x, d), before = 2 * i < count ? by[2 * i] : 0, after = 2 * i < count ? by[2 * i + 1] : 0;
    if (before < 0 || after < 0 || before > SMALL || after > SMALL) Py_RETURN_NONE;
    if (mode == 'r' && (before >= size || after >= size)) Py_RETURN_NONE;
    dims[d] = size + before + after;
    total *= dims[d];
    if (total > SMALL || used + dims[d] > SMALL) Py_RETURN_NONE;
    some |= before || after;
    for (long k = 0; k < dims[d]; k++) {
      long at = k - before;
      if (mode == 'c')
        at = at < 0 || at >= size ? -1 : at;
      else if (mode == 'r')
        at = at < 0 ? -at : at >= size ? 2 * (size - 1) - at : at;
      else
        at = at < 0 ? 0 : at >= size ? size - 1 : at;
      place[used + k] = (int16_t)at;
    }
    places[d] = place + used;
    used += dims[d];
  }
  if (!some) Py_RETURN_NONE;
  PyArrayObject *made = new_of(x, nd, dims);
  if (!made) return NULL;
  const long size = PyArray_ITEMSIZE(x), columns = dims[nd - 1], step = PyArray_STRIDE(x, nd - 1);
  char *q = PyArray_BYTES(made);
  npy_intp at[NPY_MAXDIMS] = {0};
  for (long row = 0; row < total / columns; row++) {
    const char *p = PyArray_BYTES(x);
    int outside = 0;
    for (int d = 0; d < nd - 1; d++) {
      const int k = places[d][at[d]];
      if (k < 0)
        outside = 1;
      else
        p += k * PyArray_STRIDE(x, d);
    }
    const long before = by[0], own = outside || step != size ? 0 : PyArray_DIM(x, nd - 1);
    for (long c = 0; c < columns; c++) {
      if (own && c == before) {
        memcpy(q + c * size, p, (size_t)(own * size));
        if ((c += own) == columns) break;
      }
      const int k = outside ? -1 : places[nd - 1][c];
      const char *from = k < 0 ? (const char *)&number : p + k * step;
      if (size == 4)
        memcpy(q + 4 * c, from, 4);
      else if (size == 8)
        memcpy(q + 8 * c, from, 8);
      else
        memcpy(q + c * size, from, (size_t)size);
    }
    q += columns * size;
    for (int d = nd - 2; d >= 0; d--) {
      if (++at[d] < dims[d]) break;
      at[d] = 0;
    }
  }
  return (PyObject *)made;
}
FUNCTION(pad) {
  static const char *const names[] = {"constant", "reflect", "replicate"};
  int which = 0; /* "circular" counts its writes */
  PyArrayObject *x = given == 4 && PyUnicode_Check(args[2]) ? array_at(args, 0) : NULL;
  if (!x) Py_RETURN_NONE;
  while (which < 3 && PyUnicode_CompareWithASCIIString(args[2], names[which])) which++;
  if (which == 3 || (which && args[3] != Py_None) || PyArray_ITEMSIZE(x) > 8) Py_RETURN_NONE;
  return padded(x, args[1], "cre"[which], args[3]);
}
static PyObject *edged(PyObject *const *args, Py_ssize_t given, int mode) {
  PyArrayObject *x = given == 2 ? array_at(args, 0) : NULL;
  if (!x) Py_RETURN_NONE;
  return padded(x, args[1], mode, Py_None);
}
static PyObject *edged_in(PyObject *const *args, Py_ssize_t given, int mode, int rank) {
  const Py_ssize_t n =
      given == 2 && (PyTuple_CheckExact(args[1]) || PyList_CheckExact(args[1])) ? PySequence_Fast_GET_SIZE(args[1]) : 0;
  if (n != 2 * rank) Py_RETURN_NONE;
  return edged(args, given, mode);
}
FUNCTION(reflection_pad1d) { return edged_in(args, given, 'r', 1); }
FUNCTION(reflection_pad2d) { return edged_in(args, given, 'r', 2); }
FUNCTION(reflection_pad3d) { return edged_in(args, given, 'r', 3); }
FUNCTION(replication_pad1d) { return edged_in(args, given, 'e', 1); }
FUNCTION(replication_pad2d) { return edged_in(args, given, 'e', 2); }
FUNCTION(replication_pad3d) { return edged_in(args, given, 'e', 3); }

/* ---- kron(self, other), of one dtype */
#define PRODUCTS(T)                            \
  {                                            \
    T *q = PyArray_DATA(made);                 \
    for (long i = 0; i < total; i++, q++) {    \
      *q = (T)(*(const T *)p * *(const T *)r); \
      STEP                                     \
    }                                          \
  }
#define STEP                                \
  for (int d = 2 * rank - 1; d >= 0; d--) { \
    p += ps[d];                             \
    r += rs[d];                             \
    if (++at[d] < n[d]) break;              \
    p -= n[d] * ps[d];                      \
    r -= n[d] * rs[d];                      \
    at[d] = 0;                              \
  }
FUNCTION(kron) {
  PyArrayObject *x = given == 2 ? array_at(args, 0) : NULL, *y = x ? array_at(args, 1) : NULL;
  npy_intp n[64], ps[64], rs[64], at[64] = {0}, dims[32];
  long total = 1;
  if (!behaved(x) || !behaved(y) || !plain(x) || !plain(y) || PyArray_DESCR(x) != PyArray_DESCR(y) ||
      (!is_real_code(code_of(x)) && code_of(x) != NPY_LONG))
    Py_RETURN_NONE;
  const int a = PyArray_NDIM(x), b = PyArray_NDIM(y), rank = a > b ? a : b;
  if (rank > 16) Py_RETURN_NONE;
  for (int d = 0; d < rank; d++) {
    const int i = d - (rank - a), k = d - (rank - b);
    n[2 * d] = i < 0 ? 1 : PyArray_DIM(x, i);
    ps[2 * d] = i < 0 ? 0 : PyArray_STRIDE(x, i);
    rs[2 * d] = 0;
    n[2 * d + 1] = k < 0 ? 1 : PyArray_DIM(y, k);
    rs[2 * d + 1] = k < 0 ? 0 : PyArray_STRIDE(y, k);
    ps[2 * d + 1] = 0;
    dims[d] = n[2 * d] * n[2 * d + 1];
    total *= dims[d];
    if (total > SMALL) Py_RETURN_NONE;
  }
  PyArrayObject *made = new_of(x, rank, dims);
  if (!made) return NULL;
  const char *p = PyArray_BYTES(x), *r = PyArray_BYTES(y);
  if (code_of(x) == NPY_FLOAT)
    PRODUCTS(float) else if (code_of(x) == NPY_DOUBLE) PRODUCTS(double) else PRODUCTS(int64_t) return (PyObject *)made;
}
