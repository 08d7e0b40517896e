"""Fake quantization: values rounded to the levels of a quantized tensor, with straight-through gradients.

A level is `rint(x / scale) + zero_point`, between `quant_min` and `quant_max`. Where it lies between them, gradients pass
unchanged; elsewhere they are zero. The learnable forms have gradients for scale and zero point as well.
"""
from __future__ import annotations

from typing import Any

from retrograd.core.dispatch import call
from retrograd.core.dtypes import int64
from retrograd.core.opdef import defop
from retrograd.ops import late
from retrograd.ops.shared import families
from retrograd.ops.shared.dtype_checks import proven
from retrograd.ops.shared.elementwise import unsupported

FLOATS = "fV"


TENSOR_KERNEL = "fake_quantize_tensor_cachemask_kernel_type_handling"
CHANNEL_KERNEL = "fake_quantize_channel_cachemask_cpu_type_handling"


def check_floating(self: Any, kernel: str) -> None:
    if self.array.dtype.kind not in FLOATS:
        raise unsupported(kernel, self.array.dtype)


def widened(self: Any) -> Any:
    """The values in the type in which levels are computed: at least float32."""
    return self if self.dtype.itemsize > 2 else self.astype("float32")


def check_levels(quant_min: int, quant_max: int) -> None:
    if quant_min > quant_max:
        raise RuntimeError("`quant_min` should be less than or         equal to `quant_max`.")


def check_zero_point(low: Any, high: Any, quant_min: int, quant_max: int) -> None:
    if low < quant_min or high > quant_max:
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")


