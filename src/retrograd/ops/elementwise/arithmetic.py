"""Elementwise arithmetic: the four operations and related ones, remainders, interpolation, clamping."""
from __future__ import annotations

from typing import Any

from retrograd.core import algorithms, dtypes
from retrograd.core.dispatch import call
from retrograd.core.dtypes import HALVES, is_complex_type
from retrograd.core.forward import linked
from retrograd.core.kernels import broadcast_problem
from retrograd.core.opdef import defop
from retrograd.core.state import grad_enabled, tls
from retrograd.core.tensor import Tensor, operators
from retrograd.ops.shared import families
from retrograd.ops.shared.dtype_checks import accepts_floats
from retrograd.ops.shared.elementwise import (
    C_NAMES,
    alias_rows,
    blanked,
    changed,
    check_sub,
    divided_by,
    in_float32,
    less_from,
    limited,
    maybe_times,
    minus_times,
    number_beside,
    over,
    refuse,
    times,
    ufunc,
    unsupported,
    where,
    zeros,
)
from retrograd.ops.shared.families import conj, number_like

ZERO_DIVISION = "ZeroDivisionError"


# ---- sums and differences
def checked_alpha(dtype: Any, alpha: Any) -> None:
    if isinstance(alpha, bool) and dtype.kind != "b":
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if dtype.kind in "biu" and isinstance(alpha, (float, complex)):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if dtype.kind != "c" and isinstance(alpha, complex):
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")


def combined(xp: Any, combine: Any, self: Any, other: Any, alpha: Any) -> Any:
    """self + alpha * other, or minus, rounded once in half precision."""
    if self.shape != other.shape:
        problem = broadcast_problem(self.shape, other.shape)
        if problem is not None:
            raise RuntimeError(problem)
    checked_alpha(self.dtype, alpha)
    if alpha == 1:
        return combine(self, other)
    factor = number_like(xp, self, alpha)
    if self.dtype in HALVES:
        wide = combine(self.astype(xp.float32), other.astype(xp.float32) * factor.astype(xp.float32))
        return wide.astype(self.dtype)
    return combine(self, xp.multiply(other, factor))


add = defop(
    "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    kernel=lambda xp, self, other, alpha: combined(xp, xp.add, self, other, alpha), fast="add",
    vjp=dict(self=lambda grad: grad, other=lambda grad, alpha: maybe_times(grad, alpha)),
    jvp="linear", batch=families.pointwise, promote="common", numbers=True, inplace=True,
    lower="self + alpha * other", deprecated=("self, alpha, other",),
    traits=("chalf", "arithmetic"), masked="binary", flops="elements",
    doc="""The sum of two tensors, the second one times `alpha`.
    >>> torch.add(torch.tensor([1.0, 2.0]), 10, alpha=2)
    tensor([21., 22.])
    """,
)
sub = defop(
    "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    kernel=lambda xp, self, other, alpha: combined(xp, xp.subtract, self, other, alpha), fast="subtract", check=check_sub,
    vjp=dict(self=lambda grad: grad, other=lambda grad, alpha: maybe_times(-grad, alpha)),
    jvp="linear", batch=families.pointwise, promote="common", numbers=True, inplace=True,
    lower="self - alpha * other", deprecated=("self, alpha, other",),
    traits=("chalf", "arithmetic"), masked="binary",
    doc="""The difference of two tensors, the second one times `alpha`.
    >>> torch.sub(torch.tensor([1.0, 2.0]), 1)
    tensor([0., 1.])
    """,
)
rsub_tensor = defop(
    "rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    kernel=lambda xp, self, other, alpha: combined(xp, xp.subtract, other, self, alpha), check=check_sub, leading=1,
    vjp=dict(self=lambda grad, alpha: maybe_times(-grad, alpha), other=lambda grad: grad),
    jvp="linear", batch=families.pointwise, promote="common", out=False, variants="function",
    lower="other - alpha * self",
    traits=("chalf",), masked="same mask",
)
rsub = defop(
    "rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    kernel=lambda xp, self, other, alpha: combined(xp, xp.subtract, number_like(xp, self, other), self, alpha),
    check=check_sub, vjp=dict(self=lambda grad, alpha: maybe_times(-grad, alpha)),
    jvp="elementwise", batch=families.pointwise, promote="common", node="RsubBackward1", scalars=("other",), out=False,
    variants="function",
    lower="other - alpha * self",
    traits=("chalf",),
)
neg = defop(
    "neg(Tensor self) -> Tensor",
    out="found",
    kernel="negative",
    check=refuse("Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the "
                 "`~` or `logical_not()` operator instead.", "b"),
    vjp=dict(self=lambda grad: -grad),
    jvp="linear", batch=families.pointwise, inplace="function", lower="-self",
    traits=("chalf",), foreach=True, onnx="Neg", masked="unary",
    doc="""Each element with the other sign.
    >>> torch.neg(torch.tensor([1.0, -2.0]))
    tensor([-1.,  2.])
    """,
)


