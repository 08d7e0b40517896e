# C types for quick_views.py.
from retrograd.core.dispatch cimport make_view
from retrograd.core.state cimport Switches
from retrograd.core.tensor cimport Tensor

cdef Switches switches

cdef integers(args)
