/* Random fills of whole arrays in one call: checks, draws and rounding together, for arrays of few elements.
   Measured, one thread, float32 of 5 elements, against the same with NumPy: normal_ 0.4 for 9 us, bernoulli_ 0.2 for 12,
   binomial 0.6 for 50. What is out of the ordinary (bounds, dtypes, strides) is answered with None before anything is drawn. */
#include "random.h"
#include <float.h>
#define PI 3.14159265358979323846
enum { UNIFORM, NORMAL, LOG_NORMAL, EXPONENTIAL, CAUCHY, GEOMETRIC, BERNOULLI, RANGE, ANY };

static PyObject *memory_name, *waiting_name;
/* The twister of a generator object; NULL without an error if it has none. */
static uint32_t *twister_of(PyObject *generator) {
  if (!memory_name) {
    memory_name = PyUnicode_InternFromString("_memory");
    waiting_name = PyUnicode_InternFromString("next_normal");
  }
  PyObject *found = PyObject_GetAttr(generator, memory_name);
  if (!found) {
    PyErr_Clear();
    return NULL;
  }
  PyArrayObject *a = PyArray_Check(found) ? (PyArrayObject *)found : NULL;
  uint32_t *s = plain(a) && code_of(a) == NPY_UINT && PyArray_SIZE(a) == WORDS + 1 ? PyArray_DATA(a) : NULL;
  Py_DECREF(found); /* the generator keeps it */
  return s;
}
/* The normal value that waits in the generator, and back. */
static int take_normal(PyObject *generator, Normals *g) {
  PyObject *held = PyObject_GetAttr(generator, waiting_name);
  if (!held) return 0;
  g->waits = held != Py_None;
  g->value = g->waits ? PyFloat_AsDouble(held) : 0;
  Py_DECREF(held);
  return !PyErr_Occurred();
}
static int leave_normal(PyObject *generator, const Normals *g) {
  if (!g->waits) return !PyObject_SetAttr(generator, waiting_name, Py_None);
  PyObject *value = PyFloat_FromDouble(g->value);
  if (!value) return 0;
  const int done = !PyObject_SetAttr(generator, waiting_name, value);
  Py_DECREF(value);
  return done;
}

