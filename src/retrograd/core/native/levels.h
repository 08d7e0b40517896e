/* Includes TEMPLATE for float and double, for each level of x86-64 where the compiler knows them (LEVELS), and for any machine
   where it does not, or if PORTABLE is defined. The template reads T, BYTES of a vector, SUFFIX of its names and TARGET. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define LEVELS
#define SUFFIX _v4
#define TARGET __attribute__((target("arch=x86-64-v4,prefer-vector-width=512")))
#define BYTES 64
#include "both.h"
#define SUFFIX _v3
#define TARGET __attribute__((target("arch=x86-64-v3")))
#define BYTES 32
#include "both.h"
static int has_v4(void) {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
static int has_v3(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
}
#endif
#if !defined(LEVELS) || defined(PORTABLE)
#define SUFFIX _any
#define TARGET
#define BYTES 16
#include "both.h"
#endif
