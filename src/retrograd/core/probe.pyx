# cython: language_level=3, annotation_typing=False, boundscheck=True, wraparound=False, nonecheck=True, initializedcheck=False, auto_pickle=False
"""Calls of kernels: tests of the operands in C (kernels.py has the same in Python), a call with a list of arguments,
kernels that are one function of another library; and the memory of nodes."""
from cpython.object cimport PyObject, PyTypeObject
from importlib import import_module
from numpy import asarray, empty
from retrograd.core.opdef cimport OpDef

cdef extern from *:
    """
    #define PY_ARRAY_UNIQUE_SYMBOL retrograd_probe
    #include <numpy/arrayobject.h>
    static int is_array(PyObject *o) { return Py_TYPE(o) == &PyArray_Type; }
    static int ndim(PyObject *o) { return PyArray_NDIM((PyArrayObject *)o); }
    static int type_of(PyObject *o) { return PyArray_TYPE((PyArrayObject *)o); }
    /* Whether the strides are those of a new array, also along dimensions of size 1. */
    static int is_row_major(PyObject *o) {
        PyArrayObject *a = (PyArrayObject *)o;
        npy_intp wanted = PyArray_ITEMSIZE(a);
        for (int i = PyArray_NDIM(a) - 1; i >= 0; i--) {
            if (PyArray_STRIDE(a, i) != wanted || PyArray_DIM(a, i) == 0) return 0;
            wanted *= PyArray_DIM(a, i);
        }
        return 1;
    }
    static int same_shape(PyObject *o, PyObject *p) {
        PyArrayObject *a = (PyArrayObject *)o, *b = (PyArrayObject *)p;
        if (PyArray_NDIM(a) != PyArray_NDIM(b)) return 0;
        for (int i = 0; i < PyArray_NDIM(a); i++) if (PyArray_DIM(a, i) != PyArray_DIM(b, i)) return 0;
        return 1;
    }
    static int equals_shape(PyObject *o, PyObject *shape) {
        PyArrayObject *a = (PyArrayObject *)o;
        if (o == Py_None || !PyTuple_CheckExact(shape) || PyTuple_GET_SIZE(shape) != PyArray_NDIM(a)) return 0;
        for (int i = 0; i < PyArray_NDIM(a); i++)
            if (PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i)) != PyArray_DIM(a, i)) { PyErr_Clear(); return 0; }
        return 1;
    }
    static int has_none(PyObject *o) { return PyArray_SIZE((PyArrayObject *)o) == 0; }
    static int start(void) { import_array1(-1); return 0; }
    static PyObject *call_list(PyObject *function, PyObject *values) {
        return PyObject_Vectorcall(function, PySequence_Fast_ITEMS(values), (size_t)PyList_GET_SIZE(values), NULL);
    }
    #define MOST 8
    static PyObject *call_first(PyObject *function, PyObject *first, PyObject *args) {
        PyObject *values[MOST];
        Py_ssize_t n = PySequence_Fast_GET_SIZE(args);
        values[0] = first;
        for (Py_ssize_t i = 1; i < n; i++) values[i] = PySequence_Fast_GET_ITEM(args, i);
        return PyObject_Vectorcall(function, values, (size_t)n, NULL);
    }
    static PyObject *rest(PyObject *args) {
        Py_ssize_t n = PySequence_Fast_GET_SIZE(args) - 1;
        PyObject *made = PyTuple_New(n > 0 ? n : 0);
        for (Py_ssize_t i = 0; made && i < n; i++) {
            PyObject *value = PySequence_Fast_GET_ITEM(args, i + 1);
            Py_INCREF(value);
            PyTuple_SET_ITEM(made, i, value);
        }
        return made;
    }
    /* Nodes are made and freed for every recorded op. Their classes are created at run time, one for each op, and differ in
       name only: they share a pool of blocks, and are freed without the general steps for classes with slots, a dict or
       finalizers, which they do not have. */
    #define POOL 128
    static PyObject *pool[POOL];
    static int pool_count = 0;
    static destructor free_fields = NULL;
    static Py_ssize_t node_size = 0;
    static PyObject *allocate_node(PyTypeObject *cls, Py_ssize_t n) {
    #ifndef Py_GIL_DISABLED
        if (pool_count && cls->tp_basicsize == node_size) {
            PyObject *node = pool[--pool_count];
            memset(node, 0, (size_t)node_size);
            PyObject_Init(node, cls);
            PyObject_GC_Track(node);
            return node;
        }
    #endif
        return PyType_GenericAlloc(cls, n);
    }
    static void free_node(void *node) {
    #ifndef Py_GIL_DISABLED
        if (pool_count < POOL && Py_TYPE((PyObject *)node)->tp_basicsize == node_size) { pool[pool_count++] = (PyObject *)node; return; }
    #endif
        PyObject_GC_Del(node);
    }
    static void deallocate_node(PyObject *node) {
        PyTypeObject *cls = Py_TYPE(node);
        PyObject_GC_UnTrack(node);
        Py_TRASHCAN_BEGIN(node, deallocate_node)      /* chains of nodes are long */
        int owned = !(cls->tp_base->tp_flags & Py_TPFLAGS_HEAPTYPE);
        free_fields(node);
        if (owned) Py_DECREF(cls);
        Py_TRASHCAN_END
    }
    /* The tuple and the list that a node alone owns are not tracked by the garbage collector: the node shows it what they hold,
       which halves the objects that a collection of a growing graph looks at. While somebody else refers to one of them, what it
       holds counts as referenced from outside. */
    typedef PyObject *(*field_t)(PyObject *);
    static field_t owned_fields[2];
    static traverseproc visit_fields = NULL;
    static int visit_node(PyObject *node, visitproc visit, void *arg) {
        for (int k = 0; k < 2; k++) {
            PyObject *owned = owned_fields[k](node);
            if (!owned || owned == Py_None || Py_REFCNT(owned) != 1 || PyObject_GC_IsTracked(owned)) continue;
            for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(owned); i++) Py_VISIT(PySequence_Fast_GET_ITEM(owned, i));
        }
        return visit_fields(node, visit, arg);
    }
    static void untrack(PyObject *container) {
    #ifndef Py_GIL_DISABLED
        if (container != Py_None && visit_fields) PyObject_GC_UnTrack(container);
    #endif
    }
    static void use_visitor(PyTypeObject *t, field_t first, field_t second) {
        if (t->tp_traverse == visit_node) return;
        owned_fields[0] = first; owned_fields[1] = second;
        visit_fields = t->tp_traverse;
        t->tp_traverse = visit_node;
    }
    static void use_pool(PyObject *cls) {
        PyTypeObject *t = (PyTypeObject *)cls, *base = t->tp_base;
        if (t->tp_basicsize != base->tp_basicsize || t->tp_dictoffset || t->tp_finalize || (node_size && node_size != t->tp_basicsize)) return;
        node_size = t->tp_basicsize;
        free_fields = base->tp_dealloc;
        t->tp_alloc = allocate_node;
        t->tp_free = free_node;
        t->tp_dealloc = deallocate_node;
    }
    static PyObject *make_instance(PyObject *cls, PyObject *nothing) {
        PyTypeObject *t = (PyTypeObject *)cls;
        return t->tp_new ? t->tp_new(t, nothing, NULL) : PyErr_Format(PyExc_TypeError, "cannot create '%s' instances", t->tp_name);
    }
    """
    Py_ssize_t Py_REFCNT(PyObject *)
    void use_pool(object cls)
    void untrack(object container)
    ctypedef PyObject *(*field_t)(PyObject *) noexcept
    void use_visitor(PyTypeObject *cls, field_t first, field_t second)
    object make_instance(object cls, object nothing)
    object call_list(object function, object values)
    object call_first(object function, object first, object args)
    object rest(object args)
    int MOST
    bint equals_shape(object array, object shape)
    bint is_array(PyObject *o)
    int type_of(PyObject *o)
    bint is_row_major(PyObject *o)
    bint same_shape(PyObject *o, PyObject *p)
    bint has_none(PyObject *o)
    int ndim(PyObject *o)
    int start() except -1
    int NPY_FLOAT, NPY_DOUBLE, NPY_CFLOAT, NPY_CDOUBLE

