"""Elements by their places in the flattened tensor: take, put, take_along_dim."""
from __future__ import annotations

from typing import Any

from retrograd.core import lean
from retrograd.core.deterministic import alert
from retrograd.core.dispatch import call, is_ordinary
from retrograd.core.opdef import OpDef, defop
from retrograd.ops import late
from retrograd.ops.indexing.index import INT64, common_shape, laid_out
from retrograd.ops.indexing.scatter import legacy
from retrograd.ops.memory.copy import format_strides
from retrograd.ops.shared import families
from retrograd.ops.shared.along import add_flat
from retrograd.ops.shared.families import everything, wrap_dim


# ---- take and put: the flattened tensor
def check_flat(name: str, self: Any, index: Any) -> None:
    if index.dtype != INT64:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {legacy(index)}")


def check_flat_bounds(self: Any, index: Any) -> None:
    size = self.size
    if not lean.within(index, -size, size):
        wrong = index[(index < -size) | (index >= size)].flat[0]
        raise IndexError(f"out of range: tried to access index {wrong} on a tensor of {size} elements.")


def take_kernel(xp: Any, self: Any, index: Any) -> Any:
    check_flat("take", self, index)
    if not self.size and index.size:
        raise IndexError("take(): tried to take from an empty tensor")
    check_flat_bounds(self, index)
    return xp.ascontiguousarray(self.reshape(-1)[index]).reshape(index.shape)


def take_backward(grad: Any, self: Any, index: Any) -> Any:
    return late.zeros_like(self).put(index, grad, True)


def batched_take(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """The batching rule of take: indices are offset into the flattened batch."""
    self, index = args
    if dims[0] is None:
        return call(op, args), dims[1]
    rows = families.move_to_front(self, dims[0]).reshape((size, -1))
    if dims[1] is None:
        return rows.take_along_dim(wrapped(index, rows).reshape((1, -1)), 1).reshape((size, *index.shape)), 0
    index = families.move_to_front(index, dims[1])
    return rows.take_along_dim(wrapped(index, rows).reshape((size, -1)), 1).reshape(index.shape), 0


def wrapped(index: Any, rows: Any) -> Any:
    """Indices into rows, counted from the front."""
    count = rows.shape[1]
    check_flat("take", rows.array, index.array)
    check_flat_bounds(rows.array[0], everything(index))
    return late.where(index < 0, index + count, index)


take = defop(
    "take(Tensor self, Tensor index) -> Tensor",
    out="same: take(): self and out expected to have the same dtype, but got self.dtype = {value} and "
        "out.dtype = {out}",
    kernel=take_kernel, lower="@take",
    vjp=dict(self=take_backward), jvp="linear", batch=batched_take, traits=("out_apart", "out_first", "chalf"),
    pattern="moves",
    doc="""The elements at the given indices of the flattened tensor.
    >>> torch.take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, 3]))
    tensor([1, 4])
    """,
)


def put_kernel(xp: Any, self: Any, index: Any, source: Any, accumulate: bool) -> Any:
    check_flat("put_", self, index)
    if self.dtype != source.dtype:
        raise RuntimeError("put_(): self and source expected to have the same dtype, but got self.dtype = "
                           f"{legacy(self)} and source.dtype = {legacy(source)}")
    if source.size != index.size:
        raise IndexError("put_(): Expected source and index to have the same number of elements, but got "
                         f"source.numel() = {source.size}, index.numel() = {index.size}")
    if not self.size and index.size:
        raise IndexError("put_(): Tried to put elements into an empty tensor")
    check_flat_bounds(self, index)
    flat = self.flatten()
    places, values = index.reshape(-1), source.reshape(-1)
    if accumulate:
        add_flat(flat, lean.namespace_of(places).where(places < 0, places + flat.size, places), values)
    else:
        flat[places] = values
    result = flat.reshape(self.shape)
    return laid_out(result, format_strides(self, None)) if self.ndim else xp.array(result)


def check_put(self: Any, index: Any, source: Any, accumulate: bool) -> None:
    if not accumulate:
        alert("put_")


put = defop(
    "put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
    out="aten",
    kernel=put_kernel, lower="@put", check=check_put,
    vjp=dict(self=lambda grad, index, source, accumulate:
                 grad if accumulate else grad.put(index, late.zeros_like(source), False),
             source=lambda grad, index, source: grad.take(index).reshape(source.shape)),
    jvp="linear", batch=families.loop, inplace=True, traits=("apart",),
)


def take_along_dim_of(self: Any, indices: Any, dim: int | None = None) -> Any:
    if dim is None:
        return self.view(-1).gather(0, indices.view(-1))
    if self.ndim != indices.ndim:
        raise RuntimeError("torch.take_along_dim(): input and indices should have the same number of dimensions, but "
                           f"got {self.ndim} dimensions for input, and {indices.ndim} dimensions for indices")
    if indices.dtype.name != "int64":
        raise RuntimeError("torch.take_along_dim(): dtype of indices should be Long but got " + indices.dtype.legacy)
    dim = wrap_dim(dim, self.ndim)
    if not self.ndim:
        raise IndexError(f"Dimension specified as {dim % 1} but tensor has no dimensions")
    shape = list(self.shape)
    shape[dim] = indices.shape[dim]
    index_shape = common_shape(tuple(shape), tuple(indices.shape))
    shape = list(indices.shape)
    shape[dim] = self.shape[dim]
    self_shape = common_shape(tuple(shape), tuple(self.shape))
    if index_shape != indices.array.shape or not is_ordinary(indices):
        indices = indices.broadcast_to(index_shape)
    if self_shape[dim:dim + 1] not in ((), (0,)) and not (
            is_ordinary(indices) and lean.within(indices.array, 0, self_shape[dim])):
        indices = indices.remainder(self_shape[dim])
    if self_shape != self.array.shape or not is_ordinary(self) or families.will_differentiate(self):
        self = self.broadcast_to(self_shape)
    return self.gather(dim, indices)


take_along_dim = defop(
    "take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
    out="same",
    kernel=take_along_dim_of, composite=True, traits=("out_apart",),
)
