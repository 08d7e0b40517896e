"""The library `quantized_decomposed`: rounding to integers and back as ops over ordinary integer tensors.

A scale and a zero point belong to a whole tensor, to each index of an axis (channels), to each row along the last
dimension (tokens), or to each run of `group_size` numbers of a row (groups).
"""
from __future__ import annotations

from typing import Any

import retrograd as torch

INTEGERS = (torch.uint8, torch.int8, torch.uint16, torch.int16, torch.int32)
FLOATS = (torch.float8_e5m2, torch.float8_e4m3fn)
LIMITS: dict[Any, tuple[int, int]] = {
    **{dtype: (torch.iinfo(dtype).min, torch.iinfo(dtype).max) for dtype in INTEGERS},
    **{dtype: (int(torch.finfo(dtype).min), int(torch.finfo(dtype).max)) for dtype in FLOATS}}

quantized_decomposed_lib = torch.library.Library("quantized_decomposed", "DEF")


def define(schema: str, key: str = "CompositeExplicitAutograd") -> Any:
    """Declare an op; the decorated function computes it, on meta tensors too."""
    name = schema.partition("(")[0]

    def declare(function: Any) -> Any:
        quantized_decomposed_lib.define(schema)
        quantized_decomposed_lib.impl(name, function, key)
        return function
    return declare


# ---- checks
def _quant_min_max_bounds_check(quant_min: int, quant_max: int, dtype: Any) -> None:
    """Refuse limits that `dtype` cannot represent."""
    if dtype not in LIMITS:
        raise ValueError(f"Unsupported dtype: {dtype}")
    low, high = LIMITS[dtype]
    if quant_min < low:
        raise AssertionError(f"quant_min out of bounds for dtype, quant_min_lower_bound: {low} quant_min: {quant_min}")
    if quant_max > high:
        raise AssertionError(f"quant_max out of bounds for dtype, quant_max_upper_bound: {high} quant_max: {quant_max}")


def _per_token_quant_qparam_dim_check(input: Any, scales: Any, zero_points: Any) -> None:
    """Refuse scales and zero points that are not one per row."""
    rows = input.numel() // input.size(-1)
    for name, found in (("scales", scales), ("zero_points", zero_points)):
        if rows != found.numel():
            raise AssertionError(f"num_tokens: {rows} {name}: {found.size()}")


def check_number(input: Any, kinds: str = "torch.float32") -> Any:
    """`input` itself; other than float32, float16 and bfloat16 is refused."""
    if input.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        raise AssertionError(f"Expecting input to have dtype {kinds}, but got dtype: {input.dtype}")
    return input


def to_float32(input: Any) -> Any:
    return check_number(input).to(torch.float32)


def check_stored(input: Any, dtype: Any) -> None:
    if input.dtype != dtype:
        raise AssertionError(f"Expecting input to have dtype: {dtype}, but got {input.dtype}")


def check_single(**values: Any) -> None:
    for name, value in values.items():
        if value.numel() != 1:
            raise AssertionError(f"Expecting {name} tensor to be one element, but received : {value.numel()}")


def rounded(input: Any, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: Any) -> Any:
    """The integers of numbers; scale and zero point broadcast."""
    return torch.clamp(torch.round(input * (1.0 / scale)) + zero_point, quant_min, quant_max).to(dtype)


def along(values: Any, axis: int, dims: int) -> Any:
    """One value per index of `axis`, shaped to broadcast."""
    return values.view([-1 if d == axis else 1 for d in range(dims)])


# ---- one scale for a tensor
@define("quantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, "
        "ScalarType dtype) -> Tensor")
def quantize_per_tensor(input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int, dtype: Any) -> Any:
    input = to_float32(input)
    _quant_min_max_bounds_check(quant_min, quant_max, dtype)
    return rounded(input, scale, zero_point, quant_min, quant_max, dtype)


@define("quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, "
        "ScalarType dtype) -> Tensor")
def quantize_per_tensor_tensor(input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int, dtype: Any) -> Any:
    check_single(zero_point=zero_point, scale=scale)
    return quantize_per_tensor(input, scale.reshape(()), zero_point.reshape(()), quant_min, quant_max, dtype)


@define("quantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, Tensor quant_max, "
        "ScalarType dtype) -> Tensor")
def quantize_per_tensor_tensor2(input: Any, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: Any) -> Any:
    return quantize_per_tensor_tensor(input, scale, zero_point, quant_min.item(), quant_max.item(), dtype)


