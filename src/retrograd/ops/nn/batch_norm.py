"""Normalization: batch, layer, group and instance norm.

NOTE [One normalization]
All are the same map, seen through a view of the input: x -> (x - mean) * rstd over some dimensions (`axes`), then times
gamma plus beta, which are constant along others (`spread`). With P(u) = rstd * (u - mean(u) - x^ * mean(u * x^)), where x^ is
the normalized input, the gradient of the input is P(gamma * grad), and P is its own transpose. Everything below
(backward, its derivative, tangents) is written once in these terms, over tensors. `fixed` means that the statistics are
given (a batch norm in evaluation), so that P(u) = rstd * u.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.core.dispatch import call
from retrograd.core.dtypes import HALVES, uint8
from retrograd.core.modes import is_seen
from retrograd.core.opdef import OpDef, defop
from retrograd.core.tensor import bump
from retrograd.ops import late
from retrograd.ops.memory.copy import alias
from retrograd.ops.nn.pool import following
from retrograd.ops.shared import families
from retrograd.ops.shared.dtype_checks import takes, without_gradient
from retrograd.ops.shared.elementwise import unsupported
from retrograd.ops.shared.families import number_like, will_differentiate

FLOAT32 = np.dtype(np.float32)


class View:
    """A norm's view of its input: shape, dimensions of the statistics, shape of gamma, dimensions along which it repeats."""

    def __init__(self, shape: Any, axes: Any, gamma: Any, spread: Any, fixed: bool = False) -> None:
        self.shape, self.axes, self.gamma, self.spread, self.fixed = shape, axes, gamma, spread, fixed
        self.count = math.prod([shape[a] for a in axes])

    def mean(self, t: Any) -> Any:
        return t.sum(self.axes, True) / self.count if self.axes else t

    def project(self, u: Any, normal: Any, rstd: Any) -> Any:
        if self.fixed:
            return rstd * u
        return rstd * (u - self.mean(u) - normal * self.mean(u * normal))

    def followed(self, x: Any, mean: Any, rstd: Any) -> tuple[Any, Any]:
        """The statistics of `x`, saved as constants, recomputed as functions of `x` where derivatives may be needed."""
        if self.fixed or not self.axes or not will_differentiate(x):
            return mean, rstd
        middle = self.mean(x)
        mean = mean.detach() + (middle - middle.detach())
        away = x - mean
        spread = self.mean(away * away)
        return mean, (rstd.detach().pow(-2) + (spread - spread.detach())).rsqrt()

    def scaled(self, u: Any, weight: Any) -> Any:
        return u if weight is None else u * weight.reshape(self.gamma)

    def gathered(self, t: Any, like: Any) -> Any:
        """The gradient of gamma or beta, summed over all positions where it is used."""
        return (t.sum(self.spread) if self.spread else t).reshape(like)


def backward(view: View, grad: Any, normal: Any, rstd: Any, weight: Any, needed: Any) -> tuple[Any, Any, Any]:
    """The gradients of input, gamma and beta, over tensors or arrays alike."""
    shape = (math.prod(view.gamma),) if weight is None else tuple(weight.shape)
    return (view.project(view.scaled(grad, weight), normal, rstd) if needed[0] else None,
            view.gathered(grad * normal, shape) if needed[1] else None, view.gathered(grad, shape) if needed[2] else None)


def double_backward(view: View, grads: Any, grad_out: Any, normal: Any, rstd: Any, weight: Any) -> tuple[Any, Any, Any]:
    """The gradients of grad_out, input and gamma from those of the results of `backward`."""
    to_input, to_weight, to_bias = grads
    for_grad, for_input, for_weight = late.zeros_like(grad_out), None, None
    if to_input is not None:
        v = to_input.reshape(view.shape)
        g = view.scaled(grad_out, weight)
        through = view.project(v, normal, rstd)
        for_grad = for_grad + view.scaled(through, weight)
        if weight is not None:
            for_weight = view.gathered(grad_out * through, weight.shape)
        if not view.fixed:
            a, b = view.mean(v * normal), view.mean(g * normal)
            bend = view.mean(v * g) - view.mean(v) * view.mean(g) - a * b
            for_input = -bend * rstd * rstd * normal - rstd * view.project(v * b + a * g, normal, rstd)
    if to_weight is not None:
        gamma = to_weight.reshape(view.gamma)
        for_grad = for_grad + gamma * normal
        through = view.project(gamma * grad_out, normal, rstd)
        for_input = through if for_input is None else for_input + through
    if to_bias is not None:
        for_grad = for_grad + to_bias.reshape(view.gamma)
    return for_grad, for_input, for_weight


