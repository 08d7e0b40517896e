/* Recurrent cells and attention, for one type T of elements; included once for each. */
#ifndef RETROGRAD_CELLS
#define RETROGRAD_CELLS
#define QUERIES 64L /* rows of scores that are computed at once: with some hundred keys they stay in cache */
typedef struct {
  char *p;
  long n[4], s[4];
} Heads;
typedef struct {
  Heads h[10];
  int causal, back, failed;
  double scale;
  void *gemm;
  size_t space;
} Attention;
static int causal_end(long first, long rows, long keys, int causal) {
  const long end = first + rows;
  return (int)(causal && end < keys ? end : keys);
}
#endif

/* C = A B + beta C by rows; lda and so on are the distances of rows */
static void NAME(product)(void *f, const char *ta, const char *tb, long rows, long columns, long inner, T alpha, const T *a,
                          long lda, const T *b, long ldb, T beta, T *c, long ldc) {
  int m = (int)columns, n = (int)rows, k = (int)inner, la = (int)lda, lb = (int)ldb, lc = (int)ldc;
  ((Gemm)f)((char *)tb, (char *)ta, &m, &n, &k, &alpha, b, &lb, a, &la, &beta, c, &lc);
}

/* ---- LSTM: gates in the order input, forget, cell, output */
INLINE T NAME(sigmoid)(T x) { return 1 / (1 + NAME(exp)(-x)); }
CLONES static void NAME(lstm_gates)(long batch, long n, T *restrict gates, const T *restrict before, T *restrict c,
                                    T *restrict h) {
  for (long b = 0; b < batch; b++, gates += 4 * n, before += n, c += n, h += n) {
    T *restrict i = gates, *restrict f = gates + n, *restrict g = gates + 2 * n, *restrict o = gates + 3 * n;
    for (long j = 0; j < n; j++) {
      i[j] = NAME(sigmoid)(i[j]);
      f[j] = NAME(sigmoid)(f[j]);
      g[j] = NAME(tanh)(g[j]);
      o[j] = NAME(sigmoid)(o[j]);
      c[j] = f[j] * before[j] + i[j] * g[j];
      h[j] = o[j] * NAME(tanh)(c[j]);
    }
  }
}
/* The weight, packed for all steps; NULL where the BLAS is better: few steps, many rows, or products that it cuts up between
   threads. */
#define FEW_ROWS 64
static T *NAME(packed_weight)(const Narrow *way, long steps, long rows, long k, long n, const T *weight) {
  if (steps < 4 || rows > FEW_ROWS || (thread_count() > 1 && rows * k * n > 4194304)) return NULL;
  T *packed = borrow(packed_bytes(way, k, n));
  if (packed) way->pack(weight, n, 1, k, n, packed);
  return packed;
}
static void NAME(lstm_forward)(long steps, long batch, long n, T *gates, const T *h0, const T *c0, const T *weight, T *hs,
                               T *cs, void *gemm) {
  const T *h = h0, *c = c0;
  const Narrow *way = narrow_for(sizeof(T));
  T *packed = NAME(packed_weight)(way, steps, batch, n, 4 * n, weight);
  for (long t = 0; t < steps; t++, gates += batch * 4 * n, hs += batch * n, cs += batch * n) {
    if (packed)
      multiply_panels(way, h, n, 1, batch, n, packed, gates, 4 * n, 4 * n, 1);
    else
      NAME(product)(gemm, "N", "N", batch, 4 * n, n, 1, h, n, weight, 4 * n, 1, gates, 4 * n);
    NAME(lstm_gates)(batch, n, gates, c, cs, hs);
    h = hs;
    c = cs;
  }
  give_back(packed);
}
CLONES static void NAME(lstm_slopes)(long batch, long n, const T *restrict gates, const T *restrict before, const T *restrict c,
                                     const T *restrict dh, T *restrict dc, T *restrict slopes) {
  for (long b = 0; b < batch; b++, gates += 4 * n, before += n, c += n, dh += n, dc += n, slopes += 4 * n) {
    const T *i = gates, *f = gates + n, *g = gates + 2 * n, *o = gates + 3 * n;
    for (long j = 0; j < n; j++) {
      const T y = NAME(tanh)(c[j]), d = dc[j] + dh[j] * o[j] * (1 - y * y);
      slopes[j] = d * g[j] * i[j] * (1 - i[j]);
      slopes[n + j] = d * before[j] * f[j] * (1 - f[j]);
      slopes[2 * n + j] = d * i[j] * (1 - g[j] * g[j]);
      slopes[3 * n + j] = dh[j] * y * o[j] * (1 - o[j]);
      dc[j] = d * f[j];
    }
  }
}
static void NAME(lstm_backward)(long steps, long batch, long n, const T *gates, const T *c0, const T *cs, const T *weight,
                                const T *grad, T *dh, T *dc, T *slopes, void *gemm) {
  const long state = batch * n;
  const Narrow *way = narrow_for(sizeof(T));
  T *packed = NAME(packed_weight)(way, steps, batch, 4 * n, n, weight);
  for (long t = steps - 1; t >= 0; t--) {
    const T *g = grad + t * state;
    for (long j = 0; j < state; j++) dh[j] += g[j];
    NAME(lstm_slopes)(batch, n, gates + t * 4 * state, t ? cs + (t - 1) * state : c0, cs + t * state, dh, dc,
                      slopes + t * 4 * state);
    if (packed)
      multiply_panels(way, slopes + t * 4 * state, 4 * n, 1, batch, 4 * n, packed, dh, n, n, 0);
    else
      NAME(product)(gemm, "N", "N", batch, n, 4 * n, 1, slopes + t * 4 * state, 4 * n, weight, n, 0, dh, n);
  }
  give_back(packed);
}

