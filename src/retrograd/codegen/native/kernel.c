/* Kernel objects: a generated program as a Python callable over arrays. See codegen/README.md for the contract. */
#define KERNEL_MAIN
#include "kernel.h"
#include <string.h>
#include <stdlib.h>
#include <stdio.h>
#include "kernels_info.h" /* written by codegen/table.py: infos[], COUNT, FILES and the tables' names */

HIDDEN int bfloat16_type = 0;
HIDDEN PyArray_Descr *bfloat16_descr = NULL;
HIDDEN const int item_size[] = {4, 8, 2, 2, 8, 4, 2, 1, 1, 1};
static const int npy_of[] = {NPY_FLOAT, NPY_DOUBLE, 0,        NPY_HALF,  NPY_INT64,
                             NPY_INT32, NPY_INT16,  NPY_INT8, NPY_UINT8, NPY_BOOL};
HIDDEN PyArray_Descr *descr_of(int code) {
  if (code == BF16) {
    Py_INCREF(bfloat16_descr);
    return bfloat16_descr;
  }
  return PyArray_DescrFromType(npy_of[code]);
}

/* ---- arguments */
static uint16_t to_half(float f) {
  union {
    float f;
    uint32_t u;
  } b;
  b.f = f;
  const uint32_t sign = (b.u >> 16) & 0x8000, a = b.u & 0x7fffffff;
  if (a >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
  if (a < 0x38800000) {
    union {
      float f;
      uint32_t u;
    } t;
    t.u = a;
    t.f += 0.5f;
    return (uint16_t)(sign | (t.u - 0x3f000000));
  }
  return (uint16_t)(sign | ((a - 0x38000000 + 0xfff + ((a >> 13) & 1)) >> 13));
}
static float from_half(uint16_t h) {
  const uint32_t rest = h & 0x7fff;
  union {
    float f;
    uint32_t u;
  } b;
  if (rest >= 0x7c00)
    b.u = (rest << 13) | 0x7f800000;
  else if (rest < 0x400)
    b.f = (float)rest * 5.9604644775390625e-8f;
  else
    b.u = (rest << 13) + 0x38000000;
  return h & 0x8000 ? -b.f : b.f;
}
typedef struct {
  PyArrayObject *a[MAXOP];
  Number scalar[MAXOP];
  char code[MAXOP]; /* a is NULL for a Python number in a tensor's place */
  Number num[MAXOP];
  char integer[MAXOP];
  PyObject *dims, *dtype;
  int keepdim, common, first;
} Call;

static int number_of(PyObject *o, Number *to, char *integer) { /* a Python number that is not complex */
  if (PyFloat_CheckExact(o)) {
    to->d = PyFloat_AS_DOUBLE(o);
    *integer = 0;
    return 1;
  }
  if (PyLong_CheckExact(o) || PyBool_Check(o)) {
    int overflow;
    to->i = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) return 0;
    *integer = 1 + PyBool_Check(o);
    return 1;
  }
  return 0;
}
static int fits(int64_t v, int code) {
  switch (code) {
  case I64: return 1;
  case I32: return v == (int32_t)v;
  case I16: return v == (int16_t)v;
  case I8: return v == (int8_t)v;
  case U8: return v == (uint8_t)v;
  case BOOL: return v == 0 || v == 1;
  default: return 1;
  }
}

/* A number in half precision, where PyTorch brings it to the dtype of the arrays. */
static double in_half(double v, int code) {
  union {
    float f;
    uint32_t u;
  } b;
  b.f = (float)v;
  if (v != v || b.f - b.f != 0) return b.f;
  if (code == BF16) {
    b.u = (b.u + 0x7fff + ((b.u >> 16) & 1)) & 0xffff0000;
    return b.f;
  }
  return (double)from_half(to_half(b.f));
}

/* The default dtype, which integers become where an op computes with floats only. */
static int default_code = F32;

/* The dtype that values of two dtypes have in common, by PyTorch's rules; -1 stands for no value. */
static int promote(int a, int b) {
  if (a == b || b < 0) return a;
  if (a < 0) return b;
  const int fa = a < I64, fb = b < I64;
  if (fa && fb) return a == F64 || b == F64 ? F64 : F32;
  if (fa || fb) return fa ? a : b;
  if (a == BOOL || b == BOOL) return a == BOOL ? b : a;
  if (a == U8 || b == U8) {
    const int other = a == U8 ? b : a;
    return other == I8 ? I16 : other;
  }
  return a < b ? a : b;
}
/* Values of higher rank (with dimensions, without, Python numbers) keep their dtype unless those below are of another kind. */
static int outrank(int high, int low) {
  if (high < 0) return low;
  if (low < 0 || high < I64) return high;
  return high == BOOL || low < I64 ? promote(high, low) : high;
}
/* Whether the memory order that PyTorch's copy of the array in another dtype has is the array's own. */
static int keeps_order(PyArrayObject *a) {
  const int nd = PyArray_NDIM(a);
  if (nd < 2) return 1;
  npy_intp step = PyArray_ITEMSIZE(a);
  int rows = 1, plain = 1;
  for (int d = nd - 1; d >= 0; d--) {
    const npy_intp e = PyArray_DIM(a, d), s = PyArray_STRIDE(a, d);
    rows &= s == step;
    plain &= e > 1 && s > 0;
    step *= e;
  }
  return rows || plain;
}
static int64_t whole_number(const char *p, int code) {
  int64_t l;
  int32_t i;
  int16_t h;
  switch (code) {
  case I64: __builtin_memcpy(&l, p, 8); return l;
  case I32: __builtin_memcpy(&i, p, 4); return i;
  case I16: __builtin_memcpy(&h, p, 2); return h;
  case I8: return *(const int8_t *)p;
  default: return *(const uint8_t *)p;
  }
}
/* The dtype in which operands of several dtypes meet, -1 where a loop would not give what PyTorch's conversion gives. */
static int meeting_dtype(const Info *I, const Call *c, const int *joined, int dims, int zeros, int numbers, int joins) {
  int common = outrank(dims, outrank(zeros, numbers));
  if ((joins & FLOATING) && common >= I64) common = default_code;
  if ((joins & NO_BOOLS) && numbers == BOOL) return -1;
  for (int s = 0; s < I->nin; s++) {
    PyArrayObject *a = c->a[s];
    if (!a || !joined[s]) continue;
    const int code = c->code[s];
    if ((joins & NO_BOOLS) && code == BOOL) return -1;
    if (code == common) continue;
    if (!keeps_order(a)) return -1;
    if (common == BF16 || common == F16) { /* exact ones, and single values that ops meet unrounded */
      if (code < I8 && !(I->exact && joined[s] > 1 && PyArray_NDIM(a) == 0)) return -1;
    } else if (common >= I64) {
      if (PyArray_NDIM(a) == 0 ? !fits(whole_number(PyArray_BYTES(a), code), common) : promote(code, common) != common) return -1;
    }
  }
  return common;
}

