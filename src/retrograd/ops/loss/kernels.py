"""Losses with their own derivatives: pairwise losses, binary cross entropies, negative log likelihood.

NOTE [Losses of pairs]
mse, smooth L1, Huber and soft margin loss are a function of each pair of elements and then a reduction (0 none, 1 mean,
2 sum). One declaration gives the op, its backward op and the derivatives of both from three formulas: the function, its
slope and its curvature in `self`.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.core import dtypes, lean
from retrograd.core.algorithms import native
from retrograd.core.dispatch import call
from retrograd.core.kernels import broadcast_problem
from retrograd.core.modes import is_seen
from retrograd.core.opdef import OpDef, defop
from retrograd.core.state import tls
from retrograd.core.tensor import wants_grad
from retrograd.ops import late
from retrograd.ops.nn.activation import log_sigmoid_forward
from retrograd.ops.shared import families
from retrograd.ops.shared.dtype_checks import asked_always, proven, takes, without_gradient
from retrograd.ops.shared.elementwise import changed, limited, over, plus, times, unsupported
from retrograd.ops.shared.families import number_like
from retrograd.ops.views.shape import broadcast_shape

NONE, MEAN, SUM = 0, 1, 2


def reduced(loss: Any, reduction: int) -> Any:
    """The loss of a batch, from tensors."""
    return loss.mean() if reduction == MEAN else loss.sum() if reduction == SUM else loss


def reduced_array(xp: Any, loss: Any, reduction: int) -> Any:
    if reduction and loss.size and type(loss) in lean.ARRAYS and loss.dtype.char in "fd":
        total = np.add.reduce(loss, None)
        return np.asarray(float(total) / loss.size if reduction == MEAN else total, loss.dtype)
    if reduction == MEAN:
        return xp.asarray(loss.mean(), loss.dtype) if loss.size else xp.asarray(xp.nan, loss.dtype)
    return xp.asarray(loss.sum(), loss.dtype) if reduction == SUM else loss


def share(t: Any, reduction: int, count: int) -> Any:
    """The gradient of a reduced loss that reaches each element."""
    return over(t, count) if reduction == MEAN else t


def share_of_fresh(t: Any, reduction: int, count: int) -> Any:
    """`share` of an unshared value: in place if a mode sees it, as in PyTorch."""
    return t.div_(count) if reduction == MEAN and is_seen() else share(t, reduction, count)


def batch_pairs(op: Any, args: Any, dims: Any, size: int) -> Any:
    """Without a reduction a loss of pairs is an elementwise op; each example is reduced over all dimensions but the first."""
    names = [p.name for p in op.schema.params]
    each = list(args)
    each[names.index("reduction")] = NONE
    mean = args[names.index("reduction")] == MEAN
    if names[0] != "grad_output":
        made, _ = families.pointwise(op, each, dims, size)
        rest = tuple(range(1, made.ndim))
        if args[names.index("reduction")] == NONE or not rest:
            return made, 0
        return made.mean(rest) if mean else made.sum(rest), 0
    if dims[1] is None:
        each[1], dims = args[1].expand((size, *args[1].shape)), [dims[0], 0, *dims[2:]]
        args = [args[0], each[1], *args[2:]]
    if mean:
        shapes = [a.shape if d is None else (*a.shape[:d], *a.shape[d + 1:]) for a, d in zip(args[1:3], dims[1:3], strict=True)]
        each[0] = args[0] / max(math.prod(np.broadcast_shapes(*shapes)), 1)
    return families.pointwise(op, each, dims, size)


# ---- losses of pairs
def weighted(xp: Any, slope: Any, grad_output: Any, reduction: int, count: int) -> Any:
    """The slope times each element's gradient; for integers (slopes of squares) the factor 2 / count is an integer too."""
    if reduction != MEAN:
        return slope * grad_output
    if slope.dtype.kind in "iu":
        return slope * grad_output * number_like(xp, slope, 2 // max(count, 1)) // number_like(xp, slope, 2)
    return slope * (grad_output / number_like(xp, grad_output, max(count, 1)))


def by_reduction(text: str, guard: str = "") -> dict[str, str]:
    """The `lower` column of a loss whose value for one pair is the last statement of the text."""
    *steps, value = text.split("; ")
    before = "".join([f"{step}; " for step in steps])
    rest = f", {guard}" if guard else ""
    return {f"reduction={NONE}{rest}": before + value, f"reduction={MEAN}{rest}": f"{before}mean({value})",
            f"reduction={SUM}{rest}": f"{before}sum({value})"}


def by_share(text: str, guard: str = "", order: str = "") -> dict[str, str]:
    """`by_reduction` for a slope: the gradient of a mean is divided by the number of elements."""
    *steps, slope = text.split("; ")
    before = order + "".join([f"{step}; " for step in steps])
    rest = f", {guard}" if guard else ""
    return {f"reduction={MEAN}{rest}": f"{before}({slope}) * (grad_output / numel)",
            **{f"reduction={kind}{rest}": f"{before}({slope}) * grad_output" for kind in (SUM, NONE)}}


def pair_loss(name: str, extra: str, kernel_name: str, value: Any, slope: Any, curvature: Any, check: Any = None,
              backward_kinds: str = "fV", text: str = "", slope_text: str = "") -> OpDef:
    """Declare the op `name` and its backward; `extra` is the schema of a last parameter, or empty.

    `text` and `slope_text` say what `value` and `slope` are, for `lower`.
    """
    parameter = f", {extra}" if extra else ""
    plain = f", {extra.split('=')[0]}" if extra else ""
    columns: Any = dict(promote="common", widen=True, batch=batch_pairs, check=check, mixes=False, elementwise=False,
                        pattern="elements")
    backward = defop(
        f"{name}_backward(Tensor grad_output, Tensor self, Tensor target, int reduction{plain}) -> Tensor",
        kernel=limited(f"{kernel_name}_backward_cpu_out", backward_kinds,
                       lambda xp, grad_output, self, target, reduction, *rest:
                       xp.asarray(weighted(xp, slope(xp, self, target, *rest), grad_output, reduction, self.size),
                                  order="C")),
        jvp=None, vjp=None, variants="", lower=by_share(slope_text, order="by rows: "), leading=1, **columns)

    def of(grad: Any, self: Any, target: Any, reduction: int, *rest: Any) -> Any:
        return call(backward, [grad, self, target, reduction, *rest])

    def to_grad_output(grad: Any, grad_output: Any, self: Any, target: Any, reduction: int, *rest: Any) -> Any:
        if reduction == NONE:
            return of(grad, self, target, NONE, *rest)
        return (of(late.ones_like(grad_output), self, target, reduction, *rest) * grad).sum()

    def bent(grad: Any, grad_output: Any, self: Any, target: Any, reduction: int, *rest: Any) -> Any:
        return share(curvature(grad * grad_output, self, target, *rest), reduction, self.numel())

    def tangent(self_p: Any, self_t: Any, target_p: Any, target_t: Any, reduction: int, *rest: Any) -> Any:
        return reduced(of(self_t - target_t, self_p, target_p, NONE, *rest), reduction)

    def tangent_of_backward(grad_output_p: Any, grad_output_t: Any, self_p: Any, self_t: Any, target_p: Any, target_t: Any,
                            reduction: int, *rest: Any) -> Any:
        return of(grad_output_t, self_p, target_p, reduction, *rest) + bent(self_t - target_t, grad_output_p, self_p, target_p,
                                                                            reduction, *rest)
    last = extra.split()[1].split("=")[0] if extra else ""
    # Rules are read by their parameter names, so the last parameter needs its own name in each signature.
    backward.vjp = named(last, dict(
        grad_output=("grad, grad_output, self, target, reduction", to_grad_output),
        self=("grad, grad_output, self, target, reduction", bent),
        target=("grad, grad_output, self, target, reduction", lambda *args: -bent(*args))))
    backward.jvp = named(last, dict(jvp=(
        "grad_output_p, grad_output_t, self_p, self_t, target_p, target_t, reduction", tangent_of_backward)))["jvp"]
    backward.differentiable = True
    rules = named(last, dict(
        self=("grad, self, target, reduction", of),
        target=("grad, self, target, reduction", lambda grad, self, target, *rest: of(grad, target, self, *rest)),
        jvp=("self_p, self_t, target_p, target_t, reduction", tangent)))
    jvp = rules.pop("jvp")
    return defop(
        f"{name}(Tensor self, Tensor target, int reduction=1{parameter}) -> Tensor",
        kernel=limited(f"{kernel_name}_cpu", "fV", lambda xp, self, target, reduction, *rest:
                       reduced_array(xp, value(xp, self, target, *rest), reduction)),
        vjp=rules, jvp=jvp, variants="", lower=by_reduction(text), autocast="float32", **columns)


def named(last: str, rules: dict[str, tuple[str, Any]]) -> dict[str, Any]:
    """Rules with explicit parameter names: the given ones and, if there is one, the loss's own."""
    made = {}
    for key, (parameters, rule) in rules.items():
        text = f"{parameters}, {last}" if last else parameters
        made[key] = eval(f"lambda {text}: rule({text})", {"rule": rule})
    return made


def distance(xp: Any, self: Any, target: Any) -> Any:
    return xp.abs(self - target)


def smooth(xp: Any, self: Any, target: Any, beta: float) -> Any:
    z, b = distance(xp, self, target), number_like(xp, self, beta)
    half = number_like(xp, self, 0.5)
    with_square = half * z * z / b if beta else z
    return xp.where(z < b, with_square, z - half * b)


def smooth_slope(xp: Any, self: Any, target: Any, beta: float) -> Any:
    x = self - target
    return xp.where(xp.abs(x) < beta, x / number_like(xp, x, beta or 1), xp.sign(x))


def huber(xp: Any, self: Any, target: Any, delta: float) -> Any:
    z, d, half = distance(xp, self, target), number_like(xp, self, delta), number_like(xp, self, 0.5)
    return xp.where(z <= d, half * z * z, d * (z - half * d))


def huber_slope(xp: Any, self: Any, target: Any, delta: float) -> Any:
    x, d = self - target, number_like(xp, self, delta)
    return xp.where(xp.abs(x) <= d, x, xp.sign(x) * d)


@asked_always
def check_beta(*args: Any) -> None:
    if not args[-1] >= 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")


@asked_always
def check_delta(*args: Any) -> None:
    if not args[-1] > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if len(args) == 4:                        # the loss is computed in the dtype of the input
        common = late.result_type(args[0], args[1])
        if not dtypes.can_cast(common, args[0].dtype):
            raise RuntimeError(f"result type {common.legacy} can't be cast to the desired output type {args[0].dtype.legacy}")


def masked(grad: Any, condition: Any) -> Any:
    return grad * condition.to(grad.dtype)


mse_loss = pair_loss("mse_loss", "", "mse", lambda xp, self, target: (self - target) * (self - target),
                     lambda xp, self, target: number_like(xp, self, 2) * (self - target),
                     lambda grad, self, target: times(grad, 2), backward_kinds="iufV",
                     text="x = self - target; x * x", slope_text="2 * (self - target)")
smooth_l1_loss = pair_loss("smooth_l1_loss", "float beta=1.0", "smooth_l1", smooth, smooth_slope,
                           lambda grad, self, target, beta:
                           over(masked(grad, (self - target).abs().lt(beta)), beta) if beta else times(grad, 0), check_beta,
                           text="z = abs(self - target); 0.5 * z * z / beta if z < beta else z - 0.5 * beta",
                           slope_text="x = self - target; x / beta if abs(x) < beta else sign(x) if x == x else x")
huber_loss = pair_loss("huber_loss", "float delta=1.0", "huber", huber, huber_slope,
                       lambda grad, self, target, delta: masked(grad, (self - target).abs().le(delta)), check_delta,
                       text="z = abs(self - target); 0.5 * z * z if z <= delta else delta * (z - 0.5 * delta)",
                       slope_text="x = self - target; x if abs(x) <= delta else sign(x) * delta if x == x else x")


# ---- soft margin: log(1 + exp(-target * self)); the target is not differentiated
def soft_margin_weight(self: Any, target: Any) -> Any:
    """sigmoid(-target * self), the factor of -target in the slope."""
    return (-(target * self)).sigmoid()


def soft_margin_backward_kernel(xp: Any, grad_output: Any, self: Any, target: Any, reduction: int) -> Any:
    z = xp.exp(-target * self)
    scale = number_like(xp, self, 1.0 / self.size if reduction == MEAN and self.size else 1)
    return -target * z / (z + number_like(xp, z, 1)) * grad_output * scale


def soft_margin_slope(self: Any, target: Any, reduction: int) -> Any:
    return share(-target * soft_margin_weight(self, target), reduction, self.numel())


def soft_margin_to_grad(grad: Any, grad_output: Any, self: Any, target: Any, reduction: int) -> Any:
    if reduction == NONE:
        return call(soft_margin_loss_backward, [grad, self, target, NONE])
    slope = call(soft_margin_loss_backward, [late.ones_like(grad_output), self, target, reduction])
    return (slope * grad).sum()


def soft_margin_bent(grad: Any, grad_output: Any, self: Any, target: Any, reduction: int) -> Any:
    z = (self * -target).exp()
    above = plus(z, 1)
    return share(grad * grad_output * (target * target) * z / (above * above), reduction, self.numel())


def check_soft_margin(*args: Any) -> None:
    kinds = [t.array.dtype.kind for t in args[:-1]]
    self, target = args[-3:-1]
    if tls.grad_enabled and wants_grad(target):
        return
    problem = broadcast_problem(self.array.shape, target.array.shape)
    if problem is not None:
        raise RuntimeError(problem)
    shape = lean.broadcast_shapes(self.array.shape, target.array.shape)
    if shape != self.array.shape:                 # the loss is computed in the shape of the input
        raise RuntimeError(f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(shape)}")
    if len(args) == 3 and args[0].array.dtype.kind in "biu" and args[1].array.dtype.kind not in "biu":
        kinds = kinds[:1]
    if all([k == "b" for k in kinds]):
        raise RuntimeError("Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, "
                           "use the `~` or `logical_not()` operator instead.")
    if all([k in "iub" for k in kinds]):
        raise RuntimeError(f"result type Float can't be cast to the desired output type {args[0].dtype.legacy}")


soft_margin_loss_backward = defop(
    "soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor",
    kernel=soft_margin_backward_kernel,
    vjp=dict(grad_output=soft_margin_to_grad, self=soft_margin_bent),
    jvp=lambda grad_output_p, grad_output_t, self_p, self_t, target, reduction:
        grad_output_t * soft_margin_slope(self_p, target, reduction) + soft_margin_bent(self_t, grad_output_p, self_p, target,
                                                                                        reduction),
    batch=batch_pairs, promote="common", widen=True, variants="", elementwise=False, leading=1,
    lower=by_share("z = exp(-target * self); -target * z / (z + 1)"),
    check=without_gradient("soft_margin_loss_backward", check_soft_margin, target=2), real_only=True, pattern="elements",
)
soft_margin_loss = defop(
    "soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    kernel=lambda xp, self, target, reduction: reduced_array(xp, xp.log1p(xp.exp(-target * self)), reduction),
    vjp=dict(self=lambda grad, self, target, reduction: call(soft_margin_loss_backward, [grad, self, target, reduction])),
    jvp=lambda self_p, self_t, target, reduction: reduced(self_t * soft_margin_slope(self_p, target, NONE), reduction),
    batch=batch_pairs, promote="common", widen=True, variants="", elementwise=False,
    lower=by_reduction("log1p(exp(-target * self))"),
    check=without_gradient("soft_margin_loss", check_soft_margin, target=1), real_only=True, autocast="float32",
    pattern="elements",
)


# ---- binary cross entropy, of probabilities and of logits
EPSILON = 1e-12


def check_probabilities(self: Any, target: Any, *rest: Any) -> None:
    problem = broadcast_problem(self.array.shape, target.array.shape)
    if problem is not None:
        raise RuntimeError(problem)
    if self.dtype is not target.dtype:
        raise RuntimeError(f"Found dtype {target.dtype.legacy} but expected {self.dtype.legacy}")
    if self.array.dtype.kind not in "fV":
        raise unsupported("binary_cross_entropy", self.array.dtype)
    if self.array.shape != target.array.shape:
        return
    wrong = [(int(np.argmax(~inside)), name) for name, t in (("input", self), ("target", target))
             if t.array.size and not (inside := ((t.array >= 0) & (t.array <= 1)).reshape(-1)).all()]
    if wrong:           # the first invalid element is reported
        raise RuntimeError(f"all elements of {min(wrong, key=lambda w: w[0])[1]} should be between 0 and 1")


def bce_kernel(xp: Any, self: Any, target: Any, weight: Any, reduction: int) -> Any:
    low = number_like(xp, self, -100)
    one = number_like(xp, self, 1)
    loss = (target - one) * xp.maximum(xp.log1p(-self), low) - target * xp.maximum(xp.log(self), low)
    return reduced_array(xp, loss if weight is None else loss * weight, reduction)


def bce_backward_kernel(xp: Any, grad_output: Any, self: Any, target: Any, weight: Any, reduction: int) -> Any:
    one = number_like(xp, self, 1)
    made = grad_output * (self - target) / xp.maximum((one - self) * self, number_like(xp, self, EPSILON))
    made = made if weight is None else made * weight
    return made / number_like(xp, made, self.size) if reduction == MEAN else made


def bce_target(grad: Any, self: Any, target: Any, weight: Any, reduction: int) -> Any:
    made = changed(self.logit(), "neg") * grad
    return share_of_fresh(made if weight is None else made * weight, reduction, target.numel())


def bce_slope(self: Any, target: Any, weight: Any, reduction: int) -> Any:
    made = (self - target) / ((1 - self) * self).clamp(min=EPSILON)
    return share(made if weight is None else made * weight, reduction, self.numel())


def bce_to_grad(grad: Any, self: Any, target: Any, weight: Any, reduction: int) -> Any:
    made = grad * bce_slope(self, target, weight, reduction)
    return made if reduction == NONE else made.sum()


def bce_bent(grad: Any, grad_output: Any, self: Any, target: Any, weight: Any, reduction: int) -> Any:
    made = grad * grad_output * ((self * self - 2 * self * target + target) / ((1 - self) * self).clamp(min=EPSILON).square())
    return share(made if weight is None else made * weight, reduction, self.numel())


def bce_bent_target(grad: Any, grad_output: Any, self: Any, target: Any, weight: Any, reduction: int) -> Any:
    made = -grad * grad_output / ((1 - self) * self).clamp(min=EPSILON)
    return share(made if weight is None else made * weight, reduction, self.numel())


def bce_tangent(self_p: Any, self_t: Any, target_p: Any, target_t: Any, weight: Any, reduction: int) -> Any:
    made = bce_slope(self_p, target_p, weight, NONE) * self_t + bce_target(target_t, self_p, target_p, weight, NONE)
    return reduced(made, reduction)


def bce_backward_tangent(grad_output_p: Any, grad_output_t: Any, self_p: Any, self_t: Any, target_p: Any, target_t: Any,
                         weight: Any, reduction: int) -> Any:
    return (grad_output_t * bce_slope(self_p, target_p, weight, reduction)
            + bce_bent(self_t, grad_output_p, self_p, target_p, weight, reduction)
            + bce_bent_target(target_t, grad_output_p, self_p, target_p, weight, reduction))


binary_cross_entropy_backward = defop(
    "binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> "
    "Tensor",
    kernel=bce_backward_kernel, check=takes("binary_cross_entropy_backward", "FH"),
    vjp=dict(grad_output=bce_to_grad, self=bce_bent, target=bce_bent_target), jvp=bce_backward_tangent,
    batch=batch_pairs, widen=True, variants="", leading=1,
    lower=by_share("(self - target) / maximum((1 - self) * self, 1e-12)", "weight=None"), pattern="elements",
)
binary_cross_entropy = defop(
    "binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor",
    kernel=bce_kernel, check=without_gradient("binary_cross_entropy", check_probabilities, weight=2),
    vjp=dict(self=lambda grad, self, target, weight, reduction:
             call(binary_cross_entropy_backward, [grad, self, target, weight, reduction]), target=bce_target),
    jvp=bce_tangent, batch=batch_pairs, widen=True, variants="",
    lower=by_reduction("(target - 1) * maximum(log1p(-self), -100) - target * maximum(log(self), -100)", "weight=None"),
    autocast="float32", pattern="elements",
)


def log_sigmoid(xp: Any, x: Any) -> Any:
    zero = number_like(xp, x, 0)
    return xp.minimum(x, zero) - xp.log1p(xp.exp(-xp.abs(x)))


def logits_kernel(xp: Any, self: Any, target: Any, weight: Any, pos_weight: Any, reduction: int) -> Any:
    one = number_like(xp, self, 1)
    logs = log_sigmoid(xp, self)
    loss = (one - target) * self - (logs if pos_weight is None else ((pos_weight - one) * target + one) * logs)
    return reduced_array(xp, loss if weight is None else loss * weight, reduction)


def logits_slope(self: Any, target: Any, weight: Any, pos_weight: Any) -> Any:
    if pos_weight is None:
        made = self.sigmoid() - target
    else:
        positive = pos_weight * target
        made = (positive + 1 - target) * self.sigmoid() - positive
    return made if weight is None else made * weight


def logits_target_slope(self: Any, weight: Any, pos_weight: Any) -> Any:
    made = -self if pos_weight is None else (
        call(log_sigmoid_forward, [-self])[0] - pos_weight * call(log_sigmoid_forward, [self])[0])
    return made if weight is None else made * weight


def check_logits(self: Any, target: Any, weight: Any, pos_weight: Any, reduction: int) -> None:
    if self.array.dtype.kind not in "fV":
        raise unsupported("log_sigmoid_cpu", self.array.dtype)
    shape = target.array.shape
    if shape != self.array.shape:
        joint = broadcast_shape([shape, self.array.shape])
        if joint != shape:              # PyTorch computes in the place of the target
            raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(joint)}")
    if target.array.dtype.kind in "biu":
        raise RuntimeError(f"result type {self.dtype.legacy} can't be cast to the desired output type {target.dtype.legacy}")


