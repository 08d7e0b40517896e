/* Running sums and products along one dim. Floats are accumulated in double, halves in float; eight
   rows of them at a time hide the latency. */
typedef struct {
  const char *x;
  char *out;
  int code, product;
  long n, inner, outer;
} Scan;
#define SCAN_ROWS(T, A, OP, IN, OUT)                               \
  {                                                                \
    const T *x = (const T *)j->x + k * 8 * j->n;                   \
    T *z = (T *)j->out + k * 8 * j->n;                             \
    const long rows = j->outer - k * 8 < 8 ? j->outer - k * 8 : 8; \
    A a[8];                                                        \
    for (int r = 0; r < 8; r++) a[r] = j->product;                 \
    if (rows == 8 && (A)0.5 != 0)                                  \
      for (long i = 0; i < j->n; i++)                              \
        for (int r = 0; r < 8; r++) {                              \
          a[r] = a[r] OP IN(x[r * j->n + i]);                      \
          z[r * j->n + i] = OUT(a[r]);                             \
        }                                                          \
    else                                                           \
      for (int r = 0; r < rows; r++)                               \
        for (long i = 0; i < j->n; i++) {                          \
          a[r] = a[r] OP IN(x[r * j->n + i]);                      \
          z[r * j->n + i] = OUT(a[r]);                             \
        }                                                          \
  }
#define SCAN_COLUMNS(T, A, OP, IN, OUT)                                                                               \
  {                                                                                                                   \
    const long blocks = (j->inner + 511) / 512, c0 = k % blocks * 512, m = j->inner - c0 < 512 ? j->inner - c0 : 512; \
    A a[512];                                                                                                         \
    for (long c = 0; c < m; c++) a[c] = j->product;                                                                   \
    const T *x = (const T *)j->x + k / blocks * j->n * j->inner + c0;                                                 \
    T *z = (T *)j->out + (x - (const T *)j->x);                                                                       \
    for (long i = 0; i < j->n; i++, x += j->inner, z += j->inner)                                                     \
      for (long c = 0; c < m; c++) {                                                                                  \
        a[c] = a[c] OP IN(x[c]);                                                                                      \
        z[c] = OUT(a[c]);                                                                                             \
      }                                                                                                               \
  }
static inline float scan_from_bfloat(uint16_t h) {
  union {
    uint32_t u;
    float f;
  } b;
  b.u = (uint32_t)h << 16;
  return b.f;
}
static inline uint16_t scan_to_half(float f) { return f != f ? 0x7e00 : to_half(f); }
#define SCANS(PART, T, A, IN, OUT) \
  if (j->product) PART(T, A, *, IN, OUT) else PART(T, A, +, IN, OUT) break;
#define SCAN(PART)                                                                                                  \
  switch (j->code) {                                                                                                \
  case F32: SCANS(PART, float, double, (double), (float)) case F64: SCANS(PART, double, double, (double), (double)) \
  case BF16:                                                                                                        \
  SCANS(PART, uint16_t, float, scan_from_bfloat, to_bfloat) case F16:                                               \
    SCANS(PART, uint16_t, float, from_half, scan_to_half)                                                           \
    default : SCANS(PART, uint64_t, uint64_t, (uint64_t), (uint64_t))                                               \
  }
static void scan_rows(void *argument, long k) {
  const Scan *j = argument;
  SCAN(SCAN_ROWS)
}
static void scan_columns(void *argument, long k) {
  const Scan *j = argument;
  SCAN(SCAN_COLUMNS)
}
/* self, dim, dtype */
static PyObject *scan(PyObject *const *args, Py_ssize_t n, int product) {
  Scan j;
  long dim;
  if (n < 2 || !is_array(args[0]) || !count_of(args[1], &dim)) return refuse();
  PyArrayObject *x = (PyArrayObject *)args[0];
  const int nd = PyArray_NDIM(x);
  j.code = code_of(x);
  j.product = product;
  if (j.code > I64) return refuse();
  if (n > 2 && args[2] != Py_None && (!PyArray_DescrCheck(args[2]) || ((PyArray_Descr *)args[2])->type_num != PyArray_TYPE(x)))
    return refuse();
  if (dim < 0) dim += nd;
  if (!nd || dim < 0 || dim >= nd || !(x = row_major(x))) return PyErr_Occurred() ? NULL : refuse();
  PyObject *out = new_array(j.code, nd, PyArray_DIMS(x));
  if (out && PyArray_SIZE(x)) {
    j.x = PyArray_BYTES(x);
    j.out = PyArray_BYTES((PyArrayObject *)out);
    j.n = PyArray_DIM(x, dim);
    j.inner = j.outer = 1;
    for (int d = 0; d < nd; d++) {
      if (d < dim)
        j.outer *= PyArray_DIM(x, d);
      else if (d > dim)
        j.inner *= PyArray_DIM(x, d);
    }
    const long tasks = j.inner == 1 ? (j.outer + 7) / 8 : j.outer * ((j.inner + 511) / 512);
    Task f = j.inner == 1 ? scan_rows : scan_columns;
    if (PyArray_SIZE(x) > 4096) {
      Py_BEGIN_ALLOW_THREADS parallel(f, &j, tasks);
      Py_END_ALLOW_THREADS
    } else
      for (long k = 0; k < tasks; k++) f(&j, k);
  }
  Py_DECREF(x);
  return out;
}
/* ---- running extremes and where they are: of equal elements the last counts; after a NaN only another NaN does */
typedef struct {
  const char *x;
  char *out;
  int64_t *at;
  int code, least;
  long n, inner, outer;
} Extreme;
#define EXTREME(T, BETTER)                                                                     \
  for (long o = first; o < end; o++)                                                           \
    for (long c0 = 0; c0 < j->inner; c0 += 64) {                                               \
      const long m = j->inner - c0 < 64 ? j->inner - c0 : 64, base = o * j->n * j->inner + c0; \
      const T *x = (const T *)j->x + base;                                                     \
      T *z = (T *)j->out + base;                                                               \
      int64_t *at = j->at + base;                                                              \
      T best[64];                                                                              \
      int64_t place[64];                                                                       \
      for (long c = 0; c < m; c++) {                                                           \
        best[c] = x[c];                                                                        \
        place[c] = 0;                                                                          \
      }                                                                                        \
      for (long i = 0; i < j->n; i++, x += j->inner, z += j->inner, at += j->inner)            \
        for (long c = 0; c < m; c++) {                                                         \
          const T v = x[c];                                                                    \
          const int take = v != v || (best[c] == best[c] && BETTER);                           \
          best[c] = take ? v : best[c];                                                        \
          place[c] = take ? i : place[c];                                                      \
          z[c] = best[c];                                                                      \
          at[c] = place[c];                                                                    \
        }                                                                                      \
    }
