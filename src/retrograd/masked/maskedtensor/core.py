"""MaskedTensor: a tensor whose mask says which elements are there."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import retrograd as torch
from retrograd.masked.maskedtensor.binary import apply_binary
from retrograd.masked.maskedtensor.packets import kind_of
from retrograd.masked.maskedtensor.passthrough import apply_passthrough
from retrograd.masked.maskedtensor.reductions import reduce_masked
from retrograd.masked.maskedtensor.sparse import LAYOUTS, in_layout
from retrograd.masked.maskedtensor.unary import apply_unary

__all__ = ["MaskedTensor", "is_masked_tensor"]



def is_masked_tensor(obj: Any, /) -> bool:
    """Whether an object is a masked tensor.

    >>> is_masked_tensor(torch.ones(2))
    False
    """
    return isinstance(obj, MaskedTensor)


class MaskedTensor(torch.Tensor):
    """A tensor with a mask: elements where it is False are not there, and neither ops nor gradients see them."""

    _masked_data: Any
    _masked_mask: Any

    @staticmethod
    def __new__(cls, data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
        check(data, mask)
        warnings.warn("The PyTorch API of MaskedTensors is in prototype stage and will change in the near future. Please open "
                      "a Github issue for features requests and see our documentation on the torch.masked module for further "
                      "information about the project.", UserWarning, stacklevel=2)
        if data.requires_grad:
            warnings.warn("It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid this, you "
                          "can use data.detach().clone()", UserWarning, stacklevel=2)
        data, mask = data.detach().clone(), mask.detach().clone()
        if data.layout != torch.strided:
            data, mask = in_layout(data, mask, data.layout)
        return cls._wrap(data, mask, requires_grad)

    @classmethod
    def _wrap(cls, data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
        strides = {"strides": data.stride()} if data.layout == torch.strided else {}
        made = torch.Tensor._make_wrapper_subclass(cls, data.shape, dtype=data.dtype, device=data.device,
                                                   requires_grad=requires_grad, **strides)
        made._masked_data, made._masked_mask = data, mask
        return made

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        number = "{:8.4f}" if self.dtype.is_floating_point else "{}"
        with torch.no_grad():
            text = masked_text(*in_layout(self._masked_data, self._masked_mask, torch.strided), number)
        if self.dim() == 0:
            return f"MaskedTensor({text}, {bool(self._masked_mask)})"
        lines = "\n".join([f"  {line}" for line in text.split("\n")])
        return f"MaskedTensor(\n{lines}\n)"

    @classmethod
    def __torch_function__(cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if args and isinstance(args[0], cls) and kind_of(name) == "reduction":
            if args[0].is_sparse and (len(args) > 1 or (kwargs or {}).get("dim") is not None):
                return NotImplemented
            return reduce_masked(name, *args, **(kwargs or {}))
        with torch.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, kwargs = func._schema.name.partition("::")[2], kwargs or {}
        kind = kind_of(name)
        if kind == "unary":
            return apply_unary(func, args, kwargs)
        if kind == "binary":
            return apply_binary(func, args, kwargs, cls)
        if kind == "passthrough":
            return apply_passthrough(func, args, kwargs, cls)
        if kind == "reduction":
            return reduce_masked(name, *args, **kwargs)
        return NotImplemented if kind is None else RULES[kind](func, *args, **kwargs)

    def get_data(self) -> Any:
        """The elements, those under the mask included."""
        return GetData.apply(self)

    def get_mask(self) -> Any:
        """The mask: False where an element is not there."""
        return self._masked_mask

    def to_tensor(self, value: Any) -> Any:
        """A plain tensor with `value` in place of elements that are not there."""
        return self.get_data().masked_fill(~self.get_mask(), value)

    def to_dense(self, dtype: Any = None, *, masked_grad: Any = None) -> Any:
        """The same in the strided layout."""
        return ToLayout.apply(self, torch.strided)

    def to_sparse_coo(self) -> Any:
        """The same in the COO layout, which stores the elements that are there."""
        return ToLayout.apply(self, torch.sparse_coo)

    def to_sparse(self, *args: Any, **kwargs: Any) -> Any:
        """The same in the COO layout."""
        return ToLayout.apply(self, torch.sparse_coo)

    def to_sparse_csr(self, dense_dim: Any = None) -> Any:
        """The same in the CSR layout."""
        return ToLayout.apply(self, torch.sparse_csr)

    @property
    def layout(self) -> Any:
        return self._masked_data.layout

    def is_sparse_coo(self) -> bool:
        return bool(self.layout == torch.sparse_coo)

    def is_sparse_csr(self) -> bool:
        return bool(self.layout == torch.sparse_csr)

    @property
    def is_sparse(self) -> bool:
        return self.layout in LAYOUTS


class GetData(torch.autograd.Function):
    """From a masked tensor to its elements; gradients are masked."""

    @staticmethod
    def forward(ctx: Any, self: Any) -> Any:
        ctx.mask = self._masked_mask
        return self._masked_data.detach()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad if is_masked_tensor(grad) else MaskedTensor._wrap(grad, ctx.mask)


class ToLayout(torch.autograd.Function):
    """From one layout to another, and gradients back."""

    @staticmethod
    def forward(ctx: Any, self: Any, layout: Any) -> Any:
        ctx.layout = self.layout
        return MaskedTensor._wrap(*in_layout(self._masked_data.detach(), self._masked_mask, layout))

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return MaskedTensor._wrap(*in_layout(grad._masked_data, grad._masked_mask, ctx.layout)), None


class Constructor(torch.autograd.Function):
    """From elements to a masked tensor; their gradient is masked, or zero where an element is not there."""

    @staticmethod
    def forward(ctx: Any, data: Any, mask: Any, masks_gradient: bool = True) -> Any:
        check(data, mask)
        ctx.masks_gradient = masks_gradient
        return MaskedTensor._wrap(data.detach(), mask.detach())

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return (grad if ctx.masks_gradient or not is_masked_tensor(grad) else grad.to_tensor(0)), None, None



def check(data: Any, mask: Any) -> None:
    """Refuse elements and masks that do not belong together."""
    for name, value in (("data", data), ("mask", mask)):
        if not isinstance(value, torch.Tensor) or isinstance(value, MaskedTensor):
            raise TypeError(f"{name} must be a Tensor")
    if data.layout != mask.layout:
        raise TypeError("data and mask must have the same layout.")
    if data.layout not in (torch.strided, *LAYOUTS):
        raise TypeError(f"data layout of {data.layout} is not supported.")
    if mask.dtype != torch.bool:
        raise TypeError("mask must have dtype bool.")
    if data.is_complex() or data.dtype.itemsize == 0:
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
    if data.dim() != mask.dim():
        raise ValueError("data.dim() must equal mask.dim()")
    if data.size() != mask.size():
        raise ValueError("data.size() must equal mask.size()")


def masked_text(data: Any, mask: Any, number: str) -> str:
    """Elements as text, those that are not there as two dashes."""
    if data.dim() == 0:
        return number.format(data.item()) if bool(mask) else "--"
    if data.dim() > 1:
        parts = ",\n".join([masked_text(d, m, number) for d, m in zip(data, mask, strict=True)])
        return "[\n" + "\n".join([f"  {line}" for line in parts.split("\n")]) + "\n]"
    shown = [number.format(value) if there else None for value, there in zip(data.tolist(), mask.tolist(), strict=True)]
    width = max([len(text) if text is not None else 8 for text in shown], default=0)
    return "[" + ", ".join(["--".rjust(width) if text is None else text for text in shown]) + "]"


# ---- ops with a rule of their own
def same_mask(func: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    return MaskedTensor._wrap(func(self._masked_data, *args, **kwargs), self._masked_mask)


def softmax(func: Any, self: Any, dim: int, half_to_float: bool) -> Any:
    data = self._masked_data.masked_fill(~self._masked_mask, float("-inf"))
    return MaskedTensor._wrap(func(data, dim, half_to_float), self._masked_mask)


def softmax_backward(func: Any, grad: Any, output: Any, dim: int, dtype: Any) -> Any:
    mask = (output if is_masked_tensor(output) else grad)._masked_mask
    values = [value._masked_data.masked_fill(~mask, 0) if is_masked_tensor(value) else value for value in (grad, output)]
    return MaskedTensor._wrap(func(*values, dim, dtype), mask)


def where(func: Any, condition: Any, self: Any, other: Any) -> Any:
    """Elements and masks of one or the other; what is not masked is there everywhere."""
    if is_masked_tensor(condition):
        condition = condition._masked_data
    parts = [(value._masked_data, value._masked_mask) if is_masked_tensor(value) else (value, torch.tensor(True))
             for value in (self, other)]
    data = func(condition, parts[0][0], parts[1][0])
    return MaskedTensor._wrap(data, torch.where(condition, parts[0][1], parts[1][1]).expand(data.shape))


def copy(func: Any, self: Any, source: Any, *args: Any) -> Any:
    self._masked_data.copy_(source._masked_data if is_masked_tensor(source) else source, *args)
    self._masked_mask = source._masked_mask if is_masked_tensor(source) else self._masked_mask
    return self


def scalar(func: Any, self: Any) -> Any:
    if not bool(self._masked_mask):
        raise ValueError("__item__ of a masked element is not defined")
    return func(self._masked_data)


def plain_fill(func: Any, self: Any, mask: Any, value: Any) -> Any:
    mask = mask._masked_data if is_masked_tensor(mask) else mask
    return MaskedTensor._wrap(func(self._masked_data, mask, value), self._masked_mask)


# By the other kinds that a row's `masked` column names.
RULES: dict[str, Callable[..., Any]] = {
    "copy": copy, "fill": plain_fill, "same mask": same_mask, "scalar": scalar, "softmax": softmax,
    "softmax backward": softmax_backward, "where": where,
}
