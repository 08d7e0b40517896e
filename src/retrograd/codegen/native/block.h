/* What every generated file needs: loads and stores of one block in any dtype, and reductions of one block. */
#include <stdint.h>
#include <stddef.h>
#if defined(__x86_64__) && defined(__F16C__)
#include <immintrin.h>
#endif
#define BLOCK 1024
#include "basics.h"
#define inline inline __attribute__((always_inline)) /* a loop around a call is not vectorised */
#include "vmath.h"
#undef inline

/* dtype codes, as in kernel.h */
enum { F32, F64, BF16, F16, I64, I32, I16, I8, U8, BOOL };
static const long width_of[] = {4, 8, 2, 2, 8, 4, 2, 1, 1, 1};
#define WIDE 64 /* rows side by side, at most; as in rows.h */

static inline float half_to_float(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff;
  const float normal = unbits_f((int)((rest << 13) + 0x38000000)), tiny = (float)(int)rest * 5.9604644775390625e-8f;
  const float special = unbits_f((int)((rest << 13) | 0x7f800000)), v = rest >= 0x7c00 ? special : rest < 0x400 ? tiny : normal;
  return unbits_f(bits_f(v) | (int)sign);
}
static inline uint16_t float_to_half(float f) {
  const uint32_t u = (uint32_t)bits_f(f), sign = (u >> 16) & 0x8000, a = u & 0x7fffffff;
  const uint32_t normal = (a - 0x38000000 + 0xfff + ((a >> 13) & 1)) >> 13;
  const uint32_t tiny = (uint32_t)bits_f(unbits_f((int)a) + 0.5f) - 0x3f000000; /* the addition rounds to multiples of 2^-24 */
  const uint32_t v = a > 0x7f800000 ? 0x7e00 : a >= 0x477ff000 ? 0x7c00 : a < 0x38800000 ? tiny : normal;
  return (uint16_t)(v | sign);
}
static inline uint16_t float_to_bfloat(float f) {
  const uint32_t u = (uint32_t)bits_f(f), r = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
  return (uint16_t)(f != f ? 0x7fc0 | (u >> 16 & 0x8000) : r);
}
static inline float bfloat_to_float(uint16_t h) { return unbits_f((int)((uint32_t)h << 16)); }

static inline int aligned(const void *p, size_t n) { return ((uintptr_t)p & (n - 1)) == 0; }

/* Loads, stores and reductions of a block are compiled once for an instruction set, in the file that defines BLOCK_MAIN. */
#define JOIN(a, b) a##b
#define NAMED(a, b) JOIN(a, b)
#define SHARED(name) NAMED(name##_, ISA)
#ifdef BLOCK_MAIN
#define UNPACK(S, E)                                   \
  if (s == (long)sizeof(S) && aligned(p, sizeof(S))) { \
    const S *q = (const S *)p;                         \
    SIMD                                               \
    for (long j = 0; j < m; j++) {                     \
      const S v = q[j];                                \
      to[j] = E;                                       \
    }                                                  \
  } else                                               \
    for (long j = 0; j < m; j++) {                     \
      S v;                                             \
      __builtin_memcpy(&v, p + j * s, sizeof v);       \
      to[j] = E;                                       \
    }
#define PACK(S, E)                                     \
  if (s == (long)sizeof(S) && aligned(p, sizeof(S))) { \
    S *q = (S *)p;                                     \
    SIMD                                               \
    for (long j = 0; j < m; j++) {                     \
      const T v = from[j];                             \
      q[j] = E;                                        \
    }                                                  \
  } else                                               \
    for (long j = 0; j < m; j++) {                     \
      const T v = from[j];                             \
      const S w = E;                                   \
      __builtin_memcpy(p + j * s, &w, sizeof w);       \
    }
#if defined(__x86_64__) && defined(__F16C__)
static inline long halves_in(const char *p, long m, float *to) {
  long j = 0;
#ifdef __AVX512F__
  for (; j + 16 <= m; j += 16) _mm512_storeu_ps(to + j, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(p + 2 * j))));
