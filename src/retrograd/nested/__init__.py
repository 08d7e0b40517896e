"""torch.nested: tensors of different shapes as one tensor, in the strided or the jagged layout.

    >>> import retrograd as torch
    >>> nt = torch.nested.nested_tensor([[1.0, 2.0], [3.0]])
    >>> nt * 2
    nested_tensor([
      tensor([2., 4.]),
      tensor([6.])
    ])
    >>> torch.nested.to_padded_tensor(nt, 0.0)
    tensor([[1., 2.],
            [3., 0.]])
"""
from __future__ import annotations

from typing import Any

import retrograd
from retrograd.core.dispatch import call
from retrograd.core.tensor import Tensor
from retrograd.nested import _internal as _internal
from retrograd.nested import answers
from retrograd.nested import reductions as _reductions
from retrograd.nested.formulas import from_jagged, from_list

__all__ = ["as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor"]


def nested_tensor(tensor_list: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
                  pin_memory: bool = False) -> Tensor:
    """A nested tensor with copies of tensors (or of lists of numbers), a leaf of the graph.

    >>> import retrograd as torch
    >>> nt = nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], requires_grad=True)
    >>> nt.size(0), nt.size(2), nt.is_leaf
    (2, 3, True)
    """
    if layout is retrograd.jagged and isinstance(tensor_list, Tensor):
        tensor_list = tensor_list.detach().unbind()
    if layout not in (None, retrograd.strided, retrograd.jagged):
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")
    if not isinstance(tensor_list, (list, tuple)):
        raise TypeError("Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in nested_tensor")
    parts = [t.detach() if isinstance(t, Tensor) else retrograd.tensor(t, dtype=dtype) for t in tensor_list]
    made = nest(parts, dtype, layout).detach()
    return made.requires_grad_() if requires_grad else made


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> Tensor:
    """A nested tensor of tensors, with their history; a tensor is taken apart along its first dimension.

    >>> import retrograd as torch
    >>> x, y = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    >>> as_nested_tensor([x, y]).to_padded_tensor(0.0).sum().backward()
    >>> y.grad
    tensor([1., 1., 1.])
    """
    is_list = isinstance(ts, (list, tuple)) and all([isinstance(t, Tensor) for t in ts])
    if not is_list and not isinstance(ts, Tensor):
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
    if isinstance(ts, Tensor):
        if ts.is_nested:
            if ts.layout is not (retrograd.strided if layout is None else layout):
                raise RuntimeError("as_nested_tensor(): Converting between nested tensor layouts is not supported")
            return ts if dtype is None else ts.to(dtype)
        least = 1 if layout is retrograd.jagged else 0
        if ts.dim() <= least:
            raise RuntimeError(f"as_nested_tensor(): Expected tensor argument to have dim() > {least}")
        ts = ts.unbind(0)
    return nest(list(ts), dtype, layout)


def nested_tensor_from_jagged(values: Tensor, offsets: Tensor | None = None, lengths: Tensor | None = None,
                              jagged_dim: int | None = None, min_seqlen: int | None = None,
                              max_seqlen: int | None = None) -> Tensor:
    """The rows of `values` as a jagged tensor over the same memory: a part ends where the next one begins.

    >>> import retrograd as torch
    >>> nt = nested_tensor_from_jagged(torch.arange(5), torch.tensor([0, 3, 5]))
    >>> nt.unbind()
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
        offsets, lengths = retrograd.cat([lengths.new_zeros(1), lengths.cumsum(0)]), None
    for place, name, given in ((1, "self", values), (2, "offsets", offsets)):
        if not isinstance(given, Tensor):
            raise TypeError(f"_nested_view_from_jagged(): argument '{name}' (position {place}) must be Tensor, not "
                            f"{type(given).__name__}")
    if values.is_nested:
        raise ValueError("NestedTensor _nested_view_from_jagged_default(values: t, offsets: t, dummy: jt_all, lengths: t?, "
                         "ragged_idx: any?, min_seqlen: t?, max_seqlen: t?): expected values to be a tensor")
    if jagged_dim is not None and jagged_dim < 1:
        raise ValueError(f"Expected jagged_dim >=1, but got {jagged_dim}.")
    axis = 0 if jagged_dim is None else jagged_dim - 1
    return call(from_jagged, [values, offsets, lengths, axis, min_seqlen, max_seqlen])


def narrow(tensor: Tensor, dim: int, start: int | Tensor, length: int | Tensor, layout: Any = None) -> Tensor:
    """A nested tensor of slices of a tensor along `dim`, over the same memory: part `i` begins at `start[i]`.

    >>> import retrograd as torch
    >>> x = torch.arange(6).view(2, 3)
    >>> torch.nested.narrow(x, 1, torch.tensor([0, 1]), torch.tensor([1, 2]), layout=torch.jagged).unbind()
    (tensor([0]), tensor([4, 5]))
    """
    for name, value in (("start", start), ("length", length)):
        if not isinstance(value, (int, Tensor)):
            raise RuntimeError(f"{name} must be an integer or a tensor")
    if layout is None or layout is retrograd.strided:
        if isinstance(start, Tensor) or isinstance(length, Tensor):
            raise RuntimeError("start and length must be integers for the strided layout NT impl")
        return narrow_parts(as_nested_tensor(tensor.unbind()), dim, start, length)
    if layout is not retrograd.jagged:
        raise RuntimeError(f"Specified layout is unsupported for nested narrow: {layout}")
    if dim != 1:
        raise RuntimeError("jagged layout only supports dim=1")
    count, most = tensor.shape[:2]
    starts, lengths = [retrograd.as_tensor(value, dtype=retrograd.int64) for value in (start, length)]
    if any([t.dim() > 1 or t.numel() not in (1, count) for t in (starts, lengths)]):
        raise RuntimeError("When constructing a jagged nested tensor using narrow(), your start and length must be Tensors "
                           "that broadcast to input.shape[0]")
    begins = starts + retrograd.arange(count) * most
    offsets = retrograd.cat([begins, (begins[-1:] + lengths.expand(count)[-1:])])
    values = tensor.flatten(0, 1)
    return nested_tensor_from_jagged(values, offsets, lengths.expand(count).clone())


def narrow_parts(nested: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Some of the parts of a nested tensor."""
    if dim:
        raise RuntimeError(f"narrow(): only dim=0 supported for nested tensors, but got: {dim}")
    return as_nested_tensor(list(nested.unbind()[start:start + length]))


