# C types for api.py.
from retrograd.core.state cimport Switches
from retrograd.core.tensor cimport Operators

cdef Switches switches
cdef Operators table
