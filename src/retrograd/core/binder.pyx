# cython: language_level=3, annotation_typing=False, boundscheck=True, wraparound=False, nonecheck=True, initializedcheck=False, auto_pickle=False
"""The entry of every public function and method in the compiled core: one callable, no code per op.

NOTE [Binding]
`Entry` holds a `Form` per overload: what each argument must be, and the defaults. A call is bound to the first form that
fits and goes to `dispatch.call` with its arguments in schema order. A form is passed over only if it certainly does not
fit. Cases that only the schemas handle (synonyms of keywords, tensors given for numbers, NumPy's numbers, overriding
classes and modes, error texts) go to `general`, which binds the same call slowly.

Entries are called by vectorcall and are method descriptors, so that `x.sum(0)` makes neither a tuple nor a bound method.
There is no plain form of this file: in the plain core core/plain/calls.py generates the functions.
"""
from cpython.object cimport PyObject, PyTypeObject
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_DECREF, Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from sys import intern
from types import MethodType
from numpy import ndarray as ndarray_
from retrograd.core.dispatch cimport call
from retrograd.core.opdef cimport OpDef
from retrograd.core.state cimport Switches
from retrograd.core.tensor cimport Dispatcher, Tensor
from retrograd.core.thread_flags cimport slow_path
from retrograd.core.device import CPU as CPU_, device as device_class
from retrograd.core.dtypes import dtype as dtype_class
from retrograd.core.schema import KEYWORD_SYNONYMS, REQUIRED as REQUIRED_
from retrograd.core.state import switches as switches_
from retrograd.core.storage import offset_of, strides_of
from retrograd.core.tensor import Size as Size_, FLAG_SUBCLASS as FLAG_SUBCLASS_, operators

cdef extern from *:
    """
    #include <numpy/arrayobject.h>
    static void make_vectorcall(PyTypeObject *t, Py_ssize_t offset) {
        t->tp_vectorcall_offset = offset; t->tp_call = PyVectorcall_Call;
        t->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
        PyType_Modified(t);
    }
    static int is_real(PyObject *array) {
        int t = PyArray_TYPE((PyArrayObject *)array);
        return t == NPY_FLOAT || t == NPY_DOUBLE;
    }
    static int rank(PyObject *array) { return PyArray_NDIM((PyArrayObject *)array); }
    static int type_number(PyObject *array) { return PyArray_TYPE((PyArrayObject *)array); }
    static Py_ssize_t length(PyObject *array, Py_ssize_t dim) { return PyArray_DIM((PyArrayObject *)array, (int)dim); }
    static int is_row_major(PyObject *array) { return PyArray_CHKFLAGS((PyArrayObject *)array, NPY_ARRAY_C_CONTIGUOUS); }
    #define NO_OFFSET(n) PyVectorcall_NARGS(n)
    """
    void make_vectorcall(PyTypeObject *t, Py_ssize_t offset)
    bint is_real(PyObject *array)
    int rank(PyObject *array)
    int type_number(PyObject *array)
    Py_ssize_t length(PyObject *array, Py_ssize_t dim)
    bint is_row_major(PyObject *array)
    int NPY_CDOUBLE
    Py_ssize_t NO_OFFSET(size_t n)
    PyTypeObject *Py_TYPE(PyObject *o)
    bint PyLong_CheckExact(PyObject *o)
    bint PyFloat_CheckExact(PyObject *o)
    bint PyComplex_CheckExact(PyObject *o)
    bint PyTuple_CheckExact(PyObject *o)
    bint PyList_CheckExact(PyObject *o)
    bint PyUnicode_CheckExact(PyObject *o)
    bint PyBool_Check(PyObject *o)
    bint PyObject_TypeCheck(PyObject *o, PyTypeObject *t)
    double PyLong_AsDouble(PyObject *o) except? -1
    Py_ssize_t PyTuple_GET_SIZE(PyObject *o)
    PyObject *PyTuple_GET_ITEM(PyObject *o, Py_ssize_t i)
    Py_ssize_t PyList_GET_SIZE(PyObject *o)
    PyObject *PyList_GET_ITEM(PyObject *o, Py_ssize_t i)
    Py_ssize_t PySequence_Fast_GET_SIZE(PyObject *o)
    PyObject *PySequence_Fast_GET_ITEM(PyObject *o, Py_ssize_t i)
    object PyObject_Vectorcall(PyObject *function, PyObject **args, size_t count, PyObject *names)
    PyObject *Py_None

