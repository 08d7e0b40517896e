# C types for forward_ad.py.
cimport cython
from retrograd.core.graph cimport Node
from retrograd.core.state cimport Switches
from retrograd.core.tensor cimport Tensor, new_tensor, wants_grad
from retrograd.core.views cimport mark_view

cdef Switches switches

cdef class Identity(Node):
    cpdef _run_(self, list grads, needed)

cpdef check_floating(str role, t)
@cython.locals(twin=Tensor)
cdef Tensor alias_of(Tensor t)
cdef set_node(Tensor t, node)
