"""The batching interpreter: runs ops on batched tensors by the ops' `batch` column.

NOTE [Batched tensors]
A batched tensor looks like one example: its shape, strides and dtype are those of an example, and it requires no grad.
It holds the tensor of all examples (`value`, which may be batched again at an outer level and does have a history),
the batch dimension and the transform that it belongs to. Its `array`, the write-protected first example, gives the geometry
and is never read. All code other than ops that reads data must test FLAG_WRAPPER.
"""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from retrograd.core import forward
from retrograd.core.dispatch import call
from retrograd.core.hooks import hooks
from retrograd.core.kernels import promoted_dtype
from retrograd.core.opdef import OpDef, find_packet
from retrograd.core.storage import offset_of, strided, strides_of
from retrograd.core.tensor import (
    FLAG_CONJ,
    FLAG_DUAL,
    FLAG_INFERENCE,
    FLAG_META,
    FLAG_NEG,
    FLAG_WRAPPER,
    Extra,
    Tensor,
    bump,
    new_tensor,
)
from retrograd.ops.shared import families
from retrograd.ops.views.shape import broadcast_shape
from retrograd.transforms import randomness as random_ops
from retrograd.transforms.base import Transform, only_outer
from retrograd.transforms.examples import check_example, run_example

CARRIED = FLAG_CONJ | FLAG_NEG | FLAG_META | FLAG_INFERENCE


class Batch:
    """The state of a batched tensor."""

    __slots__ = ("dim", "owner", "value")

    def __init__(self, value: Any, dim: int, owner: Any) -> None:
        self.value = value
        self.dim: int = dim
        self.owner = owner


def make_batched(value: Any, dim: int, owner: Any) -> Any:
    """A batched tensor over `value`, whose batch dimension is `dim`."""
    t = new_tensor(example_geometry(value.array, dim))
    t._flags = FLAG_WRAPPER | value._flags & CARRIED
    extra = t._extra = Extra()
    extra.batch = Batch(value, dim, owner)
    return t


def example_geometry(array: Any, dim: int) -> Any:
    """An array like that of the first example, for its geometry only."""
    if array.shape[dim] == 0:
        made = np.empty(array.shape[:dim] + array.shape[dim + 1:], array.dtype)
    else:
        made = array[(slice(None),) * dim + (0, Ellipsis)]
    made.flags.writeable = False
    return made


def is_batched(t: Any, owner: Any = None) -> bool:
    """Whether `t` is batched, at the level of `owner` if that is given."""
    if not isinstance(t, Tensor) or not t._flags & FLAG_WRAPPER:
        return False
    return type(t._extra.batch) is Batch if owner is None else t._extra.batch.owner is owner


def tensors_of(op: Any, args: Any) -> list[Any]:
    """The tensors among the arguments, those in lists included."""
    found = []
    for i in op.tensor_args:
        value = args[i]
        found.extend([item for item in (value if isinstance(value, (list, tuple)) else (value,)) if isinstance(item, Tensor)])
    return found


def any_batched(op: Any, args: Any, owner: Any) -> bool:
    """Whether an argument is batched at the level of `owner`."""
    for i in op.tensor_args:
        value = args[i]
        if isinstance(value, Tensor):
            t = value
            if t._flags & FLAG_WRAPPER and t._extra.batch.owner is owner:
                return True
        elif isinstance(value, (list, tuple)):
            for item in value:
                if is_batched(item, owner):
                    return True
    return False


