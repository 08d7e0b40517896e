# C types for engine.py.
cimport cython
from retrograd.autograd.accumulate cimport accumulate
from retrograd.core.arrays cimport ndarray as Array
from retrograd.core.probe cimport has_shape
from retrograd.core.graph cimport AccumulateGrad, Node, leaf_of, shape_dtype, show
from retrograd.core.state cimport Switches, switch_grad
from retrograd.core.thread_flags cimport thread_state
from retrograd.core.tensor cimport Tensor, new_tensor

cdef Switches switches
cdef int FLAG_PENDING, FLAG_CONJ, FLAG_NEG, FLAG_SPARSE

cdef class GraphTask:
    cdef public long long id
    cdef public bint keep_graph, create_graph, marked, partial, whole
    cdef public dict waiting, buffers
    cdef public list ready, captured, callbacks
    cdef public object needed, captures, node
    cdef public set useful

@cython.locals(waiting=dict, node=Node, n=Node, todo=list)
cpdef count_dependencies(GraphTask task, roots)

@cython.locals(mark='long long', node=Node, n=Node, todo=list)
cpdef mark_dependencies(GraphTask task, roots)

cdef int waits_of(GraphTask task, Node node) except? -1

@cython.locals(mark='long long', node=Node, n=Node, needed=dict, captures=dict, targets=dict, found=list, stack=list, useful=set, position=int)
cpdef find_needed(GraphTask task, roots, inputs, bint accumulate_grad)

@cython.locals(task=GraphTask, depth=int)
cpdef run_pass(roots, grads, bint keep_graph, bint create_graph, inputs, bint accumulate_grad)

@cython.locals(state=dict, first=Node, nr=int)
cpdef run_task(GraphTask task, roots, grads, work=*)

@cython.locals(sink=AccumulateGrad)
cdef bint has_tensor_hooks(Node node) except -1

@cython.locals(positions=list)
cdef bint capture(GraphTask task, Node node, list grads) except -1

cpdef push_ready(list heap, Node node)

@cython.locals(seq='unsigned long long', parent='Py_ssize_t', above=Node)
cdef sift_up(list heap, Py_ssize_t hole, Node node)

@cython.locals(size='Py_ssize_t', hole='Py_ssize_t', child='Py_ssize_t', last=Node, top=Node, right=Node, left=Node)
cpdef Node pop_ready(list heap)

@cython.locals(state=dict, ready=list, waiting=dict, buffers=dict, useful=set, release=bint, marked=bint, partial=bint, direct=bint, watched=bint, c=int, array=Array, run_bits=int, node=Node, following=Node, grads=list,
               results=list, i=int, n=Node, sink=AccumulateGrad, leaf=Tensor, t=Tensor, fits=bint)
cpdef loop(GraphTask task, dict state, Node first)

@cython.locals(t=Tensor, leaf=Tensor, sink=AccumulateGrad, array=Array)
cdef fitted(Node node, int nr, grad, Node sender, int index)

@cython.locals(arrived=list, old=Tensor, new=Tensor, both=Tensor, array=Array, in_place=bint)
cpdef deliver(GraphTask task, Node node, int nr, grad, Node sender, int index)
