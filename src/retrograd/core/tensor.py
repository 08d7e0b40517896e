"""The Tensor: a NumPy array, a version counter, and its place in the autograd graph.

NOTE [What a tensor costs]
Every op creates a tensor, so it holds only what every op needs; everything else is created on demand. `_flags` combines in
one integer all properties that take a tensor off the fast path (FLAG_*): ordinary tensors have 0.
`_counter` (the version counter, shared by all aliases) is created by the first view, save or write. `_view` is set on
views. `_extra` holds hooks, tangents and other rare state.
"""
from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from retrograd.core import device as devices
from retrograd.core import dtypes
from retrograd.core.hooks import hooks
from retrograd.core.state import inference, slow_path, switches, tls

if TYPE_CHECKING:
    from retrograd.core.device import device
    from retrograd.core.dtypes import dtype
    from retrograd.core.graph import Node
    from retrograd.core.opdef import OpDef

ndarray = np.ndarray
BY_NUMPY = dtypes.BY_NUMPY

FLAG_SUBCLASS = 1      # has __torch_function__ or __torch_dispatch__ of its own
FLAG_CONJ = 2          # the values are the conjugate of the array's
FLAG_NEG = 4           # the values are the negative of the array's
FLAG_INFERENCE = 8     # made in inference mode: no version counter, never saved
FLAG_DUAL = 16         # has forward-mode tangents
FLAG_META = 32         # no data: the array's memory must not be touched
FLAG_WRAPPER = 64      # belongs to a transform (batched, functional, ...)
FLAG_SPARSE = 128      # not strided: the array is not the data
FLAG_WRITABLE = 512    # detached from an inference tensor outside of inference mode: writes are allowed
FLAG_PENDING = 256     # the array is computed later: call `hooks.settle` before reading it (see compile/deferred.py)


class Counter:
    """The number of in-place writes to memory, shared by the tensors that alias it."""

    __slots__ = ("n", "writes")       # `writes` is set while origins are traced (see origin.py)

    def __init__(self) -> None:
        self.n: int = 0


class View:
    """The history of a view: its root `base`, the last view op and its arguments, and the views before it."""

    __slots__ = ("args", "base", "creation", "depth", "op", "output", "parent", "version")

    base: Tensor
    op: Any               # the op that made this view from `parent` (or from the base)
    args: Any             # its arguments after the tensor; None if `op` is a function of the tensor alone
    output: int           # the index of the op's result, -1 if there is only one
    parent: View | None   # the View of its source tensor, None if that was the base
    creation: int
    depth: int            # the number of views before it; see views.shorten
    version: int          # the version at which the view's grad_fn was created


def new_view(base: Tensor, op: Any, args: Sequence[Any] | None, output: int, parent: View | None, creation: int,
             version: int) -> View:
    """A new View; views are as frequent as tensors, so this skips `__init__`."""
    view = View.__new__(View)
    view.base = base
    view.op = op
    view.args = args
    view.output = output
    view.parent = parent
    view.depth = 0 if parent is None else parent.depth + 1
    view.creation = creation
    view.version = version
    return view


class Extra:
    """The rare parts of a tensor's autograd state."""

    __slots__ = ("backward_hooks", "batch", "detached", "grad_dtype", "grad_dtype_set", "hooks", "name", "post_hooks",
                 "retains_grad", "sparse", "tangent", "trail")

    def __init__(self) -> None:
        self.hooks: Any = None            # tensor pre-hooks of a leaf, {id: fn}
        self.post_hooks: Any = None       # post-accumulate-grad hooks of a leaf, {id: fn}
        self.retains_grad: bool = False
        self.tangent: Any = None          # at the open forward-mode level
        self.batch: Any = None            # for a tensor with FLAG_WRAPPER: the value it wraps (see transforms/batching.py)
        self.sparse: Any = None           # for a tensor with FLAG_SPARSE: its indices and values (see ops/sparse/coo.py)
        self.name: Any = None
        self.grad_dtype: Any = None
        self.grad_dtype_set: bool = False
        self.backward_hooks: Any = None
        self.detached: bool = False       # detach_ was called on it
        self.trail: Any = None            # its origins, while they are traced (see origin.py)


