"""Decompositions of ops into simpler ones; each gives what the op gives."""
from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import pi, sqrt
from typing import Any

import retrograd as torch
from retrograd._decomp import register_decomposition
from retrograd._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as KIND
from retrograd._prims_common import elementwise_dtypes
from retrograd.utils._python_dispatch import _disable_current_modes

aten: Any = torch.ops.aten
NONE, MEAN, SUM = 0, 1, 2


def computed(kind: Any, cast_back: bool = True) -> Callable[[Any], Any]:
    """Compute with operands in the dtype that arithmetic of their dtypes is done in."""
    def decorate(f: Any) -> Any:
        @wraps(f)
        def inner(*args: Any, **kwargs: Any) -> Any:
            tensors = [x for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor)]
            with _disable_current_modes():      # what it asks is no part of the program
                inside, result = elementwise_dtypes(*tensors, type_promotion_kind=kind)

            def convert(x: Any) -> Any:
                return x.to(inside) if isinstance(x, torch.Tensor) and x.dtype is not inside else x
            found = f(*[convert(x) for x in args], **{key: convert(x) for key, x in kwargs.items()})
            return found.to(result) if cast_back and found.dtype is not result else found
        return inner
    return decorate


pw_cast_for_opmath = computed(KIND.DEFAULT)
pw_cast_for_int_to_real = computed(KIND.INT_TO_FLOAT)


# ---- derivatives of activations
@register_decomposition(aten.tanh_backward.default)
@pw_cast_for_opmath
def tanh_backward(out_grad: Any, y: Any) -> Any:
    return out_grad * (1 - y * y).conj()


@register_decomposition(aten.sigmoid_backward.default)
@pw_cast_for_opmath
def sigmoid_backward(out_grad: Any, y: Any) -> Any:
    return out_grad * (y * (1 - y)).conj()


@register_decomposition(aten.softplus_backward.default)
@pw_cast_for_opmath
def softplus_backward(out_grad: Any, x: Any, beta: float, threshold: float) -> Any:
    z = (x * beta).exp()
    return torch.where((x * beta) > threshold, out_grad, out_grad * z / (z + 1.0))


@register_decomposition(aten.elu_backward.default)
@pw_cast_for_opmath
def elu_backward(grad_output: Any, alpha: float, scale: float, input_scale: float, is_result: bool, self_or_result: Any) -> Any:
    negative, positive = alpha * scale * input_scale, scale
    slope = input_scale * (self_or_result + alpha * scale) if is_result else negative * torch.exp(self_or_result * input_scale)
    return torch.where(self_or_result <= 0, grad_output * slope, grad_output * positive)


@register_decomposition(aten.hardsigmoid.default)
@pw_cast_for_opmath
def hardsigmoid(self: Any) -> Any:
    return torch.clamp(torch.clamp(self + 3, min=0), max=6) / 6


@register_decomposition(aten.hardsigmoid_backward.default)
@pw_cast_for_opmath
def hardsigmoid_backward(grad_output: Any, self: Any) -> Any:
    return torch.where((self > -3.0) & (self < 3.0), grad_output * (1.0 / 6.0), 0.0)


@register_decomposition(aten.hardtanh_backward.default)
@pw_cast_for_opmath
def hardtanh_backward(grad_output: Any, self: Any, min_val: float, max_val: float) -> Any:
    return torch.where((self <= min_val) | (self >= max_val), 0.0, grad_output)


@register_decomposition(aten.hardswish.default)
@pw_cast_for_opmath
def hardswish(self: Any) -> Any:
    return self * torch.clamp(torch.clamp(self + 3, min=0), max=6) / 6


@register_decomposition(aten.hardswish_backward.default)
@pw_cast_for_opmath
def hardswish_backward(grad_output: Any, self: Any) -> Any:
    return torch.where(self <= -3, 0.0, torch.where(self < 3, grad_output * (self / 3 + 0.5), grad_output))


@register_decomposition(aten.threshold_backward.default)
def threshold_backward(grad_output: Any, self: Any, threshold: float) -> Any:
    return torch.where(self <= threshold, 0, grad_output)


@register_decomposition(aten.leaky_relu_backward.default)
@pw_cast_for_opmath
def leaky_relu_backward(grad_output: Any, self: Any, negative_slope: float, self_is_result: bool) -> Any:
    return torch.where(self > 0, grad_output, grad_output * negative_slope)


