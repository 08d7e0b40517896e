/* Factors of small matrices: whole kernels of ops around one routine of LAPACK or BLAS, whose address Python tells when it is
   first needed. Measured, 3x3 float32: cholesky_ex 1.0 us as a call of the op, 4.3 us in steps of Python. */
#include "native.h"
#define SMALL 4096
enum { POTRF, GETRF, TRSM, ROUTINES };
static const char *const names[ROUTINES][2] = {{"spotrf", "dpotrf"}, {"sgetrf", "dgetrf"}, {"strsm", "dtrsm"}};
static void *known[ROUTINES][2];
static PyObject *finder = NULL;
/* find_routines(function): the function says where a routine is, by its name */
FUNCTION(find_routines) {
  Py_INCREF(args[0]);
  Py_XSETREF(finder, args[0]);
  Py_RETURN_NONE;
}
HIDDEN void *small_routine(const char *name, PyArrayObject *x); /* small.c */
static void *routine_for(int which, PyArrayObject *x) {
  if (!x || (code_of(x) != NPY_FLOAT && code_of(x) != NPY_DOUBLE)) return NULL;
  const int kind = code_of(x) == NPY_DOUBLE;
  void *small = small_routine(names[which][kind], x);
  if (small) return small;
  if (!known[which][kind] && finder) {
    PyObject *address = PyObject_CallFunction(finder, "s", names[which][kind]);
    if (!address) return NULL;
    known[which][kind] = PyLong_AsVoidPtr(address);
    Py_DECREF(address);
  }
  return known[which][kind];
}

/* A copy with each matrix stored by columns, as LAPACK works in it and leaves it; NULL without an error for other arrays */
static PyArrayObject *by_columns(PyArrayObject *x, long *count) {
  const int nd = x ? PyArray_NDIM(x) : 0;
  if (nd < 2 || !PyArray_ISBEHAVED_RO(x) || PyArray_SIZE(x) > SMALL || !PyArray_SIZE(x) ||
      (code_of(x) != NPY_FLOAT && code_of(x) != NPY_DOUBLE))
    return NULL;
  const long rows = PyArray_DIM(x, nd - 2), columns = PyArray_DIM(x, nd - 1), size = PyArray_ITEMSIZE(x),
             rs = PyArray_STRIDE(x, nd - 2), cs = PyArray_STRIDE(x, nd - 1);
  npy_intp strides[NPY_MAXDIMS], step = rows * columns * size;
  *count = PyArray_SIZE(x) / (rows * columns);
  strides[nd - 2] = size;
  strides[nd - 1] = rows * size;
  for (int d = nd - 3; d >= 0; d--) {
    strides[d] = step;
    step *= PyArray_DIM(x, d);
  }
  PyArray_Descr *kind = PyArray_DESCR(x);
  Py_INCREF(kind);
  PyArrayObject *made = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, kind, nd, PyArray_DIMS(x), strides, NULL, 0, NULL);
  if (!made) return NULL;
  char *q = PyArray_BYTES(made);
  for (long k = 0; k < *count; k++) {
    const char *p = PyArray_BYTES(x);
    long left = k;
    for (int d = nd - 3; d >= 0; d--) {
      p += left % PyArray_DIM(x, d) * PyArray_STRIDE(x, d);
      left /= PyArray_DIM(x, d);
    }
    for (long j = 0; j < columns; j++)
      for (long i = 0; i < rows; i++, q += size) memcpy(q, p + i * rs + j * cs, (size_t)size);
  }
  return made;
}
static PyObject *refused(PyArrayObject *made, PyObject *other) {
  Py_XDECREF(made);
  Py_XDECREF(other);
  if (PyErr_Occurred()) return NULL;
  Py_RETURN_NONE;
}

/* cholesky_ex(A, upper, check_errors): the factors and codes; not where numbers are none, or an error would have to be raised
 */
#define CLEAR(T)                                                                   \
  {                                                                                \
    T *a = PyArray_DATA(made);                                                     \
    a += k * n * n;                                                                \
    if (a[n * n - 1] != a[n * n - 1]) bad = 1;                                     \
    for (long j = 0; j < n; j++)                                                   \
      for (long i = upper ? j + 1 : 0; i < (upper ? n : j); i++) a[j * n + i] = 0; \
  }
