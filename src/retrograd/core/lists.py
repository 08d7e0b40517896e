"""Applies an op to each tensor of a list without one dispatcher call per tensor.

NOTE [Writing to lists]
Optimizers update hundreds of small parameters with the same few ops. Where nothing is recorded and no mode is on, the op's
compiled kernel writes into the arrays one after the other; unsupported cases (other dtypes, shared memory, a core without
kernels) go to the dispatcher as a single call would.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd.core.dispatch import call
from retrograd.core.kernels import FLOAT32, FLOAT64
from retrograd.core.opdef import OpDef
from retrograd.core.state import grad_enabled, slow_path, switches
from retrograd.core.tensor import FLAG_CONJ, FLAG_NEG, FLAG_SUBCLASS, Tensor, bump, new_tensor


class Each:
    """The callable of a list op: for valid lists the single-tensor op runs on each item, every other call goes to `whole`.
    `single` creates that op on first use. The first `width` arguments are columns, lists or one number for all (with
    `spreads` also a 0-d tensor); further arguments, or `tail` if there are none, follow them in each call. `bare` restricts
    this to calls that record nothing; with `writes` the op writes to the tensors of the first list, and `tail` are its
    defaults.
    """

    __slots__ = ("bare", "op", "single", "spreads", "tail", "whole", "width", "writes")

    def __init__(self, whole: Any, single: Any, width: int, tail: tuple[Any, ...], spreads: bool, bare: bool,
                 writes: bool) -> None:
        self.op: Any = None
        self.whole, self.single, self.width, self.tail = whole, single, width, tail
        self.spreads, self.bare, self.writes = spreads, bare, writes

    def __call__(self, *args: Any) -> list[Any] | None:
        columns = self.columns(args)
        if columns is None:
            return self.whole(*args)
        if self.op is None:
            self.prepare()
        tail = args[self.width:] if len(args) > self.width else self.tail
        if self.writes:
            write_each(self.op, columns[0], columns[1:], tail)
            return None
        return map_each(self.op, columns, tail)

    def prepare(self) -> None:
        """Create the single-tensor op, on first use."""
        self.op = self.single()
        if self.writes:
            self.tail = tuple([p.default for p in self.op.schema.params[self.width:]])

    def columns(self, args: tuple[Any, ...]) -> list[Any] | None:
        """The argument columns as lists of equal length; None if the call does not qualify."""
        if switches.any_mode and slow_path() or len(args) < self.width or has_subclass(args):
            return None
        first = args[0]
        if type(first) is not list or not first or self.bare and (switches.any_mode == 0 or grad_enabled()):
            return None
        if self.writes and has_lazy_bits(first):
            return None
        count = len(first)
        columns = [first]
        for i in range(1, self.width):
            value = args[i]
            if type(value) is list:
                if len(value) != count:
                    return None
                columns.append(value)
            elif type(value) is float or type(value) is int or self.spreads and isinstance(value, Tensor) and value.ndim == 0:
                columns.append([value] * count)
            else:
                return None
        return columns


def write_each(op: OpDef, targets: Sequence[Any], others: Sequence[Any], tail: Sequence[Any]) -> None:
    """Run the in-place `op` on each of `targets`; its further operands, tensors or numbers, are those at the same place
    in the lists `others`, and `tail` holds the arguments after them."""
    if not op._ready:
        op.prepare()
    into = None
    if op.functional is not None:
        if not op.functional._ready:
            op.functional.prepare()
        if not switches.any_mode or not slow_path():
            into = None if getattr(op.check, "asks_more", False) else getattr(op.functional.native, "inplace", None)
    records = not switches.any_mode or grad_enabled()
    for i in range(len(targets)):
        t = targets[i]
        if into is not None and is_bare(t, records):
            arrays = [t.array]
            for column in others:
                other = column[i]
                if isinstance(other, Tensor):
                    if not is_bare(other, records):
                        break
                    other = other.array
                elif type(other) is not float and type(other) is not int:
                    break
                arrays.append(other)
            else:
                if into(*arrays, *tail) is not None:
                    bump(t)
                    continue
        call(op, [t, *[column[i] for column in others], *tail])


def map_each(op: OpDef, columns: Sequence[Any], tail: tuple[Any, ...]) -> list[Any]:
    """The results of `op` for each of the tensors in the first of `columns` and what the others, lists of tensors or numbers,
    have at the same place; `tail` holds the arguments after them."""
    if not op._ready:
        op.prepare()
    native = op.native
    if native is not None and (switches.any_mode and slow_path() or getattr(op.check, "asks_more", False)
                               or any([value is True for value in tail])):
        native = None
    if native is None:
        return [call(op, [*row, *tail]) for row in zip(*columns, strict=True)]
    records = not switches.any_mode or grad_enabled()
    results = []
    for i in range(len(columns[0])):
        arrays: list[Any] = []
        for column in columns:
            value = column[i]
            if isinstance(value, Tensor):
                t = value
                if t._flags or records and (t._requires or t._view is not None) or (
                        t.array.dtype is not FLOAT32 and t.array.dtype is not FLOAT64):
                    break
                arrays.append(t.array)
            elif type(value) is float or type(value) is int:
                arrays.append(value)
            else:
                break
        else:
            made = native(*arrays, *tail)
            if made is not None:
                results.append(new_tensor(made))
                continue
        results.append(call(op, [*[column[i] for column in columns], *tail]))
    return results


def has_lazy_bits(tensors: list[Any]) -> bool:
    """Whether one of the tensors is conjugated or negated lazily."""
    for t in tensors:
        if isinstance(t, Tensor) and t._flags & (FLAG_CONJ | FLAG_NEG):
            return True
    return False


def is_bare(t: Tensor, records: bool) -> bool:
    """Whether a tensor has no flags, owns its memory and is not recorded."""
    return t._flags == 0 and t.array.base is None and not (records and t._requires)


def has_subclass(args: tuple[Any, ...]) -> bool:
    """Whether a list among the arguments holds a tensor subclass that overrides functions or dispatch."""
    for value in args:
        if isinstance(value, (list, tuple)):
            for item in value:
                if isinstance(item, Tensor):
                    t = item
                    if t._flags & FLAG_SUBCLASS:
                        return True
    return False


def gradient_lists(params: Sequence[Any], elements: int) -> list[Any] | None:
    """The tensors of `params` that have gradients and those gradients, as pairs of lists of about `elements` elements each;
    None if one of them is not a dense real tensor, is of a user-defined class, or occurs twice."""
    made = []
    seen = set()
    count = elements
    for param in params:
        if not isinstance(param, Tensor):
            return None
        t = param
        grad = t._grad
        if grad is None:
            continue
        if t._flags or type(grad) is not Tensor or id(t) in seen:
            return None
        g = grad
        if g._flags or t.array.dtype.kind not in "fV" or g.array.dtype.kind not in "fV":
            return None
        seen.add(id(t))
        if count >= elements:
            left: list[Any] = []
            right: list[Any] = []
            made.append((left, right))
            count = 0
        left.append(t)
        right.append(g)
        count += t.array.size
    return made