def positive(self: Any) -> Any:
    if self.array.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return self


defop("positive(Tensor(a) self) -> Tensor(a)", kernel=positive, composite=True, out=False, onnx="Identity", masked="unary")


# ---- products and quotients
def div_self(grad: Any, other: Any) -> Any:
    return grad / conj(other)


def div_other(grad: Any, self: Any, other: Any) -> Any:
    slope = conj(call(div, [self, other]) / other)          # before the negation, as modes see
    return -grad * slope


def div_tangent(self_t: Any, other_p: Any, other_t: Any, result: Any) -> Any:
    if other_t is None:
        above = linked(self_t, [result]) if grad_enabled() and not tls.linearizing else self_t
    else:
        above = -(other_t * result) if self_t is None else self_t - other_t * result
    return above / other_p


div_tangent.partial = True  # type: ignore[attr-defined]


mul = defop(
    "mul.Tensor(Tensor self, Tensor other) -> Tensor",
    kernel="multiply",
    vjp=dict(self=lambda grad, other: grad * conj(other), other=lambda grad, self: grad * conj(self)),
    jvp="multilinear", batch=families.pointwise, promote="common", widen=True, exact=True, numbers=True, inplace=True,
    lower="self * other",
    traits=("chalf", "arithmetic"), onnx="Mul", masked="binary", flops="elements",
    doc="""The product of two tensors, element by element.
    >>> torch.mul(torch.tensor([1.0, 2.0]), 3)
    tensor([3., 6.])
    """,
)
div = defop(
    "div.Tensor(Tensor self, Tensor other) -> Tensor",
    kernel="true_divide",
    vjp=dict(self=div_self, other=div_other),
    jvp=div_tangent, batch=families.pointwise, promote="float", widen=True, exact=True, numbers=True, inplace=True,
    lower="self / other", series="quotient", onnx="Div", masked="binary", traits=("arithmetic",),
    doc="""The quotient of two tensors; `rounding_mode` may be "trunc" or "floor".
    >>> torch.div(torch.tensor([7.0, -7.0]), 2, rounding_mode="floor")
    tensor([ 3., -4.])
    """,
)
def reciprocal_kernel(xp: Any, self: Any) -> Any:
    made = algorithms.native.reciprocals(self) if algorithms.native is not None and self.dtype.kind == "c" else None
    return xp.true_divide(number_like(xp, self, 1), self) if made is None else made


reciprocal = defop(
    "reciprocal(Tensor self) -> Tensor",
    kernel=reciprocal_kernel,
    vjp=dict(self=lambda grad, result: minus_times(grad, conj(result * result))),
    jvp="elementwise", batch=families.pointwise, promote="float", widen=True, inplace="function", lower="1 / self",
    series="reciprocal", foreach=True, onnx="Reciprocal", masked="unary",
    doc="""One divided by each element.
    >>> torch.reciprocal(torch.tensor([2.0, 4.0]))
    tensor([0.5000, 0.2500])
    """,
)


def check_integer_zero(self: Any, other: Any) -> None:
    if other.dtype.kind in "iu" and other.size and self.size and not other.all():
        if not all([m == n or 1 in (m, n) for m, n in zip(self.shape[::-1], other.shape[::-1], strict=False)]):
            return                            # a shape mismatch is reported first
        raise RuntimeError(ZERO_DIVISION)


def floored(xp: Any, self: Any, other: Any) -> Any:
    if self.dtype.kind in "bc":
        raise unsupported("div_floor_cpu", self.dtype)
    check_integer_zero(self, other)
    return xp.floor_divide(self, other)


