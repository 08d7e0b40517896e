# C types for subscript.py.
cimport cython
from retrograd.core.arrays cimport ndarray as Array
from retrograd.core.dispatch cimport call, is_ordinary, make_view
from retrograd.core.opdef cimport OpDef
from retrograd.core.state cimport Switches
from retrograd.core.tensor cimport Tensor

cdef Switches switches

@cython.locals(array=Array, shape=tuple, size=Py_ssize_t)
cpdef select_at(Tensor self, int dim, position, int named_dim)
@cython.locals(array=Array)
cpdef slice_at(Tensor self, int dim, slice item, bint keep_whole)
@cython.locals(specified=int, rank=int, dim=int, position=int)
cdef basic_views(Tensor self, tuple items)
@cython.locals(specified=int, rank=int, dim=int, position=int, tensor=Tensor)
cdef views_and_tensors(Tensor self, tuple items)
cpdef getitem(Tensor self, index)
