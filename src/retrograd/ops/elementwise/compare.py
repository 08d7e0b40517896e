"""Comparisons, logic and bits: ops whose results have no gradient."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.algorithms import native
from retrograd.core.dispatch import overrides_dispatch
from retrograd.core.dtypes import get_default_dtype
from retrograd.core.hooks import hooks
from retrograd.core.modes import is_seen
from retrograd.core.opdef import defop, find_packet
from retrograd.core.state import switches, tls
from retrograd.core.tensor import FLAG_META, FLAG_SUBCLASS, FLAG_WRAPPER
from retrograd.ops import late
from retrograd.ops.shared import families
from retrograd.ops.shared.elementwise import alias_rows, limited, plus, times, ufunc, unsupported
from retrograd.ops.shared.families import number_like


# ---- comparisons
def comparing(name: str, function: str) -> Any:
    """The kernel of a comparison; only equality is defined for complex numbers."""
    kinds = "biufVc" if name in ("eq", "ne") else "biufV"
    return limited(f"{name}_cpu", kinds, ufunc(function))


def fresh_zeros(grad: Any) -> Any:
    """Zeros that were written once, as their version shows."""
    return late.zeros_like(grad).zero_()


def comparing_number(name: str, function: str) -> Any:
    compare = comparing(name, function)
    return lambda xp, self, other: compare(xp, self, number_like(xp, self, other))


for symbol, function, long_name, sign, node in (
        ("eq", "equal", "eq", "==", "Equal"), ("ne", "not_equal", "not_equal", "!=", "Not Equal"),
        ("lt", "less", "less", "<", "Less"), ("le", "less_equal", "less_equal", "<=", "Not Greater"),
        ("gt", "greater", "greater", ">", "Greater"), ("ge", "greater_equal", "greater_equal", ">=", "Not Less")):
    simple = symbol in ("eq", "ne")
    traits = ("chalf",) if simple else ()            # the one comparison of complex numbers
    defop(
        f"{symbol}.Tensor(Tensor self, Tensor other) -> Tensor",
        kernel=comparing(symbol, function), fast=function if simple else None, batch=families.pointwise, promote="compare",
        traits=traits, lower=f"self {sign} other", onnx=node, masked="binary",
    )
    defop(
        f"{symbol}.Scalar(Tensor self, Scalar other) -> Tensor",
        kernel=comparing_number(symbol, function), batch=families.pointwise, promote="compare", scalars=("other",),
        traits=traits, lower=f"self {sign} other",
    )
    # In place the result has the tensor's dtype, and a zero gradient.
    defop(
        f"{symbol}_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
        kernel=comparing(symbol, function), batch=families.pointwise, promote="compare", variants="method", out=False,
        traits=traits, vjp=dict(self=fresh_zeros, other=fresh_zeros), jvp="elementwise", node=f"{symbol.capitalize()}Backward1",
    )
    defop(
        f"{symbol}_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
        kernel=comparing_number(symbol, function), batch=families.pointwise, promote="compare", variants="method",
        scalars=("other",), out=False, traits=traits, vjp=dict(self=fresh_zeros), jvp="elementwise",
        node=f"{symbol.capitalize()}Backward0",
    )
    if long_name != symbol:
        alias_rows(long_name, symbol, "Tensor(Tensor self, Tensor other)", "Scalar(Tensor self, Scalar other)")


# ---- closeness
def isclose(self: Any, other: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    if self.dtype is not other.dtype:
        raise RuntimeError(f"{self.dtype.legacy} did not match {other.dtype.legacy}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")
    close = self.eq(other)
    kind = self.array.dtype.kind
    if equal_nan and kind in "fVc":
        close |= self.isnan() & other.isnan()
    if rtol == 0 and atol == 0:
        return close
    if kind in "biu":
        self, other = self.to(get_default_dtype()), other.to(get_default_dtype())
    allowed = plus(times(other, rtol).abs(), atol)
    actual = (self - other).abs()
    if is_seen():                       # `isfinite` is a composite of these
        finite = actual.abs().ne(math.inf) * actual.eq(actual)
        return close.bitwise_or_(finite.bitwise_and_(actual.le(allowed)))
    close |= actual.isfinite() & actual.le(allowed)
    return close


NO_BATCHES = {
    "allclose": "vmap over torch.allclose isn't supported yet. Please file an issue at "
                "https://github.com/pytorch/pytorch/issues if you need this feature.",
    "equal": "Batching rule not implemented for aten::equal. We could not generate a fallback.",
}


def seen_whole(name: str, kernel: Any) -> Any:
    """A composite comparison that dispatch modes and `__torch_dispatch__` see as one op."""
    def compare(*args: Any) -> Any:
        if not args[0]._flags and not args[1]._flags and not (switches.any_mode and tls.slow_path):
            return kernel(*args)
        op = find_packet(name).default        # type: ignore[union-attr]
        if (args[0]._flags | args[1]._flags) & FLAG_WRAPPER and any([hasattr(t._extra and t._extra.batch, "dim")
                                                                     for t in args[:2]]):
            raise RuntimeError(NO_BATCHES[name])
        if switches.any_mode and tls.dispatch_modes:
            return hooks.dispatch_mode(op, list(args))
        if (args[0]._flags | args[1]._flags) & FLAG_SUBCLASS and not tls.dispatch_disabled and overrides_dispatch(op, args):
            return hooks.dispatch_subclass(op, list(args))
        return kernel(*args)
    return compare


def equal(self: Any, other: Any) -> bool:
    """Whether two tensors have the same shape and elements."""
    if self._flags or other._flags:
        if (self._flags | other._flags) & FLAG_META:
            raise NotImplementedError("aten::equal: attempted to run this operator with Meta tensors, but there was no fake "
                                      "impl or Meta kernel registered for this operator: its result depends on values.")
        self, other = self.detach(), other.detach()
    elif native is not None:
        made = native.same(self.array, other.array)
        if made is not None:
            return bool(made)
    return False if self.shape != other.shape else bool(np.logical_and.reduce(self.eq(other).array, axis=None))


defop("isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
      kernel=isclose, composite=True, out=False,
      doc="""Where two tensors are equal up to tolerances.
      >>> torch.isclose(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.1]))
      tensor([ True, False])
      """)
defop("allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool",
      kernel=seen_whole("allclose", lambda *args: bool(np.all(isclose(*args).array))), composite=True, out=False,
      doc="""Whether two tensors are equal up to tolerances.
      >>> torch.allclose(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
      True
      """)
defop("equal(Tensor self, Tensor other) -> bool", kernel=seen_whole("equal", equal), composite=True, out=False,
      traits=("reads_values",),
      doc="""Whether two tensors have the same shape and elements.
      >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2]))
      True
      """)


# ---- logic: nonzero is true
def logical(name: str) -> Any:
    return lambda xp, self, other: getattr(xp, name)(xp.not_equal(self, 0), xp.not_equal(other, 0))


for name, sign, node in (("logical_and", "&", "And"), ("logical_or", "|", "Or"), ("logical_xor", "^", "Xor")):
    defop(
        f"{name}(Tensor self, Tensor other) -> Tensor",
        kernel=logical(name), batch=families.pointwise, promote="compare", inplace=True,
        lower=f"(self != 0) {sign} (other != 0)", traits=("takes_leaves",), onnx=node,
    )
defop(
    "logical_not(Tensor self) -> Tensor",
    kernel=lambda xp, self: xp.equal(self, 0), batch=families.pointwise, inplace=True, out="any",
    lower="self == 0", traits=("takes_leaves",),
    doc="""Where elements are not true.
    >>> torch.logical_not(torch.tensor([True, False]))
    tensor([False,  True])
    """,
)


# ---- bits
def shifted(name: str, function: str) -> Any:
    """A shift by at least the number of bits, or by a negative number, shifts all bits out."""
    def kernel(xp: Any, self: Any, other: Any) -> Any:
        if self.dtype.kind not in "iu":
            raise unsupported(name, self.dtype)
        bits = self.dtype.itemsize * 8
        out = xp.logical_or(xp.less(other, 0), xp.greater_equal(other, bits))
        result = getattr(xp, function)(self, xp.where(out, lean.zeros_like(other), other))
        lost = xp.right_shift(self, bits - 1) if function == "right_shift" and self.dtype.kind == "i" else lean.zeros_like(self)
        return xp.where(out, lost, result)
    return kernel


def bit_rows(name: str, kernel: Any, scalar: str, lower: str, onnx: str | None = None) -> None:
    columns = dict(batch=families.pointwise, promote="common", lower=lower, traits=("out_untracked",))
    defop(f"{name}.Tensor(Tensor self, Tensor other) -> Tensor", kernel=kernel, inplace=True, **columns, masked="binary",
          onnx=onnx)
    defop(f"{name}.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", variants="function", scalars=("self",),
          out="aten", kernel=lambda xp, self, other: kernel(xp, number_like(xp, other, self), other), **columns)
    defop(f"{name}.{scalar}(Tensor self, Scalar other) -> Tensor", scalars=("other",), inplace=True,
          kernel=lambda xp, self, other: kernel(xp, self, number_like(xp, self, other)), **columns)


for name, sign, node in (("bitwise_and", "&", "And"), ("bitwise_or", "|", "Or"), ("bitwise_xor", "^", "Xor")):
    bit_rows(name, limited(f"{name}_cpu", "biu", ufunc(name)), "Scalar", f"self {sign} other", onnx=node)
INSIDE = "other >= 0 and other < 64"        # the width in which loops compute; narrower results are truncated
bit_rows("bitwise_left_shift", shifted("lshift_cpu", "left_shift"), "Tensor_Scalar", f"self << other if {INSIDE} else 0")
bit_rows("bitwise_right_shift", shifted("rshift_cpu", "right_shift"), "Tensor_Scalar",
         f"self >> other if {INSIDE} else self >> 63")
defop(
    "bitwise_not(Tensor self) -> Tensor",
    out="found",
    kernel=limited("bitwise_not_cpu", "biu", ufunc("bitwise_not")), batch=families.pointwise, inplace=True,
    lower="~self", traits=("out_untracked",), masked="unary",
)
