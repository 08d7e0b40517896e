"""Kernels as straight-line calls of NumPy, for the plain core, where every line of Python counts.

NOTE [Straight kernels]
A kernel is a function of an array namespace and arrays (`xp`, see the column `kernel` in opdef.py). Most of its lines deal
with dtypes, sizes and strides, and lead to a few calls of NumPy. Run once on arrays that record what is done with them, it
gives the calls alone, for all arrays of the same dtypes, sizes and strides and the same other arguments (its key). A kernel
that asks for the values of an array, or for a result whose size depends on them, cannot be recorded. What was recorded is
used if it gives the same bits in the same order in memory, and if the kernel asks for more dtypes, sizes and names than a
key costs.
"""
from __future__ import annotations

import re
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.dtypes import default_dtype_callbacks
from retrograd.core.tracing import Untraceable

ndarray = np.ndarray
FOLDED = 10                   # questions that a call of NumPy counts as if its result is the same in every run
LARGE = 1 << 16               # elements of operands of which a kernel takes so much time that its lines do not matter
MOST = 128                    # keys and recorded forms remembered for a kernel
CODES: dict[str, CodeType] = {}           # recorded kernels differ in constants more often than in text


# what a kernel may raise for these arguments: PyTorch's errors, NumPy's, TypeErrors of C code that takes real arrays only, and
# that SciPy is missing, which a build does without
REFUSALS = (RuntimeError, IndexError, ValueError, TypeError, ImportError)
METADATA = frozenset(("shape", "dtype", "ndim", "size", "strides", "itemsize", "nbytes", "flags"))
VIEWS = frozenset(("T", "mT", "real", "imag"))
METHODS = frozenset((
    "all", "any", "argmax", "argmin", "argsort", "astype", "clip", "conj", "conjugate", "copy", "cumprod", "cumsum", "diagonal",
    "dot", "flatten", "max", "mean", "min", "prod", "ravel", "reshape", "round", "squeeze", "std", "sum", "swapaxes", "take",
    "trace", "transpose", "var", "view"))
WRITING = frozenset(("fill", "sort"))
NAMES = re.compile(r"\b[ct]\d\w*")
# functions of dtypes and sizes alone; functions with results whose size depends on values, or that write to an argument
KNOWN = frozenset((np.result_type, np.ndim, np.shape, np.size, np.iscomplexobj, np.isrealobj, np.can_cast, np.promote_types))
REFUSED = frozenset((
    np.nonzero, np.flatnonzero, np.argwhere, np.unique, np.extract, np.compress, np.delete, np.bincount, np.histogram,
    np.histogram_bin_edges, np.repeat, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal, np.copyto))
COPYTO = np.copyto
SAME = frozenset((np.asarray, np.asanyarray, np.ascontiguousarray))       # they may return their argument
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
PAIRS = frozenset((np.add, np.subtract, np.multiply, np.true_divide, np.maximum, np.minimum, np.greater, np.greater_equal,
                   np.less, np.less_equal, np.equal, np.not_equal))


class Cache(dict[Any, Any]):
    """Functions by key, which a change of the default dtype makes invalid."""

    all: list[Cache] = []

    def __init__(self) -> None:
        super().__init__()
        self.met: set[Any] = set()                # keys without a function
        Cache.all.append(self)

    def is_new(self, key: Any) -> bool:
        """Whether a key is met for the first time."""
        if key in self.met:
            return False
        if len(self.met) >= MOST:
            self.met.clear()
        self.met.add(key)
        return True

    def keep(self, key: Any, function: Any) -> None:
        if len(self) >= MOST:
            self.clear()
        self[key] = function


def forget(default: Any) -> None:
    for cache in Cache.all:
        cache.clear()


default_dtype_callbacks.append(forget)


