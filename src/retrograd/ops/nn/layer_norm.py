"""Layer, group and RMS norm; see NOTE [One normalization] in batch_norm.py."""
from __future__ import annotations

import math
from typing import Any

from retrograd.core.dispatch import call
from retrograd.core.dtypes import finfo
from retrograd.core.modes import is_seen
from retrograd.core.opdef import OpDef, defop
from retrograd.core.reserved import contiguous_array, reserved_array
from retrograd.ops.memory.copy import channels_last, channels_last_3d, channels_last_strides
from retrograd.ops.nn.batch_norm import (
    View,
    array_backward,
    backward,
    backward_tangents,
    check_mixed_dtypes,
    double_backward,
    statistics,
    tangents,
    wide,
)
from retrograd.ops.nn.pool import following
from retrograd.ops.shared import families, geometry
from retrograd.ops.shared.dtype_checks import proven, takes
from retrograd.ops.shared.elementwise import plus, unsupported


# ---- layer norm
def layer_view(input: Any, normalized_shape: Any) -> View:
    rank, inner = input.ndim, len(normalized_shape)
    return View(tuple(input.shape), tuple(range(rank - inner, rank)), (1,) * (rank - inner) + tuple(normalized_shape),
                tuple(range(rank - inner)))


def check_normalized_shape(input: Any, normalized_shape: Any, weight: Any, bias: Any, comma: str = ", ") -> None:
    shape, inner = input.array.shape, tuple(normalized_shape)
    if inner and shape[-len(inner):] == inner and (weight is None or weight.array.shape == inner) and (
            bias is None or bias.array.shape == inner) and not (weight is not None and weight._flags):
        return
    if not inner:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, "
                           f"but got normalized_shape = {list(inner)}")
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and tuple(t.shape) != inner:
            raise RuntimeError(f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                               f"{list(t.shape)} and normalized_shape = {list(inner)}")
    if shape[len(shape) - len(inner):] != inner or len(shape) < len(inner):
        wanted = f"*{comma}" + ", ".join(map(str, inner))
        raise RuntimeError(f"Given normalized_shape={list(inner)}, expected input with shape [{wanted}], but got input of "
                           f"size{list(shape)}")


def check_layer_norm(input: Any, normalized_shape: Any, weight: Any, bias: Any, *rest: Any) -> None:
    check_normalized_shape(input, normalized_shape, weight, bias)
    check_dtypes("LayerNormKernelImpl", input, weight, bias)


def check_dtypes(name: str, input: Any, weight: Any, bias: Any) -> None:
    check_mixed_dtypes(input, weight, bias)
    if input.array.dtype.kind not in "fV":
        raise unsupported(name, input.array.dtype)