cdef enum Kind:
    TENSOR, TENSOR_OR_NUMBER, INT, BOOL, FLOAT, SCALAR, STR, DTYPE, DEVICE, INTS, TENSORS, SCALARS, OPTIONAL_TENSORS, NAMED, STORAGE, OTHER

cdef dict KINDS = {"Tensor": TENSOR, "int": INT, "bool": BOOL, "float": FLOAT, "Scalar": SCALAR, "str": STR, "ScalarType": DTYPE,
                   "Device": DEVICE, "Layout": NAMED, "MemoryFormat": NAMED, "Generator": NAMED, "Storage": STORAGE}
cdef dict CLASSES = {"Layout": "layout", "MemoryFormat": "memory_format", "Generator": "Generator"}
cdef enum: MOST = 32
cdef Switches switches = switches_
cdef object REQUIRED = REQUIRED_
cdef object Size = Size_
cdef object CPU = CPU_
cdef Dispatcher dispatcher = operators.dispatcher
cdef type ndarray = ndarray_
cdef int FLAG_SUBCLASS = FLAG_SUBCLASS_
cdef frozenset SYNONYMS = frozenset([synonym for names in KEYWORD_SYNONYMS.values() for synonym in names])


cdef class Form:
    """The binding of calls to one overload, and their target: an op, or a function of the bound arguments."""

    cdef OpDef op
    cdef object target
    cdef int count, least, required, positional, varargs
    cdef bint gives_list_back        # a call returns the list that it wrote to
    cdef int kind[MOST]
    cdef bint optional[MOST]
    cdef int size[MOST]
    cdef tuple names, classes
    cdef list defaults

    def __init__(self, binding, target):
        params, schema = binding.params, binding.schema
        self.op = target if type(target) is OpDef else None
        self.target = target
        self.count = len(params)
        self.positional, self.required, self.least = binding.positional, binding.required, binding.least
        self.varargs = binding.varargs
        self.gives_list_back = schema.writes_list
        self.names = tuple([intern("input" if p.name == "self" and p.type == "Tensor" else p.name) for p in params])
        self.defaults = binding.defaults
        self.classes = tuple([CLASSES.get(p.type) for p in params])
        for i, p in enumerate(params):
            self.optional[i] = p.optional or p.default is None
            self.size[i] = p.list_size or 0
            self.kind[i] = OTHER
            if not p.is_list:
                self.kind[i] = KINDS.get(p.type, OTHER)
                if p.type == "Tensor" and schema.allow_numbers_as_tensors and not p.writes:
                    self.kind[i] = TENSOR_OR_NUMBER
            elif p.type == "int":
                self.kind[i] = INTS
            elif p.type == "Tensor":
                self.kind[i] = OPTIONAL_TENSORS if p.item_optional else TENSORS
            elif p.type == "Scalar":
                self.kind[i] = SCALARS


cdef object NO = object()          # the overload refuses this argument
cdef object ASK = object()         # the schemas must decide


cdef inline bint is_tensor(PyObject *v) noexcept:
    return Py_TYPE(v) is <PyTypeObject *>Tensor or PyObject_TypeCheck(v, <PyTypeObject *>Tensor)


cdef inline object ints(PyObject *v):
    """A sequence of ints as a tuple; NO or ASK if it is not one."""
    cdef Py_ssize_t i, n
    if PyTuple_CheckExact(v) or <object>Py_TYPE(v) is Size:
        n = PyTuple_GET_SIZE(v)
        for i in range(n):
            if not PyLong_CheckExact(PyTuple_GET_ITEM(v, i)):
                return ASK
        return <object>v if PyTuple_CheckExact(v) else tuple(<object>v)
    if PyList_CheckExact(v):
        n = PyList_GET_SIZE(v)
        for i in range(n):
            if not PyLong_CheckExact(PyList_GET_ITEM(v, i)):
                return NO if has_dims(PyList_GET_ITEM(v, i)) else ASK
        return tuple(<list>v)
    return NO if (is_number(v) or v is Py_None or is_real_tensor(v) or has_dims(v) or PyUnicode_CheckExact(v)
                  or type(<object>v) is dtype_class) else ASK


