/* Products of matrices by tiles of the result that stay in registers (narrow.c). */
#ifndef RETROGRAD_PACKED_H
#define RETROGRAD_PACKED_H
typedef struct {
  /* a matrix of k rows and n columns, which are rb and cb elements apart */
  void (*pack)(const void *b, long rb, long cb, long k, long n, void *to);
  /* C = A B, or C + A B; the elements of A lie `ra` apart from row to row, and `ka` within a row; the panels of B `next`, and
     their rows `step`; the rows of C `gap` */
  void (*multiply)(const void *a, long ra, long ka, long rows, long k, const void *b, long next, long step, void *c, long n,
                   long gap, int add);
  /* the products of a vector with rows of a matrix, which are `apart` elements apart */
  void (*dots)(const void *x, const void *y, long apart, long k, long n, void *c, long gap);
  long wide, size;
} Narrow;
HIDDEN const Narrow *narrow_for(size_t size); /* of elements with this many bytes */
HIDDEN const Narrow *slim_for(size_t size);   /* for few columns */
static inline size_t packed_bytes(const Narrow *w, long k, long n) {
  return (size_t)(k * ((n + w->wide - 1) / w->wide) * w->wide * w->size);
}
/* ... of a packed matrix */
static inline void multiply_panels(const Narrow *w, const void *a, long ra, long ka, long rows, long k, const void *packed,
                                   void *c, long n, long gap, int add) {
  w->multiply(a, ra, ka, rows, k, packed, k * w->wide, w->wide, c, n, gap, add);
}
/* multiply_packed without a result of the caller's: NULL without an error where the BLAS does it better */
HIDDEN PyObject *tiled_product(PyArrayObject *a, PyArrayObject *b, PyArrayObject *c);
#endif
