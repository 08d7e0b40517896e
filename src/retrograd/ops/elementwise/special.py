"""Special functions beyond the common ones: incomplete gamma and zeta functions, Bessel functions, orthogonal polynomials."""
from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from retrograd.core import dtypes, lean
from retrograd.core.algorithms import native, native_on_copies
from retrograd.core.dispatch import call
from retrograd.core.opdef import OpDef, defop
from retrograd.core.tensor import FUNCTIONS_BY_NAME
from retrograd.ops import late
from retrograd.ops.shared import families
from retrograd.ops.shared.bessel import I0E, I1E
from retrograd.ops.shared.dtype_checks import asked_always, takes
from retrograd.ops.shared.elementwise import (
    alias_rows,
    changed,
    forwarder,
    minus,
    over,
    plus,
    times,
    unsupported,
    where,
)
from retrograd.ops.shared.families import number_like

SINGLE_AND_DOUBLE = "fd"
ROOT_TWO_PI = math.sqrt(2 * math.pi)
TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)


@cache
def functions() -> Any:
    """SciPy's special functions, imported when they are needed."""
    from scipy import special
    return special


def by_scipy(name: str, scipy_name: str, halves: bool = False) -> Any:
    """A kernel that is one SciPy function; `name` is used in the error for unsupported dtypes."""
    found: list[Any] = []

    def kernel(xp: Any, *arrays: Any) -> Any:
        check_dtype(name, arrays[0], halves)
        if not found:
            found.append(getattr(functions(), scipy_name))
        made = found[0](*arrays)
        return made if type(made) is np.ndarray and made.dtype is arrays[0].dtype else np.asarray(made).astype(
            arrays[0].dtype, copy=False)
    kernel.library = f"scipy.special.{scipy_name}"  # type: ignore[attr-defined]
    return kernel


def check_dtype(name: str, array: Any, halves: bool = False) -> None:
    if array.dtype.char not in SINGLE_AND_DOUBLE and not (halves and array.dtype.itemsize == 2 and array.dtype.kind in "fV"):
        raise unsupported(name, array.dtype)


def unary(name: str, kernel: Any, rule: Any = None, *, argument: str = "self", widen: bool = False,
          node: str | None = None, lower: str | None = None, check: Any = None) -> OpDef:
    return defop(f"special_{name}(Tensor {argument}) -> Tensor", kernel=kernel, promote="float", widen=widen, node=node,
                 check=check, lower=lower, vjp=None if rule is None else {argument: rule},
                 jvp=None if rule is None else "elementwise", batch=families.pointwise, variants="")


# ---- the normal distribution
def entropy_kernel(xp: Any, self: Any) -> Any:
    if self.dtype.kind == "c":
        raise unsupported("entr_cpu", self.dtype)
    inside = xp.where(self > 0, -self * xp.log(xp.where(self > 0, self, 1)), xp.where(self == 0, 0, -math.inf))
    return xp.where(xp.isnan(self), self, inside).astype(self.dtype)


def i1e_rule(grad: Any, self: Any, result: Any) -> Any:
    """The quotient result / self is undefined at 0, where the derivative is 1/2."""
    tiny = float(np.finfo(self.array.dtype).eps)
    regular = self.abs().gt(tiny)
    safe = where(regular, self, tiny)
    inverse = safe.reciprocal()
    less = result * (safe.sgn() + inverse)
    return grad * where(regular, call(i0e, [safe]) - less, 0.5)


def i0e_rule(grad: Any, self: Any, result: Any) -> Any:
    less = self.sgn() * result
    return grad * (call(i1e, [self]) - less)


def ndtri_rule(grad: Any, result: Any) -> Any:
    density = over(result.square(), 2).exp()
    return grad * times(density, ROOT_TWO_PI)


def log_ndtr_rule(grad: Any, self: Any, result: Any) -> Any:
    density = (-(result + over(self.pow(2), 2))).exp()
    return over(density, ROOT_TWO_PI) * grad


entr = unary("entr", entropy_kernel, lambda grad, self: grad * -plus(self.log(), 1), widen=True,
             lower="self if self != self else -self * log(self) if self > 0 else 0 if self == 0 else -inf")
erfcx = unary("erfcx", by_scipy("erfcx_cpu", "erfcx"),
              lambda grad, self, result: minus(times(self, 2) * result, TWO_OVER_ROOT_PI) * grad)
ndtri = unary("ndtri", by_scipy("ndtri_cpu", "ndtri"),
              ndtri_rule)