/* Numbers that are computed one by one in double precision, and rounded. */
static double affine(double value, double factor, double shift, int fused) {
  return factor == 1 && shift == 0 ? value : fused ? fma(value, factor, shift) : value * factor + shift;
}
static double one_value(int kind, uint32_t *s, Normals *g, double a, double b, int fused) {
  switch (kind) {
  case NORMAL: return affine(next_normal(g), b, a, fused);
  case LOG_NORMAL: return exp(affine(next_normal(g), b, a, fused));
  case CAUCHY: return affine(tan((unit(s) - 0.5) * PI), b, a, fused);
  default: return ceil(log(unit(s)) / a);
  }
}
static int fill_values(int kind, uint32_t *s, PyObject *generator, void *to, int single, long n, double a, double b) {
  Normals g = {s, 0, 0};
  const int normal = kind == NORMAL || kind == LOG_NORMAL;
  if (normal && !take_normal(generator, &g)) return 0;
  for (long i = 0; i < n; i++) {
    const double v = one_value(kind, s, &g, a, b, !single);
    if (single)
      ((float *)to)[i] = (float)v;
    else
      ((double *)to)[i] = v;
  }
  return !normal || leave_normal(generator, &g);
}
static void fill_uniform(uint32_t *s, void *to, int single, long n, double low, double high) {
  if (single) {
    float *p = to;
    const float l = (float)low, h = (float)high, span = h - l;
    fill_single(s, p, n);
    if (low != 0 || high != 1)
      for (long i = 0; i < n; i++) {
        const float v = fmaf(p[i], span, l);
        p[i] = v == h ? l : v;
      }
  } else {
    double *p = to;
    const double span = high - low;
    fill_double(s, p, n);
    if (low != 0 || high != 1)
      for (long i = 0; i < n; i++) {
        const double v = fma(p[i], span, low);
        p[i] = v == high ? low : v;
      }
  }
}
static void fill_exponential(uint32_t *s, void *to, int single, long n, double factor) {
  double u[256];
  for (long at = 0; at < n; at += 256) {
    const long m = n - at < 256 ? n - at : 256;
    fill_double(s, u, m);
    for (long i = 0; i < m; i++) u[i] = log1p(-u[i]) * factor;
    if (single)
      for (long i = 0; i < m; i++) ((float *)to)[at + i] = (float)u[i];
    else
      memcpy((double *)to + at, u, (size_t)m * 8);
  }
}
HIDDEN void fill_normal(uint32_t *s, void *to, int single, long n, double mean, double std) {
  const long whole = n / 16;
  if (single) {
    float *p = to;
    fill_single(s, p, n);
    normal_single(p, whole, (float)std, (float)mean);
    if (n % 16) {
      fill_single(s, p + n - 16, 16);
      normal_single(p + n - 16, 1, (float)std, (float)mean);
    }
  } else {
    double *p = to;
    fill_double(s, p, n);
    normal_double(p, whole, std, mean);
    if (n % 16) {
      fill_double(s, p + n - 16, 16);
      normal_double(p + n - 16, 1, std, mean);
    }
  }
}
#define STORE(v)                                                         \
  switch (code) {                                                        \
  case NPY_FLOAT: ((float *)to)[i] = (float)(v); break;                  \
  case NPY_DOUBLE: ((double *)to)[i] = (double)(v); break;               \
  case NPY_HALF: ((uint16_t *)to)[i] = to_half((float)(v)); break;       \
  case NPY_BFLOAT: ((uint16_t *)to)[i] = to_bfloat((float)(v)); break;   \
  case NPY_BOOL: ((uint8_t *)to)[i] = (v) != 0; break;                   \
  case NPY_BYTE:                                                         \
  case NPY_UBYTE: ((uint8_t *)to)[i] = (uint8_t)(v); break;              \
  case NPY_SHORT: ((uint16_t *)to)[i] = (uint16_t)(v); break;            \
  case NPY_INT: ((uint32_t *)to)[i] = (uint32_t)(v); break;              \
  default: ((int64_t *)to)[i] = (int64_t)(v);                            \
  }
/* The whole numbers that a type holds, or counts to without gaps; 0 for types that are not drawn */
static int limits_of(int code, int64_t *least, int64_t *most) {
  switch (code) {
  case NPY_HALF: *most = 1 << 11; break;
  case NPY_BFLOAT: *most = 1 << 8; break;
  case NPY_FLOAT: *most = 1 << 24; break;
  case NPY_DOUBLE: *most = 1ll << 53; break;
  case NPY_BOOL: *most = 1; break;
  case NPY_BYTE: *most = INT8_MAX; break;
  case NPY_UBYTE: *most = UINT8_MAX; break;
  case NPY_SHORT: *most = INT16_MAX; break;
  case NPY_INT: *most = INT32_MAX; break;
  case NPY_INT64: *most = INT64_MAX; break;
  default: return 0;
  }
  *least = code == NPY_BOOL || code == NPY_UBYTE ? 0 : PyTypeNum_ISINTEGER(code) && code != NPY_INT64 ? -*most - 1 : -*most;
  return 1;
}
static void fill_below(uint32_t *s, void *to, int code, long n, uint64_t bound) {
  uint32_t w[WORDS];
  for (long at = 0, i = 0; at < n; at += WORDS / 2) {
    const long m = n - at < WORDS / 2 ? n - at : WORDS / 2;
    pairs_of_words(s, w, m);
    for (long k = 0; k < m; k++, i++) {
      const int v = ((uint64_t)(w[2 * k] & 0x1fffffu) << 32 | w[2 * k + 1]) < bound;
      STORE(v)
    }
  }
}
static void fill_range(uint32_t *s, void *to, int code, long n, uint64_t low, uint64_t span, int wide) {
  if (wide)
    for (long i = 0; i < n; i++) {
      const int64_t v = (int64_t)(low + two_words(s) % span);
      STORE(v)
    }
  else {
    const uint32_t narrow = (uint32_t)span;
    uint32_t w[WORDS];
    for (long i = 0; i < n;) {
      const long m = some_words(s, w, n - i);
      for (long k = 0; k < m; k++, i++) {
        const int64_t v = (int64_t)(low + w[k] % narrow);
        STORE(v)
      }
    }
  }
}