FUNCTION(cholesky_ex) {
  PyArrayObject *x = given == 3 && args[2] == Py_False ? array_at(args, 0) : NULL;
  void *f = routine_for(POTRF, x);
  long count;
  const int upper = args[1] == Py_True;
  if (!f || PyArray_NDIM(x) < 2 || PyArray_DIM(x, PyArray_NDIM(x) - 1) != PyArray_DIM(x, PyArray_NDIM(x) - 2))
    return refused(NULL, NULL);
  PyArrayObject *made = by_columns(x, &count);
  if (!made) return refused(NULL, NULL);
  PyObject *info = PyArray_ZEROS(PyArray_NDIM(x) - 2, PyArray_DIMS(x), NPY_INT, 0);
  if (!info) return refused(made, NULL);
  char letter = upper ? 'U' : 'L';
  int n = (int)PyArray_DIM(x, PyArray_NDIM(x) - 1), bad = 0;
  int *code = PyArray_DATA((PyArrayObject *)info);
  const long each = (long)n * n * PyArray_ITEMSIZE(x);
  for (long k = 0; k < count; k++) {
    ((void (*)(char *, int *, void *, int *, int *))f)(&letter, &n, PyArray_BYTES(made) + k * each, &n, code + k);
    if (code_of(x) == NPY_FLOAT) CLEAR(float) else CLEAR(double)
  }
  if (bad) return refused(made, info);
  PyObject *both = PyTuple_Pack(2, made, info);
  Py_DECREF(made);
  Py_DECREF(info);
  return both;
}

/* lu_factor_ex(A, pivot, check_errors): the factors, the exchanges of rows and codes */
FUNCTION(lu_factor_ex) {
  PyArrayObject *x = given == 3 && args[1] == Py_True && args[2] == Py_False ? array_at(args, 0) : NULL;
  void *f = routine_for(GETRF, x);
  long count;
  npy_intp dims[NPY_MAXDIMS];
  if (!f || PyArray_NDIM(x) < 2) return refused(NULL, NULL);
  PyArrayObject *made = by_columns(x, &count);
  if (!made) return refused(NULL, NULL);
  const int nd = PyArray_NDIM(x);
  int rows = (int)PyArray_DIM(x, nd - 2), columns = (int)PyArray_DIM(x, nd - 1);
  const int steps = rows < columns ? rows : columns;
  const long each = (long)rows * columns * PyArray_ITEMSIZE(x);
  for (int d = 0; d < nd - 2; d++) dims[d] = PyArray_DIM(x, d);
  dims[nd - 2] = steps;
  PyObject *pivots = PyArray_SimpleNew(nd - 1, dims, NPY_INT), *info = pivots ? PyArray_ZEROS(nd - 2, dims, NPY_INT, 0) : NULL;
  if (!info) return refused(made, pivots);
  for (long k = 0; k < count; k++)
    ((void (*)(int *, int *, void *, int *, int *, int *))f)(&rows, &columns, PyArray_BYTES(made) + k * each, &rows,
                                                             (int *)PyArray_DATA((PyArrayObject *)pivots) + k * steps,
                                                             (int *)PyArray_DATA((PyArrayObject *)info) + k);
  PyObject *all = PyTuple_Pack(3, made, pivots, info);
  Py_DECREF(made);
  Py_DECREF(pivots);
  Py_DECREF(info);
  return all;
}

/* solve_triangular(A, B, upper, left, unitriangular), for stacks of one shape */
FUNCTION(solve_triangular) {
  PyArrayObject *a = given == 5 ? array_at(args, 0) : NULL, *b = a ? array_at(args, 1) : NULL;
  void *f = b && code_of(a) == code_of(b) ? routine_for(TRSM, a) : NULL;
  const int nd = f ? PyArray_NDIM(a) : 0, left = args[3] == Py_True;
  long count;
  if (nd < 2 || PyArray_NDIM(b) != nd || PyArray_SIZE(a) > SMALL || !PyArray_SIZE(a) ||
      memcmp(PyArray_DIMS(a), PyArray_DIMS(b), (nd - 2) * sizeof(npy_intp)))
    return refused(NULL, NULL);
  int n = (int)PyArray_DIM(a, nd - 1), rows = (int)PyArray_DIM(b, nd - 2), columns = (int)PyArray_DIM(b, nd - 1);
  const int by_rows = n > 1 && PyArray_STRIDE(a, nd - 1) == PyArray_ITEMSIZE(a),
            upper = (args[2] == Py_True) != by_rows; /* A is read as it lies */
  if (PyArray_DIM(a, nd - 2) != n || n != (left ? rows : columns) || (by_rows && !plain(a))) Py_RETURN_NONE;
  PyArrayObject *factor = by_rows ? a : by_columns(a, &count);
  if (!factor) return refused(NULL, NULL);
  if (by_rows) Py_INCREF(factor);
  PyArrayObject *made = by_columns(b, &count);
  if (!made) return refused(factor, NULL);
  char side = left ? 'L' : 'R', part = upper ? 'U' : 'L', turn = by_rows ? 'T' : 'N', diagonal = args[4] == Py_True ? 'U' : 'N';
  const float one = 1;
  const double unit = 1;
  const long size = PyArray_ITEMSIZE(a);
  for (long k = 0; k < count; k++)
    ((void (*)(char *, char *, char *, char *, int *, int *, const void *, void *, int *, void *, int *))f)(
        &side, &part, &turn, &diagonal, &rows, &columns, code_of(a) == NPY_FLOAT ? (const void *)&one : (const void *)&unit,
        PyArray_BYTES(factor) + k * n * n * size, &n, PyArray_BYTES(made) + k * (long)rows * columns * size, &rows);
  Py_DECREF(factor);
  return (PyObject *)made;
}
