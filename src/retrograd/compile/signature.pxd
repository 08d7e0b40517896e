# C types for signature.py.
cimport cython
from retrograd.core.tensor cimport Tensor, wants_grad

@cython.locals(t=Tensor, parts=list)
cpdef signature_of(value, int depth)

@cython.locals(parts=list)
cpdef call_signature(args, kwargs)
