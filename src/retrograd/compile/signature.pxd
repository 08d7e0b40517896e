# C types for signature.py.
cimport cython
from retrograd.core.thread_flags cimport grad_enabled
from retrograd.core.tensor cimport Tensor, wants_grad

@cython.locals(t=Tensor, parts=list)
cpdef signature_of(value, int depth)

@cython.locals(parts=list)
cpdef call_signature(args, kwargs)

cdef int DEEPEST, FIRST_DISTANCE, LONGEST_DISTANCE

cpdef full_signature(args, kwargs, bint uncaptured, long generation)

cdef class Steady:
    cdef public long hits, calls, recorded_next, misses
    cdef public object variant
    cdef public bint fuses
    cpdef note(self, long misses)
    cpdef bint is_due(self) except -1

@cython.locals(steady=Steady)
cpdef settled(dict known, args, kwargs, bint uncaptured, long generation)
