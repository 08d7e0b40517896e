/* Orthogonal polynomials, by recurrence, or by the angle for Chebyshev's of high degree between -1 and 1. The arguments are x
   and the degrees: floats of one dtype, integers or a number; operands that broadcast otherwise than by the last dims of x
   are copied. Degrees above 4096 are refused, since a loop here cannot be interrupted. Measured, one thread, float32 of 12
   elements: 0.3 us (with NumPy 14). */
typedef struct {
  const char *x, *n;
  long xs, ns, period;
  char *out;
  int wide, whole_x, whole_n, shifted;
  char kind;
  long size;
} Polynomial;
#define MOST_DEGREE 4096
/* Degrees up to this take the recurrence for every x, exact also where the others are computed in closed form: a loop over
   elements inside one over steps. */
#define FEW_DEGREES 6
#define FEW_ELEMENTS 64
#if defined(__GNUC__) && !defined(__clang__)
#define STEADY __attribute__((optimize("O3", "fp-contract=off")))
#else
#define STEADY
#endif
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define STEADY_CLONES STEADY __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define STEADY_CLONES STEADY
#endif
#define STEP(T, NEXT)                                       \
  for (int k = 1; k < most; k++) {                          \
    const T c = (T)k;                                       \
    for (int i = 0; i < FEW_ELEMENTS; i++) {                \
      const T next = NEXT, kept = degree[i] > c ? next : here[i];             \
      before[i] = degree[i] > c ? here[i] : before[i];           \
      here[i] = kept;                                       \
    }                                                       \
  }                                                         \
  break;
#define RECUR_FEW(T, TRUNC)                                                                          \
  STEADY_CLONES static int recur_few_##T(char kind, int shifted, const T *restrict given, const T *restrict degrees, \
                                         T *restrict here) {                                         \
    T x[FEW_ELEMENTS], degree[FEW_ELEMENTS], before[FEW_ELEMENTS], most = 0;                         \
    for (int i = 0; i < FEW_ELEMENTS; i++) {                                                         \
      degree[i] = degrees[i] > -1 ? TRUNC(degrees[i]) : -1;                                          \
      most = degree[i] > most ? degree[i] : most;                                                    \
    }                                                                                                \
    if (most > FEW_DEGREES) return 0;                                                                \
    for (int i = 0; i < FEW_ELEMENTS; i++) {                                                         \
      x[i] = shifted ? 2 * given[i] - 1 : given[i];                                                  \
      const T one = kind == 't' || kind == 'e' || kind == 'p' ? x[i]                                 \
                    : kind == 'v'                             ? 2 * x[i] - 1                         \
                    : kind == 'w'                             ? 2 * x[i] + 1                         \
                    : kind == 'l'                             ? 1 - x[i]                             \
                                                              : 2 * x[i];                            \
      before[i] = 1;                                                                                 \
      here[i] = degree[i] >= 1 ? one : degree[i] > -1 ? 1 : 0;                                       \
    }                                                                                                \
    switch (kind) {                                                                                  \
    case 'h': STEP(T, 2 * x[i] * here[i] - 2 * c * before[i])                                        \
    case 'e': STEP(T, x[i] * here[i] - c * before[i])                                                \
    case 'l': STEP(T, ((2 * c + 1 - x[i]) * here[i] - c * before[i]) / (c + 1))                      \
    case 'p': STEP(T, ((2 * c + 1) * x[i] * here[i] - c * before[i]) / (c + 1))                      \
    default: STEP(T, 2 * x[i] * here[i] - before[i])                                                 \
    }                                                                                                \
    return 1;                                                                                        \
  }
RECUR_FEW(float, __builtin_truncf)
RECUR_FEW(double, __builtin_trunc)
/* elements first .. last of an operand that is read over and over, `step` bytes apart or 0; the last one fills the block */
#define FILL(T, to, from, step, whole, at, around)                                       \
  if (!step || (!(whole) && at + FEW_ELEMENTS <= around && last - first == FEW_ELEMENTS)) { \
    const T one = (whole) ? (T) * (const int64_t *)(from) : *(const T *)(from);          \
    if (step)                                                                            \
      memcpy(to, (from) + at * sizeof(T), sizeof(to));                                   \
    else                                                                                 \
      for (int i = 0; i < FEW_ELEMENTS; i++) to[i] = one;                                \
  } else                                                                                 \
    for (long i = 0, k = at; i < FEW_ELEMENTS; i++) {                                    \
      const char *p = (from) + k * (step);                                               \
      to[i] = (whole) ? (T) * (const int64_t *)p : *(const T *)p;                        \
      if (first + i + 1 < last && ++k == around) k = 0;                                  \
    }
