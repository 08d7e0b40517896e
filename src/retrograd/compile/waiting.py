"""The queue of deferred ops, one per scope of deferred execution. See NOTE [Deferred ops] in deferred.py. Every op of a
compiled function goes through it, so this module is part of the compiled core.
"""
from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np

from retrograd.core.exposed import is_exposed
from retrograd.core.opdef import OpDef
from retrograd.core.record import record, save_results
from retrograd.core.state import tls
from retrograd.core.storage import contiguous_strides, empty_strided, strides_of
from retrograd.core.tensor import FLAG_INFERENCE, FLAG_PENDING, Tensor, wants_grad, wrap

ndarray = np.ndarray
empty = np.empty
PENDING, INFERENCE = FLAG_PENDING, FLAG_INFERENCE
LONGEST = 128                     # maximum number of deferred ops
LARGEST = 3.4028234663852886e38   # of float32: larger numbers raise or overflow
PLAIN = (int, float, str)


class Layout:
    """Shape, strides in bytes and dtype of arrays; one shared object for each combination."""

    def __init__(self, array: Any) -> None:
        self.shape: Any = array.shape
        self.strides: Any = array.strides
        self.dtype: Any = array.dtype
        self.char: str = array.dtype.char
        self.size: int = array.size
        self.steps: Any = strides_of(array)
        self.spare: list[Any] = []                # unused arrays
        self.span: int = array.dtype.itemsize * (1 + sum([(n - 1) * s for n, s in zip(self.shape, self.steps, strict=True)]))
        self.contiguous: bool = self.steps == contiguous_strides(array.shape)

    def is_of(self, array: Any) -> bool:
        """Whether an array has this layout."""
        return array.shape == self.shape and array.strides == self.strides and array.dtype.char == self.char

    def new(self) -> Any:
        """A new array with this layout."""
        return empty(self.shape, self.dtype) if self.contiguous else empty_strided(self.shape, self.steps, self.dtype)


known_layouts: dict[Any, Layout] = {}


def layout_of(array: Any) -> Any:
    key = array.shape, array.strides, array.dtype.char
    found = known_layouts.get(key)
    if found is None:
        if len(known_layouts) > 10_000:
            known_layouts.clear()
        found = known_layouts[key] = Layout(array)
    return found


class Choice:
    """One alternative of an op's `lower` that is elementwise or a sum, and its use of the arguments."""

    def __init__(self, op: OpDef, program: Any, guard: Any, kinds: str) -> None:
        self.op: Any = op
        self.program: Any = program
        self.kinds: str = kinds                               # its computing dtypes, as NumPy's characters
        self.tensors: list[Any] = []                          # (position, name, whether it is a mask of bools)
        self.numbers: list[Any] = []                          # (position, name)
        self.guards: list[Any] = []                           # (position, value): arguments that must equal it
        self.fixed: list[Any] = []                            # (position, value): arguments that must be identical to it
        self.checks: Any = op.check
        if op.checks_dtypes and "mask" not in program.kinds.values():      # all operands are floating point
            self.checks = None
        self.sums: bool = program.family == "reduce"
        self.dim: int = -1                                    # positions of the dims of a sum, and of `keepdim`
        self.keepdim: int = -1
        self.counted: int = -1                                # the operand whose number of elements the program uses
        for i, p in enumerate(op.schema.params):
            if p.name in guard:
                self.guards.append((i, guard[p.name]))
            elif p.name in program.inputs:
                self.tensors.append((i, p.name, program.kinds[p.name] == "mask"))
            elif p.name in program.numbers:
                self.numbers.append((i, p.name))
            elif self.sums and p.name == "dim":
                self.dim = i
            elif self.sums and p.name == "keepdim":
                self.keepdim = i
            else:
                self.fixed.append((i, p.default))
        if "numel" in program.numbers:
            self.counted = [name for _, name, _ in self.tensors].index("self")

    def fits(self, args: Any) -> bool:
        for i, wanted in self.guards:
            value = args[i]
            if value is not wanted and (type(value) not in PLAIN or value != wanted):
                return False
        for i, wanted in self.fixed:
            value = args[i]
            if value is not wanted and (type(value) is not type(wanted) or value != wanted):
                return False
        return True