def batch_logits(op: Any, args: Any, dims: Any, size: int) -> Any:
    """`batch_pairs` with a target for each example, which has the shape of the result."""
    if dims[1] is None:
        target = args[1].expand((size, *args[1].shape))
        args, dims = [args[0], target, *args[2:]], [dims[0], 0, *dims[2:]]
    return batch_pairs(op, args, dims, size)


binary_cross_entropy_with_logits = defop(
    "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int "
    "reduction=1) -> Tensor",
    out="aten",
    kernel=logits_kernel, check=without_gradient("binary_cross_entropy_with_logits", check_logits, weight=2, pos_weight=3),
    vjp=dict(self=lambda grad, self, target, weight, pos_weight, reduction:
                 share_of_fresh(grad * logits_slope(self, target, weight, pos_weight), reduction, self.numel()),
             target=lambda grad, self, target, weight, pos_weight, reduction:
                 share_of_fresh(grad * logits_target_slope(self, weight, pos_weight), reduction, target.numel())),
    jvp=lambda self_p, self_t, target_p, target_t, weight, pos_weight, reduction:
        reduced(logits_slope(self_p, target_p, weight, pos_weight) * self_t
                + logits_target_slope(self_p, weight, pos_weight) * target_t, reduction),
    batch=batch_logits, promote="common", widen=True, variants="function", elementwise=False,
    lower=by_reduction("(1 - target) * self - (minimum(self, 0) - log1p(exp(-abs(self))))", "weight=None, pos_weight=None"),
    autocast="float32", pattern="elements",
)