def rounded(xp: Any, self: Any, level: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> tuple[Any, Any]:
    """The quantized levels, and the mask of those within range."""
    level = xp.where(xp.isnan(level), quant_min - 1, level)
    exists = (level >= quant_min) & (level <= quant_max)
    return ((xp.clip(level, quant_min, quant_max) - zero_point) * scale).astype(self.dtype), exists


# ---- one scale for the whole tensor
def check_per_tensor(self: Any, scale: float, zero_point: int, quant_min: int, quant_max: int) -> None:
    check_levels(quant_min, quant_max)
    check_zero_point(zero_point, zero_point, quant_min, quant_max)
    check_floating(self, TENSOR_KERNEL)


def per_tensor(xp: Any, self: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> tuple[Any, Any]:
    scale = xp.asarray(scale, dtype="float32")
    level = (xp.rint(widened(self) * (1 / scale)) + zero_point).astype("float32")
    return rounded(xp, self, level, scale, zero_point, quant_min, quant_max)


def per_tensor_of_tensors(xp: Any, self: Any, scale: Any, zero_point: Any, fake_quant_enabled: Any, quant_min: int,
                          quant_max: int) -> tuple[Any, Any]:
    if fake_quant_enabled.item():
        return per_tensor(xp, self, scale.reshape(()), int(zero_point.item()), quant_min, quant_max)
    return self.copy(), xp.ones(self.shape, dtype=bool)


def check_single(self: Any, scale: Any, zero_point: Any, fake_quant_enabled: Any, quant_min: int, quant_max: int) -> None:
    check_levels(quant_min, quant_max)
    for given in (scale, zero_point, fake_quant_enabled):
        if given.numel() != 1:
            raise RuntimeError(f"a Tensor with {given.numel()} elements cannot be converted to Scalar")
    check_floating(self, TENSOR_KERNEL)


MASKED: Any = dict(jvp=lambda self_t, result1: (self_t * result1, late.zeros_like(result1)), out="aten")
PER_TENSOR = "float scale, int zero_point, int quant_min, int quant_max"
OF_TENSORS = "Tensor scale, Tensor zero_point"
per_tensor_op = defop(
    f"fake_quantize_per_tensor_affine_cachemask(Tensor self, {PER_TENSOR}) -> (Tensor output, Tensor mask)",
    kernel=per_tensor, check=proven(check_per_tensor), lower="@native.quantize_mask",
    vjp=dict(self=lambda grad, result1: grad * result1), batch=families.pointwise,
    variants="", pattern="elements", **MASKED,
)
per_tensor_of_tensors_op = defop(
    f"_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, {OF_TENSORS}, Tensor fake_quant_enabled, "
    "int quant_min, int quant_max) -> (Tensor output, Tensor mask)",
    kernel=per_tensor_of_tensors, check=proven(check_single), lower="@native.quantize_mask_by",
    vjp=dict(self=lambda grad, result1: grad * result1), batch=families.loop, variants="function",
    node="FakeQuantizePerTensorAffineCachemaskTensorQparamsBackward0", **MASKED,
)
defop(
    f"fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, {OF_TENSORS}, int quant_min, int quant_max) -> Tensor",
    kernel=lambda self, scale, zero_point, quant_min, quant_max: call(per_tensor_of_tensors_op, [
        self, scale, zero_point, late.ones(1, dtype=int64), quant_min, quant_max])[0],
    composite=True, variants="function", out=False, lower="@native.quantize",
)
defop(
    f"fake_quantize_per_tensor_affine(Tensor self, {PER_TENSOR}) -> Tensor",
    kernel=lambda *args: call(per_tensor_op, list(args))[0], composite=True, variants="function", out=False,
    lower="@native.quantize",
)


# ---- a scale for each channel
def check_scale(scale: Any) -> None:
    if scale.dtype.name not in ("float32", "bfloat16"):
        raise RuntimeError(f"Scale must be Float or BFloat16, found {scale.dtype.legacy}")


def check_per_channel(self: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int) -> None:
    check_scale(scale)
    if zero_point.dtype.name not in ("int32", "float32", "float16"):
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {zero_point.dtype.legacy}")
    if scale.dim() != 1:
        raise RuntimeError("scale should be a 1-D tensor")
    if zero_point.dim() != 1:
        raise RuntimeError("zero point should be a 1-D tensor")
    if scale.numel() != zero_point.numel():
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    if scale.numel() != self.size(axis):
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    check_levels(quant_min, quant_max)
    if zero_point.array.dtype.kind == "i" and zero_point.array.size:
        check_zero_point(zero_point.array.min(), zero_point.array.max(), quant_min, quant_max)
    check_floating(self, CHANNEL_KERNEL)


def per_channel(xp: Any, self: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int) -> Any:
    shape = [1] * self.ndim
    shape[axis] = -1
    scale, zero = scale.astype("float32").reshape(shape), zero_point.reshape(shape)
    level = widened(self) * (1 / scale)
    whole, zero = zero.dtype.kind == "i", zero.astype("float32")
    level = xp.rint(level) + zero if whole else xp.rint(level + zero)      # a fractional zero point shifts before rounding
    return rounded(xp, self, level, scale, zero, quant_min, quant_max)


per_channel_op = defop(
    f"fake_quantize_per_channel_affine_cachemask(Tensor self, {OF_TENSORS}, int axis, int quant_min, int quant_max) "
    "-> (Tensor output, Tensor mask)",
    kernel=per_channel, check=proven(check_per_channel), lower="@native.quantize_channels_mask",
    vjp=dict(self=lambda grad, result1: grad * result1),
    batch=families.loop, variants="", **MASKED,
)
defop(
    f"fake_quantize_per_channel_affine(Tensor self, {OF_TENSORS}, int axis, int quant_min, int quant_max) -> Tensor",
    kernel=lambda *args: call(per_channel_op, list(args))[0], composite=True, variants="function", out=False,
    lower="@native.quantize_channels",
)
for kind in ("tensor", "channel"):
    defop(f"fake_quantize_per_{kind}_affine_cachemask_backward(Tensor grad, Tensor mask) -> Tensor",
          kernel=lambda grad, mask: grad * mask, composite=True, variants="", out=False)


# ---- scales and zero points that are learned
def learned(self: Any, scale: Any, zero_point: Any, axis: int | None, quant_min: int, quant_max: int) -> tuple[Any, Any, Any]:
    """The contribution of each element to the gradients of the input, the scale and the zero point."""
    shape = [1] * self.dim()
    if axis is not None:
        shape[axis] = -1
    scale = scale.reshape(shape)
    zero = zero_point.round().clamp(quant_min, quant_max).reshape(shape)
    level = (self / scale).round() + zero
    exists = (level >= quant_min) & (level <= quant_max)
    inside = (level - zero) - self / scale
    return exists, late.where(exists, inside, level.clamp(quant_min, quant_max) - zero), late.where(exists, 0, -scale)


def sums(grad: Any, like: Any, axis: int | None) -> Any:
    """The sum over everything but the channels."""
    if axis is None:
        return grad.sum().reshape(like.shape)
    others = [d for d in range(grad.dim()) if d != axis % grad.dim()]
    return (grad.sum(others) if others else grad).reshape(like.shape)


def learned_rule(grad: Any, self: Any, scale: Any, zero_point: Any, axis: int | None, quant_min: int, quant_max: int,
                 grad_factor: float) -> Any:
    own, of_scale, of_zero = learned(self, scale, zero_point, axis, quant_min, quant_max)
    return (grad * own, sums(grad * of_scale * grad_factor, scale, axis), sums(grad * of_zero * grad_factor, zero_point, axis))


def learned_tangent(self_p: Any, self_t: Any, scale_p: Any, scale_t: Any, zero_point_p: Any, zero_point_t: Any,
                    axis: int | None, quant_min: int, quant_max: int, grad_factor: float) -> Any:
    own, of_scale, of_zero = learned(self_p, scale_p, zero_point_p, axis, quant_min, quant_max)
    shape = [1] * self_p.dim()
    if axis is not None:
        shape[axis] = -1
    return (self_t * own + of_scale * scale_t.reshape(shape) * grad_factor
            + of_zero * zero_point_t.reshape(shape) * grad_factor)


def whole_levels(xp: Any, zero_point: Any, quant_min: int, quant_max: int) -> Any:
    return xp.clip(xp.rint(zero_point), quant_min, quant_max)


def learnable_per_tensor(xp: Any, self: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int,
                         grad_factor: float) -> Any:
    zero = int(whole_levels(xp, zero_point, quant_min, quant_max).item())
    return per_tensor(xp, self, scale.reshape(()), zero, quant_min, quant_max)[0]


def learnable_per_channel(xp: Any, self: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int,
                          grad_factor: float) -> Any:
    zero = whole_levels(xp, zero_point, quant_min, quant_max).astype("int32")
    return per_channel(xp, self, scale, zero, axis, quant_min, quant_max)[0]


def check_learnable(self: Any, scale: Any, zero_point: Any, *settings: Any) -> None:
    if not scale.dim() or not zero_point.dim():
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    check_floating(self, TENSOR_KERNEL)


def check_learnable_channels(self: Any, scale: Any, zero_point: Any, *settings: Any) -> None:
    if zero_point.array.dtype.kind in "bc":
        raise unsupported("round_vml_cpu", zero_point.array.dtype)
    check_scale(scale)
    check_floating(self, CHANNEL_KERNEL)


LEARNED = "int quant_min, int quant_max, float grad_factor=1."
defop(
    f"_fake_quantize_learnable_per_tensor_affine(Tensor self, {OF_TENSORS}, {LEARNED}) -> Tensor",
    kernel=learnable_per_tensor, check=proven(check_learnable), lower="@native.quantize_learned",
    vjp={("self", "scale", "zero_point"): lambda grad, self, scale, zero_point, quant_min, quant_max, grad_factor:
         learned_rule(grad, self, scale, zero_point, None, quant_min, quant_max, grad_factor)},
    jvp=lambda self_p, self_t, scale_p, scale_t, zero_point_p, zero_point_t, quant_min, quant_max, grad_factor: learned_tangent(
        self_p, self_t, scale_p, scale_t, zero_point_p, zero_point_t, None, quant_min, quant_max, grad_factor),
    batch=families.loop, node="FakeQuantizeLearnablePerTensorAffineBackward0", variants="function", out="aten",
)
defop(
    f"_fake_quantize_learnable_per_channel_affine(Tensor self, {OF_TENSORS}, int axis, {LEARNED}) -> Tensor",
    kernel=learnable_per_channel, check=proven(check_learnable_channels),
    lower="@native.quantize_channels_learned", vjp={("self", "scale", "zero_point"): learned_rule},
    jvp=learned_tangent, batch=families.loop, node="FakeQuantizeLearnablePerChannelAffineBackward0",
    variants="function", out="aten",
)
