/* Reductions over any dims. Tasks are cut by shape and strides alone, and partial results joined in order: the bits do not
   depend on the number of threads. */
typedef struct {
  const Info *info;
  const Entry *entry;
  int nin, nk, nr, wide;
  char t[MAXOP];
  char *p[MAXOP];
  const Number *num;
  long kept[MAXD], ks[MAXOP][MAXD], red[MAXD], rs[MAXOP][MAXD]; /* dims that stay, dims that go; outermost first */
  long outputs, runs, n, seg, segs, group, groups, chunk;       /* by rows */
  long width, rows, block, blocks, outer;                       /* by columns */
  int halves; /* rows of half precision, one after the other */
  Acc *partial;
  int64_t *columns;
  char *out;
  int out_code;
  double count;
} Reduction;

static void start_at(const long *shape, int nd, long k, const long s[][MAXD], int nop, char **p) {
  for (int d = nd - 1; d >= 0; d--) {
    const long i = k % shape[d];
    k /= shape[d];
    for (int o = 0; o < nop; o++) p[o] += i * s[o][d];
  }
}
static Acc start_acc(const Reduction *j) {
  Acc a;
  a.e = 0;
  switch (j->info->reducer) {
  case '+':
    if (j->wide == 2)
      a.a.i = 0;
    else
      a.a.d = 0;
    break;
  case '*':
    if (j->wide == 2)
      a.a.i = 1;
    else
      a.a.d = 1;
    break;
  case '>':
    if (j->wide == 2)
      a.a.i = j->info->out == 'b' ? 0 : INT64_MIN;
    else
      a.a.d = j->info->out == 'b' ? 0 : -Py_HUGE_VAL;
    break;
  default:
    if (j->wide == 2)
      a.a.i = INT64_MAX;
    else
      a.a.d = Py_HUGE_VAL;
  }
  return a;
}
static void join(const Reduction *j, Acc *a, const Acc *b) {
  const char op = j->info->reducer;
  if (j->wide == 2) {
    const int64_t x = b->a.i, y = a->a.i;
    a->a.i = op == '+'   ? (int64_t)((uint64_t)x + (uint64_t)y)
             : op == '*' ? (int64_t)((uint64_t)x * (uint64_t)y)
             : op == '>' ? (x > y ? x : y)
                         : (x < y ? x : y);
  } else {
    const double x = b->a.d, y = a->a.d;
    if (op == '+') {
      const double t = y + x, z = t - y, e = (y - (t - z)) + (x - z);
      a->e += (e == e ? e : 0) + b->e;
      a->a.d = t;
    } else if (op == '*')
      a->a.d = y * x;
    else if (op == '>')
      a->a.d = x > y || x != x ? x : y;
    else
      a->a.d = x < y || x != x ? x : y;
  }
}
static void store_acc(const Reduction *j, const Acc *a, long first, long k) { /* results of k outputs, in blocks */
  union {
    double d[256];
    int64_t i[256];
  } value;
  EndFn end = (EndFn)j->entry[j->wide].f[2];
  const int size = item_size[j->out_code];
  for (long b = 0; b < k; b += 256) {
    const long m = k - b < 256 ? k - b : 256;
    for (long i = 0; i < m; i++)
      if (j->wide == 2)
        value.i[i] = a[b + i].a.i;
      else
        value.d[i] = a[b + i].a.d + a[b + i].e;
    end(&value, m, j->count, j->num, j->out + (first + b) * size, size, j->out_code);
  }
}
static Acc reduce_run(const Reduction *j, char **base, long g) { /* the runs of group g of one output */
  RowFn f = (RowFn)j->entry[j->wide].f[0];
  const int last = j->nr - 1;
  Acc a = start_acc(j);
  long s[MAXOP];
  for (int o = 0; o < j->nin; o++) s[o] = j->nr ? j->rs[o][last] : 0;
  const long end = (g + 1) * j->group < j->runs * j->segs ? (g + 1) * j->group : j->runs * j->segs;
  for (long r = g * j->group; r < end; r++) {
    char *q[MAXOP];
    const long c0 = r % j->segs * j->seg, n = c0 + j->seg < j->n ? j->seg : j->n - c0;
    for (int o = 0; o < j->nin; o++) q[o] = base[o] + c0 * s[o];
    if (j->nr > 1) start_at(j->red, last, r / j->segs, j->rs, j->nin, q);
    const Acc b = f(q, s, j->t, n, j->num);
    if (r == g * j->group)
      a = b;
    else
      join(j, &a, &b);
  }
  return a;
}
static void rows_task(void *argument, long k) {
  const Reduction *j = argument;
  if (j->groups > 1) {
    char *q[MAXOP];
    for (int o = 0; o < j->nin; o++) q[o] = j->p[o];
    start_at(j->kept, j->nk, k / j->groups, j->ks, j->nin, q);
    j->partial[k] = reduce_run(j, q, k % j->groups);
    return;
  }
  const long first = k * j->chunk, end = first + j->chunk < j->outputs ? first + j->chunk : j->outputs;
  Acc a[64];
  if (j->halves) { /* short rows one after the other: many become floats together */
    const long n = j->n, most = 4096 / n < 64 ? 4096 / n : 64;
    const long step[2] = {2, 4}, own = 4;
    const char types[2] = {j->t[0], F32};
    RowFn f = (RowFn)j->entry[j->wide].f[0];
    float buffer[4096];
    for (long b = first; b < end; b += most) {
      const long m = end - b < most ? end - b : most;
      char *both[2] = {j->p[0] + b * n * 2, (char *)buffer};
      copy_loop(0)(both, step, types, m * n, NULL);
      for (long i = 0; i < m; i++) {
        char *q = (char *)(buffer + i * n);
        a[i] = f(&q, &own, types + 1, n, j->num);
      }
      store_acc(j, a, b, m);
    }
    return;
  }
  char *q[MAXOP];
  long at[MAXD], step[MAXOP]; /* where in the kept dims; pointers advance with it, since a division costs as much as a short row */
  const int one = j->nr <= 1 && j->segs == 1;
  const RowFn f = (RowFn)j->entry[j->wide].f[0];
  for (int o = 0; o < j->nin; o++) {
    q[o] = j->p[o];
    step[o] = j->nr ? j->rs[o][j->nr - 1] : 0;
  }
  start_at(j->kept, j->nk, first, j->ks, j->nin, q);
  long k0 = first;
  for (int d = j->nk - 1; d >= 0; k0 /= j->kept[d--]) at[d] = k0 % j->kept[d];
  for (long b = first; b < end; b += 64) {
    const long m = end - b < 64 ? end - b : 64;
    for (long i = 0; i < m; i++) {
      a[i] = one ? f(q, step, j->t, j->n, j->num) : reduce_run(j, q, 0);
      for (int d = j->nk - 1; d >= 0; d--) {
        const long back = ++at[d] < j->kept[d] ? 0 : j->kept[d];
        for (int o = 0; o < j->nin; o++) q[o] += j->ks[o][d] * (1 - back);
        if (!back) break;
        at[d] = 0;
      }
    }
    store_acc(j, a, b, m);
  }
}
static void fold_columns(const Reduction *j, int64_t *to, const int64_t *from, long n);
/* `m` rows into the accumulators; where few columns lie without gaps, several rows at once as one row. */
#define ABREAST 256
static void down_rows(const Reduction *j, ColFn f, char **q, const long *s, const long *rs, long m, long n, int64_t *acc) {
  const long g = ABREAST / n;
  int narrow = n <= ABREAST / 8 && m >= 2 * g;
  for (int o = 0; o < j->nin; o++) narrow &= rs[o] == n * s[o];
  if (narrow) {
    int64_t wide[ABREAST];
    long step[MAXOP];
    const long rows = m / g;
    const Acc a = start_acc(j);
    for (long i = 0; i < g * n; i++) wide[i] = a.a.i;
    for (int o = 0; o < j->nin; o++) step[o] = rs[o] * g;
    f(q, s, step, j->t, rows, g * n, j->num, wide);
    for (long i = 0; i < g; i++) fold_columns(j, acc, wide + i * n, n);
    for (int o = 0; o < j->nin; o++) q[o] += rows * step[o];
    m -= rows * g;
  }
  if (m) f(q, s, rs, j->t, m, n, j->num, acc);
}
static void columns_task(void *argument, long k) { /* k counts (outer kept, group of rows, block of columns) */
  const Reduction *j = argument;
  ColFn f = (ColFn)j->entry[j->wide].f[1];
  const int last = j->nk - 1;
  const long block = k % j->blocks, g = k / j->blocks % j->groups, outer = k / j->blocks / j->groups, c0 = block * j->block;
  const long n = c0 + j->block < j->width ? j->block : j->width - c0,
             end = (g + 1) * j->group < j->rows ? (g + 1) * j->group : j->rows;
  char *base[MAXOP];
  long s[MAXOP], rs[MAXOP];
  for (int o = 0; o < j->nin; o++) {
    base[o] = j->p[o];
    s[o] = j->ks[o][last];
    rs[o] = j->nr ? j->rs[o][j->nr - 1] : 0;
    base[o] += c0 * s[o];
  }
  start_at(j->kept, last, outer, j->ks, j->nin, base);
  const Acc a = start_acc(j);
  int64_t *acc = j->columns + (outer * j->groups + g) * j->width + c0;
  for (long i = 0; i < n; i++) acc[i] = a.a.i;
  const long inner = j->nr ? j->red[j->nr - 1] : 1;
  for (long r = g * j->group; r < end;) {
    const long at = r % inner, m = inner - at < end - r ? inner - at : end - r;
    char *q[MAXOP];
    for (int o = 0; o < j->nin; o++) q[o] = base[o] + at * rs[o];
    if (j->nr > 1) start_at(j->red, j->nr - 1, r / inner, j->rs, j->nin, q);
    down_rows(j, f, q, s, rs, m, n, acc);
    r += m;
  }
  if (j->groups == 1) {
    const int size = item_size[j->out_code];
    ((EndFn)j->entry[j->wide].f[2])(acc, n, j->count, j->num, j->out + (outer * j->width + c0) * size, size, j->out_code);
  }
}