class Event:
    """A deferred op: its choice, and for each operand a value number, or the number of a Python number (as -1 - number)."""

    def __init__(self, choice: Any, operands: Any, value: int, layout: Any, type: str, inner: int) -> None:
        self.choice: Any = choice
        self.operands: Any = operands
        self.value: int = value
        self.layout: Any = layout
        self.type: str = type
        self.inner: int = inner                   # number of trailing dims of a sum; -1 for elementwise


layouts: dict[Any, Any] = {}      # (choice, operands' layouts) -> the layout of the result, None if the op must not be deferred


class Waiting:
    """The deferred ops of one scope."""

    def __init__(self, facts: Any, find_facts: Any, run: Any, flush: Any) -> None:
        self.facts: dict[Any, Any] = facts        # op -> its choices, and whether it writes to its arguments
        self.find_facts: Any = find_facts
        self.run: Any = run                       # (op, args, writes): runs an op now
        self.flush: Any = flush
        self.alone: bool = False                  # there is no other thread
        self.longest: int = LONGEST
        self.clear()

    def clear(self) -> None:
        self.events: list[Any] = []
        self.key: list[Any] = []
        self.numbers: list[Any] = []              # Python numbers among the arguments
        self.places: dict[Any, Any] = {}          # id of an array -> the number of its value
        self.arrays: list[Any] = []               # by number: an array that is read, or a weak reference to one that is made
        self.layouts: list[Any] = []
        self.tensors: list[Any] = []              # weak references to the pending tensors

    def attempt(self, op: OpDef, args: Any, records: bool) -> Any:
        """The result of an op if it can be deferred, else None; with `records` autograd still has to record the op."""
        known = self.facts.get(op)
        if known is None:
            known = self.find_facts(op)
        for choice in known[0]:
            if choice.fits(args):
                result = self.defer(choice, args)
                if records and result is not None and op.differentiable and tls.grad_enabled:
                    self.note(op, args, result)
                return result
        return None

    def note(self, op: Any, args: Any, out: Any) -> None:
        """Record a deferred (or just executed) op, as dispatch does."""
        mask = 0
        bit = 1
        for i in op.inputs:
            t = args[i]
            if isinstance(t, Tensor) and wants_grad(t):
                mask |= bit
            bit <<= 1
        if not mask:
            return
        node = record(op, args, mask, False)
        node._shape_ = out.array.shape
        node._dtype_ = out.array.dtype
        out._node = node
        out._requires = True
        if op.saves_result:
            save_results(op, node, mask, (out,))

    def find(self, array: Any) -> int:
        """The value number of an array, -1 if it has none."""
        number = self.places.get(id(array))
        if number is None:
            return -1
        held = self.arrays[number]
        if type(held) is ref:
            held = held()
        return number if held is array else -1

    def defer(self, choice: Any, args: Any) -> Any:
        """The result of a deferred op; None if it must not be deferred."""
        kind = ""
        operands: list[Any] = []                  # arrays and numbers
        signature: list[Any] = [choice]
        for i, _, mask in choice.tensors:
            value = args[i]
            if isinstance(value, Tensor):
                t = value
                if t._flags & ~(PENDING | INFERENCE):
                    return None
                array = t.array
                number = self.find(array)
                layout = self.layouts[number] if number >= 0 else layout_of(array)
                char = layout.char
                if mask:
                    if char != "?":
                        return None
                elif not kind:
                    kind = char
                elif char != kind:
                    return None
                operands.append(array)
                signature.append(layout)
            elif mask or not is_number(value):
                return None
            else:
                operands.append(value)
                signature.append(float if type(value) is Num else type(value))
        if not kind or kind not in choice.kinds:
            return None
        inner = self.complete(signature, choice, args, layout)
        if inner < -1:
            return None
        operands.extend([args[i] for i, _ in choice.numbers])
        key = tuple(signature)
        found = layouts.get(key, 0)
        if found is None or found == 0:
            return None if found is None else self.learn(choice, args, key, kind)
        if choice.checks is not None:
            choice.checks(*args)
        for k in range(len(operands)):
            value = operands[k]
            if type(value) is ndarray:
                number = self.find(value)
                if number < 0:
                    number = self.read(value, args)
                    if number < 0:
                        return None
                operands[k] = number
            else:
                self.numbers.append(value if type(value) is Num else float(value))
                operands[k] = -len(self.numbers)
        return self.make(choice, tuple(operands), found, kind, inner)

    def complete(self, signature: list[Any], choice: Any, args: Any, layout: Any) -> int:
        """Add the numbers and the sum of an op to its signature: the elements of a sum, -1 if there is none, -2 if the op
        must not be deferred."""
        for i, _ in choice.numbers:
            value = args[i]
            if not is_number(value):
                return -2
            signature.append(float if type(value) is Num else type(value))
        if not choice.sums:
            return -1
        inner: int = self.summed(choice, args, layout)
        if inner < 0:
            return -2
        signature.append(inner)
        if choice.keepdim >= 0:
            signature.append(bool(args[choice.keepdim]))
        return inner

    def read(self, array: Any, args: Any) -> int:
        """The value number of a new operand; -1 if reading it later is not allowed."""
        if is_exposed(array) or not array.flags.aligned or array.dtype.byteorder == ">":
            return -1
        if not self.alone:
            for t in args:
                if isinstance(t, Tensor) and t.array is array:
                    t._flags |= PENDING
                    t._cell = None
                    self.tensors.append(ref(t))
        return self.add(array, array, layout_of(array))

    def add(self, array: Any, held: Any, layout: Any) -> int:
        number = len(self.arrays)
        self.places[id(array)] = number
        self.arrays.append(held)
        self.layouts.append(layout)
        self.key.append(layout)
        return number

    def summed(self, choice: Any, args: Any, layout: Any) -> int:
        """The number of trailing dims of a sum; -1 for other dims or if there is nothing to sum."""
        rank = len(layout.shape)
        if not layout.size or not rank or len(choice.tensors) != 1:
            return -1
        dims = args[choice.dim] if choice.dim >= 0 else None
        if dims is None:
            return rank
        if type(dims) is int:
            dims = (dims,)
        inner = len(dims)
        found = sorted([d % rank for d in dims if type(d) is int and -rank <= d < rank])
        return inner if inner and found == list(range(rank - inner, rank)) else -1

    def make(self, choice: Any, operands: Any, layout: Any, kind: str, inner: int) -> Any:
        """The tensor of a result that will be computed later."""
        array = layout.new()
        number = self.add(array, ref(array), layout)
        self.events.append(Event(choice, operands, number, layout, kind, inner))
        self.key.append((choice, operands) if inner < 0 else (choice, operands, inner))
        out = wrap(array)
        out._flags |= PENDING
        out._cell = None
        self.tensors.append(ref(out))
        if len(self.events) >= self.longest:
            self.flush()
        return out

    def learn(self, choice: Any, args: Any, key: Any, kind: str) -> Any:
        """Learn the layout of an op's result by running it; returns None, so that the op runs normally."""
        result = self.run(choice.op, args, False)
        fits = type(result) is Tensor and result._flags & ~INFERENCE == 0 and (
            result.array.dtype.char == ("?" if choice.program.is_boolean else kind)) and result.array.size > 0 and (
                not choice.sums or bool(result.array.flags.c_contiguous))
        if len(layouts) > 100_000:
            layouts.clear()
        layouts[key] = layout_of(result.array) if fits else None
        return result if fits else None