#define RECUR_BLOCK(T)                                                                   \
  {                                                                                      \
    T x[FEW_ELEMENTS], degree[FEW_ELEMENTS], made[FEW_ELEMENTS];                         \
    const long place = first % j->period;                                                \
    FILL(T, x, j->x, j->xs, j->whole_x, first, j->size)                                  \
    FILL(T, degree, j->n, j->ns, j->whole_n, place, j->period)                           \
    if (!recur_few_##T(j->kind, j->shifted, x, degree, made)) return 0;                  \
    memcpy((T *)j->out + first, made, (size_t)(last - first) * sizeof(T));               \
    return 1;                                                                            \
  }
static int recur_block(const Polynomial *j, long first, long last) {
  if (j->wide) RECUR_BLOCK(double) else RECUR_BLOCK(float)
}
#define RECUR(T, COS, SIN, ACOS)                                                                      \
  long place = first % j->period;                                                                     \
  for (long i = first; i < last; i++, place = place + 1 == j->period ? 0 : place + 1) {               \
    const char *px = j->x + i * j->xs, *pn = j->n + place * j->ns;                                    \
    T x = j->whole_x ? (T) * (const int64_t *)px : *(const T *)px;                                    \
    const T degree = j->whole_n ? (T) * (const int64_t *)pn : *(const T *)pn;                         \
    T *to = (T *)j->out + i;                                                                          \
    const char kind = j->kind;                                                                        \
    if (j->shifted) x = 2 * x - 1;                                                                    \
    if (!(degree > -1)) {                                                                             \
      *to = 0;                                                                                        \
      continue;                                                                                       \
    }                                                                                                 \
    const long d = (long)degree;                                                                      \
    T before = 1, here = kind == 't' || kind == 'e' || kind == 'p' ? x                                \
                         : kind == 'v'                             ? 2 * x - 1                        \
                         : kind == 'w'                             ? 2 * x + 1                        \
                         : kind == 'l'                             ? 1 - x                            \
                                                                   : 2 * x;                           \
    if (d < 2) {                                                                                      \
      *to = d ? here : 1;                                                                             \
      continue;                                                                                       \
    }                                                                                                 \
    const T m = (T)d;                                                                                 \
    const int odd = d & 1, bounded = kind >= 't' && kind <= 'w';                                      \
    if ((bounded || kind == 'p') && (x == 1 || x == -1)) {                                            \
      const T rise = 2 * m + 1, value = kind == 'u' ? m + 1 : kind == (x > 0 ? 'w' : 'v') ? rise : 1; \
      *to = x < 0 && odd ? -value : value;                                                            \
      continue;                                                                                       \
    }                                                                                                 \
    if (bounded && x > -1 && x < 1 && d > (kind == 't' ? 6 : 8)) {                                    \
      const T angle = ACOS(x);                                                                        \
      *to = kind == 't'   ? COS(m * angle)                                                            \
            : kind == 'u' ? SIN((m + 1) * angle) / SIN(angle)                                         \
            : kind == 'v' ? COS((m + (T)0.5) * angle) / COS(angle / 2)                                \
                          : SIN((m + (T)0.5) * angle) / SIN(angle / 2);                               \
      continue;                                                                                       \
    }                                                                                                 \
    if ((kind == 'h' || kind == 'e') && d > (sizeof(T) < 8 ? 128 : 512)) {                            \
      *to = (T)__builtin_nan("");                                                                     \
      continue;                                                                                       \
    }                                                                                                 \
    if (kind == 'l' && x == 0) {                                                                      \
      *to = 1;                                                                                        \
      continue;                                                                                       \
    }                                                                                                 \
    for (long k = 1; k < d; k++) {                                                                    \
      T next;                                                                                         \
      const T c = (T)k;                                                                               \
      switch (kind) {                                                                                 \
      case 'h': next = 2 * x * here - 2 * c * before; break;                                          \
      case 'e': next = x * here - c * before; break;                                                  \
      case 'l': next = ((2 * c + 1 - x) * here - c * before) / (c + 1); break;                        \
      case 'p': next = ((2 * c + 1) * x * here - c * before) / (c + 1); break;                        \
      default: next = 2 * x * here - before;                                                          \
      }                                                                                               \
      before = here;                                                                                  \
      here = next;                                                                                    \
    }                                                                                                 \
    *to = here;                                                                                       \
  }
static void recur_each(const Polynomial *j, long first, long last) {
  if (j->wide) {
    RECUR(double, __builtin_cos, __builtin_sin, __builtin_acos)
  } else {
    RECUR(float, __builtin_cosf, __builtin_sinf, __builtin_acosf)
  }
}
static void recur(const Polynomial *j, long first, long last) {
  for (long i = first; i < last; i += FEW_ELEMENTS) {
    const long end = i + FEW_ELEMENTS < last ? i + FEW_ELEMENTS : last;
    if (last - first < 16 || !recur_block(j, i, end)) recur_each(j, i, end);
  }
}
static void recur_task(void *argument, long k) {
  const Polynomial *j = argument;
  const long first = k * 1024, last = first + 1024 < j->size ? first + 1024 : j->size;
  recur(j, first, last);
}
/* An operand: floats of the result's dtype, integers, or a number in the place of an array. */
static int recur_operand(PyObject *o, int code, const char **p, long *step, int *whole, Number *held, float *single) {
  *whole = 0;
  if (is_array(o)) {
    PyArrayObject *a = (PyArrayObject *)o;
    const int own = code_of(a);
    *whole = own == I64;
    *p = PyArray_BYTES(a);
    *step = PyArray_ITEMSIZE(a);
    return (own == code || *whole) && contiguous(a) && PyArray_ISALIGNED(a) && row_major_strides(a);
  }
  char integer;
  if (PyBool_Check(o) || !number_of(o, held, &integer)) return 0;
  const double v = integer ? (double)held->i : held->d;
  held->d = v;
  *single = (float)v;
  *p = code == F64 ? (const char *)held : (const char *)single;
  *step = 0;
  return 1;
}
/* A copy of `a` in the dims that it broadcasts to; PyTorch's errors come from the layers */
static PyObject *expanded_copy(PyArrayObject *a, int nd, const npy_intp *dims) {
  npy_intp steps[NPY_MAXDIMS];
  const int front = nd - PyArray_NDIM(a);
  for (int i = 0; i < nd; i++)
    steps[i] = i < front || (PyArray_DIM(a, i - front) == 1 && dims[i] != 1) ? 0 : PyArray_STRIDE(a, i - front);
  PyArray_Descr *kind = PyArray_DESCR(a);
  Py_INCREF(kind);
  PyObject *view =
      PyArray_NewFromDescr(&PyArray_Type, kind, nd, (npy_intp *)dims, steps, PyArray_DATA(a), NPY_ARRAY_ALIGNED, NULL);
  PyObject *copy = view ? PyArray_NewCopy((PyArrayObject *)view, NPY_CORDER) : NULL;
  Py_XDECREF(view);
  return copy;
}
static PyObject *polynomial(PyObject *const *args, Py_ssize_t n, char kind, int shifted);
static PyObject *broadcast_polynomial(PyArrayObject *x, PyArrayObject *d, int code, char kind, int shifted) {
  npy_intp dims[NPY_MAXDIMS], size = 1;
  const int a = PyArray_NDIM(x), b = PyArray_NDIM(d), nd = a > b ? a : b;
  for (int i = 0; i < nd; i++) {
    const npy_intp p = i < nd - a ? 1 : PyArray_DIM(x, i - (nd - a)), q = i < nd - b ? 1 : PyArray_DIM(d, i - (nd - b));
    if (p != q && p != 1 && q != 1) return refuse();
    size *= dims[i] = p == 1 ? q : p;
  }
  if (!size) return new_array(code, nd, dims);
  PyObject *pair[2] = {expanded_copy(x, nd, dims), NULL}, *made = NULL;
  if (pair[0]) pair[1] = expanded_copy(d, nd, dims);
  if (pair[1]) made = polynomial(pair, 2, kind, shifted);
  Py_XDECREF(pair[0]);
  Py_XDECREF(pair[1]);
  return made;
}
static PyObject *polynomial(PyObject *const *args, Py_ssize_t n, char kind, int shifted) {
  if (n != 2) return refuse();
  Polynomial j;
  Number held[2];
  float single[2];
  int code = -1;
  PyArrayObject *x = is_array(args[0]) ? (PyArrayObject *)args[0] : NULL,
                *d = is_array(args[1]) ? (PyArrayObject *)args[1] : NULL, *lead = x ? x : d;
  for (int i = 0; i < 2; i++) {
    PyArrayObject *a = i ? d : x;
    if (!a) continue;
    const int own = code_of(a);
    if (own == F32 || own == F64) {
      if (code >= 0 && code != own) return refuse();
      code = own;
    }
  }
  if (x && d && code < 0 && code_of(x) == I64 && code_of(d) == I64) code = default_code;
  if (x && d && (code == F32 || code == F64) && (!PyArray_SIZE(x) || !PyArray_SIZE(d)))
    return broadcast_polynomial(x, d, code, kind, shifted);
  if ((code != F32 && code != F64) || !recur_operand(args[0], code, &j.x, &j.xs, &j.whole_x, held, single) ||
      !recur_operand(args[1], code, &j.n, &j.ns, &j.whole_n, held + 1, single + 1))
    return refuse();
  const int front = x && d ? PyArray_NDIM(x) - PyArray_NDIM(d) : 0;
  if (x && d) {
    if (PyArray_NDIM(x) && !PyArray_NDIM(d) && !j.whole_n && PyArray_TYPE(d) != PyArray_TYPE(x)) return refuse();
    if (front < 0) return broadcast_polynomial(x, d, code, kind, shifted);
    for (int i = 0; i < PyArray_NDIM(d); i++)
      if (PyArray_DIM(x, i + front) != PyArray_DIM(d, i)) return broadcast_polynomial(x, d, code, kind, shifted);
  }
  const long degrees = j.ns ? PyArray_SIZE(d) : 1;
  j.size = PyArray_SIZE(lead);
  j.period = degrees ? degrees : 1;
  j.wide = code == F64;
  j.kind = kind;
  j.shifted = shifted;
  for (long i = 0; i < degrees; i++) {
    const char *p = j.n + i * j.ns;
    if ((j.whole_n ? (double)*(const int64_t *)p : j.wide ? *(const double *)p : (double)*(const float *)p) > MOST_DEGREE)
      return refuse();
  }
  PyObject *out = new_array(code, PyArray_NDIM(lead), PyArray_DIMS(lead));
  if (!out) return NULL;
  j.out = PyArray_BYTES((PyArrayObject *)out);
  if (j.size <= 1024)
    recur(&j, 0, j.size);
  else {
    Py_BEGIN_ALLOW_THREADS parallel(recur_task, &j, (j.size + 1023) / 1024);
    Py_END_ALLOW_THREADS
  }
  return out;
}
#define NAMED_POLYNOMIAL(name, kind, shifted) \
  static PyObject *native_##name(PyObject *const *args, Py_ssize_t n) { return polynomial(args, n, kind, shifted); }
#define POLYNOMIALS(X)                                                                                               \
  X(chebyshev_polynomial_t, 't', 0)                                                                                  \
  X(chebyshev_polynomial_u, 'u', 0)                                                                                  \
  X(chebyshev_polynomial_v, 'v', 0) X(chebyshev_polynomial_w, 'w', 0) X(shifted_chebyshev_polynomial_t, 't', 1)      \
      X(shifted_chebyshev_polynomial_u, 'u', 1) X(shifted_chebyshev_polynomial_v, 'v', 1)                            \
          X(shifted_chebyshev_polynomial_w, 'w', 1) X(hermite_polynomial_h, 'h', 0) X(hermite_polynomial_he, 'e', 0) \
              X(laguerre_polynomial_l, 'l', 0) X(legendre_polynomial_p, 'p', 0)
POLYNOMIALS(NAMED_POLYNOMIAL)
#define POLYNOMIAL_ROW(name, kind, shifted) {#name, native_##name},
