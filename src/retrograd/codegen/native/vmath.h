/* Vector math: elementary functions without branches, which the compiler vectorises inside any loop. At most 4 ULP. */
#include "polynomials.h"
static inline int bits_f(float x) {
  union {
    float f;
    int i;
  } u = {x};
  return u.i;
}
static inline float unbits_f(int i) {
  union {
    int i;
    float f;
  } u = {i};
  return u.f;
}
static inline int64_t bits_d(double x) {
  union {
    double f;
    int64_t i;
  } u = {x};
  return u.i;
}
static inline double unbits_d(int64_t i) {
  union {
    int64_t i;
    double f;
  } u = {i};
  return u.f;
}

/* One text for both types: F(name) is name_f or name_d, C(x) a constant of the type, I the integer of its size. */
#define MAGIC_f 12582912.f
#define MAGIC_d 6755399441055744.0
#define LN2HI_f 0.693145752f
#define LN2LO_f 1.42860677e-6f
#define LN2HI_d 0.693147180369123816490
#define LN2LO_d 1.90821492927058770002e-10
#define FMA_f FMAF
#define FMA_d FMAD
#define MANT_f 23
#define MANT_d 52
#define SHIFT_f(x) ((int)((unsigned)(x) << 23))
#define SHIFT_d(x) ((int64_t)((uint64_t)(x) << 52))
#define ONE_f 0x3f800000
#define ONE_d 0x3ff0000000000000LL
#define HALFROOT_f 0x3f3504f3
#define HALFROOT_d 0x3fe6a09e667f3bcdLL
#define TINY_f 1.17549435e-38f
#define TINY_d 2.2250738585072014e-308
#define LIFT_f 8388608.f
#define LIFT_d 4503599627370496.0
#define INF_f __builtin_inff()
#define INF_d __builtin_inf()
#define NAN_f __builtin_nanf("")
#define NAN_d __builtin_nan("")

/* log(1 + f) - f: in single precision without a division */
static inline float log_tail_f(float f) { return f * f * FMAF(f, log_poly_f(f), -0.5f); }
static inline double log_tail_d(double f) {
  const double s = f / (2 + f), z = s * s, h = 0.5 * f * f;
  return FMAD(s, FMAD(z, logs_poly_d(z), h), -h);
}