# ---- negative log likelihood: one kernel for (N, C) with targets (N), and for images (N, C, H, W) with targets (N, H, W)
def check_rows(self: Any, target: Any, *rest: Any) -> None:
    """The shapes of one row of scores for each target."""
    if not 0 < self.ndim <= 2:
        raise RuntimeError("input tensor should be 1D or 2D")
    if target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if self.ndim == 1:
        if target.ndim and target.shape[0] != 1:
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}")
    elif not target.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    elif self.shape[0] != target.shape[0]:
        raise RuntimeError(f"size mismatch (got input: {list(self.shape)}, target: {list(target.shape)})")


def check_images(self: Any, target: Any, *rest: Any) -> None:
    """The shapes of images with one target for each point."""
    if target.ndim != 3:
        raise RuntimeError("only batches of spatial targets supported (3D tensors) but got targets of dimension: "
                           f"{target.ndim}")
    if self.ndim != 4:
        raise RuntimeError(f"only batches of spatial inputs supported (4D tensors), but got input of dimension: {self.ndim}")
    if tuple(target.shape) != (self.shape[0], *self.shape[2:]):
        raise RuntimeError(f"size mismatch (got input: {list(self.shape)} , target: {list(target.shape)}")


def check_nll(self: Any, target: Any, weight: Any, *rest: Any) -> None:
    if target.array.dtype.kind not in "iu" or target.dtype.name not in ("int64", "uint8"):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {target.dtype.legacy}")
    classes = self.array.shape[0 if self.array.ndim == 1 else 1]
    if weight is not None and weight.array.shape != (classes,):
        if self.array.ndim > 2:
            raise RuntimeError("weight tensor should be defined either for all or no classes")
        raise RuntimeError(f"weight tensor should be defined either for all {classes} classes or no classes but got weight "
                           f"tensor of shape: {list(weight.array.shape)}")
    if weight is not None and weight.dtype is not self.dtype and self.dtype.is_floating_point and self.device.type != "meta":
        raise RuntimeError(f"expected scalar type {self.dtype.legacy} but found {weight.dtype.legacy}")


