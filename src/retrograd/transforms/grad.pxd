# C types for grad.py.
cimport cython
from retrograd.core.opdef cimport OpDef
from retrograd.core.tensor cimport Tensor
from retrograd.transforms.lifted cimport lift

@cython.locals(t=Tensor)
cpdef lifted_arguments(level, OpDef op, args)
