"""Elementwise mathematical functions: trigonometric, exponential, special, rounding; and tests such as isnan."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.core import dtypes, lean
from retrograd.core.dispatch import call
from retrograd.core.dtypes import BY_NUMPY, finfo, is_complex_type
from retrograd.core.opdef import OPS, OpDef, defop
from retrograd.core.state import tls
from retrograd.ops import late
from retrograd.ops.shared import families
from retrograd.ops.shared.bessel import I0, I1
from retrograd.ops.shared.elementwise import (
    alias_rows,
    less_from,
    limited,
    minus,
    no_complex_gradient,
    number_beside,
    plus,
    refuse,
    times,
    unsupported,
    where,
    zeros,
)
from retrograd.ops.shared.families import conj, number_like

FLOATS = "fV"


def function(name: str, kernel: Any, rule: Any, lower: str = "", **columns: Any) -> OpDef:
    """Declare a function of one real or complex number; integers become floats."""
    usual = dict(jvp="elementwise", batch=families.pointwise, promote="float", inplace="function", masked="unary")
    return defop(f"{name}(Tensor self) -> Tensor", kernel=kernel, vjp=dict(self=rule), lower=lower or None,
                 **{**usual, **columns})


# ---- trigonometric and hyperbolic functions
function("sin", "sin", lambda grad, self: grad * conj(self.cos()), "sin(self)", traits=("keeps_zero",),
         series=("partner", "cos", 1, -1), foreach=True, onnx="Sin",
         doc="""The sine of each element.
         >>> torch.sin(torch.tensor([0.0, 1.0]))
         tensor([0.0000, 0.8415])
         """)
function("cos", "cos", lambda grad, self: grad * -conj(self.sin()), "cos(self)", series=("partner", "sin", -1, 1),
         foreach=True, onnx="Cos",
         doc="""The cosine of each element.
         >>> torch.cos(torch.tensor([0.0, 1.0]))
         tensor([1.0000, 0.5403])
         """)
function("tan", "tan", lambda grad, result: grad * conj(plus(result.pow(2), 1)), "tan(self)", traits=("keeps_zero",),
         series=("slope", 1, 0, 1), foreach=True, onnx="Tan",
         doc="""The tangent of each element.
         >>> torch.tan(torch.tensor([0.0, 1.0]))
         tensor([0.0000, 1.5574])
         """)
function("asin", "arcsin", lambda grad, self: grad * conj(plus(-self * self, 1).rsqrt()), "asin(self)", traits=("keeps_zero",),
         foreach=True, onnx="Asin",
         doc="""The inverse sine of each element.
         >>> torch.asin(torch.tensor([0.0, 1.0]))
         tensor([0.0000, 1.5708])
         """)
function("acos", "arccos", lambda grad, self: grad * -conj(plus(-self * self, 1).rsqrt()), "acos(self)",
         foreach=True, onnx="Acos",
         doc="""The inverse cosine of each element.
         >>> torch.acos(torch.tensor([0.0, 1.0]))
         tensor([1.5708, 0.0000])
         """)
function("atan", "arctan", lambda grad, self: grad / conj(plus(self * self, 1)), "atan(self)", traits=("keeps_zero",),
         foreach=True, onnx="Atan",
         doc="""The inverse tangent of each element.
         >>> torch.atan(torch.tensor([0.0, 1.0]))
         tensor([0.0000, 0.7854])
         """)
function("sinh", "sinh", lambda grad, self: grad * conj(self.cosh()), "sinh(self)", traits=("keeps_zero",),
         series=("partner", "cosh", 1, 1), foreach=True, onnx="Sinh",
         doc="""The hyperbolic sine of each element.
         >>> torch.sinh(torch.tensor([0.0, 1.0]))
         tensor([0.0000, 1.1752])
         """)
function("cosh", "cosh", lambda grad, self: grad * conj(self.sinh()), "cosh(self)", series=("partner", "sinh", 1, 1),
         foreach=True, onnx="Cosh",
         doc="""The hyperbolic cosine of each element.
         >>> torch.cosh(torch.tensor([0.0, 1.0]))
         tensor([1.0000, 1.5431])
         """)
function("asinh", "arcsinh", lambda grad, self: grad * conj(plus(self.pow(2), 1).rsqrt()), "asinh(self)", inplace=None,
         traits=("keeps_zero",), onnx="Asinh")
function("acosh", "arccosh", lambda grad, self: acosh_rule(grad, self), "acosh(self)", inplace=None, onnx="Acosh")
def atanh_rule(grad: Any, self: Any) -> Any:
    slope = conj(less_from(1, self.pow(2)))
    return times(grad, 1) / slope


function("atanh", "arctanh", atanh_rule, "atanh(self)", inplace=None,
         traits=("keeps_zero",), onnx="Atanh")


def acosh_rule(grad: Any, self: Any) -> Any:
    """Uses two square roots for complex numbers, to stay on the principal branch."""
    if is_complex_type(self.array.dtype):
        return grad * conj(plus(self, 1).rsqrt() * minus(self, 1).rsqrt())
    return grad * minus(self * self, 1).rsqrt()


for name, numpy_name in dict(asinh="arcsinh", acosh="arccosh", atanh="arctanh").items():
    defop(
        f"{name}_(Tensor(a!) self) -> Tensor(a!)",
        kernel=numpy_name, vjp=OPS[name].default.vjp, jvp="elementwise", batch=families.pointwise, promote="float",
        node=f"{name.capitalize()}Backward1", out=False,
    )
for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh"):
    alias_rows(f"arc{name}", f"a{name}", "(Tensor self)", inplace="function")


# ---- exponentials and logarithms
def exp2_kernel(xp: Any, self: Any) -> Any:
    if self.dtype.kind != "c":
        return xp.exp2(self)
    scaled = xp.array(self)             # both parts by a real number: a complex one would make NaN of infinite parts
    for part in (scaled.real, scaled.imag):
        part *= number_like(xp, part, math.log(2))
    return xp.exp(scaled)


def log1p_kernel(xp: Any, self: Any) -> Any:
    """Complex numbers by parts, to keep the precision of small ones."""
    if self.dtype.kind != "c":
        return xp.log1p(self)
    x, y = self.real, self.imag
    near = xp.abs(self) < 0.5
    size = xp.where(near, xp.log1p(xp.where(near, x * (x + 2) + y * y, 0)) / 2, xp.log(xp.where(near, 1, xp.abs(self + 1))))
    made = xp.empty(self.shape, self.dtype)
    made.real, made.imag = size, xp.arctan2(y, x + 1)
    return made


function("exp", "exp", lambda grad, result: grad * conj(result), "exp(self)", series=("slope", 0, 1), foreach=True, onnx="Exp",
         doc="""The exponential of each element.
         >>> torch.exp(torch.tensor([0.0, 1.0]))
         tensor([1.0000, 2.7183])
         """)
function("exp2", exp2_kernel, lambda grad, result: times(grad * conj(result), math.log(2)), "exp2(self)",
         series=("slope", 0, math.log(2)))
function("expm1", "expm1", lambda grad, result: grad * plus(conj(result), 1), "expm1(self)", traits=("keeps_zero",),
         series=("slope", 1, 1), foreach=True,
         doc="""exp(x) - 1, exact for small x.
         >>> torch.expm1(torch.tensor([0.0, 1.0]))
         tensor([0.0000, 1.7183])
         """)
function("log", "log", lambda grad, self: grad / conj(self), "log(self)", series="log", foreach=True, onnx="Log",
         doc="""The natural logarithm of each element.
         >>> torch.log(torch.tensor([1.0, 2.0]))
         tensor([0.0000, 0.6931])
         """)
function("log2", "log2", lambda grad, self: grad / times(conj(self), 0.6931471805599453), "log2(self)", foreach=True,
         doc="""The logarithm to base 2 of each element.
         >>> torch.log2(torch.tensor([1.0, 8.0]))
         tensor([0., 3.])
         """)
function("log10", "log10", lambda grad, self: grad / times(conj(self), 2.3025850929940456), "log10(self)", foreach=True,
         doc="""The logarithm to base 10 of each element.
         >>> torch.log10(torch.tensor([1.0, 10.0]))
         tensor([0., 1.])
         """)
function("log1p", log1p_kernel, lambda grad, self: grad / conj(plus(self, 1)), "log1p(self)", node="Log1PBackward0",
         traits=("keeps_zero",), series=("log", 1), foreach=True,
         doc="""log(1 + x), exact for small x.
         >>> torch.log1p(torch.tensor([0.0, 1.0]))
         tensor([0.0000, 0.6931])
         """)


# ---- logit: the inverse of sigmoid
def logit_kernel(xp: Any, self: Any, eps: Any) -> Any:
    if self.dtype.kind == "c":
        raise unsupported("logit_cpu", self.dtype)
    one = number_like(xp, self, 1)
    if eps is not None and eps >= 0:
        low = number_like(xp, self, eps)
        self = xp.where(self < low, low, xp.minimum(self, one - low))
    return xp.log(self / (one - self))


def logit_backward_kernel(xp: Any, grad_output: Any, self: Any, eps: Any) -> Any:
    one = number_like(xp, self, 1)
    slope = grad_output / (self * (one - self))
    if eps is not None and eps >= 0:
        low = number_like(xp, self, eps)
        return xp.where(xp.logical_or(self < low, self > one - low), number_like(xp, self, 0), slope)
    infinite = grad_output * number_like(xp, self, math.inf)
    slope = xp.where(xp.logical_or(self == 0, self == 1), infinite, slope)
    return xp.where(xp.logical_and(self >= 0, self <= 1), slope, number_like(xp, self, math.nan))


def logit_double_backward(grad: Any, grad_output: Any, self: Any, eps: Any) -> Any:
    slope = call(logit_backward, [grad * grad_output, self, eps])
    return slope * minus(times(self, 2), 1) / (self * less_from(1.0, self))


logit_backward = defop(
    "logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor",
    kernel=limited("logit_backward_cpu", "fV", logit_backward_kernel), jvp="elementwise", batch=families.pointwise,
    promote="common", widen=True,
    vjp=dict(grad_output=lambda grad, self, eps: call(logit_backward, [grad, self, eps]), self=logit_double_backward),
    variants="", out=False,
    lower={"eps=None": "grad_output / (self * (1 - self)) if (self >= 0) & (self <= 1) else nan",
           "": "a = grad_output / (self * (1 - self)); b = a if (self >= 0) & (self <= 1) else nan; "
               "b if eps < 0 else 0 if (self < eps) | (self > 1 - eps) else a"},
)


def logit_rule(grad: Any, self: Any, eps: Any) -> Any:
    """The backward op, or a differentiable formula for double backward."""
    if not tls.grad_enabled:
        return call(logit_backward, [grad, self, eps])
    slope = grad / (self * less_from(1.0, self))
    if eps is not None and eps >= 0:
        return where(self.ge(eps).logical_and(self.le(1 - eps)), slope, 0.0)
    return where(self.ge(0.0).logical_and(self.le(1.0)), slope, math.nan)


defop(
    "logit(Tensor self, float? eps=None) -> Tensor",
    kernel=logit_kernel, vjp=dict(self=logit_rule), jvp="elementwise", batch=families.pointwise, promote="float", widen=True,
    inplace="function",
    lower={"eps=None": "log(self / (1 - self))",
           "": "a = self if eps < 0 else eps if self < eps else minimum(self, 1 - eps); log(a / (1 - a))"}, masked="unary",
)


# ---- special functions
def special(name: str, scipy_name: str) -> Any:
    """A kernel from SciPy, which is imported only when it is needed."""
    found: list[Any] = []

    def kernel(xp: Any, self: Any) -> Any:
        if self.dtype.kind == "c":
            raise unsupported(name, self.dtype)
        if not found:
            from scipy import special as functions
            found.append(getattr(functions, scipy_name))
        return found[0](self)
    kernel.library = f"scipy.special.{scipy_name}"  # type: ignore[attr-defined]
    return kernel


log_gamma = special("lgamma_vml_cpu", "gammaln")


def lgamma_kernel(xp: Any, self: Any) -> Any:
    return xp.where(xp.isinf(self), number_like(xp, self, math.inf), log_gamma(xp, self))


def trigamma(xp: Any, self: Any) -> Any:
    """By reflection below 1/2, six steps of the recurrence, then the asymptotic series."""
    low = self < 0.5
    sine = xp.sin(self * math.pi)
    result = xp.where(low, -(math.pi * math.pi) / (sine * sine), 0.0)
    x = xp.where(low, 1 - self, self)
    for _ in range(6):
        result = result + 1 / (x * x)
        x = x + 1
    inverse = 1 / (x * x)
    result = result + (1 + 1 / (2 * x) + inverse * (1 / 6 - inverse * (1 / 30 - inverse * (1 / 42)))) / x
    return xp.where(low, -result, result).astype(self.dtype)


def gaussian(self: Any, factor: float) -> Any:
    return times((-self.pow(2)).exp(), factor)


def polygamma_kernel(xp: Any, n: int, self: Any) -> Any:
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if self.dtype.kind == "c":
        raise unsupported("digamma" if n == 0 else "trigamma" if n == 1 else "polygamma", self.dtype)
    if n == 1:
        made = lean.natively(polygamma, 1, self)
        return trigamma(xp, self) if made is None else made
    from scipy import special as functions
    if n == 0:
        return functions.psi(self)
    return ((-1.0) ** (n + 1) * functions.gamma(n + 1.0) * functions.zeta(n + 1.0, self.astype(xp.float64))).astype(self.dtype)


def i1_rule(grad: Any, self: Any, result: Any) -> Any:
    """The quotient result / self is undefined at 0, where the derivative is 1/2."""
    if self.array.dtype.itemsize == 2:
        raise unsupported("i1_backward", self.array.dtype)
    tiny = float(np.finfo(self.array.dtype).eps)
    regular = self.abs().gt(tiny)
    safe = where(regular, self, tiny)
    return grad * where(regular, safe.i0() - result * safe.reciprocal(), 0.5)


TWO_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)
function("erf", special("erf_vml_cpu", "erf"), lambda grad, self: gaussian(self, TWO_OVER_ROOT_PI) * grad, "erf(self)",
         widen=True, traits=("keeps_zero",), foreach=True, onnx="Erf",
         doc="""The error function of each element.
         >>> torch.erf(torch.tensor([0.0, 1.0]))
         tensor([0.0000, 0.8427])
         """)
function("erfc", special("erfc_vml_cpu", "erfc"), lambda grad, self: gaussian(self, -TWO_OVER_ROOT_PI) * grad, "erfc(self)",
         widen=True, foreach=True)
function("erfinv", special("erfinv_vml_cpu", "erfinv"),
         lambda grad, self: times(self.erfinv().pow(2).exp(), 0.5 * math.sqrt(math.pi)) * grad, "erfinv(self)", widen=True,
         inplace=True, traits=("keeps_zero",))
function("lgamma", lgamma_kernel, lambda grad, self: grad * self.digamma(), "lgamma(self)", widen=True, inplace=True,
         foreach=True,
         doc="""The logarithm of the magnitude of the gamma function of each element.
         >>> torch.lgamma(torch.tensor([1.0, 4.0]))
         tensor([0.0000, 1.7918])
         """)
function("digamma", special("digamma", "psi"), lambda grad, self: grad * late.polygamma(1, self), widen=True,
         inplace=True)
function("i0", special("i0_vml_cpu", "i0"), lambda grad, self: grad * call(i1, [self]), I0, widen=True)
i1 = function("special_i1", special("i1_cpu", "i1"), i1_rule, I1, widen=True, inplace=None, variants="", masked=None)
TRIGAMMA = ("s = sin(self * 3.141592653589793); a = 1 - self if self < 0.5 else self; b = a + 1; c = a + 2; d = a + 3; "
            "e = a + 4; f = a + 5; x = a + 6; i = 1 / (x * x); "
            "r = 1 / (a * a) + 1 / (b * b) + 1 / (c * c) + 1 / (d * d) + 1 / (e * e) + 1 / (f * f) "
            "+ (1 + 1 / (2 * x) + i * (1 / 6 - i * (1 / 30 - i * (1 / 42)))) / x; "
            "9.869604401089358 / (s * s) - r if self < 0.5 else r")
polygamma = defop(
    "polygamma(int n, Tensor self) -> Tensor",
    kernel=polygamma_kernel, vjp=dict(self=lambda grad, n, self: grad * late.polygamma(n + 1, self)),
    jvp="elementwise", batch=families.pointwise, promote="float", widen=True, lower={"n=1": TRIGAMMA},
)
defop(
    "polygamma_(Tensor(a!) self, int n) -> Tensor(a!)",
    kernel=lambda xp, self, n: polygamma_kernel(xp, n, self),
    vjp=dict(self=lambda grad, n, self: grad * late.polygamma(n + 1, self)),
    jvp="elementwise", batch=families.pointwise, promote="float", widen=True, variants="method", out=False,
    node="PolygammaBackward1",
)


def sinc_kernel(xp: Any, self: Any) -> Any:
    angle = self * number_like(xp, self, math.pi)
    at_zero = xp.equal(self, number_like(xp, self, 0))
    return xp.where(at_zero, number_like(xp, self, 1), xp.sin(angle) / xp.where(at_zero, number_like(xp, self, 1), angle))


def sinc_rule(grad: Any, self: Any) -> Any:
    angle, square = times(self, math.pi), times(self * self, math.pi)
    sine = angle.sin()
    slope = grad * conj((angle * angle.cos() - sine) / square)
    zero = number_beside(0, slope)
    return where(square.eq(0.0), zero, slope)


function("sinc", sinc_kernel, sinc_rule, "a = self * 3.141592653589793; 1 if self == 0 else sin(a) / a", widen=True)


# ---- angles in degrees, the angle of a complex number
def scaled(factor: float) -> Any:
    return lambda xp, self: self * number_like(xp, self, factor)


DEGREE = math.pi / 180
function("deg2rad", scaled(DEGREE), lambda grad: times(grad, DEGREE), "self * 0.017453292519943295", widen=True,
         node="Deg2RadBackward0", jvp="linear",
         check=refuse("deg2rad is not supported for complex tensors.", "c"), traits=("keeps_zero",))
function("rad2deg", scaled(1 / DEGREE), lambda grad: times(grad, 1 / DEGREE), "self * 57.29577951308232", widen=True,
         node="Rad2DegBackward0", jvp="linear",
         check=refuse("rad2deg is not supported for complex tensors.", "c"), traits=("keeps_zero",))


def angle_kernel(xp: Any, self: Any) -> Any:
    if self.dtype.kind == "c":
        return xp.ascontiguousarray(xp.arctan2(self.imag, self.real)).reshape(self.shape)
    angles = xp.where(xp.less(self, number_like(xp, self, 0)), number_like(xp, self, math.pi), number_like(xp, self, 0))
    return xp.where(xp.isnan(self), self, angles)


def angle_rule(grad: Any, self: Any) -> Any:
    if not is_complex_type(self.array.dtype):
        return zeros(self)
    return where(self.eq(0), 0, times(grad * self / self.abs().pow(2), 1j))


def angle_tangent(self_p: Any, self_t: Any) -> Any:
    if not is_complex_type(self_p.array.dtype):
        return zeros(self_p)
    return where(self_p.eq(0), 0, late.imag(conj(self_p) * self_t) / self_p.abs().pow(2))


defop(
    "angle(Tensor self) -> Tensor",
    kernel=angle_kernel, vjp=dict(self=angle_rule), jvp=angle_tangent, batch=families.pointwise, promote="float",
    elementwise=False, lower="self if self != self else 3.141592653589793 if self < 0 else 0", pattern="elements",
    masked="unary",
)


# ---- rounding: the derivative is zero
def rounded(name: str, numpy_name: str, complex_error: str | None) -> Any:
    def kernel(xp: Any, self: Any) -> Any:
        kind = self.dtype.kind
        if kind == "c" and complex_error:
            raise NotImplementedError(complex_error)
        if kind in "bc":
            raise unsupported(f"{name}_vml_cpu", self.dtype)
        return self.copy(order="K") if kind in "iu" else getattr(xp, numpy_name)(self)
    return kernel


def round_decimals_kernel(xp: Any, self: Any, decimals: int) -> Any:
    if self.dtype.kind not in FLOATS:
        raise unsupported("round_cpu" if decimals else "round_vml_cpu", self.dtype)
    power = number_like(xp, self, 10.0 ** abs(decimals))
    return xp.rint(self / power) * power if decimals < 0 else xp.rint(self * power) / power


steps = dict(vjp=dict(self=zeros), jvp="elementwise", batch=families.pointwise, inplace="function", out="found",
             pattern="constant", traits=("keeps_zero",), masked="unary")
for name, node in (("floor", "Floor"), ("ceil", "Ceil"), ("trunc", None)):
    defop(f"{name}(Tensor self) -> Tensor", kernel=rounded(name, name, f"{name} is not supported for complex inputs"),
          lower=f"{name}(self)", **steps, foreach=True, onnx=node)
defop("round(Tensor self) -> Tensor", kernel=rounded("round", "rint", None), lower="rint(self)", **steps,
      foreach=True, onnx="Round",
      doc="""The nearest integer of each element, the even one of two.
      >>> torch.round(torch.tensor([0.5, 1.5, 2.4]))
      tensor([0., 2., 2.])
      """)
defop("round.decimals(Tensor self, *, int decimals) -> Tensor", kernel=round_decimals_kernel, widen=True, node="RoundBackward1",
      lower={"decimals=0": "rint(self)"}, **steps)
defop(
    "frac(Tensor self) -> Tensor",
    out="found",
    kernel=limited("frac_cpu", FLOATS, lambda xp, self: self - xp.trunc(self)), vjp=dict(self=lambda grad: grad),
    jvp="elementwise", batch=families.pointwise, inplace="function", widen=True,
    lower="self - trunc(self)", traits=("keeps_zero",), foreach=True, masked="unary",
)
alias_rows("fix", "trunc", "(Tensor self)", inplace="function")


# ---- NaN and infinity
def nan_to_num_kernel(xp: Any, self: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    if self.dtype.kind in "biu":
        return self.copy(order="K")
    if self.dtype.kind == "c":
        made = xp.empty_like(self)
        made.real, made.imag = (nan_to_num_kernel(xp, part, nan, posinf, neginf) for part in (self.real, self.imag))
        return made
    limits = finfo(BY_NUMPY[self.dtype])
    result = xp.where(xp.isnan(self), number_like(xp, self, 0.0 if nan is None else nan), self)
    result = xp.where(xp.equal(self, xp.inf), number_like(xp, self, limits.max if posinf is None else posinf), result)
    return xp.where(xp.equal(self, -xp.inf), number_like(xp, self, limits.min if neginf is None else neginf), result)


defop(
    "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
    out="same: nan_to_num: dtype of out: {out} should be same as input: {value}",
    kernel=nan_to_num_kernel, check=no_complex_gradient("nan_to_num"),
    vjp=dict(self=lambda grad, self: grad * self.isfinite()), jvp="elementwise", batch=families.pointwise, inplace="function",
    lower={"nan=None, posinf=None, neginf=None":
               "0 if self != self else largest if self == inf else -largest if self == -inf else self",
           "posinf=None, neginf=None":
               "nan if self != self else largest if self == inf else -largest if self == -inf else self",
           "": "nan if self != self else posinf if self == inf else neginf if self == -inf else self"}, traits=("keeps_zero",),
    masked="unary",
    doc="""NaN and infinities replaced by numbers.
    >>> torch.nan_to_num(torch.tensor([float("nan"), 1.0]))
    tensor([0., 1.])
    """,
)


def testing(numpy_name: str, of_integers: bool) -> Any:
    def kernel(xp: Any, self: Any) -> Any:
        if self.dtype.kind in "biu":
            return xp.full_like(self, of_integers, dtype=bool)
        return getattr(xp, numpy_name)(self)
    return kernel


def infinite(sign: int) -> Any:
    return lambda xp, self: lean.zeros_like(self, dtype=bool) if self.dtype.kind in "biu" else xp.equal(self, sign * xp.inf)


tests = dict(batch=families.pointwise)
defop("isnan(Tensor self) -> Tensor", kernel=testing("isnan", False), out=False, **tests, lower="self != self",
      traits=("keeps_zero", "chalf"), onnx="IsNaN", masked="unary",
      doc="""Where elements are NaN.
      >>> torch.isnan(torch.tensor([1.0, float("nan")]))
      tensor([False,  True])
      """)
defop("isinf(Tensor self) -> Tensor", kernel=testing("isinf", False), out=False, **tests, lower="abs(self) == inf",
      traits=("keeps_zero", "chalf"), onnx="IsInf",
      doc="""Where elements are infinite.
      >>> torch.isinf(torch.tensor([1.0, float("inf")]))
      tensor([False,  True])
      """)
defop("isfinite(Tensor self) -> Tensor", kernel=testing("isfinite", True), out=False, **tests, lower="abs(self) < inf",
      traits=("chalf",),
      doc="""Where elements are neither infinite nor NaN.
      >>> torch.isfinite(torch.tensor([1.0, float("inf")]))
      tensor([ True, False])
      """)
defop("isreal(Tensor self) -> Tensor", out=False, composite=True,
      kernel=lambda self: late.imag(self).eq(0) if self.is_complex() else late.ones_like(self, dtype=dtypes.bool_))
defop("isposinf(Tensor self) -> Tensor", out="same: isposinf does not support non-boolean outputs.",
      kernel=infinite(1),
      check=refuse("isposinf does not support complex inputs.", "c"), **tests, lower="self == inf", traits=("keeps_zero",))
defop("isneginf(Tensor self) -> Tensor", out="same: isneginf does not support non-boolean outputs.",
      kernel=infinite(-1),
      check=refuse("isneginf does not support complex inputs.", "c"), **tests, lower="self == -inf", traits=("keeps_zero",))
