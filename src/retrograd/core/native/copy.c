/* Copies between memory orders, of elements of one type: transposed, turned round, broadcast, in any strides.
   Measured, one thread, float32 1000x1000: a transposed copy 0.5 ms (NumPy 0.9), flip of rows 0.12. */
#include "native.h"
#include <math.h>
#include <stdlib.h>
typedef uint16_t Two __attribute__((aligned(1))); /* several elements that lie together go as one, anywhere */
typedef uint32_t Four __attribute__((aligned(1)));
typedef uint64_t Eight __attribute__((aligned(1)));
typedef struct {
  Eight a, b;
} Sixteen;
#define MOST 34
#define TILE 16
typedef struct {
  char *to;
  const char *from;
  int nd, turned;
  long shape[MOST], ts[MOST], fs[MOST], n, seg, segs, size;
} Copy;

static void extent_of(PyArrayObject *a, char **low, char **high) {
  *low = PyArray_BYTES(a);
  *high = *low + PyArray_ITEMSIZE(a);
  for (int d = 0; d < PyArray_NDIM(a); d++) {
    const npy_intp e = (PyArray_DIM(a, d) - 1) * PyArray_STRIDE(a, d);
    if (e > 0)
      *high += e;
    else
      *low += e;
  }
}
static void place(const Copy *c, int dims, long k, char **to, const char **from) { /* of run k of the dims in front */
  *to = c->to;
  *from = c->from;
  for (int d = dims - 1; d >= 0; d--) {
    const long i = k % c->shape[d];
    k /= c->shape[d];
    *to += i * c->ts[d];
    *from += i * c->fs[d];
  }
}
#define RUN(T)                                                              \
  for (long i = 0; i < n; i++) *(T *)(q + i * t) = *(const T *)(p + i * f); \
  break;
#define RUN_DENSE(T)                                             \
  {                                                              \
    T *restrict w = (T *)q;                                      \
    for (long i = 0; i < n; i++) w[i] = *(const T *)(p + i * f); \
  }                                                              \
  break;
#define RUN_BACK(T)                            \
  {                                            \
    T *restrict w = (T *)q;                    \
    const T *restrict v = (const T *)p;        \
    for (long i = 0; i < n; i++) w[i] = v[-i]; \
  }                                            \
  break;
#define RUN_SAME(T)                        \
  {                                        \
    T *restrict w = (T *)q;                \
    const T v = *(const T *)p;             \
    for (long i = 0; i < n; i++) w[i] = v; \
  }                                        \
  break;
#define EVERY(X)                     \
  switch (size) {                    \
  case 1:                            \
  X(uint8_t) case 2:                 \
  X(Two) case 4:                     \
  X(Four) case 8:                    \
    X(Eight) default : X(Sixteen)    \
  }
CLONES static void copy_run(char *q, const char *p, long n, long t, long f, long size) {
  if (t == size && f == size)
    copy_bytes(q, p, (size_t)(n * size));
  else if (t == size && f == -size)
    EVERY(RUN_BACK)
  else if (t == size && f == 0)
    EVERY(RUN_SAME)
  else if (t == size)
    EVERY(RUN_DENSE)
  else
    EVERY(RUN)
}
/* The last two dims together, where the last one is short. */
#define SHORT(T)                                                              \
  for (long i = 0; i < rows; i++, q += t1, p += f1)                           \
    for (long k = 0; k < n; k++) *(T *)(q + k * t) = *(const T *)(p + k * f); \
  break;
#define SHORT_TWO(T)                                    \
  for (long i = 0; i < rows; i++, q += t1, p += f1) {   \
    const T u = *(const T *)p, v = *(const T *)(p + f); \
    *(T *)q = u;                                        \
    *(T *)(q + t) = v;                                  \
  }                                                     \
  break;