def nll_parts(xp: Any, self: Any, target: Any, weight: Any, ignore_index: int) -> Any:
    """Input as (N, C, rest), target as (N, 1, rest), and the weight of each target; ignored ones weigh nothing."""
    values = self if self.ndim > 1 else self[None]
    wanted = (target.reshape(1) if self.ndim == 1 else target)[:, None]
    ignored = wanted == ignore_index
    safe = xp.where(ignored, 0, wanted)
    classes = values.shape[1]
    wrong = (safe < 0) | (safe >= classes)
    if wrong.any():
        raise IndexError(f"Target {safe[wrong].flat[0]} is out of bounds.")
    weights = lean.ones(safe.shape, self.dtype) if weight is None else weight[safe]
    return values, safe, xp.where(ignored, number_like(xp, self, 0), weights), ignored


def is_plain_nll(self: Any, target: Any, weight: Any, ignore_index: int) -> bool:
    """Whether every row of scores has one target, which is a class and not ignored."""
    if weight is not None or self.ndim != 2 or target.ndim != 1 or not target.size:
        return False
    low, high = target.min(), target.max()
    return bool(low >= 0 and high < self.shape[1] and not (low <= ignore_index <= high and (target == ignore_index).any()))


def nll_kernel(xp: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    if reduction == NONE and target.size == 0:
        return xp.zeros(target.shape, self.dtype), xp.zeros((), self.dtype)
    if is_plain_nll(self, target, weight, ignore_index):
        picked = self[xp.arange(target.size), target]
        if reduction == NONE:
            return xp.negative(picked), xp.zeros((), self.dtype)
        total = xp.asarray(target.size, self.dtype)
        loss = -picked.sum()
        return xp.asarray(loss / total if reduction == MEAN else loss, self.dtype), total
    if weight is not None and native is not None:
        made = native.nll_weighted(self, target, weight, reduction, ignore_index)
        if made is not None:
            return made
    values, safe, weights, ignored = nll_parts(xp, self, target, weight, ignore_index)
    picked = lean.take_along(values, safe.astype(xp.int64, copy=False), 1)
    losses = xp.where(ignored, number_like(xp, self, 0), -picked * weights)
    if reduction == NONE:
        return xp.ascontiguousarray(losses[:, 0]).reshape(target.shape if self.ndim > 1 else ()), xp.zeros((), self.dtype)
    total = xp.asarray(weights.sum(), self.dtype)
    loss = xp.asarray(losses.sum(), self.dtype)
    if reduction == MEAN:
        loss = xp.asarray(loss / total, self.dtype)
    return loss, total


def nll_backward_kernel(xp: Any, grad_output: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int,
                        total_weight: Any) -> Any:
    if self.size == 0:
        return xp.zeros(self.shape, self.dtype)
    if is_plain_nll(self, target, weight, ignore_index):
        made = xp.zeros(self.shape, self.dtype)
        made[xp.arange(target.size), target] = -grad_output / total_weight if reduction == MEAN else -grad_output
        return made
    if weight is not None and native is not None:
        made = native.nll_weighted_backward(self, target, weight, reduction, ignore_index, grad_output, total_weight)
        if made is not None:
            return made
    values, safe, weights, _ = nll_parts(xp, self, target, weight, ignore_index)
    grad = grad_output.reshape(target.shape if self.ndim > 1 else (1,))[:, None] if reduction == NONE else grad_output
    spread = -weights * grad
    if reduction == MEAN:
        spread = xp.where(weights == 0, number_like(xp, self, 0), spread / total_weight)
    made = xp.zeros(values.shape, self.dtype)
    xp.put_along_axis(made, safe.astype(xp.int64), spread.astype(self.dtype), 1)
    return made.reshape(self.shape)


def rows_of_examples(self: Any, target: Any, dims: Any, size: int) -> Any:
    """Scores (examples, rows, classes) and targets (examples, rows) of examples that have rows of scores; else None."""
    scores, wanted = [families.move_to_front(t, d) if d is not None else t.expand((size, *t.shape))
                      for t, d in zip((self, target), dims, strict=True)]
    if scores.ndim == 2 and wanted.numel() == size:
        return scores.unsqueeze(1), wanted.reshape((size, 1))
    return (scores, wanted) if scores.ndim == 3 and tuple(wanted.shape) == tuple(scores.shape[:2]) else None


def batch_rows(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """All rows of all examples at once, then reduced for each example."""
    self, target, weight, reduction, ignore_index = args
    rows = rows_of_examples(self, target, dims[:2], size) if dims[2] is None else None
    if rows is None:
        return families.loop(op, args, dims, size)
    scores, wanted = rows
    count, classes = scores.shape[1:]
    losses = call(op, [scores.reshape((size * count, classes)), wanted.reshape((size * count,)), weight, NONE, ignore_index])[0]
    losses = losses.reshape((size, count))
    if reduction == NONE:
        single = self.ndim - (dims[0] is not None) == 1
        return (losses.reshape((size,)) if single else losses, late.new_zeros(losses, ())), (0, None)
    total = (wanted != ignore_index).to(scores.dtype)
    if weight is not None:
        total = total * weight[late.where(wanted == ignore_index, 0, wanted).reshape(-1)].reshape((size, count))
    total = total.sum(1)
    return (losses.sum(1) / total if reduction == MEAN else losses.sum(1), total), (0, 0)


def batch_rows_backward(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """`batch_rows` for the slopes: each row gets its share of its example's gradient."""
    grad, self, target, weight, reduction, ignore_index, total = args
    rows = rows_of_examples(self, target, dims[1:3], size) if dims[3] is None else None
    if rows is None:
        return families.loop(op, args, dims, size)
    scores, wanted = rows
    count, classes = scores.shape[1:]
    grad, total = [families.move_to_front(t, d) if d is not None else t.expand((size, *t.shape))
                   for t, d in ((grad, dims[0]), (total, dims[6]))]
    if reduction == NONE:
        each = grad.reshape((size, count))
    else:
        each = (grad / total if reduction == MEAN else grad).reshape((size, 1)).expand((size, count))
        each = late.where(wanted == ignore_index, 0, each)
    made = call(op, [each.reshape((size * count,)), scores.reshape((size * count, classes)), wanted.reshape((size * count,)),
                     weight, NONE, ignore_index, late.new_zeros(scores, ())])
    single = self.ndim - (dims[1] is not None) == 1
    return made.reshape((size, classes) if single else (size, count, classes)), 0


def nll_family(name: str, node: str) -> tuple[Any, Any]:
    check_dtype = takes("nll_loss_out_frame" if name == "nll_loss" else f"{name}_forward_out_frame", "FH")
    of_rows = name == "nll_loss"
    shared: Any = dict(batch=batch_rows if of_rows else families.loop, widen=True, variants="", constant=(1,),
                       check=proven(without_gradient(f"{name}_forward", check_rows if name == "nll_loss" else check_images,
                                                     check_nll, check_dtype, weight=2)))
    backward = defop(
        f"{name}_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, "
        "Tensor total_weight) -> Tensor",
        kernel=nll_backward_kernel, check=proven(without_gradient(
            f"{name}_backward", takes(f"{name}_backward_out_frame", "FH", 1), weight=3, total_weight=6)),
        vjp=dict(grad_output=lambda grad, target, weight, reduction, ignore_index:
                     call(forward, [grad, target, weight, reduction, ignore_index])[0],
                 self=lambda grad: late.zeros_like(grad)),
        jvp=lambda grad_output_t, self_p, target, weight, reduction, ignore_index, total_weight:
            call(backward, [grad_output_t, self_p, target, weight, reduction, ignore_index, total_weight]),
        batch=batch_rows_backward if of_rows else families.loop, widen=True, variants="",
        node=node.replace("Backward0", "BackwardBackward0"), lower="@nll_loss_backward",
    )
    forward = defop(
        f"{name}_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> "
        "(Tensor output, Tensor total_weight)",
        kernel=nll_kernel, node=node, lower="@nll_loss",
        vjp=dict(self=lambda grad, self, target, weight, reduction, ignore_index, total_weight:
                 call(backward, [grad, self, target, weight, reduction, ignore_index, total_weight])),
        jvp=lambda self_t, target, weight, reduction, ignore_index:
            (call(forward, [self_t, target, weight, reduction, ignore_index])[0], None), **shared, out_form="output")
    return forward, backward


nll_loss_forward, nll_loss_backward = nll_family("nll_loss", "NllLossBackward0")
nll_loss2d_forward, nll_loss2d_backward = nll_family("nll_loss2d", "NllLoss2DBackward0")
