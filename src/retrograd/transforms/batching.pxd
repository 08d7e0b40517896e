# C types for batching.py.
cimport cython
from retrograd.core.opdef cimport OpDef
from retrograd.core.tensor cimport Extra, Tensor, new_tensor

cdef class Batch:
    cdef public object value, owner
    cdef public int dim

@cython.locals(t=Tensor, extra=Extra)
cpdef Tensor make_batched(Tensor value, int dim, owner)
@cython.locals(t=Tensor)
cpdef bint any_batched(OpDef op, args, owner) except -1
