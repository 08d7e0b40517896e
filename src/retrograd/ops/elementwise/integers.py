"""gcd, lcm, heaviside and frexp."""
from __future__ import annotations

from typing import Any

from retrograd.core.dispatch import call
from retrograd.core.opdef import defop
from retrograd.ops.shared import families
from retrograd.ops.shared.elementwise import refuse, unsupported, zeros


def gcd_kernel(xp: Any, self: Any, other: Any) -> Any:
    if self.dtype.kind not in "iu":
        raise unsupported("gcd_cpu", self.dtype)
    return xp.gcd(self, other)


def lcm_kernel(xp: Any, self: Any, other: Any) -> Any:
    if self.dtype.kind not in "iu":
        raise unsupported("lcm_cpu", self.dtype)
    return xp.lcm(self, other)


defop("gcd(Tensor self, Tensor other) -> Tensor", kernel=gcd_kernel, promote="common", batch=families.pointwise,
      inplace="function", traits=("out_untracked",))
defop("lcm(Tensor self, Tensor other) -> Tensor", kernel=lcm_kernel, promote="common", batch=families.pointwise,
      inplace="function", traits=("out_untracked",))


def check_heaviside(self: Any, values: Any) -> None:
    if self.is_complex() or values.is_complex():
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if self.dtype is not values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")


def heaviside_kernel(xp: Any, self: Any, values: Any) -> Any:
    zero = self.dtype.type(0)
    return xp.where(self == zero, values, (self > zero).astype(self.dtype))


defop(
    "heaviside(Tensor self, Tensor values) -> Tensor",
    out="same: heaviside is not yet implemented for tensors with different dtypes.",
    kernel=heaviside_kernel, check=check_heaviside, batch=families.pointwise, promote="common", inplace=True,
    vjp=dict(self=lambda grad: zeros(grad), values=lambda grad, self: grad * (self == 0)), jvp="elementwise",
    lower="values if self == 0 else self > 0", traits=("out_untracked",),
)


def frexp_kernel(xp: Any, self: Any) -> Any:
    wide = self.astype(xp.float32) if self.dtype.itemsize == 2 else self
    mantissa, exponent = xp.frexp(wide)
    return xp.asarray(mantissa).astype(self.dtype, copy=False), xp.asarray(exponent).astype(xp.int32)


def frexp_gradient(grad: Any, exponent: Any) -> Any:
    return grad / exponent.exp2()


defop(
    "frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)",
    out="same: torch.frexp() expects mantissa to have dtype {c_value} but got {c_out} // "
        "same: torch.frexp() expects exponent to have int dtype but got {c_out}",
    kernel=frexp_kernel, vjp=dict(self=frexp_gradient), jvp=lambda self_t, exponent: (frexp_gradient(self_t, exponent), None),
    batch=lambda op, args, dims, size: (call(op, args), (dims[0], dims[0])), traits=("out_first",), nested="parts",
    check=refuse("torch.frexp() only supports floating-point dtypes", "biuc"),
)