class Size(tuple[int, ...]):
    """A tensor's shape: a tuple with `numel()`.

    >>> Size([2, 3]).numel()
    6
    """

    __slots__ = ()

    def numel(self) -> int:
        total = 1
        for size in self:
            total *= size
        return total

    def __repr__(self) -> str:
        return "torch.Size([" + ", ".join(map(str, self)) + "])"

    __str__ = __repr__

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, tuple):
            return NotImplemented
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Any:
        return Size(other + tuple(self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        return Size(tuple.__mul__(self, other))

    __rmul__ = __mul__

    def __getitem__(self, index: Any) -> Any:
        item = tuple.__getitem__(self, index)
        return Size(item) if isinstance(index, slice) else item

    def __reduce__(self) -> Any:
        return (Size, (tuple(self),))


class Dispatcher:
    """The entry points of dispatch that Tensor's operators call; `dispatch` installs the real one."""

    def unary(self, op: OpDef, a: Tensor) -> Any:
        raise NotImplementedError

    def binary(self, op: OpDef, a: Tensor, b: Any) -> Any:
        raise NotImplementedError

    def call(self, op: OpDef, args: Sequence[Any]) -> Any:
        raise NotImplementedError

    def refresh(self, tensor: Any) -> None:
        raise NotImplementedError

    def counted(self, tensor: Any) -> None:
        raise NotImplementedError

    def function(self, name: str, args: Sequence[Any]) -> Any:
        raise NotImplementedError


class Operators:
    """The ops behind Python's operators, set by the op tables (`matmul` is the op on two matrices), and the dispatcher."""

    __slots__ = ("dispatcher", "add", "sub", "rsub", "mul", "div", "matmul", "neg")

    def __init__(self) -> None:
        self.dispatcher = Dispatcher()
        self.add: Any = None
        self.sub: Any = None
        self.rsub: Any = None
        self.mul: Any = None
        self.div: Any = None
        self.matmul: Any = None
        self.neg: Any = None


# Ops and Python's operators by name, for `Tensor`'s special methods and `ops.late`; a `Later` until first used.
FUNCTIONS_BY_NAME: dict[str, Any] = {}
operators = Operators()
table = operators         # alias that is a C variable in the compiled module


class Tensor:
    """A multi-dimensional array with autograd history."""

    __slots__ = ("__dict__", "__weakref__", "_cell", "_counter", "_extra", "_grad", "_node", "_nr", "_flags", "_requires",
                 "_sink", "_view", "array")

    array: ndarray
    _flags: int           # FLAG_* flags
    _requires: bool       # for a leaf: what the user said; for the rest: that there is a node
    _node: Any            # the node that computed this tensor
    _nr: int              # which of the node's outputs it is
    _counter: Any
    _view: Any
    _grad: Any
    _sink: Any            # weak reference to a leaf's AccumulateGrad
    _extra: Any
    _cell: Any            # with FLAG_PENDING: its place on a tape (see compile/tape.py); otherwise unused

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # For a subclass `__new__` has set everything; so it has for this class in the plain core.
        if type(self) is Tensor and getattr(self, "array", None) is None:
            hooks.construct(self, args, kwargs)

    # ---- operators
    def __add__(self, other: Any) -> Tensor:
        return table.dispatcher.binary(table.add, self, other)

    def __radd__(self, other: Any) -> Tensor:
        if isinstance(other, Tensor) and was_asked_first(self, other):
            return table.dispatcher.binary(table.add, other, self)
        if type(other) is not float and type(other) is not int and is_foreign(other):
            return NotImplemented
        return table.dispatcher.binary(table.add, self, other)

    def __sub__(self, other: Any) -> Tensor:
        return table.dispatcher.binary(table.sub, self, other)

    def __rsub__(self, other: Any) -> Tensor:
        if isinstance(other, Tensor) and was_asked_first(self, other):
            return table.dispatcher.binary(table.sub, other, self)
        return table.dispatcher.function("__rsub__", (self, other))

    def __mul__(self, other: Any) -> Tensor:
        return table.dispatcher.binary(table.mul, self, other)

    def __rmul__(self, other: Any) -> Tensor:
        if isinstance(other, Tensor) and was_asked_first(self, other):
            return table.dispatcher.binary(table.mul, other, self)
        if type(other) is not float and type(other) is not int and is_foreign(other):
            return NotImplemented
        return table.dispatcher.binary(table.mul, self, other)

    def __truediv__(self, other: Any) -> Tensor:
        return table.dispatcher.binary(table.div, self, other)

    def __rtruediv__(self, other: Any) -> Tensor:
        if isinstance(other, Tensor) and was_asked_first(self, other):
            return table.dispatcher.binary(table.div, other, self)
        return table.dispatcher.function("__rdiv__", (self, other))

    def __matmul__(self, other: Any) -> Tensor:
        if type(other) is Tensor and self.array.ndim == 2 and other.array.ndim == 2:
            return table.dispatcher.binary(table.matmul, self, other)
        if not isinstance(other, Tensor) and not hasattr(other, "__torch_function__"):
            if hasattr(type(other), "__rmatmul__"):
                return NotImplemented
            raise refusal("@", self, other)
        return table.dispatcher.function("matmul", (self, other))

    def __rmatmul__(self, other: Any) -> Tensor:
        if not isinstance(other, Tensor) and not hasattr(other, "__torch_function__"):
            raise refusal("@", other, self)
        return table.dispatcher.function("matmul", (other, self))

    def __neg__(self) -> Tensor:
        return table.dispatcher.unary(table.neg, self)

    def __pos__(self) -> Tensor:
        return table.dispatcher.function("positive", (self,))

    def __abs__(self) -> Tensor:
        return table.dispatcher.function("abs", (self,))

    def __invert__(self) -> Tensor:
        return table.dispatcher.function("__invert__", (self,))

    def __pow__(self, exponent: Any) -> Tensor:
        return table.dispatcher.function("__pow__", (self, exponent))

    def __rpow__(self, base: Any) -> Tensor:
        if isinstance(base, Tensor) and was_asked_first(self, base):
            return table.dispatcher.function("__pow__", (base, self))
        return table.dispatcher.function("__rpow__", (self, base))

    def __floordiv__(self, other: Any) -> Tensor:
        return table.dispatcher.function("__floordiv__", (self, other))

    def __rfloordiv__(self, other: Any) -> Tensor:
        if isinstance(other, Tensor) and was_asked_first(self, other):
            return table.dispatcher.function("__floordiv__", (other, self))
        return table.dispatcher.function("__rfloordiv__", (self, other))

    def __mod__(self, other: Any) -> Tensor:
        return table.dispatcher.function("__mod__", (self, other))

    def __rmod__(self, other: Any) -> Tensor:
        if isinstance(other, Tensor) and was_asked_first(self, other):
            return table.dispatcher.function("__mod__", (other, self))
        return table.dispatcher.function("__rmod__", (self, other))

    def __and__(self, other: Any) -> Tensor:
        return table.dispatcher.function("__and__", (self, other))

    def __rand__(self, other: Any) -> Tensor:
        if isinstance(other, Tensor) and was_asked_first(self, other):
            return table.dispatcher.function("__and__", (other, self))
        if is_foreign(other):
            return NotImplemented
        return table.dispatcher.function("__and__", (self, other))

    def __or__(self, other: Any) -> Tensor:
        return table.dispatcher.function("__or__", (self, other))

    def __ror__(self, other: Any) -> Tensor:
        if isinstance(other, Tensor) and was_asked_first(self, other):
            return table.dispatcher.function("__or__", (other, self))
        if is_foreign(other):
            return NotImplemented
        return table.dispatcher.function("__or__", (self, other))

    def __xor__(self, other: Any) -> Tensor:
        return table.dispatcher.function("__xor__", (self, other))

    def __rxor__(self, other: Any) -> Tensor:
        if isinstance(other, Tensor) and was_asked_first(self, other):
            return table.dispatcher.function("__xor__", (other, self))
        if is_foreign(other):
            return NotImplemented
        return table.dispatcher.function("__xor__", (self, other))

    def __lshift__(self, other: Any) -> Tensor:
        return table.dispatcher.function("__lshift__", (self, other))

    def __rshift__(self, other: Any) -> Tensor:
        return table.dispatcher.function("__rshift__", (self, other))

    def __rlshift__(self, other: Any) -> Tensor:
        if isinstance(other, Tensor) and was_asked_first(self, other):
            return table.dispatcher.function("__lshift__", (other, self))
        return table.dispatcher.function("__rlshift__", (self, other))

    def __rrshift__(self, other: Any) -> Tensor:
        if isinstance(other, Tensor) and was_asked_first(self, other):
            return table.dispatcher.function("__rshift__", (other, self))
        return table.dispatcher.function("__rrshift__", (self, other))

    def __ilshift__(self, other: Any) -> Tensor:
        return table.dispatcher.function("__ilshift__", (self, other))

    def __irshift__(self, other: Any) -> Tensor:
        return table.dispatcher.function("__irshift__", (self, other))

    def __eq__(self, other: Any) -> Any:
        return table.dispatcher.function("__eq__", (self, other))

    def __ne__(self, other: Any) -> Any:
        return table.dispatcher.function("__ne__", (self, other))

    def __lt__(self, other: Any) -> Tensor:
        return table.dispatcher.function("__lt__", (self, other))

    def __le__(self, other: Any) -> Tensor:
        return table.dispatcher.function("__le__", (self, other))

    def __gt__(self, other: Any) -> Tensor:
        return table.dispatcher.function("__gt__", (self, other))

    def __ge__(self, other: Any) -> Tensor:
        return table.dispatcher.function("__ge__", (self, other))

    def __iadd__(self, other: Any) -> Tensor:
        return table.dispatcher.function("__iadd__", (self, other))

    def __isub__(self, other: Any) -> Tensor:
        return table.dispatcher.function("__isub__", (self, other))

    def __imul__(self, other: Any) -> Tensor:
        return table.dispatcher.function("__imul__", (self, other))

    def __itruediv__(self, other: Any) -> Tensor:
        return table.dispatcher.function("__itruediv__", (self, other))

    def __ifloordiv__(self, other: Any) -> Tensor:
        return table.dispatcher.function("__ifloordiv__", (self, other))

    def __imod__(self, other: Any) -> Tensor:
        return table.dispatcher.function("__imod__", (self, other))

    def __ipow__(self, other: Any) -> Tensor:
        return table.dispatcher.function("__ipow__", (self, other))

    def __iand__(self, other: Any) -> Tensor:
        return table.dispatcher.function("__iand__", (self, other))

    def __ior__(self, other: Any) -> Tensor:
        return table.dispatcher.function("__ior__", (self, other))

    def __ixor__(self, other: Any) -> Tensor:
        return table.dispatcher.function("__ixor__", (self, other))

    def __getitem__(self, index: Any) -> Any:
        return table.dispatcher.function("__getitem__", (self, index))

    def __setitem__(self, index: Any, value: Any) -> None:
        table.dispatcher.function("__setitem__", (self, index, value))

    def __delitem__(self, index: Any) -> None:
        raise TypeError("Tensor does not support deleting items")

    def __hash__(self) -> int:
        return id(self)

    def __len__(self) -> int:
        if self._flags & FLAG_SUBCLASS or switches.function_modes:
            return table.dispatcher.function("__len__", (self,))
        if self.array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self.array.shape[0]

    def __bool__(self) -> bool:
        if not self._flags and self.array.size == 1 and not (switches.any_mode and (
                slow_path() or switches.function_modes)):
            return bool(self.array)
        return table.dispatcher.function("__bool__", (self,))

    # Declared here, although `methods` installs them, because a compiled class finds them only through its C slots.
    def __int__(self) -> int:
        return int(table.dispatcher.function("__int__", (self,)))

    def __float__(self) -> float:
        return float(table.dispatcher.function("__float__", (self,)))

    def __index__(self) -> int:
        return int(table.dispatcher.function("__index__", (self,)))

    def __iter__(self) -> Any:
        return table.dispatcher.function("__iter__", (self,))

    def __contains__(self, element: Any) -> bool:
        return bool(table.dispatcher.function("__contains__", (self, element)))

    def __repr__(self) -> str:
        return table.dispatcher.function("__repr__", (self,))

    # ---- properties; a subclass may override them
    @property
    def shape(self) -> Size:
        if self._flags and self._flags & (FLAG_SUBCLASS | FLAG_SPARSE):
            return asked(self, "shape", shape_of)
        return Size(self.array.shape)

    @property
    def ndim(self) -> int:
        if self._flags & FLAG_SUBCLASS:
            return asked(self, "ndim", ndim_of)
        return self.array.ndim

    @property
    def dtype(self) -> dtype:
        if self._flags & FLAG_SUBCLASS:
            return asked(self, "dtype", dtype_of)
        return BY_NUMPY[self.array.dtype]

    @property
    def device(self) -> Any:
        if self._flags & FLAG_SUBCLASS:
            return asked(self, "device", device_of)
        return devices.META if self._flags & FLAG_META else devices.CPU

    # ---- its place in the graph
    @property
    def grad_fn(self) -> Node | None:
        if self._flags & FLAG_SUBCLASS:
            return asked(self, "grad_fn", grad_fn_of)
        return grad_fn_of(self)

    @property
    def _recorded(self) -> Node | None:
        """The node as the engine sees it, which may represent several."""
        if self._view is not None:
            table.dispatcher.refresh(self)
        if self._flags & FLAG_PENDING and hooks.settle is not None:
            hooks.settle(self)
        return self._node

    @property
    def requires_grad(self) -> bool:
        return wants_grad(self)

    @property
    def is_leaf(self) -> bool:
        if self._flags & FLAG_SUBCLASS:
            return asked(self, "is_leaf", is_leaf_of)
        return not wants_grad(self) or self._recorded is None

    @property
    def output_nr(self) -> int:
        if self._flags & FLAG_SUBCLASS:
            return asked(self, "output_nr", output_nr_of)
        return output_nr_of(self)

    @property
    def _version(self) -> int:
        if self._flags & FLAG_SUBCLASS:
            return asked(self, "_version", version_of)
        return version_of(self)


def asked(t: Tensor, name: str, get: Callable[..., Any]) -> Any:
    """An attribute of `t`: through `__torch_function__` if its class overrides it, else by `get`."""
    if t._flags & FLAG_SUBCLASS and not tls.function_disabled and hooks.overrides_function(type(t)):
        return hooks.torch_function(getattr(Tensor, name).__get__, (t,), {})
    if t._flags & FLAG_SUBCLASS and "_described" in t.__dict__:
        found = hooks.described(t, FACTS.get(name, name))
        if found is not None:
            return found
    return get(t)


FACTS = {"shape": "size", "ndim": "dim"}        # the property requested from the class when these are read


def shape_of(t: Tensor) -> Size:
    if t._flags & FLAG_SPARSE and t.is_nested:     # a property installed by `methods`
        return hooks.nested_shape(t)
    return Size(t.array.shape)


def ndim_of(t: Tensor) -> int:
    return t.array.ndim


def dtype_of(t: Tensor) -> dtype:
    return BY_NUMPY[t.array.dtype]


def device_of(t: Tensor) -> device:
    return devices.META if t._flags & FLAG_META else devices.CPU


def grad_fn_of(t: Tensor) -> Node | None:
    node = t._recorded
    return node if node is None or node._op_ is not None else node._shown_(t._nr)[0]


def is_leaf_of(t: Tensor) -> bool:
    return not wants_grad(t) or t._recorded is None


def output_nr_of(t: Tensor) -> int:
    node = t._recorded
    return t._nr if node is None or node._op_ is not None else node._shown_(t._nr)[1]


def version_of(t: Tensor) -> int:
    if t._flags & FLAG_INFERENCE:
        raise RuntimeError("Inference tensors do not track version counter.")
    return 0 if t._counter is None and t._node is None else counter_of(t).n


def length(t: Tensor) -> int:
    """The result of `len`."""
    shape = t.array.shape
    if t._flags & FLAG_SUBCLASS and "_described" in t.__dict__:
        shape = hooks.described(t, "size") or shape
    if len(shape) == 0:
        raise TypeError("len() of a 0-d tensor")
    return shape[0]


def is_foreign(left: Any) -> bool:
    """Whether tensor operators do not support a left operand of this type, so that Python raises."""
    return left is None or isinstance(left, (str, bytes, list, tuple, dict, set))


def was_asked_first(t: Any, left: Any) -> bool:
    """Whether Python called the reflected method of `t` first because it is a subclass of the left operand's compiled
    class."""
    return type(t) is not type(left) and isinstance(t, type(left))


def init_tensor(t: Tensor, array: ndarray) -> None:
    """Set all fields of a tensor whose class may be any subclass."""
    t.array = array
    t._flags = 0                # FLAG_* flags
    t._requires = False       # for a leaf: what the user said; for the rest: that there is a node
    t._node = None            # the node that computed this tensor
    t._nr = 0                 # which of the node's outputs it is
    t._counter = None
    t._view = None
    t._grad = None
    t._sink = None            # weak reference to a leaf's AccumulateGrad
    t._extra = None


def new_tensor(array: ndarray) -> Tensor:
    """A tensor on `array`, without the cost of `Tensor.__init__`, since every op creates one."""
    if NATIVE:                            # whose other fields are None or 0 from the start
        t = Tensor.__new__(Tensor)
        t.array = array
        return t
    t = object.__new__(Tensor)
    t.array = array
    t._flags = t._nr = 0
    t._requires = False
    t._node = t._counter = t._view = t._grad = t._sink = t._extra = None
    return t


def counter_of(t: Tensor) -> Counter:
    """The version counter of `t`, created if it has none."""
    counter = t._counter
    if counter is None and t._flags & FLAG_PENDING and hooks.settle is not None:
        hooks.settle(t)
        counter = t._counter
    if counter is None:
        counter = t._counter = Counter()
        if t._node is not None:
            table.dispatcher.counted(t)
            counter = t._counter
    return counter


def bump(t: Tensor) -> None:
    """Count one in-place write to `t` and its aliases."""
    counter = t._counter
    if counter is None:
        counter = counter_of(t)
    counter.n += 1


def extra_of(t: Tensor) -> Extra:
    """The rare state of `t`, created if it has none."""
    if t._extra is None:
        t._extra = Extra()
    return t._extra


def wrap(array: Any) -> Tensor:
    """A new tensor that owns or aliases `array`; NumPy scalars become 0-d arrays."""
    if type(array) is not ndarray:
        array = np.asarray(array)
    t = new_tensor(array)
    if switches.any_mode and inference():
        t._flags = FLAG_INFERENCE
    return t


def wants_grad(t: Tensor) -> bool:
    """Whether `t` requires grad; a view does when its base does."""
    return t._requires or (t._view is not None and t._view.base._requires)


def conj(value: Any) -> Any:
    """The conjugate of a tensor or number; real ones are returned as they are."""
    if type(value) is Tensor:
        t = value
        dtype = t.array.dtype
        if dtype is FLOAT32 or dtype is FLOAT64 or dtype.kind not in "cW":
            return value
        return table.dispatcher.function("conj", (value,))
    if isinstance(value, Tensor):
        return table.dispatcher.function("conj", (value,)) if value.array.dtype.kind in "cW" else value
    return value.conjugate() if isinstance(value, complex) else value


FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
NATIVE: bool = type(Tensor.__dict__["__init__"]) is not type(Size.__dict__["numel"])      # as a C variable in compiled code
COMPILED: bool = type(Tensor.__dict__["__init__"]) is not type(Size.__dict__["numel"])


def install(cls: type, members: dict[str, Any]) -> None:
    """Add methods and properties to Tensor, also when it is compiled and immutable."""
    if not COMPILED:
        for name, member in members.items():
            setattr(cls, name, member)
    else:
        put_into(cls, members)


def put_into(cls: Any, members: Any) -> None:
    """Add members to a class through its dictionary."""
    gc.get_referents(cls.__dict__)[0].update(members)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))