cdef inline bint is_number(PyObject *v) noexcept:
    return PyLong_CheckExact(v) or PyFloat_CheckExact(v) or PyBool_Check(v) or PyComplex_CheckExact(v)


cdef inline bint is_real_tensor(PyObject *v) noexcept:
    return Py_TYPE(v) is <PyTypeObject *>Tensor and type((<Tensor>v).array) is ndarray and is_real(<PyObject *>(<Tensor>v).array)


cdef inline bint has_dims(PyObject *v) noexcept:
    """Whether this is a tensor that cannot be used as a number."""
    return is_tensor(v) and (<Tensor>v)._flags == 0 and type((<Tensor>v).array) is ndarray and rank(<PyObject *>(<Tensor>v).array) > 0


cdef inline bint is_plain(PyObject *v) noexcept:
    """Whether the type of a value alone determines whether it fits."""
    return is_number(v) or PyTuple_CheckExact(v) or PyList_CheckExact(v) or PyUnicode_CheckExact(v) or v is Py_None


cdef object fit(Form form, Py_ssize_t i, PyObject *v):
    """The argument in canonical form, NO or ASK."""
    cdef int kind = form.kind[i]
    cdef Py_ssize_t k
    if kind == TENSOR or kind == TENSOR_OR_NUMBER:
        if is_tensor(v):
            return ASK if (<Tensor>v)._flags & FLAG_SUBCLASS else <object>v
        if v is Py_None and form.optional[i]:
            return None
        if kind == TENSOR_OR_NUMBER and is_number(v):
            return <object>v
        return NO if is_plain(v) else ASK
    if v is Py_None:
        return None if form.optional[i] else ASK
    if kind == INT:
        if PyLong_CheckExact(v):
            return <object>v
        return NO if is_plain(v) or is_real_tensor(v) or has_dims(v) else ASK
    if kind == BOOL:
        return <object>v if PyBool_Check(v) else NO if is_plain(v) or is_tensor(v) else ASK
    if kind == SCALAR:
        return <object>v if is_number(v) else NO if is_plain(v) or has_dims(v) else ASK
    if kind == FLOAT:
        if PyFloat_CheckExact(v):
            return <object>v
        return PyLong_AsDouble(v) if PyLong_CheckExact(v) and not PyBool_Check(v) else NO if has_dims(v) else ASK
    if kind == INTS:
        if form.size[i] and PyLong_CheckExact(v):
            return (<object>v,) if form.size[i] == 1 else (<object>v,) * form.size[i]
        return ints(v)
    if kind == TENSORS:
        if not (PyTuple_CheckExact(v) or PyList_CheckExact(v)):
            return NO if is_number(v) or is_tensor(v) or PyUnicode_CheckExact(v) else ASK
        for k in range(PySequence_Fast_GET_SIZE(v)):
            if is_number(PySequence_Fast_GET_ITEM(v, k)):
                return NO
            if not is_tensor(PySequence_Fast_GET_ITEM(v, k)) or (<Tensor>PySequence_Fast_GET_ITEM(v, k))._flags & FLAG_SUBCLASS:
                return ASK
        return list(<object>v)
    if kind == OPTIONAL_TENSORS:
        if not (PyTuple_CheckExact(v) or PyList_CheckExact(v)):
            return ASK
        for k in range(PySequence_Fast_GET_SIZE(v)):
            if PySequence_Fast_GET_ITEM(v, k) is not Py_None and (
                    not is_tensor(PySequence_Fast_GET_ITEM(v, k)) or (<Tensor>PySequence_Fast_GET_ITEM(v, k))._flags & FLAG_SUBCLASS):
                return ASK
        return list(<object>v)
    if kind == SCALARS:
        if not (PyTuple_CheckExact(v) or PyList_CheckExact(v)):
            return NO if is_number(v) or is_tensor(v) or PyUnicode_CheckExact(v) else ASK
        if not PySequence_Fast_GET_SIZE(v):
            return ASK
        for k in range(PySequence_Fast_GET_SIZE(v)):
            if not is_number(PySequence_Fast_GET_ITEM(v, k)):
                return NO if has_dims(PySequence_Fast_GET_ITEM(v, k)) else ASK
        return list(<object>v)
    if kind == STR:
        return <object>v if PyUnicode_CheckExact(v) else NO if is_plain(v) else ASK
    if kind == DTYPE:
        return <object>v if type(<object>v) is dtype_class else NO if is_plain(v) or is_tensor(v) else ASK
    if kind == DEVICE:
        if PyUnicode_CheckExact(v) and <object>v == "cpu":
            return CPU
        return <object>v if type(<object>v) is device_class else ASK
    if kind == STORAGE:
        return NO if is_tensor(v) else ASK
    if kind == NAMED:
        if is_plain(v) or is_tensor(v):
            return NO if not is_tensor(v) or not (<Tensor>v)._flags & FLAG_SUBCLASS else ASK
        cls = type(<object>v)
        return <object>v if cls.__name__ == form.classes[i] and not cls.__module__.startswith("numpy") else ASK
    return ASK