@define("dequantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype, *, "
        "ScalarType? out_dtype=None) -> Tensor")
def dequantize_per_tensor(input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int, dtype: Any, *,
                          out_dtype: Any = None) -> Any:
    check_stored(input, dtype)
    if dtype not in LIMITS:
        raise ValueError(f"Unsupported dtype in dequantize_per_tensor: {dtype}")
    return (input.to(out_dtype or torch.float32) - zero_point) * scale


@define("dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, "
        "ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor")
def dequantize_per_tensor_tensor(input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int, dtype: Any, *,
                                 out_dtype: Any = None) -> Any:
    check_single(zero_point=zero_point, scale=scale)
    return dequantize_per_tensor(input, scale.reshape(()), zero_point.reshape(()), quant_min, quant_max, dtype,
                                 out_dtype=out_dtype)


@define("dequantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, Tensor quant_max, "
        "ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor")
def dequantize_per_tensor_tensor2(input: Any, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: Any, *,
                                  out_dtype: Any = None) -> Any:
    return dequantize_per_tensor_tensor(input, scale, zero_point, quant_min.item(), quant_max.item(), dtype,
                                        out_dtype=out_dtype)


def check_range(input: Any, quant_min: int, quant_max: int) -> Any:
    check_number(input, "torch.float32/16/b16")
    if not quant_min <= 0 <= quant_max:
        raise AssertionError("Used-specified quantization range must include 0.")
    if quant_min >= quant_max:
        raise AssertionError("qmin must be strictly less than qmax for user-specified quantization range.")
    return input


@define("choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)")
def choose_qparams_tensor(input: Any, quant_min: int, quant_max: int, eps: float, dtype: Any) -> Any:
    low, high = torch.aminmax(check_range(input, quant_min, quant_max))
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = ((high - low) / float(quant_max - quant_min)).clamp(min=eps)
    zero_point = (quant_min - torch.round(low / scale).to(torch.int)).clamp(quant_min, quant_max)
    return scale.to(torch.float64).view(1), zero_point.to(torch.int64).view(1)


@define("choose_qparams_symmetric.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> "
        "(Tensor, Tensor)")
def choose_qparams_symmetric_tensor(input: Any, quant_min: int, quant_max: int, eps: float, dtype: Any) -> Any:
    low, high = torch.aminmax(check_range(input, quant_min, quant_max))
    largest = torch.maximum(-low.clamp(max=0), high.clamp(min=0))
    scale = (largest / (float(quant_max - quant_min) / 2)).clamp(min=eps)
    middle = (quant_min + quant_max + 1) // 2 if dtype in (torch.uint8, torch.quint8) else 0
    return scale.to(torch.float64).view(1), torch.full((1,), middle, dtype=torch.int64, device=input.device)


# ---- one scale for each index of an axis
@define("quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max, "
        "ScalarType dtype) -> Tensor")
def quantize_per_channel(input: Any, scales: Any, zero_points: Any, axis: int, quant_min: int, quant_max: int,
                         dtype: Any) -> Any:
    input = to_float32(input)
    if axis >= input.dim():
        raise AssertionError(f"Expecting axis to be < {input.dim()}")
    _quant_min_max_bounds_check(quant_min, quant_max, dtype)
    return rounded(input, along(scales, axis, input.dim()), along(zero_points, axis, input.dim()), quant_min, quant_max, dtype)


@define("dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, int quant_min, int quant_max, "
        "ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor")
def dequantize_per_channel(input: Any, scales: Any, zero_points: Any, axis: int, quant_min: int, quant_max: int, dtype: Any, *,
                           out_dtype: Any = None) -> Any:
    check_stored(input, dtype)
    if axis >= input.dim():
        raise AssertionError(f"Expecting axis to be < {input.dim()}")
    _quant_min_max_bounds_check(quant_min, quant_max, dtype)
    offset = 0 if zero_points is None else along(zero_points, axis, input.dim())
    return ((input - offset) * along(scales, axis, input.dim())).to(out_dtype or torch.float32)


class FakeQuantPerChannel(torch.autograd.Function):
    """Rounding to a grid whose gradient passes where the number lies within the limits."""

    @staticmethod
    def forward(ctx: Any, input: Any, scales: Any, zero_points: Any, axis: int, quant_min: int, quant_max: int) -> Any:
        scale, zero_point = along(scales, axis, input.dim()), along(zero_points, axis, input.dim())
        steps = torch.round(to_float32(input) * (1.0 / scale)) + zero_point
        ctx.save_for_backward((steps >= quant_min) & (steps <= quant_max))
        return (steps.clamp(quant_min, quant_max) - zero_point) * scale

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0] * ctx.saved_tensors[0], None, None, None, None, None


