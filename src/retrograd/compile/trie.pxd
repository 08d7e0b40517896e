# C types for trie.py.
from retrograd.compile.waiting cimport Event, Layout
from retrograd.core.opdef cimport OpDef

cdef class Spot

cdef class Step:
    cdef public OpDef op
    cdef public list kinds, values, requires, numbers
    cdef public Py_ssize_t first, second
    cdef public bint grad, records, plain
    cdef public Event event
    cdef public Layout layout
    cdef public object checks
    cdef public Spot after

cdef class Spot:
    cdef public Spot before
    cdef public Step step, last
    cdef public list steps, numbers
    cdef public dict plans

cdef class Trie:
    cdef public Spot root
    cdef public Py_ssize_t size