static void fold_columns(const Reduction *j, int64_t *to, const int64_t *from, long n) {
  const char op = j->info->reducer;
  double *x = (double *)to;
  const double *y = (const double *)from;
  if (j->wide == 2)
    for (long c = 0; c < n; c++) {
      Acc a, b;
      a.a.i = to[c];
      b.a.i = from[c];
      join(j, &a, &b);
      to[c] = a.a.i;
    }
  else if (op == '+')
    for (long c = 0; c < n; c++) x[c] += y[c];
  else if (op == '*')
    for (long c = 0; c < n; c++) x[c] *= y[c];
  else if (op == '>')
    for (long c = 0; c < n; c++) x[c] = y[c] > x[c] || y[c] != y[c] ? y[c] : x[c];
  else
    for (long c = 0; c < n; c++) x[c] = y[c] < x[c] || y[c] != y[c] ? y[c] : x[c];
}
/* The groups of FOLDED columns become one, and that the result. */
#define FOLDED 256L
static void fold_task(void *argument, long k) {
  const Reduction *j = argument;
  const long each = (j->width + FOLDED - 1) / FOLDED, outer = k / each, c0 = k % each * FOLDED,
             n = j->width - c0 < FOLDED ? j->width - c0 : FOLDED;
  int64_t *w = j->columns + outer * j->groups * j->width + c0;
  const int size = item_size[j->out_code];
  for (long g = 1; g < j->groups; g++) fold_columns(j, w, w + g * j->width, n);
  ((EndFn)j->entry[j->wide].f[2])(w, n, j->count, j->num, j->out + (outer * j->width + c0) * size, size, j->out_code);
}

