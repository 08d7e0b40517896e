# C types for dispatch.py.
cimport cython
from retrograd.core.thread_flags cimport grad_enabled, inference, run_flags, slow_path
from retrograd.core.arrays cimport ndarray as Array
from retrograd.core.forward cimport run as run_dual
from retrograd.core.kernels cimport compute_arrays, run_kernel, write_into
from retrograd.core.opdef cimport OpDef
from retrograd.core.probe cimport rest_of, spread, spread_with
from retrograd.core.quick cimport quick_result, tensors_of, write_quick, write_straight
from retrograd.core.record cimport OpNode, finish, record, save_result, save_written
from retrograd.core.state cimport Switches
from retrograd.core.tensor cimport Counter, Dispatcher, Tensor, View, bump, counter_of, new_tensor, wants_grad
from retrograd.core.views cimport check_inplace, mark_view, rebase

cdef class Dispatch(Dispatcher)

cdef Switches switches
cdef Dispatch dispatcher
cdef int FLAG_DUAL, FLAG_SUBCLASS, DEFAULT, NO_GRAD_MODE, INFERENCE_MODE, LONGEST
cdef object FLOAT32, FLOAT64, ndarray

cdef class Dispatch(Dispatcher):
    cpdef unary(self, OpDef op, Tensor a)
    @cython.locals(other=Tensor, flags=int)
    cpdef binary(self, OpDef op, Tensor a, b)
    cpdef call(self, OpDef op, args)
    cpdef refresh(self, tensor)
    cpdef counted(self, tensor)
    cpdef function(self, str name, args)

@cython.locals(x=Array, z=Array, other=Tensor, out=Tensor, node=OpNode, mask=int)
cdef call_straight(OpDef op, Tensor a, b)
cdef Tensor bumped(Tensor t)
cpdef call(OpDef op, args)
@cython.locals(t=Tensor, array=Array, values=list, arrays=list, mask=int, records=bint, floats=bint, k=Py_ssize_t, i=Py_ssize_t)
cpdef call_ordinary(OpDef op, args)
@cython.locals(t=Tensor)
cdef call_composite(OpDef op, args)
@cython.locals(z=Array, out=Tensor, node=OpNode)
cdef record_and_run(OpDef op, args, list values, int mask, bint floats)
@cython.locals(target=Tensor, node=OpNode)
cdef call_inplace(OpDef op, args, list values, int mask, bint floats, bint records)
@cython.locals(target=Tensor)
cpdef int gradients_of_write(OpDef op, args, int mask) except -1
@cython.locals(t=Tensor)
cpdef int gradient_mask(OpDef op, args) except -1
cpdef call_slow(OpDef op, args)
cpdef call_layers(OpDef op, args)
cpdef compute(OpDef op, args)
cdef bint takes_complex(OpDef op, args) except -1
@cython.locals(source=Tensor, out=Tensor, x=Array)
cpdef call_view(OpDef op, args)
@cython.locals(out=Tensor, node=OpNode, counter=Counter, parent=View, view=View, wanted=bint, creation=int)
cpdef make_view(OpDef op, Tensor source, args, Array array)
cpdef bint is_ordinary(Tensor t) except -1
@cython.locals(array=Array)
cpdef transpose_matrix(t)
cdef bint is_transposed(Array array, Array base) except -1