FLAGS_WORD = 21             # word offset of `tp_flags` in CPython's type objects
IMMUTABLE_TYPE = 1 << 8     # Py_TPFLAGS_IMMUTABLETYPE


def open_class(cls: Any) -> None:
    """Make a compiled class mutable, like a class written in Python: `Tensor.name = function`."""
    flags = ctypes.c_ulong.from_address(id(cls) + FLAGS_WORD * ctypes.sizeof(ctypes.c_void_p))
    if flags.value == cls.__flags__:        # otherwise this Python has another layout, and the class stays immutable
        flags.value &= ~IMMUTABLE_TYPE


class Attributes(ctypes.Structure):
    """CPython's definition of `__dict__` as classes written in Python have it: to read and to assign."""

    _fields_ = (("name", ctypes.c_char_p), ("get", ctypes.c_void_p), ("set", ctypes.c_void_p), ("doc", ctypes.c_char_p),
                ("closure", ctypes.c_void_p))


ATTRIBUTES = Attributes(b"__dict__", ctypes.cast(ctypes.pythonapi.PyObject_GenericGetDict, ctypes.c_void_p),
                        ctypes.cast(ctypes.pythonapi.PyObject_GenericSetDict, ctypes.c_void_p), None, None)


def open_attributes(cls: Any) -> None:
    """Let the attributes of a compiled class's instances be replaced at once: `tensor.__dict__ = attributes`."""
    make = ctypes.pythonapi.PyDescr_NewGetSet
    make.restype = ctypes.py_object
    put_into(cls, {"__dict__": make(ctypes.py_object(cls), ctypes.byref(ATTRIBUTES))})