@register_decomposition(aten.gelu_backward.default)
@pw_cast_for_opmath
def gelu_backward(grad: Any, self: Any, approximate: str = "none") -> Any:
    if approximate == "tanh":
        factor = sqrt(2 / pi)
        inner = factor * (self + 0.044715 * self * self * self)
        tanh = torch.tanh(inner)
        change = factor * (1 + 3 * 0.044715 * self * self)
        return grad * (0.5 * (1 + tanh) + 0.5 * self * (1 - tanh * tanh) * change)
    cdf = 0.5 * (1 + torch.erf(self * sqrt(0.5)))
    pdf = torch.exp(self * self * -0.5) * (1 / sqrt(2 * pi))
    return grad * (cdf + self * pdf)


@register_decomposition(aten.mish_backward.default)
@pw_cast_for_opmath
def mish_backward(grad_output: Any, input: Any) -> Any:
    tanh, sigmoid = torch.tanh(torch.nn.functional.softplus(input)), torch.sigmoid(input)
    return grad_output * (tanh + input * sigmoid * (1 - tanh * tanh))


@register_decomposition(aten.silu.default)
@pw_cast_for_opmath
def silu(self: Any) -> Any:
    return self * torch.sigmoid(self)


@register_decomposition(aten.silu_backward.default)
@pw_cast_for_opmath
def silu_backward(grad_output: Any, self: Any) -> Any:
    sigmoid = 1 / (1 + torch.exp(-self))
    return grad_output * sigmoid * (1 + self * (1 - sigmoid))


@register_decomposition(aten.log_sigmoid_backward.default)
@pw_cast_for_opmath
def log_sigmoid_backward(grad_output: Any, self: Any, buffer: Any) -> Any:
    negative = self < 0
    z = torch.exp(-torch.abs(self))
    return grad_output * (torch.where(negative, 1.0, 0.0) - torch.where(negative, 1.0, -1.0) * (z / (1 + z)))


@register_decomposition(aten.logit_backward.default)
@pw_cast_for_opmath
def logit_backward(grad_output: Any, self: Any, eps: float | None = None) -> Any:
    low, high = (0.0, 1.0) if eps is None else (eps, 1.0 - eps)
    outside = float("nan") if eps is None else 0.0
    return torch.where((self >= low) & (self <= high), grad_output / (self * (1.0 - self)), outside)


@register_decomposition(aten.glu_backward.default)
@pw_cast_for_opmath
def glu_backward(grad_output: Any, self: Any, dim: int) -> Any:
    half = self.shape[dim] // 2
    first, second = self.narrow(dim, 0, half), self.narrow(dim, half, half)
    gate = torch.sigmoid(second)
    inside = gate * grad_output
    return torch.cat([inside, (1.0 - gate) * inside * first], dim=dim)


# ---- losses
def apply_loss_reduction(loss: Any, reduction: int) -> Any:
    return loss.mean() if reduction == MEAN else loss.sum() if reduction == SUM else loss


@register_decomposition(aten.mse_loss.default)
@pw_cast_for_opmath
def mse_loss(self: Any, target: Any, reduction: int = MEAN) -> Any:
    return apply_loss_reduction((self - target) ** 2, reduction)


@register_decomposition(aten.mse_loss_backward.default)
@pw_cast_for_opmath
def mse_loss_backward(grad_output: Any, input: Any, target: Any, reduction: int) -> Any:
    return (2.0 / input.numel() if reduction == MEAN else 2.0) * (input - target) * grad_output


@register_decomposition(aten.smooth_l1_loss.default)
@pw_cast_for_opmath
def smooth_l1_loss(self: Any, target: Any, reduction: int = MEAN, beta: float = 1.0) -> Any:
    distance = (self - target).abs()
    return apply_loss_reduction(torch.where(distance < beta, 0.5 * distance ** 2 / beta, distance - 0.5 * beta), reduction)


@register_decomposition(aten.huber_loss.default)
@pw_cast_for_opmath
def huber_loss(self: Any, target: Any, reduction: int = MEAN, delta: float = 1.0) -> Any:
    z = (self - target).abs()
    return apply_loss_reduction(torch.where(z <= delta, 0.5 * z * z, delta * (z - 0.5 * delta)), reduction)


@register_decomposition(aten.soft_margin_loss.default)
@pw_cast_for_opmath
def soft_margin_loss(input: Any, target: Any, reduction: int = MEAN) -> Any:
    return apply_loss_reduction(torch.log1p(torch.exp(-input * target)), reduction)