#define VMATH(T, I, c, EXPLOW, EXPHIGH, M1LOW, BIG)                                                                            \
  static inline T abs_##c(T x) { return sizeof(T) == 4 ? (T)__builtin_fabsf(x) : (T)__builtin_fabs(x); }                       \
  static inline T copysign_##c(T x, T y) {                                                                                     \
    return sizeof(T) == 4 ? (T)__builtin_copysignf(x, y) : (T)__builtin_copysign(x, y);                                        \
  }                                                                                                                            \
  static inline T sqrt_##c(T x) { return sizeof(T) == 4 ? (T)__builtin_sqrtf(x) : (T)__builtin_sqrt(x); }                      \
  /* 2 to an integer between the exponents of normal numbers */                                                                \
  static inline T two_##c(T k) { return unbits_##c(SHIFT_##c(bits_##c(k + MAGIC_##c)) + (I)ONE_##c); }                         \
  static inline T expm1_part_##c(T x, T *k) {                                                                                  \
    *k = FMA_##c(x, (T)1.4426950408889634, MAGIC_##c) - MAGIC_##c;                                                             \
    const T r = FMA_##c(*k, -LN2LO_##c, FMA_##c(*k, -LN2HI_##c, x));                                                           \
    return FMA_##c(r * r, exp_poly_##c(r), r);                                                                                 \
  }                                                                                                                            \
  static inline T exp_##c(T x) {                                                                                               \
    T c = x < (T)EXPLOW ? (T)EXPLOW : x;                                                                                       \
    c = c > (T)EXPHIGH ? (T)EXPHIGH : c;                                                                                       \
    T k;                                                                                                                       \
    const T q = expm1_part_##c(c, &k), h = FMA_##c(k, (T)0.5, MAGIC_##c) - MAGIC_##c;                                          \
    return (q + 1) * two_##c(h) * two_##c(k - h);                                                                              \
  }                                                                                                                            \
  static inline T expm1_##c(T x) {                                                                                             \
    T c = x < (T)M1LOW ? (T)M1LOW : x;                                                                                         \
    c = c > (T)EXPHIGH ? (T)EXPHIGH : c;                                                                                       \
    T k;                                                                                                                       \
    const T q = expm1_part_##c(c, &k), h = two_##c(k - 1), y = FMA_##c(h, q, h - (T)0.5);                                      \
    return abs_##c(x) < TINY_##c * 4 ? x : y + y;                                                                              \
  }                                                                                                                            \
  /* exp(2a) - 1 for 0 <= a <= 22: what tanh needs */                                                                          \
  static inline T tanh_##c(T x) {                                                                                              \
    const T a = abs_##c(x), m = a > 22 ? (T)22 : a;                                                                            \
    T k;                                                                                                                       \
    const T q = expm1_part_##c(m + m, &k), h = two_##c(k), e = FMA_##c(h, q, h - 1);                                           \
    return a == a ? copysign_##c(e / (e + 2), x) : x;                                                                          \
  }                                                                                                                            \
  static inline T exp2_##c(T x) {                                                                                              \
    T c = x < (T)(EXPLOW * 1.4427) ? (T)(EXPLOW * 1.4427) : x;                                                                 \
    c = c > (T)(EXPHIGH * 1.4427) ? (T)(EXPHIGH * 1.4427) : c;                                                                 \
    const T k = (c + MAGIC_##c) - MAGIC_##c, r = (c - k) * (T)0.6931471805599453;                                              \
    const T h = FMA_##c(k, (T)0.5, MAGIC_##c) - MAGIC_##c;                                                                     \
    return (FMA_##c(r * r, exp_poly_##c(r), r) + 1) * two_##c(h) * two_##c(k - h);                                             \
  }                                                                                                                            \
  /* log(x) = k log 2 + log(1 + f); the parts are returned so that log2 and log10 round once */                                \
  static inline T log_parts_##c(T x, T *k) {                                                                                   \
    const int low = x < TINY_##c;                                                                                              \
    const T z = low ? x * LIFT_##c : x;                                                                                        \
    const I u = bits_##c(z), e = (u - (I)HALFROOT_##c) & ~(((I)1 << MANT_##c) - 1);                                            \
    *k = EXPONENT_##c(e) - (low ? (T)MANT_##c : 0);                                                                            \
    return unbits_##c(u - e) - 1;                                                                                              \
  }                                                                                                                            \
  static inline T log_ends_##c(T x, T r) {                                                                                     \
    const T s = x < INF_##c ? r : x, t = x == 0 ? -INF_##c : NAN_##c;                                                          \
    return x > 0 ? s : t;                                                                                                      \
  }                                                                                                                            \
  static inline T log_##c(T x) {                                                                                               \
    T k;                                                                                                                       \
    const T f = log_parts_##c(x, &k);                                                                                          \
    return log_ends_##c(x, FMA_##c(k, LN2HI_##c, f + FMA_##c(k, LN2LO_##c, log_tail_##c(f))));                                 \
  }                                                                                                                            \
  static inline T log1p_##c(T x) {                                                                                             \
    const T u = 1 + x, c = (x - (u - 1)) / u, y = log_##c(u);                                                                  \
    const T r = (u > 0) & (u < INF_##c) ? y + c : y;                                                                           \
    return abs_##c(x) < TINY_##c * LIFT_##c ? x : r;                                                                           \
  }                                                                                                                            \
  static inline T log2_##c(T x) {                                                                                              \
    T k;                                                                                                                       \
    const T f = log_parts_##c(x, &k), y = f + log_tail_##c(f);                                                                 \
    return log_ends_##c(x, FMA_##c(y, (T)1.4426950408889634, k));                                                              \
  }                                                                                                                            \
  static inline T log10_##c(T x) {                                                                                             \
    T k;                                                                                                                       \
    const T f = log_parts_##c(x, &k), y = f + log_tail_##c(f);                                                                 \
    return log_ends_##c(x, FMA_##c(k, (T)0.3010299956639812, y * (T)0.4342944819032518));                                      \
  }                                                                                                                            \
  static inline T sigmoid_##c(T x) {                                                                                           \
    const T e = exp_##c(-abs_##c(x)), n = x < 0 ? e : (T)1;                                                                    \
    return n / (1 + e);                                                                                                        \
  }                                                                                                                            \
  static inline T sinh_##c(T x) {                                                                                              \
    const T a = abs_##c(x), e = expm1_##c(a), t = exp_##c(a * (T)0.5), y = (T)0.5 * (e + e / (e + 1));                         \
    const T r = a > (T)(EXPHIGH - 3) ? (T)0.5 * t * t : y;                                                                     \
    return a == a ? copysign_##c(r, x) : x;                                                                                    \
  }                                                                                                                            \
  static inline T cosh_##c(T x) {                                                                                              \
    const T a = abs_##c(x), e = exp_##c(a), t = exp_##c(a * (T)0.5), y = (T)0.5 * (e + 1 / e);                                 \
    return a > (T)(EXPHIGH - 3) ? (T)0.5 * t * t : y;                                                                          \
  }                                                                                                                            \
  static inline T asinh_##c(T x) {                                                                                             \
    const T a = abs_##c(x), z = a * a, y = log1p_##c(a + z / (1 + sqrt_##c(z + 1))), b = log_##c(a) + (T)0.6931471805599453;   \
    const T r = a > (T)BIG ? b : y;                                                                                            \
    return a == a ? copysign_##c(r, x) : x;                                                                                    \
  }                                                                                                                            \
  static inline T acosh_##c(T x) {                                                                                             \
    const T t = x - 1, y = log1p_##c(t + sqrt_##c(t * (t + 2))), b = log_##c(x) + (T)0.6931471805599453;                       \
    const T r = x > (T)BIG ? b : y;                                                                                            \
    return x >= 1 ? r : NAN_##c;                                                                                               \
  }                                                                                                                            \
  static inline T atanh_##c(T x) {                                                                                             \
    const T a = abs_##c(x), y = (T)0.5 * log1p_##c((a + a) / (1 - a));                                                         \
    return copysign_##c(y, x);                                                                                                 \
  }                                                                                                                            \
  static inline T atan_##c(T x) {                                                                                              \
    const T a = abs_##c(x);                                                                                                    \
    const int far = a > (T)2.414213562373095, mid = a > (T)0.4142135623730951;                                                 \
    const T n = far   ? (T) - 1                                                                                                \
                : mid ? a - 1                                                                                                  \
                      : a,                                                                                                     \
            d = far   ? a                                                                                                      \
                : mid ? a + 1                                                                                                  \
                      : (T)1,                                                                                                  \
            b = far   ? (T)1.5707963267948966                                                                                  \
                : mid ? (T)0.7853981633974483                                                                                  \
                      : (T)0;                                                                                                  \
    const T t = n / d, z = t * t, y = b + FMA_##c(t * z, atan_poly_##c(z), t);                                                 \
    return a == a ? copysign_##c(y, x) : x;                                                                                    \
  }                                                                                                                            \
  static inline T atan2_##c(T y, T x) {                                                                                        \
    const T ax = abs_##c(x), ay = abs_##c(y), big = ax > ay ? ax : ay, small = ax > ay ? ay : ax;                              \
    const int same = ax == ay;                                                                                                 \
    const T q = same ? (big == 0 ? (T)0 : (T)1) : small / big;                                                                 \
    const T r = atan_##c(q), s = ay > ax ? (T)1.5707963267948966 - r : r, u = bits_##c(x) < 0 ? (T)3.141592653589793 - s : s;  \
    const T w = copysign_##c(u, y), n = x != x ? x : y;                                                                        \
    return (x != x) | (y != y) ? n : w;                                                                                        \
  }                                                                                                                            \
  static inline T asin_##c(T x) {                                                                                              \
    const T a = abs_##c(x);                                                                                                    \
    const int far = a > (T)0.5;                                                                                                \
    const T z = far ? (1 - a) * (T)0.5 : x * x, t = far ? sqrt_##c(z) : a;                                                     \
    const T p = FMA_##c(t * z, asin_poly_##c(z), t), r = far ? (T)1.5707963267948966 - 2 * p : p;                              \
    return a <= 1 ? copysign_##c(r, x) : NAN_##c;                                                                              \
  }                                                                                                                            \
  static inline T acos_##c(T x) {                                                                                              \
    const T a = abs_##c(x);                                                                                                    \
    const int far = a > (T)0.5;                                                                                                \
    const T z = far ? (1 - a) * (T)0.5 : x * x, t = far ? sqrt_##c(z) : x;                                                     \
    const T p = FMA_##c(t * z, asin_poly_##c(z), t), s = x < 0 ? (T)3.141592653589793 - 2 * p : 2 * p;                         \
    const T r = far ? s : (T)1.5707963267948966 - p;                                                                           \
    return a <= 1 ? r : NAN_##c;                                                                                               \
  }                                                                                                                            \
  /* erfc(x) exp(x^2) for x >= 3/4, then exp(-x^2) with the square in two parts */                                             \
  static inline T erfc_far_##c(T a) {                                                                                          \
    const T m = a > (T)ERFCEND_##c ? (T)ERFCEND_##c : a, h = unbits_##c(bits_##c(m) & (I)ERFCMASK_##c), l = (m - h) * (m + h); \
    const T y = exp_##c(-h * h) * (erfc_poly_##c((m - 3) / (m + 3)) / (m + 3));                                                \
    return FMA_##c(y, FMA_##c(l * l, exp_poly_##c(-l), -l), y);                                                                \
  }                                                                                                                            \
  static inline T erfc_##c(T x) {                                                                                              \
    const T a = abs_##c(x), y = erfc_far_##c(a < (T)0.75 ? (T)0.75 : a), f = x < 0 ? 2 - y : y,                                \
            n = 1 - FMA_##c(x, erf_poly_##c(x * x), x);                                                                        \
    const T r = a < (T)0.75 ? n : f;                                                                                           \
    return a == a ? r : x;                                                                                                     \
  }                                                                                                                            \
  static inline T ceil_##c(T x) { return sizeof(T) == 4 ? (T)__builtin_ceilf(x) : (T)__builtin_ceil(x); }                      \
  static inline T floor_##c(T x) { return sizeof(T) == 4 ? (T)__builtin_floorf(x) : (T)__builtin_floor(x); }                   \
  static inline T trunc_##c(T x) { return sizeof(T) == 4 ? (T)__builtin_truncf(x) : (T)__builtin_trunc(x); }                   \
  static inline T rint_##c(T x) { return sizeof(T) == 4 ? (T)__builtin_rintf(x) : (T)__builtin_rint(x); }                      \
  static inline T maximum_##c(T a, T b) {                                                                                      \
    const T t = a < b ? b : a;                                                                                                 \
    return b != b ? b : t;                                                                                                     \
  }                                                                                                                            \
  static inline T minimum_##c(T a, T b) {                                                                                      \
    const T t = a > b ? b : a;                                                                                                 \
    return b != b ? b : t;                                                                                                     \
  }                                                                                                                            \
  static inline T fmax_##c(T a, T b) {                                                                                         \
    const T t = a < b ? b : a, u = a != a ? b : t;                                                                             \
    return b != b ? a : u;                                                                                                     \
  }                                                                                                                            \
  static inline T fmin_##c(T a, T b) {                                                                                         \
    const T t = a > b ? b : a, u = a != a ? b : t;                                                                             \
    return b != b ? a : u;                                                                                                     \
  }                                                                                                                            \
  static inline T sign_##c(T x) {                                                                                              \
    const T p = x > 0 ? (T)1 : (T)0, m = x < 0 ? (T) - 1 : p;                                                                  \
    return m;                                                                                                                  \
  }                                                                                                                            \
  static inline T clip_##c(T x, T lo, T hi) { return minimum_##c(maximum_##c(x, lo), hi); }

