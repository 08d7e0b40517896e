/* What loops compiled at build time and fused regions compiled at run time share: names for fused products, vectorised loops
   and numbers given as arguments. */
#include <stdint.h>
#define INF __builtin_inf()
#if defined(__FMA__) || defined(__aarch64__)
#define FMAF(a, b, c) __builtin_fmaf(a, b, c)
#define FMAD(a, b, c) __builtin_fma(a, b, c)
#else
#define FMAF(a, b, c) ((a) * (b) + (c))
#define FMAD(a, b, c) ((a) * (b) + (c))
#endif
#define SIMD _Pragma("omp simd")
typedef union {
  double d;
  int64_t i;
} Number;
