/* Frequent queries of arrays, whose attributes NumPy makes Python objects for; and views and new arrays of given strides. */
#include "native.h"
static inline int is_array(PyObject *o) { return Py_TYPE(o) == &PyArray_Type; }
/* address(array): of its first element */
FUNCTION(address) {
  PyObject *o = args[0];
  if (!PyArray_Check(o)) return PyErr_Format(PyExc_TypeError, "not an array");
  return PyLong_FromVoidPtr(PyArray_DATA((PyArrayObject *)o));
}
/* strides_of(array): in elements; those of a new array where there are none */
FUNCTION(strides_of) {
  PyObject *o = args[0];
  if (!PyArray_Check(o)) return PyErr_Format(PyExc_TypeError, "not an array");
  PyArrayObject *a = (PyArrayObject *)o;
  int n = PyArray_NDIM(a), stepless = PyArray_SIZE(a) == 0;
  npy_intp item = PyArray_ITEMSIZE(a), step = 1;
  for (int i = 0; i < n; i++) if (PyArray_STRIDE(a, i) != 0) stepless = 0;
  PyObject *made = PyTuple_New(n); if (!made) return NULL;
  for (int i = n - 1; i >= 0; i--) {
    npy_intp s = PyArray_STRIDE(a, i), floor = s / item;
    if (s < 0 && s % item) floor--;
    PyObject *number = PyLong_FromSsize_t(stepless ? step : floor);
    if (!number) { Py_DECREF(made); return NULL; }
    PyTuple_SET_ITEM(made, i, number);
    if (PyArray_DIM(a, i) > 1) step *= PyArray_DIM(a, i);
  }
  return made;
}
/* empty_strided(shape, strides, dtype): a new array */
FUNCTION(empty_strided) {
  npy_intp dims[NPY_MAXDIMS], steps[NPY_MAXDIMS], reach = 0, count = 1, most;
  for (int k = 0; k < 2; k++) if (given != 3 || !(PyTuple_CheckExact(args[k]) || PyList_CheckExact(args[k]))) Py_RETURN_NONE;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(args[0]);
  if (n > NPY_MAXDIMS || PySequence_Fast_GET_SIZE(args[1]) != n || !PyArray_DescrCheck(args[2])) Py_RETURN_NONE;
  PyArray_Descr *type = (PyArray_Descr *)args[2]; const npy_intp item = PyDataType_ELSIZE(type); int gaps = 0;
  for (Py_ssize_t i = n - 1; i >= 0; i--) {
    PyObject *size = PySequence_Fast_GET_ITEM(args[0], i), *step = PySequence_Fast_GET_ITEM(args[1], i);
    if (!PyLong_CheckExact(size) || !PyLong_CheckExact(step)) Py_RETURN_NONE;
    dims[i] = PyLong_AsSsize_t(size); steps[i] = PyLong_AsSsize_t(step);
    if (PyErr_Occurred()) { PyErr_Clear(); Py_RETURN_NONE; }
    if (dims[i] <= 0 || steps[i] < 0 || __builtin_mul_overflow(dims[i] - 1, steps[i], &most)
        || __builtin_add_overflow(reach, most, &reach) || reach > NPY_MAX_INTP / 64) Py_RETURN_NONE;
    gaps |= steps[i] != count; if (__builtin_mul_overflow(count, dims[i], &count)) Py_RETURN_NONE;
    steps[i] *= item; }
  Py_INCREF(type);
  if (!gaps) return PyArray_Empty((int)n, dims, type, 0);
  reach++; PyObject *memory = PyArray_Empty(1, &reach, type, 0); if (!memory) return NULL;
  Py_INCREF(type);
  void *start = PyArray_DATA((PyArrayObject *)memory);
  PyObject *made = PyArray_NewFromDescr(&PyArray_Type, type, (int)n, dims, steps, start, NPY_ARRAY_WRITEABLE, NULL);
  if (!made) { Py_DECREF(memory); return NULL; }
  if (PyArray_SetBaseObject((PyArrayObject *)made, memory) < 0) { Py_DECREF(made); return NULL; }
  return made;
}
/* reshaped(array, shape): a view, or None */
FUNCTION(reshaped) {
  PyArrayObject *a = (PyArrayObject *)args[0];
  if (given != 2 || !is_array(args[0]) || !PyArray_IS_C_CONTIGUOUS(a) || !(PyTuple_CheckExact(args[1]) || PyList_CheckExact(args[1])))
    Py_RETURN_NONE;
  npy_intp dims[NPY_MAXDIMS], total = PyArray_SIZE(a), count = 1;
  Py_ssize_t n = PySequence_Fast_GET_SIZE(args[1]);
  int open = -1;
  npy_intp step = PyArray_ITEMSIZE(a);
  if (total == 0 || n > NPY_MAXDIMS) Py_RETURN_NONE;
  for (int i = PyArray_NDIM(a) - 1; i >= 0; step *= PyArray_DIM(a, i), i--)      /* strides of dims of size 1 are free */
    if (PyArray_STRIDE(a, i) != step) Py_RETURN_NONE;
  for (int i = 0; i < n; i++) {
    PyObject *item = PySequence_Fast_GET_ITEM(args[1], i);
    if (!PyLong_CheckExact(item)) Py_RETURN_NONE;
    dims[i] = PyLong_AsSsize_t(item);
    if (dims[i] == -1) {
      if (PyErr_Occurred()) { PyErr_Clear(); Py_RETURN_NONE; }
      if (open >= 0) Py_RETURN_NONE;
      open = i;
    } else {
      if (dims[i] <= 0 || count > total / dims[i]) Py_RETURN_NONE;
      count *= dims[i];
    }
  }
  if (open >= 0) { if (total % count) Py_RETURN_NONE; dims[open] = total / count; }
  else if (count != total) Py_RETURN_NONE;
  PyArray_Descr *d = PyArray_DESCR(a); Py_INCREF(d);
  PyObject *made = PyArray_NewFromDescr(&PyArray_Type, d, (int)n, dims, NULL, PyArray_DATA(a),
                                        PyArray_FLAGS(a) & NPY_ARRAY_WRITEABLE, NULL);
  if (!made) return NULL;
  Py_INCREF(a);
  if (PyArray_SetBaseObject((PyArrayObject *)made, (PyObject *)a) < 0) { Py_DECREF(made); return NULL; }
  return made;
}
