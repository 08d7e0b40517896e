"""torch.nested: tensors of different shapes as one tensor (strided layout).

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
from retrograd.nested.formulas import from_list

__all__ = ["as_nested_tensor", "nested_tensor", "to_padded_tensor"]


def nested_tensor(tensor_list: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
                  pin_memory: bool = False) -> Tensor:
    """A nested tensor with copies of tensors (or of lists of numbers), a leaf of the graph.

    >>> import retrograd as torch
    >>> nt = nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], requires_grad=True)
    >>> nt.size(0), nt.size(2), nt.is_leaf
    (2, 3, True)
    """
    check_layout(layout)
    if not isinstance(tensor_list, (list, tuple)):
        raise TypeError("Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in nested_tensor")
    parts = [t.detach() if isinstance(t, Tensor) else retrograd.tensor(t, dtype=dtype) for t in tensor_list]
    made = call(from_list, [parts, dtype, None, None, None])
    return made.requires_grad_() if requires_grad else made


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> Tensor:
    """A nested tensor of tensors, with their history; a tensor is taken apart along its first dimension.

    >>> import retrograd as torch
    >>> x, y = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    >>> as_nested_tensor([x, y]).to_padded_tensor(0.0).sum().backward()
    >>> y.grad
    tensor([1., 1., 1.])
    """
    check_layout(layout)
    is_list = isinstance(ts, (list, tuple)) and all([isinstance(t, Tensor) for t in ts])
    if not is_list and not isinstance(ts, Tensor):
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
    if isinstance(ts, Tensor):
        if ts.dim() < 1:
            raise RuntimeError("as_nested_tensor(): Expected tensor argument to have dim() > 0")
        if ts.is_nested:
            return ts if dtype is None else ts.to(dtype)
        ts = ts.unbind(0)
    return call(from_list, [list(ts), dtype, None, None, None])


def to_padded_tensor(input: Tensor, padding: float, output_size: Any = None, out: Any = None) -> Tensor:
    """The parts side by side in one ordinary tensor, filled up with `padding`."""
    made = answers.pad(input, padding, output_size)
    return made if out is None else out.copy_(made)


def check_layout(layout: Any) -> None:
    if layout is not None and layout is not retrograd.strided:
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}; they are strided here")