/* draw(kind, generator, array, a, b): True if the array was filled. One whose elements lie in another order, or with gaps, gets
   the numbers in the order in which they lie, as a new array whose dimensions are in that order. */
static PyObject *draw_scattered(PyObject *module, PyObject *const *args, PyArrayObject *x);
static PyObject *draw_halves(PyObject *module, PyObject *const *args, PyArrayObject *x, int bfloat);
FUNCTION(draw) {
  PyArrayObject *x = given == 5 ? array_at(args, 2) : NULL;
  if (x && !plain(x)) return draw_scattered(module, args, x);
  if (!plain(x) || !PyArray_ISWRITEABLE(x)) Py_RETURN_NONE;
  const int kind = (int)PyLong_AsLong(args[0]), code = number_code(x), single = code == NPY_FLOAT;
  const long n = PyArray_SIZE(x);
  void *to = PyArray_DATA(x);
  int64_t least, limit;
  if (PyErr_Occurred()) return NULL;
  if ((code == NPY_HALF || code == NPY_BFLOAT) && kind != RANGE && kind != ANY)
    return draw_halves(module, args, x, code != NPY_HALF);
  if (!n || !limits_of(code, &least, &limit) || (code != NPY_FLOAT && code != NPY_DOUBLE && kind < BERNOULLI)) Py_RETURN_NONE;
  if (kind == RANGE || kind == ANY) {
    int64_t low = 0, last = limit;
    int overflow = 0;
    if (kind == RANGE) {
      if (!PyLong_CheckExact(args[3]) || (args[4] != Py_None && !PyLong_CheckExact(args[4]))) Py_RETURN_NONE;
      low = PyLong_AsLongLongAndOverflow(args[3], &overflow);
      if (overflow || low == INT64_MIN) Py_RETURN_NONE;
      if (args[4] != Py_None) {
        last = PyLong_AsLongLongAndOverflow(args[4], &overflow);
        if (overflow || last <= low) Py_RETURN_NONE;
        last--;
      }
      if (low < least || low > last || last > limit) Py_RETURN_NONE;
    }
    const uint64_t span = (uint64_t)last - (uint64_t)low + 1;
    if (!span) Py_RETURN_NONE;
    uint32_t *s = twister_of(args[1]);
    if (!s) Py_RETURN_NONE;
    fill_range(s, to, code, n, (uint64_t)low, span, kind == ANY ? code == NPY_DOUBLE || code == NPY_INT64 : span >= (1u << 28));
    Py_RETURN_TRUE;
  }
  double a = PyFloat_AsDouble(args[3]), b = PyFloat_AsDouble(args[4]);
  if (PyErr_Occurred()) {
    PyErr_Clear();
    Py_RETURN_NONE;
  }
  const double most = single ? FLT_MAX : DBL_MAX;
  int fine = 0;
  switch (kind) {
  case UNIFORM: fine = a >= -most && b <= most && a <= b && b - a <= most; break;
  case NORMAL: fine = b >= 0; break;
  case LOG_NORMAL:
  case CAUCHY: fine = b > 0; break;
  case EXPONENTIAL: fine = a > 0; break;
  case GEOMETRIC: fine = a > 0 && a < 1; break;
  case BERNOULLI: fine = a >= 0 && a <= 1; break;
  }
  uint32_t *s = fine ? twister_of(args[1]) : NULL;
  if (!s) Py_RETURN_NONE;
  switch (kind) {
  case UNIFORM: fill_uniform(s, to, single, n, a, b); break;
  case EXPONENTIAL: fill_exponential(s, to, single, n, -1.0 / a); break;
  case BERNOULLI: fill_below(s, to, code, n, (uint64_t)ceil(a * 0x1p53)); break;
  case NORMAL:
    if (n >= 16) {
      fill_normal(s, to, single, n, a, b);
      break;
    } /* else: */ /* fall through */
  default:
    if (!fill_values(kind, s, args[1], to, single, n, kind == GEOMETRIC ? log1p(-a) : a, b)) return NULL;
  }
  Py_RETURN_TRUE;
}

