"""Shared parts of the elementwise tables: dtype errors, aliases, and arithmetic with numbers for derivative rules.

NOTE [Numbers in derivatives]
`x * 2` in Python is mul.Tensor and leaves a MulBackward0; the derivative formulas that PyTorch ships call mul.Scalar and
leave a MulBackward1. The difference is visible in the graph of a double backward, so rules write `times(x, 2)`.
"""
from __future__ import annotations

from typing import Any

from retrograd.core.dispatch import call
from retrograd.core.dtypes import BY_NUMPY, HALVES, is_complex_type
from retrograd.core.hooks import hooks
from retrograd.core.modes import is_seen
from retrograd.core.opdef import OPS, defop, find_packet, load, out_overload
from retrograd.core.state import grad_enabled, slow_path, tls
from retrograd.core.tensor import Tensor, wants_grad
from retrograd.ops import late
from retrograd.ops.shared import families
from retrograd.ops.shared.families import conj, number_like

C_NAMES = {"float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "bool": "bool",
           "complex64": "c10::complex<float>", "complex32": "c10::complex<c10::Half>",
           "complex128": "c10::complex<double>", "uint8": "unsigned char",
           "int8": "signed char", "int16": "short int", "int32": "int", "int64": "long int",
           "uint16": "short unsigned int", "uint32": "unsigned int", "uint64": "long unsigned int"}
# Some errors show integers by their names in stdint.h, except for int.
STDINT_NAMES = C_NAMES | {name: f"{name}_t" for name in C_NAMES if "int" in name and name != "int32"}


def overflow(dtype: Any) -> RuntimeError:
    """The error about a number that a NumPy dtype cannot hold."""
    return RuntimeError(f"value cannot be converted to type {STDINT_NAMES[BY_NUMPY[dtype].name]} without overflow")


# ---- unsupported dtypes
def unsupported(kernel: str, dtype: Any) -> NotImplementedError:
    """The error for a dtype that the named kernel does not support."""
    return NotImplementedError(f'"{kernel}" not implemented for \'{BY_NUMPY[dtype].legacy}\'')


def limited(name: str, kinds: str, compute: Any) -> Any:
    """A kernel restricted to dtypes of the given NumPy kinds (V is bfloat16)."""
    def kernel(xp: Any, self: Any, *rest: Any) -> Any:
        if self.dtype.kind not in kinds:
            raise unsupported(name, self.dtype)
        return compute(xp, self, *rest)
    return kernel


def in_float32(compute: Any) -> Any:
    """A kernel that computes half precision in float32, on operands (including numbers) rounded to half first."""
    def kernel(xp: Any, self: Any, other: Any) -> Any:
        if self.dtype in HALVES:
            return compute(xp, self.astype(xp.float32), other.astype(xp.float32)).astype(self.dtype)
        return compute(xp, self, other)
    return kernel


def ufunc(name: str) -> Any:
    """A kernel that is one NumPy function of all its tensors."""
    return lambda xp, *args: getattr(xp, name)(*args)


def refuse(message: str, kinds: str, error: type[Exception] = RuntimeError) -> Any:
    """A check that raises for tensors of the given kinds, before promotion."""
    def check(*args: Any) -> None:
        for a in args:
            if isinstance(a, Tensor) and a.array.dtype.kind in kinds:
                raise error(message)
    check.refused_kinds = kinds  # type: ignore[attr-defined]
    check.takes_floats = "f" not in kinds  # type: ignore[attr-defined]
    return check


def no_complex_gradient(name: str) -> Any:
    """A check for an op that computes with complex numbers but has no derivative for them."""
    def check(self: Any, *args: Any) -> None:
        if is_complex_type(self.array.dtype) and grad_enabled() and wants_grad(self):
            raise RuntimeError(f"{name} does not support automatic differentiation for outputs with complex dtype.")
    check.takes_floats = True  # type: ignore[attr-defined]
    return check


# ---- for derivative rules
def zeros(grad: Any) -> Any:
    return late.zeros_like(grad)


def where(condition: Any, yes: Any, no: Any) -> Any:
    return late.where(condition, yes, no)


def scalar_row(name: str, kernel: Any, rule: Any, **columns: Any) -> Any:
    """Declare the overload with a number; calls by name never choose it, since the Tensor overload takes numbers too."""
    alpha = ", Scalar alpha=1" if name in ("add", "sub") else ""
    op = defop(f"{name}.Scalar(Tensor self, Scalar other{alpha}) -> Tensor", kernel=kernel, vjp=dict(self=rule),
               jvp="elementwise", batch=families.pointwise, scalars=("other",), out=False, listed=False,
               node=f"{name.capitalize()}Backward1", **columns)
    return op


def check_sub(self: Any, other: Any, alpha: Any) -> None:
    bools = [isinstance(x, bool) or (isinstance(x, Tensor) and x.array.dtype.kind == "b") for x in (self, other)]
    if all(bools):
        raise RuntimeError("Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
                           "`logical_xor()` operator instead.")
    if any(bools):
        raise RuntimeError("Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to "
                           "invert a mask, use the `~` or `logical_not()` operator instead.")


check_sub.refused_kinds = "b"  # type: ignore[attr-defined]
check_sub.takes_floats = True  # type: ignore[attr-defined]


