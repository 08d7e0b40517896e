# C types for shape.py.
cimport cython
from retrograd.core.arrays cimport ndarray as Array
from retrograd.core.dispatch cimport call, is_ordinary, make_view
from retrograd.core.opdef cimport OpDef
from retrograd.core.tensor cimport Tensor

@cython.locals(source=Tensor, array=Array, made=Array)
cpdef reshaped(self, shape)