class Vmap(Transform):
    """The vmap transform: runs a function once for all examples."""

    loops: bool = True                # ops without a rule run in a loop over the examples
    warns_of_loops: bool = True       # and warn

    def __init__(self, size: int, randomness: str = "error", legacy: bool = False) -> None:
        self.size = size
        self.randomness = randomness
        self.legacy = legacy          # the older vmap behind batched gradients: no random ops, other error texts

    def concerns(self, op: OpDef, args: Any) -> bool:
        return any_batched(op, args, self) or op.random

    def run(self, op: OpDef, args: Any) -> Any:
        if op.random:
            return random_ops.run(self, op, args)
        if op.is_out or op.batch is None and op.is_view:
            overload = "" if op.overload == "default" else f".{op.overload}"
            raise RuntimeError(f"Batching rule not implemented for aten::{op.name}{overload}; the fallback path "
                               "doesn't work on out= or view ops.")
        if not self.legacy:
            self.check_shapes(op, args)
        if op.name == "as_strided":
            self.check_memory(*args)
        values, dims = self.unwrap_arguments(op, args)
        if op.promote is not None:
            self.keep_promotion(op, args, values, dims)
        if op.is_inplace:
            return self.run_inplace(op, args, values, dims)
        try:
            result, where = self.apply_rule(op, values, dims)
        except (RuntimeError, IndexError, ValueError, TypeError):
            if op.is_view or getattr(op.batch, "refuses", False) or not self.is_right(op, args):
                raise
            result, where = families.loop(op, values, dims, self.size)
        else:
            # a complete rule accepts examples that the op alone refuses, as PyTorch's does
            if not self.legacy and self.size and not getattr(op.batch, "complete", False):
                check_example(op, args)
        return self.wrap_results(op, result, where)

    def is_right(self, op: OpDef, args: Any) -> bool:
        """Whether the first example alone is accepted, so that a failure comes from the batching rule."""
        if not self.size or op.batch is None or op.batch is families.loop:
            return False
        try:
            run_example(op, args)
        except Exception:
            return False
        return True

    # ---- arguments
    def unwrap(self, t: Any) -> tuple[Any, Any]:
        """The tensor of all examples and its batch dimension; (t, None) if `t` is not batched at this level."""
        if not isinstance(t, Tensor):
            return t, None
        if t._flags & FLAG_WRAPPER and t._extra.batch.owner is self:
            return t._extra.batch.value, t._extra.batch.dim
        if t._flags & FLAG_DUAL:
            return self.unwrap_dual(t)
        return t, None

    def unwrap_dual(self, t: Any) -> tuple[Any, Any]:
        """An unbatched tensor with a batched tangent, as a dual tensor of all examples."""
        tangent = forward.tangent_of(t)
        if not is_batched(tangent, self):
            return t, None
        primal = forward.primal_of(t)
        value = families.move_to_front(*self.unwrap(tangent))
        dual = primal.expand((self.size, *primal.array.shape)).clone()
        forward.give_tangent(dual, value)
        return dual, 0

    def unwrap_arguments(self, op: Any, args: Any) -> tuple[list[Any], list[Any]]:
        values: list[Any] = list(args)
        dims: list[Any] = [None] * len(args)
        for i in op.tensor_args:
            if isinstance(args[i], (list, tuple)):
                pairs = [self.unwrap(item) for item in args[i]]
                values[i], dims[i] = [value for value, _ in pairs], [dim for _, dim in pairs]
            else:
                values[i], dims[i] = self.unwrap(args[i])
        return values, dims

    def keep_promotion(self, op: Any, args: Any, values: Any, dims: Any) -> None:
        """Cast 0-d examples first: they are weak in dtype promotion, but the batched value has a dimension."""
        weak = [i for i in op.tensor_args if dims[i] is not None and not isinstance(args[i], (list, tuple))
                and args[i].array.ndim == 0]
        if not weak:
            return
        if len(args) == 1:
            return
        operands = [t for i in op.tensor_args for t in (args[i] if isinstance(args[i], (list, tuple)) else (args[i],))]
        common = promoted_dtype(op, operands + [args[i] for i in op.scalar_args])
        for i in weak:
            if values[i].dtype is not common and not (op.is_inplace and i == 0):
                values[i] = values[i].to(common)

    def check_shapes(self, op: OpDef, args: Any) -> None:
        """Refuse ops whose result shape would differ between examples."""
        if op.name == "masked_select" and is_batched(args[1], self):
            raise RuntimeError("vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this "
                               "because for each batch this would return a differently shaped Tensor. Please file an issue at "
                               "https://github.com/pytorch/pytorch/issues if you need this feature.")
        if op.batch is families.varying_shapes:
            families.varying_shapes(op, args, None, self.size)
        if op.name == "index" and any([is_batched(t, self) and t.array.dtype.kind == "b" for t in args[1]]):
            raise RuntimeError("vmap: We do not support batching operators that can support dynamic shape. Attempting "
                               "to batch over indexing with a boolean mask.")

    def check_memory(self, t: Any, size: Any, stride: Any, offset: Any) -> None:
        """Refuse geometries in which an example reaches into the memory of another."""
        if len(size) != len(stride):
            raise RuntimeError("Tensor.as_strided(size, stride, ...): size and stride must have the same length! Got size "
                               f"{list(size)} and stride {list(stride)}")
        start = offset_of(t.array)
        first = start if offset is None else offset
        if 0 in size:
            return
        last = first + 1 + sum([(n - 1) * s for n, s in zip(size, stride, strict=True)])
        end = start + (0 if t.array.size == 0 else 1) + sum([
            (n - 1) * s for n, s in zip(t.array.shape, strides_of(t.array), strict=True) if n])
        if first < start or last > end:
            # the older text lacks some spaces
            comma, space = (",", "") if self.legacy else (", ", " ")
            raise RuntimeError(f"result = tensor.as_strided({list(size)}{comma}{list(stride)}{comma}{first}){space}can "
                               f"access memory outside of `tensor`. `result` can access some{space}memory in range [{first}, "
                               f"{last}], but `tensor` can only access some memory in range [{start}, {end}]. This is not "
                               f"supported inside of vmap, please try to{space}rewrite the `as_strided` call as a sequence of "
                               "PyTorch view operations")

    # ---- rules
    def apply_rule(self, op: OpDef, values: Any, dims: Any) -> tuple[Any, Any]:
        rule = None if op.batch is families.loop_and_warn else op.batch
        if rule is None and not self.loops:
            overload = "" if op.overload == "default" else f".{op.overload}"
            raise RuntimeError(f"aten::{op.name}{overload} hit the vmap fallback which is currently disabled")
        if rule is None and self.warns_of_loops:
            warnings.warn("There is a performance drop because we have not yet implemented the batching rule for "
                          f"aten::{op.name}. Please file us an issue on GitHub so that we can prioritize its "
                          "implementation.", UserWarning,
                          stacklevel=2)
        if rule is None:
            if not self.size:
                raise RuntimeError(f"Batching rule not implemented for aten::{op.name}. The fallback path does not support "
                                   "vmap over dims of size 0.")
            rule = families.loop
        return rule(op, values, dims, self.size)

    def wrap_results(self, op: OpDef, result: Any, dims: Any) -> Any:
        if not op.multiple:
            return result if dims is None or result is None else make_batched(result, dims, self)
        if dims is None or isinstance(dims, int):
            dims = (dims,) * len(result)
        made = [r if r is None or d is None else make_batched(r, d, self) for r, d in zip(result, dims, strict=True)]
        return made if op.returns_list else op.result_type(*made) if op.result_type else tuple(made)

    # ---- in place
    def run_inplace(self, op: OpDef, args: Any, values: Any, dims: Any) -> Any:
        """Write to the examples; an unbatched tensor cannot take a batched write."""
        target = args[0]
        if dims[0] is None:
            raise RuntimeError(self.shared_target(op))
        if op.batch is families.pointwise and (self.legacy or op.promote is not None and "arithmetic" not in op.traits):
            shape = broadcast_shape([t.array.shape for t in tensors_of(op, args)])
            if shape != target.array.shape:
                raise RuntimeError(f"output with shape {list(target.array.shape)} doesn't match the broadcast shape "
                                   f"{list(shape)}")
        elif not self.legacy and self.size and not getattr(op.batch, "complete", False):
            check_example(op, args)
        value = values[0]
        if dims[0] < 0:
            dims[0] += value.array.ndim
        result, dim = self.apply_rule(op, values, dims)
        if result is not value and not np.shares_memory(result.array, value.array) and value.array.size:
            value.copy_(result.movedim(dim, dims[0]) if dim != dims[0] else result)
        bump(target)
        return target

    def shared_target(self, op: OpDef) -> str:
        arithmetic = not self.legacy and "arithmetic" in op.traits
        name = "inplace arithmetic" if arithmetic else f"aten::{op.name}"
        where = "in a vmap" if arithmetic else f"at level {self.level}"
        return (f"vmap: {name}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has "
                "more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over "
                f"{where}. Please try to use out-of-place operators instead of {name}. If said operator is being called inside "
                "the PyTorch framework, please file a bug report instead.")