def truncated(xp: Any, self: Any, other: Any) -> Any:
    if self.dtype.kind in "bc":
        raise unsupported("div_trunc_cpu", self.dtype)
    check_integer_zero(self, other)
    if self.dtype.kind in "iu":
        quotient = xp.floor_divide(self, other)
        inexact = xp.not_equal(xp.multiply(quotient, other), self)
        return xp.add(quotient, xp.logical_and(inexact, xp.less(quotient, 0)).astype(self.dtype))
    return xp.trunc(xp.true_divide(self, other))


def div_mode_kernel(xp: Any, self: Any, other: Any, rounding_mode: Any) -> Any:
    if rounding_mode is None:
        if self.dtype.kind in "biu":
            default = dtypes.get_default_dtype().numpy
            self, other = self.astype(default), other.astype(default)
        return xp.true_divide(self, other)
    if rounding_mode not in ("trunc", "floor"):
        raise RuntimeError("div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
                           f"'{rounding_mode}'")
    return floored(xp, self, other) if rounding_mode == "floor" else truncated(xp, self, other)


FLOORED = ("m = fmod(self, other); d = (self - m) / other; e = d - 1 if m != 0 and (other < 0) != (m < 0) else d; "
           "f = floor(e); g = f + 1 if e - f > 0.5 else f; "
           "self / other if other == 0 else g if e != 0 else copysign(0, self / other)")
div_mode = defop(
    "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
    kernel=div_mode_kernel,
    vjp=dict(self=lambda grad, other, rounding_mode: div_self(grad, other) if rounding_mode is None else zeros(grad),
             other=lambda grad, self, other, rounding_mode:
                 div_other(grad, self, other) if rounding_mode is None else zeros(grad)),
    jvp="elementwise", batch=families.pointwise, promote="common", widen=True, exact=True, numbers=True, inplace=True,
    node="DivBackward2", traits=("arithmetic",),
    lower={"rounding_mode='trunc'": "trunc(self / other)", "rounding_mode='floor'": FLOORED},
    out_form="out_mode",
)
floor_divide = defop(
    "floor_divide(Tensor self, Tensor other) -> Tensor",
    kernel=floored,
    vjp=dict(self=lambda grad: zeros(grad), other=lambda grad: zeros(grad)), jvp="elementwise",
    batch=families.pointwise, promote="common", widen=True, exact=True, numbers=True, inplace=True, lower=FLOORED,
    pattern="constant", traits=("out_untracked",), masked="binary", number_form="printed",
    doc="""The quotient, rounded down.
    >>> torch.floor_divide(torch.tensor([7.0, -7.0]), 2)
    tensor([ 3., -4.])
    """,
)


# ---- remainders: with the sign of the divisor (remainder) or of the dividend (fmod)
def remainder_kernel(xp: Any, self: Any, other: Any) -> Any:
    if self.dtype.kind in "bc":
        raise unsupported("remainder_cpu", self.dtype)
    check_integer_zero(self, other)
    if self.dtype.kind in "iu":
        return xp.remainder(self, other)
    rest = xp.fmod(self, other)
    differs = xp.logical_and(xp.not_equal(rest, 0), xp.not_equal(xp.less(other, 0), xp.less(rest, 0)))
    return xp.where(differs, rest + other, rest)


def fmod_kernel(xp: Any, self: Any, other: Any) -> Any:
    if self.dtype.kind in "bc":
        raise unsupported("fmod_cpu", self.dtype)
    check_integer_zero(self, other)
    return xp.fmod(self, other)


def quotient(self: Any, other: Any, rounding_mode: str) -> Any:
    return call(div_mode, [self, other, rounding_mode])


def quotient_rule(rounding: str) -> Any:
    """The gradient of the divisor of a remainder."""
    return lambda grad, self, other: minus_times(grad, quotient(self, other, rounding))