/* Whether the alternative takes these arguments; no errors are raised, the caller knows what PyTorch says. */
static int read_call(const Info *I, PyObject *const *args, Py_ssize_t given, Call *c) {
  if (given > I->nparam) return 0;
  int common = -1, first = -1, floating = 0, mixed = 0, dims = -1, zeros = -1, numbers = -1, joins = 0, joined[MAXOP];
  c->dims = c->dtype = NULL;
  c->keepdim = 0;
  for (int i = 0; i < I->nparam; i++) {
    const Param *p = &I->param[i];
    const int s = p->slot;
    if (i >= given) {
      if (!p->optional) return 0;
      if (p->kind == 'N') {
        c->num[s].d = p->value;
        c->integer[s] = p->value == (double)(int64_t)p->value;
        if (c->integer[s]) c->num[s].i = (int64_t)p->value;
      }
      continue;
    }
    PyObject *o = args[i];
    switch (p->kind) {
    case 'T':
    case 'M':
      if (is_array(o)) {
        const int code = code_of((PyArrayObject *)o);
        if (code == OTHER) return 0;
        c->a[s] = (PyArrayObject *)o;
        c->code[s] = code;
        joined[s] = 0;
        if (p->kind == 'M') {
          if (code != BOOL) return 0;
          break;
        }
        if (common < 0) {
          common = code;
          first = s;
        } else if (common != code) {
          if (!p->joins) return 0;
          mixed = 1;
        }
        if (p->joins) {
          joins = p->joins;
          joined[s] = i ? 2 : 1;
          if (PyArray_NDIM((PyArrayObject *)o))
            dims = promote(dims, code);
          else
            zeros = promote(zeros, code);
        }
      } else {
        char integer;
        if (p->kind == 'M' || !number_of(o, &c->scalar[s], &integer)) return 0;
        c->a[s] = NULL;
        c->code[s] = integer ? I64 : F64;
        if (p->joins) numbers = promote(numbers, integer == 2 ? BOOL : integer ? I64 : default_code);
      }
      break;
    case 'N':
      if (PyBool_Check(o) || !number_of(o, &c->num[s], &c->integer[s])) return 0;
      if (p->joins) numbers = promote(numbers, c->integer[s] ? I64 : default_code);
      break; /* bools have rules of their own */
    case 'D':
      if (s && (PyTuple_CheckExact(o) || PyList_CheckExact(o)) && !PySequence_Fast_GET_SIZE(o)) return 0;
      c->dims = o;
      break;
    case 'K':
      if (o == Py_True)
        c->keepdim = 1;
      else if (o != Py_False)
        return 0;
      break;
    case 'Y':
      if (o != Py_None) {
        if (!PyArray_DescrCheck(o)) return 0;
        c->dtype = o;
      }
      break;
    case 'O':
      if (o != Py_None) return 0;
      break;
    case 'S':
      if (!PyUnicode_CheckExact(o) || PyUnicode_CompareWithASCIIString(o, p->text)) return 0;
      break;
    case 'V': {
      Number v;
      char integer;
      if (!number_of(o, &v, &integer) || (integer ? (double)v.i : v.d) != p->value) return 0;
      floating |= !integer;
      break;
    }
    case 'X':
      if (o != Py_None && o != Py_False) {
        Number v;
        char integer;
        if (!p->optional || !number_of(o, &v, &integer) || (integer ? (double)v.i : v.d) != p->value) return 0;
      }
      break;
    default: return 0;
    }
  }
  if (joins && common >= 0 && (mixed || common >= I64) &&
      (common = meeting_dtype(I, c, joined, dims, zeros, numbers, joins)) < 0)
    return 0;
  if (common < 0 || !(group_of(common) & I->types) || (I->types & WHOLE && (common == BF16 || common == F16))) return 0;
  if (I->count) {
    const int s = I->count - 1;
    PyArrayObject *a = c->a[(int)I->counted];
    c->num[s].d = a ? (double)PyArray_SIZE(a) : 1;
    c->integer[s] = 0;
  }
  c->common = common;
  c->first = first;
  const int whole = common >= I64;
  if (whole && floating && I->family == 'p') return 0;
  for (int s = 0; s < I->nin; s++)
    if (!c->a[s]) { /* a number meets an array of integers only as an integer */
      if (whole && (c->code[s] != I64 || !fits(c->scalar[s].i, common) || common == BOOL)) return 0;
    }
  if (common == BF16 || common == F16)
    for (int i = 0; i < I->nparam && i < given; i++)
      if (I->param[i].rounds) {
        const int s = I->param[i].slot;
        if (I->param[i].kind == 'N') {
          c->num[s].d = in_half(c->integer[s] ? (double)c->num[s].i : c->num[s].d, common);
          c->integer[s] = 0;
        } else if (!c->a[s]) {
          c->scalar[s].d = in_half(c->code[s] == I64 ? (double)c->scalar[s].i : c->scalar[s].d, common);
          c->code[s] = F64;
        }
      }
  for (int s = 0; s < I->nnum; s++) {
    if (whole) {
      if (!c->integer[s] || !fits(c->num[s].i, common)) return 0;
    } else if (c->integer[s]) {
      c->num[s].d = (double)c->num[s].i;
      c->integer[s] = 0;
    }
    if (common != F64 && !whole && (c->num[s].d > 3.4028234663852886e38 || c->num[s].d < -3.4028234663852886e38) &&
        c->num[s].d - c->num[s].d == 0)
      return 0;
  } /* an error, or an overflow */
  return 1;
}

