"""Complex numbers: real and imaginary parts as views, lazy conjugation and negation, building complex tensors."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import dtypes, lean, storage
from retrograd.core.algorithms import native
from retrograd.core.api import expose
from retrograd.core.dispatch import call
from retrograd.core.dtypes import is_complex_type
from retrograd.core.kernels import broadcast_problem, is_shared
from retrograd.core.opdef import OpDef, defop
from retrograd.core.tensor import FLAG_CONJ, FLAG_NEG, FLAG_SPARSE
from retrograd.ops import late
from retrograd.ops.memory.copy import clone
from retrograd.ops.shared import geometry
from retrograd.ops.shared.families import in_front, move_to_front, pointwise
from retrograd.ops.views.slicing import select

PARTS = {np.dtype(np.complex64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.float64)}
WHOLES = {part: whole for whole, part in PARTS.items()}


def add_complex_half(found: Any) -> None:
    PARTS[found] = dtypes.float16.numpy
    WHOLES[dtypes.float16.numpy] = found


dtypes.when_complex32(add_complex_half)


def batch_contiguous(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    return op(move_to_front(args[0], dims[0]).contiguous()), 0


# ---- complex as real and back
def real_pairs(xp: Any, self: Any) -> Any:
    part = PARTS.get(self.dtype)
    if part is None:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    strides = [s * 2 for s in storage.strides_of(self)]
    return geometry.reinterpreted(self, part, (*self.shape, 2), (*strides, 1))


def complex_pairs(xp: Any, self: Any) -> Any:
    whole = dtypes.complex32.numpy if self.dtype.char == "e" else WHOLES.get(self.dtype)
    if whole is None:
        raise RuntimeError("view_as_complex is only supported for half, float and double tensors, but got a tensor of "
                           f"scalar type: {dtypes.BY_NUMPY[self.dtype].legacy}")
    shape, strides, offset = self.shape, storage.strides_of(self), storage.offset_of(self)
    if not shape:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any([s % 2 for s, n in zip(strides[:-1], shape[:-1], strict=True) if n != 1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if offset % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return geometry.reinterpreted(self, whole, shape[:-1], [s // 2 for s in strides[:-1]])


def refuse_conj(self: Any) -> None:
    if self._flags & FLAG_CONJ:
        raise RuntimeError("view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate "
                           "tensor so you can view it as real, use self.resolve_conj(); however, be warned that the resulting "
                           "tensor will NOT alias the original.")


view_as_real = defop(
    "view_as_real(Tensor(a) self) -> Tensor(a)",
    kernel=real_pairs, check=refuse_conj, vjp=dict(self=lambda grad: late.view_as_complex(grad.contiguous())),
    jvp="linear", batch=in_front, variants="function", lower="@view_as_real", out=False, traits=("pairs",), inverse="real",
)
view_as_complex = defop(
    "view_as_complex(Tensor(a) self) -> Tensor(a)",
    kernel=complex_pairs, vjp=dict(self=lambda grad: late.view_as_real(grad.contiguous().resolve_conj())),
    jvp="linear", batch=batch_contiguous, variants="function", lower="@view_as_complex", out=False, autocast="float32",
    traits=("pairs",), inverse="complex",
)


# ---- lazy conjugation and negation
lazy_conj = defop(
    "_conj(Tensor(a) self) -> Tensor(a)",
    kernel=lambda xp, self: self[...], flips=FLAG_CONJ,
    vjp=dict(self=lambda grad: conj(grad)), jvp="linear", batch=in_front, lower="@alias", out=False, pattern="elements",
    inverse="itself",
)
neg_view = defop(
    "_neg_view(Tensor(a) self) -> Tensor(a)",
    kernel=lambda xp, self: self[...], flips=FLAG_NEG,
    vjp=dict(self=lambda grad: -grad), jvp="linear", batch=in_front, lower="@alias", out=False, pattern="elements",
    inverse="itself",
)


@expose
def conj(input: Any) -> Any:
    """A lazily conjugated view; the tensor itself if it is real."""
    if input._flags & FLAG_SPARSE and is_complex_type(input.array.dtype):
        return late.conj_physical(input)
    return call(lazy_conj, [input]) if is_complex_type(input.array.dtype) else input


@expose
def resolve_conj(input: Any) -> Any:
    """The tensor with its conjugation materialised."""
    return call(clone, [input, None]) if input._flags & FLAG_CONJ else input


@expose
def resolve_neg(input: Any) -> Any:
    """The tensor with its negation materialised."""
    return call(clone, [input, None]) if input._flags & FLAG_NEG else input


@expose(method=False)
def is_conj(input: Any) -> bool:
    """Whether the tensor is a lazy conjugate."""
    return bool(input._flags & FLAG_CONJ)


@expose(method=False)
def is_neg(input: Any) -> bool:
    """Whether the tensor is a lazy negative."""
    return bool(input._flags & FLAG_NEG)


def conj_kernel(xp: Any, self: Any) -> Any:
    return xp.conjugate(self) if self.dtype.kind == "c" else self.copy(order="K")


physical = defop(
    "_conj_physical(Tensor self) -> Tensor",
    kernel=conj_kernel,
    vjp=dict(self=lambda grad: grad.conj_physical()), jvp="linear", batch=pointwise, variants="", pattern="elements",
    traits=("chalf",))
physical_inplace = defop(
    "conj_physical_(Tensor(a!) self) -> Tensor(a!)",
    kernel=lambda xp, self: self if self.dtype.kind != "c" else conj_kernel(xp, self) if is_shared(self) else xp.conjugate(
        self, self),
    vjp=dict(self=lambda grad: grad.conj_physical()), jvp="linear", batch=pointwise, node="ConjPhysicalBackward1", out=False,
    traits=("chalf",))
defop("conj_physical(Tensor self) -> Tensor",
      out="found", composite=True,
      kernel=lambda self: call(physical, [self]) if is_complex_type(self.array.dtype) else self, traits=("out_untracked",),
      masked="unary")


# ---- parts
@expose(method=False)
def real(input: Any) -> Any:
    """The real part as a view; the tensor itself if it is real."""
    if not is_complex_type(input.array.dtype):
        return input
    pairs = call(view_as_real, [call(lazy_conj, [input]) if input._flags & FLAG_CONJ else input])
    return call(select, [pairs, pairs.array.ndim - 1, 0])


@expose(method=False)
def imag(input: Any) -> Any:
    """The imaginary part as a view."""
    if not is_complex_type(input.array.dtype):
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    if input._flags & FLAG_CONJ:
        pairs = call(neg_view, [call(view_as_real, [call(lazy_conj, [input])])])
    else:
        pairs = call(view_as_real, [input])
    return call(select, [pairs, pairs.array.ndim - 1, 1])


# ---- building
def check_parts(first: Any, second: Any) -> None:
    names = [dtypes.BY_NUMPY[a.dtype].legacy for a in (first, second)]
    if any([n not in ("Float", "Double", "Half") for n in names]):
        raise RuntimeError(f"Expected both inputs to be Half, Float or Double tensors but got {names[0]} and "
                           f"{names[1]}")
    if names[0] != names[1]:
        raise RuntimeError(f"Expected object of scalar type {names[0]} but got scalar type {names[1]} for second "
                           f"argument")
    problem = broadcast_problem(first.shape, second.shape)
    if problem is not None:
        raise RuntimeError(problem)


def complex_kernel(xp: Any, real: Any, imag: Any) -> Any:
    done = None if native is None else native.complex_of(real, imag, False)
    if done is not None:
        return done
    check_parts(real, imag)
    if real.dtype.char == "e":
        return complex_kernel(xp, real.astype(xp.float32), imag.astype(xp.float32)).astype(dtypes.complex32.numpy)
    made = real.astype(WHOLES[real.dtype]) + lean.zeros_like(imag)
    made = xp.array(made)
    made.imag = imag
    return made


def polar_kernel(xp: Any, abs: Any, angle: Any) -> Any:
    if abs.dtype.char == angle.dtype.char == "e":
        raise NotImplementedError("\"polar_cpu\" not implemented for 'Half'")
    done = None if native is None else native.complex_of(abs, angle, True)
    if done is not None:
        return done
    check_parts(abs, angle)
    cosine = xp.multiply(abs, xp.cos(angle))
    made = xp.array(cosine, dtype=WHOLES[abs.dtype])
    made.imag = xp.multiply(abs, xp.sin(angle))
    return made


def polar_rule(grad: Any, result: Any) -> Any:
    conjugate = grad.conj()
    return late.real(conjugate * result.sgn()), late.real(conjugate * (result * 1j))


def polar_jvp(abs_p: Any, abs_t: Any, angle_p: Any, angle_t: Any) -> Any:
    # Without `result`, whose rule takes the direction from its sign: abs may be zero or negative.
    cosine, sine, turn = angle_p.cos(), angle_p.sin(), angle_t * abs_p
    return late.complex(abs_t * cosine - turn * sine, abs_t * sine + turn * cosine)


complex_ = defop(
    "complex(Tensor real, Tensor imag) -> Tensor",
    out="same: Expected object of scalar type {value} but got scalar type {out} for argument 'out'",
    kernel=complex_kernel,
    vjp=dict(real=lambda grad, real, imag: late.real(grad), imag=lambda grad, real, imag: late.imag(grad)),
    jvp=lambda real_t, imag_t: late.complex(real_t, imag_t), batch=pointwise, variants="function",
)
polar = defop(
    "polar(Tensor abs, Tensor angle) -> Tensor",
    out="same: Expected object of scalar type {value} but got scalar type {out} for argument 'out'",
    kernel=polar_kernel, vjp={("abs", "angle"): polar_rule}, jvp=polar_jvp, batch=pointwise, variants="function",
    autocast="float32",
)
