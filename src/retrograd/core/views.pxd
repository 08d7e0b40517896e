# C types for views.py.
cimport cython
from retrograd.core.thread_flags cimport grad_enabled, inference, slow_path
from retrograd.core.graph cimport Node
from retrograd.core.state cimport Switches
from retrograd.core.tensor cimport Counter, Tensor, View, counter_of, new_tensor, new_view

cdef Switches switches

@cython.locals(view=View)
cpdef check_inplace(Tensor t, bint wanted)
@cython.locals(view=View, base=Tensor)
cpdef rebase(Tensor t, Node node)

@cython.locals(counter=Counter, parent=View)
cpdef mark_view(op, args, Tensor source, Tensor view, int creation=*, int output=*)
@cython.locals(view=View, step=View, base=Tensor)
cpdef shorten(Tensor t)
@cython.locals(view=View, counter=Counter, base=Tensor)
cpdef refresh(Tensor t)
