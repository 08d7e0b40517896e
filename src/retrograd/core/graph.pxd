# C types for graph.py.
cimport cython
from retrograd.core.tensor cimport Operators, Tensor

cdef Operators operators

cdef class Sequence:
    cdef public unsigned long long n

cdef Sequence sequence

cdef class NodeHooks:
    cdef public object tensor, retain, pre, post

cdef class Node:
    cdef public unsigned long long seq
    cdef public tuple next
    cdef public object nrs
    cdef public int count
    cdef public object shape, dtype
    cdef public list saved
    cdef public object versions, attrs
    cdef public NodeHooks hooks
    cdef public object _metadata
    cdef object __weakref__
    cpdef apply(self, list grads, needed)
    cpdef release(self)

cdef class AccumulateGrad(Node):
    cdef public Tensor variable

@cython.locals(node=AccumulateGrad)
cpdef accumulator(Tensor t)
cpdef edge_of(Tensor t)
@cython.locals(sink=AccumulateGrad)
cpdef shape_dtype(Node node, int nr)
