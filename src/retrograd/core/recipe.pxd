# C types for recipe.py.
cdef class Rule:
    cdef public object fn, native
    cdef public tuple targets, sources
    cdef public bint many, missing
    cdef public int shape, index, target

cdef class Attribute:
    cdef public int slot, kind, arg, extra

cdef class Plan:
    cdef public tuple inputs, outputs, attrs, rest, kept
    cdef public int slot, arg, slot2, arg2, result
    cdef public bint only_shown