#define EXPONENT_f(e) ((float)((e) >> 23))
/* without a conversion of 64-bit integers, which AVX2 lacks */
#define EXPONENT_d(e) (unbits_d((((e) >> 52) & 0xfff) ^ 0x4330000000000800LL) - 4503599627372544.0)
#define ERFCEND_f 10.5
#define ERFCEND_d 27.4
#define ERFCMASK_f 0xfffff000
#define ERFCMASK_d 0xfffffffff8000000LL

VMATH(float, int, f, -104.0, 89.0, -18.0, 1e9)
VMATH(double, int64_t, d, -746.0, 710.0, -38.0, 1e18)

/* erf in single precision as 1 - exp(log(erfc |x|)): no second branch near 0 */
static inline float erf_f(float x) {
  const float a = abs_f(x), m = a > 4.f ? 4.f : a, y = m * erfl_poly_f(m);
  float k;
  const float q = expm1_part_f(y, &k), z = two_f(k);
  return a == a ? copysign_f((1.f - z) - z * q, x) : x;
}
static inline double erf_d(double x) {
  const double a = abs_d(x), near = FMAD(x, erf_poly_d(x * x), x),
               far = copysign_d(1 - erfc_far_d(a < 1     ? 1
                                               : a > 6.5 ? 6.5
                                                         : a),
                                x);
  const double r = a < 1 ? near : far;
  return a == a ? r : x;
}