cdef class Entry:
    """A public function or a method of Tensor."""

    cdef void *vectorcall
    cdef list forms
    cdef OpDef unary, binary         # the ops of calls with one and two tensors, if these need no binding
    cdef object make_forms, general
    cdef bint is_method, is_alias
    cdef object name
    cdef dict __dict__
    cdef object __weakref__

    def __cinit__(self):
        self.vectorcall = <void *>enter

    def __init__(self, name, make_forms, general, is_method):
        self.name = name
        for attribute, value in (("__name__", name), ("__qualname__", name), ("__module__", "torch")):
            setattr(self, attribute, value)
        self.make_forms, self.general, self.is_method = make_forms, general, is_method      # schemas are parsed on first use

    def __get__(self, instance, owner):
        return self if instance is None or not self.is_method else MethodType(self, instance)

    def __repr__(self):
        return f"<method '{self.name}' of 'torch._C.TensorBase' objects>" if self.is_method else f"<built-in method {self.name}>"

    def __reduce__(self):
        return (getattr, (Tensor, self.name)) if self.is_method else self.name


cdef PyObject *enter(PyObject *entry, PyObject **args, size_t flags, PyObject *keywords) except NULL:
    made = bound_call(<Entry>entry, args, NO_OFFSET(flags), keywords)
    Py_INCREF(made)
    return <PyObject *>made


cdef object bound_call(Entry self, PyObject **args, Py_ssize_t given, PyObject *keywords):
    cdef Form form
    cdef OpDef op
    cdef list bound
    cdef Py_ssize_t named = 0 if keywords is NULL else PyTuple_GET_SIZE(keywords)
    cdef Py_ssize_t i, k, taken
    cdef PyObject *name
    if switches.function_modes:
        return by_schema(self, args, given, keywords, named)
    if self.forms is None:
        self.forms = self.make_forms()
        self.unary = direct_op(self.forms, 1)
        self.binary = direct_op(self.forms, 2)
        self.is_alias = any([(<Form>form).op is not None and (<Form>form).op.meant is not None for form in self.forms])
    if keywords is NULL and given <= 2 and given and is_ordinary(args[0]) and (not self.is_alias or switches.any_mode == 0):
        if given == 1:
            if self.unary is not None:
                return dispatcher.unary(self.unary, <Tensor>args[0])
        elif self.binary is not None and (is_ordinary(args[1]) or PyFloat_CheckExact(args[1]) and self.binary.numbers):
            return dispatcher.binary(self.binary, <Tensor>args[0], <object>args[1])
    if self.is_method and not (given and is_tensor(args[0])):
        return by_schema(self, args, given, keywords, named)
    for form in self.forms:
        taken = given
        if form.varargs >= 0 and given > form.varargs and PyLong_CheckExact(args[form.varargs]):
            taken = form.varargs + 1
        if taken > form.positional or taken + named > form.count or taken + named < form.least:
            continue
        bound = PyList_New(form.count)
        value = None
        for i in range(taken):
            if taken != given and i == form.varargs or form.varargs == i and PyLong_CheckExact(args[i]):
                value = gathered(args, i, given)
            else:
                value = fit(form, i, args[i])
            if value is NO or value is ASK:
                break
            Py_INCREF(value)
            PyList_SET_ITEM(bound, i, value)
        if value is NO:
            continue
        if value is ASK:
            break
        for i in range(taken, form.count):
            value = form.defaults[i]
            Py_INCREF(value)
            PyList_SET_ITEM(bound, i, value)
        value = None
        for k in range(named):
            name = PyTuple_GET_ITEM(keywords, k)
            value = NO
            for i in range(taken, form.count):
                if PyTuple_GET_ITEM(<PyObject *>form.names, i) is name and not (self.is_method and i == 0):
                    value = fit(form, i, args[given + k])
                    bound[i] = value
                    break
            if value is NO and <object>name in SYNONYMS:
                value = ASK
            if value is NO or value is ASK:
                break
        if value is NO:
            continue
        if value is ASK:
            break
        for i in range(taken, form.required):
            if PyList_GET_ITEM(<PyObject *>bound, i) is <PyObject *>REQUIRED:
                break
        else:
            made = run(form, bound)
            return <object>args[0] if form.gives_list_back and given else made
    return by_schema(self, args, given, keywords, named)


