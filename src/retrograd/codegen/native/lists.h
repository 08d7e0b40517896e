/* One program over many tuples of arrays, in place and in one parallel region: the updates of optimizers. */
typedef struct {
  LineFn f;
  int nop;
  char **p;
  long *first, *size, items;
  char t[MAXOP];
  long s[MAXOP];
  const Number *num;
} Update;
static void update_task(void *argument, long k) {
  const Update *j = argument;
  long low = 0, high = j->items;
  while (high - low > 1) {
    const long middle = (low + high) / 2;
    if (j->first[middle] <= k)
      low = middle;
    else
      high = middle;
  }
  const long at = (k - j->first[low]) * GRAIN, n = j->size[low] - at < GRAIN ? j->size[low] - at : GRAIN;
  char *q[MAXOP];
  for (int o = 0; o < j->nop; o++) q[o] = j->p[low * j->nop + o] + at * j->s[o];
  j->f(q, j->s, j->t, n, j->num, NULL);
}
/* update(name, [(arrays...), ...], (numbers...)): True, or None for arrays that differ in dtype or size or have gaps */
static PyObject *update(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  if (n != 3 || !PyUnicode_CheckExact(args[0]) || !PyList_CheckExact(args[1]) || !PyTuple_CheckExact(args[2])) return refuse();
  int k = 0;
  while (k < COUNT &&
         !(infos[k].name[0] == '_' && infos[k].family == 'l' && !PyUnicode_CompareWithASCIIString(args[0], infos[k].name + 1)))
    k++;
  if (k == COUNT) return refuse();
  const Info *I = infos + k;
  const long items = PyList_GET_SIZE(args[1]);
  Number num[MAXOP];
  int common = -1, ok = PyTuple_GET_SIZE(args[2]) == I->nnum;
  for (int i = 0; i < I->nnum && ok; i++) ok = real_number(PyTuple_GET_ITEM(args[2], i), &num[i].d);
  if (!ok || !items) return refuse();
  Update j;
  j.nop = I->nin;
  j.items = items;
  j.num = num;
  j.p = malloc(items * (j.nop * sizeof(char *) + 2 * sizeof(long)));
  if (!j.p) return PyErr_NoMemory();
  j.first = (long *)(j.p + items * j.nop);
  j.size = j.first + items;
  long total = 0, elements = 0;
  for (long i = 0; i < items && ok; i++) {
    PyObject *row = PyList_GET_ITEM(args[1], i);
    ok = PyTuple_CheckExact(row) && PyTuple_GET_SIZE(row) == j.nop;
    for (int o = 0; o < j.nop && ok; o++) {
      PyObject *a = PyTuple_GET_ITEM(row, o);
      int code;
      PyArrayObject *x = float_array(a, &code);
      ok = x && contiguous(x) && PyArray_ISALIGNED(x) && PyArray_ISWRITEABLE(x);
      if (!ok) break;
      if (common < 0) common = code;
      if (!o) j.size[i] = PyArray_SIZE(x);
      ok = code == common && PyArray_SIZE(x) == j.size[i];
      j.p[i * j.nop + o] = PyArray_BYTES(x);
      j.t[o] = code;
      j.s[o] = item_size[code];
    }
    j.first[i] = total;
    total += (j.size[i] + GRAIN - 1) / GRAIN;
    elements += j.size[i];
  }
  if (ok) {
    j.f = (LineFn)tables[I->file][3 * I->index + type_of(common)].f[0];
    if (elements > 4096) {
      Py_BEGIN_ALLOW_THREADS parallel(update_task, &j, total);
      Py_END_ALLOW_THREADS
    } else
      for (long t = 0; t < total; t++) update_task(&j, t);
  }
  free(j.p);
  if (!ok) return refuse();
  Py_RETURN_TRUE;
}
