"""`functionalize`: runs a function without in-place writes and, on request, without views.

NOTE [Functional tensors]
Inside the transform, memory is a `Cell` with its current value. Tensors that share memory share a cell and hold the view
ops that lead from it to them. A write computes a new value with the functional form of the op and stores it in the cell
through the inverses of the views; other tensors of the cell detect on their next read that they are out of date, and replay
their views. The level below sees no writes. Modified inputs get their final value by one `copy_` each after the function
has returned.
"""
from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

from retrograd.core import dtypes
from retrograd.core.dispatch import call, compute
from retrograd.core.opdef import OpDef, fact, find_packet
from retrograd.core.state import tls
from retrograd.core.tensor import Tensor, bump, new_tensor
from retrograd.ops.memory.functional_forms import NAMES
from retrograd.transforms import functions
from retrograd.transforms.base import only_outer, running
from retrograd.transforms.lifted import Level, Lifted, lift, living
from retrograd.transforms.trees import flatten, map_leaves, unflatten

__all__ = ["functionalize"]


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """A function equivalent to `func` that uses functional ops only; modified inputs are updated at the end. With
    `remove='mutations_and_views'` view ops are replaced by copying ones, too.

    >>> import retrograd as torch
    >>> x = torch.zeros(3)
    >>> functionalize(lambda x: x.add_(1.0)[1:].mul_(2.0))(x)
    tensor([2., 2.])
    >>> x
    tensor([1., 2., 2.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced with "
            "their out-of-place equivalents.\n"
            "     remove='mutations_and_views': In addition to the above, all aliasing operators {view} will be replaced "
            "with their non-aliasing counterparts, {view}_copy.\n")

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return run_functional(func, args, kwargs, remove == "mutations_and_views")
    return wrapped


def run_functional(func: Any, args: Any, kwargs: Any, copies: bool = False) -> Any:
    """Call `func` at a level of its own where writes are functional."""
    level = Functional(copies)
    with running(level), living(level):
        leaves, spec = flatten((args, kwargs))
        inputs = [level.wrap(leaf) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        given, named = unflatten(inputs, spec)
        output = func(*given, **named)
        result = map_leaves(level.unwrap, output)
        latest = [level.unwrap(t) for t in inputs]
    for leaf, t, value in zip(leaves, inputs, latest, strict=True):
        if isinstance(leaf, Tensor) and value is not leaf and t._extra.batch.cell.writes:
            if leaf.array.shape != value.array.shape:
                if leaf.numel() == value.numel():       # an in-place view such as t_
                    leaf.as_strided_(value.shape, value.stride())
                else:
                    leaf.resize_(value.array.shape)
            leaf.copy_(value)
    return result


class Cell:
    """Memory: its current value, of the level below, and its number of writes."""

    __slots__ = ("value", "writes")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.writes: int = 0


class Aliasing(Lifted):
    """The state of a functional tensor: a cell and the views of it."""

    __slots__ = ("cell", "held", "seen", "steps")

    def __init__(self, cell: Cell, steps: tuple[Any, ...], value: Any, owner: Functional, seen: int) -> None:
        self.cell = cell
        self.steps = steps            # ((view op, (arguments after the tensor, which result)), ...)
        self.owner = owner
        self.held = value
        self.seen = seen              # the number of writes that `held` includes
        self.tangent = self.parent = self.source = None
        self.captured = False

    @property
    def value(self) -> Any:
        if self.seen != self.cell.writes:
            with only_outer(min(self.owner.level - 1, len(tls.transforms))):
                self.held = self.owner.replay(self.cell.value, self.steps)
            self.seen = self.cell.writes
        return self.held


class Functional(Level):
    """The functionalization transform: turns writes into new values of cells."""

    def __init__(self, copies: bool) -> None:
        self.copies = copies          # views are copied too

    def describe(self, value: Any, level: int) -> str:
        return f"FunctionalTensor(lvl={level}, value=\\\n{value!r})"

    def wrap(self, value: Any) -> Any:
        """A tensor of this level in a new cell."""
        if not isinstance(value, Tensor):
            return value
        made = lift(value, self)
        made._extra.batch = Aliasing(Cell(value), (), value, self, 0)
        return made

    # ---- ops
    def run(self, op: OpDef, args: Any) -> Any:
        if op.is_inplace or op.is_out:
            return self.write(op, args)
        if op.is_view and self.owns(args[0]):
            return self.run_view(op, args)
        result = call(op, self.unwrap_arguments(op, args))
        if not op.multiple:
            return self.wrap(result)
        made = [self.wrap(r) for r in result]
        return made if op.returns_list else op.result_type(*made) if op.result_type else tuple(made)

    def run_view(self, op: OpDef, args: Any) -> Any:
        source = args[0]
        held = source._extra.batch
        # a view of an outdated value is outdated too: both are replayed when read
        rest = [self.unwrap(a) for a in args[1:]]
        result = call(self.view_op(op), [held.held, *rest])
        if not op.multiple and result is held.held:
            return source
        shown: Any = result
        if self.copies:               # the copy has its own layout; the tensor still has the view's geometry
            shown = compute(op, [new_tensor(source.array), *rest])
        made = []
        for nr, (value, like) in enumerate(zip(result, shown, strict=True) if op.multiple else [(result, shown)]):
            t = lift(value, self)
            if like is not value:
                t.array = like.array
                t.array.flags.writeable = False
            step = (op, (tuple(rest), nr if op.multiple else None))
            t._extra.batch = Aliasing(held.cell, (*held.steps, step), value, self, 0)
            made.append(t)
        return (made if op.returns_list else tuple(made)) if op.multiple else made[0]

    def detach(self, t: Any) -> Any:
        with only_outer(min(self.level - 1, len(tls.transforms))):
            return self.run_view(find_packet("detach").default, [t])  # type: ignore[union-attr]

    def view_op(self, op: OpDef) -> Any:
        if not self.copies:
            return op
        packet = find_packet(f"{op.name}_copy")
        return op if packet is None else getattr(packet, op.overload)

    def replay(self, value: Any, steps: Any) -> Any:
        """Apply the view `steps` to `value`."""
        for op, (rest, nr) in steps:
            made = call(self.view_op(op), [value, *rest])
            value = made if nr is None else made[nr]
        return value

    # ---- writes
    def write(self, op: Any, args: Any) -> Any:
        """Compute the result of an in-place or out= op functionally, and store it in its targets."""
        targets = args[:1] if op.is_inplace else args[op.out_arg:]
        if not any([self.owns(t) for t in targets]):
            if any([self.owns(t) for i in op.tensor_args
                    for t in (args[i] if isinstance(args[i], (list, tuple)) else (args[i],))]):
                raise RuntimeError("mutating a non-functional tensor with a functional tensor is not allowed. Please ensure "
                                   "that all of your inputs are wrapped inside of a functionalize() call.")
            return call(op, args)
        values = self.unwrap_arguments(op, args)
        made = self.compute_new(op, values)
        if op.is_inplace and made[0].dtype is not targets[0].dtype:
            made = [cast_back(op.name, made[0], targets[0].dtype)]
        for target, new in zip(targets, made, strict=True):
            self.replace(target, new)
        if op.is_inplace:
            return args[0]
        return op.functional.result_type(*targets) if op.functional.multiple and op.functional.result_type else (
            tuple(targets) if len(targets) > 1 else targets[0])

    def compute_new(self, op: OpDef, values: Any) -> list[Any]:
        functional = functional_form(op)
        if functional is None:        # no functional form: write to a copy
            return [call(op, [values[0].clone(), *values[1:]])]
        if op.is_out:
            result = call(functional, values[:op.out_arg])
            return list(result) if functional.multiple else [result]
        old = values[0]
        by_name = {p.name: value for p, value in zip(op.schema.params, values, strict=True)}
        new = call(functional, [by_name[p.name] for p in functional.schema.params])
        if new.array.shape != old.array.shape:
            raise RuntimeError(f"output with shape {list(old.array.shape)} doesn't match the broadcast shape "
                               f"{list(new.array.shape)}")
        return [new]

    def replace(self, target: Any, new: Any) -> None:
        """Set the value of a tensor to `new`, and so that part of its cell."""
        held = target._extra.batch
        if new.dtype is not target.dtype:
            if not dtypes.can_cast(new.dtype, target.dtype):
                raise RuntimeError(f"result type {new.dtype.legacy} can't be cast to the desired output type "
                                   f"{target.dtype.legacy}")
            new = new.to(target.dtype)
        if new.array.shape != target.array.shape:
            if held.steps:
                raise RuntimeError("functionalize cannot resize a view: its base would not fit. Resize a clone instead.")
            target.array = lift(new, self).array
        cell, steps = held.cell, held.steps
        before = list(itertools.accumulate(steps[:-1], lambda value, step: self.replay(value, (step,)), initial=cell.value))
        for (op, (rest, nr)), base in zip(reversed(steps), reversed(before), strict=False):
            new = self.put_back(op, base, new, rest, nr)
        cell.value = new
        cell.writes += 1
        if steps:
            held.value                # noqa: B018      # the views of what was written are taken at once
        else:
            held.held, held.seen = new, cell.writes
        bump(target)

    def put_back(self, op: OpDef, base: Any, new: Any, rest: Any, nr: Any) -> Any:
        """The value of `base` after its view was replaced by `new`."""
        if not self.copies and op.name == "unfold":
            raise RuntimeError(
                "While executing unfold, functionalization encountered a tensor being mutated that has internal overlap. When "
                "using torch.compile (or running functionalization directly), this is banned as the behavior is not well "
                "defined. Consider cloning the tensor before mutating it, or removing the mutation from your model.")
        return INVERSES.get(fact(op.name, "inverse"), scatter)(self, op, base, new, rest, nr)

    # ---- custom Functions
    def apply_function(self, cls: Any, args: Any) -> Any:
        leaves, spec = flatten(args)
        values = [self.unwrap(leaf) for leaf in leaves]
        with self.beneath():
            outputs, out_spec = flatten(functions.apply_anywhere(cls, unflatten(values, spec)))
        same = {id(value): leaf for value, leaf in zip(values, leaves, strict=True) if isinstance(value, Tensor)}
        return unflatten([same[id(out)] if id(out) in same else self.wrap(out) for out in outputs], out_spec)


def cast_back(name: str, new: Any, dtype: Any) -> Any:
    """The value that an in-place op stores in a tensor of `dtype`, cast from the computed dtype."""
    if dtypes.can_cast(new.dtype, dtype) or name == "mul_" or name in ("add_", "sub_") and new.dtype.is_complex:
        return new.to(dtype)
    if name in ("add_", "sub_"):
        kinds = ("bool", "others") if dtype is dtypes.bool_ else ("int", "float")
        raise RuntimeError("Promotion of {}.add/sub_({}) in in-place ops are not possible due to element size "
                           "change.".format(*kinds))
    if name == "div_":
        raise RuntimeError(f"result type {new.dtype} can't be cast to the desired output type {dtype}")
    raise RuntimeError(f"Attempting to cast from {new.dtype} to out tensor with dtype {dtype}, but this can't be cast because "
                       "it is not safe!")


def functional_form(op: OpDef) -> Any:
    """The functional op of an in-place or out= op."""
    if op.functional is not None:
        return op.functional
    packet = find_packet(NAMES.get(op.name, op.name.removesuffix("_")))
    overload = "p" if op.name == "bernoulli_" and op.overload == "float" else op.overload
    return getattr(packet, overload, None) if packet is not None else None


# ---- the inverses of views: (level, op, base, new value of the view, arguments, which result) -> new value of the base
def aten(level: Functional, name: str, overload: str, *args: Any) -> Any:
    packet = find_packet(name)
    op = getattr(packet, overload)
    return call(level.view_op(op) if op.schema.is_view else op, list(args))


def to_shape(level: Functional, op: OpDef, base: Any, new: Any, rest: Any, nr: Any) -> Any:
    return aten(level, "view", "default", new if new.is_contiguous() else new.contiguous(), base.array.shape)


def transposed(level: Functional, op: OpDef, base: Any, new: Any, rest: Any, nr: Any) -> Any:
    return call(level.view_op(op), [new, *rest])


def permuted(level: Functional, op: OpDef, base: Any, new: Any, rest: Any, nr: Any) -> Any:
    order = [dim % base.array.ndim for dim in rest[0]]
    return call(level.view_op(op), [new, [order.index(dim) for dim in range(base.array.ndim)]])


def unsqueezed(level: Functional, op: OpDef, base: Any, new: Any, rest: Any, nr: Any) -> Any:
    return aten(level, "squeeze", "dim", new, rest[0] % new.array.ndim)


def squeezed(level: Functional, op: OpDef, base: Any, new: Any, rest: Any, nr: Any) -> Any:
    rank = base.array.ndim
    if op.overload == "dim":
        dim = rest[0] % max(rank, 1)
        return aten(level, "unsqueeze", "default", new, dim) if base.array.shape != new.array.shape else new
    removed = range(rank) if op.overload == "default" else [dim % rank for dim in rest[0]]
    for dim in sorted(removed):
        if base.array.shape[dim] == 1:
            new = aten(level, "unsqueeze", "default", new, dim)
    return new


def expanded(level: Functional, op: OpDef, base: Any, new: Any, rest: Any, nr: Any) -> Any:
    change = aten(level, "sub", "Tensor", new, base, 1)
    extra = new.array.ndim - base.array.ndim
    dims = [i for i, size in enumerate(new.array.shape) if i < extra or base.array.shape[i - extra] == 1 != size]
    if dims:
        change = aten(level, "sum", "dim_IntList", change, dims, True, None)
    return base + to_shape(level, op, base, change, rest, nr)


def unbound(level: Functional, op: OpDef, base: Any, new: Any, rest: Any, nr: Any) -> Any:
    return aten(level, "select_scatter", "default", base, new, rest[0], nr)


def split(level: Functional, op: OpDef, base: Any, new: Any, rest: Any, nr: Any) -> Any:
    size, dim = rest
    length = base.array.shape[dim]
    start = nr * size if isinstance(size, int) else sum(size[:nr])
    stop = min(start + (size if isinstance(size, int) else size[nr]), length)
    return aten(level, "slice_scatter", "default", base, new, dim, start, stop, 1)


def unfolded(level: Functional, op: OpDef, base: Any, new: Any, rest: Any, nr: Any) -> Any:
    return aten(level, "unfold_backward", "default", new, base.array.shape, *rest)


def same(level: Functional, op: OpDef, base: Any, new: Any, rest: Any, nr: Any) -> Any:
    return new


def retyped(level: Functional, op: OpDef, base: Any, new: Any, rest: Any, nr: Any) -> Any:
    return aten(level, "view", "dtype", new, base.dtype)


def real_parts(level: Functional, op: OpDef, base: Any, new: Any, rest: Any, nr: Any) -> Any:
    return aten(level, "view_as_complex", "default", new.contiguous())


def complex_numbers(level: Functional, op: OpDef, base: Any, new: Any, rest: Any, nr: Any) -> Any:
    return aten(level, "view_as_real", "default", new.resolve_conj())


def scatter(level: Functional, op: OpDef, base: Any, new: Any, rest: Any, nr: Any) -> Any:
    """`select` has `select_scatter`, and so on."""
    packet = find_packet(f"{op.name}_scatter")
    if packet is None:
        raise RuntimeError(f"functionalize cannot write through {op.name}: it has no inverse. Write to a clone instead.")
    return call(packet.default, [base, new, *rest])


def viewed(level: Functional, op: OpDef, base: Any, new: Any, rest: Any, nr: Any) -> Any:
    return (retyped if op.overload == "dtype" else to_shape)(level, op, base, new, rest, nr)


# By the kind that a row's `inverse` column names; "itself" is an op that is its own inverse.
INVERSES: dict[str | None, Any] = {
    "complex": complex_numbers, "expand": expanded, "itself": transposed, "permute": permuted, "real": real_parts,
    "reshape": to_shape, "same": same, "split": split, "squeeze": squeezed, "unbind": unbound, "unfold": unfolded,
    "unsqueeze": unsqueezed, "view": viewed,
}
