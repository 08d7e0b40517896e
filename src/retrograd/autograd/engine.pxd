# C types for engine.py.
cimport cython
from retrograd.autograd.accumulate cimport accumulate
from retrograd.core.arrays cimport ndarray as Array
from retrograd.core.graph cimport AccumulateGrad, Node, leaf_of, shape_dtype, show
from retrograd.core.state cimport Switches
from retrograd.core.tensor cimport Tensor, new_tensor

cdef Switches switches

cdef class GraphTask:
    cdef public long long id
    cdef public bint keep_graph, create_graph, whole
    cdef public dict waiting, buffers
    cdef public list ready, captured, callbacks
    cdef public object needed, captures, node
    cdef public set useful

@cython.locals(waiting=dict, node=Node, todo=list)
cpdef count_dependencies(GraphTask task, roots)

@cython.locals(ready=list, waiting=dict, buffers=dict, useful=set, release=bint, watched=bint, how=int, order=long, node=Node, following=Node, grads=list,
               results=list, i=int, n=Node, sink=AccumulateGrad, leaf=Tensor, t=Tensor, fits=bint)
cpdef loop(GraphTask task)

@cython.locals(t=Tensor, sink=AccumulateGrad, array=Array)
cdef fitted(Node node, int nr, grad, Node sender, int index)

@cython.locals(arrived=list)
cpdef deliver(GraphTask task, Node node, int nr, grad, Node sender, int index)
