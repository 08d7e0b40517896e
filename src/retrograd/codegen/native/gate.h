/* glu(self, dim): the first half times the sigmoid of the second one; rows of both are operands of one loop. */
typedef struct {
  PointFn f;
  const char *x;
  char *out;
  long run, outer, rows;
  int code;
} Gate;
static void gate_task(void *argument, long k) {
  const Gate *j = argument;
  const long size = item_size[j->code], s[3] = {size, size, size}, first = k * j->rows, last = first + j->rows;
  const char t[3] = {(char)j->code, (char)j->code, (char)j->code};
  for (long r = first; r < last && r < j->outer; r++) {
    char *x = (char *)j->x + 2 * r * j->run * size, *q[3] = {x, x + j->run * size, j->out + r * j->run * size};
    j->f(q, s, t, j->run, NULL);
  }
}
static PyObject *native_glu(PyObject *const *args, Py_ssize_t n) {
  Gate j;
  long dim = -1;
  npy_intp dims[MAXD];
  PyArrayObject *x = n ? float_array(args[0], &j.code) : NULL;
  const int nd = x ? PyArray_NDIM(x) : 0;
  if (n < 1 || n > 2 || !x || nd > MAXD || !contiguous(x) || (n > 1 && !count_of(args[1], &dim))) return refuse();
  if (dim < 0) dim += nd;
  if (dim < 0 || dim >= nd || PyArray_DIM(x, dim) % 2 || !PyArray_SIZE(x)) return refuse();
  j.run = j.outer = 1;
  for (int d = 0; d < nd; d++) {
    dims[d] = d == dim ? PyArray_DIM(x, d) / 2 : PyArray_DIM(x, d);
    *(d < dim ? &j.outer : &j.run) *= dims[d];
  }
  PyObject *made = new_array(j.code, nd, dims);
  if (!made) return NULL;
  j.f = (PointFn)ENTRY(gate, type_of(j.code)).f[0];
  j.x = PyArray_BYTES(x);
  j.out = PyArray_BYTES((PyArrayObject *)made);
  j.rows = GRAIN / j.run + 1;
  const long tasks = (j.outer + j.rows - 1) / j.rows;
  if (tasks == 1)
    gate_task(&j, 0);
  else {
    Py_BEGIN_ALLOW_THREADS parallel(gate_task, &j, tasks);
    Py_END_ALLOW_THREADS
  }
  return made;
}
