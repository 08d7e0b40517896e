# C types for probe.pyx.
cpdef object spread(object function, list values)
