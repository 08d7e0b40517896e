/* Writing into an array, and new arrays with the same values, where they are small: for large ones NumPy's calls cost
   nothing, and threads take part. Arguments come as the op's, in schema order; what is unusual is refused. */
#define FEW (1 << 15)                            /* bytes */
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
static int may_write(PyObject *o) {
  return few_elements(o) && PyArray_ISWRITEABLE((PyArrayObject *)o) && contiguous((PyArrayObject *)o);
}

static PyObject *native_clone(PyObject *const *args, Py_ssize_t n) {
  if (n != 2 || args[1] != Py_None || !few_elements(args[0]) || !row_major_strides((PyArrayObject *)args[0])) return refuse();
  PyArrayObject *a = (PyArrayObject *)args[0];
  PyArray_Descr *type = PyArray_DESCR(a);
  Py_INCREF(type);
  PyObject *made = PyArray_NewFromDescr(&PyArray_Type, type, PyArray_NDIM(a), PyArray_DIMS(a), NULL, NULL, 0, NULL);
  if (made) memcpy(PyArray_DATA((PyArrayObject *)made), PyArray_DATA(a), PyArray_NBYTES(a));
  return made;
}
static PyObject *native_copy_(PyObject *const *args, Py_ssize_t n) {
  if (n != 3 || !may_write(args[0]) || !is_array(args[1])) return refuse();
  PyArrayObject *to = (PyArrayObject *)args[0], *from = (PyArrayObject *)args[1];
  if (PyArray_DESCR(to) != PyArray_DESCR(from) || !contiguous(from) || !PyArray_SAMESHAPE(to, from) ||
      owner_of(to) == owner_of(from))
    return refuse();
  memmove(PyArray_DATA(to), PyArray_DATA(from), PyArray_NBYTES(to)); /* two owners may have one memory */
  Py_INCREF(to);
  return (PyObject *)to;
}
static PyObject *native_zero_(PyObject *const *args, Py_ssize_t n) {
  if (n != 1 || !may_write(args[0])) return refuse();
  PyArrayObject *to = (PyArrayObject *)args[0];
  memset(PyArray_DATA(to), 0, PyArray_NBYTES(to));
  Py_INCREF(to);
  return (PyObject *)to;
}
static int number_into(PyObject *o, PyArrayObject *to) { /* one value everywhere; 0 if the dtype does not take it as it is */
  double d;
  npy_intp i, n = PyArray_SIZE(to);
  const int type = PyArray_TYPE(to);
  if (type == NPY_FLOAT || type == NPY_DOUBLE) {
    if (PyFloat_CheckExact(o))
      d = PyFloat_AS_DOUBLE(o);
    else if (PyLong_CheckExact(o)) {
      d = PyLong_AsDouble(o);
      if (d == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
      }
    } else
      return 0;
    if (type == NPY_DOUBLE) {
      double *p = PyArray_DATA(to);
      for (i = 0; i < n; i++) p[i] = d;
      return 1;
    }
    if (__builtin_isfinite(d) && (d > 3.4028234663852886e38 || d < -3.4028234663852886e38)) return 0;
    float *p = PyArray_DATA(to);
    const float f = (float)d;
    for (i = 0; i < n; i++) p[i] = f;
    return 1;
  }
  npy_intp v;
  if (type == NPY_INT64 && int_of(o, &v)) {
    npy_int64 *p = PyArray_DATA(to);
    for (i = 0; i < n; i++) p[i] = v;
    return 1;
  }
  if (type == NPY_BOOL && PyBool_Check(o)) {
    memset(PyArray_DATA(to), o == Py_True, n);
    return 1;
  }
  return 0;
}
static PyObject *native_fill_(PyObject *const *args, Py_ssize_t n) {
  if (n != 2 || !may_write(args[0]) || !number_into(args[1], (PyArrayObject *)args[0])) return refuse();
  Py_INCREF(args[0]);
  return args[0];
}
static PyObject *native_fill(PyObject *const *args, Py_ssize_t n) {
  if (n != 2 || !few_elements(args[0]) || !row_major_strides((PyArrayObject *)args[0])) return refuse();
  PyArrayObject *a = (PyArrayObject *)args[0];
  PyArray_Descr *type = PyArray_DESCR(a);
  Py_INCREF(type);
  PyObject *made = PyArray_NewFromDescr(&PyArray_Type, type, PyArray_NDIM(a), PyArray_DIMS(a), NULL, NULL, 0, NULL);
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
