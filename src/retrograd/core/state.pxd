# C types for state.py.
cimport cython

cdef class Tape:
    cpdef unary(self, op, a)
    cpdef binary(self, op, a, b)
    cpdef call(self, op, args)

cdef class Switches:
    cdef public long any_mode, function_modes
    cdef public Tape tape

@cython.locals(state=dict)
cpdef set_grad_enabled(enabled)