# ---- services other than ops
def change_geometry(t: Any, op: OpDef, args: Any) -> Any:
    """Run an in-place view op such as `unsqueeze_` on a batched tensor; the batched value changes in place too."""
    batch = t._extra.batch
    made = call(op, [t, *args])                      # this also checks the arguments
    value, at = batch.value, batch.dim % batch.value.array.ndim
    with only_outer(batch.owner.level - 1):
        moved = change_examples(value, at, op, args)
    if moved is None:
        batch.value, batch.dim = made._extra.batch.value, made._extra.batch.dim
    else:
        batch.dim = moved
    t.array = made.array
    t._flags = made._flags
    bump(t)
    return t


def change_examples(value: Any, at: int, op: OpDef, args: Any) -> int | None:
    """Run the in-place view op on the tensor of all examples with batch dimension `at`; return the new batch dimension.
    None, without a change, for an op that does not act on single dimensions.
    """
    rank = value.array.ndim - 1
    if not rank and op.name != "unsqueeze":
        return at                     # 0-d examples have no dimensions to change

    def place(dim: int, count: int = rank) -> int:
        dim = families.wrap_dim(dim, count)
        return dim if dim < at else dim + 1

    if op.name == "unsqueeze":
        dim = place(args[0], rank + 1)
        value.unsqueeze_(dim)
        return at + (dim <= at)
    if op.name in ("transpose", "t"):
        first, second = args if args else (0, 1) if rank == 2 else (0, 0)
        value.transpose_(place(first), place(second))
        return at
    if op.name != "squeeze":
        return None
    shape = value.array.shape
    if not args and shape[at] != 1:
        dims = [d for d, n in enumerate(shape) if n == 1]
        value.squeeze_()
    else:
        given = range(rank) if not args else args[0] if isinstance(args[0], (list, tuple)) else [args[0]]
        dims = [d for d in sorted([place(d) for d in given]) if shape[d] == 1]
        value.squeeze_(dims)
    return at - len([d for d in dims if d < at])