@define("fake_quant_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max) -> "
        "Tensor", "CompositeImplicitAutograd")
def fake_quant_per_channel(input: Any, scales: Any, zero_points: Any, axis: int, quant_min: int, quant_max: int) -> Any:
    return FakeQuantPerChannel.apply(input, scales, zero_points, axis, quant_min, quant_max)


# ---- one scale for each row
@define("choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)")
def choose_qparams_per_token(input: Any, dtype: Any) -> Any:
    if dtype != torch.int8:
        raise Exception(f"unsupported dtype in choose_qparams_per_token: {dtype}")
    scales = input.abs().amax(dim=-1, keepdim=True)
    if scales.dtype == torch.float16:
        scales = scales.float()
    scales = scales.clamp(min=1e-5).div(2 ** 7 - 1)
    return scales, torch.zeros_like(scales)


@define("_choose_qparams_per_token_asymmetric_impl(Tensor input, ScalarType dtype) -> (Tensor, Tensor)")
def _choose_qparams_per_token_asymmetric_impl(input: Any, dtype: Any) -> Any:
    qmin, qmax = -128, 127
    low, high = input.amin(-1, keepdim=True).clamp(max=0), input.amax(-1, keepdim=True).clamp(min=0)
    scale = ((high - low) / float(qmax - qmin)).clamp(torch.finfo(torch.float32).eps)
    at_low, at_high = low / scale, high / scale
    zero_point = torch.where((qmin + at_low) + (qmax + at_high) > 0, qmin - at_low, qmax - at_high).clamp(qmin, qmax).round()
    return scale.to(torch.float64), zero_point.to(torch.int64)


@define("choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> (Tensor, Tensor)")
def choose_qparams_per_token_asymmetric(input: Any, dtype: Any) -> Any:
    return _choose_qparams_per_token_asymmetric_impl(input, dtype)


@define("quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, "
        "ScalarType dtype) -> Tensor")
def quantize_per_token(input: Any, scales: Any, zero_points: Any, quant_min: int, quant_max: int, dtype: Any) -> Any:
    _quant_min_max_bounds_check(quant_min, quant_max, dtype)
    _per_token_quant_qparam_dim_check(input, scales, zero_points)
    return input.mul(1.0 / scales).add(zero_points).round().clamp(quant_min, quant_max).to(dtype)


@define("dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, "
        "ScalarType dtype, ScalarType output_dtype) -> Tensor")
def dequantize_per_token(input: Any, scales: Any, zero_points: Any, quant_min: int, quant_max: int, dtype: Any,
                         output_dtype: Any) -> Any:
    return ((input - zero_points) * scales).to(output_dtype)


# ---- one scale for each group of a row
def check_groups(input: Any, scales: Any, group_size: int) -> None:
    if group_size <= 1:
        raise AssertionError("group_size must be > 1")
    if input.shape[-1] % group_size:
        raise AssertionError("input.shape[-1] must be divisible by group_size")


@define("quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, "
        "ScalarType dtype, int group_size) -> Tensor")
def quantize_per_channel_group(input: Any, scales: Any, zero_points: Any, quant_min: int, quant_max: int, dtype: Any,
                               group_size: int = 128) -> Any:
    check_groups(input, scales, group_size)
    groups = input.reshape(-1, group_size)
    steps = groups.mul(1.0 / scales.reshape(-1, 1)).add(zero_points.reshape(-1, 1)).round()
    return steps.clamp(quant_min, quant_max).to(dtype).reshape(input.shape)


@define("dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, int quant_min, int quant_max, "
        "ScalarType dtype, int group_size, ScalarType output_dtype) -> Tensor")
def dequantize_per_channel_group(input: Any, scales: Any, zero_points: Any, quant_min: int, quant_max: int, dtype: Any,
                                 group_size: int = 128, output_dtype: Any = torch.float32) -> Any:
    check_groups(input, scales, group_size)
    groups = input.reshape(-1, group_size)
    offset = 0 if zero_points is None else zero_points.reshape(-1, 1)
    return groups.sub(offset).mul(scales.reshape(-1, 1)).reshape(input.shape).to(output_dtype)


@define("convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor")
def convert_element_type(input: Any, dtype: Any) -> Any:
    return input.to(dtype)