/* rows of single elements: most of them change little, which processors foresee */
#define EXTREME_ROW(T, BETTER)                                       \
  for (long o = first; o < end; o++) {                               \
    const T *x = (const T *)j->x + o * j->n;                         \
    T *z = (T *)j->out + o * j->n;                                   \
    int64_t *at = j->at + o * j->n;                                  \
    T best = x[0];                                                   \
    int64_t place = 0;                                               \
    for (long i = 0; i < j->n; i++) {                                \
      const T v = x[i];                                              \
      if (__builtin_expect(v != v || (best == best && BETTER), 0)) { \
        best = v;                                                    \
        place = i;                                                   \
      }                                                              \
      z[i] = best;                                                   \
      at[i] = place;                                                 \
    }                                                                \
  }
#define EXTREMES(T)             \
  if (j->inner == 1) {          \
    if (j->least) {             \
      EXTREME_ROW(T, v <= best) \
    } else {                    \
      EXTREME_ROW(T, v >= best) \
    }                           \
  } else if (j->least) {        \
    EXTREME(T, v <= best[c])    \
  } else {                      \
    EXTREME(T, v >= best[c])    \
  }                             \
  break;
static void extreme_task(void *argument, long k) {
  const Extreme *j = argument;
  const long chunk = GRAIN / (j->n * j->inner) + 1, first = k * chunk,
             end = first + chunk < j->outer ? first + chunk : j->outer;
  switch (j->code) {
  case F32:
  EXTREMES(float) case F64:
  EXTREMES(double) case I64:
  EXTREMES(int64_t) case I32:
  EXTREMES(int32_t) case I16:
  EXTREMES(int16_t) case I8:
    EXTREMES(int8_t) default : EXTREMES(uint8_t)
  }
}
/* self, dim */
static PyObject *extreme(PyObject *const *args, Py_ssize_t n, int least) {
  Extreme j;
  long dim;
  if (n != 2 || !is_array(args[0]) || !count_of(args[1], &dim)) return refuse();
  PyArrayObject *x = (PyArrayObject *)args[0];
  const int nd = PyArray_NDIM(x);
  j.code = code_of(x);
  j.least = least;
  if (j.code == OTHER || j.code == BF16 || j.code == F16 || !PyArray_SIZE(x)) return refuse();
  if (dim < 0) dim += nd;
  if (!nd || dim < 0 || dim >= nd || !(x = row_major(x))) return PyErr_Occurred() ? NULL : refuse();
  PyObject *out = new_array(j.code, nd, PyArray_DIMS(x)), *at = new_array(I64, nd, PyArray_DIMS(x)), *made = NULL;
  if (out && at) {
    j.x = PyArray_BYTES(x);
    j.out = PyArray_BYTES((PyArrayObject *)out);
    j.at = PyArray_DATA((PyArrayObject *)at);
    j.n = PyArray_DIM(x, dim);
    j.inner = j.outer = 1;
    for (int d = 0; d < nd; d++) {
      if (d < dim)
        j.outer *= PyArray_DIM(x, d);
      else if (d > dim)
        j.inner *= PyArray_DIM(x, d);
    }
    const long chunk = GRAIN / (j.n * j.inner) + 1, tasks = (j.outer + chunk - 1) / chunk;
    if (PyArray_SIZE(x) > 4096) {
      Py_BEGIN_ALLOW_THREADS parallel(extreme_task, &j, tasks);
      Py_END_ALLOW_THREADS
    } else
      for (long k = 0; k < tasks; k++) extreme_task(&j, k);
    made = PyTuple_Pack(2, out, at);
  }
  Py_DECREF(x);
  Py_XDECREF(out);
  Py_XDECREF(at);
  return made;
}
static PyObject *native_cummax(PyObject *const *args, Py_ssize_t n) { return extreme(args, n, 0); }
static PyObject *native_cummin(PyObject *const *args, Py_ssize_t n) { return extreme(args, n, 1); }
static PyObject *native_cumsum(PyObject *const *args, Py_ssize_t n) { return scan(args, n, 0); }
static PyObject *native_cumprod(PyObject *const *args, Py_ssize_t n) { return scan(args, n, 1); }