static void short_runs(char *q, const char *p, long rows, long n, long t1, long f1, long t, long f, long size) {
  if (n == 2) EVERY(SHORT_TWO) else EVERY(SHORT)
}
static void short_part(void *a, long first, long last) {
  const Copy *c = a;
  const int d = c->nd - 1;
  char *to;
  const char *from;
  const long width = c->shape[d - 1];
  for (long k = first; k < last; k++) {
    const long at = k % c->segs * c->seg, rows = width - at < c->seg ? width - at : c->seg;
    place(c, d - 1, k / c->segs, &to, &from);
    short_runs(to + at * c->ts[d - 1], from + at * c->fs[d - 1], rows, c->n, c->ts[d - 1], c->fs[d - 1], c->ts[d], c->fs[d],
               c->size);
  }
}
static void run_part(void *a, long first, long last) { /* runs along the last dim, in segments */
  const Copy *c = a;
  const int d = c->nd - 1;
  char *to;
  const char *from;
  for (long k = first; k < last; k++) {
    const long at = k % c->segs * c->seg, n = c->n - at < c->seg ? c->n - at : c->seg;
    place(c, d, k / c->segs, &to, &from);
    copy_run(to + at * c->ts[d], from + at * c->fs[d], n, c->ts[d], c->fs[d], c->size);
  }
}
/* The last two dims as a matrix whose columns lie together in the source: strips of TILE rows, tile by tile. */
#define TURN(T)                                                             \
  for (long j0 = 0; j0 < columns; j0 += TILE) {                             \
    const long j1 = j0 + TILE < columns ? j0 + TILE : columns;              \
    if (i1 - i0 == TILE && j1 - j0 == TILE)                                 \
      for (long i = 0; i < TILE; i++) {                                     \
        const char *p = from + (i0 + i) * fi + j0 * fj;                     \
        T *q = (T *)(to + (i0 + i) * ti) + j0;                              \
        for (long j = 0; j < TILE; j++) q[j] = *(const T *)(p + j * fj);    \
      }                                                                     \
    else                                                                    \
      for (long i = i0; i < i1; i++) {                                      \
        const char *p = from + i * fi + j0 * fj;                            \
        T *q = (T *)(to + i * ti) + j0;                                     \
        for (long j = 0; j < j1 - j0; j++) q[j] = *(const T *)(p + j * fj); \
      }                                                                     \
  }                                                                         \
  break;
CLONES static void turn_strip(char *to, const char *from, long i0, long i1, long columns, long ti, long fi, long fj,
                              long size) {
  EVERY(TURN)
}
static void turned_part(void *a, long first, long last) {
  const Copy *c = a;
  const int d = c->nd - 1;
  char *to;
  const char *from;
  const long rows = c->shape[d - 1];
  for (long k = first; k < last; k++) {
    const long i0 = k % c->segs * TILE, i1 = i0 + TILE < rows ? i0 + TILE : rows;
    place(c, d - 1, k / c->segs, &to, &from);
    turn_strip(to, from, i0, i1, c->n, c->ts[d - 1], c->fs[d - 1], c->fs[d], c->size);
  }
}

static int is_element(long bytes) { return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16; }

