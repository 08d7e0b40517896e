/* What the files of the library of algorithms share. A function answers None where it does not take its arguments: the
   caller then computes with NumPy. */
#ifndef RETROGRAD_NATIVE_H
#define RETROGRAD_NATIVE_H
#define PY_SSIZE_T_CLEAN
#ifndef NPY_NO_DEPRECATED_API
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#endif
#ifndef NATIVE_MAIN
#define NO_IMPORT_ARRAY
#endif
#define PY_ARRAY_UNIQUE_SYMBOL retrograd_algorithms_api
#include <Python.h>
#include <numpy/arrayobject.h>
#include <stdint.h>
#include <string.h>
#include "../../codegen/native/pool.h"
#define FUNCTION(name) HIDDEN PyObject *name(PyObject *module, PyObject *const *args, Py_ssize_t given)
/* One loop compiled for several instruction sets, chosen when the library is loaded. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif
/* memcpy in pieces that no C library copies by one string instruction, which some processors run slowly between addresses
   that lie differently within their lines; whole arrays go through it at once */
static inline void copy_bytes(void *to, const void *from, size_t n) {
  const size_t piece = 1984;
  size_t i = 0;
  if (n < (size_t)1 << 18 && (((uintptr_t)to ^ (uintptr_t)from) & 63))
    for (; n - i > piece; i += piece) memcpy((char *)to + i, (const char *)from + i, piece);
  memcpy((char *)to + i, (const char *)from + i, n - i);
}
static inline PyArrayObject *array_at(PyObject *const *args, Py_ssize_t i) {
  return PyArray_Check(args[i]) ? (PyArrayObject *)args[i] : NULL;
}
/* Contiguous, aligned and in the byte order of this machine: what the loops read and write directly. */
static inline int plain(PyArrayObject *a) { return a && PyArray_ISCARRAY_RO(a); }
static inline int code_of(PyArrayObject *a) { return PyArray_DESCR(a)->type_num; }
/* The new array that a function was given to fill, if it answered True; otherwise None, or its error */
static inline PyObject *kept_if(PyObject *done, PyObject *made) {
  PyObject *kept = done == Py_True ? made : done ? Py_None : NULL;
  Py_XINCREF(kept);
  Py_XDECREF(done);
  Py_DECREF(made);
  return kept;
}

#include "half.h"

/* ---- threads (parallel.c): those of the generated loops; without them the caller does all. The cuts depend on sizes only,
   and no two parts write to the same place, so that the bits do not depend on the number of threads. */
typedef void (*Part)(void *job, long first, long last);
HIDDEN int thread_count(void);
/* part(job, first, last) over 0 .. count in pieces of at least 32,768 units, where each of the count takes `each` units */
HIDDEN void over(Part part, void *job, long count, long each);
/* the same with one item in a piece, while the BLAS uses one thread for each caller */
HIDDEN void over_blas(Part part, void *job, long count);
/* memory for one piece of work, of which each thread keeps some for the next; NULL if there is none */
HIDDEN void *borrow(size_t bytes);
HIDDEN void give_back(void *memory);

/* what a kernel of ours, or one of Python's, gives for copies in float of small arrays in half precision, rounded (halves.c) */
typedef PyObject *(*Kernel)(PyObject *module, PyObject *const *args, Py_ssize_t given);
HIDDEN PyObject *computed_in_float(Kernel kernel, PyObject *function, PyObject *const *args, Py_ssize_t n);
#endif
