# C types for saved.py.
cimport cython
from retrograd.core.graph cimport Node
from retrograd.core.state cimport Switches
from retrograd.core.tensor cimport Counter, Tensor, counter_of, new_tensor

cdef Switches switches

@cython.locals(twin=Tensor)
cpdef alias(Tensor t)
cpdef note_version(Node node, int slot, Tensor t)
@cython.locals(counter=Counter, held=Tensor)
cpdef unpack(Node node, int slot)
cpdef save_output(Node node, int slot, Tensor t, int nr)
@cython.locals(twin=Tensor)
cpdef restore_output(Tensor t, Node node, int nr)
@cython.locals(twin=Tensor)
cpdef restore_array(array, Node node, int nr)
cpdef share_counter(Tensor t)