cdef inline bint is_ordinary(PyObject *v) noexcept:
    return is_tensor(v) and (<Tensor>v)._flags == 0


cdef OpDef direct_op(list forms, int given):
    """The op of a call with `given` ordinary tensors, if it is the first with that many and needs no binding."""
    cdef Form form
    cdef OpDef op
    for form in forms:
        if form.least > given or form.positional < given:
            continue
        op = form.op
        if op is None or form.least != given:
            return None
        if not op._ready:
            op.prepare()
        if op.meant is not None:
            op = op.meant
            if not op._ready:
                op.prepare()
        if op.composite or op.is_inplace and not op.straight or op.is_out or op.has_lists or op.returns_list or op.tensor_args != tuple(range(given)):
            return None
        return op
    return None


def may_override(tuple values):
    """Whether one of the arguments, or a mode, may override a public function."""
    cdef Py_ssize_t i
    cdef PyObject *value
    if switches.function_modes:
        return True
    for i in range(PyTuple_GET_SIZE(<PyObject *>values)):
        value = PyTuple_GET_ITEM(<PyObject *>values, i)
        if not is_plain(value) and (not is_tensor(value) or (<Tensor>value)._flags & FLAG_SUBCLASS):
            return True
    return False


cdef object run(Form form, list bound):
    cdef OpDef op = form.op
    if op is None:
        made = form.target(bound)
    else:
        if op.meant is not None and switches.any_mode == 0 and op._ready:      # an alias of an op
            op = op.meant
        if op.device_arg > 0 and (bound[op.device_arg] is not None or bound[op.device_arg - 1] is not None):
            omit_place(form, op, bound)
        made = call(op, bound)
    return tuple(<list>made) if type(made) is list else made


cdef int omit_place(Form form, OpDef op, list bound) except -1:
    """Omit a device `cpu` and a layout `strided` that are the defaults of this call: ordinary tensors and no mode."""
    cdef int place = op.device_arg
    if not form.optional[place] or not form.optional[place - 1] or switches.any_mode and slow_path():
        return 0
    for i in op.tensor_args:
        if not is_ordinary(<PyObject *>bound[i]):
            return 0
    device, layout = bound[place], bound[place - 1]
    if device is CPU or type(device) is device_class and device.type == "cpu" and device.index is None:
        bound[place] = None
    if layout is not None and form.classes[place - 1] == "layout" and layout.name == "strided":
        bound[place - 1] = None
    return 0


cdef object gathered(PyObject **args, Py_ssize_t first, Py_ssize_t given):
    """The ints of x.view(2, 3) as a tuple."""
    cdef Py_ssize_t i
    cdef tuple found
    for i in range(first, given):
        if not PyLong_CheckExact(args[i]):
            return ASK
    found = PyTuple_New(given - first)
    for i in range(first, given):
        value = <object>args[i]
        Py_INCREF(value)
        PyTuple_SET_ITEM(found, i - first, value)
    return found