/* ---- one element: a job of nd dims, the last of which is given to the loop */
typedef struct {
  PointFn f;
  int nop, nd, batch, whole; /* whole: operands without gaps, as bits */
  char *p[MAXOP];
  char t[MAXOP];
  long st[MAXOP][MAXD], shape[MAXD], n, rows, chunk, seg, segs;
  const Number *num;
} Job;
/* rows of n items each, packed: runs of memory, one item for all of a row, or items `step` apart (`to` has room for 16 bytes
 * more) */
typedef char Sixteen __attribute__((vector_size(16)));
static inline void pack_row(char *to, const char *p, long bytes) {
  if (bytes < 16) {
    for (long i = 0; i < bytes; i++) to[i] = p[i];
    return;
  }
  for (long i = 0; i + 16 <= bytes; i += 16) __builtin_memcpy(to + i, p + i, 16);
  __builtin_memcpy(to + bytes - 16, p + bytes - 16, 16);
}
#define FILL(S)                                                                 \
  for (long r = 0; r < run; r++, q += apart, to += bytes) {                     \
    S v;                                                                        \
    __builtin_memcpy(&v, q, sizeof(S));                                         \
    if (bytes >= 64) {                                                          \
      union {                                                                   \
        S s[16 / sizeof(S)];                                                    \
        Sixteen w;                                                              \
      } u;                                                                      \
      for (int i = 0; i < (int)(16 / sizeof(S)); i++) u.s[i] = v;               \
      for (long i = 0; i < bytes; i += 16) __builtin_memcpy(to + i, &u.w, 16);  \
    } else                                                                      \
      for (long i = 0; i < n; i++) __builtin_memcpy(to + i * (long)sizeof(S), &v, sizeof(S)); \
  }
#define COPY_OF(S, N)                                                           \
  for (long r = 0; r < run; r++, q += apart, to += bytes)                       \
    for (long i = 0; i < N; i++) __builtin_memcpy(to + i * (long)sizeof(S), q + i * step, sizeof(S));
#define COPY(S)                                                                 \
  if (n == 2) COPY_OF(S, 2) else if (n == 3) COPY_OF(S, 3) else if (n == 4) COPY_OF(S, 4) else COPY_OF(S, n)
#define ROWS(S) \
  if (step == 0) FILL(S) else COPY(S) break;
