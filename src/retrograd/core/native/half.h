/* Half precision: computed in float, and rounded to nearest even. */
#ifndef RETROGRAD_HALF_H
#define RETROGRAD_HALF_H
#define NPY_BFLOAT (-16) /* stands for ml_dtypes.bfloat16, whose number NumPy gives out at run time */
static inline int number_code(PyArrayObject *a) {
  const PyArray_Descr *d = PyArray_DESCR(a);
  return d->type == 'E' && PyTypeNum_ISUSERDEF(d->type_num) && PyArray_ITEMSIZE(a) == 2 ? NPY_BFLOAT : d->type_num;
}
static inline float float_of(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}
static inline uint32_t bits_of(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return u;
}
static inline float from_bfloat(uint16_t h) { return float_of((uint32_t)h << 16); }
static inline uint16_t to_bfloat(float f) {
  const uint32_t u = bits_of(f), r = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
  return (uint16_t)(f != f ? 0x7fc0 | (u >> 16 & 0x8000) : r);
}
static inline float from_half(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff;
  const float normal = float_of((rest << 13) + 0x38000000), tiny = (float)(int)rest * 5.9604644775390625e-8f,
              special = float_of((rest << 13) | 0x7f800000);
  return float_of(bits_of(rest >= 0x7c00 ? special : rest < 0x400 ? tiny : normal) | sign);
}
static inline uint16_t to_half(float f) {
  const uint32_t u = bits_of(f), sign = (u >> 16) & 0x8000, a = u & 0x7fffffff,
                 normal = (a - 0x38000000 + 0xfff + ((a >> 13) & 1)) >> 13;
  const uint32_t tiny = bits_of(float_of(a) + 0.5f) - 0x3f000000; /* the addition rounds to multiples of 2^-24 */
  return (uint16_t)((a > 0x7f800000 ? 0x7e00 : a >= 0x477ff000 ? 0x7c00 : a < 0x38800000 ? tiny : normal) | sign);
}
#endif