class Recorder:
    """The lines of one kernel."""

    def __init__(self) -> None:
        self.lines: list[tuple[list[str], str, list[str], bool]] = []      # results, text, operands, whether it writes
        self.constants: dict[str, Any] = {}
        self.roots: dict[str, str] = {}           # the value whose memory a value shares
        self.held: dict[str, Any] = {}
        self.shared: dict[Any, str] = {}          # the names of constants
        self.kept: list[Any] = []
        self.asked = 0                            # how often dtypes, sizes and names were asked for

    def array(self, held: Any, name: str, root: str = "") -> Recorded:
        self.held[name] = held
        self.roots[name] = root or name
        return Recorded(self, held, name)         # which refers to this object, so this one does not refer to it

    def constant(self, value: Any) -> str:
        if value is None or value is True or value is False or value is Ellipsis:
            return repr(value)
        key = identity(value)
        name = self.shared.get(key)
        if name is None:
            name = self.shared[key] = f"c{len(self.constants)}"
            self.constants[name] = value.copy() if type(value) is ndarray else value
            self.kept.append(value)               # so that no other object has its id
        return name

    def spelled(self, value: Any, operands: list[str]) -> str:
        """The text of an argument; the arrays in it are added to `operands`."""
        kind = type(value)
        if kind is Recorded:
            operands.append(value.name)
            name: str = value.name
            return name
        if kind is slice and holds(value):
            raise Untraceable("the bounds of a slice are values")
        if kind in (tuple, list) and any([holds(v) for v in value]):
            inside = "".join([f"{self.spelled(v, operands)}, " for v in value])
            return f"({inside})" if kind is tuple else f"[{inside}]"
        if kind is Function:
            return self.constant(value.function)
        if holds(value):
            raise Untraceable("xp is an argument of a function")
        return self.constant(list(value) if kind is list else value)

    def operand(self, value: Any, other: Any, operands: list[str]) -> str:
        """The text of an operand of arithmetic: a Python number beside a float array is an array too, which NumPy converts at
        every call otherwise."""
        if type(value) in (int, float) and type(other) is Recorded and other.held.dtype in FLOATS:
            return self.constant(np.array(value, other.held.dtype))
        return self.spelled(value, operands)

    def check_own(self, target: Any) -> None:
        """Check that a write goes to memory that the kernel has made."""
        if type(target) is not Recorded or self.roots[target.name][0] != "t":
            raise Untraceable("it writes to memory that it did not make")

    def record(self, text: str, operands: list[str], made: Any, writes: bool = False) -> Any:
        """Add the line `text` with its result, which `made` holds."""
        if made is None or writes:
            self.lines.append(([], text, operands, True))
            return None
        several = isinstance(made, (tuple, list))
        arrays = list(made) if several else [made]
        for other in operands if isinstance(made, ndarray) else ():
            held = self.held[other]
            if made is held or self.roots[other][0] == "t" and isinstance(held, ndarray) and same_place(made, held):
                return Recorded(self, held, other)
        if not all([isinstance(a, (ndarray, np.generic)) or several and a is None for a in arrays]):
            raise Untraceable(f"{text} does not return arrays")
        names = [f"t{len(self.held)}_{i}" for i in range(len(arrays))]
        self.lines.append((names, f"{', '.join(names)}{',' if several else ''} = {text}", operands, False))
        results = []
        for name, a in zip(names, arrays, strict=True):
            root = ""
            for other in operands:
                held = self.held[other]
                if isinstance(a, ndarray) and isinstance(held, ndarray) and np.may_share_memory(a, held):
                    root = self.roots[other]
            results.append(None if a is None else self.array(a, name, root))
        if not several:
            return results[0]
        return type(made)(*results) if hasattr(made, "_fields") else type(made)(results)

    def opaque(self, function: Any, args: Any, writes: bool = False) -> Any:
        """A call of any function of arrays."""
        operands: list[str] = []
        text = f"{self.constant(function)}({', '.join([self.spelled(a, operands) for a in args])})"
        return self.record(text, operands, function(*bare(args)), writes)

    def call(self, function: Any, args: Any, kwargs: Any) -> Any:
        """A call of a function of NumPy."""
        if function in KNOWN:
            return function(*bare(args), **bare(kwargs))
        if function in REFUSED and function is not COPYTO or function is np.where and len(args) == 1:
            raise Untraceable(f"the size of the result of {function.__name__} depends on values, or it writes to an argument")
        if (function is np.matmul or function is np.dot) and not kwargs and all(
                [type(a) is Recorded and a.ndim == 2 and a.dtype in FLOATS for a in args]):
            return args[0].dot(args[1])               # which takes half the time
        operands: list[str] = []
        texts = [self.operand(a, args[1 - i], operands) if function in PAIRS and len(args) == 2 else self.spelled(a, operands)
                 for i, a in enumerate(args)] + [f"{k}={self.spelled(a, operands)}" for k, a in kwargs.items()]
        text = f"{self.constant(function)}({', '.join(texts)})"
        target = kwargs.get("out")
        if type(target) is tuple and len(target) == 1:
            target = target[0]
        if isinstance(function, np.ufunc) and len(args) > function.nin:
            if len(args) > function.nin + 1:
                raise Untraceable(f"{function.__name__} writes to several arrays")
            target = args[-1]
        if function is COPYTO or getattr(function, "__name__", "") == "at" and isinstance(
                getattr(function, "__self__", None), np.ufunc):
            target = args[0]
        if target is not None and target is not Ellipsis:
            self.check_own(target)
        made = function(*bare(frozen(args)), **bare(kwargs))
        if not operands:
            self.asked += FOLDED
        if isinstance(made, ndarray) and any([type(a) is ndarray and np.may_share_memory(made, a) for a in args]):
            raise Untraceable(f"{function.__name__} returns an array that all runs would share")
        if type(target) is not Recorded and isinstance(made, ndarray) and function not in SAME:
            for a in args:
                if type(a) is Recorded and made is a.held:         # given by position
                    self.check_own(a)
                    target = a
        if type(target) is Recorded:
            self.record(text, operands, None)
            return target if function is not COPYTO else None
        return self.record(text, operands, made)

    def function(self, results: Any, parameters: list[str]) -> Any:
        """The function of the recorded lines; `results` are what the kernel returned."""
        operands: list[str] = []
        result = self.spelled(results, operands)
        if not operands or type(results) in (tuple, list) and not all([v is None or type(v) is Recorded for v in results]):
            raise Untraceable("its result is not made of its operands")
        return self.written(operands, parameters, [], [f"return {result}"], {})

    def written(self, results: list[str], parameters: list[str], head: list[str], tail: list[str],
                space: dict[str, Any]) -> Any:
        """The function of `head`, of those recorded lines that the values called `results` need, and of `tail`."""
        wanted = {self.roots[name] for name in results}
        same = self.same(wanted)
        other: dict[str, str] = {}                # names for what has another one
        alive = set(results) | wanted
        lines: list[Any] = []
        for names, text, given, writes in reversed(self.lines):
            if len(names) == 1 and names[0] in alive:
                text, given = self.shortcut(names[0], text, given, results)
            if writes and not alive.isdisjoint([self.roots[name] for name in given]) or not alive.isdisjoint(names):
                if same.issuperset(names or given):
                    for name in names:
                        other[name] = self.constant(self.held[name])
                    continue
                alive.update(given)
                alive.update([self.roots[name] for name in given])
                lines.insert(0, (names, text, given, writes))
        first = [line for line in head if line.split(" = ")[0] in alive]
        text = "\n    ".join([*first, *self.once(lines, wanted, other), *tail])
        used = set(NAMES.findall(text))
        known = {name: value for name, value in self.constants.items() if name in used}
        text = f"def kernel({', '.join([*parameters, *[f'{name}=None' for name in known]])}):\n    {text}\n"
        code = CODES.get(text)
        if code is None:
            made: dict[str, Any] = {}
            exec(compile(text, f"{__file__}:kernel", "exec"), made)
            code = CODES[text] = made["kernel"].__code__
        return FunctionType(code, space, "kernel", tuple(known.values()))

    def once(self, lines: list[Any], wanted: set[str], other: dict[str, str]) -> list[str]:
        """The text of the lines, without those that make what another one has made, and views that are their operand."""
        fixed = wanted.union(*[[self.roots[name] for name in given] for _, _, given, writes in lines if writes])
        made: dict[str, str] = {}
        texts = []
        for names, text, given, writes in lines:
            text = NAMES.sub(lambda found: other.get(found[0], found[0]), text)
            if len(names) == 1 and not writes and self.roots[names[0]] not in fixed and fixed.isdisjoint(
                    [self.roots[name] for name in given]):
                if len(given) == 1 and same_place(self.held[names[0]], self.held[given[0]]):
                    other[names[0]] = other.get(given[0], given[0])
                    continue
                first = made.setdefault(text.split(" = ", 1)[1], names[0])
                if first != names[0]:
                    other[names[0]] = first
                    continue
            texts.append(text)
        return texts

    def same(self, wanted: set[str]) -> set[str]:
        """The results that are the same in every run: nothing in them comes from an operand or is returned."""
        varying = {name for name in self.held if self.roots[name][0] != "t" or self.roots[name] in wanted}
        used: set[str] = set()                    # the memory of results that lines which run use
        found = -1
        while found < len(varying):
            found = len(varying)
            for names, _, given, writes in self.lines:
                roots = {self.roots[name] for name in given}
                if not varying.isdisjoint([*given, *roots]):
                    varying.update(names)
                    varying.update([self.roots.get(name, name) for name in names])
                    if writes:
                        varying.update(roots)
                    used |= roots
                elif writes and not used.isdisjoint(roots):          # what it overwrites was read before
                    varying.update(roots)
            varying.update([name for name in self.held if self.roots[name] in varying])
        return self.held.keys() - varying

    def shortcut(self, name: str, text: str, given: list[str], results: list[str]) -> tuple[str, list[str]]:
        """A line that makes a view by several steps, or by a function in Python, as one step from the memory it shares."""
        root = self.roots[name]
        if root == name or root in given and not text.split(" = ", 1)[1].startswith("c"):
            return text, given
        array, base = self.held[name], self.held[root]
        if not array.size or not base.flags.c_contiguous or base.dtype.kind in "OV" or array.dtype.kind in "OV":
            return text, given
        offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        values = [self.constant(v) for v in (ndarray, array.shape, array.dtype, offset, array.strides)]
        text = f"{name} = {values[0]}({values[1]}, {values[2]}, {root}, {values[3]}, {values[4]})"
        if name in results and not array.flags.writeable and base.flags.writeable:
            text += f"\n    {name}.setflags(False)"
        return text, [root]