static void gather(char *to, const char *p, int size, const Job *j, int o, long row, long rows) {
  const long *s = j->st[o];
  const int last = j->nd - 1;
  const long n = j->n, step = s[last], bytes = n * size, apart = last ? s[last - 1] : 0;
  long at[MAXD], left = row;
  for (int d = last - 1; d >= 0; d--) {
    at[d] = left % j->shape[d];
    left /= j->shape[d];
    p += at[d] * s[d];
  }
  while (rows > 0) { /* runs along the dimension before the last */
    const long rest = last ? j->shape[last - 1] - at[last - 1] : rows, run = rest < rows ? rest : rows;
    const char *q = p;
    if (step == size && apart == bytes) {
      __builtin_memcpy(to, q, run * bytes);
      to += run * bytes;
    } else if (apart == 0 && run > 4) { /* one row many times */
      if (step == size)
        __builtin_memcpy(to, q, bytes);
      else
        for (long i = 0; i < n; i++) __builtin_memcpy(to + i * size, q + i * step, size);
      long done = 1;
      for (; done * 2 <= run; done *= 2) __builtin_memcpy(to + done * bytes, to, done * bytes);
      __builtin_memcpy(to + done * bytes, to, (run - done) * bytes);
      to += run * bytes;
    } else if (step == size && bytes >= 32)
      for (long r = 0; r < run; r++, q += apart, to += bytes) pack_row(to, q, bytes);
    else
      switch (size) {
      case 1:
      ROWS(char) case 2:
      ROWS(short) case 4:
        ROWS(int) default : ROWS(int64_t)
      }
    rows -= run;
    if (!rows) break;
    p += (run - 1) * apart;
    at[last - 1] += run - 1;
    for (int d = last - 1; d >= 0; d--) {
      p += s[d];
      if (++at[d] < j->shape[d]) break;
      p -= s[d] * j->shape[d];
      at[d] = 0;
    }
  }
}
#undef ROWS
#undef COPY
#undef COPY_OF
#undef FILL
static void point_task(void *argument, long k) {
  const Job *j = argument;
  const int last = j->nd - 1, nop = j->nop;
  const long r0 = k / j->segs * j->chunk, r1 = r0 + j->chunk < j->rows ? r0 + j->chunk : j->rows, c0 = k % j->segs * j->seg;
  const long n = c0 + j->seg < j->n ? j->seg : j->n - c0;
  if (j->batch) { /* short runs: several rows are copied together */
    const long most = 1024 / j->n;
    char buffer[MAXOP][8192 + 16];
    long unit[MAXOP];
    char *q[MAXOP];
    char same[MAXOP]; /* one row for all */
    for (int o = 0; o < nop; o++) {
      unit[o] = item_size[(int)j->t[o]];
      same[o] = 1;
      for (int d = 0; d < last; d++) same[o] &= j->st[o][d] == 0;
    }
    for (long r = r0; r < r1; r += most) {
      const long m = r + most < r1 ? most : r1 - r;
      for (int o = 0; o < nop; o++) {
        q[o] = buffer[o];
        if (j->whole >> o & 1)
          q[o] = j->p[o] + r * j->n * unit[o];
        else if (r == r0 || !same[o])
          gather(q[o], j->p[o], unit[o], j, o, r, m);
      }
      j->f(q, unit, j->t, m * j->n, j->num);
    }
    return;
  }
  char *q[MAXOP];
  long s[MAXOP], at[MAXD], left = r0;
  for (int d = last - 1; d >= 0; d--) {
    at[d] = left % j->shape[d];
    left /= j->shape[d];
  }
  for (int o = 0; o < nop; o++) {
    s[o] = j->st[o][last];
    q[o] = j->p[o] + c0 * s[o];
    for (int d = 0; d < last; d++) q[o] += at[d] * j->st[o][d];
  }
  for (long r = r0;;) {
    j->f(q, s, j->t, n, j->num);
    if (++r == r1) break;
    for (int d = last - 1; d >= 0; d--) {
      if (++at[d] < j->shape[d]) {
        for (int o = 0; o < nop; o++) q[o] += j->st[o][d];
        break;
      }
      at[d] = 0;
      for (int o = 0; o < nop; o++) q[o] -= (j->shape[d] - 1) * j->st[o][d];
    }
  }
}
static void run_point(Job *j) {
  long total = 1;
  for (int d = 0; d < j->nd; d++) total *= j->shape[d];
  if (total == 0) return;
  int w = 0; /* drop dims of size 1, join those that are one run */
  for (int d = 0; d < j->nd; d++) {
    if (j->shape[d] == 1) continue;
    int join = w > 0;
    for (int o = 0; o < j->nop && join; o++) join = j->st[o][w - 1] == j->st[o][d] * j->shape[d];
    if (join) {
      j->shape[w - 1] *= j->shape[d];
      for (int o = 0; o < j->nop; o++) j->st[o][w - 1] = j->st[o][d];
    } else {
      j->shape[w] = j->shape[d];
      for (int o = 0; o < j->nop; o++) j->st[o][w] = j->st[o][d];
      w++;
    }
  }
  if (!w) {
    w = 1;
    j->shape[0] = 1;
    for (int o = 0; o < j->nop; o++) j->st[o][0] = item_size[(int)j->t[o]];
  }
  j->nd = w;
  j->n = j->shape[w - 1];
  j->rows = total / j->n;
  j->whole = 0;
  j->batch = j->n < 128 && j->rows >= 8;
  for (int o = 0; o < j->nop && j->batch; o++) {
    long step = item_size[(int)j->t[o]];
    int dense = 1;
    for (int d = w - 1; d >= 0 && dense; d--) {
      dense = j->st[o][d] == step;
      step *= j->shape[d];
    }
    j->whole |= dense << o;
  }
  j->batch &= j->whole >> (j->nop - 1);
  j->seg = j->n > 2 * GRAIN ? GRAIN : j->n;
  j->segs = (j->n + j->seg - 1) / j->seg;
  j->chunk = j->seg < GRAIN ? GRAIN / j->seg : 1;
  if (j->chunk > j->rows) j->chunk = j->rows;
  const long tasks = (j->rows + j->chunk - 1) / j->chunk * j->segs;
  if (total <= 4096) {
    for (long k = 0; k < tasks; k++) point_task(j, k);
    return;
  }
  Py_BEGIN_ALLOW_THREADS parallel(point_task, j, tasks);
  Py_END_ALLOW_THREADS
}

static void place_scalar(Call *c, int s, char **p) { *p = (char *)&c->scalar[s]; }
static int result_code(const Info *I, int common) {
  return I->out == 'b' ? BOOL : I->out == 'i' || (I->out == 'l' && common >= I64) ? I64 : common;
}

/* Dims in the order of memory, the outermost first, as PyTorch orders an elementwise result. */
static void order_dims(const Info *I, const Call *c, int nd, const npy_intp *shape, long st[][MAXD], int *order) {
  int arrays[MAXOP], count = 0;
  if (I->leading && c->a[(int)I->leading]) arrays[count++] = I->leading;
  for (int s = 0; s < I->nin; s++)
    if (c->a[s] && !(I->leading && s == I->leading)) arrays[count++] = s;
  int perm[MAXD];
  for (int i = 0; i < nd; i++) perm[i] = nd - 1 - i;
  for (int i = 1; i < nd; i++)
    for (int k = i, j = i - 1; j >= 0; j--) {
      const int a = perm[j], b = perm[k];
      int after = 0;
      for (int s = 0; s < count && !after; s++) {
        const long x = st[arrays[s]][a], y = st[arrays[s]][b];
        if (x == 0 || y == 0) continue;
        if (x != y)
          after = x > y ? 1 : -1;
        else if (shape[a] > shape[b])
          after = 1;
      }
      if (after > 0) {
        perm[j] = b;
        perm[k] = a;
        k = j;
      } else if (after < 0)
        break;
    }
  for (int i = 0; i < nd; i++) order[i] = perm[nd - 1 - i];
}
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
static int clashes(PyArrayObject *out, PyArrayObject *x) { /* partly the same memory */
  char *a, *b, *p, *q;
  extent_of(out, &a, &b);
  extent_of(x, &p, &q);
  if (q <= a || b <= p) return 0;
  const int nd = PyArray_NDIM(out);
  return !(PyArray_BYTES(out) == PyArray_BYTES(x) && nd == PyArray_NDIM(x) &&
           !memcmp(PyArray_DIMS(out), PyArray_DIMS(x), nd * sizeof(npy_intp)) &&
           !memcmp(PyArray_STRIDES(out), PyArray_STRIDES(x), nd * sizeof(npy_intp)));
}

