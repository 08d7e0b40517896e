"""Sums, means, products, variances, norms and the other reductions that combine all elements."""
from __future__ import annotations

import math
import warnings
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from retrograd.core import dtypes, lean
from retrograd.core.api import expose
from retrograd.core.dispatch import call
from retrograd.core.dtypes import BY_NUMPY
from retrograd.core.hooks import hooks
from retrograd.core.opdef import OpDef, defop
from retrograd.core.state import tls
from retrograd.core.tensor import FLAG_WRAPPER, wants_grad
from retrograd.ops import late
from retrograd.ops.memory.copy import cast_array
from retrograd.ops.shared import families
from retrograd.ops.shared.elementwise import blanked, over, times, unsupported
from retrograd.ops.shared.families import anywhere, conj, fill_zeros, is_watched, wrap_dim, zeros_in
from retrograd.ops.shared.reductions import (
    FLOAT64,
    INT64,
    accumulating,
    along_dim,
    axes_of,
    dense,
    flattened,
    is_half,
    is_integral,
    lacking,
    legacy,
    need_elements,
    reduced_count,
    spread_sum,
    total,
    unsqueeze_all,
    wide,
)


# ---- sum
def sum_of_parts(self: Any, axes: Any, keepdim: bool) -> Any:
    """The complex sum through the real kernel; None without compiled code, and for few elements."""
    if sum_dims.native is None or self.size < 64 or type(self) not in lean.ARRAYS or not self.flags.c_contiguous:
        return None
    axes = tuple(range(self.ndim)) if axes is None else axes
    if self.ndim - 1 not in axes:
        made = sum_dims.native(self.view(self.real.dtype).reshape(*self.shape, 2), axes, keepdim, None)
        return None if made is None else made.view(self.dtype).reshape(made.shape[:-1])
    real, imag = (sum_dims.native(part, axes, keepdim, None) for part in (self.real, self.imag))
    if real is None or imag is None:
        return None
    made = np.empty(real.shape, self.dtype)
    made.real, made.imag = real, imag
    return made


def sum_kernel(xp: Any, self: Any, dtype: Any) -> Any:
    if dtype is None and self.dtype.kind == "c":
        made = sum_of_parts(self, None, False)
        if made is not None:
            return made
    if dtype is None and type(self) is np.ndarray and 1 <= self.size < 8 and self.dtype.char == "d":
        # NumPy is slow for so few, and adds them in this order, in their precision; the built-in sum compensates for rounding
        # since Python 3.12
        return np.array(reduce(add, self.tolist() if self.ndim == 1 else self.ravel().tolist(), 0.0), self.dtype)
    if dtype is None and self.dtype.kind in "fc" and self.flags.c_contiguous and self.itemsize > 2:
        return xp.add.reduce(self, None)
    return sum_dims_kernel(xp, self, None, False, dtype)


