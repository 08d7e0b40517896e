/* What the files of the runtime share: descriptions of kernels, dtype codes, arrays. */
#ifndef RETROGRAD_KERNEL_H
#define RETROGRAD_KERNEL_H
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#ifndef KERNEL_MAIN
#define NO_IMPORT_ARRAY
#endif
#define PY_ARRAY_UNIQUE_SYMBOL retrograd_native_api
#include <Python.h>
#include <numpy/arrayobject.h>
#include <stddef.h>
#include <stdint.h>
#include "pool.h"
#undef I
#define MAXOP 12
#define MAXPARAM 16
#define MAXD 16
enum { F32, F64, BF16, F16, I64, I32, I16, I8, U8, BOOL, OTHER };
enum { FLOATS = 1, DOUBLES = 2, INTS = 4, BOOLS = 8, WHOLE = 16 }; /* WHOLE: not half precision, computed in float */
typedef union {
  double d;
  int64_t i;
} Number;
typedef struct {
  union {
    double d;
    int64_t i;
  } a;
  double e;
} Acc;
typedef struct {
  void *f[3];
} Entry;
/* kinds of parameters: T tensor, M mask, N number, D dims, K keepdim, Y dtype, X its default only, O None only,
   S this text only, V this number only. A number that rounds is brought to the arrays' half precision first. What joins
   takes part in promotion: see enum below. */
enum { JOINS = 1, FLOATING = 2, NO_BOOLS = 4 }; /* the common dtype; that or the default one; bools are refused */
typedef struct {
  char kind, slot, optional, rounds, joins;
  double value;
  const char *text;
} Param;
typedef struct {
  const char *name;
  char family; /* p: one element, r: reduction, l: row, @: written by hand */
  int nparam, nin, nout, nnum;
  Param param[MAXPARAM];
  char types, out, leading, reducer, kept, exact, natural, count,
      counted; /* natural: 1 a result by rows, 2 linear, so that complex numbers are pairs of numbers; count: which number is
                  the size of operand `counted`, plus 1; out: s same, b bool, l int64 for integers, d the kinds of a row's
                  outputs */
  char kind[MAXOP];      /* of a row's operands */
  char outs[4];          /* of a row's results: which operands they are */
  int next, file, index; /* another alternative, -1 for none; where its functions are */
} Info;
typedef void (*PointFn)(char **, const long *, const char *, long, const Number *);
typedef Acc (*RowFn)(char **, const long *, const char *, long, const Number *);
typedef void (*ColFn)(char **, const long *, const long *, const char *, long, long, const Number *, void *);
typedef void (*EndFn)(void *, long, double, const Number *, char *, long, int);
typedef void (*LineFn)(char **, const long *, const char *, long, const Number *, void *);
typedef void (*WideFn)(char **, const long *, const char *, long, long, const Number *, void *);
typedef struct {
  PyObject_HEAD vectorcallfunc call;
  const Info *info;
  const Entry *entry;
} Kernel;

extern HIDDEN int bfloat16_type; /* NumPy's number of ml_dtypes.bfloat16 */
extern HIDDEN PyArray_Descr *bfloat16_descr;
extern HIDDEN const int item_size[];
static inline int code_of(PyArrayObject *a) {
  const PyArray_Descr *d = PyArray_DESCR(a);
  switch (d->type_num) {
  case NPY_FLOAT: return d->byteorder == '>' ? OTHER : F32;
  case NPY_DOUBLE: return d->byteorder == '>' ? OTHER : F64;
  case NPY_HALF: return d->byteorder == '>' ? OTHER : F16;
  case NPY_BOOL: return BOOL;
  case NPY_BYTE: return I8;
  case NPY_UBYTE: return U8;
  case NPY_SHORT: return d->byteorder == '>' ? OTHER : I16;
  case NPY_INT: return d->byteorder == '>' ? OTHER : I32;
  case NPY_LONG: return d->byteorder == '>' || sizeof(long) != 8 ? OTHER : I64;
  case NPY_LONGLONG: return d->byteorder == '>' ? OTHER : I64;
  default: return d->type_num == bfloat16_type && bfloat16_type ? BF16 : OTHER;
  }
}
static inline int is_array(PyObject *o) { return Py_TYPE(o) == &PyArray_Type; }
static inline int contiguous(PyArrayObject *a) { return PyArray_FLAGS(a) & NPY_ARRAY_C_CONTIGUOUS; }
static inline int type_of(int code) { return code == F64 ? 1 : code >= I64 ? 2 : 0; } /* the computing type */
static inline int group_of(int code) {
  return code == F64 ? DOUBLES : code == BOOL ? BOOLS : code >= OTHER ? 0 : code >= I64 ? INTS : FLOATS;
}
HIDDEN PyArray_Descr *descr_of(int code);
HIDDEN int read_dims(PyObject *o, int nd, char *marked);
#endif
