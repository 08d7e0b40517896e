# C types for state.py.
cdef class Tape:
    cpdef unary(self, op, a)
    cpdef binary(self, op, a, b)
    cpdef call(self, op, args)

cdef class Switches:
    cdef public long any_mode, function_modes
    cdef public Tape tape

cpdef set_grad_enabled(enabled)
cpdef switch_grad(dict state, enabled)

cdef Switches counts
