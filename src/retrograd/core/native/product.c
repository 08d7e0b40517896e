/* Products of stacks of matrices: one call of the BLAS whose address is given for each, several at a time.
   Measured, 8 threads, float32, 64 products of 128x64 by 64x128: 0.3 ms (one after the other 2). */
#include "native.h"
typedef void (*Gemm)(void *, void *, void *, void *, void *, const void *, const void *, void *, const void *, void *,
                     const void *, void *, void *);
typedef struct {
  char *a, *b, *c;
  long sa, sb, sc;
  int m, n, k, lda, ldb, ldc;
  char ta, tb;
  Gemm gemm;
  int code;
  long count, chunk;
} Stack;
static void product_part(void *argument, long first, long last) {
  Stack *j = argument;
  int m = j->m, n = j->n, k = j->k, lda = j->lda, ldb = j->ldb, ldc = j->ldc;
  char ta = j->ta, tb = j->tb;
  const float one_f[2] = {1, 0}, none_f[2] = {0, 0};
  const double one_d[2] = {1, 0}, none_d[2] = {0, 0};
  const int wide = j->code == NPY_DOUBLE || j->code == NPY_CDOUBLE;
  const void *one = wide ? (void *)one_d : (void *)one_f, *none = wide ? (void *)none_d : (void *)none_f;
  const long end = last * j->chunk < j->count ? last * j->chunk : j->count;
  for (long i = first * j->chunk; i < end; i++) /* by rows: the product of the transposed matrices, turned round */
    j->gemm(&tb, &ta, &n, &m, &k, one, j->b + i * j->sb, &ldb, j->a + i * j->sa, &lda, none, j->c + i * j->sc, &ldc);
}
static int read_matrix(PyArrayObject *a, char *letter, int *ld) {
  const long size = PyArray_ITEMSIZE(a), rows = PyArray_DIM(a, 1), columns = PyArray_DIM(a, 2), s1 = PyArray_STRIDE(a, 1),
             s2 = PyArray_STRIDE(a, 2);
  if (!PyArray_ISALIGNED(a) || !PyArray_ISNOTSWAPPED(a) || s1 % size || s2 % size || PyArray_STRIDE(a, 0) % size) return 0;
  if ((s2 == size || columns == 1) && (rows == 1 || s1 >= columns * size)) {
    *letter = 'N';
    *ld = (int)(rows == 1 ? columns : s1 / size);
    return s1 / size < 0x7fffffff;
  }
  if ((s1 == size || rows == 1) && (columns == 1 || s2 >= rows * size)) {
    *letter = 'T';
    *ld = (int)(columns == 1 ? rows : s2 / size);
    return s2 / size < 0x7fffffff;
  }
  return 0;
}
/* multiply(a, b, c, gemm): three stacks of matrices with three dimensions each, c new */
FUNCTION(multiply) {
  PyArrayObject *a = array_at(args, 0), *b = array_at(args, 1), *c = array_at(args, 2);
  Stack j;
  if (!a || !b || !plain(c) || PyArray_NDIM(a) != 3 || PyArray_NDIM(b) != 3 || PyArray_NDIM(c) != 3 || !PyArray_SIZE(c) ||
      code_of(a) != code_of(b) || code_of(a) != code_of(c))
    Py_RETURN_NONE;
  j.code = code_of(c);
  if (j.code != NPY_FLOAT && j.code != NPY_DOUBLE && j.code != NPY_CFLOAT && j.code != NPY_CDOUBLE) Py_RETURN_NONE;
  const long count = PyArray_DIM(c, 0), m = PyArray_DIM(c, 1), n = PyArray_DIM(c, 2), k = PyArray_DIM(a, 2);
  if (PyArray_DIM(a, 0) != count || PyArray_DIM(b, 0) != count || PyArray_DIM(a, 1) != m || PyArray_DIM(b, 2) != n ||
      PyArray_DIM(b, 1) != k || k < 1 || m > 0x7fffffff || n > 0x7fffffff || k > 0x7fffffff || !read_matrix(a, &j.ta, &j.lda) ||
      !read_matrix(b, &j.tb, &j.ldb))
    Py_RETURN_NONE;
  j.m = (int)m;
  j.n = (int)n;
  j.k = (int)k;
  j.ldc = j.n;
  j.a = PyArray_BYTES(a);
  j.b = PyArray_BYTES(b);
  j.c = PyArray_BYTES(c);
  j.sa = PyArray_STRIDE(a, 0);
  j.sb = PyArray_STRIDE(b, 0);
  j.sc = PyArray_STRIDE(c, 0);
  j.gemm = (Gemm)PyLong_AsVoidPtr(args[3]);
  if (PyErr_Occurred()) return NULL;
  const double each = (double)m * (double)n * (double)k;
  j.count = count;
  j.chunk = each >= 262144 ? 1 : (long)(262144 / each) + 1;
  const long pieces = (count + j.chunk - 1) / j.chunk;
  Py_BEGIN_ALLOW_THREADS if (pieces * 2 <= thread_count()) product_part(&j, 0, pieces);
  else over_blas(product_part, &j, pieces);
  Py_END_ALLOW_THREADS Py_RETURN_TRUE;
}

/* cross(a, b, dim): cross products of vectors along a dimension of size 3, for arrays of one shape and dtype */
#define CROSS(T)                                                                                                          \
  {                                                                                                                       \
    const T *p = PyArray_DATA(a), *q = PyArray_DATA(b);                                                                   \
    T *z = PyArray_DATA((PyArrayObject *)made);                                                                           \
    for (long o = 0; o < outer; o++, p += 3 * inner, q += 3 * inner, z += 3 * inner)                                      \
      for (long i = 0; i < inner; i++) {                                                                                  \
        const T a0 = p[i], a1 = p[inner + i], a2 = p[2 * inner + i], b0 = q[i], b1 = q[inner + i], b2 = q[2 * inner + i]; \
        z[i] = a1 * b2 - a2 * b1;                                                                                         \
        z[inner + i] = a2 * b0 - a0 * b2;                                                                                 \
        z[2 * inner + i] = a0 * b1 - a1 * b0;                                                                             \
      }                                                                                                                   \
    return made;                                                                                                          \
  }
FUNCTION(cross) {
  PyArrayObject *a = array_at(args, 0), *b = array_at(args, 1);
  long d = PyLong_AsLong(args[2]);
  if (PyErr_Occurred()) {
    PyErr_Clear();
    Py_RETURN_NONE;
  }
  if (!plain(a) || !plain(b) || code_of(a) != code_of(b) || PyArray_NDIM(a) != PyArray_NDIM(b) ||
      memcmp(PyArray_DIMS(a), PyArray_DIMS(b), sizeof(npy_intp) * (size_t)PyArray_NDIM(a)))
    Py_RETURN_NONE;
  const int nd = PyArray_NDIM(a), code = code_of(a);
  if (d < 0) d += nd;
  if (d < 0 || d >= nd || PyArray_DIM(a, d) != 3 || !PyArray_SIZE(a) ||
      (code != NPY_FLOAT && code != NPY_DOUBLE && code != NPY_LONG))
    Py_RETURN_NONE;
  long inner = 1;
  for (int i = (int)d + 1; i < nd; i++) inner *= PyArray_DIM(a, i);
  const long outer = PyArray_SIZE(a) / (3 * inner);
  PyObject *made = PyArray_SimpleNew(nd, PyArray_DIMS(a), code);
  if (!made) return NULL;
  if (code == NPY_FLOAT) CROSS(float) else if (code == NPY_DOUBLE) CROSS(double) else CROSS(int64_t)
}
