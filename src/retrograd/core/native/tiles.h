/* Convolution without columns (see tiles.c), for one type T of elements and one instruction set (see levels.h). */
#define JOIN_(a, b, c) a##_##b##c
#define JOIN(a, b, c) JOIN_(a, b, c)
#define N(name) JOIN(name, T, SUFFIX)
#define V N(vector)
#define LANES ((long)(BYTES / sizeof(T)))
#define WIDE (3 * LANES)            /* columns of a tile */
#define HIGH (BYTES == 64 ? 8 : 4)   /* its rows */
#define DOWN (BYTES == 64 ? 4 : 3)   /* rows of a tile of dot products */
#define ACROSS (BYTES == 64 ? 6 : 4) /* and its columns */
typedef T V __attribute__((vector_size(BYTES), aligned(__alignof__(T)), may_alias));

/* rows of the result from packed weights `a`; row i of the other matrix begins `at[i]` behind `x` */
#define TILE(name, ROWS)                                                                                                 \
  TARGET static void N(name)(const T *a, const T *x, const int32_t *at, long k, T *c, int add) {                         \
    V s[ROWS][3];                                                                                                        \
    _Pragma("GCC unroll 8") for (int r = 0; r < ROWS; r++) _Pragma("GCC unroll 3") for (int v = 0; v < 3; v++) s[r][v] = \
        add ? *(const V *)(c + r * (SPAN * WIDE) + v * LANES) : (V){0};                                                  \
    for (long i = 0; i < k; i++, a += ROWS) {                                                                            \
      const T *b = x + at[i];                                                                                            \
      const V b0 = *(const V *)b, b1 = *(const V *)(b + LANES), b2 = *(const V *)(b + 2 * LANES);                        \
      _Pragma("GCC unroll 8") for (int r = 0; r < ROWS; r++) {                                                           \
        const T w = a[r];                                                                                                \
        s[r][0] += w * b0;                                                                                               \
        s[r][1] += w * b1;                                                                                               \
        s[r][2] += w * b2;                                                                                               \
      }                                                                                                                  \
    }                                                                                                                    \
    _Pragma("GCC unroll 8") for (int r = 0; r < ROWS; r++) _Pragma("GCC unroll 3") for (int v = 0; v < 3; v++) *         \
        (V *)(c + r * (SPAN * WIDE) + v * LANES) = s[r][v];                                                              \
  }
TILE(tile, HIGH)
TILE(small_tile, HIGH / 2)
#undef TILE
/* dot products of DOWN rows of y, `ldy` apart, with ACROSS rows of x, over n vectors */
TARGET static void N(dots)(const T *y, long ldy, const T *x, const int32_t *at, long n, T *made) {
  V s[DOWN][ACROSS];
  _Pragma("GCC unroll 8") for (int r = 0; r < DOWN; r++) _Pragma("GCC unroll 8") for (int j = 0; j < ACROSS; j++) s[r][j] =
      (V){0};
  const T *p[ACROSS];
  for (int j = 0; j < ACROSS; j++) p[j] = x + at[j];
  for (long i = 0; i < n * LANES; i += LANES) {
    V q[DOWN];
    _Pragma("GCC unroll 8") for (int r = 0; r < DOWN; r++) q[r] = *(const V *)(y + r * ldy + i);
    _Pragma("GCC unroll 8") for (int j = 0; j < ACROSS; j++) {
      const V b = *(const V *)(p[j] + i);
      _Pragma("GCC unroll 8") for (int r = 0; r < DOWN; r++) s[r][j] += q[r] * b;
    }
  }
  _Pragma("GCC unroll 8") for (int r = 0; r < DOWN; r++) _Pragma("GCC unroll 8") for (int j = 0; j < ACROSS; j++) {
    T part[BYTES / sizeof(T)];
    *(V *)part = s[r][j];
    for (int l = LANES / 2; l > 0; l /= 2)
      for (int m = 0; m < l; m++) part[m] += part[m + l];
    made[r * ACROSS + j] = part[0];
  }
}

/* the sources of `images` images from the n-th, where outputs start at `from` along the axis of strips: each channel as planes
   with zeros around them, one plane for each remainder of the steps */
