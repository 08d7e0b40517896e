# C types for forward_ad.py.
cimport cython
from retrograd.core.graph cimport Node
from retrograd.core.tensor cimport Tensor

cdef class Identity(Node):
    cpdef _run(self, list grads, needed)

cpdef check_floating(str role, t)
@cython.locals(twin=Tensor)
cdef Tensor alias_of(Tensor t)
cdef set_node(Tensor t, node)
