# C types for waiting.py.
cimport cython
from retrograd.core.opdef cimport OpDef
from retrograd.core.record cimport OpNode, record, save_results
from retrograd.core.tensor cimport Tensor, wants_grad

cdef int PENDING, INFERENCE
cdef double LARGEST
cdef dict known_layouts

cdef class Layout:
    cdef public object shape, strides, dtype, steps
    cdef public str char
    cdef public Py_ssize_t size, span
    cdef public list spare
    cdef public bint contiguous
    cpdef bint is_of(self, array) except -1
    cpdef new(self)

cpdef Layout layout_of(array)

cdef class Choice:
    cdef public object program, checks
    cdef public OpDef op
    cdef public str kinds
    cdef public list tensors, numbers, guards, fixed
    cdef public bint sums
    cdef public int dim, keepdim, counted
    cpdef bint fits(self, args) except -1

cdef class Event:
    cdef public Choice choice
    cdef public tuple operands
    cdef public Py_ssize_t value
    cdef public Layout layout
    cdef public str type
    cdef public int inner

cdef class Waiting:
    cdef public dict facts, places
    cdef public object find_facts, run, flush
    cdef public bint alone
    cdef public Py_ssize_t longest
    cdef public list events, key, numbers, arrays, layouts, tensors
    cpdef clear(self)
    @cython.locals(choice=Choice)
    cpdef attempt(self, OpDef op, args, bint records)
    @cython.locals(mask=int, bit=int, node=OpNode)
    cpdef note(self, OpDef op, args, Tensor out)
    cpdef Py_ssize_t find(self, array) except -2
    @cython.locals(kind=str, char=str, operands=list, signature=list, t=Tensor, layout=Layout, number=Py_ssize_t, k=Py_ssize_t, inner=int)
    cpdef defer(self, Choice choice, args)
    cpdef Py_ssize_t read(self, array, args) except -2
    cpdef Py_ssize_t add(self, array, held, Layout layout) except -2
    cpdef int complete(self, list signature, Choice choice, args, Layout layout) except -3
    cpdef int summed(self, Choice choice, args, Layout layout) except -2
    @cython.locals(out=Tensor)
    cpdef make(self, Choice choice, tuple operands, Layout layout, str kind, int inner)
    cpdef learn(self, Choice choice, args, key, str kind)

@cython.locals(number=double)
cpdef bint is_number(value) except -1