def tangents(view: View, x_t: Any, normal: Any, rstd: Any, weight: Any, weight_t: Any, bias_t: Any) -> tuple[Any, Any, Any]:
    """The tangents of the result, the mean and rstd."""
    x_t = x_t.reshape(view.shape)
    made = view.scaled(view.project(x_t, normal, rstd), weight)
    if weight_t is not None:
        made = made + normal * weight_t.reshape(view.gamma)
    if bias_t is not None:
        made = made + bias_t.reshape(view.gamma)
    return made, view.mean(x_t), -rstd * rstd * view.mean(normal * x_t)


def backward_tangents(view: View, grad: Any, grad_t: Any, x_t: Any, normal: Any, rstd: Any, weight: Any, weight_t: Any,
                      mask: Any, shape: Any = None) -> tuple[Any, Any, Any]:
    """The tangents of the results of `backward`; `shape` is that of a weight, whether or not there is one."""
    x_t = x_t.reshape(view.shape)
    g, g_t = view.scaled(grad, weight), view.scaled(grad_t, weight)
    if weight_t is not None:
        g_t = g_t + view.scaled(grad, weight_t)
    normal_t = view.project(x_t, normal, rstd)
    rstd_t = None if view.fixed else -rstd * rstd * view.mean(normal * x_t)
    to_input = view.project(g_t, normal, rstd)
    if rstd_t is not None:
        to_input = to_input + rstd_t / rstd * view.project(g, normal, rstd) - rstd * (
            normal_t * view.mean(g * normal) + normal * view.mean(g * normal_t))
    if shape is None:
        shape = (math.prod(view.gamma),) if weight is None else weight.shape
    return to_input, view.gathered(grad_t * normal + grad * normal_t, shape), view.gathered(grad_t, shape)


def wide(dtype: Any) -> Any:
    """The dtype in which half precision is computed."""
    return dtype if dtype.kind == "f" and dtype.itemsize >= 4 else FLOAT32


def statistics(xp: Any, values: Any, axes: Any, eps: float) -> tuple[Any, Any, Any]:
    """The mean, variance and reciprocal of the deviation, in double precision."""
    exact = values.astype(xp.float64)
    if not exact.size:                  # PyTorch's mean of no numbers is 0 here
        mean = exact.sum(axes, keepdims=True)
        return mean, mean + xp.nan, mean + xp.nan
    count = math.prod([exact.shape[i] for i in axes])
    mean = xp.add.reduce(exact, axes, keepdims=True) / count
    variance = xp.add.reduce(xp.square(exact - mean), axes, keepdims=True) / count
    return mean, variance, 1 / xp.sqrt(variance + eps)


# ---- batch norm
def batch_view(input: Any, training: bool) -> View:
    rank = input.ndim
    others = (0, *range(2, rank))
    return View(tuple(input.shape), others, (1, input.shape[1]) + (1,) * (rank - 2), others, fixed=not training)


def check_batch_norm(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, *rest: Any) -> None:
    if input.array.ndim == 1:
        families.wrap_dim(1, 1)
    if input.numel() == 0:
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {list(input.shape)}")
    if input.array.dtype.kind not in "fV":
        raise unsupported("batch_norm", input.array.dtype)
    check_mixed_dtypes(input, weight, bias, running_mean, running_var)


def check_mixed_dtypes(input: Any, *parameters: Any) -> None:
    """Parameters have the dtype of the input, or float32 when that is a half."""
    own = input.array.dtype
    for p in parameters:
        if p is not None and p.array.dtype is not own:
            break
    else:
        return
    given = [p.array.dtype for p in parameters if p is not None]
    if all([d == own for d in given]):
        return
    if not all([d == np.float32 for d in given]):
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if input.array.dtype not in HALVES:
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")


