# C types for saved.py.
cimport cython
from retrograd.core.thread_flags cimport run_flags
from retrograd.core.graph cimport Node, edge_of
from retrograd.core.state cimport Switches, set_grad_enabled
from retrograd.core.tensor cimport Counter, Tensor, counter_of, new_tensor, wants_grad

cdef Switches switches
cdef object ndarray

cdef class SavedTensor:
    cdef public object _hooks, _packed, _producer, _tensor, _node
    cdef public bint _released, _is_output, _leaf, _requires
    cdef public int _nr
    cdef public long long _version
    @cython.locals(t=object, twin=Tensor)
    cpdef unpack(self, node=*)

@cython.locals(self=SavedTensor)
cpdef SavedTensor pack(Tensor t, bint is_output, int nr, hooks)
cdef pack_by(SavedTensor self, hooks, Tensor t)
cpdef save_input(Node node, int slot, t)

@cython.locals(twin=Tensor)
cpdef alias(Tensor t)
cpdef note_version(Node node, int slot, Tensor t)
@cython.locals(counter=Counter, held=Tensor)
cpdef unpack_slot(Node node, int slot)
cpdef save_output(Node node, int slot, Tensor t, int nr)
@cython.locals(twin=Tensor)
cpdef restore_output(Tensor t, Node node, int nr)
@cython.locals(twin=Tensor)
cpdef restore_array(array, Node node, int nr)
cpdef share_counter(Tensor t)
