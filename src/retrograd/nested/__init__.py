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
from retrograd.nested import answers
from retrograd.nested.formulas import from_jagged, from_list

__all__ = ["as_nested_tensor", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor"]


def nested_tensor(tensor_list: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
                  pin_memory: bool = False) -> Tensor:
    """A nested tensor with copies of tensors (or of lists of numbers), a leaf of the graph.

    >>> import retrograd as torch
    >>> nt = nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], requires_grad=True)
    >>> nt.size(0), nt.size(2), nt.is_leaf
    (2, 3, True)
    """
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
        if ts.dim() < 1:
            raise RuntimeError("as_nested_tensor(): Expected tensor argument to have dim() > 0")
        if ts.is_nested:
            return ts if dtype is None else ts.to(dtype)
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
        offsets = retrograd.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    elif lengths is not None:
        raise RuntimeError("nested_tensor_from_jagged(): offsets together with lengths would leave holes, which are not "
                           "supported")
    if jagged_dim not in (None, 1):
        raise RuntimeError(f"nested_tensor_from_jagged(): only jagged_dim=1 is supported, not {jagged_dim}")
    return call(from_jagged, [values, offsets])


def nest(parts: list[Tensor], dtype: Any, layout: Any) -> Any:
    """A nested tensor of the parts, in one of the two layouts."""
    if layout is None or layout is retrograd.strided:
        return call(from_list, [parts, dtype, None, None, None])
    if layout is not retrograd.jagged:
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")
    if not parts:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    if any([t.dim() != parts[0].dim() for t in parts]):
        raise RuntimeError("When constructing a nested tensor, all tensors in list must have the same dim")
    if any([t.shape[1:] != parts[0].shape[1:] for t in parts]):
        raise RuntimeError("Cannot represent given tensor list as a nested tensor with the jagged layout. Note that the jagged "
                           "layout only allows for a single ragged dimension. Example shape: (B, *, D_0, D_1, ..., D_N)")
    whole = retrograd.cat([t if dtype is None else t.to(dtype) for t in parts])
    lengths = retrograd.tensor([0, *[t.shape[0] for t in parts]])
    return nested_tensor_from_jagged(whole, lengths.cumsum(0))


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