def batch_norm_kernel(xp: Any, input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
                      momentum: float, eps: float) -> Any:
    view = batch_view(input, training)
    work = wide(input.dtype)
    values = input.astype(work, copy=False)
    kept = next((t.dtype for t in (weight, bias, running_mean) if t is not None), input.dtype)
    if training:
        mean, variance, rstd = statistics(xp, values, view.axes, eps)
        saved = mean.reshape(-1).astype(kept), rstd.reshape(-1).astype(kept)
        count = view.count
        if running_mean is not None:
            running_mean[...] = momentum * mean.reshape(-1) + (1 - momentum) * running_mean.astype(xp.float64)
        if running_var is not None:
            unbiased = variance.reshape(-1) * count / (count - 1) if count > 1 else variance.reshape(-1) * xp.nan
            running_var[...] = momentum * unbiased + (1 - momentum) * running_var.astype(xp.float64)
        mean, rstd = mean.astype(work), rstd.astype(work)
    else:
        saved = xp.zeros(0, kept), xp.zeros(0, kept)
        mean = running_mean.reshape(view.gamma).astype(work)
        rstd = (1 / xp.sqrt(running_var.reshape(view.gamma).astype(work) + number_like(xp, values, eps))).astype(work)
    slope = rstd if weight is None else rstd * weight.reshape(view.gamma).astype(work)
    shift = -mean * slope if bias is None else bias.reshape(view.gamma).astype(work) - mean * slope
    made = values * slope + shift
    return (in_format_of(input, xp.ascontiguousarray(made.astype(input.dtype, copy=False))), *saved)


def in_format_of(input: Any, made: Any) -> Any:
    """A result with its channels innermost where those of the input are."""
    return following(made, input, input.ndim - 2) if input.ndim in (4, 5) else made


def batch_statistics(input: Any, running_mean: Any, running_var: Any, save_mean: Any, save_invstd: Any, train: bool,
                     eps: float) -> tuple[View, Any, Any]:
    """The view, the normalized input and rstd, over tensors."""
    view = batch_view(input, train)
    mean = (save_mean if train else running_mean).reshape(view.gamma)
    rstd = save_invstd.reshape(view.gamma) if train else (running_var + eps).rsqrt().reshape(view.gamma)
    mean, rstd = view.followed(input, mean, rstd)
    return view, (input - mean) * rstd, rstd


def batch_backward_kernel(xp: Any, grad_out: Any, input: Any, weight: Any, running_mean: Any, running_var: Any, save_mean: Any,
                          save_invstd: Any, train: bool, eps: float, output_mask: Any) -> Any:
    view = batch_view(input, train)
    work = wide(input.dtype)
    values, grad = input.astype(work, copy=False), grad_out.astype(work, copy=False)
    if train:
        mean, rstd = save_mean.reshape(view.gamma), save_invstd.reshape(view.gamma)
    else:
        mean = running_mean.reshape(view.gamma)
        rstd = 1 / xp.sqrt(running_var.reshape(view.gamma) + number_like(xp, values, eps))
    made = array_backward(xp, view, grad, (values - mean) * rstd, rstd, weight, output_mask, input.dtype)
    return made if made[0] is None else (in_format_of(input, made[0]), *made[1:])


def array_backward(xp: Any, view: View, grad: Any, normal: Any, rstd: Any, weight: Any, output_mask: Any, dtype: Any) -> Any:
    """`backward` over arrays."""
    def mean(u: Any) -> Any:
        return u.sum(view.axes, keepdims=True) / number_like(xp, u, max(view.count, 1))

    made: list[Any] = [None, None, None]
    if output_mask[0]:
        u = grad if weight is None else grad * weight.reshape(view.gamma).astype(grad.dtype)
        projected = rstd * u if view.fixed else rstd * (u - mean(u) - normal * mean(u * normal))
        made[0] = xp.ascontiguousarray(projected.astype(dtype, copy=False))
    kept = dtype if weight is None else weight.dtype
    size = view.gamma if weight is None else weight.shape
    if output_mask[1]:
        made[1] = (grad * normal).sum(view.spread).reshape(-1).astype(kept)
    if output_mask[2]:
        made[2] = grad.sum(view.spread).reshape(-1).astype(kept)
    return tuple([None if m is None else m if i == 0 else m.reshape(size if weight is not None else m.shape)
                  for i, m in enumerate(made)])


