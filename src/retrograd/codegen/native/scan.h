/* Running sums and products along one dim, in place. Floats are accumulated in double, halves as floats in float; eight
   rows at a time hide the latency. */
typedef struct {
  char *x;
  int code, product;
  long n, inner, outer;
} Scan;
#define SCAN_ROWS(T, A, OP)                                        \
  {                                                                \
    T *x = (T *)j->x + k * 8 * j->n;                               \
    const long rows = j->outer - k * 8 < 8 ? j->outer - k * 8 : 8; \
    A a[8];                                                        \
    for (int r = 0; r < 8; r++) a[r] = j->product;                 \
    if (rows == 8 && (A)0.5 != 0)                                  \
      for (long i = 0; i < j->n; i++)                              \
        for (int r = 0; r < 8; r++) {                              \
          a[r] = a[r] OP x[r * j->n + i];                          \
          x[r * j->n + i] = (T)a[r];                               \
        }                                                          \
    else                                                           \
      for (int r = 0; r < rows; r++)                               \
        for (long i = 0; i < j->n; i++) {                          \
          a[r] = a[r] OP x[r * j->n + i];                          \
          x[r * j->n + i] = (T)a[r];                               \
        }                                                          \
  }
#define SCAN_COLUMNS(T, A, OP)                                                                                        \
  {                                                                                                                   \
    const long blocks = (j->inner + 511) / 512, c0 = k % blocks * 512, m = j->inner - c0 < 512 ? j->inner - c0 : 512; \
    A a[512];                                                                                                         \
    for (long c = 0; c < m; c++) a[c] = j->product;                                                                   \
    T *x = (T *)j->x + k / blocks * j->n * j->inner + c0;                                                             \
    for (long i = 0; i < j->n; i++, x += j->inner)                                                                    \
      for (long c = 0; c < m; c++) {                                                                                  \
        a[c] = a[c] OP x[c];                                                                                          \
        x[c] = (T)a[c];                                                                                               \
      }                                                                                                               \
  }
#define SCANS(PART, T, A) \
  if (j->product) PART(T, A, *) else PART(T, A, +) break;
#define SCAN(PART)                                                                                     \
  switch (j->code) {                                                                                   \
  case F32: SCANS(PART, float, double) case F64: SCANS(PART, double, double)                           \
  case I64: SCANS(PART, uint64_t, uint64_t) default: SCANS(PART, float, float) /* halves, as floats */ \
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
  PyArrayObject *x = (PyArrayObject *)args[0], *made, *floats = NULL;
  const int nd = PyArray_NDIM(x), own = code_of(x);
  j.product = product;
  j.code = own > I64 && own != OTHER ? I64 : own;
  if (n > 2 && args[2] != Py_None) {
    if (!PyArray_DescrCheck(args[2])) return refuse();
    const PyArray_Descr *d = (PyArray_Descr *)args[2];
    j.code = d->byteorder == '>'          ? OTHER
             : d->type_num == NPY_FLOAT   ? F32
             : d->type_num == NPY_DOUBLE  ? F64
             : d->type_num == NPY_INT64   ? I64
             : d == PyArray_DESCR(x)      ? own
                                          : OTHER;
  }
  const int half = j.code == BF16 || j.code == F16;
  if (own == OTHER || j.code > I64 || (half && j.code != own)) return refuse();
  if (dim < 0) dim += nd;
  if (!nd || nd > MAXD || dim < 0 || dim >= nd) return refuse();
  if (!(made = (PyArrayObject *)new_array(j.code, nd, PyArray_DIMS(x)))) return NULL;
  if (!PyArray_SIZE(x)) return (PyObject *)made;
  if (half && !(floats = (PyArrayObject *)new_array(F32, nd, PyArray_DIMS(x)))) {
    Py_DECREF(made);
    return NULL;
  }
  copy_values(half ? floats : made, x);
  j.x = PyArray_BYTES(half ? floats : made);
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
  if (half) {
    copy_values(made, floats);
    Py_DECREF(floats);
  }
  return (PyObject *)made;
}
/* ---- running extremes and where they are: of equal elements the last counts; after a NaN only another NaN does */
typedef struct {
  const char *x;
  char *out;
  int64_t *at;
  int code, least;
  long n, inner, outer;
} Extreme;
#define OWN(v) (v)
#define IS_NAN(v) ((v) != (v))
/* halves by their bits: their order as integers, all NaNs above it */
#define ABOVE 0x10000
#define HALF_ORDER(h, most) (((h) & 0x7fff) > (most) ? ABOVE : (h) & 0x8000 ? -((h) & 0x7fff) : (h) & 0x7fff)
#define BFLOAT_ORDER(h) HALF_ORDER(h, 0x7f80)
#define FLOAT16_ORDER(h) HALF_ORDER(h, 0x7c00)
#define IS_ABOVE(v) ((v) == ABOVE)
#define EXTREME(T, A, ORDER, BAD, BETTER)                                                      \
  for (long o = first; o < end; o++)                                                           \
    for (long c0 = 0; c0 < j->inner; c0 += 64) {                                               \
      const long m = j->inner - c0 < 64 ? j->inner - c0 : 64, base = o * j->n * j->inner + c0; \
      const T *x = (const T *)j->x + base;                                                     \
      T *z = (T *)j->out + base;                                                               \
      int64_t *at = j->at + base;                                                              \
      A best[64];                                                                              \
      T kept[64];                                                                              \
      int64_t place[64];                                                                       \
      for (long c = 0; c < m; c++) {                                                           \
        best[c] = ORDER(x[c]);                                                                 \
        kept[c] = x[c];                                                                        \
        place[c] = 0;                                                                          \
      }                                                                                        \
      for (long i = 0; i < j->n; i++, x += j->inner, z += j->inner, at += j->inner)            \
        for (long c = 0; c < m; c++) {                                                         \
          const A v = ORDER(x[c]);                                                             \
          const int take = BAD(v) || (!BAD(best[c]) && v BETTER best[c]);                      \
          best[c] = take ? v : best[c];                                                        \
          kept[c] = take ? x[c] : kept[c];                                                     \
          place[c] = take ? i : place[c];                                                      \
          z[c] = kept[c];                                                                      \
          at[c] = place[c];                                                                    \
        }                                                                                      \
    }