log_ndtr = unary("log_ndtr", by_scipy("log_ndtr_cpu", "log_ndtr"), log_ndtr_rule)
i0e = unary("i0e", by_scipy("i0e_cpu", "i0e", halves=True), i0e_rule, widen=True,
            node="SpecialI0EBackward0", lower=I0E)
i1e = unary("i1e", by_scipy("i1e_cpu", "i1e", halves=True), i1e_rule, widen=True, node="SpecialI1EBackward0",
            lower=I1E)
defop("special_ndtr(Tensor self) -> Tensor", composite=True, variants="",
      kernel=lambda self: times(plus(times(self, math.sqrt(0.5)).erf(), 1), 0.5), traits=("out_copied",))


# ---- incomplete gamma functions
def missing(what: str) -> Any:
    """A rule for a derivative that is not implemented, as in PyTorch."""
    def rule(grad: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{what}' is not implemented.")
    rule.missing = True  # type: ignore[attr-defined]
    return rule


def gamma_density(self: Any, other: Any) -> Any:
    return (plus(self, -1) * other.log() - other - self.lgamma()).exp()


def gamma_integral(name: str, scipy_name: str) -> Any:
    exact = by_scipy(f"{name}_cpu", scipy_name, halves=True)

    def kernel(xp: Any, self: Any, other: Any) -> Any:
        made = native_on_copies(native, name, self, other)
        return exact(xp, self, other) if made is None else made
    return kernel


for name, scipy_name, sign in (("igamma", "gammainc", 1), ("igammac", "gammaincc", -1)):
    defop(
        f"{name}(Tensor self, Tensor other) -> Tensor",
        kernel=gamma_integral(name, scipy_name), promote="common", widen=True, inplace=True,
        vjp=dict(self=missing(f"{name}: input"),
                 other=(lambda grad, self, other: grad * gamma_density(self, other)) if sign > 0 else
                       (lambda grad, self, other: -grad * gamma_density(self, other))),
        jvp="elementwise", batch=families.pointwise, lower=f"@native.{name}",
    )


# ---- zeta, the multivariate gamma function
def zeta_kernel(xp: Any, self: Any, other: Any) -> Any:
    check_dtype("zeta_cpu", self)
    made = functions().zeta(self, other).astype(self.dtype, copy=False)
    return xp.where(xp.isposinf(other) & xp.asarray(self > 1), self.dtype.type(xp.nan), made)        # as PyTorch's series


def zeta_slope(grad: Any, self: Any, other: Any) -> Any:
    raised = self + 1.0 if not hasattr(self, "array") else plus(self, 1.0)
    return grad * -self * late.special_zeta(raised, other)


def with_number(kernel: Any, first: bool) -> Any:
    """A kernel for one number and one array."""
    if first:
        return lambda xp, number, array: kernel(xp, number_like(xp, array, number), array)
    return lambda xp, array, number: kernel(xp, array, number_like(xp, array, number))


zeta = defop(
    "special_zeta(Tensor self, Tensor other) -> Tensor",
    kernel=zeta_kernel, promote="float", vjp=dict(self=missing("zeta"), other=zeta_slope),
    jvp="elementwise", batch=families.pointwise, variants="",
)
FUNCTIONS_BY_NAME["special_zeta"] = zeta.packet
defop(
    "special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor",
    kernel=with_number(zeta_kernel, True), promote="float", vjp=dict(other=zeta_slope),
    jvp="elementwise", batch=families.pointwise, variants="",
    scalars=("self",), node="SpecialZetaBackward1",
)
defop(
    "special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor",
    kernel=with_number(zeta_kernel, False), promote="float", vjp=dict(self=missing("zeta")),
    jvp="elementwise", batch=families.pointwise, variants="", scalars=("other",), node="SpecialZetaBackward2",
)


def check_mvlgamma(self: Any, p: int) -> None:
    if self.dtype is dtypes.bool_:
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")


def mvlgamma_kernel(xp: Any, self: Any, p: int) -> Any:
    if self.dtype.kind == "c":
        raise unsupported("arange_cpu", self.dtype)
    shifts = xp.arange(p, dtype=self.dtype) * self.dtype.type(0.5) + self.dtype.type(0.5 - p / 2)
    made = functions().gammaln(xp.asarray(self, order="C")[..., None] + shifts).sum(-1) + p * (p - 1) / 4 * math.log(math.pi)
    return xp.asarray(made).astype(self.dtype, copy=False)


def mvlgamma_rule(grad: Any, self: Any, p: int) -> Any:
    shifts = late.arange(-p / 2 + 0.5, 0.5, 0.5, dtype=self.dtype, device=self.device)
    return grad * changed(shifts + self.unsqueeze(-1), "digamma").sum(-1)


mvlgamma = defop(
    "mvlgamma(Tensor self, int p) -> Tensor",
    kernel=mvlgamma_kernel, check=check_mvlgamma, vjp=dict(self=mvlgamma_rule), jvp="elementwise", batch=families.pointwise,
    promote="float", widen=True, inplace=True,
)


# ---- products with logarithms
def xlog1py_kernel(xp: Any, self: Any, other: Any) -> Any:
    if self.dtype.kind == "c":
        raise unsupported("xlog1py_cpu", self.dtype)
    product = xp.where(self == 0, number_like(xp, self, 0), self * xp.log1p(other))
    return xp.where(xp.isnan(other), number_like(xp, self, math.nan), product)


def xlog1py_self(grad: Any, self: Any, other: Any) -> Any:
    made = call(xlog1py, [grad, other])
    low = other.le(-1)
    return made.masked_fill(self.eq(0).bitwise_and(low), 0)


def xlog1py_other_rule(grad: Any, self: Any, other: Any) -> Any:
    whole = plus(other, 1)
    return grad * self / whole


xlog1py_columns: Any = dict(lower="other if other != other else 0 if self == 0 else self * log1p(other)",
                            promote="float", widen=True, jvp="elementwise", batch=families.pointwise, variants="")
xlog1py = defop(
    "special_xlog1py(Tensor self, Tensor other) -> Tensor",
    kernel=xlog1py_kernel, vjp=dict(self=xlog1py_self, other=xlog1py_other_rule),
    node="SpecialXlog1PyBackward0", **xlog1py_columns,
)
defop(
    "special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor",
    kernel=with_number(xlog1py_kernel, True), vjp=dict(other=lambda grad, self, other: times(grad, self) / plus(other, 1)),
    scalars=("self",), node="SpecialXlog1PyBackward1", **xlog1py_columns,
)
def xlog1py_number(grad: Any, self: Any, other: Any) -> Any:
    made = call(xlog1py_other, [grad, other])
    return made if other > -1 else made.masked_fill(self.eq(0), 0)


xlog1py_other = defop(
    "special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor",
    kernel=with_number(xlog1py_kernel, False), scalars=("other",), node="SpecialXlog1PyBackward2",
    vjp=dict(self=xlog1py_number), **xlog1py_columns,
)


# ---- Bessel functions
def airy_kernel(xp: Any, x: Any) -> Any:
    check_dtype("airy_ai_cpu", x)
    return functions().airy(x)[0]


def spherical_kernel(xp: Any, x: Any) -> Any:
    square = x * x
    small = 1 + square * (-1 / 6 + square * (1 / 120 + square * (-1 / 5040 + square * (1 / 362880 + square * (
        -1 / 39916800 + square / 6227020800)))))
    return xp.where(xp.isinf(x), 0, xp.where(xp.abs(x) < 0.5, small, xp.sin(x) / x)).astype(x.dtype)


for name, scipy_name in (("bessel_j0", "j0"), ("bessel_j1", "j1"), ("bessel_y0", "y0"), ("bessel_y1", "y1"),
                         ("modified_bessel_i0", "i0"), ("modified_bessel_i1", "i1"), ("modified_bessel_k0", "k0"),
                         ("modified_bessel_k1", "k1")):
    unary(name, by_scipy(f"{name}_cpu", scipy_name))
unary("scaled_modified_bessel_k0", by_scipy("scaled_modified_bessel_k0_cpu", "k0e"), argument="x")
unary("scaled_modified_bessel_k1", by_scipy("scaled_modified_bessel_k1_cpu", "k1e"), argument="x")
unary("airy_ai", airy_kernel, argument="x")
unary("spherical_bessel_j0", spherical_kernel, argument="x",
      check=asked_always(takes("spherical_bessel_j0_cpu", "FIB")),
      lower="s = x * x; 0 if abs(x) == inf else 1 + s * (-1 / 6 + s * (1 / 120 + s * (-1 / 5040 + s * (1 / 362880 + s * ("
            "-1 / 39916800 + s / 6227020800))))) if abs(x) < 0.5 else sin(x) / x")


# ---- orthogonal polynomials, by their recurrences: first(x) and then step(x, k, the last one, the one before); the sum of two
# arrays takes half the time of the product with a Python number
def chebyshev_step(x: Any, k: int, last: Any, before: Any) -> Any:
    return (x + x) * last - before


POLYNOMIALS: dict[str, tuple[Any, Any]] = {
    "chebyshev_polynomial_t": (lambda x: x, chebyshev_step),
    "chebyshev_polynomial_u": (lambda x: x + x, chebyshev_step),
    "chebyshev_polynomial_v": (lambda x: x + x - 1, chebyshev_step),
    "chebyshev_polynomial_w": (lambda x: x + x + 1, chebyshev_step),
    "hermite_polynomial_h": (lambda x: x + x, lambda x, k, last, before: (x + x) * last - 2 * k * before),
    "hermite_polynomial_he": (lambda x: x, lambda x, k, last, before: x * last - k * before),
    "laguerre_polynomial_l": (lambda x: 1 - x,
                              lambda x, k, last, before: ((2 * k + 1 - x) * last - k * before) / (k + 1)),
    "legendre_polynomial_p": (lambda x: x, lambda x, k, last, before: ((2 * k + 1) * x * last - k * before) / (k + 1)),
}


# Chebyshev polynomials between -1 and 1 as functions of the angle: (minimum degree, value).
ANGLES: dict[str, tuple[int, Any]] = {
    "chebyshev_polynomial_t": (6, lambda xp, n, angle: xp.cos(n * angle)),
    "chebyshev_polynomial_u": (8, lambda xp, n, angle: xp.sin((n + 1) * angle) / xp.sin(angle)),
    "chebyshev_polynomial_v": (8, lambda xp, n, angle: xp.cos((n + 0.5) * angle) / xp.cos(angle / 2)),
    "chebyshev_polynomial_w": (8, lambda xp, n, angle: xp.sin((n + 0.5) * angle) / xp.sin(angle / 2)),
}
# At 1; at -1 times the sign of the parity.
ENDS: dict[str, tuple[Any, Any]] = {
    "chebyshev_polynomial_t": (lambda n: 1 + 0 * n, lambda n: 1 + 0 * n),
    "chebyshev_polynomial_u": (lambda n: n + 1, lambda n: n + 1),
    "chebyshev_polynomial_v": (lambda n: 1 + 0 * n, lambda n: 2 * n + 1),
    "chebyshev_polynomial_w": (lambda n: 2 * n + 1, lambda n: 1 + 0 * n),
    "legendre_polynomial_p": (lambda n: 1 + 0 * n, lambda n: 1 + 0 * n),
}
MOST_STEPS = 10**6               # maximum steps of a recurrence; more would take minutes


def polynomial_kernel(name: str, first: Any, step: Any, shifted: bool) -> Any:
    plain = name.removeprefix("shifted_")

    def kernel(xp: Any, x: Any, n: Any) -> Any:
        if not isinstance(x, xp.ndarray):
            x = number_like(xp, n, x)
        elif not isinstance(n, xp.ndarray):
            if x.dtype.kind == "f" and 0 <= n < FEW + 1:
                check_dtype(f"{name}_cpu", x)
                return few_steps(xp, x + x - number_like(xp, x, 1) if shifted else x, float(int(n)), first, step)
            n = number_like(xp, x, n)
        check_dtype(f"{name}_cpu", x)
        quick = few_steps(xp, x + x - number_like(xp, x, 1) if shifted else x, xp.trunc(n), first, step)
        if quick is not None:
            return quick
        degree = lean.broadcast_to(xp.trunc(n), lean.broadcast_shapes(x.shape, n.shape))
        x = lean.broadcast_to(x + x - 1 if shifted else x, degree.shape)
        result = xp.where(~(degree >= 0), lean.zeros_like(x), xp.where(degree == 0, xp.ones_like(x), first(x)))
        far = degree > 1
        if plain in ENDS:
            at_one, at_minus_one = ENDS[plain]
            signs = xp.where(degree % 2 == 0, 1, -1)
            result = xp.where(far & (x == 1), at_one(degree), result)
            result = xp.where(far & (x == -1), at_minus_one(degree) * signs, result)
            far = far & (abs(x) != 1)
        if plain in ANGLES:
            start, value = ANGLES[plain]
            inside = (degree > start) & (abs(x) < 1)
            result = xp.where(inside, value(xp, degree, xp.arccos(x)), result)
            far = far & ~inside
        elif plain.startswith("hermite"):
            steep = far & (degree > (128 if x.dtype.itemsize < 8 else 512))
            result = xp.where(steep, xp.nan, result)
            far = far & ~steep
        elif plain.startswith("laguerre"):
            result = xp.where(far & (x == 0), 1, result)
            far = far & (x != 0)
        result = recur(xp, step, x, degree, far, result, name, first)
        return xp.asarray(result).astype(x.dtype, copy=False)
    return kernel


FEW = 6                          # up to this degree all polynomials are computed by their recurrences alone


def few_steps(xp: Any, x: Any, degree: Any, first: Any, step: Any) -> Any:
    """The values where there are few degrees, all of them small; None otherwise. The recurrences are exact at the points for
    which higher degrees have formulas."""
    if type(degree) is float:
        degrees = {degree}
    elif x.size and 0 < degree.size <= 64:
        degrees = set(degree.ravel().tolist())
    else:
        return None
    for k in degrees:
        if not 0 <= k <= FEW:
            return None
    result = None
    before, last = number_like(xp, x, 1), first(x)
    for k in range(int(max(degrees)) + 1):
        if k > 1:
            before, last = last, step(x, k - 1, last, before)
        if k in degrees:
            value = last if k else before
            result = value if result is None else xp.where(degree == k, value, result)
    shape = x.shape if type(degree) is float else lean.broadcast_shapes(x.shape, degree.shape)
    if result is x or type(result) is not np.ndarray or result.shape != shape or not result.flags.writeable:
        return xp.array(lean.broadcast_to(xp.asarray(result), shape), x.dtype)
    return result


def recur(xp: Any, step: Any, x: Any, degree: Any, far: Any, result: Any, name: str, first: Any) -> Any:
    """Fill in the values at `far` by the recurrence, which ends where all of them are NaN."""
    before, last = xp.ones_like(x), first(x)
    most = float(xp.where(far, degree, 0).max(initial=0))
    k = 1
    while k < most:
        before, last = last, step(x, k, last, before)
        k += 1
        result = xp.where(far & (degree == k), last, result)
        if k % 64 == 0 and xp.isnan(last[far & (degree >= k)]).all():
            return xp.where(far & (degree >= k), xp.nan, result)
        if k == MOST_STEPS:
            raise ValueError(f"{name}: a polynomial of degree {most:g} takes too many steps, the most are {MOST_STEPS}. "
                             "Lower the degree.")
    return result


for name, (first, step) in POLYNOMIALS.items():
    for prefix in ("", "shifted_") if name.startswith("chebyshev") else ("",):
        full = prefix + name
        kernel = polynomial_kernel(full, first, step, bool(prefix))
        for overload, arguments, made, numbers in (("", "Tensor x, Tensor n", kernel, ()),
                                                   (".x_scalar", "Scalar x, Tensor n", kernel, ("x",)),
                                                   (".n_scalar", "Tensor x, Scalar n", kernel, ("n",))):
            defop(f"special_{full}{overload}({arguments}) -> Tensor", kernel=made, promote="float",
                  batch=families.pointwise, variants="", scalars=numbers, lower=f"@{full}")


# ---- torch.special names of ops declared elsewhere
ALIASES = {"digamma": "digamma", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "exp2": "exp2", "expit": "sigmoid",
           "expm1": "expm1", "gammaln": "lgamma", "i0": "i0", "log1p": "log1p", "psi": "digamma", "sinc": "sinc"}
for name, original in ALIASES.items():
    alias_rows(f"special_{name}", original, "(Tensor self)", inplace=False, variants="")
for name, original, schema in (("gammainc", "igamma", "(Tensor self, Tensor other)"),
                               ("gammaincc", "igammac", "(Tensor self, Tensor other)"),
                               ("logit", "logit", "(Tensor self, float? eps=None)"),
                               ("multigammaln", "mvlgamma", "(Tensor self, int p)"),
                               ("polygamma", "polygamma", "(int n, Tensor self)")):
    alias_rows(f"special_{name}", original, schema, inplace=False, variants="")
for overload, original, arguments in (("", "Tensor", "Tensor self, Tensor other"),
                                      (".self_scalar", "Scalar_Self", "Scalar self, Tensor other"),
                                      (".other_scalar", "Scalar_Other", "Tensor self, Scalar other")):
    defop(f"special_xlogy{overload}({arguments}) -> Tensor", kernel=forwarder("xlogy", original), composite=True, variants="")
defop("special_round(Tensor self, *, int decimals=0) -> Tensor", kernel=forwarder("round", "decimals"), composite=True,
      variants="")
defop("special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", composite=True, variants="", out=False,
      kernel=lambda self, dim, dtype: late.softmax(self, dim, dtype))
defop("special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", composite=True, variants="", out=False,
      kernel=lambda self, dim, dtype: late.log_softmax(self, dim, dtype))