class Num(float):
    """A Python number of a traced program; computing with it or branching on it adds it to `touched`, since the result then
    holds for this number only."""

    index: int
    touched: set[int]

    def __float__(self) -> float:
        self.touched.add(self.index)
        return float.__float__(self)

    def __hash__(self) -> int:
        self.touched.add(self.index)
        return float.__hash__(self)


def touching(name: str) -> Any:
    plain = getattr(float, name)

    def method(self: Num, *args: Any) -> Any:
        self.touched.add(self.index)
        return plain(self, *args)
    return method


for name in ("abs", "add", "bool", "ceil", "divmod", "eq", "floor", "floordiv", "format", "ge", "gt", "int", "le", "lt", "mod",
             "mul", "ne", "neg", "pos", "pow", "radd", "rdivmod", "repr", "rfloordiv", "rmod", "rmul", "round", "rpow", "rsub",
             "rtruediv", "str", "sub", "truediv", "trunc"):
    setattr(Num, f"__{name}__", touching(f"__{name}__"))
for name in ("as_integer_ratio", "conjugate", "hex", "is_integer"):
    setattr(Num, name, touching(name))


def is_number(value: Any) -> bool:
    kind = type(value)
    if kind is float:
        number = value
        return -LARGEST <= number <= LARGEST or number - number != 0
    if kind is Num:
        return True
    return kind is int and -(1 << 53) <= value <= 1 << 53
