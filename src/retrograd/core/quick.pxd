# C types for quick.py.
cimport cython
from retrograd.core.arrays cimport ndarray as Array
from retrograd.core.opdef cimport OpDef
from retrograd.core.probe cimport spread
from retrograd.core.tensor cimport Tensor, new_tensor

cdef int QUICK_FLOATS, QUICK_CHECKED
cdef object ndarray

@cython.locals(i=Py_ssize_t)
cpdef quick_result(OpDef op, args, list values, bint floats)
@cython.locals(x=Array, y=Array, i=Py_ssize_t)
cpdef bint write_quick(OpDef op, args, list values, bint floats) except -1
@cython.locals(y=Array)
cpdef bint write_straight(OpDef op, Array target, other) except -1
cpdef bint passes(OpDef op, args) except -1
cpdef tensors_of(OpDef op, arrays)
