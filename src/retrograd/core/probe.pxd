# C types for probe.pyx.
from retrograd.core.arrays cimport ndarray as Array
from retrograd.core.graph cimport Node

cpdef object spread(object function, list values)
cpdef object spread_with(object function, object first, object args)
cpdef tuple rest_of(object args)
cpdef object pooled(type cls)
cpdef object new_instance(type cls)
cpdef bint has_shape(Array array, object shape) except -1
cpdef Py_ssize_t references(list items, Py_ssize_t i) except -1
cpdef object own_fields(type cls)
cpdef object untrack_fields(Node node)
