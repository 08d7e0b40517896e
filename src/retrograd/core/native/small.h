/* What whole kernels of ops over few elements share: dimensions, sizes and numbers out of arguments, copies between any
 * strides. */
#ifndef RETROGRAD_SMALL_H
#define RETROGRAD_SMALL_H
#include "native.h"
#define SMALL 4096
static inline int is_real_code(int code) { return code == NPY_FLOAT || code == NPY_DOUBLE; }
static inline int behaved(PyArrayObject *a) {
  return a && PyArray_ISBEHAVED_RO(a) && PyArray_SIZE(a) >= 1 && PyArray_SIZE(a) <= SMALL &&
         !PyDataType_REFCHK(PyArray_DESCR(a));
}
/* A dimension counted from the front; -1 for what is none */
static inline int wrapped_dim(PyObject *o, int nd) {
  if (!PyLong_CheckExact(o)) return -1;
  const long d = PyLong_AsLong(o);
  if (d == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    return -1;
  }
  return d < -nd || d >= nd ? -1 : (int)(d < 0 ? d + nd : d);
}
/* The ints of a tuple or list, or one int; how many, -1 for anything else or more than `most` */
static inline int ints_of(PyObject *o, long *to, int most) {
  const int one = PyLong_CheckExact(o);
  if (!one && !PyTuple_CheckExact(o) && !PyList_CheckExact(o)) return -1;
  const Py_ssize_t n = one ? 1 : PySequence_Fast_GET_SIZE(o);
  if (n > most) return -1;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *v = one ? o : PySequence_Fast_GET_ITEM(o, i);
    if (!PyLong_CheckExact(v)) return -1;
    to[i] = PyLong_AsLong(v);
    if (to[i] == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      return -1;
    }
  }
  return (int)n;
}
/* The same for `rank` settings of which one may stand for all */
static inline int settings_of(PyObject *o, long *to, int rank, long least) {
  const int n = ints_of(o, to, rank);
  if (n != 1 && n != rank) return 0;
  for (int i = n; i < rank; i++) to[i] = to[0];
  for (int i = 0; i < rank; i++)
    if (to[i] < least || to[i] > 1 << 20) return 0;
  return 1;
}
/* A Python number as an element of float, double or long; 0 where rounding it takes a closer look */
static inline int element_of(PyObject *o, int code, void *to) {
  const double v = PyFloat_CheckExact(o) ? PyFloat_AS_DOUBLE(o) : PyLong_CheckExact(o) ? PyLong_AsDouble(o) : 1e9;
  if (PyErr_Occurred()) {
    PyErr_Clear();
    return 0;
  }
  if (!(v > -1e6 && v < 1e6)) return 0;
  if (code == NPY_FLOAT) {
    const float f = (float)v;
    memcpy(to, &f, 4);
    return 1;
  }
  if (code == NPY_DOUBLE) {
    memcpy(to, &v, 8);
    return 1;
  }
  if (code == NPY_LONG && PyLong_CheckExact(o)) {
    const int64_t i = (int64_t)v;
    memcpy(to, &i, 8);
    return 1;
  }
  return 0;
}
static inline PyArrayObject *new_of(PyArrayObject *like, int nd, const npy_intp *dims) {
  PyArray_Descr *kind = PyArray_DESCR(like);
  Py_INCREF(kind);
  return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, kind, nd, (npy_intp *)dims, NULL, NULL, 0, NULL);
}
/* Elements of `size` bytes from any strides to any strides */
static inline void copy_places(int nd, const npy_intp *dims, char *to, const npy_intp *to_step, const char *from,
                               const npy_intp *from_step, long size) {
  npy_intp at[NPY_MAXDIMS] = {0};
  for (;;) {
    if (size == 4)
      memcpy(to, from, 4);
    else if (size == 8)
      memcpy(to, from, 8);
    else
      memcpy(to, from, (size_t)size);
    int d = nd - 1;
    for (; d >= 0; d--) {
      to += to_step[d];
      from += from_step[d];
      if (++at[d] < dims[d]) break;
      to -= dims[d] * to_step[d];
      from -= dims[d] * from_step[d];
      at[d] = 0;
    }
    if (d < 0) return;
  }
}
/* The channels of an image come last in memory: ops keep that, which is not for here */
static inline int in_row_order(PyArrayObject *a) { return PyArray_NDIM(a) < 4 || PyArray_IS_C_CONTIGUOUS(a); }
#endif