def identity(value: Any) -> Any:
    """A key that only equal constants share."""
    if type(value) is ndarray and not value.ndim:
        return value.dtype, value.tobytes()
    if type(value) in (int, str) or type(value) is tuple and all([type(v) is int for v in value]):
        return value
    return None, id(value)


def same_place(a: Any, b: Any) -> bool:
    """Whether two arrays are the same elements in the same form."""
    return (type(a) is type(b) is ndarray and a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype
            and a.flags.writeable == b.flags.writeable and a.__array_interface__["data"][0] == b.__array_interface__["data"][0])


def holds(value: Any) -> bool:
    """Whether a recording array or function is in an argument."""
    if type(value) in (tuple, list):
        return any([holds(v) for v in value])
    if type(value) is slice:
        return any([type(v) is Recorded for v in (value.start, value.stop, value.step)])
    return type(value) in (Recorded, Function, Namespace)


def bare(value: Any) -> Any:
    """The arrays in arguments."""
    kind = type(value)
    if kind is Recorded:
        return value.held
    if kind is Function:
        return value.function
    if kind in (tuple, list):
        return kind([bare(v) for v in value])
    return {k: bare(v) for k, v in value.items()} if kind is dict else value


def frozen(value: Any) -> Any:
    """Arguments with arrays that are not to be written to where they are not recorded: they are the same in every run."""
    if type(value) is ndarray:
        value = value.view()
        value.setflags(write=False)
        return value
    return type(value)([frozen(v) for v in value]) if type(value) in (tuple, list) else value


