# C types for base.py.
from retrograd.core.opdef cimport OpDef

cpdef process(OpDef op, args)
