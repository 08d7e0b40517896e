# C types for tensor.py.
cimport cython
from retrograd.core.thread_flags cimport inference, slow_path
from retrograd.core.arrays cimport dtype as DType, ndarray as Array
from retrograd.core.opdef cimport OpDef
from retrograd.core.state cimport Switches

cdef Switches switches

@cython.freelist(64)
cdef class Counter:
    cdef public long long n
    cdef public str writes      # a str and not an object, so that counters stay out of the garbage collector

@cython.freelist(64)
cdef class View:
    cdef public Tensor base
    cdef public object op, args
    cdef public View parent
    cdef public int creation, depth, output
    cdef public long long version

@cython.locals(view=View)
cpdef View new_view(Tensor base, op, args, int output, View parent, int creation, long long version)

cdef class Extra:
    cdef public object hooks, post_hooks, tangent, batch, sparse, name, grad_dtype, backward_hooks, trail
    cdef public bint retains_grad, grad_dtype_set, detached

cdef class Dispatcher:
    cpdef unary(self, OpDef op, Tensor a)
    cpdef binary(self, OpDef op, Tensor a, b)
    cpdef call(self, OpDef op, args)
    cpdef refresh(self, tensor)
    cpdef counted(self, tensor)
    cpdef function(self, str name, args)

cdef class Operators:
    cdef public Dispatcher dispatcher
    cdef public OpDef add, sub, rsub, mul, div, matmul, neg

cdef Operators table

@cython.freelist(128)
cdef class Tensor:
    cdef public Array array
    cdef public int _flags
    cdef public bint _requires
    cdef public object _node
    cdef public int _nr
    cdef public Counter _counter
    cdef public View _view
    cdef public object _grad, _sink
    cdef public Extra _extra
    cdef public object _cell
    cdef dict __dict__
    cdef object __weakref__

cdef bint NATIVE

cpdef init_tensor(Tensor t, array)
@cython.locals(t=Tensor)
cpdef Tensor new_tensor(array)
cpdef bint wants_grad(Tensor t) except -1
@cython.locals(counter=Counter)
cpdef Counter counter_of(Tensor t)
@cython.locals(counter=Counter)
cpdef bump(Tensor t)
@cython.locals(t=Tensor)
cpdef wrap(array)
@cython.locals(t=Tensor, dtype=DType)
cpdef conj(value)
