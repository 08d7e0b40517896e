/* Products of few rows with a matrix that is read by panels, for one type T of elements and one instruction set (see levels.h). */
#define JOIN_(a, b, c) a##_##b##c
#define JOIN(a, b, c) JOIN_(a, b, c)
#define N(name) JOIN(name, T, SUFFIX)
#define V N(vector)
#define LANES ((long)(BYTES / sizeof(T)))
#define WIDE (2 * LANES)                               /* columns of a panel */
#define HIGH (BYTES == 64 ? 8 : BYTES == 32 ? 6 : 4) /* rows of a tile */
typedef T V __attribute__((vector_size(BYTES), aligned(__alignof__(T)), may_alias));

/* panels of WIDE columns of the k x n matrix, one behind the other, with zeros beyond the last column; its rows and columns are
   rb and cb elements apart */
static void N(pack)(const T *b, long rb, long cb, long k, long n, T *to) {
  for (long c = 0; c < n; c += WIDE, to += k * WIDE) {
    const long m = n - c < WIDE ? n - c : WIDE;
    const T *from = b + c * cb;
    long first = 0; /* columns that are turned already */
    if (m < WIDE) memset(to, 0, (size_t)(k * WIDE) * sizeof(T));
    if (rb == 1 && sizeof(T) == 4) first = turn_floats((float *)to, WIDE, (const float *)from, cb, k, m);
    for (long i = 0; i < k; i++) {
      T *row = to + i * WIDE;
      if (cb == 1)
        memcpy(row, from + i * rb, (size_t)m * sizeof(T));
      else
        for (long j = first; j < m; j++) row[j] = from[i * rb + j * cb];
    }
  }
}
/* rows of C from rows of A and a panel, whose rows are `step` elements apart */
#define TILE(name, ROWS)                                                                                                  \
  TARGET static void N(name)(const T *a, long ra, long ka, long k, const T *b, long step, T *c, long n, int add) {        \
    V s[ROWS][2];                                                                                                         \
    _Pragma("GCC unroll 8") for (int r = 0; r < ROWS; r++) _Pragma("GCC unroll 2") for (int v = 0; v < 2; v++) s[r][v] =  \
        add ? *(const V *)(c + r * n + v * LANES) : (V){0};                                                               \
    for (long i = 0; i < k; i++, b += step) {                                                                             \
      const V b0 = *(const V *)b, b1 = *(const V *)(b + LANES);                                                           \
      _Pragma("GCC unroll 8") for (int r = 0; r < ROWS; r++) {                                                            \
        const T w = a[r * ra + i * ka];                                                                                   \
        s[r][0] += w * b0;                                                                                                \
        s[r][1] += w * b1;                                                                                                \
      }                                                                                                                   \
    }                                                                                                                     \
    _Pragma("GCC unroll 8") for (int r = 0; r < ROWS; r++) _Pragma("GCC unroll 2") for (int v = 0; v < 2; v++) *          \
        (V *)(c + r * n + v * LANES) = s[r][v];                                                                           \
  }
TILE(tile, HIGH)
TILE(pair, 2)
TILE(single, 1)
#undef TILE
/* columns of C: n, in rows that are `gap` elements apart; the panels begin `next` elements apart, and their rows are `step` */
TARGET static void N(narrow)(const T *a, long ra, long ka, long rows, long k, const T *b, long next, long step, T *c, long n,
                             long gap, int add) {
  for (long p = 0; p < n; p += WIDE, b += next) {
    T edge[HIGH * WIDE];
    const int whole = n - p >= WIDE;
    const size_t part = (size_t)(n - p) * sizeof(T);
    for (long r = 0, m; r < rows; r += m) {
      T *to = whole ? c + r * gap + p : edge;
      const long apart = whole ? gap : WIDE;
      m = rows - r >= HIGH ? HIGH : rows - r >= 2 ? 2 : 1;
      if (!whole && add)
        for (long i = 0; i < m; i++) memcpy(edge + i * WIDE, c + (r + i) * gap + p, part);
      (m == HIGH ? N(tile) : m == 2 ? N(pair) : N(single))(a + r * ra, ra, ka, k, b, step, to, apart, add);
      if (!whole)
        for (long i = 0; i < m; i++) memcpy(c + (r + i) * gap + p, edge + i * WIDE, part);
    }
  }
}
/* c[j * gap] = the sum of x times row j of y, for n rows that are `apart` elements apart, each of k elements that lie together */
TARGET static void N(dots)(const T *x, const T *y, long apart, long k, long n, T *c, long gap) {
  for (long j = 0, m; j < n; j += m, y += m * apart) {
    V s[4] = {{0}, {0}, {0}, {0}};
    long i = 0;
    m = n - j >= 4 ? 4 : 1;
    if (m == 4)
      for (; i + LANES <= k; i += LANES) {
        const V v = *(const V *)(x + i);
        _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) s[r] += v * *(const V *)(y + r * apart + i);
      }
    else
      for (; i + LANES <= k; i += LANES) s[0] += *(const V *)(x + i) * *(const V *)(y + i);
    for (int r = 0; r < m; r++) {
      T part[BYTES / sizeof(T)], sum = 0;
      for (long t = i; t < k; t++) sum += x[t] * y[r * apart + t];
      *(V *)part = s[r];
      for (int l = (int)LANES / 2; l > 0; l /= 2)
        for (int q = 0; q < l; q++) part[q] += part[q + l];
      c[(j + r) * gap] = part[0] + sum;
    }
  }
}
static const Narrow N(way) = {
    (void (*)(const void *, long, long, long, long, void *))N(pack),
    (void (*)(const void *, long, long, long, long, const void *, long, long, void *, long, long, int))N(narrow),
    (void (*)(const void *, const void *, long, long, long, void *, long))N(dots), WIDE, sizeof(T)};
#undef JOIN_
#undef JOIN
#undef N
#undef V
#undef LANES
#undef WIDE
