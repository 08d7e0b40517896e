# C types for accumulate.py.
cimport cython
from retrograd.core.arrays cimport ndarray as Array
from retrograd.core.state cimport Switches
from retrograd.core.tensor cimport Tensor, bump, new_tensor

cdef Switches switches
cdef list LOCKS
cdef Py_ssize_t STRIPES

cdef class Private:
    cdef public Py_ssize_t tensor, array
    cdef public bint calibrating

@cython.locals(old=Tensor, array=Array, alone=bint, fits=bint)
cpdef accumulate(Tensor variable, Tensor grad, bint create_graph, int held)
cdef bint same_layout(Array array, Array like) except -1
cdef bint is_plain(Tensor old) except -1
@cython.locals(made=Tensor)
cdef copied(Tensor variable, Tensor grad, bint counted)