@register_decomposition(aten.binary_cross_entropy.default)
@pw_cast_for_opmath
def binary_cross_entropy(self: Any, target: Any, weight: Any = None, reduction: int = MEAN) -> Any:
    loss = (target - 1) * torch.maximum(torch.log1p(-self), torch.full((), -100.0, dtype=self.dtype)) - target * torch.maximum(
        torch.log(self), torch.full((), -100.0, dtype=self.dtype))
    return apply_loss_reduction(loss if weight is None else loss * weight, reduction)


# ---- softmax
@register_decomposition(aten._softmax.default)
def _softmax(x: Any, dim: int, half_to_float: bool) -> Any:
    inside = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if x.numel() == 0:
        exponentials = torch.exp(inside)
    else:
        exponentials = torch.exp(inside - torch.amax(inside, dim, keepdim=True))
    result = exponentials / torch.sum(exponentials, dim, keepdim=True)
    return result if half_to_float else result.to(x.dtype)


@register_decomposition(aten._log_softmax.default)
def _log_softmax(x: Any, dim: int, half_to_float: bool) -> Any:
    inside = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    shifted = inside if x.numel() == 0 else inside - torch.amax(inside, dim, keepdim=True)
    result = shifted - torch.log(torch.sum(torch.exp(shifted), dim, keepdim=True))
    return result if half_to_float else result.to(x.dtype)


