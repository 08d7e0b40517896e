/* TEMPLATE for both types, see levels.h */
#define T float
#include TEMPLATE
#undef T
#define T double
#include TEMPLATE
#undef T
#undef SUFFIX
#undef TARGET
#undef BYTES
