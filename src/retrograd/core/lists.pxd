# C types for lists.py.
cimport cython
from retrograd.core.thread_flags cimport grad_enabled, slow_path
from retrograd.core.dispatch cimport call
from retrograd.core.opdef cimport OpDef
from retrograd.core.state cimport Switches
from retrograd.core.tensor cimport Tensor, bump, new_tensor

cdef Switches switches

cdef class Each:
    cdef OpDef op
    cdef object whole, single, tail
    cdef Py_ssize_t width
    cdef bint spreads, bare, writes
    @cython.locals(count=Py_ssize_t, i=Py_ssize_t, columns=list)
    cdef list columns(self, tuple args)
    cdef prepare(self)

@cython.locals(t=Tensor, arrays=list, records=bint, i=Py_ssize_t)
cpdef write_each(OpDef op, targets, others, tail)
@cython.locals(t=Tensor, arrays=list, results=list, records=bint, i=Py_ssize_t)
cpdef list map_each(OpDef op, list columns, tail)
cdef bint is_bare(Tensor t, bint records) except -1
@cython.locals(t=Tensor, g=Tensor, made=list, seen=set, left=list, right=list, count=Py_ssize_t)
cpdef gradient_lists(params, Py_ssize_t elements)
@cython.locals(t=Tensor)
cpdef bint has_lazy_bits(list tensors) except -1
@cython.locals(t=Tensor)
cpdef bint has_subclass(args) except -1