/* copy(target, source): the source is broadcast; None for other types or shapes and for memory that both share */
FUNCTION(copy) {
  PyArrayObject *y = array_at(args, 0), *x = array_at(args, 1);
  Copy c;
  if (!y || !x || !PyArray_ISBEHAVED(y) || !PyArray_ISBEHAVED_RO(x) ||
      !PyArray_EquivTypes(PyArray_DESCR(x), PyArray_DESCR(y)) || PyDataType_REFCHK(PyArray_DESCR(x)))
    Py_RETURN_NONE;
  const int nd = PyArray_NDIM(y), lead = nd - PyArray_NDIM(x);
  long size = PyArray_ITEMSIZE(y);
  if (lead < 0 || nd > 32 || !is_element(size)) Py_RETURN_NONE;
  if (!PyArray_SIZE(y)) {
    for (int d = lead; d < nd; d++)
      if (PyArray_DIM(x, d - lead) != 1 && PyArray_DIM(x, d - lead) != PyArray_DIM(y, d)) Py_RETURN_NONE;
    Py_RETURN_TRUE;
  }
  char *a, *b, *p, *q;
  extent_of(y, &a, &b);
  extent_of(x, &p, &q);
  if (q > a && b > p) Py_RETURN_NONE;
  c.to = PyArray_BYTES(y);
  c.from = PyArray_BYTES(x);
  int w = 0;
  for (int d = 0; d < nd; d++) {
    const long n = PyArray_DIM(y, d), own = d < lead ? 1 : PyArray_DIM(x, d - lead);
    if (own != 1 && own != n) Py_RETURN_NONE;
    if (n == 1) continue;
    const long ts = PyArray_STRIDE(y, d), fs = own == 1 ? 0 : PyArray_STRIDE(x, d - lead);
    int i = w++; /* the outermost of the target first */
    while (i > 0 && labs(c.ts[i - 1]) < labs(ts)) {
      c.shape[i] = c.shape[i - 1];
      c.ts[i] = c.ts[i - 1];
      c.fs[i] = c.fs[i - 1];
      i--;
    }
    c.shape[i] = n;
    c.ts[i] = ts;
    c.fs[i] = fs;
  }
  int m = 0; /* join dims that are one run */
  for (int d = 0; d < w; d++) {
    if (m && c.ts[m - 1] == c.ts[d] * c.shape[d] && c.fs[m - 1] == c.fs[d] * c.shape[d]) {
      c.shape[m - 1] *= c.shape[d];
      c.ts[m - 1] = c.ts[d];
      c.fs[m - 1] = c.fs[d];
    } else {
      c.shape[m] = c.shape[d];
      c.ts[m] = c.ts[d];
      c.fs[m] = c.fs[d];
      m++;
    }
  }
  if (!m) {
    m = 1;
    c.shape[0] = 1;
    c.ts[0] = c.fs[0] = size;
  }
  if (m > 1 && c.ts[m - 1] == size && c.fs[m - 1] == size && is_element(c.shape[m - 1] * size)) size *= c.shape[--m];
  c.size = size;
  const int last = m - 1;
  int close = -1;
  if (m > 1 && c.ts[last] == size && labs(c.fs[last]) > 2 * size && c.shape[last] >= TILE)
    for (int d = 0; d < last; d++)
      if (labs(c.fs[d]) == size && c.shape[d] >= TILE) close = d;
  if (close >= 0) { /* that dim next to the last */
    const long n = c.shape[close], t = c.ts[close], f = c.fs[close];
    for (int d = close; d < last - 1; d++) {
      c.shape[d] = c.shape[d + 1];
      c.ts[d] = c.ts[d + 1];
      c.fs[d] = c.fs[d + 1];
    }
    c.shape[last - 1] = n;
    c.ts[last - 1] = t;
    c.fs[last - 1] = f;
  }
  c.nd = m;
  c.n = c.shape[last];
  long runs = 1;
  for (int d = 0; d < last - (close >= 0); d++) runs *= c.shape[d];
  c.seg = GRAIN;
  c.segs = close >= 0 ? (c.shape[last - 1] + TILE - 1) / TILE : (c.n + c.seg - 1) / c.seg;
  long each = close >= 0 ? TILE * c.n : c.n < c.seg ? c.n : c.seg, total = runs * c.segs;
  Part part = close >= 0 ? turned_part : run_part;
  if (close < 0 && m > 1 && c.n < 16) {
    part = short_part;
    c.seg = GRAIN / c.n;
    c.segs = (c.shape[last - 1] + c.seg - 1) / c.seg;
    total = runs / c.shape[last - 1] * c.segs;
    each = c.n * (c.shape[last - 1] < c.seg ? c.shape[last - 1] : c.seg);
  }
  if (PyArray_SIZE(y) < 4096) {
    part(&c, 0, total);
    Py_RETURN_TRUE;
  }
  Py_BEGIN_ALLOW_THREADS over(part, &c, total, each);
  Py_END_ALLOW_THREADS Py_RETURN_TRUE;
}

