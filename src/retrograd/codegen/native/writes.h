/* Writing into an array, and new arrays with the same values, where they are small: for large ones NumPy's calls cost
   nothing, and threads take part. Arguments come as the op's, in schema order; what is unusual is refused. */
#define FEW (1 << 15)      /* bytes */
static int row_major_strides(PyArrayObject *a) {      /* also along dimensions of size 1, where NumPy does not look */
  npy_intp wanted = PyArray_ITEMSIZE(a);
  for (int i = PyArray_NDIM(a) - 1; i >= 0; i--) { if (PyArray_STRIDE(a, i) != wanted) return 0; wanted *= PyArray_DIM(a, i); }
  return 1; }
static int few_elements(PyObject *o) { return is_array(o) && PyArray_SIZE((PyArrayObject *)o) > 0 && PyArray_NBYTES((PyArrayObject *)o) <= FEW; }
static int may_write(PyObject *o) { return few_elements(o) && PyArray_ISWRITEABLE((PyArrayObject *)o) && contiguous((PyArrayObject *)o); }

static PyObject *native_clone(PyObject *const *args, Py_ssize_t n) {
  if (n != 2 || args[1] != Py_None || !few_elements(args[0]) || !row_major_strides((PyArrayObject *)args[0])) return refuse();
  PyArrayObject *a = (PyArrayObject *)args[0]; PyArray_Descr *type = PyArray_DESCR(a); Py_INCREF(type);
  PyObject *made = PyArray_NewFromDescr(&PyArray_Type, type, PyArray_NDIM(a), PyArray_DIMS(a), NULL, NULL, 0, NULL);
  if (made) memcpy(PyArray_DATA((PyArrayObject *)made), PyArray_DATA(a), PyArray_NBYTES(a));
  return made; }
static PyObject *native_copy_(PyObject *const *args, Py_ssize_t n) {
  if (n != 3 || !may_write(args[0]) || !is_array(args[1])) return refuse();
  PyArrayObject *to = (PyArrayObject *)args[0], *from = (PyArrayObject *)args[1];
  if (PyArray_DESCR(to) != PyArray_DESCR(from) || !contiguous(from) || !PyArray_SAMESHAPE(to, from) || owner_of(to) == owner_of(from)) return refuse();
  memcpy(PyArray_DATA(to), PyArray_DATA(from), PyArray_NBYTES(to));
  Py_INCREF(to); return (PyObject *)to; }
static PyObject *native_zero_(PyObject *const *args, Py_ssize_t n) {
  if (n != 1 || !may_write(args[0])) return refuse();
  PyArrayObject *to = (PyArrayObject *)args[0];
  memset(PyArray_DATA(to), 0, PyArray_NBYTES(to));
  Py_INCREF(to); return (PyObject *)to; }
static int number_into(PyObject *o, PyArrayObject *to) {      /* one value everywhere; 0 if the dtype does not take it as it is */
  double d; npy_intp i, n = PyArray_SIZE(to); const int type = PyArray_TYPE(to);
  if (type == NPY_FLOAT || type == NPY_DOUBLE) {
    if (PyFloat_CheckExact(o)) d = PyFloat_AS_DOUBLE(o);
    else if (PyLong_CheckExact(o)) { d = PyLong_AsDouble(o); if (d == -1 && PyErr_Occurred()) { PyErr_Clear(); return 0; } }
    else return 0;
    if (type == NPY_DOUBLE) { double *p = PyArray_DATA(to); for (i = 0; i < n; i++) p[i] = d; return 1; }
    if (__builtin_isfinite(d) && (d > 3.4028234663852886e38 || d < -3.4028234663852886e38)) return 0;
    float *p = PyArray_DATA(to); const float f = (float)d; for (i = 0; i < n; i++) p[i] = f; return 1; }
  npy_intp v;
  if (type == NPY_INT64 && int_of(o, &v)) { npy_int64 *p = PyArray_DATA(to); for (i = 0; i < n; i++) p[i] = v; return 1; }
  if (type == NPY_BOOL && PyBool_Check(o)) { memset(PyArray_DATA(to), o == Py_True, n); return 1; }
  return 0; }
static PyObject *native_fill_(PyObject *const *args, Py_ssize_t n) {
  if (n != 2 || !may_write(args[0]) || !number_into(args[1], (PyArrayObject *)args[0])) return refuse();
  Py_INCREF(args[0]); return args[0]; }
static PyObject *native_fill(PyObject *const *args, Py_ssize_t n) {
  if (n != 2 || !few_elements(args[0]) || !row_major_strides((PyArrayObject *)args[0])) return refuse();
  PyArrayObject *a = (PyArrayObject *)args[0]; PyArray_Descr *type = PyArray_DESCR(a); Py_INCREF(type);
  PyObject *made = PyArray_NewFromDescr(&PyArray_Type, type, PyArray_NDIM(a), PyArray_DIMS(a), NULL, NULL, 0, NULL);
  if (!made || number_into(args[1], (PyArrayObject *)made)) return made;
  Py_DECREF(made); return refuse(); }