CLONES static void round_to_halves(const float *from, uint16_t *to, long n, int bfloat) {
  if (bfloat)
    for (long i = 0; i < n; i++) to[i] = to_bfloat(from[i]);
  else
    for (long i = 0; i < n; i++) to[i] = to_half(from[i]);
}
/* Half precision: drawn in float and rounded. A number that this makes the excluded end of a range becomes the other end; of
   the last block of normal values, where it overlaps the one before, no numbers are drawn twice. */
static PyObject *draw_halves(PyObject *module, PyObject *const *args, PyArrayObject *x, int bfloat) {
  const int kind = (int)PyLong_AsLong(args[0]);
  if (kind == -1 && PyErr_Occurred()) return NULL;
  npy_intp n = PyArray_SIZE(x);
  if (!n) Py_RETURN_NONE;
  const double a = PyFloat_AsDouble(args[3]), b = PyFloat_AsDouble(args[4]), most = bfloat ? 3.3895313892515355e38 : 65504.;
  if (PyErr_Occurred()) {
    PyErr_Clear();
    Py_RETURN_NONE;
  }
  if (kind == UNIFORM && !(a >= -most && b <= most && a <= b && b - a <= most)) Py_RETURN_NONE;
  PyObject *floats = PyArray_SimpleNew(1, &n, NPY_FLOAT);
  if (!floats) return NULL;
  float *p = PyArray_DATA((PyArrayObject *)floats);
  PyObject *done = NULL;
  if (kind == NORMAL && n >= 16) {
    uint32_t *s = b >= 0 ? twister_of(args[1]) : NULL;
    if (s) {
      fill_normal(s, p, 1, n / 16 * 16, a, b);
      if (n % 16) fill_normal(s, p + n - 16, 1, 16, a, b);
    }
    done = s ? Py_True : Py_None;
    Py_INCREF(done);
  } else {
    PyObject *const given[] = {args[0], args[1], floats, args[3], args[4]};
    done = draw(module, given, 5);
  }
  if (done == Py_True) {
    uint16_t *to = PyArray_DATA(x);
    round_to_halves(p, to, n, bfloat);
    if (kind == UNIFORM) {
      const uint16_t low = bfloat ? to_bfloat((float)a) : to_half((float)a), high = bfloat ? to_bfloat((float)b) : to_half((float)b);
      for (npy_intp i = 0; i < n; i++) to[i] = to[i] == high ? low : to[i];
    }
  }
  Py_DECREF(floats);
  return done;
}

static PyObject *draw_scattered(PyObject *module, PyObject *const *args, PyArrayObject *x) {
  const int nd = PyArray_NDIM(x), kind = (int)PyLong_AsLong(args[0]);
  int order[NPY_MAXDIMS];
  const long n = PyArray_SIZE(x), size = PyArray_ITEMSIZE(x);
  npy_intp at[NPY_MAXDIMS] = {0};
  if (PyErr_Occurred()) return NULL;
  if (!PyArray_ISBEHAVED(x) || n < 1 || (kind == NORMAL && n >= 16))
    Py_RETURN_NONE; /* larger ones are normal in pairs, not in blocks */
  for (int d = 0; d < nd; d++) {
    if (PyArray_STRIDE(x, d) <= 0) Py_RETURN_NONE;
    int k = d;
    for (; k && PyArray_STRIDE(x, order[k - 1]) < PyArray_STRIDE(x, d); k--) order[k] = order[k - 1];
    order[k] = d;
  }
  npy_intp count = n;
  PyArray_Descr *descr = PyArray_DESCR(x);
  Py_INCREF(descr);
  PyObject *row = PyArray_NewFromDescr(&PyArray_Type, descr, 1, &count, NULL, NULL, 0, NULL);
  if (!row) return NULL;
  PyObject *const given[] = {args[0], args[1], row, args[3], args[4]};
  PyObject *done = draw(module, given, 5);
  if (done == Py_True) {
    const char *p = PyArray_BYTES((PyArrayObject *)row);
    char *q = PyArray_BYTES(x);
    for (long i = 0; i < n; i++, p += size) {
      memcpy(q, p, (size_t)size);
      for (int k = nd - 1; k >= 0; k--) {
        const int d = order[k];
        q += PyArray_STRIDE(x, d);
        if (++at[d] < PyArray_DIM(x, d)) break;
        q -= at[d] * PyArray_STRIDE(x, d);
        at[d] = 0;
      }
    }
  }
  Py_DECREF(row);
  return done;
}