shared = dict(jvp="elementwise", batch=families.pointwise, promote="common")
REMAINDER = "r = fmod(self, other); r + other if r != 0 and (other < 0) != (r < 0) else r"
remainder_in_float32, fmod_in_float32 = in_float32(remainder_kernel), in_float32(fmod_kernel)
defop(
    "remainder.Tensor(Tensor self, Tensor other) -> Tensor",
    kernel=remainder_in_float32, inplace=True, node="RemainderBackward1",
    vjp=dict(self=lambda grad: grad, other=quotient_rule("floor")), **shared,
    lower=REMAINDER, masked="binary",
    doc="""The remainder with the sign of the divisor.
    >>> torch.remainder(torch.tensor([-3.0, 3.0]), 2)
    tensor([1., 1.])
    """,
)
defop(
    "remainder.Scalar(Tensor self, Scalar other) -> Tensor",
    kernel=lambda xp, self, other: remainder_in_float32(xp, self, number_like(xp, self, other)),
    vjp=dict(self=lambda grad: grad), inplace=True, scalars=("other",), **shared, lower=REMAINDER,
)
defop(
    "remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
    out="aten",
    kernel=lambda xp, self, other: remainder_in_float32(xp, number_like(xp, other, self), other),
    vjp=dict(other=quotient_rule("floor")), scalars=("self",), variants="function",
    node="RemainderBackward2", **shared, lower=REMAINDER,
)
defop(
    "fmod.Tensor(Tensor self, Tensor other) -> Tensor",
    kernel=fmod_in_float32, inplace=True, node="FmodBackward1",
    vjp=dict(self=lambda grad: grad, other=quotient_rule("trunc")), **shared,
    lower="fmod(self, other)", masked="binary",
    doc="""The remainder with the sign of the dividend.
    >>> torch.fmod(torch.tensor([-3.0, 3.0]), 2)
    tensor([-1.,  1.])
    """,
)
defop(
    "fmod.Scalar(Tensor self, Scalar other) -> Tensor",
    kernel=lambda xp, self, other: fmod_in_float32(xp, self, number_like(xp, self, other)),
    vjp=dict(self=lambda grad: grad), inplace=True, scalars=("other",), **shared, lower="fmod(self, other)",
)


# ---- maximum and minimum; at a tie each operand gets half of the gradient
def tie_rules(loses: str, wins: str) -> Any:
    """The rules of maximum and minimum; `loses` and `wins` compare the first operand with the second."""
    def rule(grad: Any, self: Any, other: Any, comparison: str) -> Any:
        half = over(grad, 2)
        return blanked(where(self.eq(other), half, grad), getattr(self, comparison)(other))
    return dict(self=lambda grad, self, other: rule(grad, self, other, loses),
                other=lambda grad, self, other: rule(grad, self, other, wins))


def nan_rules(wins: str) -> Any:
    """The rules of fmax and fmin, which ignore NaN; at a tie the first operand is chosen."""
    def chosen(self: Any, other: Any) -> Any:
        return changed(getattr(self, wins)(other), "logical_or", other.isnan())
    return dict(self=lambda grad, self, other: grad.masked_fill(changed(chosen(self, other), "logical_not"), 0),
                other=lambda grad, self, other: grad.masked_fill(chosen(self, other), 0))


def tie_tangent(wins: str) -> Any:
    """The tangent of maximum or minimum; at a NaN it is the second one's."""
    def tangent(self_p: Any, self_t: Any, other_p: Any, other_t: Any) -> Any:
        won = getattr(self_p, wins)(other_p)
        share = where(self_p.eq(other_p), 0.5, won.to(self_p.dtype))
        return other_t + (self_t - other_t) * share
    return tangent


def fmax_tangent(self_p: Any, self_t: Any, other_p: Any, other_t: Any) -> Any:
    """At a tie forward mode chooses the second operand, backward mode the first, as PyTorch's formulas do."""
    return where(self_p.gt(other_p).logical_or(other_p.isnan()), self_t, other_t)


for extreme, node, rules, tangent in (("maximum", "Max", tie_rules("lt", "gt"), tie_tangent("gt")),
                                      ("minimum", "Min", tie_rules("gt", "lt"), tie_tangent("lt")),
                                      ("fmax", None, nan_rules("ge"), fmax_tangent),
                                      ("fmin", None, nan_rules("le"), "elementwise")):
    defop(
        f"{extreme}(Tensor self, Tensor other) -> Tensor",
        kernel=ufunc(extreme), check=refuse(f"{extreme} not implemented for complex tensors.", "c"), vjp=rules,
        jvp=tangent, batch=families.pointwise, promote="common", lower=f"{extreme}(self, other)", masked="binary", onnx=node,
    )


# ---- clamping: the gradient passes where the bound is not exceeded, including equality
COMPLEX_CLAMP = "clamp is not supported for complex types"
NO_BOUNDS = "torch.clamp: At least one of 'min' or 'max' must not be None"


def bounded(xp: Any, self: Any, low: Any, high: Any) -> Any:
    if low is not None:
        self = xp.maximum(self, low)
    return self if high is None else xp.minimum(self, high)