#endif
  for (; j + 8 <= m; j += 8) _mm256_storeu_ps(to + j, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p + 2 * j))));
  return j;
}
static inline long halves_out(const float *from, long m, char *p) {
  long j = 0;
#ifdef __AVX512F__
  for (; j + 16 <= m; j += 16) _mm256_storeu_si256((__m256i *)(p + 2 * j), _mm512_cvtps_ph(_mm512_loadu_ps(from + j), 0));
#endif
  for (; j + 8 <= m; j += 8) _mm_storeu_si128((__m128i *)(p + 2 * j), _mm256_cvtps_ph(_mm256_loadu_ps(from + j), 0));
  return j;
}
#else
static inline long halves_in(const char *p, long m, float *to) { return 0; }
static inline long halves_out(const float *from, long m, char *p) { return 0; }
#endif

#define T float
void SHARED(unpack_f)(const char *p, long s, int t, long m, T *to) {
  if (s == 0 && m > 1) {
    SHARED(unpack_f)(p, 8, t, 1, to);
    const T v = to[0];
    for (long j = 1; j < m; j++) to[j] = v;
    return;
  }
  if (t == F32 && s == 2 * sizeof(T) && aligned(p, sizeof(T))) {
    const T *q = (const T *)p;
    SIMD
    for (long j = 0; j < m; j++) to[j] = q[2 * j];
    return;
  }
  switch (t) {
  case F32: UNPACK(float, v) break;
  case F64: UNPACK(double, (float)v) break;
  case BF16: UNPACK(uint16_t, bfloat_to_float(v)) break;
  case F16:
    if (s == 2) {
      const long k = halves_in(p, m, to);
      p += 2 * k;
      to += k;
      m -= k;
    }
    UNPACK(uint16_t, half_to_float(v)) break;
  case I64: UNPACK(int64_t, (float)v) break;
  case I32: UNPACK(int32_t, (float)v) break;
  case I16: UNPACK(int16_t, v) break;
  case I8: UNPACK(int8_t, v) break;
  default: UNPACK(uint8_t, v)
  }
}
void SHARED(pack_f)(const T *from, char *p, long s, int t, long m) {
  switch (t) {
  case F32: PACK(float, v) break;
  case F64: PACK(double, v) break;
  case BF16: PACK(uint16_t, float_to_bfloat(v)) break;
  case F16:
    if (s == 2) {
      const long k = halves_out(from, m, p);
      p += 2 * k;
      from += k;
      m -= k;
    }
    PACK(uint16_t, float_to_half(v)) break;
  case I64: PACK(int64_t, (int64_t)v) break;
  case I32: PACK(int32_t, (int32_t)v) break;
  case I16: PACK(int16_t, (int16_t)(int32_t)v) break;
  case I8: PACK(int8_t, (int8_t)(int32_t)v) break;
  case U8: PACK(uint8_t, (uint8_t)(int64_t)v) break;
  default: PACK(uint8_t, v != 0)
  }
}
#undef T
#define T double
void SHARED(unpack_d)(const char *p, long s, int t, long m, T *to) {
  if (s == 0 && m > 1) {
    SHARED(unpack_d)(p, 8, t, 1, to);
    const T v = to[0];
    for (long j = 1; j < m; j++) to[j] = v;
    return;
  }
  if (t == F64 && s == 2 * sizeof(T) && aligned(p, sizeof(T))) {
    const T *q = (const T *)p;
    SIMD
    for (long j = 0; j < m; j++) to[j] = q[2 * j];
    return;
  }
  switch (t) {
  case F32: UNPACK(float, v) break;
  case F64: UNPACK(double, v) break;
  case BF16: UNPACK(uint16_t, bfloat_to_float(v)) break;
  case F16: UNPACK(uint16_t, half_to_float(v)) break;
  case I64: UNPACK(int64_t, (double)v) break;
  case I32: UNPACK(int32_t, v) break;
  case I16: UNPACK(int16_t, v) break;
  case I8: UNPACK(int8_t, v) break;
  default: UNPACK(uint8_t, v)
  }
}
void SHARED(pack_d)(const T *from, char *p, long s, int t, long m) {
  switch (t) {
  case F32: PACK(float, (float)v) break;
  case F64: PACK(double, v) break;
  case BF16: PACK(uint16_t, float_to_bfloat((float)v)) break;
  case F16: PACK(uint16_t, float_to_half((float)v)) break;
  case I64: PACK(int64_t, (int64_t)v) break;
  case I32: PACK(int32_t, (int32_t)v) break;
  case I16: PACK(int16_t, (int16_t)(int32_t)v) break;
  case I8: PACK(int8_t, (int8_t)(int32_t)v) break;
  case U8: PACK(uint8_t, (uint8_t)(int64_t)v) break;
  default: PACK(uint8_t, v != 0)
  }
}
#undef T
#define T int64_t
void SHARED(unpack_l)(const char *p, long s, int t, long m, T *to) {
  if (s == 0 && m > 1) {
    SHARED(unpack_l)(p, 8, t, 1, to);
    const T v = to[0];
    for (long j = 1; j < m; j++) to[j] = v;
    return;
  }
  switch (t) {
  case F32: UNPACK(float, (int64_t)v) break;
  case F64: UNPACK(double, (int64_t)v) break;
  case BF16: UNPACK(uint16_t, (int64_t)bfloat_to_float(v)) break;
  case F16: UNPACK(uint16_t, (int64_t)half_to_float(v)) break;
  case I64: UNPACK(int64_t, v) break;
  case I32: UNPACK(int32_t, v) break;
  case I16: UNPACK(int16_t, v) break;
  case I8: UNPACK(int8_t, v) break;
  default: UNPACK(uint8_t, v)
  }
}
void SHARED(pack_l)(const T *from, char *p, long s, int t, long m) {
  switch (t) {
  case F32: PACK(float, (float)v) break;
  case F64: PACK(double, (double)v) break;
  case BF16: PACK(uint16_t, float_to_bfloat((float)v)) break;
  case F16: PACK(uint16_t, float_to_half((float)v)) break;
  case I64: PACK(int64_t, v) break;
  case I32: PACK(int32_t, (int32_t)v) break;
  case I16: PACK(int16_t, (int16_t)v) break;
  case I8: PACK(int8_t, (int8_t)v) break;
  case U8: PACK(uint8_t, (uint8_t)v) break;
  default: PACK(uint8_t, v != 0)
  }
}
#undef T