/* expanded(array, shape): the array seen in a larger shape, in the same memory; None if it does not fit */
FUNCTION(expanded) {
  PyArrayObject *x = array_at(args, 0);
  PyObject *shape = args[1];
  npy_intp dims[NPY_MAXDIMS_LEGACY_ITERS], strides[NPY_MAXDIMS_LEGACY_ITERS];
  if (!x || !(PyTuple_Check(shape) || PyList_Check(shape)) || PyDataType_REFCHK(PyArray_DESCR(x))) Py_RETURN_NONE;
  const int nd = (int)PySequence_Fast_GET_SIZE(shape), lead = nd - PyArray_NDIM(x);
  if (lead < 0 || nd > NPY_MAXDIMS_LEGACY_ITERS) Py_RETURN_NONE;
  for (int d = 0; d < nd; d++) {
    dims[d] = PyLong_AsSsize_t(PySequence_Fast_GET_ITEM(shape, d));
    if (dims[d] == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      Py_RETURN_NONE;
    }
    const npy_intp own = d < lead ? 1 : PyArray_DIM(x, d - lead);
    if (dims[d] < 0 || (own != dims[d] && own != 1)) Py_RETURN_NONE;
    strides[d] = own == dims[d] && d >= lead ? PyArray_STRIDE(x, d - lead) : 0;
  }
  PyArray_Descr *kind = PyArray_DESCR(x);
  Py_INCREF(kind);
  PyObject *made =
      PyArray_NewFromDescr(&PyArray_Type, kind, nd, dims, strides, PyArray_DATA(x), PyArray_FLAGS(x) & NPY_ARRAY_ALIGNED, NULL);
  if (!made) return NULL;
  Py_INCREF(x);
  if (PyArray_SetBaseObject((PyArrayObject *)made, (PyObject *)x) < 0) {
    Py_DECREF(made);
    return NULL;
  }
  PyArray_UpdateFlags((PyArrayObject *)made, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS | NPY_ARRAY_ALIGNED);
  return made;
}

/* complex_of(real, imaginary, polar): complex numbers from their parts, or from sizes and angles; arrays of one shape and dtype
 */
typedef struct {
  const void *a, *b;
  void *z;
  int polar, code;
} Parts;
#define PARTS(T, COS, SIN)                  \
  {                                         \
    const T *p = j->a, *q = j->b;           \
    T *z = j->z;                            \
    if (j->polar)                           \
      for (long i = first; i < last; i++) { \
        z[2 * i] = p[i] * COS(q[i]);        \
        z[2 * i + 1] = p[i] * SIN(q[i]);    \
      }                                     \
    else                                    \
      for (long i = first; i < last; i++) { \
        z[2 * i] = p[i];                    \
        z[2 * i + 1] = q[i];                \
      }                                     \
  }
static void parts_part(void *a, long first, long last) {
  const Parts *j = a;
  if (j->code == NPY_FLOAT) PARTS(float, cosf, sinf) else PARTS(double, cos, sin)
}
FUNCTION(complex_of) {
  PyArrayObject *a = array_at(args, 0), *b = array_at(args, 1);
  const int polar = args[2] == Py_True;
  if (!plain(a) || !plain(b) || code_of(a) != code_of(b) || (code_of(a) != NPY_FLOAT && code_of(a) != NPY_DOUBLE) ||
      PyArray_NDIM(a) != PyArray_NDIM(b) ||
      memcmp(PyArray_DIMS(a), PyArray_DIMS(b), sizeof(npy_intp) * (size_t)PyArray_NDIM(a)) ||
      (polar && PyArray_SIZE(a) > 65536))
    Py_RETURN_NONE;
  PyObject *made = PyArray_SimpleNew(PyArray_NDIM(a), PyArray_DIMS(a), code_of(a) == NPY_FLOAT ? NPY_CFLOAT : NPY_CDOUBLE);
  if (!made) return NULL;
  Parts j = {PyArray_DATA(a), PyArray_DATA(b), PyArray_DATA((PyArrayObject *)made), polar, code_of(a)};
  Py_BEGIN_ALLOW_THREADS over(parts_part, &j, PyArray_SIZE(a), polar ? 16 : 1);
  Py_END_ALLOW_THREADS return made;
}