/* rows of single elements: most of them change little, which processors foresee */
#define EXTREME_ROW(T, A, ORDER, BAD, BETTER)                                \
  for (long o = first; o < end; o++) {                                       \
    const T *x = (const T *)j->x + o * j->n;                                 \
    T *z = (T *)j->out + o * j->n, kept = x[0];                              \
    int64_t *at = j->at + o * j->n;                                          \
    A best = ORDER(x[0]);                                                    \
    int64_t place = 0;                                                       \
    for (long i = 0; i < j->n; i++) {                                        \
      const A v = ORDER(x[i]);                                               \
      if (__builtin_expect(BAD(v) || (!BAD(best) && v BETTER best), 0)) {    \
        best = v;                                                            \
        kept = x[i];                                                         \
        place = i;                                                           \
      }                                                                      \
      z[i] = kept;                                                           \
      at[i] = place;                                                         \
    }                                                                        \
  }
#define EXTREMES(T, A, ORDER, BAD)           \
  if (j->inner == 1) {                       \
    if (j->least) {                          \
      EXTREME_ROW(T, A, ORDER, BAD, <=)      \
    } else {                                 \
      EXTREME_ROW(T, A, ORDER, BAD, >=)      \
    }                                        \
  } else if (j->least) {                     \
    EXTREME(T, A, ORDER, BAD, <=)            \
  } else {                                   \
    EXTREME(T, A, ORDER, BAD, >=)            \
  }                                          \
  break;
#define EXTREMES_OF(T) EXTREMES(T, T, OWN, IS_NAN)
static void extreme_task(void *argument, long k) {
  const Extreme *j = argument;
  const long chunk = GRAIN / (j->n * j->inner) + 1, first = k * chunk,
             end = first + chunk < j->outer ? first + chunk : j->outer;
  switch (j->code) {
  case F32: EXTREMES_OF(float)
  case F64: EXTREMES_OF(double)
  case BF16: EXTREMES(uint16_t, int32_t, BFLOAT_ORDER, IS_ABOVE)
  case F16: EXTREMES(uint16_t, int32_t, FLOAT16_ORDER, IS_ABOVE)
  case I64: EXTREMES_OF(int64_t)
  case I32: EXTREMES_OF(int32_t)
  case I16: EXTREMES_OF(int16_t)
  case I8: EXTREMES_OF(int8_t)
  default: EXTREMES_OF(uint8_t)
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
  if (j.code == OTHER || !PyArray_SIZE(x)) return refuse();
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
