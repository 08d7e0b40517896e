/* Row programs: softmax and its relatives along one dim of arrays of any layout, and what native functions call by pointer. */
typedef struct {
  LineFn f;
  WideFn wide_f;
  int nop, nin, nd, kept, wide, across;
  char *p[MAXOP];
  char t[MAXOP];
  long cs[MAXOP], st[MAXOP][MAXD], shape[MAXD];
  long n, rows, chunk;
  const Number *num;
  char *sums[MAXOP]; /* of outputs summed over the rows: one row per task */
} Lines;
/* Rows whose elements lie apart, but side by side with those of the next rows: WIDE of them are computed together, or ACROSS
   of them copied together. */
#define WIDE 64
#define ACROSS 16
#define SHIFT(S)                         \
  for (long i = 0; i < n; i++) {         \
    char *row = p + i * step;            \
    for (long r = 0; r < m; r++) {       \
      S *cell = (S *)buffer + r * n + i; \
      if (back)                          \
        ((S *)row)[r] = *cell;           \
      else                               \
        *cell = ((S *)row)[r];           \
    }                                    \
  }
static void shift(char *p, char *buffer, long m, long n, long step, int size, int back) {
  switch (size) {
  case 2: SHIFT(uint16_t) break;
  case 4: SHIFT(uint32_t) break;
  case 8: SHIFT(uint64_t) break;
  default: SHIFT(uint8_t)
  }
}
static void across_task(void *argument, long k) {
  const Lines *j = argument;
  const int last = j->nd - 1;
  const long width = j->shape[last], blocks = (width + ACROSS - 1) / ACROSS, size = j->wide ? 8 : 4, n = j->n;
  char *memory = malloc((size_t)(j->nop * ACROSS + j->kept) * n * 8 + 64);
  if (!memory) return;
  const long end = (k + 1) * j->chunk < j->rows / width * blocks ? (k + 1) * j->chunk : j->rows / width * blocks;
  (void)size;
  for (long b = k * j->chunk; b < end; b++) {
    const long c0 = b % blocks * ACROSS, m = width - c0 < ACROSS ? width - c0 : ACROSS;
    long left = b / blocks;
    char *q[MAXOP], *at[MAXOP];
    long cs[MAXOP];
    for (int o = 0; o < j->nop; o++) q[o] = j->p[o] + c0 * j->st[o][last];
    for (int d = last - 1; d >= 0; d--) {
      const long i = left % j->shape[d];
      left /= j->shape[d];
      for (int o = 0; o < j->nop; o++) q[o] += i * j->st[o][d];
    }
    for (int o = 0; o < j->nop; o++)
      if (j->cs[o]) {
        const int item = item_size[(int)j->t[o]];
        cs[o] = item;
        if (o < j->nin) shift(q[o], memory + (size_t)o * ACROSS * n * 8, m, n, j->cs[o], item, 0);
      } else
        cs[o] = 0;
    for (long r = 0; r < m; r++) {
      for (int o = 0; o < j->nop; o++)
        at[o] = j->cs[o] ? memory + (size_t)o * ACROSS * n * 8 + r * n * cs[o] : q[o] + r * j->st[o][last];
      j->f(at, cs, j->t, n, j->num, memory + (size_t)j->nop * ACROSS * n * 8);
    }
    for (int o = j->nin; o < j->nop; o++)
      if (j->cs[o]) shift(q[o], memory + (size_t)o * ACROSS * n * 8, m, n, j->cs[o], (int)cs[o], 1);
  }
  free(memory);
}
static void wide_task(void *argument, long k) {
  const Lines *j = argument;
  const int last = j->nd - 1;
  const long width = j->shape[last], blocks = (width + WIDE - 1) / WIDE;
  char small[16384] __attribute__((aligned(64)));
  const size_t need = (size_t)j->kept * j->n * (width < WIDE ? width : WIDE) * (j->wide ? 8 : 4);
  void *row = need > sizeof small ? malloc(need) : small;
  if (!row) return;
  const long end = (k + 1) * j->chunk < j->rows / width * blocks ? (k + 1) * j->chunk : j->rows / width * blocks;
  for (long b = k * j->chunk; b < end; b++) {
    const long c0 = b % blocks * WIDE;
    long left = b / blocks, s[MAXOP];
    char *q[MAXOP];
    for (int o = 0; o < j->nop; o++) {
      q[o] = j->p[o] + c0 * j->st[o][last];
      s[o] = o < j->nin || j->cs[o] ? j->cs[o] : j->st[o][last];
    }
    for (int d = last - 1; d >= 0; d--) {
      const long i = left % j->shape[d];
      left /= j->shape[d];
      for (int o = 0; o < j->nop; o++) q[o] += i * j->st[o][d];
    }
    j->wide_f(q, s, j->t, j->n, width - c0 < WIDE ? width - c0 : WIDE, j->num, row);
  }
  if (row != small) free(row);
}
/* Many short rows of any layout: blocks of them are turned, so that they lie side by side, and turned back. */
#define SHORT_ROW 112
static inline long short_side(long n) { return n <= 32 ? WIDE : n <= 64 ? WIDE / 2 : WIDE / 4; }
typedef uint32_t Quad __attribute__((vector_size(16), aligned(4), may_alias));
/* a matrix of rows `from` bytes apart, whose items touch, becomes one of rows `to` bytes apart */
static void turn_words(const char *p, long from, char *z, long to, long rows, long columns) {
  long r = 0;
  for (; r + 4 <= rows; r += 4, p += 4 * from, z += 16) {
    long c = 0;
    for (; c + 4 <= columns; c += 4) {
      const char *q = p + 4 * c;
      char *w = z + c * to;
      const Quad a = *(const Quad *)q, b = *(const Quad *)(q + from), d = *(const Quad *)(q + 2 * from),
                 e = *(const Quad *)(q + 3 * from);
      const Quad ab = __builtin_shuffle(a, b, (Quad){0, 4, 1, 5}), hi = __builtin_shuffle(a, b, (Quad){2, 6, 3, 7});
      const Quad de = __builtin_shuffle(d, e, (Quad){0, 4, 1, 5}), up = __builtin_shuffle(d, e, (Quad){2, 6, 3, 7});
      *(Quad *)w = __builtin_shuffle(ab, de, (Quad){0, 1, 4, 5});
      *(Quad *)(w + to) = __builtin_shuffle(ab, de, (Quad){2, 3, 6, 7});
      *(Quad *)(w + 2 * to) = __builtin_shuffle(hi, up, (Quad){0, 1, 4, 5});
      *(Quad *)(w + 3 * to) = __builtin_shuffle(hi, up, (Quad){2, 3, 6, 7});
    }
    for (; c < columns; c++)
      for (int i = 0; i < 4; i++) __builtin_memcpy(z + c * to + 4 * i, p + i * from + 4 * c, 4);
  }
  for (; r < rows; r++, p += from, z += 4)
    for (long c = 0; c < columns; c++) __builtin_memcpy(z + c * to, p + 4 * c, 4);
}
#define TURN(S)                                                                                           \
  for (long c = 0; c < n; c++) {                                                                          \
    if (back)                                                                                             \
      __builtin_memcpy(p + c * cs, buffer + c * side * (long)sizeof(S), sizeof(S));                       \
    else                                                                                                  \
      __builtin_memcpy(buffer + c * side * (long)sizeof(S), p + c * cs, sizeof(S));                       \
  }