def batch_rule(grad: Any, input: Any, weight: Any, running_mean: Any, running_var: Any, training: bool, eps: float,
               result1: Any,
               result2: Any, needed: Any) -> Any:
    return call(native_batch_norm_backward, [grad, input, weight, running_mean, running_var, result1, result2, training, eps,
                                             list(needed)])


def batch_double(grads: Any, grad_out: Any, input: Any, weight: Any, running_mean: Any, running_var: Any, save_mean: Any,
                 save_invstd: Any, train: bool, eps: float) -> Any:
    view, normal, rstd = batch_statistics(input, running_mean, running_var, save_mean, save_invstd, train, eps)
    for_grad, for_input, for_weight = double_backward(view, grads, grad_out, normal, rstd, weight)
    return for_grad, for_input, for_weight


def batch_tangent(input_p: Any, input_t: Any, weight_p: Any, weight_t: Any, bias_t: Any, running_mean: Any, running_var: Any,
                  training: bool, eps: float, result1: Any, result2: Any) -> Any:
    view, normal, rstd = batch_statistics(input_p, running_mean, running_var, result1, result2, training, eps)
    return tangents(view, input_t, normal, rstd, weight_p, weight_t, bias_t)[0], None, None


def batch_backward_tangent(grad_out_p: Any, grad_out_t: Any, input_p: Any, input_t: Any, weight_p: Any, weight_t: Any,
                           running_mean: Any, running_var: Any, save_mean: Any, save_invstd: Any, train: bool, eps: float,
                           output_mask: Any) -> Any:
    view, normal, rstd = batch_statistics(input_p, running_mean, running_var, save_mean, save_invstd, train, eps)
    return backward_tangents(view, grad_out_p, grad_out_t, input_t, normal, rstd, weight_p, weight_t, output_mask)


def batched_batch_norm(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """The batching rule: example by example; unbatched running statistics cannot be updated by each."""
    shared = any([args[i] is not None and dims[i] is None for i in (3, 4)])
    if args[5] and shared and dims[0] is not None:
        raise RuntimeError("Batch norm got a batched tensor as input while the running_mean or running_var, which will be "
                           "updated in place, were not batched.\nIf you are using a module and do not need eval mode, please "
                           "set `track_running_stats` to be False.If you are using a prebuilt module and do not need eval "
                           "mode, please see the functorch website for resources on how to patch your module to work with "
                           "vmap")
    return families.loop(op, args, dims, size)


batched_batch_norm.refuses = True  # type: ignore[attr-defined]


native_batch_norm = defop(
    "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, "
    "float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    kernel=batch_norm_kernel,
    check=without_gradient("native_batch_norm", check_batch_norm, running_mean=3, running_var=4),
    vjp={("input", "weight", "bias"): batch_rule}, jvp=batch_tangent,
    batch=batched_batch_norm, variants="function", constant=(1, 2),
    lower="@batch_norm",
    out_form="out(out, save_mean, save_invstd)",
)
native_batch_norm_backward = defop(
    "native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? running_var, "
    "Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    kernel=batch_backward_kernel, check=without_gradient(
        "native_batch_norm_backward", takes("batch_norm_backward_cpu", "FH", 1), running_mean=3, running_var=4),
    vjp={("grad_out", "input", "weight"): batch_double}, jvp=batch_backward_tangent,
    batch=families.loop, variants="",
    lower="@batch_norm_backward",
)


