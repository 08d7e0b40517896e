/* Windows of images, for one type T of elements; included once for each. Images have three dimensions, of which the first
   ones may be 1. */
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define N(name) JOIN(name##_, T)

/* ---- the windows of one image as columns: a row for each channel and place of the kernel, `gap` elements between rows */
CLONES static void N(unfold)(const Window *g, const T *restrict x, long channels, T *restrict to, long gap) {
  const long plane = g->size[0] * g->size[1] * g->size[2], width = g->out[2];
  for (long c = 0; c < channels; c++, x += plane)
    for (long k0 = 0; k0 < g->kernel[0]; k0++)
      for (long k1 = 0; k1 < g->kernel[1]; k1++)
        for (long k2 = 0; k2 < g->kernel[2]; k2++) {
          long first, last;
          range_of(g, 2, k2, &first, &last);
          const long shift = k2 * g->dilation[2] - g->padding[2], s = g->stride[2];
          for (long o0 = 0; o0 < g->out[0]; o0++) {
            const long i0 = o0 * g->stride[0] - g->padding[0] + k0 * g->dilation[0];
            for (long o1 = 0; o1 < g->out[1]; o1++, to += width) {
              const long i1 = o1 * g->stride[1] - g->padding[1] + k1 * g->dilation[1];
              if (i0 < 0 || i0 >= g->size[0] || i1 < 0 || i1 >= g->size[1] || first >= last) {
                memset(to, 0, (size_t)width * sizeof(T));
                continue;
              }
              const T *row = x + (i0 * g->size[1] + i1) * g->size[2] + shift;
              for (long o = 0; o < first; o++) to[o] = 0;
              if (s == 1)
                memcpy(to + first, row + first, (size_t)(last - first) * sizeof(T));
              else if (s == 2)
                for (long o = first; o < last; o++) to[o] = row[o * 2];
              else
                for (long o = first; o < last; o++) to[o] = row[o * s];
              for (long o = last; o < width; o++) to[o] = 0;
            }
          }
          to += gap;
        }
}
/* the columns added up where they came from */
CLONES static void N(fold)(const Window *g, const T *restrict from, long channels, T *restrict x, long gap) {
  const long plane = g->size[0] * g->size[1] * g->size[2], width = g->out[2];
  for (long c = 0; c < channels; c++, x += plane)
    for (long k0 = 0; k0 < g->kernel[0]; k0++)
      for (long k1 = 0; k1 < g->kernel[1]; k1++)
        for (long k2 = 0; k2 < g->kernel[2]; k2++) {
          long first, last;
          range_of(g, 2, k2, &first, &last);
          const long shift = k2 * g->dilation[2] - g->padding[2], s = g->stride[2];
          for (long o0 = 0; o0 < g->out[0]; o0++) {
            const long i0 = o0 * g->stride[0] - g->padding[0] + k0 * g->dilation[0];
            for (long o1 = 0; o1 < g->out[1]; o1++, from += width) {
              const long i1 = o1 * g->stride[1] - g->padding[1] + k1 * g->dilation[1];
              if (i0 < 0 || i0 >= g->size[0] || i1 < 0 || i1 >= g->size[1]) continue;
              T *row = x + (i0 * g->size[1] + i1) * g->size[2] + shift;
              if (s == 1)
                for (long o = first; o < last; o++) row[o] += from[o];
              else
                for (long o = first; o < last; o++) row[o * s] += from[o];
            }
          }
          from += gap;
        }
}

/* ---- one channel at a time, without columns: what depthwise convolution needs */
#define EACH_ROW(BODY)                                                                                                        \
  for (long o0 = 0; o0 < g->out[0]; o0++)                                                                                     \
    for (long o1 = 0; o1 < g->out[1]; o1++)                                                                                   \
      for (long k0 = 0; k0 < g->kernel[0]; k0++) {                                                                            \
        const long i0 = o0 * g->stride[0] - g->padding[0] + k0 * g->dilation[0];                                              \
        if (i0 < 0 || i0 >= g->size[0]) continue;                                                                             \
        for (long k1 = 0; k1 < g->kernel[1]; k1++) {                                                                          \
          const long i1 = o1 * g->stride[1] - g->padding[1] + k1 * g->dilation[1];                                            \
          if (i1 < 0 || i1 >= g->size[1]) continue;                                                                           \
          const long at = (k0 * g->kernel[1] + k1) * g->kernel[2], row = (i0 * g->size[1] + i1) * g->size[2] - g->padding[2], \
                     s = g->stride[2];                                                                                        \
          const long other = (o0 * g->out[1] + o1) * g->out[2];                                                               \
          (void)other;                                                                                                        \
          for (long k2 = 0; k2 < g->kernel[2]; k2++) {                                                                        \
            const long first = g->first[k2], last = g->last[k2], shift = row + k2 * g->dilation[2];                           \
            BODY                                                                                                              \
          }                                                                                                                   \
        }                                                                                                                     \
      }
CLONES static void N(one_correlate)(const Window *g, const T *restrict x, const T *restrict w, T *restrict y) {
  EACH_ROW(const T f = w[at + k2]; const T *p = x + shift; T *q = y + other;
           if (s == 1) for (long o = first; o < last; o++) q[o] += f * p[o];
           else if (s == 2) for (long o = first; o < last; o++) q[o] += f * p[o * 2];
           else for (long o = first; o < last; o++) q[o] += f * p[o * s];)
}
CLONES static void N(one_spread)(const Window *g, T *restrict x, const T *restrict w, const T *restrict y) {
  EACH_ROW(const T f = w[at + k2]; T *p = x + shift; const T *q = y + other;
           if (s == 1) for (long o = first; o < last; o++) p[o] += f * q[o];
           else for (long o = first; o < last; o++) p[o * s] += f * q[o];)
}
CLONES static void N(one_match)(const Window *g, const T *restrict x, T *restrict w, const T *restrict y) {
  EACH_ROW(const T *p = x + shift; const T *q = y + other; T total[8] = {0}; long o = first;
           if (s == 1) for (; o + 8 <= last; o += 8) for (int j = 0; j < 8; j++) total[j] += p[o + j] * q[o + j];
           else if (s == 2) for (; o + 8 <= last; o += 8) for (int j = 0; j < 8; j++) total[j] += p[2 * o + 2 * j] * q[o + j];
           for (; o < last; o++) total[0] += p[o * s] * q[o];
           w[at + k2] += ((total[0] + total[1]) + (total[2] + total[3])) + ((total[4] + total[5]) + (total[6] + total[7]));)
}
#undef EACH_ROW
/* The same with stride 1 in two dimensions, from a plane with its padding around it: rows in blocks of LANES outputs, all
   places of the kernel before the next block. The space has room for such a plane and for the outputs in whole blocks. */
#define LANES 16
static void N(with_padding)(const Window *g, const T *x, T *to, long width, long top, long left, long rows) {
  memset(to, 0, (size_t)(width * rows) * sizeof(T));
  for (long i = 0; i < g->size[1]; i++)
    memcpy(to + (i + top) * width + left, x + i * g->size[2], (size_t)g->size[2] * sizeof(T));
}
CLONES static void N(flat_correlate)(const T *restrict x, long width, const T *restrict w, long k1, long k2, long d1, long d2,
                                     T *restrict y, long rows, long columns) {
  for (long o = 0; o < rows; o++)
    for (long b = 0; b < columns; b += LANES) {
      T total[LANES] = {0};
      const T *f = w;
      for (long i = 0; i < k1; i++)
        for (long j = 0; j < k2; j++) {
          const T v = *f++;
          const T *p = x + (o + i * d1) * width + b + j * d2;
          for (int l = 0; l < LANES; l++) total[l] += v * p[l];
        }
      const long m = columns - b < LANES ? columns - b : LANES;
      memcpy(y + o * columns + b, total, (size_t)m * sizeof(T));
    }
}
CLONES static void N(flat_match)(const T *restrict x, long width, T *restrict w, long k1, long k2, long d1, long d2,
                                 const T *restrict y, long rows, long whole) {
  for (long i = 0; i < k1; i++)
    for (long j = 0; j < k2; j++) {
      T total[LANES] = {0};
      for (long o = 0; o < rows; o++)
        for (long b = 0; b < whole; b += LANES) {
          const T *p = x + (o + i * d1) * width + b + j * d2, *q = y + o * whole + b;
          for (int l = 0; l < LANES; l++) total[l] += p[l] * q[l];
        }
      for (int l = LANES / 2; l > 0; l /= 2)
        for (int m = 0; m < l; m++) total[m] += total[m + l];
      w[i * k2 + j] += total[0];
    }
}
static int N(one_flat)(const Window *g, char what, T *x, T *w, T *y, T *space) {
  if (g->size[0] != 1 || g->kernel[0] != 1 || g->padding[0] || g->stride[1] != 1 || g->stride[2] != 1) return 0;
  const long k1 = g->kernel[1], k2 = g->kernel[2], d1 = g->dilation[1], d2 = g->dilation[2], e1 = d1 * (k1 - 1),
             e2 = d2 * (k2 - 1);
  if (g->out[1] != g->size[1] + 2 * g->padding[1] - e1 || g->out[2] != g->size[2] + 2 * g->padding[2] - e2) return 0;
  const long rows = g->out[1], columns = g->out[2], whole = (columns + LANES - 1) / LANES * LANES;
  if (what == 's') { /* the kernel turned round, over outputs with what is missing around them */
    const long top = e1 - g->padding[1], left = e2 - g->padding[2], high = g->size[1], wide = g->size[2];
    if (top < 0 || left < 0 || k1 * k2 > MOST_TAPS) return 0;
    const long width = (wide + LANES - 1) / LANES * LANES + e2;
    T turned[MOST_TAPS];
    Window back = *g;
    back.size[1] = rows;
    back.size[2] = columns;
    for (long i = 0; i < k1 * k2; i++) turned[i] = w[k1 * k2 - 1 - i];
    N(with_padding)(&back, y, space, width, top, left, high + e1);
    T *made = space + width * (high + e1);
    N(flat_correlate)(space, width, turned, k1, k2, d1, d2, made, high, wide);
    for (long i = 0; i < high * wide; i++) x[i] += made[i];
    return 1;
  }
  const long width = whole + e2;
  N(with_padding)(g, x, space, width, g->padding[1], g->padding[2], rows + e1);
  if (what == 'c') {
    N(flat_correlate)(space, width, w, k1, k2, d1, d2, y, rows, columns);
    return 1;
  }
  T *blocks = space + width * (rows + e1);
  memset(blocks, 0, (size_t)(rows * whole) * sizeof(T));
  for (long o = 0; o < rows; o++) memcpy(blocks + o * whole, y + o * columns, (size_t)columns * sizeof(T));
  N(flat_match)(space, width, w, k1, k2, d1, d2, blocks, rows, whole);
  return 1;
}

/* C = A B + beta C, all by rows */
static void N(gemm)(void *f, const char *ta, const char *tb, int rows, int columns, int inner, const T *a, int lda, const T *b,
                    int ldb, T beta, T *c) {
  const T one = 1;
  ((Gemm)f)((char *)tb, (char *)ta, &columns, &rows, &inner, &one, b, &ldb, a, &lda, &beta, c, &columns);
}

/* ---- the three products: see ops/nn/conv.py */
static void N(convolve_images)(const Window *g, char what, long n, long images, long j, T *x, T *w, T *y, T *cols, void *gemm) {
  const long ci = g->channels / g->groups, co = g->outputs / g->groups, taps = g->kernel[0] * g->kernel[1] * g->kernel[2];
  const long in = g->size[0] * g->size[1] * g->size[2], out = g->out[0] * g->out[1] * g->out[2], k = ci * taps;
  const int direct = plain_window(g), single = ci == 1 && co <= 4;
  for (long end = n + images; n < end; n++) {
    T *xs = x + (n * g->channels + j * ci) * in, *ws = w + j * co * k, *ys = y + (n * g->outputs + j * co) * out;
    if (single) {
      for (long m = 0; m < co; m++)
        if (!N(one_flat)(g, what, xs, ws + m * taps, ys + m * out, cols)) switch (what) {
          case 'c': N(one_correlate)(g, xs, ws + m * taps, ys + m * out); break;
          case 's': N(one_spread)(g, xs, ws + m * taps, ys + m * out); break;
          default: N(one_match)(g, xs, ws + m * taps, ys + m * out);
          }
      continue;
    }
    T *block = direct ? xs : cols;
    switch (what) {
    case 'c':
      if (!direct) N(unfold)(g, xs, ci, cols, 0);
      N(gemm)(gemm, "N", "N", (int)co, (int)out, (int)k, ws, (int)k, block, (int)out, 0, ys);
      break;
    case 's':
      N(gemm)(gemm, "T", "N", (int)k, (int)out, (int)co, ws, (int)k, ys, (int)out, 0, block);
      if (!direct) N(fold)(g, cols, ci, xs, 0);
      break;
    default:
      if (!direct) N(unfold)(g, xs, ci, cols, 0);
      N(gemm)(gemm, "N", "T", (int)co, (int)k, (int)out, ys, (int)out, block, (int)out, 1, ws);
    }
  }
}
/* One piece of a convolution: some images of one group. The gradient of the weight is gathered share by share, each into
   weights of its own, which are then added up in order. */
static void N(convolve_part)(void *a, long first, long last) {
  Convolution *c = a;
  const Window *g = &c->g;
  T *cols = c->space ? borrow((size_t)c->space * sizeof(T)) : NULL;
  if (c->space && !cols) {
    c->failed = 1;
    return;
  }
  for (long t = first; t < last; t++) {
    const long share = t / g->groups, j = t % g->groups;
    T *w = c->w;
    if (c->what == 'm' && share) w = (T *)c->shares + (share - 1) * c->weights;
    const long end = (share + 1) * c->images < g->batch ? (share + 1) * c->images : g->batch;
    N(convolve_images)(g, c->what, share * c->images, end - share * c->images, j, c->x, w, c->y, cols, c->gemm);
  }
  give_back(cols);
}
static void N(add_shares)(void *a, long first, long last) {
  const Convolution *c = a;
  T *w = c->w;
  for (long s = 1; s < c->count; s++) {
    const T *part = (const T *)c->shares + (s - 1) * c->weights;
    for (long i = first; i < last; i++) w[i] += part[i];
  }
}

/* the sum of each channel over all images, from sums of at most 1024 elements */
CLONES static double N(sum_of)(const T *restrict x, long n) {
  T total[64] = {0};
  long i = 0;
  for (; i + 64 <= n; i += 64)
    for (int l = 0; l < 64; l++) total[l] += x[i + l];
  for (; i < n; i++) total[0] += x[i];
  for (int l = 32; l > 0; l /= 2)
    for (int m = 0; m < l; m++) total[m] += total[m + l];
  return (double)total[0];
}
static void N(channel_part)(void *a, long first, long last) {
  const Channels *j = a;
  for (long c = first; c < last; c++) {
    double total = 0;
    for (long n = 0; n < j->batch; n++) {
      const T *x = (const T *)j->x + (n * j->count + c) * j->each;
      for (long i = 0; i < j->each; i += 1024) total += N(sum_of)(x + i, j->each - i < 1024 ? j->each - i : 1024);
    }
    ((T *)j->y)[c] = (T)total;
  }
}

/* ---- pooling: for each dimension, where the window of each output begins and ends */
#define BOX                                                                                                            \
  const long b0 = p->start[0][o0], e0 = p->end[0][o0], b1 = p->start[1][o1], e1 = p->end[1][o1], b2 = p->start[2][o2], \
             e2 = p->end[2][o2];
#define EACH_OUTPUT                         \
  for (long o0 = 0; o0 < p->out[0]; o0++)   \
    for (long o1 = 0; o1 < p->out[1]; o1++) \
      for (long o2 = 0; o2 < p->out[2]; o2++)
/* Outputs first .. last of a row, whose windows lie `s` apart and are complete: one place of the windows after the other. */
#define LARGER(S)                                       \
  for (long o = 0; o < n; o++) {                        \
    const T v = x[o * S];                               \
    const int better = v > top[o] || v != v;            \
    best[o] = better ? (int32_t)(at + o * S) : best[o]; \
    top[o] = better ? v : top[o];                       \
  }
CLONES static void N(pool_larger)(const T *restrict x, long n, long s, long at, T *restrict top, int32_t *restrict best) {
  if (s == 1) LARGER(1) else if (s == 2) LARGER(2) else if (s == 3) LARGER(3) else LARGER(s)
}
#define ALONG 256
static void N(pool_max)(const Boxes *p, long planes, const T *restrict x, T *restrict y, int64_t *restrict index) {
  const long plane = p->size[0] * p->size[1] * p->size[2], width = p->out[2];
  const int64_t *start = p->start[2], *end = p->end[2];
  long lo = 0, hi = 0, s = 1;
  for (long o = 0; o < width;) { /* the longest stretch of equal windows */
    const long wide = end[o] - start[o], apart = o + 1 < width ? start[o + 1] - start[o] : 1;
    long q = o + 1;
    while (q < width && end[q] - start[q] == wide && start[q] - start[q - 1] == apart && apart > 0) q++;
    if (q - o > hi - lo) {
      lo = o;
      hi = q;
      s = apart;
    }
    o = q;
  }
  if (hi - lo < 8 || plane > INT32_MAX) hi = lo;
  const long k = hi > lo ? end[lo] - start[lo] : 0;
  T top[ALONG];
  int32_t best[ALONG];
  for (long c = 0; c < planes; c++, x += plane)
    for (long o0 = 0; o0 < p->out[0]; o0++)
      for (long o1 = 0; o1 < p->out[1]; o1++, y += width, index += width) {
        const long b0 = p->start[0][o0], e0 = p->end[0][o0], b1 = p->start[1][o1], e1 = p->end[1][o1],
                   first = (b0 * p->size[1] + b1) * p->size[2];
        for (long o = lo, n; o < hi; o += n) {
          n = hi - o < ALONG ? hi - o : ALONG;
          for (long i = 0; i < n; i++) {
            top[i] = -(T)__builtin_inf();
            best[i] = (int32_t)(first + start[o] + i * s);
          } /* no place may be inside */
          for (long i0 = b0; i0 < e0; i0 += p->step[0])
            for (long i1 = b1; i1 < e1; i1 += p->step[1])
              for (long i2 = 0; i2 < k; i2 += p->step[2]) {
                const long at = (i0 * p->size[1] + i1) * p->size[2] + start[o] + i2;
                N(pool_larger)(x + at, n, s, at, top, best);
              }
          memcpy(y + o, top, (size_t)n * sizeof(T));
          for (long i = 0; i < n; i++) index[o + i] = best[i];
        }
        for (long o2 = lo ? 0 : hi; o2 < width; o2 = o2 + 1 == lo ? hi : o2 + 1) {
          const long b2 = start[o2], e2 = end[o2];
          long place = first + b2;
          T most = -(T)__builtin_inf();
          for (long i0 = b0; i0 < e0; i0 += p->step[0])
            for (long i1 = b1; i1 < e1; i1 += p->step[1]) {
              const long row = (i0 * p->size[1] + i1) * p->size[2];
              for (long i2 = b2; i2 < e2; i2 += p->step[2]) {
                const T v = x[row + i2];
                const int better = v > most || v != v;
                most = better ? v : most;
                place = better ? row + i2 : place;
              }
            }
          y[o2] = most;
          index[o2] = place;
        }
      }
}
CLONES static void N(pool_mean)(const Boxes *p, long planes, const T *restrict x, T *restrict y, const T *restrict divisor) {
  const long plane = p->size[0] * p->size[1] * p->size[2];
  for (long c = 0; c < planes; c++, x += plane) {
    long o = 0;
    EACH_OUTPUT {
      BOX T total = 0;
      for (long i0 = b0; i0 < e0; i0++)
        for (long i1 = b1; i1 < e1; i1++) {
          const T *row = x + (i0 * p->size[1] + i1) * p->size[2];
          for (long i2 = b2; i2 < e2; i2++) total += row[i2];
        }
      *y++ = total / divisor[o++];
    }
  }
}
CLONES static void N(pool_share)(const Boxes *p, long planes, T *restrict x, const T *restrict y, const T *restrict divisor) {
  const long plane = p->size[0] * p->size[1] * p->size[2];
  for (long c = 0; c < planes; c++, x += plane) {
    long o = 0;
    EACH_OUTPUT {
      BOX const T share = *y++ / divisor[o++];
      for (long i0 = b0; i0 < e0; i0++)
        for (long i1 = b1; i1 < e1; i1++) {
          T *row = x + (i0 * p->size[1] + i1) * p->size[2];
          for (long i2 = b2; i2 < e2; i2++) row[i2] += share;
        }
    }
  }
}
static void N(pool_part)(void *a, long first, long last) {
  const Pooling *j = a;
  const Boxes *p = &j->p;
  const long in = p->size[0] * p->size[1] * p->size[2], out = p->out[0] * p->out[1] * p->out[2];
  T *x = (T *)j->x + first * in, *y = (T *)j->y + first * out;
  switch (j->what) {
  case 'x': N(pool_max)(p, last - first, x, y, (int64_t *)j->third + first * out); break;
  case 'm': N(pool_mean)(p, last - first, x, y, j->third); break;
  default: N(pool_share)(p, last - first, x, y, j->third);
  }
}
/* The same for images whose channels are innermost: one place of the window after the other, for all channels. */
CLONES static void N(larger_last)(const T *restrict x, long n, int32_t at, T *restrict top, int32_t *restrict best) {
  for (long c = 0; c < n; c++) {
    const T v = x[c];
    const int better = v > top[c] || v != v;
    best[c] = better ? at : best[c];
    top[c] = better ? v : top[c];
  }
}
CLONES static void N(sum_last)(const T *restrict x, long n, T *restrict y) {
  for (long c = 0; c < n; c++) y[c] += x[c];
}
CLONES static void N(share_last)(T *restrict x, long n, const T *restrict y, T divisor) {
  for (long c = 0; c < n; c++) x[c] += y[c] / divisor;
}
CLONES static void N(divide_last)(T *restrict y, long n, T divisor) {
  for (long c = 0; c < n; c++) y[c] /= divisor;
}
static void N(last_part)(void *a, long first, long last) { /* rows of outputs of all images; images where shares overlap */
  const Pooling *j = a;
  const Boxes *p = &j->p;
  const long C = j->channels, in = p->size[0] * p->size[1] * p->size[2], out = p->out[0] * p->out[1] * p->out[2];
  const long rows = p->out[0] * p->out[1], width = p->out[2];
  if (j->what == 's') {
    first *= rows;
    last *= rows;
  }
  for (long r = first; r < last; r++) {
    const long n = r / rows, o0 = r % rows / p->out[1], o1 = r % p->out[1];
    T *x = (T *)j->x + n * in * C;
    for (long o2 = 0; o2 < width; o2++) {
      BOX const long o = (o0 * p->out[1] + o1) * width + o2;
      T *y = (T *)j->y + (n * out + o) * C;
      const T divisor = j->what == 'x' ? 0 : ((const T *)j->third)[o];
      for (long c = 0, m; c < C; c += m) {
        m = C - c < ALONG ? C - c : ALONG;
        int32_t best[ALONG];
        if (j->what != 's')
          for (long i = 0; i < m; i++) y[c + i] = j->what == 'x' ? -(T)__builtin_inf() : 0;
        for (long i = 0; i < m; i++) best[i] = (int32_t)((b0 * p->size[1] + b1) * p->size[2] + b2);
        for (long i0 = b0; i0 < e0; i0 += p->step[0])
          for (long i1 = b1; i1 < e1; i1 += p->step[1])
            for (long i2 = b2; i2 < e2; i2 += p->step[2]) {
              const long at = (i0 * p->size[1] + i1) * p->size[2] + i2;
              if (j->what == 'x')
                N(larger_last)(x + at * C + c, m, (int32_t)at, y + c, best);
              else if (j->what == 'm')
                N(sum_last)(x + at * C + c, m, y + c);
              else
                N(share_last)(x + at * C + c, m, y + c, divisor);
            }
        if (j->what == 'm') N(divide_last)(y + c, m, divisor);
        if (j->what == 'x')
          for (long i = 0; i < m; i++) ((int64_t *)j->third)[(n * out + o) * C + c + i] = best[i];
      }
    }
  }
}
static void N(columns_part)(void *a, long first, long last) { /* channels, of all images */
  const Columns *j = a;
  const Window *g = &j->g;
  const long in = g->size[0] * g->size[1] * g->size[2];
  const long out = g->kernel[0] * g->kernel[1] * g->kernel[2] * g->out[0] * g->out[1] * g->out[2];
  T *x = (T *)j->x + first * in, *c = (T *)j->c + first * out;
  if (j->back)
    N(fold)(g, c, last - first, x, 0);
  else
    N(unfold)(g, x, last - first, c, 0);
}
#undef BOX
#undef ALONG
#undef LARGER
#undef EACH_OUTPUT
#undef N
#undef JOIN
#undef JOIN_