/* Narrow integers: operands of one dtype, masks, and numbers of 64 bits; results of that dtype, or bools. */
#define T int32_t
void SHARED(unpack_s)(const char *p, long s, int t, long m, T *to) {
  if (s == 0 && m > 1) {
    SHARED(unpack_s)(p, 8, t, 1, to);
    const T v = to[0];
    for (long j = 1; j < m; j++) to[j] = v;
    return;
  }
  switch (t) {
  case I64: UNPACK(int64_t, (T)v) break;
  case I32: UNPACK(int32_t, v) break;
  case I16: UNPACK(int16_t, v) break;
  case I8: UNPACK(int8_t, v) break;
  default: UNPACK(uint8_t, v)
  }
}
void SHARED(pack_s)(const T *from, char *p, long s, int t, long m) {
  switch (t) {
  case I32: PACK(int32_t, v) break;
  case I16: PACK(int16_t, (int16_t)v) break;
  case I8: PACK(int8_t, (int8_t)v) break;
  default: PACK(uint8_t, v != 0)
  }
}
#undef T
#define T uint8_t
void SHARED(unpack_b)(const char *p, long s, int t, long m, T *to) {
  if (s == 0 && m > 1) {
    SHARED(unpack_b)(p, 8, t, 1, to);
    const T v = to[0];
    for (long j = 1; j < m; j++) to[j] = v;
    return;
  }
  if (t == I64) {
    UNPACK(int64_t, (T)v)
  } else {
    UNPACK(uint8_t, v)
  }
}
void SHARED(pack_b)(const T *from, char *p, long s, int t, long m){PACK(uint8_t, v)}
#undef T