static int alike(PyArrayObject *x, PyArrayObject *y) {
  return plain(x) && plain(y) && code_of(x) == code_of(y) && PyArray_NDIM(x) == PyArray_NDIM(y) &&
         !memcmp(PyArray_DIMS(x), PyArray_DIMS(y), sizeof(npy_intp) * (size_t)PyArray_NDIM(x));
}
/* Whether y, repeated, is as long as x: its dims are the last ones of x. */
static int repeats(PyArrayObject *x, PyArrayObject *y) {
  const int lead = PyArray_NDIM(x) - PyArray_NDIM(y);
  if (lead < 0) return 0;
  for (int d = 0; d < PyArray_NDIM(y); d++)
    if (PyArray_DIM(y, d) != PyArray_DIM(x, d + lead)) return 0;
  return 1;
}
/* draw_below(generator, array, chances): ones with chances of the array's last dims. Single precision draws one word for each.
 */
FUNCTION(draw_below) {
  PyArrayObject *x = array_at(args, 1), *p = array_at(args, 2);
  if (!plain(x) || !plain(p) || !PyArray_ISWRITEABLE(x) || !repeats(x, p)) Py_RETURN_NONE;
  const int code = number_code(x), pc = number_code(p);
  const long n = PyArray_SIZE(x), period = PyArray_SIZE(p);
  void *to = PyArray_DATA(x);
  const float *f = PyArray_DATA(p);
  const double *d = PyArray_DATA(p);
  const uint16_t *h = PyArray_DATA(p);
  int64_t least, most;
  if (!n || (pc != NPY_FLOAT && pc != NPY_DOUBLE && pc != NPY_HALF && pc != NPY_BFLOAT) || !limits_of(code, &least, &most) ||
      to == (void *)f)
    Py_RETURN_NONE;
#define SINGLE_CHANCE(i) (pc == NPY_FLOAT ? f[i] : pc == NPY_HALF ? from_half(h[i]) : from_bfloat(h[i]))
  for (long i = 0; i < period; i++) {
    const double v = pc == NPY_DOUBLE ? d[i] : (double)SINGLE_CHANCE(i);
    if (!(v >= 0 && v <= 1)) Py_RETURN_NONE;
  }
  uint32_t *s = twister_of(args[0]);
  if (!s) Py_RETURN_NONE;
  float u[256];
  double w[256];
  for (long at = 0, i = 0, j = 0; at < n; at += 256) {
    const long m = n - at < 256 ? n - at : 256;
    if (pc == NPY_DOUBLE)
      fill_double(s, w, m);
    else
      fill_single(s, u, m);
    for (long k = 0; k < m; k++, i++) {
      const int v = pc == NPY_DOUBLE ? w[k] < d[j] : u[k] < SINGLE_CHANCE(j);
      STORE(v) if (++j == period) j = 0;
    }
  }
  Py_RETURN_TRUE;
}

