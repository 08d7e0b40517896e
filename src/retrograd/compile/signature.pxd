# C types for signature.py.
cimport cython
from retrograd.core.arrays cimport ndarray as Array
from retrograd.core.probe cimport has_shape
from retrograd.core.thread_flags cimport grad_enabled
from retrograd.core.tensor cimport Tensor, wants_grad

@cython.locals(t=Tensor, array=Array, parts=list)
cpdef signature_of(value, int depth)

@cython.locals(parts=list)
cpdef call_signature(args, kwargs)

cdef int DEEPEST, FIRST_DISTANCE, LONGEST_DISTANCE

cpdef full_signature(args, kwargs, bint uncaptured, long generation)

cdef class Steady:
    cdef public long hits, calls, recorded_next, misses
    cdef public object variant
    cdef public bint fuses, grad, uncaptured
    cdef public long generation
    cdef public list tensors
    @cython.locals(t=Tensor, array=Array, tensors=list, i=Py_ssize_t, requires=bint, grad=bint)
    cpdef bint fits(self, args, kwargs, bint uncaptured, long generation) except -1
    cpdef note(self, long misses)
    cpdef bint is_due(self) except -1

@cython.locals(steady=Steady)
cpdef settled(dict known, Steady last, args, kwargs, bint uncaptured, long generation)
