# C types for graph.py.
cimport cython
from retrograd.core.opdef cimport OpDef
from retrograd.core.tensor cimport Operators, Tensor

cdef Operators operators
cdef int FLAG_PENDING

cdef class Sequence:
    cdef public unsigned long long n

cdef Sequence numbers

cdef class NodeHooks:
    cdef public object tensor, retain, pre, post

cdef class Node:
    cdef public unsigned long long _seq_
    cdef public tuple _next_
    cdef public object _nrs_
    cdef public int _count_, _waits_
    cdef public long long _mark_
    cdef public object _shape_, _dtype_
    cdef public list _saved_
    cdef public object _versions_, _attrs_, _leaves_
    cdef public NodeHooks _hooks_
    cdef public OpDef _op_
    cdef public object _metadata_
    cdef object __weakref__
    cpdef _run_(self, list grads, needed)
    cpdef _release_(self)

cdef class AccumulateGrad(Node):
    cdef public Tensor owned
    cdef public object weak

cpdef Tensor leaf_of(AccumulateGrad node)
@cython.locals(sink=AccumulateGrad, t=Tensor)
cpdef show(node)
cpdef accumulator(Tensor t)
cpdef unseen_accumulator(Tensor t)
cpdef edge_of(Tensor t)
cpdef unseen_edge(Tensor t)
@cython.locals(sink=AccumulateGrad)
cpdef edge_from(Node node, Tensor t)
@cython.locals(sink=AccumulateGrad)
cpdef shape_dtype(Node node, int nr)
@cython.locals(shapes=list, types=list, nr=Py_ssize_t)
cpdef describe_outputs(Node node, outputs)