/* The loop for narrow integers, if the program has one and all that takes part is of one dtype or bool. */
static PointFn narrow_loop(const Info *I, const Entry *E, const Call *c, int code) {
  if (c->common < I32 || (code != c->common && code != BOOL)) return NULL;
  for (int s = 0; s < I->nin; s++)
    if (c->a[s] && c->code[s] != c->common && c->code[s] != BOOL) return NULL;
  return (PointFn)E[2].f[c->common >= U8 ? 2 : 1];
}

static PyObject *refuse(void) { Py_RETURN_NONE; }
static PyObject *point(const Info *I, const Entry *E, Call *c, PyArrayObject *out) {
  const int nin = I->nin;
  int code = result_code(I, c->common);
  if (out && code == BOOL && code_of(out) != OTHER) code = code_of(out); /* truth values as numbers */
  PyArrayObject *x = c->a[c->first];
  const int nd = PyArray_NDIM(x);
  PointFn f = (PointFn)E[type_of(c->common)].f[0];
  if (!f) return refuse();
  const PointFn narrow = narrow_loop(I, E, c, code);
  if (narrow) f = narrow;
  int same = contiguous(x), alone = 0; /* the short way: contiguous, one shape */
  for (int s = 0; s < nin && same; s++) {
    PyArrayObject *y = c->a[s];
    if (!y) {
      alone = 1;
      continue;
    }
    if (y != x)
      same = contiguous(y) && PyArray_NDIM(y) == nd && !memcmp(PyArray_DIMS(y), PyArray_DIMS(x), nd * sizeof(npy_intp));
  }
  if (same && alone) { /* a number: odd strides of dims of size 1 count */
    npy_intp step = PyArray_ITEMSIZE(x);
    for (int d = nd - 1; d >= 0 && same; d--) {
      same = PyArray_DIM(x, d) > 1 || PyArray_STRIDE(x, d) == step;
      step *= PyArray_DIM(x, d) ? PyArray_DIM(x, d) : 1;
    }
  }
  if (same && out)
    same = contiguous(out) && PyArray_NDIM(out) == nd && !memcmp(PyArray_DIMS(out), PyArray_DIMS(x), nd * sizeof(npy_intp));
  if (out) {
    if (code_of(out) != code || !PyArray_ISWRITEABLE(out)) return refuse();
    for (int s = 0; s < nin; s++)
      if (c->a[s] && c->a[s] != out && clashes(out, c->a[s])) return refuse();
  }
  Job j;
  if (same) {
    const npy_intp n = PyArray_SIZE(x);
    PyArrayObject *r = out;
    if (!r) {
      PyArray_Descr *d = code == code_of(x) ? PyArray_DESCR(x) : descr_of(code);
      if (d == PyArray_DESCR(x)) Py_INCREF(d);
      r = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, d, nd, PyArray_DIMS(x), NULL, NULL, 0, NULL);
      if (!r) return NULL;
    } else
      Py_INCREF(r);
    j.nop = nin + 1;
    j.num = c->num;
    for (int s = 0; s < nin; s++) {
      if (c->a[s]) {
        j.p[s] = PyArray_BYTES(c->a[s]);
        j.st[s][0] = item_size[(int)c->code[s]];
      } else {
        place_scalar(c, s, &j.p[s]);
        j.st[s][0] = 0;
      }
      j.t[s] = c->code[s];
    }
    j.p[nin] = PyArray_BYTES(r);
    j.st[nin][0] = item_size[code];
    j.t[nin] = code;
    if (n <= 4096) {
      long st[MAXOP];
      for (int o = 0; o <= nin; o++) st[o] = j.st[o][0];
      if (n) f(j.p, st, j.t, n, c->num);
      return (PyObject *)r;
    }
    j.f = f;
    j.nd = 1;
    j.shape[0] = n;
    run_point(&j);
    return (PyObject *)r;
  }
  int rank = 0;
  npy_intp shape[MAXD];
  for (int s = 0; s < nin; s++)
    if (c->a[s] && PyArray_NDIM(c->a[s]) > rank) rank = PyArray_NDIM(c->a[s]);
  if (rank > MAXD) return refuse();
  for (int d = 0; d < rank; d++) shape[d] = 1;
  for (int s = 0; s < nin; s++)
    if (c->a[s])
      for (int d = 0, m = PyArray_NDIM(c->a[s]); d < m; d++) {
        const npy_intp e = PyArray_DIM(c->a[s], d);
        npy_intp *z = shape + rank - m + d;
        if (e != 1) {
          if (*z != 1 && *z != e) return refuse();
          *z = e;
        }
      }
  long st[MAXOP][MAXD];
  int alike = 1, dense = 1;
  for (int s = 0; s < nin; s++) {
    for (int d = 0; d < rank; d++) st[s][d] = 0;
    if (!c->a[s]) {
      alike = 0;
      continue;
    }
    const int m = PyArray_NDIM(c->a[s]);
    alike &= m == rank;
    dense &= contiguous(c->a[s]) != 0;
    for (int d = 0; d < m; d++) {
      const npy_intp e = PyArray_DIM(c->a[s], d);
      alike &= e == shape[rank - m + d];
      st[s][rank - m + d] = e == 1 && shape[rank - m + d] != 1 ? 0 : PyArray_STRIDE(c->a[s], d);
    }
  }
  int order[MAXD];
  npy_intp strides[MAXD];
  long total = 1;
  for (int d = 0; d < rank; d++) total *= shape[d];
  if (!out) {
    if ((alike && (dense || !total)) || (I->natural & 1))
      for (int d = 0; d < rank; d++) order[d] = d;
    else {
      order_dims(I, c, rank, shape, st, order);
      int equal = alike; /* all alike and dense: their very strides */
      for (int s = 0; s < nin && equal; s++) equal = !memcmp(st[s], st[c->first], rank * sizeof(long));
      if (equal) {
        npy_intp step = PyArray_ITEMSIZE(x);
        for (int i = rank - 1; i >= 0 && equal; i--) {
          const int d = order[i];
          if (shape[d] == 1) continue;
          equal = st[c->first][d] == step;
          step *= shape[d];
        }
      }
      npy_intp step = item_size[code];
      int natural = 1;
      for (int i = 0; i < rank; i++) natural &= order[i] == i;
      for (int i = rank - 1; i >= 0; i--) {
        strides[order[i]] = step;
        step *= natural && !shape[order[i]] ? 1 : shape[order[i]];
      }
      if (equal)
        for (int d = 0; d < rank; d++) strides[d] = st[c->first][d] / PyArray_ITEMSIZE(x) * item_size[code];
    }
    PyArray_Descr *d = code == code_of(x) ? PyArray_DESCR(x) : descr_of(code);
    if (d == PyArray_DESCR(x)) Py_INCREF(d);
    out = (PyArrayObject *)PyArray_NewFromDescr(
        &PyArray_Type, d, rank, shape, (alike && (dense || !total)) || (I->natural & 1) ? NULL : strides, NULL, 0, NULL);
    if (!out) return NULL;
  } else {
    if (PyArray_NDIM(out) != rank || memcmp(PyArray_DIMS(out), shape, rank * sizeof(npy_intp))) return refuse();
    for (int d = 0; d < rank; d++) {
      order[d] = d;
      if (shape[d] > 1 && PyArray_STRIDE(out, d) == 0) return refuse();
    }
    for (int i = 1; i < rank; i++)
      for (int k = i; k > 0 && labs(PyArray_STRIDE(out, order[k])) > labs(PyArray_STRIDE(out, order[k - 1])); k--) {
        const int t = order[k];
        order[k] = order[k - 1];
        order[k - 1] = t;
      }
    Py_INCREF(out);
  }
  j.f = f;
  j.nop = nin + 1;
  j.num = c->num;
  j.nd = rank;
  for (int s = 0; s < nin; s++) {
    j.t[s] = c->code[s];
    if (c->a[s])
      j.p[s] = PyArray_BYTES(c->a[s]);
    else
      place_scalar(c, s, &j.p[s]);
  }
  j.p[nin] = PyArray_BYTES(out);
  j.t[nin] = code;
  for (int i = 0; i < rank; i++) {
    j.shape[i] = shape[order[i]];
    for (int s = 0; s < nin; s++) j.st[s][i] = st[s][order[i]];
    j.st[nin][i] = PyArray_STRIDE(out, order[i]);
  }
  run_point(&j);
  return (PyObject *)out;
}