HIDDEN int read_dims(PyObject *o, int nd, char *marked) { /* 0 for what the caller has to explain */
  const int range = nd ? nd : 1;
  for (int d = 0; d < range; d++) marked[d] = 0;
  if (!o || o == Py_None) {
    for (int d = 0; d < range; d++) marked[d] = 1;
    return 1;
  }
  PyObject *const *items = &o;
  Py_ssize_t n = 1;
  if (PyTuple_CheckExact(o)) {
    items = PySequence_Fast_ITEMS(o);
    n = PyTuple_GET_SIZE(o);
  } else if (PyList_CheckExact(o)) {
    items = PySequence_Fast_ITEMS(o);
    n = PyList_GET_SIZE(o);
  }
  if (!n) {
    for (int d = 0; d < range; d++) marked[d] = 1;
    return 1;
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    if (!PyLong_CheckExact(items[i])) return 0;
    long d = PyLong_AsLong(items[i]);
    if (d == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      return 0;
    }
    if (d < 0) d += range;
    if (d < 0 || d >= range || marked[d]) return 0;
    marked[d] = 1;
  }
  return 1;
}

/* Sort dims by their strides in the first operand, the largest first, and join those that are one run in all operands. */
static int settle(int nd, long *shape, long s[][MAXD], int nop) {
  int w = 0;
  for (int i = 1; i < nd; i++)
    for (int k = i; k > 0 && labs(s[0][k]) > labs(s[0][k - 1]); k--) {
      long t = shape[k];
      shape[k] = shape[k - 1];
      shape[k - 1] = t;
      for (int o = 0; o < nop; o++) {
        t = s[o][k];
        s[o][k] = s[o][k - 1];
        s[o][k - 1] = t;
      }
    }
  for (int d = 0; d < nd; d++) {
    int join = w > 0;
    for (int o = 0; o < nop && join; o++) join = s[o][w - 1] == s[o][d] * shape[d];
    if (join) {
      shape[w - 1] *= shape[d];
      for (int o = 0; o < nop; o++) s[o][w - 1] = s[o][d];
    } else {
      shape[w] = shape[d];
      for (int o = 0; o < nop; o++) s[o][w] = s[o][d];
      w++;
    }
  }
  return w;
}

