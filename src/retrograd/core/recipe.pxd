# C types for recipe.py.
cdef class Rule:
    cdef public object fn, native
    cdef public tuple targets, sources
    cdef public bint many, missing
    cdef public int shape, index, target

cdef class Plan:
    cdef public tuple inputs, outputs, attrs, rest
    cdef public int slot, arg, slot2, arg2
    cdef public bint only_shown
