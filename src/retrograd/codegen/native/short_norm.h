/* Mean, deviation and result of segments of few elements, where calls of the loops would cost more than the loops. */
#define FEW_IN_ROW 32
#define SHORT_NORM(T)                                                                                                    \
  static void short_norm_##T(const T *x, T *out, long n, double eps, const T *w, const T *b, double *mean, double *var,  \
                             double *rstd) {                                                                             \
    double total = 0, square = 0;                                                                                        \
    for (long i = 0; i < n; i++) total += x[i];                                                                          \
    const double mu = total / (double)n;                                                                                 \
    for (long i = 0; i < n; i++) square += (x[i] - mu) * (x[i] - mu);                                                    \
    *mean = mu;                                                                                                          \
    *var = square / (double)n;                                                                                           \
    *rstd = 1 / __builtin_sqrt(*var + eps);                                                                              \
    if (out)                                                                                                             \
      for (long i = 0; i < n; i++) out[i] = (T)((x[i] - mu) * *rstd * (w ? w[i] : 1) + (b ? b[i] : 0));                  \
  }                                                                                                                      \
  static void short_affine_##T(const T *x, T *out, long n, double m, double a, double b) {                               \
    for (long i = 0; i < n; i++) out[i] = (T)((x[i] - m) * a + b);                                                       \
  }
SHORT_NORM(float)
SHORT_NORM(double)