# The forms in which the running statistics are required, absent, or always updated.
NORMALIZED, RESULTS = "Tensor input, Tensor? weight, Tensor? bias", "(Tensor, Tensor, Tensor"
defop(
    f"_native_batch_norm_legit({NORMALIZED}, Tensor running_mean, Tensor running_var, bool training, float momentum, "
    f"float eps) -> {RESULTS})",
    kernel=batch_norm_kernel,
    check=without_gradient("_native_batch_norm_legit", check_batch_norm, running_mean=3, running_var=4), lower="@batch_norm",
    vjp={("input", "weight", "bias"): batch_rule}, jvp=batch_tangent, batch=batched_batch_norm, variants="function",
    constant=(1, 2), out=False,
)
defop(
    f"_native_batch_norm_legit.no_stats({NORMALIZED}, bool training, float momentum, float eps) -> {RESULTS})",
    kernel=lambda xp, input, weight, bias, training, momentum, eps: batch_norm_kernel(
        xp, input, weight, bias, None, None, training, momentum, eps), lower="@batch_norm_alone",
    check=lambda input, weight, bias, *rest: check_batch_norm(input, weight, bias, None, None),
    vjp={("input", "weight", "bias"): lambda grad, input, weight, training, eps, result1, result2, needed: batch_rule(
        grad, input, weight, None, None, training, eps, result1, result2, needed)},
    jvp=lambda input_p, input_t, weight_p, weight_t, bias_t, training, eps, result1, result2: batch_tangent(
        input_p, input_t, weight_p, weight_t, bias_t, None, None, training, eps, result1, result2),
    batch=families.loop, variants="function", constant=(1, 2), node="NativeBatchNormLegitBackward1", out=False,
)
defop(
    f"_batch_norm_with_update({NORMALIZED}, Tensor running_mean, Tensor running_var, float momentum, float eps) -> "
    f"{RESULTS}, Tensor)",
    kernel=lambda xp, input, weight, bias, running_mean, running_var, momentum, eps: (*batch_norm_kernel(
        xp, input, weight, bias, running_mean, running_var, True, momentum, eps), xp.empty(0, np.uint8)),
    check=without_gradient("_batch_norm_with_update", check_batch_norm, running_mean=3, running_var=4),
    vjp={("input", "weight", "bias"): lambda grad, input, weight, running_mean, running_var, eps, result1, result2, needed:
         batch_rule(grad, input, weight, running_mean, running_var, True, eps, result1, result2, needed)},
    jvp=lambda input_p, input_t, weight_p, weight_t, bias_t, running_mean, running_var, eps, result1, result2: (
        *batch_tangent(input_p, input_t, weight_p, weight_t, bias_t, running_mean, running_var, True, eps, result1, result2),
        None),
    batch=families.loop, variants="function", constant=(1, 2, 3), out=False,
)


def batch_norm_tensors(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float,
                       eps: float, cudnn_enabled: bool) -> Any:
    features = input.shape[1] if input.ndim > 1 else 0
    if input.numel() == 0:              # an empty batch has no statistics, and PyTorch checks nothing else
        made = input.clone() if weight is None else input * weight[0]
        return made if bias is None else made + bias[0]
    for name, t in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if t is not None and t.numel() != features:
            raise RuntimeError(f"{name} should contain {features} elements not {t.numel()}")
        if t is None and not training and name.startswith("running"):
            raise RuntimeError(f"{name} must be defined in evaluation mode")
    if input.ndim < 2:
        families.wrap_dim(1, input.ndim, scalar_ok=False)
    if is_seen():
        late.empty((0,), dtype=uint8)   # PyTorch's reserve, which only other backends fill
    return call(native_batch_norm, [input, weight, bias, running_mean, running_var, training, momentum, eps])[0]


STATISTICS = "Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var"
defop(f"batch_norm({STATISTICS}, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
      kernel=batch_norm_tensors, composite=True, variants="function", out=False)


def instance_norm_tensors(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, use_input_stats: bool,
                          momentum: float, eps: float, cudnn_enabled: bool) -> Any:
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    families.wrap_dim(1 if input.ndim else 0, input.ndim, scalar_ok=False)
    shape = tuple(input.shape)
    batch, channels = shape[:2]
    weight, bias, mean, var = (None if t is None else t.repeat(batch) for t in (weight, bias, running_mean, running_var))
    folded = input.contiguous().view((1, batch * channels, *shape[2:]))
    made = batch_norm_tensors(folded, weight, bias, mean, var, use_input_stats, momentum, eps, cudnn_enabled)
    for kept, each in ((running_mean, mean), (running_var, var)):
        if kept is not None and each is not None and use_input_stats:
            keep_means(kept, each, (batch, channels))
    return made.view(shape)


def keep_means(kept: Any, each: Any, shape: Any) -> None:
    """Update the running statistics with the mean over instances; not differentiated, as in batch norm."""
    if kept._flags or kept.array.shape != shape[1:] or 0 in shape or is_seen():
        call(alias, [kept.detach() if kept.requires_grad else kept]).copy_(
            each.view((shape[0], -1) if each.numel() else shape).mean(0, False))
    else:
        kept.array[...] = families.everything(each).reshape(shape).mean(0)
        bump(kept)


defop(f"instance_norm({STATISTICS}, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
      kernel=instance_norm_tensors, composite=True, variants="function", out=False)