def refuse_item(t: Any, what: str = "item") -> Any:
    """Refuse `item()` on a batched tensor, whose value differs between examples."""
    if t._extra.batch.owner.legacy:
        kind = "is_nonzero" if what == "bool" else "item"
        error = RuntimeError(f"Batching rule not implemented for aten::{kind}. We could not generate a fallback.")
    elif what == "bool":
        error = RuntimeError("vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We "
                             "don't support that yet, please file an issue at https://github.com/pytorch/pytorch/issues .")
    else:
        error = RuntimeError("vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling "
                             ".item() on a Tensor, please try to rewrite what you're doing with other operations. If error is "
                             "occurring somewhere inside PyTorch internals, please file a bug report.")
    error.no_number = True  # type: ignore[attr-defined]     # tells overload resolution to go on
    raise error


def refuse_data(t: Any) -> Any:
    raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


def refuse_alias(t: Any) -> Any:
    raise RuntimeError("accessing `data` under vmap transform is not allowed")


def describe(t: Any) -> str:
    """The printed form of a batched tensor."""
    batch = t._extra.batch
    inner = repr(batch.value).replace("\n", "\n    ")
    return f"BatchedTensor(lvl={batch.owner.level}, bdim={batch.dim}, value=\n    {inner}\n)"


