/* Products of few rows with a matrix that is used again and again, as in the steps of a recurrent network. */
#ifndef RETROGRAD_PACKED_H
#define RETROGRAD_PACKED_H
typedef struct {
  /* a matrix of k rows and n columns, which are rb and cb elements apart */
  void (*pack)(const void *b, long rb, long cb, long k, long n, void *to);
  /* C = A B, or C + A B; the elements of A lie `ra` apart from row to row, and `ka` within a row; the rows of C `gap` */
  void (*multiply)(const void *a, long ra, long ka, long rows, long k, const void *packed, void *c, long n, long gap, int add);
  long wide, size;
} Narrow;
HIDDEN const Narrow *narrow_for(size_t size); /* of elements with this many bytes */
static inline size_t packed_bytes(const Narrow *w, long k, long n) {
  return (size_t)(k * ((n + w->wide - 1) / w->wide) * w->wide * w->size);
}
#endif