/* erfinv in w = -log(1 - x^2): in the center, and in the root of w where x is close to 1 */
#define ERFINV(T, c)                                                                                                         \
  static inline T erfinv_##c(T x) {                                                                                          \
    const T w = -log_##c((1 - x) * (1 + x)), n = erfinvc_poly_##c(w - (T)3.125), f = erfinvt_poly_##c(sqrt_##c(w) - (T)4.3), \
            r = x * (w <= (T)6.25 ? n : f);                                                                                  \
    return abs_##c(x) == 1 ? x * INF_##c : r;                                                                                \
  }
ERFINV(float, f)
ERFINV(double, d)

/* sin and cos: |x| < 10^6 (the generator sends blocks with larger ones to the C library) */
#define TRIG_LIMIT 1e6
/* the sine and cosine of what is left of x after multiples of pi/2, whose number has its last bits in `quarter`; the parts
   of pi/2 have as many bits as the products stay exact with */
static inline void trig_f(float x, float *s, float *c, int *quarter) {
#ifdef __FMA__
  const float m = FMAF(x, 0.636619772f, MAGIC_f), k = m - MAGIC_f,
              r = FMAF(k, 1.71512451e-15f, FMAF(k, 4.37113883e-8f, FMAF(k, -1.57079637f, x))), z = r * r;
  *quarter = bits_f(m);
#else
  const double m = FMAD((double)x, 0.63661977236758134, MAGIC_d), k = m - MAGIC_d;
  *quarter = (int)bits_d(m);
  const float r = (float)(((double)x - k * 1.57079632673412561417) - k * 6.07710050650619224932e-11), z = r * r;
#endif
  *s = FMAF(r * z, sin_poly_f(z), r);
  *c = FMAF(z * z, cos_poly_f(z), FMAF(z, -0.5f, 1.f));
}
static inline void trig_d(double x, double *s, double *c, int64_t *quarter) {
  const double m = FMAD(x, 0.63661977236758134, MAGIC_d), k = m - MAGIC_d;
  *quarter = bits_d(m);
  const double r = FMAD(k, -2.02226624879595063154e-21,
                        FMAD(k, -6.07710050630396597660e-11, FMAD(k, -1.57079632673412561417, x))),
               z = r * r;
  *s = FMAD(r * z, sin_poly_d(z), r);
  const double h = 0.5 * z, w = 1 - h;
  *c = w + (((1 - w) - h) + z * z * cos_poly_d(z));
}
#define TURNED_f(v, q) unbits_f(bits_f(v) ^ (int)((unsigned)((q) & 2) << 30))
#define TURNED_d(v, q) unbits_d(bits_d(v) ^ (int64_t)((uint64_t)((q) & 2) << 62))
#define TRIG(T, I, c)                              \
  static inline T sin_##c(T x) {                   \
    T s, o;                                        \
    I q;                                           \
    trig_##c(x, &s, &o, &q);                       \
    const T v = q & 1 ? o : s;                     \
    return x == 0 ? x : TURNED_##c(v, q);          \
  }                                                \
  static inline T cos_##c(T x) {                   \
    T s, o;                                        \
    I q;                                           \
    trig_##c(x, &s, &o, &q);                       \
    const T v = q & 1 ? s : o;                     \
    return TURNED_##c(v, q + 1);                   \
  }                                                \
  static inline T tan_##c(T x) {                   \
    T s, o;                                        \
    I q;                                           \
    trig_##c(x, &s, &o, &q);                       \
    const T n = q & 1 ? -o : s, d = q & 1 ? s : o; \
    return x == 0 ? x : n / d;                     \
  }
