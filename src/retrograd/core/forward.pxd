# C types for forward.py.
cimport cython
from retrograd.core.thread_flags cimport grad_enabled
from retrograd.core.graph cimport edge_of
from retrograd.core.opdef cimport OpDef
from retrograd.core.recipe cimport Rule
from retrograd.core.tensor cimport Counter, Extra, Operators, Tensor, View, new_tensor, wants_grad

cdef class Levels:
    cdef public int current
    cdef public bint lends
    cdef public dict duals

cdef class Boundary:
    cdef public object tensor

cdef Levels here
cdef Operators operators
cdef int GRAD, GRADS, SAVED, ATTR, VALUE

cpdef tangent_of(Tensor t)
@cython.locals(extra=Extra)
cdef own_tangent(Tensor t)
@cython.locals(extra=Extra)
cpdef attach(Tensor t, Tensor tangent)
cpdef give_tangent(Tensor t, Tensor tangent, bint written=*)
cpdef Tensor primal_of(Tensor t)
@cython.locals(twin=Tensor)
cpdef Tensor twin_of(Tensor t)
cpdef bint same_layout(Tensor a, Tensor b) except -1
cpdef run(OpDef op, args, autograd)
cdef bint recorded(OpDef op, args, list tangents) except -1
cdef bint any_wants_grad(value) except -1
cdef list tangents_among(args, places)
cdef settle(OpDef op, Tensor result, int nr, Tensor tangent)
cpdef tangents_of(OpDef op, args, tangents, result)
@cython.locals(dual=Tensor, value=Tensor)
cdef list bare(args)
cdef multilinear(OpDef op, args, tangents)
@cython.locals(rule=Rule)
cdef elementwise(OpDef op, args, tangents, result)
cdef rule_value(OpDef op, int kind, int index, grad, args, result, int place)