def check_bounds(self: Any, low: Any, high: Any) -> None:
    if low is None and high is None:
        raise RuntimeError(NO_BOUNDS)
    if is_complex_type(self.array.dtype):
        raise NotImplementedError(COMPLEX_CLAMP)
    for t in (low, high):
        if isinstance(t, complex) and self.array.dtype.kind in "biu":
            raise NotImplementedError(COMPLEX_CLAMP)
        if isinstance(t, complex):
            raise RuntimeError("value cannot be converted to type double without overflow")
        if isinstance(t, Tensor) and is_complex_type(t.array.dtype):
            raise unsupported("maximum_cpu" if high is None else "minimum_cpu" if low is None else "clamp_cpu", t.array.dtype)


check_bounds.refused_kinds = "c"  # type: ignore[attr-defined]


def check_bound(self: Any, bound: Any) -> None:
    if is_complex_type(self.array.dtype) or isinstance(bound, complex):
        raise NotImplementedError(COMPLEX_CLAMP)


def clamp_kernel(xp: Any, self: Any, low: Any, high: Any) -> Any:
    if self.dtype.kind == "b":
        bound = "" if None not in (low, high) else "_min" if high is None else "_max"
        raise unsupported(f"clamp{bound}_scalar_cpu", self.dtype)
    low, high = (None if bound is None else bound_like(xp, self, bound) for bound in (low, high))
    return bounded(xp, self, low, high)


def bound_like(xp: Any, self: Any, bound: Any) -> Any:
    """The bound in the tensor's dtype; negative ones wrap around for unsigned integers."""
    if self.dtype.kind in "iu":
        limits = xp.iinfo(self.dtype)
        low = limits.min if self.dtype.kind == "i" else -limits.max
        if not low <= bound <= limits.max:
            raise RuntimeError(f"value cannot be converted to type {self.dtype}_t without overflow")
    return number_like(xp, self, bound)


def clamp_tensor_kernel(xp: Any, self: Any, low: Any, high: Any) -> Any:
    if self.dtype.kind == "b" and low is not None and high is not None:
        raise unsupported("clamp_cpu", self.dtype)
    return bounded(xp, self, low, high)


def clamp_backward(grad: Any, self: Any, min: Any, max: Any) -> Any:
    zero = number_beside(0, grad)
    if min is not None and max is not None:
        return where(self.ge(min).logical_and(self.le(max)), grad, zero)
    if min is not None:
        return where(self.ge(min), grad, zero)
    return where(self.le(max), grad, zero) if max is not None else grad


def clamp_backward_bounds(grad: Any, self: Any, min: Any, max: Any, needed: Any) -> Any:
    zero = number_beside(0, grad)
    below = above = None
    if needed[1]:
        below = where(self.lt(min).logical_and(min.lt(max)) if max is not None else self.lt(min), grad, zero)
    if needed[2]:
        above = where(self.gt(max).logical_or(max.lt(min)) if min is not None else self.gt(max), grad, zero)
    return below, above


def clamp_tangent(self_p: Any, self_t: Any, min_p: Any, min_t: Any, max_p: Any, max_t: Any) -> Any:
    """At a tie the bound is chosen if there is one bound, the tensor if there are both."""
    if max_p is None:
        return where(self_p.gt(min_p), self_t, min_t)
    if min_p is None:
        return where(self_p.lt(max_p), self_t, max_t)
    inside = where(self_p.lt(min_p), min_t, where(self_p.gt(max_p), max_t, self_t))
    return where(min_p.gt(max_p), max_t, inside)


def masked_where(grad: Any, self: Any, bound: Any, comparison: str) -> Any:
    zero = number_beside(0, grad)
    return where(getattr(self, comparison)(bound), grad, zero)


def bound_rule(comparison: str, bound: str) -> Any:
    """The gradient where the comparison of the tensor with a bound holds."""
    if bound == "min":
        return lambda grad, self, min: masked_where(grad, self, min, comparison)
    return lambda grad, self, max: masked_where(grad, self, max, comparison)


