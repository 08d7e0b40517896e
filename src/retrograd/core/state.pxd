# C types for state.py.
cimport cython

cdef class Switches:
    cdef public long any_mode

@cython.locals(state=dict)
cpdef set_grad_enabled(enabled)