static uint16_t to_bfloat(float f) {
  union {
    float f;
    uint32_t u;
  } b;
  b.f = f;
  return f != f ? 0x7fc0 : (uint16_t)((b.u + 0x7fff + ((b.u >> 16) & 1)) >> 16);
}
static void put(char *p, int code, double v) { /* one number into a float dtype */
  switch (code) {
  case F32: *(float *)p = (float)v; break;
  case F64: *(double *)p = v; break;
  case BF16: *(uint16_t *)p = to_bfloat((float)v); break;
  default: *(uint16_t *)p = v != v ? 0x7e00 : to_half((float)v);
  }
}
static double get(const char *p, int code) {
  union {
    float f;
    uint32_t u;
  } b;
  switch (code) {
  case F32: return *(const float *)p;
  case F64: return *(const double *)p;
  case BF16: b.u = (uint32_t)*(const uint16_t *)p << 16; return b.f;
  case F16: return from_half(*(const uint16_t *)p);
  case I64: return (double)*(const int64_t *)p;
  default: return *(const uint8_t *)p;
  }
}
static void pack_doubles(const double *x, char *p, int code, long n) {
  const int size = item_size[code];
  for (long i = 0; i < n; i++) put(p + i * size, code, x[i]);
}

static const Entry *const *tables;
static PointFn copy_loop(int type) { return (PointFn)tables[infos[IN_copy].file][3 * infos[IN_copy].index + type].f[0]; }
/* ---- reductions */
#include "reduce.h"
/* ---- rows */
#include "rows.h"
/* ---- kernels written by hand over the generated loops */
/* y = x, of one shape, as C converts the types; on all threads */
static void copy_values(PyArrayObject *y, PyArrayObject *x) {
  const int in = code_of(x), out = code_of(y), nd = PyArray_NDIM(y);
  Job j;
  int order[MAXD];
  for (int d = 0; d < nd; d++) order[d] = d;
  for (int i = 1; i < nd; i++)
    for (int k = i; k > 0 && labs(PyArray_STRIDE(y, order[k])) > labs(PyArray_STRIDE(y, order[k - 1])); k--) {
      const int t = order[k];
      order[k] = order[k - 1];
      order[k - 1] = t;
    }
  const int type = in == I16 || in == I8 || in >= U8 ? (out == F64 ? 1 : out < I64 ? 0 : 2) : type_of(in); /* exact as floats */
  j.f = copy_loop(type);
  j.nop = 2;
  j.nd = nd;
  j.num = NULL;
  j.p[0] = PyArray_BYTES(x);
  j.p[1] = PyArray_BYTES(y);
  j.t[0] = (char)in;
  j.t[1] = (char)out;
  for (int i = 0; i < nd; i++) {
    j.shape[i] = PyArray_DIM(y, order[i]);
    j.st[0][i] = PyArray_STRIDE(x, order[i]);
    j.st[1][i] = PyArray_STRIDE(y, order[i]);
  }
  run_point(&j);
}
#include "native.h"

