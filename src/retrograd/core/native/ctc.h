/* Connectionist temporal classification of one example, for one type T of elements; included once for each. */
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define N(name) JOIN(name##_, T)
static T N(together)(T a, T b, T c) { /* log(exp(a) + exp(b) + exp(c)) */
  const T top = a > b ? a > c ? a : c : b > c ? b : c;
  if (top == -(T)__builtin_inf()) return top;
  return (T)log(exp((double)(a - top)) + exp((double)(b - top)) + exp((double)(c - top))) + top;
}
static void N(ctc_forward)(const Ctc *j, long b) {
  const T none = -(T)__builtin_inf();
  const long count = j->counts[b], frames = j->lengths[b], width = 2 * count + 1, row = j->batch * j->classes;
  const int64_t *target = j->targets + j->starts[b];
  T *alpha = (T *)j->alpha + b * j->frames * j->width;
  const T *lp = (const T *)j->log_probs + b * j->classes;
  for (long i = 0; i < j->frames * j->width; i++) alpha[i] = none;
  for (long t = 0; t < frames; t++) {
    T *here = alpha + t * j->width;
    const T *before = here - j->width, *p = lp + t * row;
    for (long s = 0; s < width; s++) {
      const int64_t label = s % 2 ? target[s / 2] : j->blank;
      T v;
      if (!t)
        v = s < 2 ? 0 : none;
      else
        v = N(together)(before[s], s > 0 ? before[s - 1] : none,
                        s > 2 && s % 2 && target[s / 2] != target[s / 2 - 1] ? before[s - 2] : none);
      here[s] = v + p[label];
    }
  }
  T *end = alpha + (frames - 1) * j->width, *loss = (T *)j->loss + b;
  if (!frames)
    *loss = count ? (T)__builtin_inf() : 0;
  else
    *loss = -N(together)(end[2 * count], count ? end[2 * count - 1] : none, none);
}
/* The gradient for frames that come out of a log_softmax: probabilities less the posterior of the classes. */
static void N(ctc_backward)(const Ctc *j, long b, T *behind, T *posterior) {
  const T none = -(T)__builtin_inf();
  const long count = j->counts[b], frames = j->lengths[b], width = 2 * count + 1, row = j->batch * j->classes;
  const int64_t *target = j->targets + j->starts[b];
  const T *alpha = (const T *)j->alpha + b * j->frames * j->width, *lp = (const T *)j->log_probs + b * j->classes;
  T *out = (T *)j->out + b * j->classes;
  const T loss = ((const T *)j->loss)[b], grad = ((const T *)j->grad)[b];
  T *now = behind, *next = behind + j->width;
  for (long t = j->frames - 1; t >= 0; t--) {
    T *to = out + t * row;
    const T *p = lp + t * row;
    if (t >= frames) {
      for (long c = 0; c < j->classes; c++) to[c] = 0;
      continue;
    }
    if (loss == (T)__builtin_inf()) {
      for (long c = 0; c < j->classes; c++) to[c] = j->zero_infinity ? 0 * grad : (T)__builtin_nan("") * grad;
      continue;
    }
    for (long c = 0; c < j->classes; c++) posterior[c] = 0;
    for (long s = 0; s < width; s++) {
      const int64_t label = s % 2 ? target[s / 2] : j->blank;
      T v;
      if (t == frames - 1)
        v = s >= 2 * count - 1 ? 0 : none;
      else
        v = N(together)(next[s], s + 1 < width ? next[s + 1] : none,
                        s + 2 < width && s % 2 && target[s / 2] != target[s / 2 + 1] ? next[s + 2] : none);
      now[s] = v + p[label];
      const T both = alpha[t * j->width + s] + now[s];
      if (both > none) posterior[label] += (T)exp((double)(both - p[label] + loss));
    }
    for (long c = 0; c < j->classes; c++) to[c] = ((T)exp((double)p[c]) - posterior[c]) * grad;
    T *swap = now;
    now = next;
    next = swap;
  }
}
static void N(ctc_part)(void *a, long first, long last) {
  Ctc *j = a;
  T *space = j->out ? borrow((size_t)(2 * j->width + j->classes) * sizeof(T)) : NULL;
  if (j->out && !space) {
    j->failed = 1;
    return;
  }
  for (long b = first; b < last; b++)
    if (j->out)
      N(ctc_backward)(j, b, space, space + 2 * j->width);
    else
      N(ctc_forward)(j, b);
  give_back(space);
}
#undef N
#undef JOIN
#undef JOIN_
