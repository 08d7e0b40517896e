/* Selection among pairs of a key and a position, for one type K of keys; included once for each. The
   positions show which of several equal elements was taken, so the steps are those of ops/reduction/selection.py. */
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define N(name) JOIN(name##_, K)
typedef struct {
  K key, at;
} N(Pair);
#define P N(Pair)
#define SWAP(a, b)       \
  do {                   \
    const P swap_ = (a); \
    (a) = (b);           \
    (b) = swap_;         \
  } while (0)
#define BEFORE(a, b) ((a).key < (b).key)

static void N(sift)(P *heap, long hole, long size, P value) {
  const long top = hole;
  long child = hole;
  while (child < (size - 1) / 2) {
    child = 2 * (child + 1);
    if (BEFORE(heap[child], heap[child - 1])) child--;
    heap[hole] = heap[child];
    hole = child;
  }
  if (size % 2 == 0 && child == (size - 2) / 2) {
    child = 2 * child + 1;
    heap[hole] = heap[child];
    hole = child;
  }
  long parent = (hole - 1) / 2;
  while (hole > top && BEFORE(heap[parent], value)) {
    heap[hole] = heap[parent];
    hole = parent;
    parent = (hole - 1) / 2;
  }
  heap[hole] = value;
}
static void N(heap_select)(P *p, long first, long middle, long last) {
  const long size = middle - first;
  for (long parent = (size - 2) / 2; parent >= 0 && size > 1; parent--) N(sift)(p + first, parent, size, p[first + parent]);
  for (long i = middle; i < last; i++)
    if (BEFORE(p[i], p[first])) {
      const P value = p[i];
      p[i] = p[first];
      N(sift)(p + first, 0, size, value);
    }
}
static void N(sort_heap)(P *p, long first, long last) {
  while (last - first > 1) {
    last--;
    const P value = p[last];
    p[last] = p[first];
    N(sift)(p + first, 0, last - first, value);
  }
}
static void N(insert)(P *p, long i) {
  const P value = p[i];
  while (BEFORE(value, p[i - 1])) {
    p[i] = p[i - 1];
    i--;
  }
  p[i] = value;
}
static void N(insertion_sort)(P *p, long first, long last) {
  for (long i = first + 1; i < last; i++) {
    if (BEFORE(p[i], p[first])) {
      const P value = p[i];
      for (long j = i; j > first; j--) p[j] = p[j - 1];
      p[first] = value;
    } else
      N(insert)(p, i);
  }
}
static long N(partition)(P *p, long first, long last) {
  const long a = first + 1, b = first + (last - first) / 2, c = last - 1;
  long middle;
  if (BEFORE(p[a], p[b]))
    middle = BEFORE(p[b], p[c]) ? b : BEFORE(p[a], p[c]) ? c : a;
  else
    middle = BEFORE(p[a], p[c]) ? a : BEFORE(p[b], p[c]) ? c : b;
  SWAP(p[first], p[middle]);
  const P pivot = p[first];
  long low = first + 1, high = last;
  for (;;) {
    while (BEFORE(p[low], pivot)) low++;
    high--;
    while (BEFORE(pivot, p[high])) high--;
    if (low >= high) return low;
    SWAP(p[low], p[high]);
    low++;
  }
}
static int N(depth)(long n) {
  int bits = 0;
  while (n >>= 1) bits++;
  return 2 * bits;
}
static void N(nth_element)(P *p, long nth, long last) {
  long first = 0;
  if (nth >= last) return;
  int depth = N(depth)(last);
  while (last - first > 3) {
    if (depth-- == 0) {
      N(heap_select)(p, first, nth + 1, last);
      SWAP(p[first], p[nth]);
      return;
    }
    const long cut = N(partition)(p, first, last);
    if (cut <= nth)
      first = cut;
    else
      last = cut;
  }
  N(insertion_sort)(p, first, last);
}
static void N(introsort)(P *p, long first, long last, int depth) {
  while (last - first > 16) {
    if (depth-- == 0) {
      N(heap_select)(p, first, last, last);
      N(sort_heap)(p, first, last);
      return;
    }
    const long cut = N(partition)(p, first, last);
    N(introsort)(p, cut, last, depth);
    last = cut;
  }
}
static void N(sort)(P *p, long last) {
  if (!last) return;
  N(introsort)(p, 0, last, N(depth)(last));
  N(insertion_sort)(p, 0, last < 16 ? last : 16);
  for (long i = 16; i < last; i++) N(insert)(p, i);
}
static void N(quickselect)(P *p, long n, long k) {
  long left = 0, right = n - 1;
  while (right > left + 1) {
    SWAP(p[(left + right) / 2], p[left + 1]);
    if (BEFORE(p[right], p[left + 1])) SWAP(p[left + 1], p[right]);
    if (BEFORE(p[right], p[left])) SWAP(p[left], p[right]);
    if (BEFORE(p[left], p[left + 1])) SWAP(p[left + 1], p[left]);
    long low = left + 2, high = right - 1;
    for (;;) {
      while (BEFORE(p[low], p[left])) low++;
      while (BEFORE(p[left], p[high])) high--;
      if (high < low) break;
      SWAP(p[low], p[high]);
      low++;
      high--;
    }
    SWAP(p[left], p[high]);
    if (high <= k) left = low;
    if (high >= k) right = high - 1;
  }
  if (right == left + 1 && BEFORE(p[right], p[left])) SWAP(p[left], p[right]);
}

/* Stable: by digits of eight bits from the lowest, without those that all keys share. `other` has room for n too. */
static P *N(radix_sort)(P *p, P *other, long n) {
  if (n < 48) {
    for (long i = 1; i < n; i++) {
      const P value = p[i];
      long j = i;
      while (j > 0 && BEFORE(value, p[j - 1])) {
        p[j] = p[j - 1];
        j--;
      }
      p[j] = value;
    }
    return p;
  }
  static const int digits = sizeof(K);
  long count[sizeof(K)][256];
  memset(count, 0, sizeof count);
  for (long i = 0; i < n; i++)
    for (int d = 0; d < digits; d++) count[d][p[i].key >> (8 * d) & 255]++;
  for (int d = 0; d < digits; d++) {
    long *c = count[d], total = 0;
    if (c[p[0].key >> (8 * d) & 255] == n) continue;
    for (int v = 0; v < 256; v++) {
      const long here = c[v];
      c[v] = total;
      total += here;
    }
    for (long i = 0; i < n; i++) other[c[p[i].key >> (8 * d) & 255]++] = p[i];
    P *swap = p;
    p = other;
    other = swap;
  }
  return p;
}

/* Which pair is k-th in that order: digits from the highest, of which those that cannot be it are left out. */
static P N(kth_in_order)(P *p, long n, long k) {
  for (int d = (int)sizeof(K) - 1; d >= 0 && n >= 48; d--) {
    long count[256] = {0}, m = 0;
    unsigned v = 0;
    for (long i = 0; i < n; i++) count[p[i].key >> (8 * d) & 255]++;
    while (k >= count[v]) k -= count[v++];
    if (count[v] == n) continue;
    for (long i = 0; i < n; i++) {
      const P here = p[i];
      p[m] = here;
      m += (here.key >> (8 * d) & 255) == v;
    }
    n = m;
  }
  return (n < 48 ? N(radix_sort)(p, p, n) : p)[k]; /* else all of them are equal */
}

/* One row: its keys and positions. */
static void N(read_row)(const char *row, int code, long n, int descending, P *p) {
  const K flip = descending ? (K) ~(K)0 : 0;
#define READ(T, E)                 \
  {                                \
    const T *x = (const T *)row;   \
    for (long i = 0; i < n; i++) { \
      const T v = x[i];            \
      p[i].key = (K)(E) ^ flip;    \
      p[i].at = (K)i;              \
    }                              \
  }                                \
  break;
  switch (code) {
  case NPY_BOOL:
  case NPY_UBYTE: READ(uint8_t, v)
  case NPY_BYTE: READ(int8_t, (uint8_t)v ^ 0x80u) case NPY_SHORT: READ(int16_t, (uint16_t)v ^ 0x8000u)
  case NPY_INT: READ(int32_t, (uint32_t)v ^ 0x80000000u)
  case NPY_FLOAT:
    READ(uint32_t, (v & 0x7fffffffu) > 0x7f800000u ? ~0u : v == 0x80000000u ? v : v & 0x80000000u ? ~v : v | 0x80000000u)
#if WIDE
  case NPY_LONG:
  case NPY_LONGLONG: READ(int64_t, (uint64_t)v ^ 0x8000000000000000ull)
  case NPY_DOUBLE:
    READ(uint64_t, (v & 0x7fffffffffffffffull) > 0x7ff0000000000000ull ? ~0ull
                   : v == 0x8000000000000000ull                        ? v
                   : v & 0x8000000000000000ull                         ? ~v
                                                                       : v | 0x8000000000000000ull)
#endif
  }
#undef READ
}
static void N(select_row)(const char *row, int code, long n, int what, long k, int descending, int sorted, P *p, int64_t *out) {
  N(read_row)(row, code, n, descending, p);
  long from = 0, m = k;
  switch (what) {
  case SORT:
    p = N(radix_sort)(p, p + n, n);
    m = n;
    break;
  case TOP:
    if (k * 64 <= n) {
      N(heap_select)(p, 0, k, n);
      N(sort_heap)(p, 0, k);
    } else {
      N(nth_element)(p, k - 1, n);
      if (sorted) N(sort)(p, k - 1);
    }
    break;
  case ORDER:
    N(sort)(p, n);
    m = n;
    break;
  case KTH:
    N(quickselect)(p, n, k);
    from = k;
    m = 1;
    break;
  default: out[0] = (int64_t)N(kth_in_order)(p, n, k).at; return;
  }
  for (long i = 0; i < m; i++) out[i] = (int64_t)p[from + i].at;
}
#undef N
#undef P
#undef BEFORE
#undef SWAP
#undef JOIN
#undef JOIN_