/* ---- binomial counts: few successes by waiting times, many by Hoermann's transformed rejection (1993) */
static double stirling_tail(double k) {
  if (k <= 9) return lgamma(k + 1) - ((k + 0.5) * log(k + 1) - (k + 1) + 0.5 * log(2 * PI));
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}
static double few_successes(uint32_t *s, double count, double prob) {
  const double fail = log1p(-prob);
  double trials = 0, found = 0;
  for (;;) {
    trials += ceil(log(unit(s)) / fail);
    if (!(trials <= count)) return found;
    found += 1;
  }
}
static double many_successes(uint32_t *s, double count, double prob) {
  const double deviation = sqrt(count * prob * (1 - prob)), b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * prob,
               center = count * prob + 0.5;
  const double quick = 0.92 - 4.2 / b, odds = prob / (1 - prob), alpha = (2.83 + 5.1 / b) * deviation,
               mode = floor((count + 1) * prob);
  for (;;) {
    const double u = unit(s) - 0.5, v = unit(s), side = 0.5 - fabs(u),
                 k = side != 0 ? floor((2 * a / side + b) * u + center) : -1;
    if (side >= 0.07 && v <= quick) return k;
    if (k < 0 || k > count || v <= 0) continue;
    const double bound = (mode + 0.5) * log((mode + 1) / (odds * (count - mode + 1))) +
                         (count + 1) * log((count - mode + 1) / (count - k + 1)) +
                         (k + 0.5) * log(odds * (count - k + 1) / (k + 1)) + stirling_tail(mode) + stirling_tail(count - mode) -
                         stirling_tail(k) - stirling_tail(count - k);
    if (log(v * alpha / (a / (side * side) + b)) <= bound) return k;
  }
}
/* Of success and failure the rarer one is counted; which way is decided in the precision of the arrays. */
static double successes(uint32_t *s, double count, double prob, double rarer, int many) {
  if (count <= 0 || prob <= 0) return 0;
  if (prob >= 1) return count;
  if (prob != prob) return prob;
  const double found = many ? many_successes(s, count, rarer) : few_successes(s, count, rarer);
  return prob > 0.5 ? count - found : found;
}
/* draw_binomial(generator, result, count, prob): arrays of one shape and dtype */
FUNCTION(draw_binomial) {
  PyArrayObject *x = array_at(args, 1), *c = array_at(args, 2), *p = array_at(args, 3);
  if (!alike(x, c) || !alike(x, p) || !PyArray_ISWRITEABLE(x) || (code_of(x) != NPY_FLOAT && code_of(x) != NPY_DOUBLE))
    Py_RETURN_NONE;
  uint32_t *s = twister_of(args[0]);
  if (!s) Py_RETURN_NONE;
  const long n = PyArray_SIZE(x);
#define COUNTS(T)                                                                           \
  {                                                                                         \
    T *to = PyArray_DATA(x);                                                                \
    const T *count = PyArray_DATA(c), *prob = PyArray_DATA(p);                              \
    for (long i = 0; i < n; i++) {                                                          \
      const T rarer = prob[i] > (T)0.5 ? (T)1 - prob[i] : prob[i], mean = count[i] * rarer; \
      to[i] = (T)successes(s, count[i], prob[i], rarer, mean >= 10);                        \
    }                                                                                       \
  }
  if (code_of(x) == NPY_FLOAT) COUNTS(float) else COUNTS(double) Py_RETURN_TRUE;
}

/* draw_gamma(generator, result, concentration): doubles, or the least positive float where it is more */
FUNCTION(draw_gamma) {
  PyArrayObject *x = array_at(args, 1), *c = array_at(args, 2);
  if (!alike(x, c) || !PyArray_ISWRITEABLE(x) || (code_of(x) != NPY_FLOAT && code_of(x) != NPY_DOUBLE)) Py_RETURN_NONE;
  uint32_t *s = twister_of(args[0]);
  Normals g = {s, 0, 0};
  if (!s) Py_RETURN_NONE;
  const long n = PyArray_SIZE(x);
  const float third = 1.f / 3.f;
  if (!take_normal(args[0], &g)) return NULL;
#define GAMMAS(T, TINY, MOST)                                                                                               \
  {                                                                                                                         \
    T *to = PyArray_DATA(x);                                                                                                \
    const T *from = PyArray_DATA(c);                                                                                        \
    for (long i = 0; i < n; i++) {                                                                                          \
      const T alpha = from[i], inverse = (T)1 / alpha, raised = alpha < (T)1 ? alpha + (T)1 : alpha, d = raised - (T)third; \
      double v = gamma_value(&g, alpha, inverse, d);                                                                        \
      if (v > DBL_MAX) v = DBL_MAX;                                                                                         \
      to[i] = v != v || (T)v < TINY ? TINY : (T)v;                                                                          \
    }                                                                                                                       \
  }
  if (code_of(x) == NPY_FLOAT)
    GAMMAS(float, FLT_MIN, FLT_MAX) else GAMMAS(double, DBL_MIN, DBL_MAX) if (!leave_normal(args[0], &g)) return NULL;
  Py_RETURN_TRUE;
}