static void turn_row(char *p, char *buffer, long n, long cs, long side, int size, int back) {
  switch (size) {
  case 2: TURN(uint16_t) break;
  case 4: TURN(uint32_t) break;
  default: TURN(uint64_t)
  }
}
static void turn_rows(const Lines *j, int o, long first, long m, long n, char *buffer, long side, int back) {
  const int size = item_size[(int)j->t[o]], last = j->nd - 1;
  const long *st = j->st[o];
  long at[MAXD], left = first;
  char *p = j->p[o];
  for (int d = last; d >= 0; d--) {
    at[d] = left % j->shape[d];
    left /= j->shape[d];
    p += at[d] * st[d];
  }
  const long cs = j->cs[o];
  for (long r = 0; r < m;) {
    const long run = j->nd && j->shape[last] - at[last] < m - r ? j->shape[last] - at[last] : m - r;
    char *z = buffer + r * size;
    if (size == 4 && cs == 4 && n > 1) {
      if (back)
        turn_words(z, side * 4, p, st[last], n, run);
      else
        turn_words(p, st[last], z, side * 4, run, n);
    } else
      for (long i = 0; i < run; i++) turn_row(p + i * st[last], z + i * size, n, cs, side, size, back);
    r += run;
    if (r == m) break;
    p += (run - 1) * st[last];
    at[last] += run - 1;
    for (int d = last; d >= 0; d--) {
      p += st[d];
      if (++at[d] < j->shape[d]) break;
      p -= st[d] * j->shape[d];
      at[d] = 0;
    }
  }
}
/* Rows of half precision as floats one after the other, or back. */
static void widen_rows(const Lines *j, int o, long first, long m, float *flat, int back) {
  const int last = j->nd - 1;
  const long n = j->n, joined = j->nd == 1 && j->st[o][0] == 2 * n ? m : 1;
  const long step[2] = {back ? 4 : 2, back ? 2 : 4};
  const char types[2] = {back ? F32 : j->t[o], back ? j->t[o] : F32};
  for (long r = 0; r < m; r += joined) {
    char *p = j->p[o];
    for (long d = last, left = first + r; d >= 0; left /= j->shape[d--]) p += left % j->shape[d] * j->st[o][d];
    char *both[2] = {back ? (char *)(flat + r * n) : p, back ? p : (char *)(flat + r * n)};
    copy_loop(0)(both, step, types, joined * n, NULL);
  }
}
static void short_task(void *argument, long k) {
  const Lines *j = argument;
  const long n = j->n, side = short_side(n), r1 = (k + 1) * j->chunk < j->rows ? (k + 1) * j->chunk : j->rows;
  const size_t unit = (size_t)n * side * 8;
  char *memory = malloc(unit * (j->nop + j->kept + 1) + 64), *start = (char *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
  if (!memory) return;
  float *flat = (float *)(start + (j->nop + j->kept) * unit);
  char t[MAXOP], half[MAXOP];
  for (int o = 0; o < j->nop; o++) {
    half[o] = (j->t[o] == BF16 || j->t[o] == F16) && j->cs[o] == 2;
    t[o] = half[o] ? F32 : j->t[o];
  }
  for (long r = k * j->chunk; r < r1; r += side) {
    const long m = r + side < r1 ? side : r1 - r;
    char *q[MAXOP];
    long s[MAXOP];
    for (int o = 0; o < j->nop; o++) {
      q[o] = start + o * unit;
      s[o] = o < j->nin || j->cs[o] ? side * item_size[(int)t[o]] : item_size[(int)t[o]];
      if (o >= j->nin) continue;
      if (half[o]) {
        widen_rows(j, o, r, m, flat, 0);
        turn_words((char *)flat, n * 4, q[o], side * 4, m, n);
      } else
        turn_rows(j, o, r, m, n, q[o], side, 0);
    }
    j->wide_f(q, s, t, n, m, j->num, start + j->nop * unit);
    for (int o = j->nin; o < j->nop; o++)
      if (half[o]) {
        turn_words(q[o], side * 4, (char *)flat, n * 4, n, m);
        widen_rows(j, o, r, m, flat, 1);
      } else
        turn_rows(j, o, r, m, j->cs[o] ? n : 1, q[o], side, 1);
  }
  free(memory);
}
static void lines_task(void *argument, long k) {
  const Lines *j = argument;
  const long r0 = k * j->chunk, r1 = r0 + j->chunk < j->rows ? r0 + j->chunk : j->rows, size = j->wide ? 8 : 4;
  char small[16384] __attribute__((aligned(64)));
  const size_t need = (size_t)j->kept * j->n * size;
  void *row = need > sizeof small ? malloc(need) : small;
  char *q[MAXOP];
  long at[MAXD], left = r0;
  for (int d = j->nd - 1; d >= 0; d--) {
    at[d] = left % j->shape[d];
    left /= j->shape[d];
  }
  for (int o = 0; o < j->nop; o++) {
    if (j->sums[o]) {
      q[o] = j->sums[o] + k * j->n * size;
      memset(q[o], 0, j->n * size);
      continue;
    }
    q[o] = j->p[o];
    for (int d = 0; d < j->nd; d++) q[o] += at[d] * j->st[o][d];
  }
  for (long r = r0;;) {
    j->f(q, j->cs, j->t, j->n, j->num, row);
    if (++r == r1) break;
    for (int d = j->nd - 1; d >= 0; d--) {
      if (++at[d] < j->shape[d]) {
        for (int o = 0; o < j->nop; o++) q[o] += j->st[o][d];
        break;
      }
      at[d] = 0;
      for (int o = 0; o < j->nop; o++) q[o] -= (j->shape[d] - 1) * j->st[o][d];
    }
  }
  if (row != small) free(row);
}
/* Cut into tasks by shape alone; sums over rows are joined in order, in the last argument's memory. */
static int run_lines(Lines *j, long total_hint) {
  int w = 0;
  const long total = j->rows * j->n;
  const WideFn short_rows = j->wide_f;
  (void)total_hint;
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
  j->nd = w;
  int summed = 0;
  for (int o = 0; o < j->nop; o++) summed |= j->sums[o] != NULL;
  j->chunk = j->n ? GRAIN / j->n : j->rows;
  if (j->chunk < 1) j->chunk = 1;
  if (summed && j->chunk < (j->rows + 31) / 32) j->chunk = (j->rows + 31) / 32;
  j->across = j->nin && !summed && j->nd && j->n > 1 && j->shape[j->nd - 1] >= 4;
  for (int o = 0; o < j->nop && j->across; o++) {
    const int item = item_size[(int)j->t[o]];
    j->across = !j->cs[o] || (j->cs[o] > item && j->st[o][j->nd - 1] == item);
  }
  for (int o = 0; o < j->nop && j->across; o++)
    if ((o < j->nin || j->cs[o]) && j->st[o][j->nd - 1] != item_size[(int)j->t[o]]) j->wide_f = NULL;
  if (j->across) {
    const long side = j->wide_f ? WIDE : ACROSS;
    void (*task)(void *, long) = j->wide_f ? wide_task : across_task;
    j->chunk = GRAIN / (side * j->n) + 1;
    const long blocks = (j->shape[j->nd - 1] + side - 1) / side * (j->rows / j->shape[j->nd - 1]),
               count = (blocks + j->chunk - 1) / j->chunk;
    if (total > 4096) {
      Py_BEGIN_ALLOW_THREADS parallel(task, j, count);
      Py_END_ALLOW_THREADS
    } else
      for (long k = 0; k < count; k++) task(j, k);
    return 0;
  }
  if (short_rows && j->nin && j->n <= SHORT_ROW && j->rows >= 8) {
    const long side = short_side(j->n);
    j->wide_f = short_rows;
    j->chunk = (j->chunk + side - 1) / side * side;
    const long count = (j->rows + j->chunk - 1) / j->chunk;
    if (total > 4096) {
      Py_BEGIN_ALLOW_THREADS parallel(short_task, j, count);
      Py_END_ALLOW_THREADS
    } else
      for (long k = 0; k < count; k++) short_task(j, k);
    return 0;
  }
  const long tasks = (j->rows + j->chunk - 1) / j->chunk;
  const int size = j->wide ? 8 : 4;
  char *memory = NULL, *wanted[MAXOP];
  if (summed) {
    int count = 0;
    for (int o = 0; o < j->nop; o++) count += j->sums[o] != NULL;
    memory = malloc((size_t)count * tasks * j->n * size + 64);
    if (!memory) return -1;
    char *at = (char *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
    for (int o = 0; o < j->nop; o++)
      if (j->sums[o]) {
        wanted[o] = j->sums[o];
        j->sums[o] = at;
        at += (size_t)tasks * j->n * size;
      }
  }
  if (total > 4096) {
    Py_BEGIN_ALLOW_THREADS parallel(lines_task, j, tasks);
    Py_END_ALLOW_THREADS
  } else
    for (long k = 0; k < tasks; k++) lines_task(j, k);
  if (summed) {
    for (int o = 0; o < j->nop; o++)
      if (j->sums[o]) { /* the sum of tasks, in double, to where it was wanted */
        double *total_sum = calloc(j->n ? j->n : 1, sizeof(double));
        if (!total_sum) {
          free(memory);
          return -1;
        }
        for (long k = 0; k < tasks; k++) {
          if (j->wide) {
            const double *x = (double *)(j->sums[o]) + k * j->n;
            for (long i = 0; i < j->n; i++) total_sum[i] += x[i];
          } else {
            const float *x = (float *)(j->sums[o]) + k * j->n;
            for (long i = 0; i < j->n; i++) total_sum[i] += x[i];
          }
        }
        pack_doubles(total_sum, wanted[o], j->t[o], j->n);
        free(total_sum);
      }
    free(memory);
  }
  return 0;
}

static void copy_values(PyArrayObject *y, PyArrayObject *x);
static PyObject *line_arrays(const Info *I, const Entry *E, Call *c) {
  PyArrayObject *x = c->a[c->first];
  const int nd = PyArray_NDIM(x), wide = type_of(c->common);
  char marked[MAXD + 1];
  if (nd > MAXD || wide == 2 || !E[wide].f[0] || !c->dims || !read_dims(c->dims, nd, marked)) return refuse();
  if (PyTuple_CheckExact(c->dims) && !PyTuple_GET_SIZE(c->dims)) return refuse();
  if (c->dtype) {
    PyArray_Descr *d = (PyArray_Descr *)c->dtype;
    if (d->type_num != PyArray_DESCR(x)->type_num) return refuse();
  }
  int axis = -1;
  for (int d = 0; d < (nd ? nd : 1); d++)
    if (marked[d]) {
      if (axis >= 0) return refuse();
      axis = d;
    }
  for (int s = 0; s < I->nin; s++)
    if (!c->a[s] || PyArray_NDIM(c->a[s]) != nd || memcmp(PyArray_DIMS(c->a[s]), PyArray_DIMS(x), nd * sizeof(npy_intp)))
      return refuse();
  if (E[wide].f[1] && PyArray_SIZE(x) > 4096 && axis != nd - 1)
    for (int s = 0; s < I->nin; s++) { /* one number for many rows: as many of it, side by side */
      PyArrayObject *y = c->a[s];
      int spread = 0;
      for (int d = 0; d < nd; d++) spread |= d != axis && PyArray_DIM(y, d) > 1 && PyArray_STRIDE(y, d) == 0;
      if (!spread) continue;
      if (!(y = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr_of(c->common), nd, PyArray_DIMS(x), NULL, NULL, 0,
                                                      NULL)))
        return NULL;
      copy_values(y, c->a[s]);
      PyArrayObject *kept = c->a[s];
      c->a[s] = y;
      PyObject *made = line_arrays(I, E, c);
      c->a[s] = kept;
      Py_DECREF(y);
      return made;
    }
  Lines j;
  memset(&j, 0, sizeof j);
  j.f = (LineFn)E[wide].f[0];
  j.wide_f = (WideFn)E[wide].f[1];
  j.nin = I->nin;
  j.nop = I->nin + I->nout;
  j.kept = I->kept;
  j.wide = wide;
  j.num = c->num;
  j.n = nd ? PyArray_DIM(x, axis) : 1;
  const npy_intp total = PyArray_SIZE(x);
  if (!j.n) return refuse();
  PyArrayObject *made[4] = {0};
  npy_intp dims[MAXD];
  for (int i = 0; i < I->nout; i++) {
    int m = 0;
    const int row = I->kind[I->nin + i] == 'r';
    for (int d = 0; d < nd; d++)
      if (!row || d != axis)
        dims[m++] = PyArray_DIM(x, d);
      else if (c->keepdim)
        dims[m++] = 1;
    PyArray_Descr *descr = PyArray_DESCR(x);
    Py_INCREF(descr);
    made[i] = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr, m, dims, NULL, NULL, 0, NULL);
    if (!made[i]) {
      for (int k = 0; k < i; k++) Py_DECREF(made[k]);
      return NULL;
    }
  }
  j.rows = total / j.n;
  j.nd = 0;
  for (int d = 0; d < nd; d++)
    if (d != axis) j.shape[j.nd++] = PyArray_DIM(x, d);
  for (int o = 0; o < j.nop; o++) {
    PyArrayObject *y = o < I->nin ? c->a[o] : made[o - I->nin];
    j.p[o] = PyArray_BYTES(y);
    j.t[o] = code_of(y);
    const int row = o >= I->nin && I->kind[o] == 'r';
    int k = 0;
    if (row) {
      for (int d = 0, e = 0; d < nd; d++) {
        if (d == axis) {
          e += c->keepdim;
          continue;
        }
        j.st[o][k++] = PyArray_STRIDE(y, e++);
      }
    } else {
      for (int d = 0; d < nd; d++)
        if (d != axis) j.st[o][k++] = PyArray_STRIDE(y, d);
      j.cs[o] = nd ? PyArray_STRIDE(y, axis) : item_size[c->common];
      if (j.n == 1) j.cs[o] = item_size[(int)j.t[o]];
    }
  }
  if (j.rows && run_lines(&j, total) < 0) {
    for (int i = 0; i < I->nout; i++) Py_DECREF(made[i]);
    return PyErr_NoMemory();
  }
  if (I->nout == 1) return (PyObject *)made[0];
  PyObject *tuple = PyTuple_New(I->nout);
  if (!tuple) return NULL;
  for (int i = 0; i < I->nout; i++) PyTuple_SET_ITEM(tuple, i, (PyObject *)made[i]);
  return tuple;
}