TARGET static void N(lay_out)(const Plan *p, long n, long images, long group, long from, T *to) {
  memset(to, 0, (size_t)p->need * sizeof(T));
  long origin[3] = {0, 0, 0};
  origin[p->axis] = from;
  const long plane = p->rows[0] * p->rows[1] * p->rows[2], in = p->size[0] * p->size[1] * p->size[2], s = p->step[2];
  for (long c = 0; c < p->sources; c++)
    for (long i = 0; i < images; i++) {
      const T *x = (const T *)p->source + ((n + i) * p->groups * p->sources + group * p->sources + c) * in;
      for (long i0 = 0; i0 < p->size[0]; i0++) {
        const long q0 = i0 + p->before[0] - origin[0] * p->step[0];
        if (q0 < 0 || q0 / p->step[0] >= p->rows[0]) continue;
        for (long i1 = 0; i1 < p->size[1]; i1++) {
          const long q1 = i1 + p->before[1] - origin[1] * p->step[1];
          if (q1 < 0 || q1 / p->step[1] >= p->rows[1]) continue;
          const T *row = x + (i0 * p->size[1] + i1) * p->size[2];
          const long shift = p->before[2] - origin[2] * s; /* from a place in the row to one in the layout */
          const long first = shift < 0 ? -shift : 0,
                     end = p->rows[2] * s - shift < p->size[2] ? p->rows[2] * s - shift : p->size[2];
          T *line = to + c * p->channel + (((q0 % p->step[0]) * p->step[1] + q1 % p->step[1]) * s) * p->together * plane +
                    i * plane + ((q0 / p->step[0]) * p->rows[1] + q1 / p->step[1]) * p->rows[2];
          if (first >= end) continue;
          if (s == 1) {
            memcpy(line + first + shift, row + first, (size_t)(end - first) * sizeof(T));
            continue;
          }
          for (long r = 0; r < s; r++) { /* places whose remainder is r */
            long k = first + ((r - (first + shift)) % s + s) % s;
            T *d = line + r * p->together * plane + (k + shift) / s;
            const long count = k < end ? (end - k + s - 1) / s : 0;
            const T *f = row + k;
            if (s == 2)
              for (long m = 0; m < count; m++) d[m] = f[2 * m];
            else
              for (long m = 0; m < count; m++) d[m] = f[m * s];
          }
        }
      }
    }
}

/* The runs of columns that are outputs: the statement sees the image i, the row's place in the images `out` and its length
   `wide` and the column `at` where it begins. */
#define EACH_RUN(COUNT, ...)                                                                                         \
  {                                                                                                                  \
    long lo[3] = {0, 0, 0}, hi[3] = {(COUNT)[0], (COUNT)[1], (COUNT)[2]};                                            \
    lo[p->axis] = from;                                                                                              \
    if (hi[p->axis] > from + p->strip) hi[p->axis] = from + p->strip;                                                \
    for (long i = 0; i < images; i++)                                                                                \
      for (long t0 = lo[0]; t0 < hi[0]; t0++)                                                                        \
        for (long t1 = lo[1]; t1 < hi[1]; t1++) {                                                                    \
          const long wide = hi[2] - lo[2], at = i * plane + ((t0 - lo[0]) * p->rows[1] + (t1 - lo[1])) * p->rows[2]; \
          if (wide > 0) __VA_ARGS__                                                                                  \
        }                                                                                                            \
  }