NAME_WORD = 3                # word offset of `tp_name` in CPython's type objects
HEAP_TYPE = 1 << 9           # Py_TPFLAGS_HEAPTYPE
NEW_NAMES: list[bytes] = []  # keeps the targets of `tp_name` alive


def name_class(cls: Any, module: str) -> None:
    """Show a class under its public module: `<class 'torch.Tensor'>`."""
    if cls.__flags__ & HEAP_TYPE:
        cls.__module__ = module
        return
    slot = ctypes.c_char_p.from_address(id(cls) + NAME_WORD * ctypes.sizeof(ctypes.c_void_p))
    if slot.value == f"{cls.__module__}.{cls.__qualname__}".encode():     # otherwise this Python has another layout
        NEW_NAMES.append(f"{module}.{cls.__qualname__}".encode())
        slot.value = NEW_NAMES[-1]


def refusal(symbol: str, left: Any, right: Any) -> TypeError:
    """Python's error for unsupported operands; a compiled class would be named with its module."""
    names = [operand_name(type(operand)) for operand in (left, right)]
    return TypeError(f"unsupported operand type(s) for {symbol}: '{names[0]}' and '{names[1]}'")


def operand_name(cls: Any) -> str:
    """The name of an operand's class in Python's errors: qualified for classes of C modules other than this one."""
    module = cls.__module__
    if cls.__flags__ & HEAP_TYPE or module == "builtins" or issubclass(cls, Tensor):
        return str(cls.__name__)
    return f"{module}.{cls.__qualname__}"


DESCRIPTOR_NAME_WORD = 3     # word offset of `d_name` in CPython's descriptors of C attributes; `d_qualname` follows


def name_descriptor(descriptor: Any, qualname: str) -> None:
    """Change the qualified name of an attribute of a compiled class."""
    before = descriptor.__qualname__                  # created on first access
    words = (ctypes.c_void_p * (DESCRIPTOR_NAME_WORD + 2)).from_address(id(descriptor))
    if words[DESCRIPTOR_NAME_WORD] == id(descriptor.__name__) and words[DESCRIPTOR_NAME_WORD + 1] == id(before):
        NEW_QUALNAMES.append(qualname)
        words[DESCRIPTOR_NAME_WORD + 1] = id(qualname)


NEW_QUALNAMES: list[str] = []


if COMPILED:
    open_class(Tensor)
    open_attributes(Tensor)
