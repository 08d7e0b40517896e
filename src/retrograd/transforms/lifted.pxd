# C types for lifted.py.
cimport cython
from retrograd.core.opdef cimport OpDef
from retrograd.core.tensor cimport Extra, Tensor, new_tensor

cdef class Lifted:
    cdef public object captured, owner, parent, source, tangent
    cdef public object value

@cython.locals(t=Tensor, extra=Extra)
cpdef Tensor lift(Tensor value, owner, tangent=*, parent=*, source=*)
@cython.locals(t=Tensor)
cpdef unwrapped(level, value)
cpdef list unwrapped_arguments(level, OpDef op, args)
