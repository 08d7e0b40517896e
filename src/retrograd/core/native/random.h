/* What the draws in random.c and draw.c share: PyTorch's Mersenne Twister (624 words and a position behind them), uniform and
   normal values, counts and gamma values by rejection. */
#ifndef RETROGRAD_RANDOM_H
#define RETROGRAD_RANDOM_H
#include "native.h"
#include <math.h>
#define WORDS 624
#define SHIFT 397
#define INLINE static inline __attribute__((always_inline))

/* ---- the twister */
INLINE uint32_t twisted(uint32_t a, uint32_t b, uint32_t c) {
  const uint32_t y = (a & 0x80000000u) | (b & 0x7fffffffu);
  return c ^ (y >> 1) ^ (-(b & 1u) & 0x9908b0dfu);
}
CLONES static __attribute__((unused)) void twist(uint32_t *restrict s) {
  for (int i = 0; i < WORDS - SHIFT; i++) s[i] = twisted(s[i], s[i + 1], s[i + SHIFT]);
  for (int i = WORDS - SHIFT; i < 2 * (WORDS - SHIFT); i++) s[i] = twisted(s[i], s[i + 1], s[i + SHIFT - WORDS]);
  for (int i = 2 * (WORDS - SHIFT); i < WORDS - 1; i++) s[i] = twisted(s[i], s[i + 1], s[i + SHIFT - WORDS]);
  s[WORDS - 1] = twisted(s[WORDS - 1], s[0], s[SHIFT - 1]);
}
INLINE uint32_t tempered(uint32_t y) {
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}
/* Up to `wanted` words that follow, tempered, in `to`; how many there are. */
CLONES static __attribute__((unused)) long some_words(uint32_t *restrict s, uint32_t *restrict to, long wanted) {
  if (s[WORDS] >= WORDS) {
    twist(s);
    s[WORDS] = 0;
  }
  const uint32_t at = s[WORDS];
  long n = WORDS - (long)at;
  if (n > wanted) n = wanted;
  for (long i = 0; i < n; i++) to[i] = tempered(s[at + i]);
  s[WORDS] = at + (uint32_t)n;
  return n;
}
static inline uint32_t one_word(uint32_t *s) {
  if (s[WORDS] >= WORDS) {
    twist(s);
    s[WORDS] = 0;
  }
  return tempered(s[s[WORDS]++]);
}
static inline uint64_t two_words(uint32_t *s) {
  const uint64_t high = one_word(s);
  return high << 32 | one_word(s);
}
static inline double unit(uint32_t *s) { return (double)(two_words(s) & 0x1fffffffffffffull) * 0x1p-53; }

/* ---- uniform values */
CLONES static __attribute__((unused)) void fill_single(uint32_t *s, float *to, long n) {
  uint32_t w[WORDS];
  while (n > 0) {
    const long m = some_words(s, w, n);
    for (long i = 0; i < m; i++) to[i] = (float)(int32_t)(w[i] & 0xffffffu) * 0x1p-24f;
    to += m;
    n -= m;
  }
}
static __attribute__((unused)) void pairs_of_words(uint32_t *s, uint32_t *w, long pairs) { /* w has room for 2 * pairs */
  for (long have = 0; have < 2 * pairs;) have += some_words(s, w + have, 2 * pairs - have);
}
CLONES static __attribute__((unused)) void fill_double(uint32_t *s, double *to, long n) {
  uint32_t w[WORDS];
  while (n > 0) {
    const long m = n < WORDS / 2 ? n : WORDS / 2;
    pairs_of_words(s, w, m);
    for (long i = 0; i < m; i++) to[i] = (double)(int64_t)((uint64_t)(w[2 * i] & 0x1fffffu) << 32 | w[2 * i + 1]) * 0x1p-53;
    to += m;
    n -= m;
  }
}

/* ---- normal values, in blocks of 16: element j of a block pairs with element j + 8. Cephes' polynomials in single
   precision, with the roundings of fused products where PyTorch's vector code has them. */