TRIG(float, int, f) TRIG(double, int64_t, d) static inline float sin_f_exact(float x) { return __builtin_sinf(x); }
static inline float cos_f_exact(float x) { return __builtin_cosf(x); }
static inline float tan_f_exact(float x) { return __builtin_tanf(x); }
static inline double sin_d_exact(double x) { return __builtin_sin(x); }
static inline double cos_d_exact(double x) { return __builtin_cos(x); }
static inline double tan_d_exact(double x) { return __builtin_tan(x); }

/* powers: in double for float; the C library's for double */
/* `a` where the condition (0 or 1) holds, else `b`, in a way that no branch comes of: one that depends on an exponent which
   all elements share would keep the loop from being vectorized */
static inline float chosen_f(int condition, float a, float b) {
  return unbits_f((-condition & bits_f(a)) | (~-condition & bits_f(b)));
}
static inline __attribute__((always_inline)) float pow_f(float x, float y) {
  const double a = abs_d((double)x), r = exp_d((double)y * log_d(a));
  const float h = y * 0.5f;
  const int whole = __builtin_floorf(y) == y, odd = whole & (__builtin_floorf(h) != h), inf = abs_f(y) == INF_f;
  const float v = chosen_f((a == 1.) & inf, 1.f, (float)r), turned = chosen_f(odd, -v, v),
              neg = chosen_f(whole | (a == INF_d) | (x == 0.f), turned, NAN_f),
              w = chosen_f((bits_f(x) < 0) & (x == x), neg, v), nan = chosen_f(x != x, x, chosen_f(y != y, y, w));
  return chosen_f((y == 0.f) | (x == 1.f), 1.f, nan);
}
static inline double pow_d(double x, double y) { return __builtin_pow(x, y); }
static inline float hypot_f(float x, float y) {
  const float r = (float)sqrt_d((double)x * x + (double)y * y);
  return (abs_f(x) == INF_f) | (abs_f(y) == INF_f) ? INF_f : r;
}
static inline double hypot_d(double x, double y) { return __builtin_hypot(x, y); }
/* exact while the quotient has at most 28 bits: it and the product with it are then exact in double */
#define FMOD_LIMIT 268435456.
static inline float fmod_f(float x, float y) {
  const double a = x, b = y, r = a - trunc_d(a / b) * b;
  const float v = (float)(abs_d(b) == INF_d ? a : r);
  return v == 0 ? unbits_f(bits_f(x) & (int)0x80000000) : v;
}
static inline float fmod_f_exact(float x, float y) { return __builtin_fmodf(x, y); }
static inline double fmod_d_exact(double x, double y) { return __builtin_fmod(x, y); }
/* Below 2^52 the truncated quotient is right or one too large in magnitude, and x - q * y exact: one step back mends it. */
#define FMOD_LIMIT_D 4503599627370496.
#ifdef __FP_FAST_FMA
static inline double fmod_d(double x, double y) {
  const double b = abs_d(y), a = abs_d(x), q = trunc_d(a / b), r = __builtin_fma(-q, b, a);
  const double v = b == INF_d ? a : r < 0 ? r + b : r;
  return bits_d(x) < 0 ? -v : v;
}
#else
static inline double fmod_d(double x, double y) { return __builtin_fmod(x, y); }
#endif
static inline float lgamma_f(float x) { return __builtin_lgammaf(x); }
static inline double lgamma_d(double x) { return __builtin_lgamma(x); }
static inline float nextafter_f(float x, float y) {
  const int step = (x < y) == (x > 0) ? 1 : -1;
  const float beside = unbits_f(bits_f(x) + step), from_zero = unbits_f((bits_f(y) & (int)0x80000000) | 1);
  const float there = x == 0 ? from_zero : beside, near = x == y ? y : there;
  return (x != x) | (y != y) ? x + y : near;
}
static inline double nextafter_d(double x, double y) {
  const int64_t step = (x < y) == (x > 0) ? 1 : -1;
  const double beside = unbits_d(bits_d(x) + step), from_zero = unbits_d((bits_d(y) & INT64_MIN) | 1);
  const double there = x == 0 ? from_zero : beside, near = x == y ? y : there;
  return (x != x) | (y != y) ? x + y : near;
}
/* integers: what they share with the floats by name */
static inline int64_t abs_l(int64_t x) { return x < 0 ? (int64_t)(0 - (uint64_t)x) : x; }
static inline int64_t maximum_l(int64_t a, int64_t b) { return a < b ? b : a; }
static inline int64_t minimum_l(int64_t a, int64_t b) { return a > b ? b : a; }
static inline int64_t fmax_l(int64_t a, int64_t b) { return a < b ? b : a; }
static inline int64_t fmin_l(int64_t a, int64_t b) { return a > b ? b : a; }
static inline int64_t sign_l(int64_t x) { return (x > 0) - (x < 0); }
static inline int64_t floor_l(int64_t x) { return x; }
static inline int64_t ceil_l(int64_t x) { return x; }
static inline int64_t trunc_l(int64_t x) { return x; }
static inline int64_t rint_l(int64_t x) { return x; }
#define NARROW(T, c)                                              \
  static inline T maximum_##c(T a, T b) { return a < b ? b : a; } \
  static inline T minimum_##c(T a, T b) { return a > b ? b : a; } \
  static inline T fmax_##c(T a, T b) { return a < b ? b : a; }    \
  static inline T fmin_##c(T a, T b) { return a > b ? b : a; }
NARROW(int32_t, s) NARROW(uint8_t, b)