/* ---- attention */
static T *NAME(head)(const Heads *h, long b, long k) { return (T *)h->p + b * h->s[0] + k * h->s[1]; }
/* Scores of some rows: the mask added, later keys left out; `end` keys are looked at. */
static void NAME(masked)(T *score, long rows, long end, long first, int causal, const Heads *mask, long b, long k) {
  if (mask->p) {
    const T *m = NAME(head)(mask, b, k);
    for (long r = 0; r < rows; r++)
      for (long j = 0; j < end; j++) score[r * end + j] += m[(first + r) * mask->s[2] + j * mask->s[3]];
  }
  if (causal)
    for (long r = 0; r < rows; r++)
      for (long j = first + r + 1; j < end; j++) score[r * end + j] = -(T)__builtin_inf();
}
CLONES static T NAME(largest)(const T *x, long n) {
  T most[16];
  long j = 0;
  for (int i = 0; i < 16; i++) most[i] = -(T)__builtin_inf();
  for (; j + 16 <= n; j += 16)
    for (int i = 0; i < 16; i++) most[i] = x[j + i] > most[i] ? x[j + i] : most[i];
  for (; j < n; j++) most[0] = x[j] > most[0] ? x[j] : most[0];
  for (int i = 1; i < 16; i++) most[0] = most[i] > most[0] ? most[i] : most[0];
  return most[0];
}
CLONES static T NAME(powers)(T *restrict x, long n, T shift) { /* x = exp(x - shift); their sum */
  T total[16] = {0};
  long j = 0;
  for (; j + 16 <= n; j += 16)
    for (int i = 0; i < 16; i++) {
      const T v = NAME(exp)(x[j + i] - shift);
      x[j + i] = v;
      total[i] += v;
    }
  for (; j < n; j++) {
    const T v = NAME(exp)(x[j] - shift);
    x[j] = v;
    total[0] += v;
  }
  for (int i = 8; i > 0; i /= 2)
    for (int k = 0; k < i; k++) total[k] += total[k + i];
  return total[0];
}
CLONES static void NAME(scaled)(T *restrict x, long n, T factor) {
  for (long j = 0; j < n; j++) x[j] *= factor;
}
static void NAME(attention_forward)(const Attention *a, long from, long to, T *score) {
  const Heads *h = a->h;
  const int causal = a->causal;
  const T scale = (T)a->scale;
  void *gemm = a->gemm;
  const long queries = h[0].n[2], keys = h[1].n[2], width = h[0].n[3], depth = h[2].n[3];
  for (long head = from; head < to; head++) {
    const long b = head / h[0].n[1], k = head % h[0].n[1];
    const T *q = NAME(head)(&h[0], b, k), *key = NAME(head)(&h[1], b, k), *v = NAME(head)(&h[2], b, k);
    T *out = NAME(head)(&h[3], b, k), *lse = NAME(head)(&h[4], b, k);
    for (long first = 0; first < queries; first += QUERIES) {
      const long rows = queries - first < QUERIES ? queries - first : QUERIES, end = causal_end(first, rows, keys, causal);
      NAME(product)(gemm, "N", "T", rows, end, width, scale, q + first * h[0].s[2], h[0].s[2], key, h[1].s[2], 0, score, end);
      NAME(masked)(score, rows, end, first, causal, &h[9], b, k);
      for (long r = 0; r < rows; r++) {
        T *row = score + r * end;
        const T most = NAME(largest)(row, end);
        const T total = NAME(powers)(row, end, most > -(T)__builtin_inf() ? most : 0);
        NAME(scaled)(row, end, total == 0 ? 1 : 1 / total);
        lse[(first + r) * h[4].s[2]] = most + (T)log((double)total);
      }
      NAME(product)(gemm, "N", "N", rows, depth, end, 1, score, end, v, h[2].s[2], 0, out + first * h[3].s[2], h[3].s[2]);
    }
  }
}
CLONES static void NAME(score_slopes)(T *restrict slope, const T *restrict weight, long n, T mean, T scale) {
  for (long j = 0; j < n; j++) slope[j] = weight[j] * (slope[j] - mean) * scale;
}
static void NAME(attention_backward)(const Attention *a, long from, long to, T *space) {
  const Heads *h = a->h;
  const int causal = a->causal;
  const T scale = (T)a->scale;
  void *gemm = a->gemm;
  const long queries = h[0].n[2], keys = h[1].n[2], width = h[0].n[3], depth = h[2].n[3];
  T *weight = space, *slope = space + QUERIES * keys;
  for (long head = from; head < to; head++) {
    const long b = head / h[0].n[1], k = head % h[0].n[1];
    const T *q = NAME(head)(&h[0], b, k), *key = NAME(head)(&h[1], b, k), *v = NAME(head)(&h[2], b, k),
            *out = NAME(head)(&h[3], b, k);
    const T *lse = NAME(head)(&h[4], b, k), *grad = NAME(head)(&h[5], b, k);
    T *dq = NAME(head)(&h[6], b, k), *dk = NAME(head)(&h[7], b, k), *dv = NAME(head)(&h[8], b, k);
    for (long first = 0; first < queries; first += QUERIES) {
      const long rows = queries - first < QUERIES ? queries - first : QUERIES, end = causal_end(first, rows, keys, causal);
      const T *qs = q + first * h[0].s[2], *gs = grad + first * h[5].s[2], *os = out + first * h[3].s[2];
      NAME(product)(gemm, "N", "T", rows, end, width, scale, qs, h[0].s[2], key, h[1].s[2], 0, weight, end);
      NAME(masked)(weight, rows, end, first, causal, &h[9], b, k);
      NAME(product)(gemm, "N", "T", rows, end, depth, 1, gs, h[5].s[2], v, h[2].s[2], 0, slope, end);
      for (long r = 0; r < rows; r++) {
        const T l = lse[(first + r) * h[4].s[2]];
        NAME(powers)(weight + r * end, end, l > -(T)__builtin_inf() ? l : 0);
      }
      NAME(product)(gemm, "T", "N", end, depth, rows, 1, weight, end, gs, h[5].s[2], 1, dv, h[8].s[2]);
      for (long r = 0; r < rows; r++) {
        T mean = 0;
        for (long j = 0; j < depth; j++) mean += gs[r * h[5].s[2] + j] * os[r * h[3].s[2] + j];
        NAME(score_slopes)(slope + r * end, weight + r * end, end, mean, scale);
      }
      NAME(product)(gemm, "N", "N", rows, width, end, 1, slope, end, key, h[1].s[2], 0, dq + first * h[6].s[2], h[6].s[2]);
      NAME(product)(gemm, "T", "N", end, width, rows, 1, slope, end, qs, h[0].s[2], 1, dk, h[7].s[2]);
    }
  }
}
static void NAME(attention_part)(void *argument, long first, long last) { /* some (batch, head) pairs */
  Attention *a = argument;
  T *space = borrow(a->space);
  if (!space) {
    a->failed = 1;
    return;
  }
  if (a->back)
    NAME(attention_backward)(a, first, last, space);
  else
    NAME(attention_forward)(a, first, last, space);
  give_back(space);
}