start()


cpdef object spread(object function, list values):
    """`function(*values)`, without a tuple for the arguments."""
    return call_list(function, values)


cpdef object spread_with(object function, object first, object args):
    """`function(first, *args[1:])`, without a list or a tuple for the arguments; `args` is one of these."""
    if type(args) is not list and type(args) is not tuple or not 0 < len(args) <= MOST:
        return function(first, *args[1:])
    return call_first(function, first, args)


cpdef tuple rest_of(object args):
    """`tuple(args[1:])` of a list or a tuple."""
    if type(args) is not list and type(args) is not tuple:
        return tuple(args[1:])
    return <tuple>rest(args)


cpdef bint has_shape(Array array, object shape) except -1:
    """Whether an array has this shape, which is a tuple of ints."""
    return equals_shape(array, shape)


cdef tuple NOTHING = ()


cpdef object pooled(type cls):
    """The class of a kind of node, a subclass without fields of its own, set up to reuse the memory of its instances."""
    base = cls.__base__
    if base is not None and base.__module__ == "retrograd.core.record" and base.__name__ == "OpNode":
        use_pool(cls)
    return cls


cdef PyObject *nexts_of(PyObject *node) noexcept:
    return <PyObject *>(<Node>node)._next_


cdef PyObject *saved_of(PyObject *node) noexcept:
    return <PyObject *>(<Node>node)._saved_


