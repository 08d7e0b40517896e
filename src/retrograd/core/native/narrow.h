/* Products of few rows with a packed matrix, for one type T of elements and one instruction set; included once for each. The
   settings before: T, BYTES of a vector, HIGH rows of a tile, SUFFIX, TARGET. */
#define JOIN_(a, b, c) a##_##b##c
#define JOIN(a, b, c) JOIN_(a, b, c)
#define N(name) JOIN(name, T, SUFFIX)
#define V N(vector)
#define LANES ((long)(BYTES / sizeof(T)))
#define WIDE (2 * LANES) /* columns of a panel */
typedef T V __attribute__((vector_size(BYTES), aligned(__alignof__(T)), may_alias));

/* panels of WIDE columns of the k x n matrix, one behind the other, with zeros beyond the last column; its rows and columns are
   rb and cb elements apart */
static void N(pack)(const T *b, long rb, long cb, long k, long n, T *to) {
  for (long c = 0; c < n; c += WIDE) {
    const long m = n - c < WIDE ? n - c : WIDE;
    const T *from = b + c * cb;
    for (long i = 0; i < k; i++, to += WIDE, from += rb) {
      if (cb == 1)
        memcpy(to, from, (size_t)m * sizeof(T));
      else
        for (long j = 0; j < m; j++) to[j] = from[j * cb];
      if (m < WIDE) memset(to + m, 0, (size_t)(WIDE - m) * sizeof(T));
    }
  }
}
#define TILE(name, ROWS)                                                                                                     \
  TARGET static void N(name)(const T *a, long ra, long ka, long k, const T *b, T *c, long n, int add) {                      \
    V s[ROWS][2];                                                                                                            \
    _Pragma("GCC unroll 8") for (int r = 0; r < ROWS; r++) _Pragma("GCC unroll 2") for (int v = 0; v < 2; v++) s[r][v] =     \
        add ? *(const V *)(c + r * n + v * LANES) : (V){0};                                                                  \
    for (long i = 0; i < k; i++, b += WIDE) {                                                                                \
      const V b0 = *(const V *)b, b1 = *(const V *)(b + LANES);                                                              \
      _Pragma("GCC unroll 8") for (int r = 0; r < ROWS; r++) {                                                               \
        const T w = a[r * ra + i * ka];                                                                                       \
        s[r][0] += w * b0;                                                                                                   \
        s[r][1] += w * b1;                                                                                                   \
      }                                                                                                                      \
    }                                                                                                                        \
    _Pragma("GCC unroll 8") for (int r = 0; r < ROWS; r++) _Pragma("GCC unroll 2") for (int v = 0; v < 2; v++) *             \
        (V *)(c + r * n + v * LANES) = s[r][v];                                                                              \
  }
TILE(tile, HIGH)
TILE(pair, 2)
TILE(single, 1)
#undef TILE
/* columns of C: n, in rows that are `gap` elements apart */
TARGET static void N(narrow)(const T *a, long ra, long ka, long rows, long k, const T *packed, T *c, long n, long gap, int add) {
  for (long p = 0; p < n; p += WIDE, packed += k * WIDE) {
    T edge[HIGH * WIDE];
    const int whole = n - p >= WIDE;
    const size_t part = (size_t)(n - p) * sizeof(T);
    for (long r = 0, m; r < rows; r += m) {
      T *to = whole ? c + r * gap + p : edge;
      const long apart = whole ? gap : WIDE;
      m = rows - r >= HIGH ? HIGH : rows - r >= 2 ? 2 : 1;
      if (!whole && add)
        for (long i = 0; i < m; i++) memcpy(edge + i * WIDE, c + (r + i) * gap + p, part);
      (m == HIGH ? N(tile) : m == 2 ? N(pair) : N(single))(a + r * ra, ra, ka, k, packed, to, apart, add);
      if (!whole)
        for (long i = 0; i < m; i++) memcpy(c + (r + i) * gap + p, edge + i * WIDE, part);
    }
  }
}
static const Narrow N(way) = {(void (*)(const void *, long, long, long, long, void *))N(pack),
                              (void (*)(const void *, long, long, long, long, const void *, void *, long, long, int))N(narrow), WIDE, sizeof(T)};
#undef JOIN_
#undef JOIN
#undef N
#undef V
#undef LANES
#undef WIDE
