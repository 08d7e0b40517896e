"""Masks in the shape and layout of what they mask, and inputs without the elements that a mask leaves out."""
from __future__ import annotations

import math
from typing import Any

import retrograd as torch
from retrograd.masked.maskedtensor import as_masked_tensor, is_masked_tensor
from retrograd.masked.masks import sorted_dims

REDUCTIONS = {"sum", "prod", "amax", "amin", "argmax", "argmin", "mean", "median", "norm", "var", "std", "logsumexp"}
NORMALIZATIONS = {"softmax", "log_softmax", "softmin", "normalize", "cumsum", "cumprod"}
LAYOUTS = (torch.strided, torch.sparse_coo, torch.sparse_csr)


def input_mask(input: Any, *args: Any, mask: Any = None, **kwargs: Any) -> Any:
    """The mask as truth values, with the shape and the layout of `input`.

    >>> import retrograd as torch
    >>> input_mask(torch.ones(2, 2), mask=torch.tensor([1, 0]))
    tensor([[ True, False],
            [ True, False]])
    """
    if input.layout not in LAYOUTS:
        raise ValueError(f"_input_mask expects strided or sparse COO or sparse CSR tensor but got {input.layout}")
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    if mask.shape != input.shape:
        if mask.ndim > input.ndim:
            raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
        mask = broadcast(mask, input.shape)
    if mask.layout != input.layout:
        mask = mask if mask.layout == torch.strided else mask.to_dense()
        if input.layout == torch.sparse_coo:
            mask = mask.to_sparse(input.sparse_dim())
        elif input.layout == torch.sparse_csr:
            mask = mask.to_sparse_csr()
    if mask.layout == torch.sparse_coo:
        mask = mask.coalesce()
    return mask.to(torch.bool)


def broadcast(mask: Any, shape: Any) -> Any:
    if mask.layout == torch.strided:
        return torch.broadcast_to(mask.clone(), shape)
    entries = mask if mask.layout == torch.sparse_coo else mask.to_sparse()
    made = torch._sparse_broadcast_to(entries, shape)
    return made if mask.layout == torch.sparse_coo else made.to_sparse_csr()


def output_mask(op: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
    """Where the result of a masked operation is made of something.

    >>> import retrograd as torch
    >>> output_mask(torch.masked.sum, torch.ones(2, 2), 1, mask=torch.tensor([[True, False], [False, False]]))
    tensor([ True, False])
    """
    if not callable(op):
        raise ValueError(f"_output_mask expected masked operation (got {type(op).__name__} object)")
    if op.__name__ in NORMALIZATIONS:
        return input_mask(input, *args, **kwargs)
    if op.__name__ not in REDUCTIONS:
        raise ValueError(f"_output_mask expected masked operation (got callable {op.__module__}.{op.__name__})")
    args = args[1:] if op.__name__ == "norm" else args        # without the order
    made = input_mask(input, *args, **kwargs)
    layout = made.layout
    made = made if layout == torch.strided else made.to_dense()
    for d in reversed(sorted_dims(args[0] if args else kwargs.get("dim"), input.ndim)):
        made = made.any(dim=d, keepdim=bool(kwargs.get("keepdim", False)))
    return made if layout == torch.strided else made.to_sparse(layout=layout)


def reduction_identity(op_name: str, input: Any, *args: Any) -> Any:
    """What changes no result of a reduction, as a tensor of the input's dtype; None where there is no such number.

    >>> import retrograd as torch
    >>> reduction_identity("amax", torch.ones(2, dtype=torch.int8))
    tensor(-128, dtype=torch.int8)
    """
    name, dtype = op_name.rsplit(".", 1)[-1], input.dtype
    ordered = dtype.is_floating_point or dtype.is_signed or dtype == torch.uint8
    if name in ("mean", "var", "std"):
        return None
    if name in ("sum", "cumsum"):
        value: Any = 0
    elif name in ("prod", "cumprod"):
        value = 1
    elif name == "norm":
        value = math.inf if args and args[0] == -math.inf else 0
    elif name == "median":
        value, dtype = math.nan, dtype if dtype.is_floating_point else torch.float32
    elif name == "logsumexp" and dtype.is_complex:
        value = complex(-math.inf, 0)
    elif name in ("amax", "argmax", "logaddexp", "logsumexp") and ordered:
        value = -math.inf if dtype.is_floating_point else torch.iinfo(dtype).min
    elif name in ("amin", "argmin") and ordered:
        value = math.inf if dtype.is_floating_point else torch.iinfo(dtype).max
    else:
        raise NotImplementedError(f"identity of {name} on {dtype} input")
    return torch.tensor(value, dtype=dtype, device=input.device)


def where(mask: Any, input: Any, fill_value: Any) -> Any:
    """`torch.where` for masks of any layout: the entries of a sparse result are those that the mask keeps.

    >>> import retrograd as torch
    >>> mask = torch.tensor([[True, False], [True, False]])
    >>> where(mask.to_sparse(), torch.eye(2).to_sparse(), torch.tensor(-1.0)).values()
    tensor([1., 0.])
    """
    if mask.layout == torch.strided:
        return torch.where(mask, input, fill_value)
    if mask.layout == torch.sparse_csr:
        return where(mask.to_sparse(), input.to_sparse(), fill_value).to_sparse_csr()
    if mask.layout != torch.sparse_coo:
        raise ValueError(f"_where expects strided or sparse COO or sparse CSR tensor but got {mask.layout}")
    kept = mask.coalesce()
    some = kept.values().reshape(kept._nnz(), -1).any(1) if kept.dense_dim() else kept.values()
    indices, inner = kept.indices()[:, some], kept.values()[some]
    values = torch.where(inner, input.to_dense()[tuple(indices)], fill_value)
    return torch.sparse_coo_tensor(indices, values, input.shape)._coalesced_(True)


def combine_input_and_mask(op: Any, input: Any, mask: Any, *args: Any) -> Any:
    """The input with what changes no result in place of the elements that the mask leaves out.

    >>> import retrograd as torch
    >>> combine_input_and_mask(torch.masked.prod, torch.tensor([2.0, 3.0]), torch.tensor([True, False]))
    tensor([2., 1.])
    """
    if is_masked_tensor(input):
        return Combine.apply(op, input.get_data(), input.get_mask(), args)
    return combined(op, input, mask, args)


def combined(op: Any, input: Any, mask: Any, args: Any) -> Any:
    if mask is None:
        return input
    fitting = input_mask(input, mask=mask)
    if not callable(op):
        raise ValueError(f"_combine_input_and_mask expected masked operation (got {type(op).__name__} object)")
    return where(fitting, input, reduction_identity(op.__name__, input, *args))


class Combine(torch.autograd.Function):
    """The data of a masked tensor with neutral values; its gradient is masked alike."""

    @staticmethod
    def forward(ctx: Any, op: Any, data: Any, mask: Any, args: Any) -> Any:
        ctx.save_for_backward(mask)
        return combined(op, data, mask, args)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        data = grad.get_data() if is_masked_tensor(grad) else grad
        return None, as_masked_tensor(data, ctx.saved_tensors[0]), None, None
