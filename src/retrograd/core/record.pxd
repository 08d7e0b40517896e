# C types for record.py.
cimport cython
from retrograd.core.graph cimport Node, Sequence, edge_of
from retrograd.core.opdef cimport OpDef, Plan, Rule
from retrograd.core.saved cimport note_version, save_output
from retrograd.core.state cimport Switches
from retrograd.core.tensor cimport Counter, Tensor

cdef Switches switches
cdef Sequence sequence

cdef class OpNode(Node):
    cdef public OpDef op
    @cython.locals(op=OpDef, rule=Rule, results=list, nexts=tuple, i=int, wanted=bint)
    cpdef _run(self, list grads, needed)
    cpdef _release(self)

@cython.locals(t=Tensor, counter=Counter)
cdef unpack_fast(OpNode node, int slot)
@cython.locals(node=OpNode, plan=Plan, saved=list, t=Tensor, other=Tensor, nr=int)
cpdef record_short(OpDef op, Tensor a, b, int mask)
@cython.locals(plan=Plan, node=OpNode, source=Tensor, i=int)
cpdef record(OpDef op, args, int mask, bint inplace)
@cython.locals(plan=Plan)
cpdef save_results(OpDef op, Node node, int mask, outputs)
