# C types for backward.py.
cimport cython
from retrograd.core.graph cimport unseen_accumulator, unseen_edge
from retrograd.core.state cimport Switches
from retrograd.core.tensor cimport Tensor, wants_grad

cdef Switches switches
cdef int FLAG_SUBCLASS

@cython.locals(t=Tensor)
cdef bint is_ordinary(value) except -1
cpdef bint is_overridden(outputs, inputs) except -1
cpdef tuple as_tuple(value)
cpdef tuple grads_tuple(grads, Py_ssize_t count)
cpdef input_edge(t)
@cython.locals(first=Tensor)
cdef usual_call(output, inputs, grad)
@cython.locals(edges=list, t=Tensor)
cdef list usual_edges(tensors)
cdef bint is_complete(results) except -1
@cython.locals(edges=list)
cpdef list root_edges(outputs)
@cython.locals(made=list, i=Py_ssize_t, t=Tensor, first=Tensor)
cpdef list first_gradients(tuple outputs, tuple grads, bint batched)