def layer_norm_kernel(xp: Any, input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    return normalized(xp, layer_view(input, normalized_shape), input, weight, bias, eps, None)


def normalized(xp: Any, view: View, input: Any, weight: Any, bias: Any, eps: float, saved_shape: Any) -> Any:
    work = wide(input.dtype)
    values = input.reshape(view.shape).astype(work, copy=False)
    mean, _, rstd = statistics(xp, values, view.axes, eps)
    mean, rstd = mean.astype(work), rstd.astype(work)
    made = (values - mean) * rstd
    if weight is not None:
        made = made * weight.reshape(view.gamma).astype(work)
    if bias is not None:
        made = made + bias.reshape(view.gamma).astype(work)
    made = xp.ascontiguousarray(made.reshape(input.shape).astype(input.dtype, copy=False))
    kept = input.dtype if weight is None else weight.dtype
    return made, *(xp.ascontiguousarray(s.astype(kept, copy=False).reshape(saved_shape or s.shape)) for s in (mean, rstd))


def layer_statistics(input: Any, normalized_shape: Any, mean: Any, rstd: Any) -> tuple[View, Any, Any]:
    view = layer_view(input, normalized_shape)
    mean, rstd = view.followed(input, mean, rstd)
    return view, (input - mean) * rstd, rstd


def layer_backward_kernel(xp: Any, grad_out: Any, input: Any, normalized_shape: Any, mean: Any, rstd: Any, weight: Any,
                          bias: Any,
                          output_mask: Any) -> Any:
    view, work = layer_view(input, normalized_shape), wide(input.dtype)
    normal = (input.astype(work, copy=False) - mean.astype(work)) * rstd.astype(work)
    made = array_backward(xp, view, grad_out.astype(work, copy=False), normal, rstd.astype(work), weight, output_mask,
                          input.dtype)
    return made[0], *[None if m is None else m.reshape(normalized_shape) for m in made[1:]]


def layer_rule(grad: Any, input: Any, normalized_shape: Any, result1: Any, result2: Any, weight: Any, bias: Any,
               needed: Any) -> Any:
    return call(native_layer_norm_backward, [grad, input, normalized_shape, result1, result2, weight, bias, list(needed)])


def layer_double(grads: Any, grad_out: Any, input: Any, normalized_shape: Any, mean: Any, rstd: Any, weight: Any) -> Any:
    view, normal, rstd = layer_statistics(input, normalized_shape, mean, rstd)
    return double_backward(view, grads, grad_out, normal, rstd, weight)


def layer_tangent(input_p: Any, input_t: Any, normalized_shape: Any, weight_p: Any, weight_t: Any, bias_t: Any, result1: Any,
                  result2: Any) -> Any:
    view, normal, rstd = layer_statistics(input_p, normalized_shape, result1, result2)
    return tangents(view, input_t, normal, rstd, weight_p, weight_t, bias_t)[0], None, None


def layer_backward_tangent(grad_out_p: Any, grad_out_t: Any, input_p: Any, input_t: Any, normalized_shape: Any, mean: Any,
                           rstd: Any, weight_p: Any, weight_t: Any, output_mask: Any) -> Any:
    view, normal, rstd = layer_statistics(input_p, normalized_shape, mean, rstd)
    return backward_tangents(view, grad_out_p, grad_out_t, input_t, normal, rstd, weight_p, weight_t, output_mask,
                             tuple(normalized_shape))


# ---- batching: examples are additional rows; batched gamma and beta are applied after the norm
def front(t: Any, dim: Any, size: int) -> Any:
    return families.move_to_front(t, dim) if dim is not None else t.expand((size, *t.shape))


def for_rows(t: Any, dim: Any, gamma: Any) -> Any:
    """A gamma or beta broadcast to the examples: one for all, or one for each."""
    return families.move_to_front(t, dim).reshape((-1, *gamma)) if dim is not None else t.reshape((1, *gamma))


def batched_layer_norm(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    input, normalized_shape, weight, bias, eps = args
    input = front(input, dims[0], size)
    if dims[2] is None and dims[3] is None:
        return call(op, [input, normalized_shape, weight, bias, eps]), (0, 0, 0)
    made, mean, rstd = call(op, [input, normalized_shape, None, None, eps])
    gamma = (1,) * (input.ndim - 1 - len(normalized_shape)) + tuple(normalized_shape)
    made = made if weight is None else made * for_rows(weight, dims[2], gamma)
    made = made if bias is None else made + for_rows(bias, dims[3], gamma)
    return (made, mean, rstd), (0, 0, 0)


def batched_layer_backward(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    grad, input, normalized_shape, mean, rstd, weight, bias, mask = args
    grad, input = front(grad, dims[0], size), front(input, dims[1], size)
    mean, rstd = front(mean, dims[3], size), front(rstd, dims[4], size)
    rows = input.ndim - 1 - len(normalized_shape)
    to_input = to_weight = to_bias = None
    if mask[0]:
        scaled = grad if weight is None else grad * for_rows(weight, dims[5], (1,) * rows + tuple(normalized_shape))
        to_input = call(op, [scaled, input, normalized_shape, mean, rstd, None, None, [True, False, False]])[0]
    if mask[1]:
        to_weight = summed_rows(grad * layer_statistics(input, normalized_shape, mean, rstd)[1], rows)
    if mask[2]:
        to_bias = summed_rows(grad, rows)
    made = (to_input, to_weight, to_bias)
    return made, tuple([None if t is None else 0 for t in made])


def summed_rows(t: Any, rows: int) -> Any:
    return t.sum(tuple(range(1, rows + 1))) if rows else t


native_layer_norm = defop(
    "native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, "
    "Tensor)",
    kernel=layer_norm_kernel, check=proven(check_layer_norm), vjp={("input", "weight", "bias"): layer_rule}, jvp=layer_tangent,
    batch=batched_layer_norm, variants="function", constant=(1, 2),
    lower="@layer_norm", pattern=("last", "normalized_shape"),
)
native_layer_norm_backward = defop(
    "native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd, "
    "Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    kernel=layer_backward_kernel, check=takes("LayerNormBackwardKernelImpl", "FH", 1),
    vjp={("grad_out", "input", "weight"): layer_double}, jvp=layer_backward_tangent,
    batch=batched_layer_backward, variants="",
    lower="@layer_norm_backward",
)
defop("layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, "
      "bool cudnn_enable=True) -> Tensor",
      kernel=lambda input, normalized_shape, weight, bias, eps, cudnn_enable:
      call(native_layer_norm, [input, normalized_shape, weight, bias, eps])[0],
      composite=True, variants="function", out=False)


# ---- group norm: (N, C, *) seen as (N, groups, C / groups, HxW)
def check_groups(input: Any, weight: Any, bias: Any, C: int, num_groups: int) -> None:
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if C % num_groups:
        raise RuntimeError("Expected number of channels in input to be divisible by num_groups, but got input of shape "
                           f"{list(input.shape)} and num_groups={num_groups}")
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and t.array.shape != (C,) and (t.ndim != 1 or t.numel() != C):
            raise RuntimeError(f"Expected {name} to be a vector of size equal to the number of channels in input, but got "
                               f"{name} of shape {[0] if weight is None else list(weight.shape)} and input of shape "
                               f"{list(input.shape)}\nThere are {C} channels, and the shape of {name} is {list(t.shape)}.")


def check_group_norm(input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, *rest: Any) -> None:
    check_groups(input, weight, bias, C, group)
    if input.numel() != N * C * HxW:
        raise RuntimeError("Expected X.numel() == N * C * HxW to be true, but got false.  (Could this error message be "
                           "improved?  If so, please report an enhancement request to PyTorch.)")
    check_dtypes("GroupNormKernelImpl", input, weight, bias)


def group_view(N: int, C: int, HxW: int, group: int) -> View:
    return View((N, group, C // group, HxW), (2, 3), (1, group, C // group, 1), (0, 3))


def group_norm_kernel(xp: Any, input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float) -> Any:
    made, mean, rstd = normalized(xp, group_view(N, C, HxW, group), input, weight, bias, eps, (N, group))
    return following(made, input, input.ndim - 2), mean, rstd


def group_statistics(view: View, input: Any, mean: Any, rstd: Any) -> tuple[Any, Any]:
    saved = (*view.shape[:2], 1, 1)
    input = input.reshape(view.shape)
    mean, rstd = view.followed(input, mean.reshape(saved), rstd.reshape(saved))
    return (input - mean) * rstd, rstd


def group_backward_kernel(xp: Any, grad_out: Any, input: Any, mean: Any, rstd: Any, weight: Any, N: int, C: int, HxW: int,
                          group: int, output_mask: Any) -> Any:
    view, work = group_view(N, C, HxW, group), wide(input.dtype)
    mean, rstd = [s.astype(work).reshape((N, group, 1, 1)) for s in (mean, rstd)]
    normal = (input.astype(work, copy=False).reshape(view.shape) - mean) * rstd
    grad = grad_out.reshape(view.shape).astype(work, copy=False)
    made = array_backward(xp, view, grad, normal, rstd, weight, output_mask, input.dtype)
    return (None if made[0] is None else following(made[0].reshape(input.shape), input, input.ndim - 2)), *made[1:]


def group_rule(grads: Any, input: Any, weight: Any, N: int, C: int, HxW: int, group: int, eps: float, result1: Any,
               result2: Any, needed: Any) -> Any:
    """The backward op, or a differentiable formula of the statistics for double backward."""
    grad, to_mean, to_rstd = grads
    if to_mean is None and to_rstd is None and not families.is_watched():
        return call(native_group_norm_backward, [grad.contiguous(), input, result1, result2, weight, N, C, HxW, group,
                                                 list(needed)])
    view, saved = group_view(N, C, HxW, group), (N, group, 1, 1)
    rstd = result2.reshape(saved)
    normal = (input.reshape(view.shape) - result1.reshape(saved)) * rstd
    made = [None, None, None] if grad is None else list(backward(view, grad.reshape(view.shape), normal, rstd, weight, needed))
    parts = [] if made[0] is None else [made[0]]
    if needed[0] and to_mean is not None:
        parts.append((to_mean.reshape(saved) / view.count).expand(view.shape))
    if needed[0] and to_rstd is not None:
        parts.append(-to_rstd.reshape(saved) / view.count * rstd * rstd * normal)
    return sum(parts[1:], parts[0]).reshape(input.shape) if parts else None, *made[1:]


def group_double(grads: Any, grad_out: Any, input: Any, mean: Any, rstd: Any, weight: Any, N: int, C: int, HxW: int,
                 group: int) -> Any:
    view = group_view(N, C, HxW, group)
    normal, rstd = group_statistics(view, input, mean, rstd)
    for_grad, for_input, for_weight = double_backward(view, grads, grad_out.reshape(view.shape), normal, rstd, weight)
    return for_grad.reshape(input.shape), None if for_input is None else for_input.reshape(input.shape), for_weight


def group_tangent(input_p: Any, input_t: Any, weight_p: Any, weight_t: Any, bias_t: Any, N: int, C: int, HxW: int, group: int,
                  result1: Any, result2: Any) -> Any:
    view = group_view(N, C, HxW, group)
    normal, rstd = group_statistics(view, input_p, result1, result2)
    made, mean_t, rstd_t = tangents(view, input_t, normal, rstd, weight_p, weight_t, bias_t)
    return made.reshape(input_p.shape), mean_t.reshape(result1.shape), rstd_t.reshape(result2.shape)


def group_backward_tangent(grad_out_p: Any, grad_out_t: Any, input_p: Any, input_t: Any, mean: Any, rstd: Any, weight_p: Any,
                           weight_t: Any, N: int, C: int, HxW: int, group: int, output_mask: Any) -> Any:
    view = group_view(N, C, HxW, group)
    normal, rstd = group_statistics(view, input_p, mean, rstd)
    made = backward_tangents(view, grad_out_p.reshape(view.shape), grad_out_t.reshape(view.shape), input_t, normal, rstd,
                             weight_p,
                             weight_t, output_mask)
    return made[0].reshape(input_p.shape), *made[1:]


def rows_of(t: Any, dim: Any, size: int) -> Any:
    """The examples as additional rows."""
    t = front(t, dim, size)
    return t.reshape((-1, *t.shape[2:]))


def batched_group_norm(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    input, weight, bias, N, C, HxW, group, eps = args
    shape = [n for i, n in enumerate(input.shape) if i != dims[0]]
    shared = dims[1] is None and dims[2] is None
    parts = [weight, bias] if shared else [None, None]
    made, mean, rstd = call(op, [rows_of(input, dims[0], size), *parts, size * N, C, HxW, group, eps])
    made = made.reshape((size, *shape))
    if not shared:
        gamma = (1, C) + (1,) * (len(shape) - 2)
        made = made if weight is None else made * for_rows(weight, dims[1], gamma)
        made = made if bias is None else made + for_rows(bias, dims[2], gamma)
    return (made, mean.reshape((size, N, group)), rstd.reshape((size, N, group))), (0, 0, 0)


def batched_group_backward(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    grad, input, mean, rstd, weight, N, C, HxW, group, mask = args
    shape = [n for i, n in enumerate(input.shape) if i != dims[1]]
    grad, input, mean, rstd = [rows_of(t, d, size) for t, d in zip(args[:4], dims[:4], strict=True)]
    to_input = to_weight = to_bias = None
    if mask[0]:
        scaled = grad.reshape((size, N, C, HxW))
        scaled = (scaled if weight is None else scaled * for_rows(weight, dims[4], (1, C, 1))).reshape(input.shape)
        sizes = [size * N, C, HxW, group, [True, False, False]]
        to_input = call(op, [scaled, input, mean, rstd, None, *sizes])[0].reshape((size, *shape))
    if mask[1]:
        normal = group_statistics(group_view(size * N, C, HxW, group), input, mean, rstd)[0]
        to_weight = (grad.reshape((size, N, C, HxW)) * normal.reshape((size, N, C, HxW))).sum((1, 3))
    if mask[2]:
        to_bias = grad.reshape((size, N, C, HxW)).sum((1, 3))
    made = (to_input, to_weight, to_bias)
    return made, tuple([None if t is None else 0 for t in made])


native_group_norm = defop(
    "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps) -> "
    "(Tensor, Tensor, Tensor)",
    kernel=group_norm_kernel, vjp={("input", "weight", "bias"): group_rule}, jvp=group_tangent, batch=batched_group_norm,
    check=proven(check_group_norm), variants="function",
    lower="@group_norm",
    meta=lambda xp, input, weight, bias, N, C, HxW, group, eps: (
        reserved_array(input.shape, channels_last_strides(input.shape), input.dtype) if geometry.channels_last_like(input)
        else contiguous_array(input.shape, input.dtype), *[contiguous_array((N, group), input.dtype)] * 2),
)
native_group_norm_backward = defop(
    "native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt N, SymInt C, "
    "SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    kernel=group_backward_kernel, check=takes("GroupNormBackwardKernelImpl", "FH", 1),
    vjp={("grad_out", "input", "weight"): group_double}, jvp=group_backward_tangent,
    batch=batched_group_backward, variants="",
    lower="@group_norm_backward",
)


def in_own_format(t: Any) -> Any:
    """The tensor without gaps: channels-last if it is, otherwise contiguous."""
    last = geometry.channels_last_like(t.array)
    return t.contiguous(memory_format=channels_last if t.ndim == 4 else channels_last_3d) if last else t.contiguous()


def group_norm_tensors(input: Any, num_groups: int, weight: Any, bias: Any, eps: float, cudnn_enabled: bool) -> Any:
    shape = tuple(input.shape)
    if len(shape) < 2:
        families.wrap_dim(1 if shape else 0, len(shape), scalar_ok=False)
    check_groups(input, weight, bias, shape[1], num_groups)
    return call(native_group_norm, [in_own_format(input), weight, bias, shape[0], shape[1], math.prod(shape[2:]), num_groups,
                                    eps])[0]


defop("group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, "
      "bool cudnn_enabled=True) -> Tensor", kernel=group_norm_tensors, composite=True, variants="function", out=False)


# ---- RMS norm, a composite
def rms_norm_tensors(input: Any, normalized_shape: Any, weight: Any, eps: float | None) -> Any:
    if len(normalized_shape) > input.ndim and (weight is None or tuple(weight.shape) == tuple(normalized_shape)):
        raise ValueError(f"Input tensor must have at least {len(normalized_shape)} dimensions, but got {input.ndim}")
    check_normalized_shape(input, normalized_shape, weight, None, "")
    if input.dtype.category < 2:
        raise unsupported("rms_norm", input.array.dtype)
    dims = list(range(input.ndim - len(normalized_shape), input.ndim))
    wide_input = input.float() if input.dtype.itemsize < 4 else input
    floor = finfo(wide_input.dtype).eps if eps is None else eps
    square = wide_input.pow(2).mean(dims, True)
    made = wide_input * (square.add_(floor) if is_seen() else plus(square, floor)).rsqrt()
    made = made if weight is None else made * weight
    return in_own_format(made.type_as(input))


defop("rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
      kernel=rms_norm_tensors, composite=True, variants="function", out=False)