/* the outputs of some images from their layout, in blocks of SPAN tiles; `block` holds STACK rows of one */
TARGET static void N(multiply_strip)(const Plan *p, long n, long images, long group, long from, const T *x, T *block) {
  const long plane = p->rows[0] * p->rows[1] * p->rows[2], out = p->made[0] * p->made[1] * p->made[2], ld = SPAN * WIDE;
  for (long f = 0; f < p->phases; f++) {
    const Phase *h = p->phase + f;
    long columns = 0;
    const long padded = p->padded;
    const T *weights = (const T *)p->weights + h->weights + group * h->k * padded;
    EACH_RUN(h->count, {
      if (at + wide > columns) columns = at + wide;
    })
    for (long c0 = 0; c0 < columns; c0 += ld)
      for (long m0 = 0; m0 < p->outputs; m0 += STACK) {
        const long high = p->outputs - m0 < STACK ? p->outputs - m0 : STACK, last = columns - c0 < ld ? columns - c0 : ld;
        if (!h->k) memset(block, 0, (size_t)(high * ld) * sizeof(T));
        for (long k0 = 0; k0 < h->k; k0 += DEEP) {
          const long k = h->k - k0 < DEEP ? h->k - k0 : DEEP;
          for (long m = 0; m < high; m += HIGH)
            for (long c = 0; c < last; c += WIDE)
              (high - m <= HIGH / 2 ? N(small_tile) : N(tile))(weights + k0 * padded + (m0 + m) * k, x + c0 + c,
                                                               p->at + h->at + k0, k, block + m * ld + c, k0 > 0);
        }
        EACH_RUN(h->count, {
          const long first = at > c0 ? at : c0, end = at + wide < c0 + last ? at + wide : c0 + last;
          if (first >= end) continue;
          T *y = (T *)p->target + ((n + i) * p->groups + group) * p->outputs * out +
                 ((t0 * p->apart[0] + h->base[0]) * p->made[1] + t1 * p->apart[1] + h->base[1]) * p->made[2] +
                 (lo[2] + first - at) * p->apart[2] + h->base[2];
          const long gap = p->apart[2], count = end - first;
          for (long m = 0; m < high; m++) {
            const T *b = block + m * ld + first - c0;
            T *d = y + (m0 + m) * out;
            const T plus = p->bias ? ((const T *)p->bias)[group * p->outputs + m0 + m] : 0;
            if (gap == 1)
              for (long q = 0; q < count; q++) d[q] = b[q] + plus;
            else if (gap == 2)
              for (long q = 0; q < count; q++) d[2 * q] = b[q] + plus;
            else
              for (long q = 0; q < count; q++) d[q * gap] = b[q] + plus;
          }
        })
      }
  }
}
TARGET static void N(multiply_part)(void *a, long first, long last) {
  Plan *p = a;
  T *x = borrow((size_t)(p->need + STACK * SPAN * WIDE) * sizeof(T));
  if (!x) {
    p->failed = 1;
    return;
  }
  for (long t = first; t < last; t++) {
    const long group = t % p->groups, s = t / p->groups % p->strips, n = t / p->groups / p->strips * p->together,
               images = p->batch - n < p->together ? p->batch - n : p->together;
    N(lay_out)(p, n, images, group, s * p->strip, x);
    N(multiply_strip)(p, n, images, group, s * p->strip, x, x + p->need);
  }
  give_back(x);
}
/* the gradient of the weights, one share of the strips of all images: added up in weights of its own */
TARGET static void N(match_part)(void *a, long first, long last) {
  Plan *p = a;
  const Phase *h = p->phase;
  const long plane = p->rows[0] * p->rows[1] * p->rows[2], out = p->made[0] * p->made[1] * p->made[2];
  const long rows = (p->outputs + DOWN - 1) / DOWN * DOWN, items = (p->batch + p->together - 1) / p->together * p->strips,
             each = (items + p->shares - 1) / p->shares;
  T *x = borrow((size_t)(p->need + rows * p->ldy) * sizeof(T)), *y = x + p->need;
  if (!x) {
    p->failed = 1;
    return;
  }
  for (long t = first; t < last; t++) {
    const long group = t % p->groups, share = t / p->groups, stop = (share + 1) * each < items ? (share + 1) * each : items;
    T *w =
        (T *)(share ? (T *)p->spare + (share - 1) * p->groups * p->outputs * h->k : (T *)p->target) + group * p->outputs * h->k;
    for (long item = share * each; item < stop; item++) {
      const long from = item % p->strips * p->strip, n = item / p->strips * p->together,
                 images = p->batch - n < p->together ? p->batch - n : p->together;
      long columns = 0;
      N(lay_out)(p, n, images, group, from, x);
      memset(y, 0, (size_t)(rows * p->ldy) * sizeof(T));
      EACH_RUN(p->made, {
        const T *g = (const T *)p->other + ((n + i) * p->groups + group) * p->outputs * out +
                     (t0 * p->made[1] + t1) * p->made[2] + lo[2];
        if (at + wide > columns) columns = at + wide;
        for (long m = 0; m < p->outputs; m++) memcpy(y + m * p->ldy + at, g + m * out, (size_t)wide * sizeof(T));
      })
      const long vectors = (columns + LANES - 1) / LANES, some = 16 * ACROSS;
      for (long k0 = 0; k0 < h->k; k0 += some)
        for (long m = 0; m < p->outputs; m += DOWN)
          for (long k = k0; k < k0 + some && k < h->k; k += ACROSS) {
            T made[DOWN * ACROSS];
            N(dots)(y + m * p->ldy, p->ldy, x, p->at + k, vectors, made);
            for (int r = 0; r < DOWN && m + r < p->outputs; r++)
              for (int j = 0; j < ACROSS && k + j < h->k; j++) w[(m + r) * h->k + k + j] += made[r * ACROSS + j];
          }
    }
  }
  give_back(x);
}
TARGET static void N(pack_weights)(const Plan *p, const T *w, long wide, long high, const long *taps) {
  /* of each phase and group, DEEP columns at a time, tiles of HIGH rows; taps: how many, and which */
  for (long f = 0; f < p->phases; f++) {
    const Phase *h = p->phase + f;
    const long count = *taps++;
    for (long group = 0; group < p->groups; group++)
      for (long k0 = 0; k0 < h->k; k0 += DEEP) {
        const long k = h->k - k0 < DEEP ? h->k - k0 : DEEP;
        T *to = (T *)p->weights + h->weights + group * h->k * p->padded + k0 * p->padded;
        for (long m = 0; m < p->padded; m += HIGH) {
          const long rows = p->padded - m < HIGH ? p->padded - m : HIGH;
          for (long i = k0; i < k0 + k; i++)
            for (long r = 0; r < rows; r++)
              *to++ =
                  m + r < p->outputs ? w[group * p->weights_of_group + (m + r) * high + i / count * wide + taps[i % count]] : 0;
        }
      }
    taps += count;
  }
}
TARGET static void N(add_spare)(void *a, long first, long last) {
  const Plan *p = a;
  const long each = p->groups * p->outputs * p->phase->k;
  for (long s = 1; s < p->shares; s++)
    for (long i = first; i < last; i++) ((T *)p->target)[i] += ((const T *)p->spare)[(s - 1) * each + i];
}
#undef EACH_RUN
static const Way N(way) = {N(multiply_part),
                           N(match_part),
                           N(add_spare),
                           (void (*)(const Plan *, const void *, long, long, const long *))(void *)N(pack_weights),
                           WIDE,
                           LANES,
                           HIGH,
                           DOWN,
                           ACROSS};
#undef WIDE
#undef LANES
#undef V
#undef N
#undef JOIN
#undef JOIN_