clamp_columns: dict[str, Any] = dict(jvp="elementwise", batch=families.pointwise, promote="common", inplace="function")
defop(
    "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
    kernel=clamp_tensor_kernel, check=check_bounds,
    vjp={"self": clamp_backward, ("min", "max"): clamp_backward_bounds},
    **{**clamp_columns, "jvp": clamp_tangent},
    lower={
        "max=None": "maximum(self, min)",
        "min=None": "minimum(self, max)",
        "": "minimum(maximum(self, min), max)",
    }, traits=("piecewise_linear",), masked="unary",
    doc="""Each element, or the bound that it is beyond.
    >>> torch.clamp(torch.tensor([-3.0, 0.5, 3.0]), min=-1, max=1)
    tensor([-1.0000,  0.5000,  1.0000])
    """,
)
defop(
    "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
    kernel=clamp_kernel, check=check_bounds, out="found",
    vjp=dict(self=clamp_backward), node="ClampBackward1", scalars=("min", "max"),
    **clamp_columns,
    lower={
        "max=None": "self if self != self else maximum(self, min)",
        "min=None": "self if self != self else minimum(self, max)",
        "": "self if self != self else minimum(maximum(self, min), max)",
    }, traits=("piecewise_linear",),
)
defop(
    "clamp_min.Tensor(Tensor self, Tensor min) -> Tensor",
    kernel=limited("maximum_cpu", "biufV", ufunc("maximum")), node="ClampMinBackward1",
    vjp=dict(self=bound_rule("ge", "min"), min=bound_rule("lt", "min")),
    **{**clamp_columns, "jvp": lambda self_p, self_t, min_p, min_t: where(self_p.ge(min_p), self_t, min_t)},
    lower="maximum(self, min)", traits=("piecewise_linear",),
)
defop(
    "clamp_min(Tensor self, Scalar min) -> Tensor",
    kernel=limited("clamp_min_scalar_cpu", "iufV", lambda xp, self, min: clamp_kernel(xp, self, min, None)), scalars=("min",),
    check=lambda self, min: check_bound(self, min), out="found",
    vjp=dict(self=bound_rule("ge", "min")), **clamp_columns,
    lower="maximum(self, min)", traits=("piecewise_linear",),
)
defop(
    "clamp_max.Tensor(Tensor self, Tensor max) -> Tensor",
    kernel=limited("minimum_cpu", "biufV", ufunc("minimum")), node="ClampMaxBackward1",
    vjp=dict(self=bound_rule("le", "max"), max=bound_rule("gt", "max")),
    **{**clamp_columns, "jvp": lambda self_p, self_t, max_p, max_t: where(self_p.le(max_p), self_t, max_t)},
    lower="minimum(self, max)", traits=("piecewise_linear",),
)
defop(
    "clamp_max(Tensor self, Scalar max) -> Tensor",
    kernel=limited("clamp_max_scalar_cpu", "iufV", lambda xp, self, max: clamp_kernel(xp, self, None, max)), scalars=("max",),
    check=lambda self, max: check_bound(self, max), out="found",
    vjp=dict(self=bound_rule("le", "max")), **clamp_columns,
    lower="minimum(self, max)", traits=("piecewise_linear",),
)


# ---- three operands
def check_same_dtypes(self: Any, end: Any, weight: Any) -> None:
    for name, t in (("end", end), ("weight", weight)):
        if isinstance(t, Tensor) and t.dtype is not self.dtype and not (name == "weight" and t.array.ndim == 0):
            raise RuntimeError(f"expected dtype {C_NAMES[self.dtype.name]} for `{name}` but got dtype {C_NAMES[t.dtype.name]}")


def lerp_kernel(xp: Any, self: Any, end: Any, weight: Any) -> Any:
    """Computed from the nearer end, so that weights 0 and 1 give the ends exactly."""
    away = end - self
    if weight.ndim == 0:
        return self + weight * away if abs(weight) < 0.5 else end - away * (1 - weight)
    one, half = (number_like(xp, weight, 1), number_like(xp, weight, 0.5)) if weight.dtype.kind == "f" else (1, 0.5)
    return xp.where(xp.less(xp.absolute(weight), half), self + weight * away, end - away * (one - weight))


