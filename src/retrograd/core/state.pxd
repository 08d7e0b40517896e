# C types for state.py.
cdef class Switches:
    cdef public long unusual