#define FMA __builtin_fmaf
INLINE float bits_to_float(int32_t i) {
  float f;
  memcpy(&f, &i, 4);
  return f;
}
INLINE int32_t float_to_bits(float f) {
  int32_t i;
  memcpy(&i, &f, 4);
  return i;
}
INLINE float log_single(float x) {
  int32_t bits = float_to_bits(x), e = (bits >> 23) - 126;
  x = bits_to_float((bits & 0x007fffff) | 0x3f000000);
  const int small = x < 0.707106781186547524f;
  e -= small;
  const float scale = (float)e;
  x = (small ? x + x : x) - 1.f;
  const float q = x * x;
  float y = FMA(x, 7.0376836292e-2f, -1.1514610310e-1f);
  y = FMA(y, x, 1.1676998740e-1f);
  y = FMA(y, x, -1.2420140846e-1f);
  y = FMA(y, x, 1.4249322787e-1f);
  y = FMA(y, x, -1.6668057665e-1f);
  y = FMA(y, x, 2.0000714765e-1f);
  y = FMA(y, x, -2.4999993993e-1f);
  y = FMA(y, x, 3.3333331174e-1f);
  y = y * x;
  y = FMA(y, q, scale * -2.12194440e-4f);
  y = FMA(q, -0.5f, y);
  x = x + y;
  return FMA(scale, 0.693359375f, x);
}
INLINE void cosine_sine_single(float x, float *cosine, float *sine) {
  int32_t octant = (int32_t)(x * 1.27323954473516f);
  octant = (octant + 1) & -2;
  const float o = (float)octant;
  x = FMA(o, -0.78515625f, x);
  x = FMA(o, -2.4187564849853516e-4f, x);
  x = FMA(o, -3.77489497744594108e-8f, x);
  const float q = x * x;
  float c = FMA(q, 2.443315711809948e-5f, -1.388731625493765e-3f), s = FMA(q, -1.9515295891e-4f, 8.3321608736e-3f);
  c = FMA(c, q, 4.166664568298827e-2f);
  s = FMA(s, q, -1.6666654611e-1f);
  c = c * q;
  s = s * q;
  c = FMA(c, q, q * -0.5f) + 1.f;
  s = FMA(s, x, x);
  const int swap = octant & 2;
  const float u = swap ? s : c, v = swap ? c : s;
  *cosine = bits_to_float(float_to_bits(u) ^ (int32_t)((uint32_t)((octant + 2) & 4) << 29));
  *sine = bits_to_float(float_to_bits(v) ^ (int32_t)((uint32_t)(octant & 4) << 29));
}
CLONES static __attribute__((unused)) void normal_single(float *p, long blocks, float std, float mean) {
  for (long b = 0; b < blocks; b++, p += 16) {
    float r[8], c[8], s[8];
    for (int i = 0; i < 8; i++) r[i] = __builtin_sqrtf(log_single(1.f - p[i]) * -2.f);
    for (int i = 0; i < 8; i++) cosine_sine_single(p[i + 8] * 6.28318530717958647692f, &c[i], &s[i]);
    for (int i = 0; i < 8; i++) {
      p[i] = FMA(r[i] * c[i], std, mean);
      p[i + 8] = FMA(r[i] * s[i], std, mean);
    }
  }
}
static __attribute__((unused)) void normal_double(double *p, long blocks, double std, double mean) {
  for (long b = 0; b < blocks; b++, p += 16)
    for (int i = 0; i < 8; i++) {
      const double r = sqrt(-2.0 * log(1.0 - p[i])), angle = p[i + 8] * (2 * 3.14159265358979323846);
      p[i] = fma(r * cos(angle), std, mean);
      p[i + 8] = fma(r * sin(angle), std, mean);
    }
}

/* ---- Poisson counts: few events by a product of uniform values, many by Hoermann's transformed rejection (1993) */
static __attribute__((unused)) double poisson_count(uint32_t *s, double rate) {
  if (rate == 0) return 0;
  if (rate < 10) {
    const double limit = exp(-rate);
    double product = unit(s), count = 0;
    while (product > limit) {
      count += 1;
      product *= unit(s);
    }
    return count;
  }
  const double log_rate = log(rate), b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse = log(1.1239 + 1.1328 / (b - 3.4)), quick = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = unit(s) - 0.5, v = unit(s), side = 0.5 - fabs(u), count = floor((2 * a / side + b) * u + rate + 0.43);
    if (side >= 0.07 && v <= quick) return count;
    if (!(side > 0) || count < 0 || (side < 0.013 && v > side)) continue;
    if (log(v) + inverse - log(a / (side * side) + b) <= count * log_rate - rate - lgamma(count + 1.0)) return count;
  }
}

/* ---- gamma values by Marsaglia and Tsang's method (2000) */
typedef struct {
  uint32_t *s;
  int waits;
  double value;
} Normals;
static __attribute__((unused)) double next_normal(Normals *g) {
  if (g->waits) {
    g->waits = 0;
    return g->value;
  }
  const double turn = unit(g->s), chance = unit(g->s), radius = sqrt(-2.0 * log1p(-chance)),
               angle = 2.0 * 3.14159265358979323846 * turn;
  g->value = radius * sin(angle);
  g->waits = 1;
  return radius * cos(angle);
}
static __attribute__((unused)) double gamma_value(Normals *g, double alpha, double inverse, double d) {
  double scale = 1.0;
  if (alpha < 1.0) {
    if (alpha == 0.0) return 0.0;
    scale = pow(1.0 - unit(g->s), inverse);
  }
  const double c = 1.0 / sqrt(9.0 * d), squeeze = (double)0.0331f;
  for (;;) {
    const double x = next_normal(g), y = 1.0 + c * x;
    if (y <= 0) continue;
    const double v = y * y * y, u = 1.0 - unit(g->s), xx = x * x;
    if (u < 1.0 - squeeze * xx * xx || log(u) < 0.5 * xx + d * (1.0 - v + log(v))) return scale * d * v;
  }
}
/* At least 16 values; the last 16 of a ragged draw replace the end (draw.c) */
HIDDEN void fill_normal(uint32_t *s, void *to, int single, long n, double mean, double std);
#endif