def sum_dims_kernel(xp: Any, self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    axes = axes_of(dim, self.ndim)
    if dtype is None and self.dtype.kind == "c" and axes != ():
        made = sum_of_parts(self, axes, keepdim)
        if made is not None:
            return made
    if dtype is None:
        dtype = INT64 if is_integral(self) else self.dtype
    x = wide(cast_array(self, dtype))
    if dtype.kind == "b":
        return xp.logical_or.reduce(x, axes, keepdims=keepdim)
    if x.dtype.kind in "iu":
        return dense(xp.add.reduce(x, axes, dtype=x.dtype, keepdims=keepdim))
    return total(xp, x, axes, keepdim).astype(dtype, copy=False)


sum_dims = defop(
    "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    out="any",
    kernel=sum_dims_kernel,
    vjp=dict(self=lambda grad, self_sym_sizes, dim, keepdim: spread_sum(grad, self_sym_sizes, dim, keepdim)),
    jvp="linear", batch=along_dim, node="SumBackward1",
    lower="sum(self)", pattern="dims", traits=("out_dtype",),
    out_form="IntList_out", masked="reduction",
    doc="""The sum of all elements, or along dimensions.
    >>> torch.sum(torch.tensor([[1.0, 5.0], [3.0, 2.0]]), dim=1)
    tensor([6., 5.])
    """,
)
sum = defop(
    "sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    out="aten",
    kernel=sum_kernel, fast=lambda self: sum_kernel(np, self, None), lower="sum(self)",
    vjp=dict(self=lambda grad, self_sym_sizes: grad.expand(self_sym_sizes)),
    jvp="linear", batch=flattened(sum_dims), pattern="dims",
)


def nansum_kernel(xp: Any, self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    axes_of(dim, self.ndim)
    if self.dtype.kind == "c":
        raise RuntimeError("nansum on CPU does not support complex inputs")
    if dtype is not None and dtype.kind == "c":
        raise NotImplementedError(f"\"nansum_cpu\" not implemented for '{BY_NUMPY[dtype].legacy}'")
    if not is_integral(self):
        self = xp.where(xp.isnan(self), self.dtype.type(0), self)
    return sum_dims_kernel(xp, self, dim, keepdim, dtype)


def nansum_backward(grad: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    given = self.isnan().logical_not()
    return spread_sum(grad.to(self.dtype), self.shape, dim, keepdim) * given


nansum = defop(
    "nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    out="any",
    kernel=nansum_kernel,
    vjp=dict(self=nansum_backward),
    jvp=lambda self_p, self_t, dim, keepdim, dtype:
        self_t.masked_fill(self_p.isnan(), 0).sum(dim, keepdim, dtype=dtype),
    batch=along_dim,
    lower="sum(0 if self != self else self)", pattern="dims", traits=("out_dtype",),
)


# ---- mean
def check_mean(self: Any, dtype: Any) -> None:
    given = self.dtype if dtype is None else dtype
    if given.kind in "iub":
        word = "Input" if dtype is None else "Optional"
        raise RuntimeError(f"mean(): could not infer output dtype. {word} dtype must be either a floating point or "
                           f"complex dtype. Got: {BY_NUMPY[given].legacy}")


def mean_dims_kernel(xp: Any, self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    check_mean(self, dtype)
    axes = axes_of(dim, self.ndim)
    dtype = dtype or self.dtype
    summed = total(xp, wide(cast_array(self, dtype)), axes, keepdim)
    return xp.asarray(xp.divide(summed, summed.dtype.type(reduced_count(self.shape, axes)))).astype(dtype, copy=False)


def mean_kernel(xp: Any, self: Any, dtype: Any) -> Any:
    if dtype is None and self.dtype.kind in "fc" and self.flags.c_contiguous and self.itemsize > 2:
        return xp.add.reduce(self, None) / self.dtype.type(self.size)
    return mean_dims_kernel(xp, self, None, False, dtype)


def mean_backward(grad: Any, shape: Any, dim: Any, keepdim: bool) -> Any:
    count = reduced_count(shape, axes_of(dim, len(shape)))
    return over(spread_sum(grad, shape, dim, keepdim), count)


mean_dims = defop(
    "mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    out="inexact: result type Float can't be cast to the desired output type {out}",      # of a sum, divided in place
    kernel=mean_dims_kernel,
    vjp=dict(self=lambda grad, self_sym_sizes, self_sym_numel, dim, keepdim:
             mean_backward(grad, self_sym_sizes, dim, keepdim)),
    jvp="linear", batch=along_dim, node="MeanBackward1",
    lower="mean(self)", pattern="dims",
    out_form="out", masked="reduction",
    doc="""The mean of all elements, or along dimensions.
    >>> torch.mean(torch.tensor([[1.0, 5.0], [3.0, 2.0]]), dim=1)
    tensor([3.0000, 2.5000])
    """,
)
mean = defop(
    "mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    out="cast: mean.dtype_out(): input types can't be cast to the desired output type {out}",
    kernel=mean_kernel, fast=lambda self: mean_kernel(np, self, None),
    vjp=dict(self=lambda grad, self_sym_sizes, self_sym_numel: over(grad.expand(self_sym_sizes), self_sym_numel)),
    jvp="linear", batch=flattened(mean_dims),
    lower="mean(self)", pattern="dims",
    out_form="dtype_out",
)


def nanmean_composite(self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if self.dtype.category < 2:
        raise RuntimeError("nanmean(): expected input to have floating point or complex dtype but got "
                           f"{self.dtype.legacy}")
    if dtype is not None and dtype.category < 2:
        raise RuntimeError("nanmean(): could not infer output dtype. Optional dtype must be either a floating point or "
                           f"complex dtype. Got: {dtype.legacy}")
    count = self.detach().isnan().logical_not().sum(dim, keepdim)
    return self.nansum(dim, keepdim, dtype=dtype) / count


nanmean = defop(
    "nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    kernel=nanmean_composite, composite=True,
)


# ---- prod
def prod_dims_kernel(xp: Any, self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    axes = tuple(range(self.ndim)) if dim is None else axes_of((dim,), self.ndim)
    if dtype is None:
        dtype = INT64 if is_integral(self) else self.dtype
    x = wide(cast_array(self, dtype))
    if dtype.kind == "b":
        return xp.logical_and.reduce(x, axes, keepdims=keepdim)
    return dense(xp.multiply.reduce(x, axes, dtype=x.dtype, keepdims=keepdim)).astype(dtype, copy=False)


def product_of_others(grad: Any, x: Any, dim: int) -> Any:
    """The gradient of a product without division: the products before and after each element."""
    count = x.shape[dim]
    if x.numel() == 0 or count == 1:
        return grad.expand(x.shape) if x.numel() == 0 else grad
    shape = [1 if i == dim else n for i, n in enumerate(x.shape)]
    ones = x.new_ones(shape, dtype=grad.dtype)
    cat = late.cat
    before = cat([ones, x.narrow(dim, 0, count - 1)], dim).cumprod(dim)
    behind = cat([ones, x.narrow(dim, 1, count - 1).flip(dim)], dim).cumprod(dim).flip(dim)
    return grad * conj(before * behind)


def prod_backward(grad: Any, self: Any, result: Any) -> Any:
    if self.ndim == 0:
        return grad
    zeros = zeros_in(self)
    if zeros == 0:
        return grad * conj(result / self)
    if zeros > 1 and not is_watched() and not self._flags & FLAG_WRAPPER:      # examples may have different zeros
        return late.zeros_like(self)
    return product_of_others(grad, self.contiguous().view(-1), 0).view(self.shape)


def prod_dim_backward(grad: Any, self: Any, result: Any, dim: int, keepdim: bool) -> Any:
    if self.ndim == 0:
        return grad
    self = self.to(grad.dtype)
    dim = wrap_dim(dim, self.ndim)
    if not keepdim:
        grad, result = grad.unsqueeze(dim), result.unsqueeze(dim)
    if not anywhere(self == 0):
        return grad * conj(result / self)
    return product_of_others(grad, self, dim)


def prod_jvp(self_p: Any, self_t: Any, result: Any) -> Any:
    return conj((prod_backward(late.ones_like(result), self_p, result) * conj(self_t)).sum())


def prod_dim_jvp(self_p: Any, self_t: Any, result: Any, dim: int, keepdim: bool) -> Any:
    factors = prod_dim_backward(late.ones_like(result), self_p, result, dim, keepdim)
    return conj((factors * conj(self_t.to(result.dtype))).sum(dim, keepdim))


prod_dim = defop(
    "prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    out="any",
    kernel=prod_dims_kernel,
    vjp=dict(self=prod_dim_backward), jvp=prod_dim_jvp, batch=along_dim, node="ProdBackward1",
    lower="prod(self)", autocast="float32", pattern="dims", traits=("out_dtype",),
    out_form="int_out", masked="reduction",
    doc="""The product of all elements, or along `dim`.
    >>> torch.prod(torch.tensor([2.0, 3.0]))
    tensor(6.)
    """,
)
prod = defop(
    "prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    out="aten",
    kernel=lambda xp, self, dtype: prod_dims_kernel(xp, self, None, False, dtype),
    vjp=dict(self=lambda grad, self, result: prod_backward(grad, self.to(grad.dtype), result)),
    jvp=prod_jvp, batch=flattened(prod_dim),
    lower="prod(self)", autocast="float32", pattern="dims",
)


# ---- any, all, count_nonzero
def truths(xp: Any, self: Any) -> Any:
    return self if self.dtype.kind == "b" else self != self.dtype.type(0)


def logical_kernel(name: str) -> Any:
    def kernel(xp: Any, self: Any, dim: Any, keepdim: bool) -> Any:
        dims = (dim,) if isinstance(dim, int) else dim
        axes = () if dims is not None and not len(dims) else axes_of(dims, self.ndim)
        result = dense(getattr(xp, name).reduce(truths(xp, self), axes, keepdims=keepdim))
        return result.astype(self.dtype) if self.dtype.kind == "u" and self.itemsize == 1 else result
    return kernel


def logical_batch(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """The batching rule of any and all, for which an empty list of dimensions reduces none."""
    if args[1] is not None and not len(args[1]):
        return call(op, [families.move_to_front(args[0], dims[0]), *args[1:]]), 0
    return along_dim(op, args, dims, size)


def define_logical(name: str, ufunc: str, masked: str | None) -> None:
    """The three overloads of any or all."""
    kernel = logical_kernel(ufunc)
    columns: Any = dict(out=f"bool: {name} only supports bool tensor for result, got: {{out}}", lower=f"{name}(self)",
                        traits=("out_first", "chalf"))
    along = defop(f"{name}.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", kernel=kernel, batch=along_dim,
                  out_form="out", masked=masked, **columns)
    defop(f"{name}(Tensor self) -> Tensor", kernel=lambda xp, self: kernel(xp, self, None, False), batch=flattened(along),
          out_form="all_out", **columns)
    defop(f"{name}.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", kernel=kernel, batch=logical_batch,
          **columns)


define_logical("any", "logical_or", None)
define_logical("all", "logical_and", "reduction")


def count_nonzero_kernel(xp: Any, self: Any, dim: Any) -> Any:
    axes = axes_of((dim,) if isinstance(dim, int) else dim, self.ndim)
    made = lean.natively(count_nonzero_dims, self, axes)
    if made is not None:
        return made
    return dense(xp.add.reduce(truths(xp, self), axes, dtype=INT64))


count_nonzero_dims = defop(
    "count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor", kernel=count_nonzero_kernel, batch=along_dim, out="aten",
    lower="sum(self != 0)", traits=("chalf",),
    doc="""How many elements are not zero.
    >>> torch.count_nonzero(torch.tensor([0, 2, 3]))
    tensor(2)
    """)
count_nonzero = defop("count_nonzero(Tensor self, int? dim=None) -> Tensor", out="aten", kernel=count_nonzero_kernel,
                      traits=("chalf",), batch=lambda op, args, dims, size: along_dim(
                          count_nonzero_dims, [args[0], () if args[1] is None else (args[1],)], dims, size))


# ---- variance and standard deviation
def moments(xp: Any, name: str, self: Any, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    """Variance and mean, computed in float64 and not yet rounded."""
    axes = axes_of(dim, self.ndim)
    count = reduced_count(self.shape, axes)
    correction = 1 if correction is None else correction
    if (count if self.size else 0) - correction <= 0:
        for _ in range(2 if self.dtype.kind == "c" else 1):       # real and imaginary part each have a variance
            warnings.warn(f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the "
                          "reduction factor (input numel divided by output numel).", UserWarning, stacklevel=2)
    x = self.astype(accumulating(self.dtype) if self.dtype.kind != "V" and not is_half(self) else FLOAT64)
    # Computed relative to one element, so that equal elements have variance exactly 0.
    first = x[tuple([slice(0, 1) if i in axes else slice(None) for i in range(x.ndim)])] if x.size else x.dtype.type(0)
    away = x - first
    offset = xp.divide(xp.add.reduce(away, axes, keepdims=True), count)
    middle = xp.asarray(first + offset)
    away = away - offset
    squares = away * away if x.dtype.kind == "f" else away.real * away.real + away.imag * away.imag
    freedom = max(count - correction, 0)
    if freedom == 0 and x.dtype.kind == "c":           # each part may be 0 / 0
        spread = xp.divide(xp.add.reduce(away.real * away.real, axes, keepdims=True), freedom) + xp.divide(
            xp.add.reduce(away.imag * away.imag, axes, keepdims=True), freedom)
    else:
        spread = xp.asarray(xp.divide(xp.add.reduce(squares, axes, keepdims=True), freedom))
    shape = middle.shape if keepdim else tuple([n for i, n in enumerate(self.shape) if i not in axes])
    return dense(spread).reshape(shape), dense(middle).reshape(shape)


def spread_kernel(name: str, root: bool, with_mean: bool) -> Any:
    def kernel(xp: Any, self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
        if is_integral(self):
            refused = name if with_mean else "std and var"
            raise RuntimeError(f"{refused} only support floating point and complex dtypes")
        spread, middle = moments(xp, name, self, dim, correction, keepdim)
        real = self.real.dtype if self.dtype.kind == "c" else self.dtype
        spread = xp.asarray(xp.sqrt(spread) if root else spread).astype(real)
        return (spread, middle.astype(self.dtype)) if with_mean else spread
    return kernel


def var_backward(grad: Any, self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    correction = 1 if correction is None else correction
    if self.ndim == 0 or dim is None:
        count, middle = self.numel(), self.mean()
    else:
        if not keepdim and self.ndim > 1:
            grad = unsqueeze_all(grad, dim, self.ndim)
        count = reduced_count(self.shape, axes_of(dim, self.ndim))
        middle = self.mean(dim, True)
    freedom = count - correction
    if freedom <= 0 and (self.ndim == 0 or dim is None):
        return grad * late.where(self == middle, math.nan, math.inf)
    difference = self - middle
    return times(grad, 2.0 / freedom if freedom else math.inf) * difference


def std_backward(grad: Any, self: Any, result: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    return var_backward(blanked(grad / times(result, 2), result == 0), self, dim, correction, keepdim)


def with_mean_backward(grads: Any, self: Any, spread: Any, dim: Any, keepdim: bool) -> Any:
    """The two parts of the gradient: through the variance or deviation, and through the mean."""
    parts = [] if grads[0] is None else [spread(grads[0])]
    if grads[1] is not None:
        parts.append(mean_backward(grads[1], self.shape, dim, keepdim))
    return parts[0] + parts[1] if len(parts) == 2 else parts[0]


def var_mean_backward(grads: Any, self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    return with_mean_backward(grads, self, lambda grad: var_backward(grad, self, dim, correction, keepdim),
                              dim, keepdim)


def std_mean_backward(grads: Any, self: Any, result0: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    return with_mean_backward(grads, self, lambda grad: std_backward(grad, self, result0, dim, correction, keepdim),
                              dim, keepdim)


def var_jvp(self_p: Any, self_t: Any, result: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    ones = late.ones_like(result)
    product = var_backward(ones, self_p, dim, correction, keepdim) * conj(self_t)
    product = late.real(product) if product.is_complex() else product
    return product.sum(dim, keepdim)


def finite(quotient: Any, divisor: Any) -> Any:
    """A tangent divided by `divisor`, 0 where that is 0; written in place unless the division has saved its result."""
    return quotient.masked_fill(divisor == 0, 0) if wants_grad(quotient) else blanked(quotient, divisor == 0)


def std_jvp(self_p: Any, self_t: Any, result: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    tangent = var_jvp(self_p, self_t, result, dim, correction, keepdim)
    return finite(tangent / (2 * result), result)


def var_mean_jvp(self_p: Any, self_t: Any, result0: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    return var_jvp(self_p, self_t, result0, dim, correction, keepdim), self_t.mean(dim, keepdim)


def std_mean_jvp(self_p: Any, self_t: Any, result0: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    return std_jvp(self_p, self_t, result0, dim, correction, keepdim), self_t.mean(dim, keepdim)


CORRECTION = "(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> "
DIM = "(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> "
PLAIN = "(Tensor self, bool unbiased=True) -> "


def define_spread(name: str, vjp: Any, jvp: Any, root: bool, with_mean: bool) -> Any:
    """The three overloads of var, std, var_mean or std_mean; the last two call the first."""
    returns = "(Tensor, Tensor)" if with_mean else "Tensor"
    variants = "function" if with_mean else "function, method"
    defop(f"{name}.dim{DIM}{returns}", composite=True, variants=variants, out=not with_mean,
          kernel=lambda self, dim, unbiased, keepdim: call(op, [self, dim, 1 if unbiased else 0, keepdim]), out_form="out")
    op = defop(f"{name}.correction{CORRECTION}{returns}", kernel=spread_kernel(name, root, with_mean), lower=f"@{name}",
               vjp=dict(self=vjp), jvp=jvp, batch=along_dim, variants=variants, pattern="dims",
               out=False if with_mean else "cast", traits=("chalf",), masked=None if with_mean else "reduction")
    defop(f"{name}{PLAIN}{returns}", composite=True, variants=variants, out=False,
          kernel=lambda self, unbiased: call(op, [self, None, 1 if unbiased else 0, False]))
    return op


var = define_spread("var", var_backward, var_jvp, False, False)
std = define_spread("std", std_backward, std_jvp, True, False)
var_mean = define_spread("var_mean", var_mean_backward, var_mean_jvp, False, True)
std_mean = define_spread("std_mean", std_mean_backward, std_mean_jvp, True, True)


# ---- norms
def check_norm(self: Any, order: float, axes: Any, dim: Any) -> None:
    if self.size == 0 and (order < 0 or order == math.inf):
        word = f"{order:g}"
        if not dim:
            raise RuntimeError(f"linalg.vector_norm cannot compute the {word} norm on an empty tensor because the "
                               "operation does not have an identity")
        for axis, given in zip(axes, dim, strict=True):
            if self.shape[axis] == 0:
                raise RuntimeError(f"linalg.vector_norm cannot compute the {word} norm on the dimension {given}because "
                                   "this dimension is empty and the operation does not have an identity")


def check_norm_dtype(self: Any, dtype: Any) -> None:
    if is_integral(self):
        raise RuntimeError("linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
                           f"{legacy(self)}")
    if dtype is None:
        return
    given = BY_NUMPY[dtype]
    if given.category < 2:
        raise RuntimeError(f"linalg.vector_norm: dtype should be floating point or complex, but got {given.legacy}")
    if given.is_complex != (self.dtype.kind == "c"):
        kind = "complex" if self.dtype.kind == "c" else "real"
        raise RuntimeError(f"linalg.vector_norm: dtype should be {kind} for {kind} inputs, but got {given.legacy}")
    if dtypes.promote_types(BY_NUMPY[self.dtype], given) is not given:
        raise RuntimeError(f"linalg.vector_norm: the dtype of the input ({legacy(self)}) should be convertible without "
                           f"narrowing to the specified dtype ({given.legacy})")


def vector_norm_kernel(xp: Any, self: Any, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    check_norm_dtype(self, None)
    if isinstance(ord, complex):
        raise RuntimeError("linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    order = 2.0 if ord is None else float(ord)
    check_norm_dtype(self, dtype)
    axes = axes_of(dim, self.ndim)
    check_norm(self, order, axes, dim)
    dtype = dtype or self.dtype
    x = wide(self.astype(dtype, copy=False))
    result = xp.asarray(norm_of(xp, x, order, axes, keepdim))
    real = x.real.dtype if dtype.kind == "c" else dtype
    return dense(result).astype(real, copy=False)


def norm_of(xp: Any, x: Any, order: float, axes: Any, keepdim: bool) -> Any:
    if order == 2:
        squares = x * x if x.dtype.kind != "c" else x.real * x.real + x.imag * x.imag
        if x.dtype.kind == "c" and (squares != squares).any():         # an infinite part makes the norm infinite
            squares = xp.abs(x) ** 2
        return xp.sqrt(total(xp, squares, axes, keepdim))
    if order == 0:
        return xp.add.reduce(x != 0, axes, dtype=INT64, keepdims=keepdim)
    size = xp.abs(x)
    if order == math.inf:
        return xp.maximum.reduce(size, axes, keepdims=keepdim)
    if order != order:
        return xp.add.reduce(size * order, axes, keepdims=keepdim)
    if order == -math.inf:
        return xp.minimum.reduce(size, axes, keepdims=keepdim)
    if order == 1:
        return total(xp, size, axes, keepdim)
    kind = size.dtype.type
    return xp.power(total(xp, xp.power(size, kind(order)), axes, keepdim), kind(1.0 / order))


def norm_backward(grad: Any, self: Any, p: Any, norm: Any, dim: Any, keepdim: bool) -> Any:
    p = 2.0 if p is None else float(p)
    if not keepdim and dim:
        grad, norm = unsqueeze_all(grad, dim, self.ndim), unsqueeze_all(norm, dim, self.ndim)
    if p == 0:
        return None
    if p == 1:
        return self.sgn() * grad
    if p == 2:
        return grad * blanked(self / norm, norm == 0)
    if math.isinf(p):
        largest = (self.abs() == norm).logical_or(self.isnan().logical_and(norm.isnan()))
        return self.sgn() * (grad / largest.sum(dim, True) * largest)
    if p < 1:
        scaled = self.sgn() * self.abs().pow(p - 1).masked_fill(self == 0, 0)
        return scaled * grad * norm.pow(1 - p)
    scaled = self.sgn() * self.abs().pow(p - 1) if p < 2 else self * self.abs().pow(p - 2)
    return scaled * finite(grad / norm.pow(p - 1), norm)


def norm_jvp(self_p: Any, self_t: Any, p: Any, norm: Any, dim: Any, keepdim: bool) -> Any:
    if p == 2 and norm.numel() and not norm.is_complex():
        product = self_p * conj(self_t)
        product = late.real(product) if product.is_complex() else product
        return finite(product.sum(dim, keepdim).div_(norm), norm)
    slope = norm_backward(late.ones_like(norm), self_p, p, norm, dim, keepdim)
    if slope is None:
        return late.zeros_like(norm)
    product = slope * conj(self_t)
    product = late.real(product) if product.is_complex() else product
    return product.sum(dim, keepdim)


NORMS = {"p=2": "sqrt(sum(self * self))", "p=None": "sqrt(sum(self * self))", "p=1": "sum(abs(self) * 1.0)"}
vector_norm = defop(
    "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) "
    "-> Tensor",
    kernel=vector_norm_kernel,
    vjp=dict(self=lambda grad, self, ord, result, dim, keepdim: norm_backward(grad, self, ord, result, dim, keepdim)),
    jvp=lambda self_p, self_t, ord, result, dim, keepdim: norm_jvp(self_p, self_t, ord, result, dim, keepdim),
    batch=along_dim, variants="",
    lower={"ord=2": "sqrt(sum(self * self))", "ord=1": "sum(abs(self) * 1.0)", "ord=0": "sum(1.0 if self != 0 else 0.0)",
           "ord=1e999": "max(abs(self) * 1.0)", "ord=-1e999": "min(abs(self) * 1.0)",
           "": "pow(sum(pow(abs(self), ord) + 0 * ord), 1 / ord if ord == ord else 1)"},
    pattern="dims",
    traits=("chalf",),
)


def old_norm_kernel(xp: Any, self: Any, p: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    if is_integral(self):
        raise RuntimeError("norm(): input dtype should be either floating point or complex. Got "
                           f"{legacy(self)} instead.")
    made = None if p is None else lean.natively(vector_norm, self, p, dim, keepdim, dtype)
    return vector_norm_kernel(xp, self, p, dim, keepdim, dtype) if made is None else made


def norm_rule(grad: Any, self: Any, p: Any, result: Any) -> Any:
    return norm_backward(grad, self, p, result, None, True)


def norm_dim_rule(grad: Any, self: Any, p: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    return norm_backward(grad, self, p, result, dim, keepdim)


def norm_tangent(self_p: Any, self_t: Any, p: Any, result: Any) -> Any:
    return norm_jvp(self_p, self_t, p, result, None, False)


def norm_dim_tangent(self_p: Any, self_t: Any, p: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    return norm_jvp(self_p, self_t, p, result, dim, keepdim)


norm_dims = defop(
    "norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor",
    out="same",
    kernel=old_norm_kernel, vjp=dict(self=norm_dim_rule), jvp=norm_dim_tangent, batch=along_dim, node="NormBackward1",
    variants="",
    lower=NORMS, pattern="dims",
    traits=("chalf",),
    out_form="out", masked="reduction",
    doc="""The length of a vector, or of vectors along dimensions.
    >>> torch.norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """,
)
norm_scalar = defop(
    "norm.Scalar(Tensor self, Scalar p=2) -> Tensor",
    out="same",
    kernel=old_norm_kernel, vjp=dict(self=norm_rule), jvp=norm_tangent,
    batch=lambda op, args, dims, size: along_dim(norm_dims, [args[0], args[1], (), False], dims, size), variants="",
    lower=NORMS, pattern="dims",
    traits=("chalf",),
)
norm_dims_dtype = defop(
    "norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor",
    out="same",
    kernel=old_norm_kernel,
    vjp=dict(self=lambda grad, self, p, result, dim, keepdim:
             norm_backward(grad, self.to(grad.dtype), p, result, dim, keepdim)),
    jvp=norm_dim_tangent, batch=along_dim, node="NormBackward3", variants="", pattern="dims",
    traits=("chalf",),
    out_form="dtype_out",
)
norm_dtype = defop(
    "norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor",
    out="same",
    kernel=lambda xp, self, p, dtype: old_norm_kernel(xp, self, p, None, False, dtype),
    vjp=dict(self=lambda grad, self, p, result: norm_backward(grad, self.to(grad.dtype), p, result, None, True)),
    jvp=norm_tangent,
    batch=lambda op, args, dims, size: along_dim(norm_dims_dtype, [args[0], args[1], (), False, args[2]], dims, size),
    node="NormBackward2", variants="", pattern="dims",
    traits=("chalf",),
)


OUT_GRADIENT = ("linalg_vector_norm(): functions with out=... arguments don't support automatic differentiation, but one of "
                "the arguments requires grad.")


@expose
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None) -> Any:
    """The vector norm over some or all dimensions, or a matrix norm by name."""
    dims = (dim,) if isinstance(dim, int) else dim if dim is None else tuple(dim)
    if out is not None and tls.grad_enabled and not isinstance(p, str) and (wants_grad(input) or wants_grad(out)):
        raise RuntimeError(OUT_GRADIENT)
    if isinstance(p, str) and (p != "fro" or (dims is not None and len(dims) > 2)):
        result = late.linalg_matrix_norm(input, p, dims if dims is not None else (-2, -1), keepdim, dtype=dtype)
    else:
        result = call(vector_norm, [input, 2 if p is None or p == "fro" else p, dims, bool(keepdim), dtype])
    if out is None:
        return result
    if tls.grad_enabled and (wants_grad(input) or wants_grad(out)):
        raise RuntimeError(OUT_GRADIENT)
    named = isinstance(p, str) and p != "fro"
    hooks.assign_out(out, result, "norm", "same: linalg.matrix_norm expected out tensor dtype {value} but got: {out}"
                     if named else "same")
    return out


# ---- logsumexp, trace
def logsumexp_kernel(xp: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    axes = axes_of(dim, self.ndim)
    if not dim and self.size and self.ndim and not keepdim:
        raise RuntimeError(f"output with shape [] doesn't match the broadcast shape {[1] * self.ndim}")
    x = self.astype(dtypes.get_default_dtype().numpy) if is_integral(self) else self
    if self.size == 0:
        return xp.log(total(xp, xp.exp(x), axes, keepdim))
    largest = xp.asarray(xp.maximum.reduce(x.real, axes, keepdims=True))
    largest = xp.where(xp.isinf(largest), largest.dtype.type(0), largest)
    shape = largest.shape if keepdim else tuple([n for i, n in enumerate(x.shape) if i not in axes])
    return xp.log(total(xp, xp.exp(x - largest), axes, keepdim)) + largest.reshape(shape)


def logsumexp_backward(grad: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    if not keepdim and self.ndim:
        grad, result = unsqueeze_all(grad, dim, self.ndim), unsqueeze_all(result, dim, self.ndim)
    return grad * conj((self - result).exp())


def logsumexp_jvp(self_p: Any, self_t: Any, dim: Any, keepdim: bool) -> Any:
    # Relative to the largest real part, since the result itself may be so large that it is rounded.
    complexes = self_p.is_complex()
    weights = (self_p - (late.real(self_p) if complexes else self_p).amax(dim, True)).exp() if self_p.numel() else self_p.exp()
    whole, product = weights.sum(dim, keepdim), (weights * self_t).sum(dim, keepdim)
    copies = complexes or self_p._flags | self_t._flags or self_t.is_complex() or not self_p.numel()
    return product / whole if copies else product.div_(whole)


logsumexp = defop(
    "logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    out="inexact: logsumexp(): Expected floating point type for result tensor, but got: {out}",
    kernel=logsumexp_kernel, vjp=dict(self=logsumexp_backward), jvp=logsumexp_jvp, batch=along_dim, widen=True,
    lower="self -> z:row | m = max(self); k = 0 if abs(m) == inf else m; z = k + log(sum(exp(self - k)))", pattern="dims",
    traits=("out_first",),
    doc="""The logarithm of the sum of exponentials along dimensions.
    >>> torch.logsumexp(torch.tensor([0.0, 0.0]), dim=0)
    tensor(0.6931)
    """,
)
special_logsumexp = defop(
    "special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", composite=True, variants="",
    kernel=lambda self, dim, keepdim: call(logsumexp, [self, dim, keepdim]), out=logsumexp.out, traits=logsumexp.traits,
)


def trace_kernel(xp: Any, self: Any) -> Any:
    if self.dtype.kind == "b":
        raise lacking("\"trace\" not implemented for 'Bool'")
    if self.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {self.ndim}")
    return sum_dims_kernel(xp, self.diagonal(), None, False, None)


def trace_backward(grad: Any, self_sym_sizes: Any) -> Any:
    rows, columns = self_sym_sizes
    places = late.arange(0, min(rows, columns) * (columns + 1), columns + 1, device=grad.device)
    return fill_zeros(grad, rows * columns, 1, "index_fill", 0, places, grad).view(self_sym_sizes)


def trace_batch(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    (rank,) = families.example_ranks(args, dims)
    if rank != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {rank}")
    return families.move_to_front(args[0], dims[0]).diagonal(0, 1, 2).sum(-1), 0


trace = defop(
    "trace(Tensor self) -> Tensor",
    out="aten",
    kernel=trace_kernel, lower="@trace", vjp=dict(self=trace_backward), jvp="linear", batch=trace_batch, autocast="float32",
    doc="""The sum of a matrix's diagonal.
    >>> torch.trace(torch.tensor([[1, 2], [3, 4]]))
    tensor(5)
    """,
)


# ---- hash_tensor
def hash_kernel(xp: Any, self: Any, dim: Any, keepdim: bool, mode: int) -> Any:
    """The exclusive or of all elements' bits, of float64 or int64."""
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if self.dtype.kind == "c":
        raise unsupported("xor_sum_cpu", self.dtype)
    if not self.size and not dim:
        raise RuntimeError("hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction "
                           "dim with the 'dim' argument.")
    axes = axes_of(dim, self.ndim)
    for axis in axes if dim else ():
        need_elements("hash_tensor", self, axis)
    bits = self.astype(xp.float64).view(xp.uint64) if self.dtype.kind in "fV" else self.astype(xp.int64).view(xp.uint64)
    return dense(xp.bitwise_xor.reduce(bits, axes, keepdims=keepdim))


defop("hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor", kernel=hash_kernel,
      batch=along_dim, out="same")
