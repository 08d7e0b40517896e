/* Images sampled where a grid says, for one type T of elements; included once for each. NOTE [Taps] in ops/nn/grid.py. */
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define N(name) JOIN(name##_, T)
#define FLOOR(x) (sizeof(T) == 4 ? (T)__builtin_floorf((float)(x)) : (T)__builtin_floor((double)(x)))
#define NEAR(x) (sizeof(T) == 4 ? (T)__builtin_rintf((float)(x)) : (T)__builtin_rint((double)(x)))
/* Coordinates brought inside of the image, and their slopes; what is not a number becomes 0. */
static inline __attribute__((always_inline)) void N(bounded)(const Grid *g, T *x, T *slope, long m, long size) {
  const T most = (T)(size - 1);
  if (g->padding == REFLECTION) {
    const T low = g->align ? 0 : (T)-0.5, span = (T)(g->align ? size - 1 : size);
    for (long p = 0; p < m; p++) {
      const T moved = x[p] - low, far = moved < 0 ? -moved : moved, turns = FLOOR(far / span), extra = far - turns * span;
      const int odd = turns - 2 * FLOOR(turns / 2) != 0;
      x[p] = span == 0 ? 0 : (odd ? span - extra : extra) + low;
      slope[p] = span == 0 ? 0 : (T)((1 - 2 * (moved < 0)) * (1 - 2 * odd));
    }
  } else
    for (long p = 0; p < m; p++) slope[p] = 1;
  for (long p = 0; p < m; p++) {
    const int inside = x[p] > 0 && x[p] < most;
    slope[p] = inside ? slope[p] : 0;
    x[p] = inside ? x[p] : x[p] >= most ? most : 0;
  }
}
/* The taps of several samples side by side: channels are then a loop around a short one over samples. */
typedef struct {
  int at[64][BATCH];
  T weight[64][BATCH], slope[3][64][BATCH];
  int count;
} N(Batch);
/* Along dimension d: where the taps of the samples are, their weights, and the derivatives of those. */
CLONES static int N(taps_along)(const Grid *g, int d, const T *grid, long m, int (*at)[BATCH], T (*w)[BATCH], T (*v)[BATCH]) {
  const long size = g->size[d];
  const T factor = (T)(g->align ? (double)(size - 1) / 2 : (double)size / 2);
  const int taps = g->mode == NEAREST ? 1 : g->mode == BILINEAR ? 2 : 4;
  T x[BATCH], slope[BATCH], first[BATCH], there[BATCH], unused[BATCH];
  for (long p = 0; p < m; p++) {
    const T u = grid[p * g->rank];
    x[p] = g->align ? (u + 1) * factor : ((u + 1) * (T)size - 1) / 2;
    slope[p] = 1;
  }
  if (g->mode != BICUBIC && g->padding != ZEROS) N(bounded)(g, x, slope, m, size);
  switch (g->mode) {
  case NEAREST:
    for (long p = 0; p < m; p++) {
      first[p] = NEAR(x[p]);
      w[0][p] = 1;
      v[0][p] = 0;
    }
    break;
  case BILINEAR:
    for (long p = 0; p < m; p++) {
      first[p] = FLOOR(x[p]);
      const T t = x[p] - first[p];
      w[0][p] = 1 - t;
      w[1][p] = t;
      v[0][p] = -1;
      v[1][p] = 1;
    }
    break;
  default:
    for (long p = 0; p < m; p++) {
      first[p] = FLOOR(x[p]);
      const T t = x[p] - first[p];
      w[0][p] = ((T)-0.75 * t + (T)1.5) * t * t - (T)0.75 * t;
      w[1][p] = ((T)1.25 * t - (T)2.25) * t * t + 1;
      w[2][p] = ((T)-1.25 * t + (T)1.5) * t * t + (T)0.75 * t;
      w[3][p] = ((T)0.75 * t - (T)0.75) * t * t;
      v[0][p] = ((T)-2.25 * t + 3) * t - (T)0.75;
      v[1][p] = ((T)3.75 * t - (T)4.5) * t;
      v[2][p] = ((T)-3.75 * t + 3) * t + (T)0.75;
      v[3][p] = ((T)2.25 * t - (T)1.5) * t;
    }
  }
  for (int k = 0; k < taps; k++) {
    for (long p = 0; p < m; p++) there[p] = first[p] + (T)(g->mode == BICUBIC ? k - 1 : k);
    if (g->mode == BICUBIC && g->padding != ZEROS) N(bounded)(g, there, unused, m, size);
    for (long p = 0; p < m; p++) {
      const int inside = there[p] > -1 && there[p] < (T)size;
      at[k][p] = (int)(inside ? there[p] : 0);
      w[k][p] *= (T)inside;
      v[k][p] *= factor * slope[p] * (T)inside;
    }
  }
  return taps;
}
/* All combinations of the taps along the dimensions. */
CLONES static void N(gather_taps)(const Grid *g, long s, long m, int slopes, N(Batch) * b) {
  int at[4][BATCH];
  T w[4][BATCH], v[4][BATCH];
  b->count = N(taps_along)(g, 0, (const T *)g->grid + s * g->rank + g->rank - 1, m, b->at, b->weight, b->slope[0]);
  if (slopes)
    for (int e = 1; e < g->rank; e++)
      for (int i = 0; i < b->count; i++)
        for (long p = 0; p < m; p++) b->slope[e][i][p] = b->weight[i][p];
  for (int d = 1; d < g->rank; d++) {
    const int taps = N(taps_along)(g, d, (const T *)g->grid + s * g->rank + g->rank - 1 - d, m, at, w, v),
              size = (int)g->size[d];
    for (int i = b->count - 1; i >= 0; i--)
      for (int k = taps - 1; k >= 0; k--) {
        const int to = i * taps + k;
        if (slopes)
          for (int e = 0; e < g->rank; e++) {
            T *z = b->slope[e][to];
            const T *q = b->slope[e][i], *f = e == d ? v[k] : w[k];
            for (long p = 0; p < m; p++) z[p] = q[p] * f[p];
          }
        for (long p = 0; p < m; p++) {
          b->at[to][p] = b->at[i][p] * size + at[k][p];
          b->weight[to][p] = b->weight[i][p] * w[k][p];
        }
      }
    b->count *= taps;
  }
}
/* Where the samples from p of a batch that begins at s lie: their image, the place in it, and the end of those of this image. */
static inline long N(image_of)(const Grid *g, long s, long p, long m, long *place, long *end) {
  *place = (s + p) % g->places;
  *end = m - p < g->places - *place ? m : p + g->places - *place;
  return (s + p) / g->places;
}
static void N(sample_part)(void *a, long first, long last) { /* samples, counted over all images */
  const Grid *g = a;
  N(Batch) b;
  for (long s = first, m; s < last; s += m) {
    m = last - s < BATCH ? last - s : BATCH;
    N(gather_taps)(g, s, m, 0, &b);
    for (long p0 = 0, p1, place; p0 < m; p0 = p1) {
      const long n = N(image_of)(g, s, p0, m, &place, &p1);
      const T *image = (const T *)g->input + n * g->channels * g->plane;
      T *to = (T *)g->out + n * g->channels * g->places + place - p0;
      for (long k = 0; k < g->channels; k++, image += g->plane, to += g->places) {
        if (b.count == 1)
          for (long p = p0; p < p1; p++) to[p] = b.weight[0][p] != 0 ? image[b.at[0][p]] : 0;
        else if (b.count == 4)
          for (long p = p0; p < p1; p++)
            to[p] = image[b.at[0][p]] * b.weight[0][p] + image[b.at[1][p]] * b.weight[1][p] +
                    image[b.at[2][p]] * b.weight[2][p] + image[b.at[3][p]] * b.weight[3][p];
        else {
          T total[BATCH] = {0};
          for (int i = 0; i < b.count; i++)
            for (long p = p0; p < p1; p++) total[p] += image[b.at[i][p]] * b.weight[i][p];
          for (long p = p0; p < p1; p++) to[p] = total[p];
        }
      }
    }
  }
}
static void N(spread_part)(void *a, long first, long last) { /* images */
  const Grid *g = a;
  N(Batch) b;
  for (long s = first * g->places, m; s < last * g->places; s += m) {
    m = last * g->places - s < BATCH ? last * g->places - s : BATCH;
    T slope[3][BATCH] = {{0}};
    N(gather_taps)(g, s, m, 1, &b);
    for (long p0 = 0, p1, place; p0 < m; p0 = p1) {
      const long n = N(image_of)(g, s, p0, m, &place, &p1);
      const T *image = (const T *)g->input + n * g->channels * g->plane,
              *grad = (const T *)g->grad + n * g->channels * g->places + place - p0;
      T *to = g->to_input ? (T *)g->to_input + n * g->channels * g->plane : NULL;
      for (long k = 0; k < g->channels; k++, image += g->plane, grad += g->places) {
        if (to) {
          T *there = to + k * g->plane;
          for (long p = p0; p < p1; p++)
            for (int i = 0; i < b.count; i++) there[b.at[i][p]] += grad[p] * b.weight[i][p];
        }
        for (int d = 0; d < g->rank; d++) {
          T part[BATCH] = {0};
          for (int i = 0; i < b.count; i++)
            for (long p = p0; p < p1; p++) part[p] += image[b.at[i][p]] * b.slope[d][i][p];
          for (long p = p0; p < p1; p++) slope[d][p] += part[p] * grad[p];
        }
      }
    }
    for (int d = 0; d < g->rank; d++)
      for (long p = 0; p < m; p++) ((T *)g->to_grid)[(s + p) * g->rank + g->rank - 1 - d] = slope[d][p];
  }
}
#undef FLOOR
#undef NEAR
#undef N
#undef JOIN
#undef JOIN_
