# C types for tape.py.
cimport cython
from retrograd.compile.trie cimport Spot, Step, Trie
from retrograd.compile.waiting cimport Choice, Event, Layout, is_number, layout_of
from retrograd.core.arrays cimport ndarray as Array
from retrograd.core.graph cimport Node
from retrograd.core.opdef cimport OpDef
from retrograd.core.probe cimport references
from retrograd.core.state cimport Switches, Tape
from retrograd.core.tensor cimport Tensor, new_tensor, wants_grad
from retrograd.core.thread_flags cimport thread_state

cdef Switches switches
cdef int PENDING
cdef int LONGEST, ENOUGH, INPUT, NUMBER, WATCHED, CONSTANT
cdef Py_ssize_t MOST_SPARE, MOST_WAITING
cdef Py_ssize_t UNHELD

@cython.freelist(512)
@cython.no_gc
cdef class Cell:
    cdef public long long epoch
    cdef public Py_ssize_t slot
    cdef public object node, counter
    cdef public int nr

cdef class Spares:
    cdef public Py_ssize_t bytes
    cdef public dict layouts
    @cython.locals(spare=list)
    cpdef add(self, Layout layout, array)

cdef Spares spares
cdef Trie known

@cython.locals(cell=Cell)
cpdef resolve(Tensor t)

cdef class Recording(Tape):
    cdef public object owner, find_facts, finish, unknown, node, lock
    cdef public dict facts, places, state
    cdef public long long epoch
    cdef public bint grad, shared, open
    cdef public Spot spot
    cdef public Py_ssize_t count, misses, span
    cdef public list arrays, cells, tensors, numbers
    cpdef reset(self)
    @cython.locals(step=Step, made=Py_ssize_t, given=Py_ssize_t)
    cpdef unary(self, op, a)
    @cython.locals(step=Step, made=Py_ssize_t, given=Py_ssize_t)
    cpdef binary(self, op, a, b)
    cpdef call(self, op, args)
    @cython.locals(flags=long)
    cpdef bint is_on(self) except -1
    @cython.locals(spot=Spot, step=Step)
    cpdef search(self, OpDef op, args, bint whole)
    @cython.locals(kind=int, t=Tensor)
    cpdef bint accepts(self, Step step, Py_ssize_t i, value) except -1
    @cython.locals(made=Py_ssize_t, given=Py_ssize_t, i=Py_ssize_t)
    cpdef bint fits(self, Step step, args, bint whole) except -1
    cpdef undo(self, Py_ssize_t made, Py_ssize_t given)
    @cython.locals(t=Tensor)
    cpdef bint is_at(self, value, Py_ssize_t slot) except -1
    @cython.locals(cell=Cell)
    cpdef Py_ssize_t slot_of(self, Tensor t) except -3
    cpdef bint holds(self, array) except -1
    @cython.locals(slot=Py_ssize_t)
    cpdef Py_ssize_t enter(self, Tensor t) except -2
    @cython.locals(slot=Py_ssize_t, cell=Cell, out=Tensor, spare=list)
    cpdef make(self, Step step)
    @cython.locals(slot=Py_ssize_t, found=int)
    cpdef bint is_through(self) except -1
    @cython.locals(slot=Py_ssize_t, event=Event)
    cpdef run(self)
    cpdef flush(self)
    cpdef call_locked(self, op, args, bint whole)
    @cython.locals(cell=Cell)
    cpdef Cell new_cell(self, Py_ssize_t slot)

cpdef bint is_held(list cells, list arrays, Py_ssize_t slot) except -1
