"""Arithmetic on elements: the four operations, powers' relatives, and the unary functions of mathematics."""
from __future__ import annotations

from typing import Any

from retrograd.core.opdef import defop
from retrograd.core.tensor import Tensor, operators
from retrograd.ops import families
from retrograd.ops.families import conj


def scaled(grad: Any, factor: Any) -> Any:
    """grad * factor, without an op when the factor is 1."""
    return grad if not isinstance(factor, Tensor) and factor == 1 else grad * conj(factor)


def add_kernel(xp: Any, self: Any, other: Any, alpha: Any) -> Any:
    if alpha == 1:
        return xp.add(self, other)
    return xp.add(self, xp.multiply(other, xp.asarray(alpha).astype(self.dtype)))


def sub_kernel(xp: Any, self: Any, other: Any, alpha: Any) -> Any:
    if self.dtype.kind == "b" and other.dtype.kind == "b":
        raise RuntimeError("Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
                           "`logical_xor()` operator instead.")
    if self.dtype.kind == "b" or other.dtype.kind == "b":
        raise RuntimeError("Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to "
                           "invert a mask, use the `~` or `logical_not()` operator instead.")
    if alpha == 1:
        return xp.subtract(self, other)
    return xp.subtract(self, xp.multiply(other, xp.asarray(alpha).astype(self.dtype)))


add = defop(
    "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    kernel=add_kernel, fast="add",
    vjp=dict(self=lambda grad: grad, other=lambda grad, alpha: scaled(grad, alpha)),
    jvp="linear", batch=families.pointwise, promote="common", numbers=True, inplace=True,
    lower="{self} + {other}",
)
sub = defop(
    "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    kernel=sub_kernel, fast="subtract",
    vjp=dict(self=lambda grad: grad, other=lambda grad, alpha: scaled(-grad, alpha)),
    jvp="linear", batch=families.pointwise, promote="common", numbers=True, inplace=True,
    lower="{self} - {other}",
)
rsub = defop(
    "rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    kernel=lambda xp, self, other, alpha: sub_kernel(xp, families.number_like(xp, self, other), self, alpha),
    vjp=dict(self=lambda grad, alpha: scaled(-grad, alpha)),
    jvp="elementwise", batch=families.pointwise, promote="common", node="RsubBackward1", scalars=("other",), out=False,
)
mul = defop(
    "mul.Tensor(Tensor self, Tensor other) -> Tensor",
    kernel="multiply",
    vjp=dict(self=lambda grad, other: grad * conj(other), other=lambda grad, self: grad * conj(self)),
    jvp="multilinear", batch=families.pointwise, promote="common", numbers=True, inplace=True,
    lower="{self} * {other}",
)
div = defop(
    "div.Tensor(Tensor self, Tensor other) -> Tensor",
    kernel="true_divide",
    vjp=dict(self=lambda grad, other: grad / conj(other),
             other=lambda grad, self, other: -grad * conj((self / other) / other)),
    jvp="elementwise", batch=families.pointwise, promote="float", numbers=True, inplace=True,
    lower="{self} / {other}",
)
neg = defop(
    "neg(Tensor self) -> Tensor",
    kernel="negative",
    vjp=dict(self=lambda grad: -grad),
    jvp="linear", batch=families.pointwise, inplace=True, lower="-{self}",
)
sin = defop(
    "sin(Tensor self) -> Tensor",
    kernel="sin",
    vjp=dict(self=lambda grad, self: grad * conj(self.cos())),
    jvp="elementwise", batch=families.pointwise, promote="float", inplace=True, lower="sin({self})",
)
cos = defop(
    "cos(Tensor self) -> Tensor",
    kernel="cos",
    vjp=dict(self=lambda grad, self: grad * conj(-self.sin())),
    jvp="elementwise", batch=families.pointwise, promote="float", inplace=True, lower="cos({self})",
)
exp = defop(
    "exp(Tensor self) -> Tensor",
    kernel="exp",
    vjp=dict(self=lambda grad, result: grad * conj(result)),
    jvp="elementwise", batch=families.pointwise, promote="float", inplace=True, lower="exp({self})",
)
relu = defop(
    "relu(Tensor self) -> Tensor",
    kernel=lambda xp, self: xp.maximum(self, self.dtype.type(0)),
    vjp=dict(self=lambda grad, result: grad.threshold_backward(result, 0)),
    jvp="elementwise", batch=families.pointwise, inplace=True, lower="{self} > 0 ? {self} : 0",
)

for name, op in dict(add=add, sub=sub, mul=mul, div=div, neg=neg, rsub=rsub).items():
    op.prepare()
    setattr(operators, name, op)