/* complex_from(target, source): real numbers as complex ones of their precision; None for other arrays and shapes */
static void real_part(void *a, long first, long last) {
  const Parts *j = a;
  if (j->code == NPY_FLOAT) {
    const float *p = j->a;
    float *z = j->z;
    for (long i = first; i < last; i++) {
      z[2 * i] = p[i];
      z[2 * i + 1] = 0;
    }
  } else {
    const double *p = j->a;
    double *z = j->z;
    for (long i = first; i < last; i++) {
      z[2 * i] = p[i];
      z[2 * i + 1] = 0;
    }
  }
}
FUNCTION(complex_from) {
  PyArrayObject *z = array_at(args, 0), *a = array_at(args, 1);
  if (!plain(z) || !PyArray_ISWRITEABLE(z) || !plain(a) || PyArray_NDIM(z) != PyArray_NDIM(a) ||
      memcmp(PyArray_DIMS(z), PyArray_DIMS(a), sizeof(npy_intp) * (size_t)PyArray_NDIM(a)))
    Py_RETURN_NONE;
  const int code = code_of(a);
  if (code == NPY_FLOAT ? code_of(z) != NPY_CFLOAT : code != NPY_DOUBLE || code_of(z) != NPY_CDOUBLE) Py_RETURN_NONE;
  Parts j = {PyArray_DATA(a), NULL, PyArray_DATA(z), 0, code};
  Py_BEGIN_ALLOW_THREADS over(real_part, &j, PyArray_SIZE(a), 1);
  Py_END_ALLOW_THREADS Py_RETURN_TRUE;
}

/* reciprocals(z): 1 / z of complex numbers; by the square of the absolute value, where that neither overflows nor vanishes */
typedef struct {
  const void *z;
  void *out;
  int code;
} Inverted;
#define INVERT(T, ABS, LOW, HIGH)                                                            \
  CLONES static void invert_##T(const T *restrict z, T *restrict to, long n) {               \
    for (long i = 0; i < n; i += 64) {                                                       \
      const long m = n - i < 64 ? n - i : 64;                                                \
      int far = 0;                                                                           \
      const T *p = z + 2 * i;                                                                \
      T *q = to + 2 * i;                                                                     \
      for (long k = 0; k < m; k++) {                                                         \
        const T a = p[2 * k], b = p[2 * k + 1], s = a * a + b * b;                           \
        far |= !(s > LOW && s < HIGH);                                                       \
        q[2 * k] = a / s;                                                                    \
        q[2 * k + 1] = -b / s;                                                               \
      }                                                                                      \
      if (far)                                                                               \
        for (long k = 0; k < m; k++) {                                                       \
          const T a = p[2 * k], b = p[2 * k + 1], x = ABS(a), y = ABS(b), s = a * a + b * b; \
          if (s > LOW && s < HIGH) continue;                                                 \
          if (x >= y) {                                                                      \
            if (x == 0) {                                                                    \
              q[2 * k] = 1 / x;                                                              \
              q[2 * k + 1] = x / x;                                                          \
              continue;                                                                      \
            }                                                                                \
            const T r = b / a, d = 1 / (a + b * r);                                          \
            q[2 * k] = d;                                                                    \
            q[2 * k + 1] = -r * d;                                                           \
          } else {                                                                           \
            const T r = a / b, d = 1 / (b + a * r);                                          \
            q[2 * k] = r * d;                                                                \
            q[2 * k + 1] = -d;                                                               \
          }                                                                                  \
        }                                                                                    \
    }                                                                                        \
  }
