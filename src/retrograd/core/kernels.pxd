# C types for kernels.py.
cimport cython
from retrograd.core.arrays cimport ndarray as Array
from retrograd.core.opdef cimport OpDef
from retrograd.core.tensor cimport Tensor

cpdef compute_arrays(OpDef op, args)
cdef object complex_half
cdef bint takes_complex_half(OpDef op, args, list values)
cpdef run_kernel(OpDef op, args, list values)
@cython.locals(pure=OpDef, target=Array, other=Array)
cdef written(OpDef op, args, list values, int uniform)
cpdef run_native(OpDef op, args, list values)
@cython.locals(source=OpDef)
cpdef run_direct(OpDef op, arrays)
cpdef check_shapes(OpDef op, args)
cpdef orders(OpDef op, args, list values)
cpdef in_order(OpDef op, operands, result)
cdef list operands(OpDef op, list values)
cpdef promote_operands(OpDef op, args, list values)
cpdef widen(OpDef op, list values)
cpdef write_into(OpDef op, Tensor target, result)
