# cython: language_level=3, annotation_typing=False, boundscheck=True, wraparound=False, nonecheck=True, initializedcheck=False, auto_pickle=False
"""The switches of the running thread, read in C at a tenth of the cost of reading `tls`; state.py has the same in Python.

The switches are stored in the dictionary of `tls`, where all code writes them. Each thread caches the address of its own
dictionary and the id of its thread state; the dictionary holds an `Anchor`, which clears the address when it dies.
"""
from cpython.object cimport PyObject

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #define RG_THREAD __declspec(thread)
    #else
    #define RG_THREAD __thread
    #endif
    typedef struct { uint64_t id; PyObject *dict; } rg_here_t;
    static RG_THREAD rg_here_t rg_here;
    static CYTHON_INLINE PyObject *rg_dict(void) {
        return rg_here.dict && rg_here.id == PyThreadState_GetID(PyThreadState_Get()) ? rg_here.dict : NULL; }
    static void rg_keep(PyObject *dict) { rg_here.dict = dict; rg_here.id = PyThreadState_GetID(PyThreadState_Get()); }
    static void rg_forget(void *dict) { if ((void *)rg_here.dict == dict) rg_here.dict = NULL; }
    """
    PyObject *rg_dict() noexcept
    void rg_keep(PyObject *dict) noexcept
    void rg_forget(void *dict) noexcept
    PyObject *PyDict_GetItemWithError(PyObject *dict, object key) except? NULL

cdef object threads = None          # `tls`, once there is one


cdef class Anchor:
    """Lives as long as the dictionary of a thread."""

    cdef void *place

    def __dealloc__(self):
        rg_forget(self.place)


def adopt(dict state not None):
    """Read this thread's switches from `state`, which keeps what this returns."""
    cdef Anchor anchor = Anchor.__new__(Anchor)
    anchor.place = <void *>state
    rg_keep(<PyObject *>state)
    return anchor


def read_from(tls):
    """Set the thread-local object whose dictionaries are read."""
    global threads
    threads = tls


cdef object switch(name):
    cdef PyObject *state = rg_dict()
    cdef PyObject *value
    if state is not NULL:
        value = PyDict_GetItemWithError(state, name)
        if value is not NULL:
            return <object>value
    return getattr(threads, name)


cpdef long slow_path() except? -1:
    """The number of features active in this thread that need the slow path of dispatch."""
    return switch("slow_path")


cpdef long run_flags() except? -1:
    """Bit 0: grad mode is off; the rest counts slow-path features and saved-tensor hooks."""
    return switch("run_flags")


cpdef bint grad_enabled() except? -1:
    """Whether grad mode is on in this thread."""
    return switch("grad_enabled")


cpdef bint inference() except? -1:
    """Whether this thread is in inference mode."""
    return switch("inference")


cpdef dict thread_state():
    """The switches of this thread by name."""
    cdef PyObject *state = rg_dict()
    return <dict>state if state is not NULL else threads.__dict__