/* ---- complex numbers, where parts are treated alike: contiguous arrays of one shape and dtype as arrays of their parts */
static PyObject *as_parts(const Info *I, const Entry *E, PyObject *const *args, Py_ssize_t n, PyArrayObject *out) {
  PyArrayObject *x = (PyArrayObject *)args[0];
  const int type = PyArray_TYPE(x), wide = type == NPY_CDOUBLE, nd = PyArray_NDIM(x), code = wide ? F64 : F32, nin = I->nin;
  Number num[MAXOP];
  Job j;
  if (!contiguous(x) || PyArray_ISBYTESWAPPED(x) || n > I->nparam ||
      (out && (PyArray_TYPE(out) != type || !PyArray_ISWRITEABLE(out))))
    return refuse();
  for (int i = 0; i < I->nparam; i++) {
    const Param *p = &I->param[i];
    const int s = p->slot;
    char integer;
    if (p->kind == 'N') {
      if (i >= n) {
        if (!p->optional) return refuse();
        num[s].d = p->value;
        continue;
      }
      if (PyBool_Check(args[i]) || !number_of(args[i], &num[s], &integer)) return refuse();
      if (integer) num[s].d = (double)num[s].i;
      if (!wide && (num[s].d > 3.4028234663852886e38 || num[s].d < -3.4028234663852886e38)) return refuse();
      continue;
    }
    if (p->kind != 'T' || i >= n || !is_array(args[i])) return refuse();
    PyArrayObject *y = (PyArrayObject *)args[i];
    if (PyArray_TYPE(y) != type || !contiguous(y) || PyArray_ISBYTESWAPPED(y) || PyArray_NDIM(y) != nd ||
        memcmp(PyArray_DIMS(y), PyArray_DIMS(x), nd * sizeof(npy_intp)))
      return refuse();
    if (out && y != out && clashes(out, y)) return refuse();
    j.p[s] = PyArray_BYTES(y);
    j.t[s] = (char)code;
    j.st[s][0] = wide ? 8 : 4;
  }
  if (out) {
    if (!contiguous(out) || PyArray_NDIM(out) != nd || memcmp(PyArray_DIMS(out), PyArray_DIMS(x), nd * sizeof(npy_intp)))
      return refuse();
    Py_INCREF(out);
  } else {
    PyArray_Descr *d = PyArray_DESCR(x);
    Py_INCREF(d);
    if (!(out = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, d, nd, PyArray_DIMS(x), NULL, NULL, 0, NULL))) return NULL;
  }
  j.f = (PointFn)E[type_of(code)].f[0];
  j.nop = nin + 1;
  j.nd = 1;
  j.num = num;
  j.shape[0] = 2 * PyArray_SIZE(x);
  j.p[nin] = PyArray_BYTES(out);
  j.t[nin] = (char)code;
  j.st[nin][0] = wide ? 8 : 4;
  run_point(&j);
  return (PyObject *)out;
}

/* ---- the Python side */
static PyObject *run(Kernel *self, PyObject *const *args, Py_ssize_t n, PyArrayObject *out) {
  for (int k = (int)(self->info - infos); k >= 0; k = infos[k].next) {
    const Info *I = infos + k;
    Call c;
    if (I->family == '@') return out ? refuse() : by_hand[I->index].function(args, n);
    if ((I->natural & 2) && n && is_array(args[0]) && PyArray_ISCOMPLEX((PyArrayObject *)args[0]))
      return PyArray_TYPE((PyArrayObject *)args[0]) == NPY_CLONGDOUBLE
                 ? refuse()
                 : as_parts(I, tables[I->file] + 3 * I->index, args, n, out);
    if (!read_call(I, args, n, &c)) continue;
    const Entry *E = tables[I->file] + 3 * I->index;
    return I->family == 'p'   ? point(I, E, &c, out)
           : out              ? refuse()
           : I->family == 'r' ? reduce(I, E, &c)
                              : line_arrays(I, E, &c);
  }
  Py_RETURN_NONE;
}
static PyObject *call(PyObject *me, PyObject *const *args, size_t flags, PyObject *names) {
  if (names && PyTuple_GET_SIZE(names)) Py_RETURN_NONE;
  return run((Kernel *)me, args, PyVectorcall_NARGS(flags), NULL);
}
/* into(out, *args): the result written into `out`, which may be one of the arguments; `out`, or None if it cannot */
static PyObject *into(PyObject *me, PyObject *const *args, Py_ssize_t n) {
  if (n < 1 || !is_array(args[0])) Py_RETURN_NONE;
  return run((Kernel *)me, args + 1, n - 1, (PyArrayObject *)args[0]);
}
/* inplace(x, *args): the same with x as `out` and as the first argument */
static PyObject *inplace(PyObject *me, PyObject *const *args, Py_ssize_t n) {
  if (n < 1 || !is_array(args[0])) Py_RETURN_NONE;
  return run((Kernel *)me, args, n, (PyArrayObject *)args[0]);
}
static PyObject *kernel_repr(PyObject *me) { return PyUnicode_FromFormat("<kernel %s>", ((Kernel *)me)->info->name); }
static PyMethodDef kernel_methods[] = {{"into", (PyCFunction)(void *)into, METH_FASTCALL, NULL},
                                       {"inplace", (PyCFunction)(void *)inplace, METH_FASTCALL, NULL},
                                       {0}};
static PyTypeObject KernelType = {PyVarObject_HEAD_INIT(0, 0).tp_name = "retrograd.codegen.Kernel",
                                  .tp_basicsize = sizeof(Kernel),
                                  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
                                  .tp_vectorcall_offset = offsetof(Kernel, call),
                                  .tp_call = PyVectorcall_Call,
                                  .tp_methods = kernel_methods,
                                  .tp_repr = kernel_repr};

/* cast(target, source): values of the source in the target's dtype, as C converts them; None for other dtypes or shapes, and
   where both share memory */
static PyObject *cast(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  if (n != 2 || !is_array(args[0]) || !is_array(args[1])) return refuse();
  PyArrayObject *y = (PyArrayObject *)args[0], *x = (PyArrayObject *)args[1];
  const int in = code_of(x), out = code_of(y), nd = PyArray_NDIM(y);
  if (in == OTHER || out == OTHER || nd != PyArray_NDIM(x) || nd > MAXD || !PyArray_ISWRITEABLE(y) ||
      memcmp(PyArray_DIMS(x), PyArray_DIMS(y), nd * sizeof(npy_intp)))
    return refuse();
  if (!PyArray_SIZE(y)) Py_RETURN_TRUE;
  char *a, *b, *p, *q;
  extent_of(y, &a, &b);
  extent_of(x, &p, &q);
  if (q > a && b > p) return refuse();
  copy_values(y, x);
  Py_RETURN_TRUE;
}