@register_decomposition(aten._softmax_backward_data.default)
def _softmax_backward_data(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    product = grad_output * output
    return (product - output * torch.sum(product, dim=dim, keepdim=True)).to(input_dtype)


@register_decomposition(aten._log_softmax_backward_data.default)
def _log_softmax_backward_data(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    return (grad_output - torch.exp(output) * torch.sum(grad_output, dim=dim, keepdim=True)).to(input_dtype)


# ---- linear algebra
@register_decomposition(aten.addmm.default)
@pw_cast_for_opmath
def addmm(self: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    product = torch.mm(mat1, mat2)
    product = product if alpha == 1 else alpha * product
    return product if beta == 0 else product + (self if beta == 1 else beta * self)


@register_decomposition(aten.addmv.default)
@pw_cast_for_opmath
def addmv(self: Any, mat1: Any, vec: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    product = alpha * torch.mv(mat1, vec)
    return product if beta == 0 else product + beta * self


@register_decomposition(aten.baddbmm.default)
@pw_cast_for_opmath
def baddbmm(self: Any, batch1: Any, batch2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    product = torch.bmm(batch1, batch2)
    product = product if alpha == 1 else alpha * product
    return product if beta == 0 else (self if beta == 1 else beta * self) + product


@register_decomposition(aten.mv.default)
@pw_cast_for_opmath
def mv(self: Any, vec: Any) -> Any:
    torch._check(self.dim() == 2 and vec.dim() == 1,
                 lambda: f"matrix @ vector expected, got {self.dim()}, {vec.dim()}")
    torch._check(self.size(1) == vec.size(0), lambda: f"size mismatch, got input ({self.size(0)}x{self.size(1)}), "
                                                      f"vec ({vec.size(0)})")
    return (self * vec).sum(dim=1)


@register_decomposition(aten.dot.default)
@pw_cast_for_opmath
def dot(self: Any, other: Any) -> Any:
    return (self * other).sum()


@register_decomposition(aten.trace.default)
def trace(self: Any) -> Any:
    return torch.sum(torch.diag(self))


# ---- elementwise
@register_decomposition(aten.addcdiv.default)
@pw_cast_for_opmath
def addcdiv(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    return self + value * tensor1 / tensor2


@register_decomposition(aten.addcmul.default)
@pw_cast_for_opmath
def addcmul(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    return self + value * tensor1 * tensor2


@register_decomposition(aten.lerp.Tensor)
@pw_cast_for_opmath
def lerp(start: Any, end: Any, weight: Any) -> Any:
    near = (weight.abs() if weight.is_complex() else weight).abs() < 0.5
    return torch.where(near, start + weight * (end - start), end - (end - start) * (1 - weight))


@register_decomposition(aten.logaddexp.default)
@pw_cast_for_int_to_real
def logaddexp(self: Any, other: Any) -> Any:
    larger, smaller = torch.maximum(self, other), torch.minimum(self, other)
    equal_infinities = torch.isinf(self) & (self == other)
    return torch.where(equal_infinities, self, larger + torch.log1p(torch.exp(smaller - larger)))


@register_decomposition(aten.xlogy.Tensor)
@pw_cast_for_int_to_real
def xlogy(self: Any, other: Any) -> Any:
    return torch.where(torch.isnan(other), float("nan"), torch.where(self == 0, 0.0, self * torch.log(other)))


@register_decomposition(aten.heaviside.default)
def heaviside(self: Any, values: Any) -> Any:
    return torch.where(torch.eq(self, 0), values, torch.gt(self, 0).to(values.dtype))


@register_decomposition(aten.hypot.default)
@pw_cast_for_opmath
def hypot(self: Any, other: Any) -> Any:
    return torch.sqrt(self * self + other * other)


@register_decomposition(aten.sinc.default)
@pw_cast_for_int_to_real
def sinc(self: Any) -> Any:
    scaled = pi * self
    return torch.where(scaled == 0, 1, torch.sin(scaled) / scaled)


@register_decomposition(aten.frac.default)
def frac(self: Any) -> Any:
    return self - torch.trunc(self)


@register_decomposition(aten.rsub.Tensor)
def rsub(self: Any, other: Any, alpha: Any = 1) -> Any:
    return torch.sub(other, self, alpha=alpha)


@register_decomposition(aten.masked_fill.Scalar)
def masked_fill(self: Any, mask: Any, value: Any) -> Any:
    return torch.where(mask, torch.full((), value, dtype=self.dtype), self)


@register_decomposition(aten.clamp_min.default)
def clamp_min(self: Any, min: Any) -> Any:
    return torch.clamp(self, min=min)


@register_decomposition(aten.clamp_max.default)
def clamp_max(self: Any, max: Any) -> Any:
    return torch.clamp(self, max=max)


# ---- derivatives of views
@register_decomposition(aten.slice_backward.default)
def slice_backward(grad_output: Any, input_sizes: Any, dim: int, start: int, end: int, step: int) -> Any:
    return torch.slice_scatter(grad_output.new_zeros(input_sizes), grad_output, dim, start, end, step)


@register_decomposition(aten.select_backward.default)
def select_backward(grad_output: Any, input_sizes: Any, dim: int, index: int) -> Any:
    return torch.select_scatter(grad_output.new_zeros(input_sizes), grad_output, dim, index)


@register_decomposition(aten.diagonal_backward.default)
def diagonal_backward(grad_output: Any, input_sizes: Any, offset: int, dim1: int, dim2: int) -> Any:
    return torch.diagonal_scatter(grad_output.new_zeros(input_sizes), grad_output, offset, dim1, dim2)


# ---- normalization
@register_decomposition(aten.native_layer_norm_backward.default)
def native_layer_norm_backward(grad_out: Any, input: Any, normalized_shape: Any, mean: Any, rstd: Any, weight: Any, bias: Any,
                               output_mask: Any) -> Any:
    rank = input.dim() - len(normalized_shape)
    outer, inner = list(range(rank)), list(range(rank, input.dim()))
    count = 1
    for dim in inner:
        count *= input.shape[dim]
    normalized = (input - mean) * rstd
    scaled = grad_out if weight is None else grad_out * weight
    d_input = None
    if output_mask[0]:
        along = scaled.sum(inner, True) / count + normalized * (scaled * normalized).sum(inner, True) / count
        d_input = (scaled - along) * rstd
    d_weight = (grad_out * normalized).sum(outer) if outer else grad_out * normalized
    d_bias = grad_out.sum(outer) if outer else grad_out.clone()
    return (d_input, d_weight if output_mask[1] and weight is not None else None,
            d_bias if output_mask[2] and bias is not None else None)


@register_decomposition(aten.native_dropout_backward.default)
@pw_cast_for_opmath
def native_dropout_backward(grad_output: Any, mask: Any, scale: float) -> Any:
    return grad_output * (mask.to(grad_output.dtype) * scale)


@register_decomposition(aten.embedding.default)
def embedding(weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False) -> Any:
    torch._check(weight.dim() == 2, lambda: "'weight' must be 2-D")
    return weight[indices] if indices.dim() else weight[indices.reshape(1)][0]


@register_decomposition(aten.detach.default)
def nop_decomposition(x: Any) -> Any:
    return torch.ops.aten.alias(x)
