# numpy.ndarray and numpy.dtype whose attributes compiled code reads in C, under the names that they have in Python.
# None may stand for an array, in a tensor that was never set up.
cdef extern from *:
    """
    #include <numpy/ndarraytypes.h>
    #define RG_ARRAY(o) ((PyArrayObject_fields *)(o))
    #define RG_DTYPE(o) ((PyArray_Descr *)(o))
    typedef struct { int c_contiguous, f_contiguous, writeable; } rg_flags_t;
    static PyObject *rg_none(void) { PyErr_SetString(PyExc_AttributeError, "there is no array"); return NULL; }
    static CYTHON_INLINE PyObject *rg_tuple(int n, const npy_intp *values) {
        PyObject *made = PyTuple_New(n);
        for (int i = 0; made && i < n; i++) {
            PyObject *value = PyLong_FromSsize_t(values[i]);
            if (!value) { Py_DECREF(made); return NULL; }
            PyTuple_SET_ITEM(made, i, value);
        }
        return made;
    }
    /* Shapes recur, and nodes keep them: recent ones are shared tuples. */
    #define RG_RECENT 64
    #define RG_DIMS 5
    typedef struct { PyObject *shape; npy_intp dims[RG_DIMS]; } rg_recent_t;
    static CYTHON_UNUSED PyObject *rg_shape(PyObject *o) {
        static rg_recent_t recent[RG_RECENT];
        if (o == Py_None) return rg_none();
        int n = RG_ARRAY(o)->nd;
        const npy_intp *dims = RG_ARRAY(o)->dimensions;
    #ifndef Py_GIL_DISABLED
        if (n <= RG_DIMS) {
            npy_uintp hash = (npy_uintp)n;
            for (int i = 0; i < n; i++) hash = hash * 31 + (npy_uintp)dims[i];
            rg_recent_t *r = &recent[(hash ^ (hash >> 6)) % RG_RECENT];
            int same = r->shape && PyTuple_GET_SIZE(r->shape) == n;
            for (int i = 0; same && i < n; i++) same = r->dims[i] == dims[i];
            if (!same) {
                PyObject *made = rg_tuple(n, dims), *old = r->shape;
                if (!made) return NULL;
                r->shape = made;
                for (int i = 0; i < n; i++) r->dims[i] = dims[i];
                Py_XDECREF(old);
            }
            Py_INCREF(r->shape);
            return r->shape;
        }
    #endif
        return rg_tuple(n, dims);
    }
    static CYTHON_INLINE PyObject *rg_strides(PyObject *o) {
        if (o == Py_None) return rg_none();
        return rg_tuple(RG_ARRAY(o)->nd, RG_ARRAY(o)->strides);
    }
    static CYTHON_INLINE PyObject *rg_dtype(PyObject *o) {
        if (o == Py_None) return rg_none();
        PyObject *d = (PyObject *)RG_ARRAY(o)->descr; Py_INCREF(d); return d;
    }
    static CYTHON_INLINE PyObject *rg_base(PyObject *o) {
        if (o == Py_None) return rg_none();
        PyObject *b = RG_ARRAY(o)->base ? RG_ARRAY(o)->base : Py_None; Py_INCREF(b); return b;
    }
    static CYTHON_INLINE int rg_ndim(PyObject *o) { return o == Py_None ? 0 : RG_ARRAY(o)->nd; }
    static CYTHON_INLINE Py_ssize_t rg_size(PyObject *o) {
        Py_ssize_t n = 1;
        for (int i = 0; i < rg_ndim(o); i++) n *= RG_ARRAY(o)->dimensions[i];
        return n;
    }
    static CYTHON_INLINE rg_flags_t rg_flags(PyObject *o) {
        int f = o == Py_None ? 0 : RG_ARRAY(o)->flags;
        rg_flags_t made = {(f & NPY_ARRAY_C_CONTIGUOUS) != 0, (f & NPY_ARRAY_F_CONTIGUOUS) != 0, (f & NPY_ARRAY_WRITEABLE) != 0};
        return made;
    }
    static CYTHON_INLINE Py_UCS4 rg_kind(PyObject *o) { return o == Py_None ? 0 : (Py_UCS4)(unsigned char)RG_DTYPE(o)->kind; }
    static CYTHON_INLINE int rg_num(PyObject *o) { return o == Py_None ? -1 : RG_DTYPE(o)->type_num; }
    """
    ctypedef struct flags_t "rg_flags_t":
        bint c_contiguous
        bint f_contiguous
        bint writeable
    tuple rg_shape(object)
    tuple rg_strides(object)
    object rg_dtype(object)
    object rg_base(object)
    int rg_ndim(object) noexcept
    Py_ssize_t rg_size(object) noexcept
    flags_t rg_flags(object) noexcept
    Py_UCS4 rg_kind(object) noexcept
    int rg_num(object) noexcept

cdef extern from "numpy/ndarraytypes.h":
    ctypedef class numpy.dtype [object PyArray_Descr, check_size ignore]:
        @property
        cdef inline Py_UCS4 kind(self) noexcept:
            return rg_kind(self)
        @property
        cdef inline int num(self) noexcept:
            return rg_num(self)

    ctypedef class numpy.ndarray [object PyArrayObject, check_size ignore]:
        @property
        cdef inline tuple shape(self):
            return rg_shape(self)
        @property
        cdef inline tuple strides(self):
            return rg_strides(self)
        @property
        cdef inline dtype dtype(self):
            return <dtype>rg_dtype(self)
        @property
        cdef inline object base(self):
            return rg_base(self)
        @property
        cdef inline int ndim(self) noexcept:
            return rg_ndim(self)
        @property
        cdef inline Py_ssize_t size(self) noexcept:
            return rg_size(self)
        @property
        cdef inline flags_t flags(self) noexcept:
            return rg_flags(self)