def masked_select(tensor: Any, mask: Any) -> Tensor:
    """What a mask chooses from each row, as a jagged tensor.

    >>> import retrograd as torch
    >>> x = torch.arange(4).view(2, 2)
    >>> torch.nested.masked_select(x, x > 0).unbind()
    (tensor([1]), tensor([2, 3]))
    """
    if tensor.layout is not retrograd.strided:
        raise RuntimeError(f"torch.nested.masked_select requires a strided tensor, given {tensor.layout}")
    values = tensor.masked_select(mask)
    mask = mask.expand(tensor.shape)
    lengths = mask if mask.dim() == 1 else mask.flatten(1).sum(1)
    return nested_tensor_from_jagged(values, retrograd.cat([lengths.new_zeros(1), lengths.cumsum(0)]))


def nest(parts: list[Tensor], dtype: Any, layout: Any) -> Any:
    """A nested tensor of the parts, in one of the two layouts."""
    if layout is None or layout is retrograd.strided:
        return call(from_list, [parts, dtype, None, None, None])
    if layout is not retrograd.jagged:
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")
    if not parts:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    for fact in ("dtype", "device"):
        if len({getattr(t, fact) for t in parts}) > 1:
            raise RuntimeError(f"When constructing a nested tensor, all tensors in list must have the same {fact}")
    if any([t.dim() != parts[0].dim() for t in parts]):
        raise RuntimeError("When constructing a nested tensor, all tensors in list must have the same dim")
    if not parts[0].dim():
        raise RuntimeError("Cannot construct a nested tensor from a list of zero-dim tensors")
    differing = [d for d in range(parts[0].dim()) if len({t.shape[d] for t in parts}) > 1] or [0]
    if len(differing) > 1:
        raise RuntimeError("Cannot represent given tensor list as a nested tensor with the jagged layout. Note that the jagged "
                           "layout only allows for a single ragged dimension. For example: (B, *, D_0, D_1, ..., D_N), with "
                           "ragged * dim.")
    axis = differing[0]
    whole = retrograd.cat([t if dtype is None else t.to(dtype) for t in parts], axis)
    lengths = [t.shape[axis] for t in parts]
    offsets = retrograd.tensor([0, *lengths]).cumsum(0)
    return nested_tensor_from_jagged(whole, offsets, None, axis + 1, min(lengths), max(lengths))


def to_padded_tensor(input: Tensor, padding: float, output_size: Any = None, out: Any = None) -> Tensor:
    """The parts side by side in one ordinary tensor, filled up with `padding`.

    >>> import retrograd as torch
    >>> nt = torch.nested.nested_tensor([torch.ones(2), torch.ones(1)])
    >>> torch.nested.to_padded_tensor(nt, -1.0)
    tensor([[ 1.,  1.],
            [ 1., -1.]])
    """
    made = answers.pad(input, padding, output_size)
    return made if out is None else out.copy_(made)

