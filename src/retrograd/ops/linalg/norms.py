"""Composite linear algebra (norms, ranks, powers), Householder products, the matrix exponential."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.core import dtypes
from retrograd.core.dispatch import call
from retrograd.core.hooks import hooks
from retrograd.core.opdef import defop
from retrograd.core.tensor import FUNCTIONS_BY_NAME, Tensor, bump
from retrograd.ops import late
from retrograd.ops.linalg import lapack
from retrograd.ops.linalg.factors import check_floating, check_matrix, check_square, column_major, legacy, supported
from retrograd.ops.linalg.solve import linalg_inv, linalg_inv_ex, linalg_solve
from retrograd.ops.linalg.spectral import as_tolerance, linalg_eigvalsh, linalg_svdvals
from retrograd.ops.linalg.triangular import stacked
from retrograd.ops.reduction.sums import norm_dims, norm_scalar, vector_norm
from retrograd.ops.shared.elementwise import must_not_write
from retrograd.ops.shared.families import anywhere, wrap_dim


# ---- products of reflections
def check_reflections(name: str, input: Any, tau: Any) -> None:
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if input.shape[-2] < input.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if input.shape[-1] < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if input.ndim - tau.ndim != 1:
        raise RuntimeError(f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.ndim} "
                           f"and input.ndim is equal to {input.ndim}")
    if tau.shape[:-1] != input.shape[:-2]:
        raise RuntimeError(f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
                           f"{list(tau.shape[:-1])}")
    if tau.dtype != input.dtype:
        raise RuntimeError(f"{name}: tau dtype {legacy(tau)} does not match input dtype {legacy(input)}")


def householder_kernel(xp: Any, input: Any, tau: Any) -> Any:
    check_reflections("torch.linalg.householder_product", input, tau)
    supported("orgqr_cpu", input)
    return column_major(lapack.householder_product(xp, input, tau))


def reflection_vector(vectors: Any, k: int) -> Any:
    """The k-th reflection vector: zeros, then 1, then the column below the diagonal."""
    below = vectors[..., k + 1:, k:k + 1]
    head = below.new_zeros((*vectors.shape[:-2], k + 1, 1))
    return late.cat([head + late.eye(k + 1, dtype=vectors.dtype, device=vectors.device)[:, k:], below], -2)


def reflected(x: Any, v: Any, factor: Any) -> Any:
    return x - factor * (v @ (v.mH @ x))


def factors_of(tau: Any, transpose: bool) -> Any:
    return tau.conj() if transpose else tau


def passes(vectors: Any, tau: Any, x: Any, transpose: bool) -> Any:
    """The reflections in the order in which they are applied, each with its position, factor and operand; the result."""
    count = tau.shape[-1]
    steps = []
    for k in range(count) if transpose else range(count - 1, -1, -1):
        v, factor = reflection_vector(vectors, k), factors_of(tau[..., k:k + 1].unsqueeze(-1), transpose)
        steps.append((k, v, factor, x))
        x = reflected(x, v, factor)
    return steps, x


def reflection_gradients(grad: Any, vectors: Any, tau: Any, x: Any, transpose: bool) -> Any:
    """The gradients of vectors, tau and operand, through the reflections one by one."""
    steps, _ = passes(vectors, tau, x, transpose)
    count = tau.shape[-1]
    columns: list[Any] = [None] * count
    slopes: list[Any] = [None] * count
    for k, v, factor, operand in reversed(steps):
        row = v.mH @ operand
        slope = -(v.mH @ grad @ row.mH)
        slopes[k] = (slope.conj() if transpose else slope).squeeze(-1)
        columns[k] = -(factor.conj() * (grad @ row.mH)) - factor * (operand @ (grad.mH @ v))
        grad = reflected(grad, v, factor.conj())
    made, of_tau = late.zeros_like(vectors), late.zeros_like(tau)
    if must_not_write(made, grad) or tau._flags:
        if columns:
            made = late.constant_pad_nd(late.cat(columns, -1), (0, vectors.shape[-1] - count))
        return made.tril(-1), late.cat(slopes, -1) if slopes else of_tau, grad
    for k in range(count):
        made.narrow(-1, k, 1).copy_(columns[k])
        of_tau.narrow(-1, k, 1).copy_(slopes[k])
    return made.tril_(-1), of_tau, grad


def reflection_tangent(vectors: Any, vectors_t: Any, tau: Any, tau_t: Any, x: Any, x_t: Any, transpose: bool) -> Any:
    steps, _ = passes(vectors, tau, x, transpose)
    for k, v, factor, operand in steps:
        below = vectors_t[..., k + 1:, k:k + 1]
        v_t = late.cat([below.new_zeros((*vectors.shape[:-2], k + 1, 1)), below], -2)
        factor_t = factors_of(tau_t[..., k:k + 1].unsqueeze(-1), transpose)
        moved = factor_t * (v @ (v.mH @ operand)) + factor * (v_t @ (v.mH @ operand) + v @ (v_t.mH @ operand))
        x_t = reflected(x_t, v, factor) - moved
    return x_t


def unit_columns(input: Any) -> Any:
    rows, columns = input.shape[-2:]
    return late.eye(rows, columns, dtype=input.dtype, device=input.device).expand(input.shape)


linalg_householder_product = defop(
    "linalg_householder_product(Tensor input, Tensor tau) -> Tensor",
    out="castable: torch.linalg.householder_product",
    kernel=householder_kernel,
    vjp={("input", "tau"): lambda grad, input, tau, result:
         reflection_gradients(grad, input, tau, unit_columns(input), False)[:2]},
    jvp=lambda input_p, input_t, tau_p, tau_t: reflection_tangent(
        input_p, input_t, tau_p, tau_t, unit_columns(input_p), late.zeros_like(input_p), False),
    batch=stacked(2, 1), variants="", autocast="float32",
)
defop("orgqr(Tensor self, Tensor input2) -> Tensor", composite=True, out="castable: torch.linalg.householder_product",
      kernel=lambda self, input2: linalg_householder_product(self, input2), autocast="float32")


def ormqr_kernel(xp: Any, self: Any, input2: Any, input3: Any, left: bool, transpose: bool) -> Any:
    if self.ndim < 2 or input3.ndim < 2:
        raise RuntimeError(f"torch.ormqr: {'input' if self.ndim < 2 else 'other'} must have at least 2 dimensions.")
    side = -2 if left else -1
    if not input2.ndim:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    if input2.shape[-1:] != (min(input3.shape[side], self.shape[-1]),):
        raise RuntimeError(f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])")
    if input3.shape[side] < input2.shape[-1]:
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be greater than or equal to tau.shape[-1]")
    if input3.shape[side] != self.shape[-2]:
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    if input2.ndim != self.ndim - 1:
        raise RuntimeError("torch.ormqr: Expected tau to have one dimension less than input, but got tau.ndim equal to "
                           f"{input2.ndim} and input.ndim is equal to {self.ndim}")
    if input3.ndim != self.ndim:
        raise RuntimeError("torch.ormqr: Expected other to have the same number of dimensions as input, but got other.ndim "
                           f"equal to {input3.ndim} and input.ndim is equal to {self.ndim}")
    for name, batch in (("tau", input2.shape[:-1]), ("other", input3.shape[:-2])):
        if batch != self.shape[:-2]:
            raise RuntimeError(f"torch.ormqr: Expected batch dimensions of {name} to be equal to input.shape[:-2], but got "
                               f"{list(batch)}")
    supported("ormqr_cpu", self)
    return column_major(lapack.reflect(xp, self, input2, input3, left, transpose))


def ormqr_gradients(grad: Any, self: Any, input2: Any, input3: Any, left: bool, transpose: bool, result: Any,
                    needed: Any) -> Any:
    other = call(ormqr, [self, input2, grad, left, not transpose]) if needed[2] else None
    if not (needed[0] or needed[1]):
        return None, None, other
    if left:
        return *reflection_gradients(grad, self, input2, input3, transpose)[:2], other
    return *reflection_gradients(grad.mH, self, input2, input3.mH, not transpose)[:2], other


def ormqr_tangent(self_p: Any, self_t: Any, input2_p: Any, input2_t: Any, input3_p: Any, input3_t: Any, left: bool,
                  transpose: bool) -> Any:
    if left:
        return reflection_tangent(self_p, self_t, input2_p, input2_t, input3_p, input3_t, transpose)
    return reflection_tangent(self_p, self_t, input2_p, input2_t, input3_p.mH, input3_t.mH, not transpose).mH


ormqr = defop(
    "ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor",
    out="same: torch.ormqr: Expected input and result to have the same dtype, but input has dtype{value} "
        "and result has dtype {out}",
    kernel=ormqr_kernel, vjp={("self", "input2", "input3"): ormqr_gradients}, jvp=ormqr_tangent, batch=stacked(2, 1, 2),
    autocast="float32",
)


# ---- the exponential
def matrix_exp_kernel(xp: Any, self: Any) -> Any:
    check_square("linalg.matrix_exp", self)
    check_floating("linalg.matrix_exp", self)
    return lapack.matrix_exp(xp, self)


def exp_derivative(matrix: Any, change: Any) -> Any:
    """The directional derivative of the exponential: a block of the exponential of a matrix of twice the size."""
    n = matrix.shape[-1]
    cat = late.cat
    upper = cat([matrix, change.expand(matrix.shape)], -1)
    lower = cat([late.zeros_like(matrix), matrix], -1)
    return linalg_matrix_exp(cat([upper, lower], -2))[..., :n, n:]


linalg_matrix_exp = defop(
    "linalg_matrix_exp(Tensor self) -> Tensor",
    out="aten",
    kernel=matrix_exp_kernel, vjp=dict(self=lambda grad, self: exp_derivative(self.mH, grad)),
    jvp=lambda self_p, self_t: exp_derivative(self_p, self_t), batch=stacked(2), widen=True, variants="",
)
defop("matrix_exp(Tensor self) -> Tensor", kernel=lambda self: linalg_matrix_exp(self), composite=True, out=False)


# ---- powers
def matrix_power(self: Any, n: int) -> Any:
    check_square("linalg.matrix_power", self.array)
    if n == 0:
        unit = late.eye(self.shape[-1], dtype=self.dtype, device=self.device)
        return hooks.contiguous_clone(self).copy_(unit.expand(self.shape))
    if n < 0:
        self, n = linalg_inv(self), -n
        if n == 1:
            return self
    if n == 1:
        return hooks.contiguous_clone(self)
    if n == 2:
        return self @ self
    if n == 3:
        return (self @ self) @ self
    power = result = None
    while n:
        power = self if power is None else power @ power
        n, bit = divmod(n, 2)
        if bit:
            result = power if result is None else result @ power
    return result


defop("linalg_matrix_power(Tensor self, int n) -> Tensor",
      out="cast", kernel=matrix_power, composite=True, variants="")
defop("matrix_power(Tensor self, int n) -> Tensor",
      out="castable: matrix_power", kernel=matrix_power, composite=True)


# ---- norms
def matrix_dims(self: Any, dim: Any) -> tuple[int, int]:
    check_matrix_norm(self)
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {', '.join([str(d) for d in dim])}")
    first, second = (wrap_dim(d, self.ndim) for d in dim)
    if first == second:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    return first, second


def check_matrix_norm(self: Any) -> None:
    check_matrix("linalg.matrix_norm", self.array)
    check_floating("linalg.matrix_norm", self.array)


def to_back(self: Any, first: int, second: int) -> Any:
    return self.permute(order_to_back(self.ndim, first, second))


def order_to_back(ndim: int, first: int, second: int) -> tuple[int, ...]:
    return (*[d for d in range(ndim) if d not in (first, second)], first, second)


def put_back(t: Any, first: int, second: int) -> Any:
    """The result of a keepdim reduction with the matrix dimensions moved back."""
    t = t.unsqueeze(-1)
    order = order_to_back(t.ndim, first, second)
    return t.permute(tuple([order.index(d) for d in range(t.ndim)]))


def largest_or_zero(t: Any, dim: int, keepdim: bool) -> Any:
    """The maximum along a dimension, 0 for an empty one."""
    if t.shape[dim]:
        return late.amax(t, dim, keepdim)
    dim %= t.ndim
    return t.new_zeros([1 if d == dim else n for d, n in enumerate(t.shape) if d != dim or keepdim])


def matrix_norm(self: Any, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if isinstance(ord, complex):
        raise RuntimeError("linalg.matrix_norm: Expected a non-complex scalar as the order of norm.")
    size = abs(float(ord))
    if size not in (1.0, 2.0, math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    first, second = matrix_dims(self, dim)
    check_floating("linalg.matrix_norm", self.array, low_precision=size != 2.0)
    extreme = late.amin if float(ord) < 0 else largest_or_zero
    if size == 2.0:
        x = self if dtype is None else self.to(dtype)
        made = extreme(linalg_svdvals(to_back(x, first, second)), -1, keepdim)
        return put_back(made, first, second) if keepdim else made
    if size == math.inf:
        first, second = second, first
    if not keepdim and first < second:
        second -= 1
    summed = call(vector_norm, [self, 1.0, (first,), keepdim, dtype])
    return extreme(summed, second, keepdim)


def matrix_norm_by_name(self: Any, ord: str, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if ord not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    first, second = matrix_dims(self, dim)
    check_floating("linalg.matrix_norm", self.array, low_precision=ord != "nuc")
    if ord == "fro":
        return call(vector_norm, [self, 2, (first, second), keepdim, dtype])
    x = self if dtype is None else self.to(dtype)
    made = linalg_svdvals(to_back(x, first, second)).sum(-1, keepdim)
    return put_back(made, first, second) if keepdim else made


linalg_matrix_norm = defop(
    "linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    out="same: linalg.matrix_norm expected out tensor dtype {value} but got: {out}",
    kernel=matrix_norm, composite=True, variants="", traits=("out_copied",),
)
defop(
    'linalg_matrix_norm.str_ord(Tensor self, str ord="fro", int[] dim=[-2, -1], bool keepdim=False, *, '
    "ScalarType? dtype=None) -> Tensor",
    out="same: linalg.matrix_norm expected out tensor dtype {value} but got: {out}",
    kernel=matrix_norm_by_name, composite=True, variants="", traits=("out_copied",),
)


def any_matrix_norm(self: Any, ord: Any, dim: Any, keepdim: bool = False, dtype: Any = None) -> Any:
    return (matrix_norm_by_name if isinstance(ord, str) else matrix_norm)(self, ord, dim, keepdim, dtype)


FUNCTIONS_BY_NAME["linalg_matrix_norm"] = any_matrix_norm


def check_ranks(self: Any, ord: Any, dim: Any) -> None:
    if dim is None and ord is not None and self.ndim not in (1, 2):
        raise RuntimeError("linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
                           f"{self.ndim}D.")


def linalg_norm_by_name(self: Any, ord: str, dim: Any, keepdim: bool, dtype: Any) -> Any:
    check_ranks(self, ord, dim)
    return matrix_norm_by_name(self, ord, (0, 1) if dim is None and self.ndim == 2 else dim or (-2, -1), keepdim, dtype)


def linalg_norm(self: Any, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if dim is not None and len(dim) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    check_ranks(self, ord, dim)
    if ord is not None and ((dim is not None and len(dim) == 2) or (dim is None and self.ndim == 2)):
        return matrix_norm(self, ord, (0, 1) if dim is None else dim, keepdim, dtype)
    return call(vector_norm, [self, 2.0 if ord is None else ord, dim, keepdim, dtype])


defop("linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
      out="same: linalg.norm expected out tensor dtype {value} but got: {out}",
      kernel=linalg_norm, composite=True, variants="", traits=("out_copied",))
defop("linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
      out="same: linalg.norm expected out tensor dtype {value} but got: {out}",
      composite=True, variants="", kernel=linalg_norm_by_name, traits=("out_copied",))
defop("nuclear_norm(Tensor self, bool keepdim=False) -> Tensor",
      out="same: linalg.matrix_norm expected out tensor dtype {value} but got: {out}",
      composite=True, variants="function",
      kernel=lambda self, keepdim: matrix_norm_by_name(self, "nuc", (-2, -1), keepdim, None), traits=("out_copied",))
defop("nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor",
      out="same: linalg.matrix_norm expected out tensor dtype {value} but got: {out}",
      composite=True, variants="function",
      kernel=lambda self, dim, keepdim: matrix_norm_by_name(self, "nuc", dim, keepdim, None), traits=("out_copied",))
defop("frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
      out="same", composite=True, variants="function",
      kernel=lambda self, dim, keepdim: call(norm_dims, [self, 2.0, dim, keepdim]), out_form="out")


def norm_except_dim(v: Any, pow: int, dim: int) -> Any:
    if dim == -1:
        return call(norm_scalar, [v, pow])
    ones = [1] * (v.ndim - 1)
    if not v.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if dim == 0:
        return call(norm_dims, [v.contiguous().view((v.shape[0], -1)), pow, (1,), False]).view((v.shape[0], *ones))
    if dim == v.ndim - 1:
        return call(norm_dims, [v.contiguous().view((-1, v.shape[-1])), pow, (0,), False]).view((*ones, v.shape[-1]))
    return norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)


defop("norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor", kernel=norm_except_dim, composite=True, out=False,
      variants="function")


# ---- condition numbers and ranks
def check_cond(self: Any) -> None:
    if self.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")


def by_inverse(self: Any, ord: Any) -> Any:
    inverse, info = linalg_inv_ex(self)
    inverse = inverse.masked_fill((info > 0).unsqueeze(-1).unsqueeze(-1).expand(inverse.shape), math.inf)
    return any_matrix_norm(self, ord, (-2, -1)) * any_matrix_norm(inverse, ord, (-2, -1))


def cond(self: Any, p: Any) -> Any:
    check_cond(self)
    if isinstance(p, complex):
        raise RuntimeError("value cannot be converted to type double without overflow")
    if p is not None and abs(float(p)) not in (1.0, 2.0, math.inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if self.numel() == 0:
        return self.new_zeros(self.shape[:-2], dtype=real_type(self))
    if p is None or abs(float(p)) == 2.0:
        values = linalg_svdvals(self)
        last, first = values.narrow(-1, -1, 1), values.narrow(-1, 0, 1)
        return (last / first if p is not None and float(p) < 0 else first / last).squeeze(-1)
    check_square(f"linalg.cond(ord={p})", self.array)
    return finite_or_infinite(by_inverse(self, p))


def finite_or_infinite(t: Any) -> Any:
    """The condition number, infinite for a singular matrix."""
    return late.nan_to_num(t, nan=math.inf, posinf=math.inf, neginf=-math.inf)


def cond_by_name(self: Any, p: str) -> Any:
    check_cond(self)
    if p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    check_square(f"linalg.cond(ord={p})", self.array)
    if self.numel() == 0:
        return self.new_zeros(self.shape[:-2], dtype=real_type(self))
    if p == "fro":
        return finite_or_infinite(by_inverse(self, p))
    values = linalg_svdvals(self)
    return values.sum(-1) * values.reciprocal().sum(-1)


def real_type(self: Any) -> Any:
    return dtypes.BY_NUMPY[self.array.real.dtype] if self.is_complex() else self.dtype


defop("linalg_cond(Tensor self, Scalar? p=None) -> Tensor",
      out="castable: linalg.cond", kernel=cond, composite=True, variants="", autocast="float32", traits=("out_copied",))
defop("linalg_cond.p_str(Tensor self, str p) -> Tensor",
      out="castable: linalg.cond", kernel=cond_by_name, composite=True, variants="", autocast="float32",
      traits=("out_copied",))


def matrix_rank(input: Any, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    name = "torch.linalg.matrix_rank"
    check_matrix(name, input.array, "input")
    for what, value in (("atol", atol), ("rtol", rtol)):
        if isinstance(value, Tensor) and value.is_complex():
            raise RuntimeError(f"{name}: {what} tensor of complex type is not supported. Got {value.dtype.legacy}")
    zero = atol is None or not isinstance(atol, Tensor) and atol == 0
    if input.dtype.numpy.char not in "fdFD" and rtol is None:
        raise RuntimeError("This function doesn't handle types other than float and double")
    if input.numel() == 0:
        return late.zeros(input.shape[:-2], dtype=dtypes.int64, device=input.device).fill_(0)
    if rtol is None:
        rtol = max(input.shape[-2:]) * float(np.finfo(input.array.dtype).eps) if zero else 0.0
    absolute, relative = (as_tolerance(input, 0.0 if v is None else v) for v in (atol, rtol))
    values = linalg_eigvalsh(input, "L").abs() if hermitian else linalg_svdvals(input)
    largest = values.amax(-1, True)
    bound = late.max(absolute.unsqueeze(-1), relative.unsqueeze(-1) * largest)
    rank = (values > bound).sum(-1)
    bump(rank)                        # the sum is written into a new tensor
    return rank


defop("linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) "
      "-> Tensor",
      out="castable: torch.linalg.matrix_rank", kernel=matrix_rank, composite=True, variants="", autocast="float32",
      traits=("out_copied",))
defop("linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor",
      out="castable: torch.linalg.matrix_rank",
      kernel=matrix_rank, composite=True, variants="", autocast="float32", traits=("out_copied",))
defop("linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor",
      out="castable: torch.linalg.matrix_rank", composite=True, variants="",
      kernel=lambda self, tol, hermitian: matrix_rank(self, tol, 0.0, hermitian), autocast="float32",
      traits=("out_copied",))
defop("linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor",
      out="castable: torch.linalg.matrix_rank", composite=True, variants="",
      kernel=lambda input, tol, hermitian: matrix_rank(
          input, tol, late.zeros((), dtype=tol.dtype, device=tol.device), hermitian),
      autocast="float32", traits=("out_copied",), out_form="out_tol_tensor")


# ---- tensors as matrices
def tensorinv(self: Any, ind: int) -> Any:
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    end, start = tuple(self.shape[ind:]), tuple(self.shape[:ind])
    if math.prod(end) != math.prod(start):
        raise RuntimeError("Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
                           f"{math.prod(end)} != {math.prod(start)}")
    inverse, info = linalg_inv_ex(self.reshape((math.prod(end), math.prod(end))))
    if anywhere(info):
        raise RuntimeError("Failed to invert the input tensor, because it is singular.")
    return inverse.reshape((*end, *start))


def tensorsolve(self: Any, other: Any, dims: Any) -> Any:
    if dims is not None:
        moved = [wrap_dim(d, self.ndim) for d in dims]
        self = self.movedim(tuple(moved), tuple(range(self.ndim - len(moved), self.ndim)))
    result = tuple(self.shape[other.ndim:])
    size = math.prod(result)
    if size != math.prod(self.shape[:other.ndim]):
        raise RuntimeError("Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
                           f"prod(self.shape[:other.ndim]), but got {size} != {math.prod(self.shape[:other.ndim])}")
    return linalg_solve(self.reshape((size, size)), other.flatten()).reshape(result)


def vander(x: Any, N: Any) -> Any:
    if x.array.dtype.kind in "bV" or x.array.dtype.char == "e":
        raise RuntimeError(f"linalg.vander supports floating point, complex, and integer tensors, but got {x.dtype.legacy}")
    x = x.unsqueeze(0) if x.ndim == 0 else x
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    powers = x.unsqueeze(-1).expand((*x.shape, count - 1)).cumprod(-1)
    return late.cat([late.ones((*x.shape, 1), dtype=powers.dtype, device=x.device), powers], -1)


defop("linalg_tensorinv(Tensor self, int ind=2) -> Tensor",
      out="castable: tensorinv", kernel=tensorinv, composite=True, variants="", autocast="float32", traits=("out_copied",))
defop("linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor",
      out="castable: tensorsolve", kernel=tensorsolve, composite=True,
      variants="", autocast="float32", traits=("out_copied",))
defop("linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor", kernel=vander, composite=True, variants="", out=False)