defop(
    "lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
    out="found",
    kernel=limited("lerp_kernel_tensor", "fVc", lerp_kernel),
    check=check_same_dtypes, promote="common", widen=True, inplace=True, jvp="elementwise", batch=families.pointwise,
    node="LerpBackward1",
    vjp=dict(self=lambda grad, weight: grad * conj(less_from(1, weight)), end=lambda grad, weight: grad * conj(weight),
             weight=lambda grad, self, end: grad * conj(end - self)),
    lower="self + weight * (end - self) if abs(weight) < 0.5 else end - (end - self) * (1 - weight)",
    doc="""The way from `input` to `end`, of which `weight` is gone.
    >>> torch.lerp(torch.tensor([0.0]), torch.tensor([10.0]), 0.3)
    tensor([3.])
    """,
)
defop(
    "lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
    kernel=limited("lerp_kernel_scalar", "fVc",
                   lambda xp, self, end, weight: lerp_kernel(xp, self, end, number_like(xp, self, weight))),
    check=check_same_dtypes, promote="common", widen=True, inplace=True, jvp="linear", batch=families.pointwise,
    vjp=dict(self=lambda grad, weight: times(grad, 1 - conj(weight)), end=lambda grad, weight: times(grad, conj(weight))),
    lower="self + weight * (end - self) if abs(weight) < 0.5 else end - (end - self) * (1 - weight)",
)


@accepts_floats
def check_addcdiv(self: Any, tensor1: Any, tensor2: Any, value: Any) -> None:
    if all(t.array.dtype.kind in "biu" for t in (tensor1, tensor2)):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true "
            "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
            "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for "
            "float inputs. The future addcdiv behavior is just the latter implementation: (input + value * tensor1 / tensor2), "
            "for all dtypes.")


def addcdiv_last(grad: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
    square = tensor2 * tensor2
    return minus_times(grad, conj(times(tensor1, value) / square))


VALUE_NAMES = {"float32": "float", "float64": "double", "int32": "int", "complex64": "c10::complex<float>",
               "complex128": "c10::complex<double>"}


def fitting(xp: Any, self: Any, value: Any) -> Any:
    """The number in the dtype of the tensor; raises if it does not fit."""
    if isinstance(value, complex) or not -128 < value < 128:
        dtype = self.dtype
        limit = xp.finfo(dtype).max if dtype.kind in "fc" else xp.iinfo(dtype).max
        if (dtype.kind != "c" and value.imag) or limit < abs(value) < float("inf"):
            shown = VALUE_NAMES.get(dtype.name, f"{dtype.name}_t")
            raise RuntimeError(f"value cannot be converted to type {shown} without overflow")
    return number_like(xp, self, value)


defop(
    "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    kernel=limited("addcmul_cpu_out", "iufVc", lambda xp, self, tensor1, tensor2, value:
                   self + fitting(xp, self, value) * tensor1 * tensor2),
    vjp=dict(self=lambda grad: grad, tensor1=lambda grad, tensor2, value: grad * conj(times(tensor2, value)),
             tensor2=lambda grad, tensor1, value: grad * conj(times(tensor1, value))),
    jvp="elementwise", batch=families.pointwise, promote="common", widen=True, inplace=True,
    lower="self + value * tensor1 * tensor2", deprecated=("self, value, tensor1, tensor2",),
)
defop(
    "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    kernel=lambda xp, self, tensor1, tensor2, value: self + fitting(xp, self, value) * tensor1 / tensor2,
    check=check_addcdiv,
    vjp=dict(self=lambda grad: grad, tensor1=lambda grad, tensor2, value: grad * conj(divided_by(value, tensor2)),
             tensor2=addcdiv_last),
    jvp="elementwise", batch=families.pointwise, promote="common", widen=True, inplace=True,
    lower="self + value * tensor1 / tensor2", deprecated=("self, value, tensor1, tensor2",),
)

arithmetic_alias: Any = dict(numbers=True, number_form="printed")
alias_rows("multiply", "mul", "Tensor(Tensor self, Tensor other)", **arithmetic_alias)
alias_rows("true_divide", "div", "Tensor(Tensor self, Tensor other)", **arithmetic_alias)
alias_rows("subtract", "sub", "Tensor(Tensor self, Tensor other, *, Scalar alpha=1)", deprecated=("self, alpha, other",),
           **arithmetic_alias)
alias_rows("divide", "div", "Tensor(Tensor self, Tensor other)",
           "Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode)", **arithmetic_alias)
alias_rows("negative", "neg", "(Tensor self)", inplace="function")
alias_rows("clip", "clamp", "Tensor(Tensor self, Tensor? min=None, Tensor? max=None)",
           "(Tensor self, Scalar? min=None, Scalar? max=None)", inplace="function")

for name, op in dict(add=add, sub=sub, mul=mul, div=div, neg=neg, rsub=rsub).items():
    op.prepare()
    setattr(operators, name, op)