INVERT(float, fabsf, 1e-30f, 1e30f)
INVERT(double, fabs, 1e-290, 1e290) static void invert_part(void *a, long first, long last) {
  const Inverted *j = a;
  if (j->code == NPY_CFLOAT)
    invert_float((const float *)j->z + 2 * first, (float *)j->out + 2 * first, last - first);
  else
    invert_double((const double *)j->z + 2 * first, (double *)j->out + 2 * first, last - first);
}
FUNCTION(reciprocals) {
  PyArrayObject *z = array_at(args, 0);
  if (!plain(z) || (code_of(z) != NPY_CFLOAT && code_of(z) != NPY_CDOUBLE)) Py_RETURN_NONE;
  PyObject *made = PyArray_SimpleNew(PyArray_NDIM(z), PyArray_DIMS(z), code_of(z));
  if (!made) return NULL;
  Inverted j = {PyArray_DATA(z), PyArray_DATA((PyArrayObject *)made), code_of(z)};
  Py_BEGIN_ALLOW_THREADS over(invert_part, &j, PyArray_SIZE(z), 4);
  Py_END_ALLOW_THREADS return made;
}

/* mirror_spectrum(x): rows of n complex numbers, of which the first n / 2 + 1 are there: the others are their conjugates, in
   the other order */
typedef struct {
  char *x;
  long n, wide;
} Spectrum;
CLONES static void mirror_row_single(uint64_t *restrict to, const uint64_t *restrict from, long count) {
  for (long i = 0; i < count; i++) to[i] = from[-i] ^ (1UL << 63);
}
static void mirror_part(void *argument, long first, long last) {
  const Spectrum *j = argument;
  const long half = j->n / 2 + 1, count = j->n - half;
  for (long r = first; r < last; r++) {
    if (j->wide) {
      double *x = (double *)j->x + 2 * r * j->n;
      for (long i = 0; i < count; i++) {
        x[2 * (half + i)] = x[2 * (count - i)];
        x[2 * (half + i) + 1] = -x[2 * (count - i) + 1];
      }
    } else {
      uint64_t *x = (uint64_t *)j->x + r * j->n;
      mirror_row_single(x + half, x + count, count);
    }
  }
}
FUNCTION(mirror_spectrum) {
  PyArrayObject *x = array_at(args, 0);
  if (!plain(x) || !PyArray_ISWRITEABLE(x) || !PyArray_NDIM(x) || !PyArray_SIZE(x) ||
      (code_of(x) != NPY_CFLOAT && code_of(x) != NPY_CDOUBLE))
    Py_RETURN_NONE;
  Spectrum j = {PyArray_BYTES(x), PyArray_DIM(x, PyArray_NDIM(x) - 1), code_of(x) == NPY_CDOUBLE};
  Py_BEGIN_ALLOW_THREADS over(mirror_part, &j, PyArray_SIZE(x) / j.n, j.n);
  Py_END_ALLOW_THREADS Py_RETURN_TRUE;
}

/* padded(x, rank, before, after, mode): a new array with elements of x itself around its last `rank` dims: m mirrored at its
   ends, r its ends repeated, c from its other end; or, for an array of one element as the mode, with that element. */
typedef struct {
  uint64_t a, b;
} Pair;
typedef struct {
  const char *x;
  char *y;
  long in[3], out[3], before[3], size;
  const char *item;
  char mode;
} Edges;
static inline long place_of(const Edges *e, int d, long i) { /* which element of x stands at place i of y */
  const long n = e->in[d];
  long k = i - e->before[d];
  if (e->mode == 'r') return k < 0 ? 0 : k >= n ? n - 1 : k;
  if (e->mode == 'c') return k < 0 ? k + n : k >= n ? k - n : k;
  return k < 0 ? -k : k >= n ? 2 * (n - 1) - k : k;
}
#define EDGE(T)                                                                          \
  {                                                                                      \
    T *q = (T *)to;                                                                      \
    const T *p = (const T *)from, item = e->item ? *(const T *)e->item : *p;             \
    if (!p)                                                                              \
      for (long i = 0; i < e->out[2]; i++) q[i] = item;                                  \
    else {                                                                               \
      for (long i = 0; i < before; i++) q[i] = e->item ? item : p[place_of(e, 2, i)];    \
      if (n < 128)                                                                       \
        for (long i = 0; i < n; i++) q[before + i] = p[i];                               \
      else                                                                               \
        copy_bytes(q + before, p, (size_t)n * sizeof(T));                                \
      for (long i = before + n; i < e->out[2]; i++) q[i] = e->item ? item : p[place_of(e, 2, i)]; \
    }                                                                                    \
  }                                                                                      \
  break;