cpdef object own_fields(type cls):
    """Let the garbage collector see through the untracked tuple `_next_` and list `_saved_` of this class's instances."""
    use_visitor(<PyTypeObject *>cls, nexts_of, saved_of)


cpdef object untrack_fields(Node node):
    """Take the tuple `_next_` and the list `_saved_` of a node out of the garbage collector, see `own_fields`."""
    untrack(node._next_)
    untrack(node._saved_)


cpdef object new_instance(type cls):
    """A new node with all fields None or 0."""
    if cls is None:
        raise TypeError("expected a class of nodes, not None")
    return make_instance(cls, NOTHING)


def uniformity(OpDef op, list values):
    """0 if the operands need promotion or widening or determine the memory order of the result; 2 if they are all float32
    or float64; else 1."""
    cdef PyObject *value
    cdef int common = -1, kind, answer = 2
    cdef Py_ssize_t i
    cdef bint alike = op.promote is not None or op.elementwise
    for i in op.tensor_args:
        value = <PyObject *>values[i]
        if value is <PyObject *>None:
            continue
        if not is_array(value):
            return 0
        kind = type_of(value)
        if kind != NPY_FLOAT and kind != NPY_DOUBLE:
            if op.widen and kind > 16 or op.floats and kind != NPY_CFLOAT and kind != NPY_CDOUBLE or alike and (kind > 16 or op.scalar_args):
                return 0
            answer = 1
        if alike:
            if common >= 0 and kind != common:
                return 0
            common = kind
        if op.elementwise and ndim(value) > 1 and not is_row_major(value):
            return 0
    for i in op.scalar_args:
        if type(values[i]) is complex:
            return 0
    return answer


cdef class Direct:
    """A ufunc of another library as a compiled kernel (see codegen/README.md): for operands in row-major order, all float32 or
    all float64; None for others. It is imported when it is first called."""

    cdef object place, function

    def __init__(self, place):
        self.place = place

    def __call__(self, *arrays):
        cdef PyObject *first = <PyObject *>arrays[0]
        cdef PyObject *value
        cdef Py_ssize_t i
        cdef bint alike = True
        for i in range(len(arrays)):
            value = <PyObject *>arrays[i]
            if not is_array(value) or type_of(value) != NPY_FLOAT and type_of(value) != NPY_DOUBLE:
                return None
            if not is_row_major(value):
                return of_none(arrays[0]) if len(arrays) == 1 and has_none(value) else None
            if value is not first:
                if type_of(value) != type_of(first):
                    return None
                alike = alike and same_shape(value, first)
        if self.function is None:
            module, _, name = self.place.rpartition(".")
            self.function = getattr(import_module(module), name)
        try:
            made = self.function(*arrays)
        except ValueError:                      # shapes that do not broadcast: the layers raise PyTorch's error
            return None
        if not is_array(<PyObject *>made) or type_of(<PyObject *>made) != type_of(first):
            made = asarray(made).astype((<object>first).dtype, copy=False)
        return made if alike or is_row_major(<PyObject *>made) else None

    def __repr__(self):
        return f"<kernel {self.place}>"


cpdef Py_ssize_t references(list items, Py_ssize_t i) except -1:
    """The number of references to an item of a list; comparable with each other only."""
    item = items[i]
    return Py_REFCNT(<PyObject *>item)


cdef object of_none(array):
    """A new array without elements; None if it would lie otherwise in memory than the given one."""
    made = empty(array.shape, array.dtype)
    return made if made.strides == array.strides else None
