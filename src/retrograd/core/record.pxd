# C types for record.py.
cimport cython
from retrograd.core.thread_flags cimport run_flags
from retrograd.core.arrays cimport ndarray as Array
from retrograd.core.graph cimport Node, Sequence, describe_outputs, edge_from
from retrograd.core.opdef cimport OpDef
from retrograd.core.probe cimport new_instance, own_fields, pooled, spread, untrack_fields
from retrograd.core.recipe cimport Attribute, Plan, Rule
from retrograd.core.saved cimport note_version, restore_array, save_input, save_output, unpack_slot
from retrograd.core.state cimport Switches
from retrograd.core.tensor cimport Counter, Tensor, new_tensor

cdef Switches switches
cdef object FLOAT32, FLOAT64, NOT_IMPLEMENTED, ndarray
cdef Sequence sequence
cdef int VALUE, SIZES, DTYPE, NDIM, STRIDES, GEOMETRY, NUMEL, SHAPE, LAYOUT, BLOCKSIZE, ATTR, GRAD, GRADS, NEEDED, SAVED

cdef class OpNode(Node):
    @cython.locals(op=OpDef, rule=Rule, results=list, nexts=tuple, i=int, wanted=bint, bare=bint)
    cpdef _run_(self, list grads, needed)
    cpdef _release_(self)

cdef bint has_packed(Node node) except -1
cdef run_unpacked(Node node, list grads, needed)
@cython.locals(array=Array, other=Array, values=list, t=Tensor, counter=Counter, kind=int, index=int)
cdef rule_result(OpNode node, Rule rule, Tensor grad)
@cython.locals(t=Tensor, counter=Counter)
cpdef unpack_fast(OpNode node, int slot)
@cython.locals(cls=type, node=OpNode)
cdef OpNode new_node(OpDef op)
@cython.locals(source=Tensor, i=Py_ssize_t)
cdef edge_at(OpNode node, OpDef op, args, int mask, Py_ssize_t place)
@cython.locals(t=Tensor)
cdef keep_input(OpNode node, int slot, value, bint written)
@cython.locals(a=Attribute)
cdef bint has_defaults(OpDef op, Plan plan, args) except -1
@cython.locals(plan=Plan)
cdef Plan plan_of(OpDef op, int mask)
@cython.locals(plan=Plan, a=Attribute, node=OpNode, nexts=list, values=list, i=Py_ssize_t, count=Py_ssize_t, slot=int, arg=int)
cpdef record(OpDef op, args, int mask, bint inplace)
@cython.locals(plan=Plan, source=Tensor, inputs=list, nexts=list, attrs=list, i=Py_ssize_t, slot=int, kind=int, arg=int, extra=int)
cdef record_lists(OpDef op, args, OpNode node)
@cython.locals(t=Tensor, shown=list, nr=Py_ssize_t)
cpdef finish(OpDef op, Node node, int mask, outputs)
@cython.locals(plan=Plan)
cpdef save_result(OpDef op, Node node, int mask, Tensor output)
@cython.locals(plan=Plan, slot=int, nr=int)
cpdef save_results(OpDef op, Node node, int mask, outputs)
cpdef save_written(OpDef op, Node node, int mask, Tensor target)
@cython.locals(t=Tensor, array=Array)
cpdef attribute_value(int kind, value, int extra)
@cython.locals(kind=int, index=int)
cpdef rule_arguments(Node node, Rule rule, grads, needed)
