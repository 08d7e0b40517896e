"""Functions of `torch` with a leading underscore that programs call: integer products, scales of losses, masked softmax."""
from __future__ import annotations

import warnings
from typing import Any

import retrograd as torch


def _aminmax(self: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The smallest and the largest element: an older name of `aminmax`.

    >>> with warnings.catch_warnings(action="ignore"):
    ...     _aminmax(torch.tensor([3.0, 1.0, 2.0]))
    (tensor(1.), tensor(3.))
    """
    warnings.warn("_aminmax is deprecated as of PyTorch 1.11 and will be removed in a future release. Use aminmax instead. "
                  "This warning will only appear once per process.", UserWarning, stacklevel=2)
    return tuple(torch.aminmax(self, dim=dim, keepdim=keepdim))


# ---- products
def _weight_int8pack_mm(self: Any, mat2: Any, scales: Any) -> Any:
    """`self` times the transpose of a matrix of bytes, each row of which has a scale.

    >>> _weight_int8pack_mm(torch.ones(1, 2), torch.tensor([[1, 2], [3, 4]], dtype=torch.int8), torch.tensor([1.0, 0.5]))
    tensor([[3.0000, 3.5000]])
    """
    who = "_weight_int8pack_mm_cpu : "
    if self.dtype not in (torch.bfloat16, torch.float16, torch.float32):
        raise RuntimeError(f"{who}expect A to be either 32-bit or 16-bit float tensor.")
    if mat2.dtype != torch.int8 or mat2.ndim != 2 or mat2.shape[1] != self.shape[1]:
        raise RuntimeError(f"{who}expect B to be int8 tensor of {self.shape[1]} columns, got {mat2.dtype} {tuple(mat2.shape)}")
    if scales.ndim != 1 or scales.shape[0] != mat2.shape[0]:
        raise RuntimeError(f"{who}expect scales to be 1d tensor with size {mat2.shape[0]}")
    return (torch.mm(self.float(), mat2.float().t()) * scales.float()).to(self.dtype)


def _compute_linear_combination(input: Any, coefficients: Any, *, out: Any = None) -> Any:
    """Sums of the slices of `input`, with a row of coefficients for each sum.

    >>> _compute_linear_combination(torch.tensor([[1.0, 2.0], [10.0, 20.0]]), torch.tensor([[1.0, 1.0], [2.0, 0.0]]))
    tensor([[11., 22.],
            [ 2.,  4.]])
    """
    if input.ndim == 0 or input.numel() == 0:
        raise RuntimeError("Empty tensor not supported")
    count = coefficients.shape[1]
    made = torch.tensordot(coefficients.to(input.dtype), input[:count], dims=1)
    return made if out is None else out.resize_(made.shape).copy_(made)


# ---- scales of losses
def _amp_update_scale_(self: Any, growth_tracker: Any, found_inf: Any, scale_growth_factor: float, scale_backoff_factor: float,
                       growth_interval: int) -> Any:
    """Let a scale grow after a number of steps with finite gradients, and shrink after one without.

    >>> scale, steps = torch.tensor([4.0]), torch.zeros(1, dtype=torch.int32)
    >>> _amp_update_scale_(scale, steps, torch.zeros(1), 2.0, 0.5, 1)
    tensor([8.])
    >>> _amp_update_scale_(scale, steps, torch.ones(1), 2.0, 0.5, 1)
    tensor([4.])
    """
    for name, t in (("growth_tracker", growth_tracker), ("current_scale", self), ("found_inf", found_inf)):
        if t.numel() != 1:
            raise RuntimeError(f"{name} must be a 1-element tensor.")
    for name, t, dtype, word in (("growth_tracker", growth_tracker, torch.int32, "an int"),
                                 ("current_scale", self, torch.float32, "a float"),
                                 ("found_inf", found_inf, torch.float32, "a float")):
        if t.dtype != dtype:
            raise RuntimeError(f"{name} must be {word} tensor.")
    with torch.no_grad():
        if found_inf.item():
            self.mul_(scale_backoff_factor)
            growth_tracker.zero_()
        elif growth_tracker.item() + 1 == growth_interval:
            grown = self * scale_growth_factor
            if torch.isfinite(grown).all():
                self.copy_(grown)
            growth_tracker.zero_()
        else:
            growth_tracker.add_(1)
    return self


def _amp_foreach_non_finite_check_and_unscale_(self: Any, found_inf: Any, inv_scale: Any) -> None:
    """Multiply gradients by a number, and set `found_inf` to 1 if one of them is not finite.

    >>> gradients, found = [torch.tensor([2.0, float("inf")])], torch.zeros(1)
    >>> _amp_foreach_non_finite_check_and_unscale_(gradients, found, torch.tensor([0.5]))
    >>> gradients, found
    ([tensor([1., inf])], tensor([1.]))
    """
    if not len(self):
        return
    for name, t in (("inv_scale", inv_scale), ("found_inf", found_inf)):
        if t.numel() != 1:
            raise RuntimeError(f"{name} must be a 1-element tensor.")
        if t.dtype != torch.float32:
            raise RuntimeError(f"{name} must be a float tensor.")
    with torch.no_grad():
        for gradient in self:
            if not torch.isfinite(gradient).all():
                found_inf.fill_(1.0)
            gradient.mul_(inv_scale.to(gradient.dtype))


# ---- softmax
def _masked_softmax(self: Any, mask: Any, dim: int | None = None, mask_type: int | None = None) -> Any:
    """Softmax without the elements at which `mask` is True.

    A mask of type 0 is one of positions (L, L), of type 1 one of keys (B, L), of attention weights (B, H, L, L).

    >>> _masked_softmax(torch.zeros(1, 3), torch.tensor([[False, True, False]]))
    tensor([[0.5000, 0.0000, 0.5000]])
    """
    if mask.dtype != torch.bool:
        raise RuntimeError("Mask should be a boolean tensor")
    if self.dtype not in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        kind = self.type().split(".")[-1].removesuffix("Tensor")
        raise NotImplementedError(f"\"masked_softmax\" not implemented for '{kind}'")
    if mask_type == 0 and mask.ndim == 2:
        mask = mask.expand(self.shape)
    elif mask_type == 1 and mask.ndim == 2:
        mask = mask.view(mask.shape[0], 1, 1, mask.shape[1]).expand(self.shape)
    if mask.shape != self.shape:
        raise RuntimeError("For mask_type == 2 mask shape should match input shape")
    return torch.softmax(self.masked_fill(mask, float("-inf")), -1 if dim is None else dim)


# ---- memory
def _debug_has_internal_overlap(self: Any) -> int:
    """0 if no two elements are in one place, 1 if some are, 2 if it takes more than strides to tell.

    >>> _debug_has_internal_overlap(torch.ones(2)), _debug_has_internal_overlap(torch.ones(1).expand(2))
    (0, 1)
    """
    if self.is_contiguous() or self.numel() == 0:
        return 0
    sides = sorted([(step, size) for step, size in zip(self.stride(), self.shape, strict=True) if size > 1])
    if any([step == 0 for step, _ in sides]):
        return 1
    dense = 1
    for step, size in sides:
        if step != dense:
            return 2
        dense *= size
    return 0


def _nnpack_available() -> bool:
    """Whether convolutions can use NNPACK.

    >>> _nnpack_available()
    False
    """
    return False