add_scalar = scalar_row(
    "add", lambda xp, self, other, alpha: xp.add(self, number_like(xp, self, other * alpha)), lambda grad: grad,
    promote="common", lower="self + alpha * other", traits=("chalf",))
sub_scalar = scalar_row(
    "sub", lambda xp, self, other, alpha: xp.subtract(self, number_like(xp, self, other * alpha)), lambda grad: grad,
    promote="common", check=check_sub, lower="self - alpha * other", traits=("chalf",))
mul_scalar = scalar_row(
    "mul", lambda xp, self, other: xp.multiply(self, number_like(xp, self, other)),
    lambda grad, other: times(grad, conj(other)), promote="common", widen=True, exact=True, lower="self * other",
    traits=("chalf",))
div_scalar = scalar_row(
    "div", lambda xp, self, other: xp.true_divide(self, number_like(xp, self, other)),
    lambda grad, other: over(grad, conj(other)), promote="float", widen=True, exact=True, lower="self / other")


def plus(tensor: Any, number: Any) -> Any:
    return call(add_scalar, [tensor, number, 1])


def minus(tensor: Any, number: Any) -> Any:
    return call(sub_scalar, [tensor, number, 1])


def times(tensor: Any, number: Any) -> Any:
    return call(mul_scalar, [tensor, number])


def over(tensor: Any, number: Any) -> Any:
    return call(div_scalar, [tensor, number])


def blanked(fresh: Any, mask: Any) -> Any:
    """0 where `mask` is set, written in place into an unshared value, which keeps its memory order; transforms get a new
    one."""
    copies = slow_path() and (tls.transforms or tls.function_modes) or fresh._flags or mask._flags
    return fresh.masked_fill(mask, 0) if copies else fresh.masked_fill_(mask, 0)


def must_not_write(fresh: Any, value: Any) -> bool:
    """Whether transforms or modes forbid in-place writes to an unshared value."""
    return bool(slow_path() and (tls.transforms or tls.dispatch_modes or tls.function_modes) or fresh._flags or value._flags)


def fits(number: Any, tensor: Any) -> bool:
    """Whether a number combined with the tensor leaves it in its dtype."""
    return is_complex_type(tensor.array.dtype) or not isinstance(number, complex)


def less_from(number: Any, tensor: Any) -> Any:
    """number - tensor."""
    if is_seen() and fits(number, tensor):
        return late.empty_like(tensor).fill_(number).sub_(tensor)
    return call(find_packet("sub").Tensor, [number, tensor, 1])      # type: ignore[union-attr]


def divided_by(number: Any, tensor: Any) -> Any:
    """number / tensor."""
    if is_seen() and fits(number, tensor):
        return late.empty_like(tensor).fill_(number).div_(tensor)
    return call(find_packet("div").Tensor, [number, tensor])         # type: ignore[union-attr]


def minus_times(grad: Any, factor: Any) -> Any:
    """-grad * factor, where the factor is computed first."""
    return -grad * factor


def zeros_beside(tensor: Any, shape: Any) -> Any:
    """Zeros of another shape, for formulas in which PyTorch makes them from nothing but options."""
    return late.zeros(shape, dtype=tensor.dtype) if is_seen() else tensor.new_zeros(shape)


def changed(fresh: Any, method: str, *args: Any) -> Any:
    """The result of a method of an unshared value: in place if a mode sees it, as in PyTorch."""
    return getattr(fresh, method + "_" if is_seen() else method)(*args)


def number_beside(number: Any, tensor: Any) -> Any:
    """The number for a `where`, made a tensor at this point if a mode sees it."""
    return hooks.scalar_tensor(number, tensor.dtype) if is_seen() else number


def maybe_times(grad: Any, factor: Any) -> Any:
    """grad * factor, without an op when the factor is 1."""
    return grad if factor == 1 else times(grad, conj(factor))


# ---- other names for the same op
def alias_rows(name: str, original: str, *schemas: str, inplace: Any = True, out: bool = True, numbers: bool = False,
               **columns: Any) -> None:
    """Declare `name` as a composite that calls `original`; `schemas` are "overload(arguments)" of the functional forms.

    `inplace="function"`: the in-place form is a function as well as a method.
    """
    if original not in OPS:
        load(original)
    for schema in schemas:
        overload, _, arguments = schema[:-1].partition("(")
        dot = "." + overload if overload else ""
        columns.update(composite=True, numbers=numbers, out=False)
        meant = getattr(OPS[original], overload or "default")
        form = overload or "default"
        defop(f"{name}{dot}({arguments}) -> Tensor", kernel=forwarder(original, form), alias=(original, form), **columns)
        if inplace:
            written = arguments.replace("Tensor self", "Tensor(a!) self", 1)
            defop(f"{name}_{dot}({written}) -> Tensor(a!)", kernel=forwarder(original + "_", form),
                  alias=(original + "_", form), functional=meant,
                  **columns if inplace == "function" else {**columns, "variants": "method"})
        if out:
            star = "" if "*" in arguments else "*, "
            written = out_overload(meant)
            defop(f"{name}.{written}({arguments}, {star}Tensor(a!) out) -> Tensor(a!)", kernel=forwarder(original, written),
                  functional=meant, **columns)


def forwarder(name: str, overload: str) -> Any:
    """A composite kernel that calls another op."""
    return lambda *args: call(getattr(find_packet(name), overload), list(args))