/* fill(array, number): the array, or None if it was not filled */
static PyObject *fill(PyObject *self, PyObject *const *args, Py_ssize_t n) { return native_fill_(args, n); }

static PyObject *set_threads(PyObject *self, PyObject *n) {
  const long v = PyLong_AsLong(n);
  if (v == -1 && PyErr_Occurred()) return NULL;
  pool_threads = v < 1 ? 1 : v > 256 ? 256 : (int)v;
  Py_RETURN_NONE;
}
static PyObject *get_threads(PyObject *self, PyObject *unused) { return PyLong_FromLong(pool_threads); }
static const char *isa = "plain";
static PyObject *instruction_set(PyObject *self, PyObject *unused) { return PyUnicode_FromString(isa); }
static int choose(const char *wanted) {
#ifdef HAVE_ISAS
  __builtin_cpu_init();
  const int v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
                 __builtin_cpu_supports("f16c");
  const int v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd");
  if (wanted ? !strcmp(wanted, "x86-64-v4") && v4 : v4) {
    tables = tables_v4;
    isa = "x86-64-v4";
  } else if (wanted ? !strcmp(wanted, "x86-64-v3") && v3 : v3) {
    tables = tables_v3;
    isa = "x86-64-v3";
  } else if (!wanted || !strcmp(wanted, "x86-64-v2")) {
    tables = tables_v2;
    isa = "x86-64-v2";
  } else
    return 0;
#else
  if (wanted && strcmp(wanted, "plain")) return 0;
  tables = tables_plain;
#endif
  return 1;
}
static PyObject *use_instruction_set(PyObject *self, PyObject *name) {
  const char *text = PyUnicode_AsUTF8(name);
  if (!text) return NULL;
  return PyBool_FromLong(choose(text));
}
static PyObject *set_default(PyObject *self, PyObject *d) {
  if (!PyArray_DescrCheck(d)) return PyErr_Format(PyExc_TypeError, "not a dtype");
  const int type = ((PyArray_Descr *)d)->type_num;
  default_code = type == NPY_DOUBLE ? F64 : type == NPY_HALF ? F16 : type == bfloat16_type && type ? BF16 : F32;
  Py_RETURN_NONE;
}
static PyObject *set_bfloat16(PyObject *self, PyObject *d) {
  if (!PyArray_DescrCheck(d)) return PyErr_Format(PyExc_TypeError, "not a dtype");
  Py_INCREF(d);
  bfloat16_descr = (PyArray_Descr *)d;
  bfloat16_type = bfloat16_descr->type_num;
  Py_RETURN_NONE;
}
PyObject *use_memory(PyObject *, PyObject *), *memory_limit(PyObject *, PyObject *), *empty_memory(PyObject *, PyObject *),
    *memory_stats(PyObject *, PyObject *), *reset_memory_peak(PyObject *, PyObject *);
static PyMethodDef methods[] = {
    {"update", (PyCFunction)(void *)update, METH_FASTCALL, "one program over many tuples of arrays, in place"},
    {"cast", (PyCFunction)(void *)cast, METH_FASTCALL, "values in another dtype"},
    {"fill", (PyCFunction)(void *)fill, METH_FASTCALL, "one number in a whole array"},
    {"set_threads", set_threads, METH_O, "how many threads kernels use"},
    {"get_threads", get_threads, METH_NOARGS, NULL},
    {"instruction_set", instruction_set, METH_NOARGS, "what the kernels in use were compiled for"},
    {"use_instruction_set", use_instruction_set, METH_O, NULL},
    {"set_bfloat16", set_bfloat16, METH_O, NULL},
    {"set_default", set_default, METH_O, "which dtype integers become where only floats are computed with"},
    {"use_memory", use_memory, METH_NOARGS, NULL},
    {"memory_limit", memory_limit, METH_O, NULL},
    {"empty_memory", empty_memory, METH_NOARGS, NULL},
    {"memory_stats", memory_stats, METH_NOARGS, NULL},
    {"reset_memory_peak", reset_memory_peak, METH_NOARGS, NULL},
    {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_loops", 0, -1, methods};
PyMODINIT_FUNC PyInit__loops(void) {
  import_array();
  if (PyType_Ready(&KernelType) < 0) return NULL;
  pool_start();
  choose(NULL);
  PyObject *m = PyModule_Create(&module), *kernels = PyDict_New();
  if (!m || !kernels) return NULL;
  for (int i = 0; i < COUNT; i++) {
    if (infos[i].name[0] == '_' && infos[i].nparam == 0 && infos[i].family != '@') continue; /* internal */
    if (infos[i].family == '@') {
      int h = 0;
      while (by_hand[h].name && strcmp(by_hand[h].name, infos[i].param[0].text)) h++;
      if (!by_hand[h].name) return PyErr_Format(PyExc_ImportError, "no native function is called %s", infos[i].param[0].text);
      infos[i].index = h;
    }
    if (PyDict_GetItemString(kernels, infos[i].name)) continue; /* further alternatives */
    Kernel *k = PyObject_New(Kernel, &KernelType);
    if (!k) return NULL;
    k->call = call;
    k->info = infos + i;
    k->entry = NULL;
    PyDict_SetItemString(kernels, infos[i].name, (PyObject *)k);
    Py_DECREF(k);
  }
  PyModule_AddObject(m, "kernels", kernels);
  PyModule_AddObject(m, "parallel_address", PyLong_FromVoidPtr((void *)parallel)); /* for code that is compiled at run time */
  static const Pool pool = {parallel, &pool_threads};
  PyModule_AddObject(m, "pool", PyCapsule_New((void *)&pool, POOL_NAME, NULL));
  return m;
}
