# C types for state.py.
cimport cython

cdef class Switches:
    cdef public long any_mode, function_modes

@cython.locals(state=dict)
cpdef set_grad_enabled(enabled)