def detach(t: Any) -> Any:
    """A batched tensor over the same examples without their history."""
    batch = t._extra.batch
    return make_batched(hooks.detach(batch.value), batch.dim, batch.owner)


def refuse_escaped(op: OpDef, args: Any) -> Any:
    raise RuntimeError("Either your tensor may have escaped from inside a function being vmapped and this is a user error (see "
                       "https://pytorch.org/functorch/stable/ux_limitations.html), or there is an internal functorch error in "
                       "`gen_vmap_plumbing` Please file an issue if it looks like the latter")


def new_like(t: Any, shape: Any, strides: Any) -> Any:
    """A new batched tensor whose examples have this geometry and do not share memory; see `copy_to_layout`."""
    packet = find_packet("new_empty_strided")
    assert packet is not None
    batch = t._extra.batch
    extent = 0 if 0 in shape else 1 + sum([(n - 1) * s for n, s in zip(shape, strides, strict=True)])
    if is_batched(batch.value):
        value = new_like(batch.value, (batch.owner.size, *shape), (extent, *strides))
    else:
        value = call(packet.default, [batch.value, (batch.owner.size, *shape), (extent, *strides), None, None, None, None])
    return make_batched(value, 0, batch.owner)


def zeros_in_layout(t: Any, like: Any) -> Any:
    """Batched zeros whose examples have the layout and storage size of `like`."""
    batch = t._extra.batch
    length = forward.storage_length(like.array)
    strides, offset = strides_of(like.array), offset_of(like.array)
    chain = [batch.owner]
    while is_batched(batch.value):
        batch = batch.value._extra.batch
        chain.append(batch.owner)
    sizes = [owner.size for owner in reversed(chain)]
    count = int(np.prod(sizes, dtype=np.int64))
    memory = np.zeros(count * length, like.array.dtype)
    outer = [int(np.prod(sizes[i + 1:], dtype=np.int64)) * length for i in range(len(sizes))]
    value = new_tensor(strided(memory, (*sizes, *like.array.shape), (*outer, *strides), offset))
    value._flags = like._flags & (FLAG_CONJ | FLAG_NEG)
    for owner in reversed(chain):
        value = make_batched(value, 0, owner)
    return value


def make_dual(make: Any, t: Any, tangent: Any) -> Any:
    """`make_dual` of a batched tensor: its examples get the tangents."""
    batch = t._extra.batch
    if is_batched(tangent, batch.owner):
        of_tangent = tangent._extra.batch
        value = of_tangent.value if of_tangent.dim == batch.dim else of_tangent.value.movedim(of_tangent.dim, batch.dim)
    else:
        shape = tangent.array.shape
        value = tangent.unsqueeze(batch.dim).expand((*shape[:batch.dim], batch.owner.size, *shape[batch.dim:]))
    return make_batched(make(batch.value, value), batch.dim, batch.owner)


def unpack_dual(unpack: Any, t: Any) -> tuple[Any, Any]:
    batch = t._extra.batch
    primal, tangent = unpack(batch.value)
    return (make_batched(primal, batch.dim, batch.owner),
            None if tangent is None else make_batched(tangent, batch.dim, batch.owner))


hooks.batched_data = refuse_data
hooks.batched_detach = detach
hooks.batched_dual = make_dual
hooks.batched_geometry = change_geometry
hooks.batched_get_data = refuse_alias
hooks.batched_item = refuse_item
hooks.batched_list = refuse_data
hooks.batched_new = new_like
hooks.batched_repr = describe
hooks.batched_undual = unpack_dual
hooks.batched_zeros = zeros_in_layout
hooks.escaped = refuse_escaped