cdef object by_schema(Entry self, PyObject **args, Py_ssize_t given, PyObject *keywords, Py_ssize_t named):
    cdef Py_ssize_t i
    cdef dict kwargs = {}
    for i in range(named):
        kwargs[<object>PyTuple_GET_ITEM(keywords, i)] = <object>args[given + i]
    return self.general(tuple([<object>args[i] for i in range(given)]), kwargs)


cdef Entry probe = Entry.__new__(Entry)
make_vectorcall(<PyTypeObject *>Entry, <char *>&probe.vectorcall - <char *><void *>probe)


# ---- metadata of tensors
cdef enum Asked:
    DIM, NUMEL, SIZE, STRIDE, OFFSET, CONTIGUOUS, ITEM

cdef dict ASKED = {"dim": DIM, "numel": NUMEL, "size": SIZE, "stride": STRIDE, "storage_offset": OFFSET,
                   "is_contiguous": CONTIGUOUS, "item": ITEM}


cdef class Question:
    """A metadata method for ordinary tensors; all other calls go to `general`, the same method in Python."""

    cdef void *vectorcall
    cdef int asked
    cdef object general
    cdef dict __dict__
    cdef object __weakref__

    def __cinit__(self):
        self.vectorcall = <void *>ask

    def __init__(self, general):
        self.general, self.asked = general, ASKED[general.__name__]
        for attribute, value in (("__name__", general.__name__), ("__qualname__", general.__name__), ("__module__", "torch"),
                                 ("__doc__", general.__doc__), ("__wrapped__", general)):
            setattr(self, attribute, value)

    def __get__(self, instance, owner):
        return self if instance is None else MethodType(self, instance)

    def __repr__(self):
        return f"<method '{self.__name__}' of 'torch._C.TensorBase' objects>"

    def __reduce__(self):
        return getattr, (Tensor, self.__name__)


cdef PyObject *ask(PyObject *question, PyObject **args, size_t flags, PyObject *keywords) except NULL:
    made = answer(<Question>question, args, NO_OFFSET(flags), keywords)
    Py_INCREF(made)
    return <PyObject *>made


cdef object answer(Question self, PyObject **args, Py_ssize_t given, PyObject *keywords):
    cdef Py_ssize_t i, n
    cdef PyObject *array
    cdef dict kwargs
    if keywords is NULL and given >= 1 and given <= 2 and is_ordinary(args[0]) and switches.function_modes == 0:
        array = <PyObject *>(<Tensor>args[0]).array
        n = rank(array)
        if given == 2:
            if (self.asked == SIZE or self.asked == STRIDE) and PyLong_CheckExact(args[1]):
                i = <object>args[1]
                if -n <= i < n:
                    i = i + n if i < 0 else i
                    return length(array, i) if self.asked == SIZE else (<tuple>strides_of(<object>array))[i]
        elif self.asked == DIM:
            return n
        elif self.asked == NUMEL:
            return (<object>array).size
        elif self.asked == SIZE:
            return Size((<object>array).shape)
        elif self.asked == STRIDE:
            return strides_of(<object>array)
        elif self.asked == OFFSET:
            return offset_of(<object>array)
        elif self.asked == CONTIGUOUS:
            if is_row_major(array):
                return True
        elif type_number(array) <= NPY_CDOUBLE and (<object>array).size == 1 and not (switches.any_mode and slow_path()):
            return (<object>array).item()
    kwargs = {}
    for i in range(0 if keywords is NULL else PyTuple_GET_SIZE(keywords)):
        kwargs[<object>PyTuple_GET_ITEM(keywords, i)] = <object>args[given + i]
    return self.general(*[<object>args[i] for i in range(given)], **kwargs)


cdef Question asking = Question.__new__(Question)
make_vectorcall(<PyTypeObject *>Question, <char *>&asking.vectorcall - <char *><void *>asking)


def form_of(binding, target):
    """The form of an overload; None if its calls must be bound by the schema."""
    return Form(binding, target) if len(binding.params) <= MOST and binding.takes_receiver_first else None