def refuse(self: Any, *args: Any) -> Any:
    raise Untraceable("it reads values, or changes the form of an array")


class Recorded:
    """An array that records what is done with it."""

    __slots__ = ("held", "name", "recorder")
    __hash__ = None  # type: ignore[assignment]

    recorder: Recorder
    held: Any
    name: str

    def __init__(self, recorder: Recorder, held: Any, name: str) -> None:
        self.recorder, self.held, self.name = recorder, held, name

    def __array_namespace__(self) -> Any:
        return Namespace(np, self.recorder)

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return self.recorder.call(ufunc if method == "__call__" else getattr(ufunc, method), args, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self.recorder.call(function, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in METADATA:
            self.recorder.asked += 1
            return getattr(self.held, name)
        if name in VIEWS:
            return self.recorder.record(f"{self.name}.{name}", [self.name], getattr(self.held, name))
        if name in METHODS or name in WRITING:
            return Method(self, name)
        if name.startswith("__") and name != "__array_interface__":
            raise AttributeError(name)
        raise Untraceable(f"it asks for .{name}")

    def __getitem__(self, key: Any) -> Any:
        if any([type(k) is Recorded and k.dtype.kind == "b" for k in (key if type(key) is tuple else (key,))]):
            raise Untraceable("it indexes with a mask")
        operands = [self.name]
        text = f"{self.name}[{self.recorder.spelled(key, operands)}]"
        return self.recorder.record(text, operands, self.held[bare(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.recorder.check_own(self)
        operands = [self.name]
        text = f"{self.name}[{self.recorder.spelled(key, operands)}] = {self.recorder.spelled(value, operands)}"
        self.held[bare(key)] = bare(value)
        self.recorder.record(text, operands, None)

    def __len__(self) -> int:
        return len(self.held)

    def __iter__(self) -> Any:
        return iter([self[i] for i in range(len(self.held))])

    __array__ = __bool__ = __int__ = __float__ = __complex__ = __index__ = __format__ = refuse


def attribute_of(name: str, array: Recorded) -> Any:
    return array.__getattr__(name)


for name_ in ("dtype", "imag", "real", "shape", "strides"):           # which can be set
    setattr(Recorded, name_, property(partial(attribute_of, name_), refuse))


class Method:
    """A method of a recording array."""

    def __init__(self, owner: Any, name: str) -> None:
        self.owner, self.name = owner, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        owner = self.owner
        recorder, operands = owner.recorder, [owner.name]
        texts = [recorder.spelled(a, operands) for a in args]
        texts += [f"{k}={recorder.spelled(a, operands)}" for k, a in kwargs.items()]
        if kwargs.get("out") is not None:
            raise Untraceable(f".{self.name}() writes to out=")
        if self.name in WRITING:
            recorder.check_own(owner)
        made = getattr(owner.held, self.name)(*bare(frozen(args)), **bare(kwargs))
        if any([type(a) is Recorded and made is a.held for a in args]):
            raise Untraceable(f".{self.name}() writes to an argument")
        text = f"{owner.name}.{self.name}({', '.join(texts)})"
        if self.name == "squeeze" and owner.held.flags.c_contiguous:              # takes half the time
            text = f"{owner.name}.reshape({recorder.constant(made.shape)})"
        return recorder.record(text, operands, made, self.name in WRITING)


def operator(symbol: str, reflected: bool) -> Any:
    def run(self: Any, other: Any) -> Any:
        if type(other) is not Recorded and not isinstance(other, (int, float, complex, np.generic, ndarray)):
            return NotImplemented
        recorder = self.recorder
        operands: list[str] = []
        first, second = (other, self) if reflected else (self, other)
        if symbol == "**":                    # NumPy has faster ways for some numbers
            text = f"{recorder.spelled(first, operands)} ** {recorder.spelled(second, operands)}"
        else:
            text = f"{recorder.operand(first, second, operands)} {symbol} {recorder.operand(second, first, operands)}"
        return recorder.record(text, operands, OPERATIONS[symbol](bare(first), bare(second)))
    return run


def inplace_operator(symbol: str) -> Any:
    def run(self: Any, other: Any) -> Any:
        if not isinstance(self.held, ndarray):
            return operator(symbol, False)(self, other)
        self.recorder.check_own(self)
        operands = [self.name]
        spelled = self.recorder.spelled(other, operands) if symbol == "**" else self.recorder.operand(other, self, operands)
        text = f"{self.name} {symbol}= {spelled}"
        OPERATIONS[symbol](self.held, bare(other), out=self.held)
        self.recorder.record(text, operands, None)
        return self
    return run


def prefix_operator(symbol: str, function: Any) -> Any:
    def run(self: Any) -> Any:
        return self.recorder.record(f"{symbol}({self.name})", [self.name], function(self.held))
    return run


lean.ARRAYS.add(Recorded)
OPERATIONS = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide, "//": np.floor_divide, "%": np.remainder,
              "**": np.power, "@": np.matmul, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
              "<<": np.left_shift, ">>": np.right_shift, "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal,
              ">": np.greater, ">=": np.greater_equal}
for name_, symbol_ in {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
                       "matmul": "@", "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>"}.items():
    setattr(Recorded, f"__{name_}__", operator(symbol_, False))
    setattr(Recorded, f"__r{name_}__", operator(symbol_, True))
    setattr(Recorded, f"__i{name_}__", inplace_operator(symbol_))
for name_, symbol_ in {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    setattr(Recorded, f"__{name_}__", operator(symbol_, False))
for name_, symbol_, function_ in (("neg", "-", np.negative), ("pos", "+", np.positive), ("invert", "~", np.invert),
                                  ("abs", "abs", np.absolute)):
    setattr(Recorded, f"__{name_}__", prefix_operator("" if symbol_ == "abs" else symbol_, function_))
setattr(Recorded, "__abs__", lambda self: self.recorder.call(np.absolute, (self,), {}))  # noqa: B010


class Function:
    """A function of NumPy that records its calls."""

    def __init__(self, function: Any, recorder: Recorder) -> None:
        self.function, self.recorder = function, recorder

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.recorder.call(self.function, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.function, name)
        return Function(found, self.recorder) if callable(found) else found


class Namespace:
    """`xp`: NumPy's names, for arrays that record."""

    def __init__(self, module: Any, recorder: Recorder) -> None:
        self.module, self.recorder = module, recorder

    def __getattr__(self, name: str) -> Any:
        self.recorder.asked += 1
        found = getattr(self.module, name)
        if isinstance(found, ModuleType):
            if name == "random":
                raise Untraceable("it draws random numbers")
            return Namespace(found, self.recorder)
        if found is ndarray:
            return Recorded
        if isinstance(found, type) or not callable(found):
            return found                         # dtypes, errstate, pi
        return Function(found, self.recorder)


def straight(compute: Any, values: Any, least: int = 0) -> Any:
    """A function of the arrays among `values` that does what the kernel `compute` does with all of them; None if there is none,
    or if the kernel asks for dtypes, sizes and names no more than `least` times."""
    arrays = [v for v in values if type(v) is ndarray]
    if not arrays or sum([a.size for a in arrays]) > LARGE or any([has_arrays(v) for v in values]):
        return None
    recorder = Recorder()
    try:
        made = attempt(recorded, (compute, values, recorder))  # first: a kernel that writes to its operands runs once only
    except Untraceable:
        return None
    return made if recorder.asked > max(least, len(recorder.lines)) and alike(made(*arrays), compute(np, *values)) else None


def attempt(function: Any, args: Any) -> Any:
    """The result of a function of recording arrays; Untraceable if it refuses them."""
    try:
        return function(*args)
    except REFUSALS as error:
        raise Untraceable(f"{type(error).__name__}: {error}") from error


def recorded(compute: Any, values: Any, recorder: Any = None) -> Any:
    """The lines of a kernel for these arguments as a function of the arrays among them."""
    recorder = recorder or Recorder()
    given = [recorder.array(v, f"x{i}") if type(v) is ndarray else v for i, v in enumerate(values)]
    return recorder.function(compute(Namespace(np, recorder), *given),
                             [f"x{i}" for i, v in enumerate(values) if type(v) is ndarray])


def has_arrays(value: Any) -> bool:
    return type(value) in (tuple, list) and any([isinstance(a, ndarray) for a in value])


class Kernels(Cache):
    """The recorded forms of a kernel by key."""

    def __init__(self, compute: Any) -> None:
        super().__init__()
        self.compute = compute

    def learn(self, key: Any, *values: Any) -> Any:
        """The kernel's result for a key without a recorded form, which gets one (None if it has none) when it is met again."""
        if key not in self and not self.is_new(key):
            self.keep(key, straight(self.compute, values))
        return self.compute(np, *values)


def alike(found: Any, expected: Any) -> bool:
    """Whether two results have the same bits, dtypes, sizes and order in memory."""
    if expected is None or found is None:
        return expected is found
    if isinstance(expected, (tuple, list)):
        return type(found) is type(expected) and len(found) == len(expected) and all(
            [alike(*pair) for pair in zip(found, expected, strict=True)])
    a, b = np.asarray(found), np.asarray(expected)
    return (isinstance(found, (ndarray, np.generic)) and a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides
            and a.flags.writeable == b.flags.writeable and a.tobytes() == b.tobytes())