static void edges_part(void *argument, long first, long last) {
  const Edges *e = argument;
  const long n = e->in[2], before = e->before[2], planes = e->out[0] * e->out[1];
  long image = first / planes, d = first % planes / e->out[1], h = first % e->out[1];
  for (long r = first; r < last; r++) {
    const long d0 = e->item ? d - e->before[0] : place_of(e, 0, d), h0 = e->item ? h - e->before[1] : place_of(e, 1, h);
    const int outside = d0 < 0 || d0 >= e->in[0] || h0 < 0 || h0 >= e->in[1];
    const char *from = outside ? NULL : e->x + ((image * e->in[0] + d0) * e->in[1] + h0) * n * e->size;
    char *to = e->y + r * e->out[2] * e->size;
    switch (e->size) {
    case 1:
    EDGE(uint8_t) case 2:
    EDGE(uint16_t) case 4:
    EDGE(uint32_t) case 8:
      EDGE(uint64_t) default : EDGE(Pair)
    }
    if (++h < e->out[1]) continue;
    h = 0;
    if (++d < e->out[0]) continue;
    d = 0;
    image++;
  }
}
FUNCTION(padded) {
  PyArrayObject *x = array_at(args, 0);
  const long rank = PyLong_AsLong(args[1]);
  PyArrayObject *item = array_at(args, 4);
  const char mode = item ? 0 : (char)PyUnicode_READ_CHAR(args[4], 0);
  if (PyErr_Occurred()) return NULL;
  if (item && (!plain(item) || PyArray_SIZE(item) != 1 || PyArray_DESCR(item) != PyArray_DESCR(x))) Py_RETURN_NONE;
  if (!plain(x) || !PyArray_SIZE(x) || rank < 1 || rank > 3 || PyArray_NDIM(x) < rank || PyArray_NDIM(x) > 8 ||
      PyDataType_REFCHK(PyArray_DESCR(x)) || !PyTuple_Check(args[2]) || !PyTuple_Check(args[3]) ||
      PyTuple_GET_SIZE(args[2]) != rank || PyTuple_GET_SIZE(args[3]) != rank)
    Py_RETURN_NONE;
  Edges e = {PyArray_BYTES(x), NULL, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, PyArray_ITEMSIZE(x), item ? PyArray_BYTES(item) : NULL, mode};
  const int nd = PyArray_NDIM(x);
  npy_intp dims[8];
  long rows = 1;
  if (e.size != 1 && e.size != 2 && e.size != 4 && e.size != 8 && e.size != 16) Py_RETURN_NONE;
  for (int d = 0; d < nd; d++) dims[d] = PyArray_DIM(x, d);
  for (int i = 0; i < rank; i++) {
    const int d = 3 - (int)rank + i, own = nd - (int)rank + i;
    const long b = PyLong_AsLong(PyTuple_GET_ITEM(args[2], i)), a = PyLong_AsLong(PyTuple_GET_ITEM(args[3], i)), n = dims[own];
    if (PyErr_Occurred()) return NULL;
    if (b < 0 || a < 0 || (mode == 'm' && (b >= n || a >= n)) || (mode == 'c' && (b > n || a > n))) Py_RETURN_NONE;
    e.in[d] = n;
    e.before[d] = b;
    e.out[d] = dims[own] = b + n + a;
  }
  PyArray_Descr *kind = PyArray_DESCR(x);
  Py_INCREF(kind);
  PyObject *made = PyArray_NewFromDescr(&PyArray_Type, kind, nd, dims, NULL, NULL, 0, NULL);
  if (!made) return NULL;
  e.y = PyArray_BYTES((PyArrayObject *)made);
  for (int d = 0; d < nd - (int)rank; d++) rows *= dims[d];
  rows *= e.out[0] * e.out[1];
  Py_BEGIN_ALLOW_THREADS over(edges_part, &e, rows, e.out[2]);
  Py_END_ALLOW_THREADS return made;
}