static void run_reduction(Reduction *j) {
  parallel(j->columns ? columns_task : rows_task, j,
           j->columns      ? j->outer * j->groups * j->blocks
           : j->groups > 1 ? j->outputs * j->groups
                           : (j->outputs + j->chunk - 1) / j->chunk);
}

/* `marked` says which dims of the first operand go; the other operands broadcast against it. Result: row-major. */
static PyObject *reduce_arrays(const Info *I, const Entry *entry, PyArrayObject *const *a, const char *marked, int keepdim,
                               int common, int wide, int out_code, const Number *num) {
  Reduction j;
  PyArrayObject *x = a[0];
  const int nd = PyArray_NDIM(x), range = nd ? nd : 1;
  npy_intp dims[MAXD];
  int m = 0;
  if (nd > MAXD) return refuse();
  j.info = I;
  j.entry = entry;
  j.nin = I->nin;
  j.nk = j.nr = 0;
  j.wide = wide;
  j.num = num;
  j.count = 1;
  j.partial = NULL;
  j.columns = NULL;
  j.out_code = out_code;
  if (!entry[j.wide].f[0]) return refuse();
  for (int o = 0; o < j.nin; o++) {
    j.p[o] = PyArray_BYTES(a[o]);
    j.t[o] = code_of(a[o]);
    if (o && PyArray_NDIM(a[o]) != nd) return refuse();
  }
  long total = 1, reduced = 1;
  for (int d = 0; d < nd; d++) {
    const npy_intp e = PyArray_DIM(x, d);
    total *= e;
    for (int o = 1; o < j.nin; o++)
      if (PyArray_DIM(a[o], d) != e && PyArray_DIM(a[o], d) != 1) return refuse();
    if (marked[d]) {
      reduced *= e;
      if (keepdim) dims[m++] = 1;
    } else
      dims[m++] = e;
    if (e == 1) continue;
    if (marked[d]) {
      j.red[j.nr] = e;
      for (int o = 0; o < j.nin; o++) j.rs[o][j.nr] = PyArray_DIM(a[o], d) == 1 ? 0 : PyArray_STRIDE(a[o], d);
      j.nr++;
    } else {
      j.kept[j.nk] = e;
      for (int o = 0; o < j.nin; o++) j.ks[o][j.nk] = PyArray_DIM(a[o], d) == 1 ? 0 : PyArray_STRIDE(a[o], d);
      j.nk++;
    }
  }
  (void)range;
  j.count = (double)reduced;
  if (reduced == 0 && (I->reducer == '>' || I->reducer == '<' || I->nnum) && I->out != 'b') return refuse();
  PyArray_Descr *descr = out_code == common ? PyArray_DESCR(x) : descr_of(out_code);
  if (out_code == common) Py_INCREF(descr);
  PyArrayObject *out = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr, m, dims, NULL, NULL, 0, NULL);
  if (!out) return NULL;
  j.out = PyArray_BYTES(out);
  j.outputs = PyArray_SIZE(out);
  if (!j.outputs) return (PyObject *)out;
  if (!total) {
    Acc a0[64];
    for (int i = 0; i < 64; i++) a0[i] = start_acc(&j);
    for (long b = 0; b < j.outputs; b += 64) store_acc(&j, a0, b, j.outputs - b < 64 ? j.outputs - b : 64);
    return (PyObject *)out;
  }
  /* kept dims stay in the order of the result; only neighbours are joined */
  {
    int w = 0;
    for (int d = 0; d < j.nk; d++) {
      int join = w > 0;
      for (int o = 0; o < j.nin && join; o++) join = j.ks[o][w - 1] == j.ks[o][d] * j.kept[d];
      if (join) {
        j.kept[w - 1] *= j.kept[d];
        for (int o = 0; o < j.nin; o++) j.ks[o][w - 1] = j.ks[o][d];
      } else {
        j.kept[w] = j.kept[d];
        for (int o = 0; o < j.nin; o++) j.ks[o][w] = j.ks[o][d];
        w++;
      }
    }
    j.nk = w;
  }
  j.nr = settle(j.nr, j.red, j.rs, j.nin);
  const long near_kept = j.nk ? labs(j.ks[0][j.nk - 1]) : 0, near_red = j.nr ? labs(j.rs[0][j.nr - 1]) : 0;
  const int packed = j.nin == 1 && j.nr == 1 && j.nk == 1 && (j.t[0] == BF16 || j.t[0] == F16) && j.rs[0][0] == 2;
  const int brief = j.nk && j.nr && j.red[j.nr - 1] < (packed ? 8 : 24) && j.kept[j.nk - 1] >= 16; /* rather many side by side */
  if (brief || (j.nk && j.nr && near_kept && near_kept < near_red && j.kept[j.nk - 1] >= 4)) {
    j.width = j.kept[j.nk - 1];
    j.outer = j.outputs / j.width;
    j.rows = reduced;
    j.block = j.width < 4096 ? j.width : 4096;
    if (j.width >= 2048 && j.width <= 4096 && j.outer == 1) j.block = 1024;
    j.blocks = (j.width + j.block - 1) / j.block;
    j.group = j.rows;
    if (j.outer * j.blocks < 32 && total > 2 * GRAIN) {
      j.group = (GRAIN + j.block - 1) / j.block;
      if (j.group < (j.rows + 31) / 32) j.group = (j.rows + 31) / 32;
    }
    j.groups = (j.rows + j.group - 1) / j.group;
    int64_t small[512];
    const size_t cells = (size_t)j.outer * j.groups * j.width;
    j.columns = cells <= 512 ? small : malloc(cells * 8);
    if (!j.columns) {
      Py_DECREF(out);
      return PyErr_NoMemory();
    }
    if (total > 4096) {
      Py_BEGIN_ALLOW_THREADS run_reduction(&j);
      Py_END_ALLOW_THREADS
    } else
      run_reduction(&j);
    if (j.groups > 1) {
      Py_BEGIN_ALLOW_THREADS parallel(fold_task, &j, j.outer * ((j.width + FOLDED - 1) / FOLDED));
      Py_END_ALLOW_THREADS
    }
    if (j.columns != small) free(j.columns);
    return (PyObject *)out;
  }
  j.n = j.nr ? j.red[j.nr - 1] : 1;
  j.runs = reduced / j.n;
  j.seg = j.n > 2 * GRAIN ? GRAIN : j.n;
  j.segs = (j.n + j.seg - 1) / j.seg;
  j.group = j.runs * j.segs;
  j.groups = 1;
  j.chunk = 1;
  j.halves = (j.t[0] == BF16 || j.t[0] == F16) && j.nin == 1 && j.nr == 1 && j.nk == 1 && j.n <= 1024 && j.rs[0][0] == 2 &&
             j.ks[0][0] == 2 * j.n;
  if (reduced > 2 * GRAIN && j.outputs < 64) {
    j.group = j.seg >= GRAIN ? 1 : GRAIN / j.seg;
    j.groups = (j.runs * j.segs + j.group - 1) / j.group;
  } else if (reduced < GRAIN) {
    j.chunk = GRAIN / reduced;
    if (j.chunk > j.outputs) j.chunk = j.outputs;
  }
  Acc small[64];
  if (j.groups > 1) {
    j.partial = j.outputs * j.groups <= 64 ? small : malloc(sizeof(Acc) * j.outputs * j.groups);
    if (!j.partial) {
      Py_DECREF(out);
      return PyErr_NoMemory();
    }
  }
  if (total > 4096) {
    Py_BEGIN_ALLOW_THREADS run_reduction(&j);
    Py_END_ALLOW_THREADS
  } else
    run_reduction(&j);
  if (j.groups > 1) {
    for (long k = 0; k < j.outputs; k++) {
      Acc s = j.partial[k * j.groups];
      for (long g = 1; g < j.groups; g++) join(&j, &s, &j.partial[k * j.groups + g]);
      store_acc(&j, &s, k, 1);
    }
    if (j.partial != small) free(j.partial);
  }
  return (PyObject *)out;
}

static PyObject *reduce(const Info *I, const Entry *E, Call *c) {
  for (int s = 0; s < I->nin; s++)
    if (!c->a[s]) return refuse();
  char marked[MAXD + 1];
  const int nd = PyArray_NDIM(c->a[0]);
  if (nd > MAXD || !read_dims(c->dims, nd, marked)) return refuse();
  const int code = result_code(I, c->common);
  if (c->common == U8 && code == BOOL) return refuse(); /* any and all give uint8 */
  if (c->dtype) {
    PyArray_Descr *d = (PyArray_Descr *)c->dtype;
    if (code == BF16 ? d->type_num != bfloat16_type : d->type_num != npy_of[code] || d->byteorder == '>') return refuse();
  }
  return reduce_arrays(I, E, c->a, marked, c->keepdim, c->common, type_of(c->common), code, c->num);
}
