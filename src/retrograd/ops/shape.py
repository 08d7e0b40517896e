"""Views and other changes of shape."""
from __future__ import annotations

from typing import Any

from retrograd.core import storage
from retrograd.core.dispatch import view_dispatch
from retrograd.core.opdef import defop
from retrograd.ops.families import wrap_dim


def infer_size(shape: Any, count: int) -> tuple[int, ...]:
    """`shape` with its -1 replaced by what makes `count` elements."""
    unknown = [i for i, n in enumerate(shape) if n == -1]
    if len(unknown) > 1:
        raise RuntimeError("only one dimension can be inferred")
    for n in shape:
        if n < -1:
            raise RuntimeError(f"invalid shape dimension {n}")
    known = 1
    for n in shape:
        known *= n if n != -1 else 1
    if unknown:
        if known == 0:
            raise RuntimeError(f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified "
                               "dimension size -1 can be any value and is ambiguous")
        if count % known:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {count}")
        return tuple([count // known if n == -1 else n for n in shape])
    if known != count:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {count}")
    return tuple(shape)


def view_strides(shape: Any, strides: Any, new: Any) -> tuple[int, ...] | None:
    """The strides with which memory of one geometry can be seen in another shape; None if it cannot."""
    if 0 in shape:
        return strides if tuple(shape) == tuple(new) else storage.contiguous_strides(new)
    if not shape:
        return (1,) * len(new)
    result = [0] * len(new)
    position = len(new) - 1
    base = strides[-1]
    chunk = seen = 1
    for d in range(len(shape) - 1, -1, -1):
        chunk *= shape[d]
        if d == 0 or (shape[d - 1] != 1 and strides[d - 1] != chunk * base):
            while position >= 0 and (seen < chunk or new[position] == 1):
                result[position] = seen * base
                seen *= new[position]
                position -= 1
            if seen != chunk:
                return None
            if d > 0:
                base = strides[d - 1]
                chunk = seen = 1
    return tuple(result) if position == -1 else None


def view_array(xp: Any, self: Any, size: Any) -> Any:
    size = infer_size(size, self.size)
    if self.flags.c_contiguous and self.size:
        return self.reshape(size)
    strides = view_strides(self.shape, storage.strides_of(self), size)
    if strides is None:
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one dimension spans "
                           "across two contiguous subspaces). Use .reshape(...) instead.")
    return storage.strided(self, size, strides)


view = defop(
    "view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
    kernel=view_array,
    vjp=dict(self=lambda grad, self_sym_sizes: grad.reshape(self_sym_sizes)),
    jvp="linear", variants="method",
)


def expand_array(xp: Any, self: Any, size: Any, implicit: bool) -> Any:
    ndim = self.ndim
    if len(size) < ndim:
        raise RuntimeError(f"expand(torch.{self.dtype}{list(self.shape)}, size={list(size)}): the number of sizes provided "
                           f"({len(size)}) must be greater or equal to the number of dimensions in the tensor ({ndim})")
    strides = storage.strides_of(self)
    shape, steps = [], []
    extra = len(size) - ndim
    for i, n in enumerate(size):
        have = self.shape[i - extra] if i >= extra else 1
        if n == -1:
            if i < extra:
                raise RuntimeError(f"expand: the expanded size of the tensor ({n}) isn't allowed in a leading, "
                                   f"non-existing dimension {i}")
            n = have
        if n != have and have != 1:
            raise RuntimeError(f"The expanded size of the tensor ({n}) must match the existing size ({have}) at "
                               f"non-singleton dimension {i}.  Target sizes: {list(size)}.  Tensor sizes: {list(self.shape)}")
        shape.append(n)
        steps.append(0 if i < extra or (have == 1 and n != 1) else strides[i - extra])
    return storage.strided(self, shape, steps)


expand = defop(
    "expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
    kernel=expand_array,
    vjp=dict(self=lambda grad, self_sym_sizes: grad.sum_to_size(self_sym_sizes)),
    jvp="linear", variants="method",
)
t = defop(
    "t(Tensor(a) self) -> Tensor(a)",
    kernel=lambda xp, self: self.T,
    vjp=dict(self=lambda grad: grad.t()),
    jvp="linear",
)


def as_strided_backward(grad: Any, self_geometry: Any, size: Any, stride: Any, storage_offset: Any) -> Any:
    return grad.as_strided_scatter_zeros(self_geometry, size, stride, storage_offset)


as_strided = defop(
    "as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)",
    kernel=lambda xp, self, size, stride, storage_offset: storage.strided(self, size, stride, storage_offset),
    vjp=dict(self=as_strided_backward),
    jvp="linear",
)
view_dispatch.as_strided = as_strided
select = defop(
    "select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
    kernel=lambda xp, self, dim, index: self[(slice(None),) * wrap_dim(dim, self.ndim) + (index,)],
    vjp=dict(self=lambda grad, self_sym_sizes, dim, index: grad.select_backward(self_sym_sizes, dim, index)),
    jvp="linear",
)
