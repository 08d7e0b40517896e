# C types for quick.py.
cimport cython
from retrograd.core.arrays cimport ndarray as Array
from retrograd.core.opdef cimport OpDef
from retrograd.core.state cimport Switches
from retrograd.core.tensor cimport Tensor, bump, new_tensor
from retrograd.core.thread_flags cimport grad_enabled

cdef Switches switches
cdef int QUICK_FLOATS, QUICK_CHECKED
cdef object FLOAT32, FLOAT64

@cython.locals(values=list)
cpdef call_native(OpDef op, args)
@cython.locals(target=Tensor, values=list, records=bint, x=Array, y=Array)
cpdef write_native(OpDef op, args)
@cython.locals(t=Tensor, array=Array, floats=bint, arrays=list)
cdef bint quick_arrays(OpDef op, list values, bint records) except -1
cpdef bint passes(OpDef op, args) except -1
cpdef tensors_of(OpDef op, arrays)