/* draw_dirichlet(generator, result, concentration): gamma values in double precision, divided by their sums along the last
 * dimension */
FUNCTION(draw_dirichlet) {
  PyArrayObject *x = array_at(args, 1), *c = array_at(args, 2);
  double v[256];
  const double third = 1.f / 3.f;
  if (!alike(x, c) || !PyArray_ISWRITEABLE(x) || (code_of(x) != NPY_FLOAT && code_of(x) != NPY_DOUBLE) || PyArray_NDIM(x) < 1 ||
      PyArray_SIZE(x) < 1)
    Py_RETURN_NONE;
  const long n = PyArray_DIM(x, PyArray_NDIM(x) - 1), rows = PyArray_SIZE(x) / n;
  uint32_t *s = n <= 8 ? twister_of(args[0]) : NULL;
  Normals g = {s, 0, 0};
  if (!s) Py_RETURN_NONE; /* longer sums are made in pairs by NumPy */
  if (!take_normal(args[0], &g)) return NULL;
#define SHARES(T, LOW, HIGH)                                                               \
  {                                                                                        \
    T *to = PyArray_DATA(x);                                                               \
    const T *from = PyArray_DATA(c);                                                       \
    for (long r = 0; r < rows; r++, to += n, from += n) {                                  \
      for (long i = 0; i < n; i++) {                                                       \
        const double alpha = from[i];                                                      \
        v[i] = gamma_value(&g, alpha, 1 / alpha, (alpha < 1 ? alpha + 1 : alpha) - third); \
      }                                                                                    \
      double sum = v[0];                                                                   \
      for (long i = 1; i < n; i++) sum += v[i];                                            \
      for (long i = 0; i < n; i++) {                                                       \
        T share = (T)(v[i] / sum);                                                         \
        share = share < LOW ? LOW : share;                                                 \
        to[i] = share > HIGH ? HIGH : share;                                               \
      }                                                                                    \
    }                                                                                      \
  }
  if (code_of(x) == NPY_FLOAT)
    SHARES(float, FLT_MIN, 0.99999994f)
  else
    SHARES(double, DBL_MIN, 0x1.fffffffffffffp-1) if (!leave_normal(args[0], &g)) return NULL;
  Py_RETURN_TRUE;
}

/* draw_poisson(generator, result, rates): None for rates that are negative or no numbers */
FUNCTION(draw_poisson) {
  PyArrayObject *x = array_at(args, 1), *r = array_at(args, 2);
  if (!alike(x, r) || !PyArray_ISWRITEABLE(x) || (code_of(x) != NPY_FLOAT && code_of(x) != NPY_DOUBLE)) Py_RETURN_NONE;
  const long n = PyArray_SIZE(x);
#define RATES(T)                                                       \
  {                                                                    \
    T *to = PyArray_DATA(x);                                           \
    const T *rate = PyArray_DATA(r);                                   \
    for (long i = 0; i < n; i++)                                       \
      if (!(rate[i] >= 0)) Py_RETURN_NONE;                             \
    uint32_t *s = twister_of(args[0]);                                 \
    if (!s) Py_RETURN_NONE;                                            \
    for (long i = 0; i < n; i++) to[i] = (T)poisson_count(s, rate[i]); \
  }
  if (code_of(x) == NPY_FLOAT) RATES(float) else RATES(double) Py_RETURN_TRUE;
}