#endif
#define FROM_MAIN __attribute__((visibility("hidden")))
#define LOADED(T, c)                                                              \
  FROM_MAIN void SHARED(unpack_##c)(const char *p, long s, int t, long m, T *to); \
  FROM_MAIN void SHARED(pack_##c)(const T *from, char *p, long s, int t, long m);
LOADED(float, f) LOADED(double, d) LOADED(int64_t, l) LOADED(int32_t, s) LOADED(uint8_t, b)
#define unpack_f SHARED(unpack_f)
#define unpack_d SHARED(unpack_d)
#define unpack_l SHARED(unpack_l)
#define unpack_s SHARED(unpack_s)
#define unpack_b SHARED(unpack_b)
#define pack_f SHARED(pack_f)
#define pack_d SHARED(pack_d)
#define pack_l SHARED(pack_l)
#define pack_s SHARED(pack_s)
#define pack_b SHARED(pack_b)

/* A block's operand as a plain pointer: the array itself where it is contiguous and of the computing type, else a buffer. */
#define PLACES(T, c, own)                                                                           \
  static inline const T *load_##c(const char *p, long s, int t, long m, T *to) {                    \
    if (t == own && (s == (long)sizeof(T) || m == 1) && aligned(p, sizeof(T))) return (const T *)p; \
    unpack_##c(p, s, t, m, to);                                                                     \
    return to;                                                                                      \
  }                                                                                                 \
  static inline T *place_##c(char *p, long s, int t, T *to) {                                       \
    return t == own && s == (long)sizeof(T) && aligned(p, sizeof(T)) ? (T *)p : to;                 \
  }
PLACES(float, f, F32) PLACES(double, d, F64) PLACES(int64_t, l, I64)
    PLACES(int32_t, s, I32) static inline const uint8_t *load_b(const char *p, long s, int t, long m, uint8_t *to) {
  if (t >= U8 && (s == 1 || m == 1)) return (const uint8_t *)p;
  unpack_b(p, s, t, m, to);
  return to;
}
static inline uint8_t *place_b(char *p, long s, int t, uint8_t *to) { return s == 1 ? (uint8_t *)p : to; }

/* One block reduced in 4 x 64 bytes of lanes: the same order, so the same bits, on every instruction set. The vectors
   are of the machine's size VB (gcc takes wider ones apart element by element where it has to compare). */
#ifdef BLOCK_MAIN
#if defined(__AVX512F__)
#define VB 64
#elif defined(__AVX__)
#define VB 32
#else
#define VB 16
#endif
#define NV (64 / VB)
#define SELECT(c, mask, x, y) (V##c)(((VI##c)(x) & (VI##c)(mask)) | ((VI##c)(y) & ~(VI##c)(mask)))
#define PLUS(c, a, x) (a + x)
#define TIMES(c, a, x) (a * x)
#define MOST(c, a, x) SELECT(c, (x > a) | (x != x), x, a)
#define LEAST(c, a, x) SELECT(c, (x < a) | (x != x), x, a)
#define LANES _Pragma("GCC unroll 16") for         /* the lanes of a block are registers */
/* Vector i of the last m elements, filled up with z. Masked loads where there are some: a vector read from what was just
   stored element by element waits for the stores. */
#if VB == 64
#define MASK(W, m, i) ((m) - (i) * (W) >= (W) ? ~0u : (1u << ((m) - (i) * (W))) - 1)
#define REST_f(x, m, i, z) (Vf) _mm512_mask_loadu_ps(_mm512_set1_ps(z), (__mmask16)MASK(16, m, i), x)
#define REST_d(x, m, i, z) (Vd) _mm512_mask_loadu_pd(_mm512_set1_pd(z), (__mmask8)MASK(8, m, i), x)
#define REST_l(x, m, i, z) (Vl) _mm512_mask_loadu_epi64(_mm512_set1_epi64(z), (__mmask8)MASK(8, m, i), x)
#elif VB == 32 && defined(__AVX2__)
#define LEFT(c, T, m, i) (__m256i)(IOTA_##c < (T)((m) - (i) * (long)(VB / sizeof(T))))
#define REST_f(x, m, i, z) SELECT(f, LEFT(f, int, m, i), _mm256_maskload_ps(x + 8 * i, LEFT(f, int, m, i)), (Vf){} + z)
#define REST_d(x, m, i, z) SELECT(d, LEFT(d, int64_t, m, i), _mm256_maskload_pd(x + 4 * i, LEFT(d, int64_t, m, i)), (Vd){} + z)
#define REST_l(x, m, i, z) SELECT(l, LEFT(l, int64_t, m, i), \
    _mm256_maskload_epi64((const long long *)(x) + 4 * i, LEFT(l, int64_t, m, i)), (Vl){} + z)
