"""Powers, signs, and functions of two operands: angles, logarithms of sums, distances."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.core import dtypes, lean
from retrograd.core.dispatch import call, is_ordinary
from retrograd.core.dtypes import BY_NUMPY, HALVES, is_complex_type
from retrograd.core.opdef import defop, find_packet
from retrograd.core.tensor import Tensor, new_tensor
from retrograd.ops import late
from retrograd.ops.elementwise.arithmetic import check_sub
from retrograd.ops.shared import families
from retrograd.ops.shared.dtype_checks import accepts_floats
from retrograd.ops.shared.elementwise import (
    alias_rows,
    blanked,
    in_float32,
    limited,
    minus,
    number_beside,
    plus,
    refuse,
    times,
    ufunc,
    unsupported,
    where,
    zeros,
    zeros_beside,
)
from retrograd.ops.shared.families import conj, number_like

FLOATS = "fV"


# ---- powers
def integer_power(xp: Any, base: Any, exponent: Any) -> Any:
    """Integer powers that wrap on overflow; a negative power is 0 except for bases 1 and -1."""
    result = xp.power(base, xp.maximum(exponent, 0))
    negative = xp.less(exponent, 0)
    if negative.any():
        of_unit = xp.where(xp.bitwise_and(exponent, 1) == 1, base, xp.ones_like(base))
        inverse = xp.where(xp.abs(base) == 1, of_unit, lean.zeros_like(base))
        result = xp.where(negative, inverse, result)
    return result


def power(xp: Any, base: Any, exponent: Any) -> Any:
    if base.dtype.kind == "b":
        raise unsupported("pow", base.dtype)
    if base.dtype.kind == "i":
        return integer_power(xp, base, exponent)
    return xp.power(base, exponent)


power_in_float32 = in_float32(power)


def scalar_power(xp: Any, self: Any, exponent: Any) -> Any:
    """`pow` with a scalar exponent, using exact shortcuts where they exist."""
    one = number_like(xp, self, 1)
    if exponent == 0:
        return xp.full_like(self, one)
    if exponent == 1:
        return self.copy(order="K")
    if self.dtype.kind == "b":
        raise unsupported("pow", self.dtype)
    if exponent == 2:
        return xp.multiply(self, self)
    if exponent == 3 and self.dtype not in HALVES:
        return self * self * self
    if self.dtype.kind in "fc" and self.dtype not in HALVES:
        if exponent == 0.5:
            return xp.sqrt(self)
        if exponent == -0.5:
            return one / xp.sqrt(self)
        if exponent == -1:
            return one / self
        if exponent == -2:
            return one / (self * self)
    return power_in_float32(xp, self, number_like(xp, self, exponent))


@accepts_floats
def check_scalar_power(self: Any, exponent: Any) -> None:
    if self.array.dtype.kind in "biu" and isinstance(exponent, int) and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")


def pow_scalar_backward(grad: Any, self: Any, exponent: Any) -> Any:
    if exponent == 0:
        return zeros(grad)
    return grad * conj(times(self.pow(exponent - 1), exponent))


def pow_backward_self(grad: Any, self: Any, exponent: Any) -> Any:
    slope = grad * conj(exponent * self.pow(minus(exponent, 1)))
    zero = number_beside(0, slope)
    return where(exponent.eq(0), zero, slope)


def nonnegative(exponent: Any) -> Any:
    if is_complex_type(exponent.array.dtype):
        return late.imag(exponent).eq(0).logical_and(late.real(exponent).ge(0))
    return exponent.ge(0)


def pow_backward_exponent(grad: Any, self: Any, exponent: Any, result: Any) -> Any:
    """The gradient of the exponent, which is zero for base 0 and non-negative exponents."""
    held = nonnegative(exponent)
    flat = self.eq(0).logical_and(held)
    joint = dtypes.binary_dtype(self.dtype, self.ndim, exponent.dtype, exponent.ndim)
    slope = conj(result * self.to(joint).log())
    return grad * where(flat, 0, slope)


def pow_backward_of_number(grad: Any, self: Any, exponent: Any, result: Any) -> Any:
    slope = conj(times(result, number_log(self, is_complex_type(result.array.dtype))))
    return grad * (where(nonnegative(exponent), 0, slope) if self == 0 else slope)


def number_log(value: Any, is_complex: bool) -> Any:
    if is_complex or isinstance(value, complex):
        return complex(np.log(complex(value)))
    return float(np.log(np.float64(value)))


pow_columns = dict(jvp="elementwise", batch=families.pointwise, promote="common")
defop(
    "pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    kernel=power_in_float32, inplace=True, node="PowBackward1", lower="pow(self, exponent)",
    vjp=dict(self=pow_backward_self, exponent=pow_backward_exponent), **pow_columns, pattern="elements",
    onnx="Pow", masked="unary",
    doc="""Each element raised to a power.
    >>> torch.pow(torch.tensor([2.0, 3.0]), 2)
    tensor([4., 9.])
    """,
)
defop(
    "pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
    kernel=lambda xp, self, exponent: lean.ones(exponent.shape, exponent.dtype) if self == 1 and exponent.dtype.kind != "b"
        else power_in_float32(xp, number_like(xp, exponent, self), exponent.copy(order="C")), elementwise=False,
    vjp=dict(exponent=pow_backward_of_number), scalars=("self",), node="PowBackward2", variants="function", **pow_columns,
    pattern="elements",
)
pow_scalar = defop(
    "pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
    kernel=scalar_power, check=check_scalar_power, inplace=True, scalars=("exponent",), node="PowBackward0",
    vjp=dict(self=pow_scalar_backward), **pow_columns,
    lower={
        "exponent=0": "1 if self == self else 1",
        "exponent=2": "self * self",
        "exponent=1": "self * 1",
        "exponent=3": "self * self * self",
        "exponent=0.5": "sqrt(self)",
        "exponent=-1": "1 / self",
        "exponent=-0.5": "1 / sqrt(self)",
        "exponent=-2": "1 / (self * self)",
        "": "pow(self, exponent)",
    }, pattern="elements", series="power",
)
square = defop("square(Tensor self) -> Tensor", kernel=lambda self: call(pow_scalar, [self, 2]), composite=True, out=False,
               masked="unary",
    doc="""The square of each element.
    >>> torch.square(torch.tensor([2.0, 3.0]))
    tensor([4., 9.])
    """)
defop("square.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", kernel=lambda self, out: late.pow(self, 2, out=out),
      composite=True, out=False, functional=square)
defop("square_(Tensor(a!) self) -> Tensor(a!)", kernel=lambda self: late.pow_(self, 2), composite=True, out=False,
      functional=square)


def double_of(*operands: Any) -> Any:
    """float_power computes in float64, or complex128 if anything is complex."""
    for t in operands:
        if isinstance(t, complex) or (isinstance(t, Tensor) and t.dtype.is_complex):
            return dtypes.complex128
    return dtypes.float64


def as_double(value: Any, dtype: Any) -> Any:
    if isinstance(value, Tensor):
        if is_ordinary(value) and not families.will_differentiate(value):
            return new_tensor(value.array.astype(dtype.numpy, "K"))
        return value.to(dtype)
    return complex(value) if dtype.is_complex else float(value)


def float_power(self: Any, exponent: Any) -> Any:
    dtype = double_of(self, exponent)
    return late.pow(as_double(self, dtype), as_double(exponent, dtype))


def float_power_(self: Any, exponent: Any) -> Any:
    dtype = double_of(self, exponent)
    if self.dtype is not dtype:
        raise RuntimeError(f"the base given to float_power_ has dtype {self.dtype.legacy} but the operation's result requires "
                           f"dtype {dtype.legacy}")
    return late.pow_(self, as_double(exponent, dtype))


for overload, base, exponent in (("Tensor_Tensor", "Tensor", "Tensor"), ("Scalar", "Scalar", "Tensor"),
                                 ("Tensor_Scalar", "Tensor", "Scalar")):
    row = defop(f"float_power.{overload}({base} self, {exponent} exponent) -> Tensor", kernel=float_power, composite=True,
                out="same: the output given to float_power has dtype {out} but the operation's result requires dtype {value}",
                variants="function" if base == "Scalar" else "function, method")
    if base == "Tensor":
        defop(f"float_power_.{exponent}(Tensor(a!) self, {exponent} exponent) -> Tensor(a!)", kernel=float_power_,
              composite=True, out=False, variants="method", functional=row)

defop(
    "sqrt(Tensor self) -> Tensor",
    kernel="sqrt", vjp=dict(self=lambda grad, result: grad / times(conj(result), 2)),
    jvp="elementwise", batch=families.pointwise, promote="float", inplace="function", lower="sqrt(self)",
    traits=("keeps_zero",), series="root", foreach=True, onnx="Sqrt", masked="unary",
    doc="""The square root of each element.
    >>> torch.sqrt(torch.tensor([4.0, 9.0]))
    tensor([2., 3.])
    """,
)
defop(
    "rsqrt(Tensor self) -> Tensor",
    kernel=lambda xp, self: xp.true_divide(number_like(xp, self, 1), xp.sqrt(self)),
    vjp=dict(self=lambda grad, result: times(grad, -0.5) * conj(result.pow(3))),
    jvp="elementwise", batch=families.pointwise, promote="float", widen=True, inplace="function", lower="1 / sqrt(self)",
    foreach=True, masked="unary",
    doc="""One divided by the square root of each element.
    >>> torch.rsqrt(torch.tensor([4.0, 16.0]))
    tensor([0.5000, 0.2500])
    """,
)


# ---- signs
def sign_kernel(xp: Any, self: Any) -> Any:
    """1, 0 or -1; 0 for NaN."""
    if self.dtype.kind == "b":
        return self.copy(order="K")
    if self.dtype.kind == "u":
        return xp.greater(self, 0).astype(self.dtype)
    zero = number_like(xp, self, 0) if self.dtype.kind == "f" else 0
    return xp.subtract(xp.greater(self, zero).astype(xp.int8), xp.less(self, zero).astype(xp.int8)).astype(self.dtype)


def sgn_kernel(xp: Any, self: Any) -> Any:
    if self.dtype.kind != "c":
        return sign_kernel(xp, self)
    size = xp.abs(self)
    return xp.where(xp.equal(size, 0), number_like(xp, self, 0), self / size)


def sgn_backward(grad: Any, self: Any, result: Any) -> Any:
    """The derivative of a complex sign is tangential to the unit circle; that of a real one is zero."""
    if not is_complex_type(self.array.dtype):
        return self.new_zeros(self.shape)
    size = self.abs()
    return blanked((grad - (result * result) * conj(grad)) / times(size, 2), size.eq(0))


def check_inplace_abs(self: Any) -> None:
    if is_complex_type(self.array.dtype):
        raise RuntimeError("In-place abs is not supported for complex tensors.")


abs_kernel = limited("abs_cpu", "iufVc", ufunc("absolute"))
defop(
    "abs(Tensor self) -> Tensor",
    out="found",
    kernel=abs_kernel, vjp=dict(self=lambda grad, self: grad * self.sgn()),
    jvp=lambda self_p, self_t: real_part(self_t * conj(self_p.sgn())), batch=families.pointwise, lower="abs(self)",
    traits=("keeps_zero", "chalf"), foreach=True, onnx="Abs", masked="unary",
    doc="""The magnitude of each element.
    >>> torch.abs(torch.tensor([-1.0, 2.0]))
    tensor([1., 2.])
    """,
)
defop(
    "abs_(Tensor(a!) self) -> Tensor(a!)",
    kernel=abs_kernel, check=check_inplace_abs, vjp=dict(self=lambda grad, self: grad * self.sgn()),
    jvp="elementwise", batch=families.pointwise, out=False,
)


def real_part(value: Any) -> Any:
    return late.real(value) if is_complex_type(value.array.dtype) else value


defop(
    "sign(Tensor self) -> Tensor",
    out="found",
    kernel=sign_kernel, vjp=dict(self=zeros), jvp="elementwise", batch=families.pointwise, inplace=True,
    check=refuse("Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.", "c",
                 NotImplementedError),
    lower="sign(self)", pattern="constant", traits=("keeps_zero",), foreach=True, onnx="Sign", masked="unary",
    doc="""-1, 0 or 1 for each element.
    >>> torch.sign(torch.tensor([-2.0, 0.0, 3.0]))
    tensor([-1.,  0.,  1.])
    """,
)
defop(
    "sgn(Tensor self) -> Tensor",
    out="found",
    kernel=sgn_kernel, vjp=dict(self=sgn_backward),
    jvp=lambda self_p, self_t, result: sgn_backward(self_t, self_p, result), batch=families.pointwise, inplace=True,
    lower="sign(self)", traits=("keeps_zero", "chalf"), onnx="Sign", masked="unary",
)


def signbit_kernel(xp: Any, self: Any) -> Any:
    if self.dtype.kind == "b":
        return lean.zeros_like(self)
    return xp.less(self, 0) if self.dtype.kind in "iu" else xp.signbit(self)


defop(
    "signbit(Tensor self) -> Tensor",
    out="same: signbit does not support non-boolean outputs.",
    kernel=signbit_kernel, check=refuse("signbit is not implemented for complex tensors.", "c", NotImplementedError),
    batch=families.pointwise,
    lower="copysign(1, self) < 0", traits=("keeps_zero",), masked="unary",
)


def copysign_backward(grad: Any, self: Any, result: Any) -> Any:
    return grad * blanked(result / self, self.eq(0))


defop(
    "copysign.Tensor(Tensor self, Tensor other) -> Tensor",
    kernel=limited("copysign_cpu", FLOATS, ufunc("copysign")), promote="float", inplace=True,
    vjp=dict(self=copysign_backward, other=lambda grad: zeros_beside(grad, grad.shape)), jvp="elementwise",
    batch=families.pointwise,
    lower="copysign(self, other)",
    out_form="out",
)
defop(
    "copysign.Scalar(Tensor self, Scalar other) -> Tensor",
    kernel=limited("copysign_cpu", FLOATS, lambda xp, self, other: xp.copysign(self, number_like(xp, self, other))),
    promote="float", inplace=True, scalars=("other",), node="CopysignBackward1",
    vjp=dict(self=copysign_backward), jvp="elementwise", batch=families.pointwise,
    lower="copysign(self, other)",
)
defop(
    "nextafter(Tensor self, Tensor other) -> Tensor",
    kernel=limited("nextafter_cpu", FLOATS, ufunc("nextafter")), promote="common", inplace=True,
    vjp=dict(self=lambda grad, self, other: where(self.ne(other), grad, 0),
             other=lambda grad, self, other: zeros_beside(grad, grad.shape)),
    jvp="elementwise", batch=families.pointwise, masked="binary", lower="whole: nextafter(self, other)",
)


# ---- angles and lengths
def atan2_gradients(grad: Any, self: Any, other: Any, needed: Any) -> Any:
    square = self * self + other * other
    share = square.reciprocal().masked_fill(square.eq(0), 0)
    return grad * other * share if needed[0] else None, grad * -self * share if needed[1] else None


defop(
    "atan2(Tensor self, Tensor other) -> Tensor",
    kernel=limited("atan2_cpu", FLOATS, ufunc("arctan2")), promote="float", inplace=True,
    vjp={("self", "other"): atan2_gradients},
    jvp=lambda self_p, self_t, other_p, other_t:
        (other_p * self_t - self_p * other_t) / (self_p.square() + other_p.square()), batch=families.pointwise,
    lower="atan2(self, other)", masked="binary",
    doc="""The angle of the point (other, input) for each pair of elements.
    >>> torch.atan2(torch.tensor([1.0]), torch.tensor([-1.0]))
    tensor([2.3562])
    """,
)
defop(
    "hypot(Tensor self, Tensor other) -> Tensor",
    kernel=limited("hypot_cpu", FLOATS, ufunc("hypot")), promote="common", inplace=True,
    vjp=dict(self=lambda grad, self, result: grad * self / result, other=lambda grad, other, result: grad * other / result),
    jvp="elementwise", batch=families.pointwise,
    lower="hypot(self, other)",
)


# ---- exponents and logarithms
def ldexp_backward_self(grad: Any, other: Any) -> Any:
    return grad * conj(late.pow(2, other))


def check_exponent(self: Any, other: Any) -> None:
    if other.array.dtype.kind == "b" and self.array.dtype.kind in FLOATS:
        raise unsupported("ldexp_cpu_exp", other.array.dtype)


def xlogy_kernel(xp: Any, self: Any, other: Any) -> Any:
    """self * log(other), and 0 where self is 0."""
    zero = number_like(xp, self, 0)
    product = xp.where(xp.equal(self, zero), zero, self * xp.log(other))
    return xp.where(xp.isnan(other), number_like(xp, self, math.nan), product)


def logaddexp_kernel(xp: Any, self: Any, other: Any) -> Any:
    if self.dtype.kind in "biu":
        raise unsupported("logaddexp_cpu", self.dtype)
    if self.dtype.kind != "c":
        return xp.logaddexp(self, other)
    high, low = xp.where(self.real >= other.real, self, other), xp.where(self.real >= other.real, other, self)
    same = xp.logical_and(xp.isinf(high.real), high == low)
    return xp.where(same, high, high + xp.log1p(xp.exp(low - high)))


defop(
    "ldexp.Tensor(Tensor self, Tensor other) -> Tensor",
    out="cast: ldexp can't be cast to the desired output type {out}",
    kernel=lambda xp, self, other: xp.multiply(self, xp.power(number_like(xp, self, 2), other)),
    vjp=dict(self=ldexp_backward_self, other=lambda grad, result: times(grad * conj(result), math.log(2))),
    jvp="elementwise", batch=families.pointwise, promote="float", widen=True, inplace="function", mixes=False,
    check=check_exponent,
    out_form="out",
)
xlogy_columns = dict(jvp="elementwise", batch=families.pointwise, promote="float", widen=True, inplace="function")
defop(
    "xlogy.Tensor(Tensor self, Tensor other) -> Tensor",
    kernel=limited("xlogy_cpu", FLOATS, xlogy_kernel),
    vjp=dict(self=lambda grad, self, other:
                 late.xlogy(grad, other).masked_fill(self.eq(0).logical_and(other.le(0)), 0),
             other=lambda grad, self, other: grad * self / other), **xlogy_columns,
    lower="xlogy(self, other)",
    out_form="OutTensor",
)
defop(
    "xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor",
    kernel=lambda xp, self, other: limited("xlogy_cpu", FLOATS, xlogy_kernel)(xp, number_like(xp, other, self), other),
    vjp=dict(other=lambda grad, self, other: times(grad, self) / other), scalars=("self",), node="XlogyBackward1",
    variants="function", **{**xlogy_columns, "inplace": None},
    lower="xlogy(self, other)",
    out_form="OutScalar_Self",
)
defop(
    "xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor",
    kernel=limited("xlogy_cpu", FLOATS, lambda xp, self, other: xlogy_kernel(xp, self, number_like(xp, self, other))),
    vjp=dict(self=lambda grad, self, other: late.xlogy(grad, other) if other > 0 else
             late.xlogy(grad, other).masked_fill(self.eq(0), 0)), scalars=("other",), node="XlogyBackward2",
    **xlogy_columns,
    lower="xlogy(self, other)",
    out_form="OutScalar_Other",
)
defop(
    "logaddexp(Tensor self, Tensor other) -> Tensor",
    kernel=logaddexp_kernel,
    vjp=dict(self=lambda grad, self, other: grad / conj(plus((other - self).exp(), 1)),
             other=lambda grad, self, other: grad / conj(plus((self - other).exp(), 1))),
    jvp="elementwise", batch=families.pointwise, promote="common", widen=True, mixes=False,
    lower="self if self == other and abs(self) == inf else maximum(self, other) + log1p(exp(-abs(self - other)))",
    masked="binary",
)
defop(
    "logaddexp2(Tensor self, Tensor other) -> Tensor",
    kernel=limited("logaddexp2_cpu", FLOATS, ufunc("logaddexp2")),
    vjp=dict(self=lambda grad, self, other: grad / plus(late.pow(2, other - self), 1),
             other=lambda grad, self, other: grad / plus(late.pow(2, self - other), 1)),
    jvp="elementwise", batch=families.pointwise, promote="common", widen=True,
    lower="self if self == other and abs(self) == inf else maximum(self, other) + "
          "log1p(exp2(-abs(self - other))) * 1.4426950408889634", masked="binary",
)


# ---- the norm of a difference
def dist_kernel(xp: Any, self: Any, other: Any, p: Any) -> Any:
    if self.dtype.kind in "biu":
        raise RuntimeError("norm(): input dtype should be either floating point or complex. Got "
                           f"{BY_NUMPY[self.dtype].legacy} instead.")
    if isinstance(p, complex):
        raise RuntimeError("linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    difference = self - other
    if difference.size and not isinstance(p, complex):
        norm = lean.natively(find_packet("linalg_vector_norm").default, difference, p, None, False, None)  # type: ignore[union-attr]
        if norm is not None:
            return norm
    size = xp.abs(difference)
    if p == 0:
        return xp.asarray(xp.count_nonzero(size)).astype(size.dtype)
    if p == 1:
        return size.sum()
    if p == 2:
        return xp.sqrt((size * size).sum())
    if not size.size and math.isinf(p):
        raise RuntimeError(f"linalg.vector_norm cannot compute the {p} norm on an empty tensor because the operation does not "
                           "have an identity")
    if p == math.inf:
        return size.max()
    if p == -math.inf:
        return size.min()
    return (size ** size.dtype.type(p)).sum() ** size.dtype.type(1 / p)


def norm_backward(grad: Any, difference: Any, p: Any, norm: Any) -> Any:
    """The gradient of a p-norm over all elements; 0 where the norm is not differentiable."""
    if p == 0:
        return None
    if p == 1:
        return difference.sgn() * grad
    if p == 2:
        return grad * blanked(difference / norm, norm.eq(0))
    if math.isinf(p):
        size = difference.abs()
        largest = size.eq(norm).logical_or(size.isnan().logical_and(norm.isnan())).to(difference.dtype)
        return difference.sgn() * ((grad / largest.sum()) * largest)
    if p < 1:
        return difference.sgn() * difference.abs().pow(p - 1).masked_fill(difference.eq(0), 0) * grad * norm.pow(1 - p)
    share = difference.sgn() * difference.abs().pow(p - 1) if p < 2 else difference * difference.abs().pow(p - 2)
    return share * (grad / norm.pow(p - 1)).masked_fill(norm.eq(0), 0)


def dist_backward_other(grad: Any, self: Any, other: Any, p: Any, result: Any) -> Any:
    made = norm_backward(grad, self - other, p, result)
    if made is None:
        raise RuntimeError("Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #0 'self'")
    return -made


def dist_tangent(self_p: Any, self_t: Any, other_p: Any, other_t: Any, p: Any, result: Any) -> Any:
    slope = norm_backward(late.ones_like(result), self_p - other_p, p, result)
    return late.zeros_like(result) if slope is None else real_part(conj(slope) * (self_t - other_t)).sum()


@accepts_floats
def check_dist(self: Any, other: Any, p: Any) -> None:
    check_sub(self, other, 1)


defop(
    "dist(Tensor self, Tensor other, Scalar p=2) -> Tensor",
    out="aten",
    kernel=dist_kernel, check=check_dist,
    vjp=dict(self=lambda grad, self, other, p, result: norm_backward(grad, self - other, p, result), other=dist_backward_other),
    jvp=dist_tangent, batch=families.loop, promote="common", widen=True, mixes=False,
    lower={"p=2": "sqrt(sum((self - other) * (self - other)))"},
)

alias_rows("absolute", "abs", "(Tensor self)")
alias_rows("arctan2", "atan2", "(Tensor self, Tensor other)")
