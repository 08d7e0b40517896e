/* Images sampled where a grid says, for one type T of elements; included once for each. NOTE [Taps] in ops/nn/grid.py. */
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define N(name) JOIN(name##_, T)
typedef struct {
  long at[64];
  T weight[64], slope[3][64];
  int count;
} N(Corners);
/* A coordinate brought inside of the image, and its slope; what is not a number becomes 0. */
static T N(bounded)(const Grid *g, T x, long size, T *slope) {
  T s = 1;
  if (g->padding == REFLECTION) {
    const T low = g->align ? 0 : (T)-0.5, span = (T)(g->align ? size - 1 : size);
    if (span == 0) {
      *slope = 0;
      return 0;
    }
    const T moved = x - low, far = (T)fabs((double)moved), extra = (T)fmod((double)far, (double)span);
    const int odd = fmod(floor((double)(far / span)), 2.0) != 0;
    x = (odd ? span - extra : extra) + low;
    s = (T)((1 - 2 * (moved < 0)) * (1 - 2 * odd));
  }
  const int inside = x > 0 && x < (T)(size - 1);
  *slope = inside ? s : 0;
  return inside ? x : x >= (T)(size - 1) ? (T)(size - 1) : 0;
}
/* All combinations of taps of one sample, with weights and their derivatives by each coordinate of the grid. */
static void N(corners)(const Grid *g, const T *grid, N(Corners) * c) {
  c->count = 1;
  c->at[0] = 0;
  c->weight[0] = 1;
  for (int d = 0; d < g->rank; d++) c->slope[d][0] = 1;
  for (int d = 0; d < g->rank; d++) {
    const long size = g->size[d];
    const T u = grid[g->rank - 1 - d], factor = (T)(g->align ? (double)(size - 1) / 2 : (double)size / 2);
    T x = g->align ? (u + 1) * factor : ((u + 1) * (T)size - 1) / 2, slope = 1, w[4], v[4];
    const int taps = g->mode == NEAREST ? 1 : g->mode == BILINEAR ? 2 : 4;
    long at[4];
    if (g->mode != BICUBIC && g->padding != ZEROS) x = N(bounded)(g, x, size, &slope);
    const T first = (T)(g->mode == NEAREST ? rint((double)x) : floor((double)x)), t = x - first;
    switch (g->mode) {
    case NEAREST:
      w[0] = 1;
      v[0] = 0;
      break;
    case BILINEAR:
      w[0] = 1 - t;
      w[1] = t;
      v[0] = -1;
      v[1] = 1;
      break;
    default:
      w[0] = ((T)-0.75 * t + (T)1.5) * t * t - (T)0.75 * t;
      w[1] = ((T)1.25 * t - (T)2.25) * t * t + 1;
      w[2] = ((T)-1.25 * t + (T)1.5) * t * t + (T)0.75 * t;
      w[3] = ((T)0.75 * t - (T)0.75) * t * t;
      v[0] = ((T)-2.25 * t + 3) * t - (T)0.75;
      v[1] = ((T)3.75 * t - (T)4.5) * t;
      v[2] = ((T)-3.75 * t + 3) * t + (T)0.75;
      v[3] = ((T)2.25 * t - (T)1.5) * t;
    }
    for (int k = 0; k < taps; k++) {
      T there = first + (T)(g->mode == BICUBIC ? k - 1 : k), unused;
      if (g->mode == BICUBIC && g->padding != ZEROS) there = N(bounded)(g, there, size, &unused);
      const int inside = there > -1 && there < (T)size;
      at[k] = inside ? (long)there : 0;
      w[k] *= (T)inside;
      v[k] *= factor * slope * (T)inside;
    }
    for (int i = c->count - 1; i >= 0; i--)
      for (int k = taps - 1; k >= 0; k--) {
        const int to = i * taps + k;
        const long base = c->at[i];
        const T weight = c->weight[i];
        for (int e = g->rank - 1; e >= 0; e--) c->slope[e][to] = c->slope[e][i] * (e == d ? v[k] : w[k]);
        c->at[to] = base * size + at[k];
        c->weight[to] = weight * w[k];
      }
    c->count *= taps;
  }
}
/* The taps of several samples side by side: channels are then a loop around a short one over samples. */
typedef struct {
  int at[64][BATCH];
  T weight[64][BATCH], slope[3][64][BATCH];
  int count;
} N(Batch);
static void N(gather_taps)(const Grid *g, long s, long m, int slopes, N(Batch) * b) {
  N(Corners) c;
  c.count = 0;
  for (long p = 0; p < m; p++) {
    N(corners)(g, (const T *)g->grid + (s + p) * g->rank, &c);
    for (int i = 0; i < c.count; i++) {
      b->at[i][p] = (int)c.at[i];
      b->weight[i][p] = c.weight[i];
      if (slopes)
        for (int d = 0; d < g->rank; d++) b->slope[d][i][p] = c.slope[d][i];
    }
  }
  b->count = c.count;
}
static void N(sample_part)(void *a, long first, long last) { /* samples, counted over all images */
  const Grid *g = a;
  N(Batch) b;
  for (long s = first; s < last;) {
    const long n = s / g->places, place = s % g->places;
    long m = last - s < BATCH ? last - s : BATCH;
    if (m > g->places - place) m = g->places - place;
    const T *image = (const T *)g->input + n * g->channels * g->plane;
    T *to = (T *)g->out + n * g->channels * g->places + place;
    N(gather_taps)(g, s, m, 0, &b);
    for (long k = 0; k < g->channels; k++, image += g->plane, to += g->places) {
      if (b.count == 4)
        for (long p = 0; p < m; p++)
          to[p] = image[b.at[0][p]] * b.weight[0][p] + image[b.at[1][p]] * b.weight[1][p] + image[b.at[2][p]] * b.weight[2][p] +
                  image[b.at[3][p]] * b.weight[3][p];
      else {
        T total[BATCH] = {0};
        for (int i = 0; i < b.count; i++)
          for (long p = 0; p < m; p++) total[p] += image[b.at[i][p]] * b.weight[i][p];
        for (long p = 0; p < m; p++) to[p] = total[p];
      }
    }
    s += m;
  }
}
static void N(spread_part)(void *a, long first, long last) { /* images */
  const Grid *g = a;
  N(Batch) b;
  for (long n = first; n < last; n++)
    for (long place = 0; place < g->places; place += BATCH) {
      const long m = g->places - place < BATCH ? g->places - place : BATCH, s = n * g->places + place;
      const T *image = (const T *)g->input + n * g->channels * g->plane,
              *grad = (const T *)g->grad + n * g->channels * g->places + place;
      T *to = g->to_input ? (T *)g->to_input + n * g->channels * g->plane : NULL, slope[3][BATCH] = {{0}};
      N(gather_taps)(g, s, m, 1, &b);
      for (long k = 0; k < g->channels; k++, image += g->plane, grad += g->places) {
        if (to) {
          T *there = to + k * g->plane;
          for (long p = 0; p < m; p++)
            for (int i = 0; i < b.count; i++) there[b.at[i][p]] += grad[p] * b.weight[i][p];
        }
        for (int d = 0; d < g->rank; d++) {
          T part[BATCH] = {0};
          for (int i = 0; i < b.count; i++)
            for (long p = 0; p < m; p++) part[p] += image[b.at[i][p]] * b.slope[d][i][p];
          for (long p = 0; p < m; p++) slope[d][p] += part[p] * grad[p];
        }
      }
      for (int d = 0; d < g->rank; d++)
        for (long p = 0; p < m; p++) ((T *)g->to_grid)[(s + p) * g->rank + g->rank - 1 - d] = slope[d][p];
    }
}
#undef N
#undef JOIN
#undef JOIN_