#else
#define REST(c, T)                                                            \
  static inline V##c rest_##c(const T *x, long m, int i, T z) {               \
    V##c v = (V##c){} + z;                                                    \
    for (int l = 0, k = i * (int)(VB / sizeof(T)); l < (int)(VB / sizeof(T)); l++, k++) \
      if (k < m) v[l] = x[k];                                                 \
    return v;                                                                 \
  }
#define REST_f rest_f
#define REST_d rest_d
#define REST_l rest_l
#endif
#ifndef REST
#define REST(c, T)
#endif
#define REDUCER(name, T, c, id, OP)                                             \
  T NAMED(name##_##c##_, ISA)(const T *x, long m) {                             \
    enum { W = 64 / sizeof(T) };                                                \
    const T z = (T)id;                                                          \
    V##c a[4 * NV];                                                             \
    long j = 0;                                                                 \
    LANES (int i = 0; i < 4 * NV; i++) a[i] = (V##c){} + z;                     \
    for (; j + 4 * W <= m; j += 4 * W) {                                        \
      const V##c *q = (const V##c *)(x + j);                                    \
      LANES (int i = 0; i < 4 * NV; i++) {                                      \
        const V##c v = q[i];                                                    \
        a[i] = OP(c, a[i], v);                                                  \
      }                                                                         \
    }                                                                           \
    LANES (int i = 0; i < NV; i++) {                                            \
      V##c u = OP(c, a[i], a[i + NV]), w = OP(c, a[i + 2 * NV], a[i + 3 * NV]); \
      a[i] = OP(c, u, w);                                                       \
    }                                                                           \
    for (; j + W <= m; j += W) {                                                \
      const V##c *q = (const V##c *)(x + j);                                    \
      LANES (int i = 0; i < NV; i++) {                                          \
        const V##c v = q[i];                                                    \
        a[i] = OP(c, a[i], v);                                                  \
      }                                                                         \
    }                                                                           \
    if (j < m) {                                                                \
      LANES (int i = 0; i < NV; i++) {                                          \
        const V##c v = REST_##c(x + j, m - j, i, z);                            \
        a[i] = OP(c, a[i], v);                                                  \
      }                                                                         \
    }                                                                           \
    LANES (int g = NV / 2; g; g /= 2)                                           \
      LANES (int i = 0; i < g; i++) a[i] = OP(c, a[i], a[i + g]);               \
    LANES (int h = VB / sizeof(T) / 2; h; h /= 2) {                             \
      const V##c v = __builtin_shuffle(a[0], IOTA_##c + h);                     \
      a[0] = OP(c, a[0], v);                                                    \
    }                                                                           \
    return a[0][0];                                                             \
  }
#if VB == 64
#define IOTA_f ((VIf){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
#define IOTA_d ((VId){0, 1, 2, 3, 4, 5, 6, 7})
#define IOTA_l ((VIl){0, 1, 2, 3, 4, 5, 6, 7})
#elif VB == 32
#define IOTA_f ((VIf){0, 1, 2, 3, 4, 5, 6, 7})
#define IOTA_d ((VId){0, 1, 2, 3})
#define IOTA_l ((VIl){0, 1, 2, 3})
#else
#define IOTA_f ((VIf){0, 1, 2, 3})
#define IOTA_d ((VId){0, 1})
#define IOTA_l ((VIl){0, 1})
#endif
#define REDUCERS(T, I, c, LOW, HIGH)                                              \
  typedef T V##c __attribute__((vector_size(VB), aligned(sizeof(T)), may_alias)); \
  typedef I VI##c __attribute__((vector_size(VB), aligned(sizeof(T))));           \
  REST(c, T)                                                                      \
  REDUCER(sum, T, c, 0, PLUS) REDUCER(prod, T, c, 1, TIMES) REDUCER(max, T, c, LOW, MOST) REDUCER(min, T, c, HIGH, LEAST)
REDUCERS(float, int, f, -INF, INF)
REDUCERS(double, int64_t, d, -INF, INF)
REDUCERS(int64_t, int64_t, l, INT64_MIN, INT64_MAX)
#endif
#define REDUCED(T, c)                             \
  FROM_MAIN T SHARED(sum_##c)(const T *x, long m);  \
  FROM_MAIN T SHARED(prod_##c)(const T *x, long m); \
  FROM_MAIN T SHARED(max_##c)(const T *x, long m);  \
  FROM_MAIN T SHARED(min_##c)(const T *x, long m);
REDUCED(float, f) REDUCED(double, d) REDUCED(int64_t, l)
#define sum_f SHARED(sum_f)
#define sum_d SHARED(sum_d)
#define sum_l SHARED(sum_l)
#define prod_f SHARED(prod_f)
#define prod_d SHARED(prod_d)
#define prod_l SHARED(prod_l)
#define max_f SHARED(max_f)
#define max_d SHARED(max_d)
#define max_l SHARED(max_l)
#define min_f SHARED(min_f)
#define min_d SHARED(min_d)
#define min_l SHARED(min_l)

    /* Results of blocks are put together in double (sums compensated: *a + *e is the sum), integers in 64 bits. */
    typedef struct {
  union {
    double d;
    int64_t i;
  } a;
  double e;
} Acc;
static inline void add2(Acc *s, double x) {
  const double t = s->a.d + x, z = t - s->a.d, e = (s->a.d - (t - z)) + (x - z);
  s->e += e == e ? e : 0;
  s->a.d = t;
}
/* name_only: the result of a single block, as name_into gives it for the first one. */
#define COMBINE(name, id_d, id_l, E_d, E_l, first)      \
  static inline Acc name##_only_d(double x) {           \
    Acc s;                                              \
    s.a.d = first x;                                    \
    s.e = 0;                                            \
    return s;                                           \
  }                                                     \
  static inline Acc name##_only_l(int64_t x) {          \
    Acc s;                                              \
    s.a.i = x;                                          \
    s.e = 0;                                            \
    return s;                                           \
  }                                                     \
  static inline void name##_into_f(Acc *s, double x) {  \
    const double a = s->a.d;                            \
    E_d;                                                \
  }                                                     \
  static inline void name##_into_d(Acc *s, double x) {  \
    const double a = s->a.d;                            \
    E_d;                                                \
  }                                                     \
  static inline void name##_into_l(Acc *s, int64_t x) { \
    const int64_t a = s->a.i;                           \
    s->a.i = E_l;                                       \
  }                                                     \
  static inline Acc name##_start_f(void) {              \
    Acc s;                                              \
    s.a.d = id_d;                                       \
    s.e = 0;                                            \
    return s;                                           \
  }                                                     \
  static inline Acc name##_start_d(void) {              \
    Acc s;                                              \
    s.a.d = id_d;                                       \
    s.e = 0;                                            \
    return s;                                           \
  }                                                     \
  static inline Acc name##_start_l(void) {              \
    Acc s;                                              \
    s.a.i = id_l;                                       \
    s.e = 0;                                            \
    return s;                                           \
  }
COMBINE(sum, 0, 0, (void)a; add2(s, x), (int64_t)((uint64_t)a + (uint64_t)x), 0 +)
COMBINE(prod, 1, 1, s->a.d = a * x, (int64_t)((uint64_t)a * (uint64_t)x), )
COMBINE(max, -INF, INT64_MIN, s->a.d = x > a || x != x ? x : a, x > a ? x : a, )
COMBINE(min, INF, INT64_MAX, s->a.d = x < a || x != x ? x : a, x < a ? x : a, )
#define sum_only_f sum_only_d
#define prod_only_f prod_only_d
#define max_only_f max_only_d
#define min_only_f min_only_d
#define value_f(s) ((s).a.d + (s).e)
#define value_d(s) ((s).a.d + (s).e)
#define value_l(s) ((s).a.i)
