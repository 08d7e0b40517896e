"""Running sums, products and extremes along a dimension."""
from __future__ import annotations

from typing import Any

from retrograd.core import lean
from retrograd.core.opdef import defop
from retrograd.ops import late
from retrograd.ops.memory.copy import cast_array
from retrograd.ops.shared.elementwise import unsupported
from retrograd.ops.shared.families import anywhere, conj, fill_zeros, is_watched, wrap_dim
from retrograd.ops.shared.reductions import INT64, accumulating, along_dim, as_row, dense, is_integral, refuse


def running(xp: Any, ufunc: str, self: Any, dim: int, dtype: Any) -> Any:
    """The scan of a ufunc, kept in a wider dtype than the result's."""
    axis = wrap_dim(dim, self.ndim)
    if dtype is None:
        dtype = INT64 if is_integral(self) else self.dtype
    if dtype.kind == "b" and self.ndim and self.size:
        raise unsupported(f"{'cumsum' if ufunc == 'add' else 'cumprod'}_out_cpu", dtype)
    x = as_row(cast_array(self, dtype)).astype(accumulating(dtype), copy=False)
    return dense(getattr(xp, ufunc).accumulate(x, axis).astype(dtype, copy=False)).reshape(self.shape)


def reversed_cumsum(x: Any, dim: int) -> Any:
    return x.flip(dim).cumsum(dim).flip(dim)


def cumsum_backward(grad: Any, dim: int, self_scalar_type: Any) -> Any:
    grad = grad.to(self_scalar_type)
    if grad.numel() <= 1 or grad.shape[dim] == 1:
        return grad
    return reversed_cumsum(grad, dim)


def in_place(ufunc: str) -> Any:
    """The kernel of an in-place scan, whose result has the dtype of the tensor it is written to."""
    def kernel(xp: Any, self: Any, dim: int, dtype: Any) -> Any:
        wrap_dim(dim, self.ndim)
        if dtype is not None and dtype != self.dtype:
            words = [C_NAMES.get(str(d), str(d)) for d in (self.dtype, dtype)]
            raise RuntimeError(f"Bad in-place call: input tensor dtype {words[0]} and output tensor dtype {words[1]} "
                               "should match")
        return running(xp, ufunc, self, dim, self.dtype)
    return kernel


C_NAMES = {
    "float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "bool": "bool",
    "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int", "int64": "long int",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}

cumsum = defop(
    "cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    out="any",
    kernel=lambda xp, self, dim, dtype: running(xp, "add", self, dim, dtype),
    vjp=dict(self=cumsum_backward), jvp="linear", batch=along_dim, lower="@cumsum", traits=("guarded", "out_dtype"),
    pattern="dims",
    doc="""The sum of all elements so far along `dim`.
    >>> torch.cumsum(torch.tensor([1, 2, 3]), 0)
    tensor([1, 3, 6])
    """,
)
cumsum_ = defop(
    "cumsum_(Tensor(a!) self, int dim, *, ScalarType? dtype=None) -> Tensor(a!)",
    kernel=in_place("add"),
    vjp=dict(self=cumsum_backward), jvp="linear", batch=along_dim, variants="method", out=False,
)


# ---- cumprod
def cumprod_backward(grad: Any, self: Any, result: Any, dim: int, self_scalar_type: Any) -> Any:
    grad = grad.to(self_scalar_type)
    if self.numel() <= 1 or self.shape[dim] == 1:
        return grad
    dim = wrap_dim(dim, self.ndim)
    zero = self == 0
    weighted = conj(result) * grad
    if not anywhere(zero):
        return reversed_cumsum(weighted, dim) / conj(self)
    if is_watched():
        return cumprod_backward_by_element(grad, conj(self), dim)
    # Before the first zero division is safe; at the zero the product of the others is used; after it the gradient is zero.
    zeros_so_far = zero.cumsum(dim)
    before = zeros_so_far == 0
    first = zero.logical_and(zeros_so_far == 1)
    others = conj(self).masked_fill(first, 1).cumprod(dim).masked_fill(before, 0)
    at_first = (others * grad).sum(dim, True)
    safe = reversed_cumsum(weighted, dim) / conj(self).masked_fill(zero, 1)
    where = late.where
    return where(first, at_first, where(before, safe, late.zeros_like(safe)))


def cumprod_backward_by_element(grad: Any, x: Any, dim: int) -> Any:
    """The gradient without division, element by element: slow, but differentiable everywhere."""
    cat = late.cat
    count = x.shape[dim]
    rows = []
    for k in range(count):
        before = x.narrow(dim, 0, k).prod(dim, True)
        products = before
        if k < count - 1:
            behind = x.narrow(dim, k + 1, count - k - 1).cumprod(dim)
            products = cat([before, before.expand(behind.shape) * behind], dim)
        rows.append((grad.narrow(dim, k, count - k) * products).sum(dim))
    return late.stack(rows, dim)


def cumprod_jvp(self_p: Any, self_t: Any, result: Any, dim: int, dtype: Any) -> Any:
    """The tangent: a running sum without zeros, else the product rule step by step."""
    if self_p.ndim == 0:
        return self_t.to(result.dtype)
    if not anywhere(self_p == 0):
        return (self_t / self_p).cumsum(dim) * result
    self_p, self_t = self_p.to(result.dtype), self_t.to(result.dtype)
    steps = []
    tangent = product = None
    for x, t in zip(self_p.unbind(dim), self_t.unbind(dim), strict=True):
        tangent = t if tangent is None else tangent * x + product * t
        product = x if product is None else product * x
        steps.append(tangent)
    return late.stack(steps, dim)


cumprod = defop(
    "cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    out="any",
    kernel=lambda xp, self, dim, dtype: running(xp, "multiply", self, dim, dtype),
    vjp=dict(self=cumprod_backward), jvp=cumprod_jvp, batch=along_dim, lower="@cumprod", traits=("guarded", "out_dtype"),
    pattern="dims",
    doc="""The product of all elements so far along `dim`.
    >>> torch.cumprod(torch.tensor([1, 2, 3]), 0)
    tensor([1, 2, 6])
    """,
)
cumprod_ = defop(
    "cumprod_(Tensor(a!) self, int dim, *, ScalarType? dtype=None) -> Tensor(a!)",
    kernel=in_place("multiply"),
    vjp=dict(self=cumprod_backward), jvp=cumprod_jvp, batch=along_dim, variants="method", out=False,
)


# ---- cummax, cummin
def running_extreme(name: str, reduce: str) -> Any:
    def kernel(xp: Any, self: Any, dim: int) -> Any:
        if self.ndim == 0 and dim not in (0, -1):
            raise IndexError(f"{name}(): Expected reduction dim -1 or 0 for scalar but got {dim}")
        if not self.size:                     # for empty tensors `dim` is not checked
            return self.copy(), xp.zeros(self.shape, INT64)
        axis = wrap_dim(dim, self.ndim)
        if self.ndim:
            refuse(f"{name}_cpu", self, "c")
        x = as_row(self)
        values = getattr(xp, reduce).accumulate(x, axis)
        place = xp.arange(x.shape[axis]).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
        # The last of equal elements is chosen; after a NaN only another NaN.
        chosen = (x == values) | (x != x)
        indices = xp.maximum.accumulate(xp.where(chosen, place, 0), axis)
        return dense(values).reshape(self.shape), dense(indices).reshape(self.shape)
    return kernel


def running_extreme_backward(grad: Any, self: Any, indices: Any, dim: int) -> Any:
    if self.numel() == 0:
        return self
    return fill_zeros(grad, self.shape, 1, "scatter_add", dim, indices, grad)


def running_extreme_jvp(self_t: Any, indices: Any, dim: int) -> Any:
    return self_t.gather(dim, indices), None


cummax = defop(
    "cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)",
    out="scalar_type",
    kernel=running_extreme("cummax", "maximum"), vjp=dict(self=running_extreme_backward),
    jvp=running_extreme_jvp, batch=along_dim, widen=True, real_only=True, lower="@cummax", pattern="choices",
    traits=("out_first",),
    doc="""The largest element so far along `dim`, and its index.
    >>> torch.cummax(torch.tensor([1, 3, 2]), 0).values
    tensor([1, 3, 3])
    """,
)
cummin = defop(
    "cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)",
    out="scalar_type",
    kernel=running_extreme("cummin", "minimum"), vjp=dict(self=running_extreme_backward),
    jvp=running_extreme_jvp, batch=along_dim, widen=True, real_only=True, lower="@cummin", pattern="choices",
    traits=("out_first",),
)


# ---- logcumsumexp
def logcumsumexp_kernel(xp: Any, self: Any, dim: int) -> Any:
    axis = wrap_dim(dim, self.ndim)
    refuse("logcumsumexp_out_cpu", self, "iub")
    x = as_row(self)
    wider = x.astype(accumulating(x.dtype))
    result = complex_logcumsumexp(xp, wider, axis) if x.dtype.kind == "c" else xp.logaddexp.accumulate(wider, axis)
    return dense(result.astype(self.dtype)).reshape(self.shape)


def complex_logcumsumexp(xp: Any, x: Any, axis: int) -> Any:
    rows = lean.moveaxis(x, axis, 0)
    result = xp.empty_like(rows)
    running = None
    for i in range(len(rows)):
        if running is None:
            running = rows[0]
        else:
            larger = xp.where(rows[i].real > running.real, rows[i], running)
            smaller = xp.where(rows[i].real > running.real, running, rows[i])
            running = larger + xp.log(1 + xp.exp(smaller - larger))
        result[i] = running
    return lean.moveaxis(result, 0, axis)


def reversed_logcumsumexp(x: Any, dim: int) -> Any:
    return x.flip(dim).logcumsumexp(dim).flip(dim)


def logcumsumexp_backward(grad: Any, self: Any, result: Any, dim: int) -> Any:
    if grad.ndim == 0 or grad.numel() == 0:
        return grad
    if grad.is_complex():
        return conj((reversed_logcumsumexp(conj(grad).log() - result, dim) + self).exp())
    # Logarithms of the positive and of the negative part; 0 maps to the lowest number.
    size = grad.abs()
    if is_watched():              # log is not differentiable at 0
        size = size.masked_fill(grad == 0, 1)
    size = size.log()
    where = late.where
    lowest = late.full_like(size, lowest_number(grad))
    positive = where(grad > 0, size, lowest)
    negative = where(grad < 0, size, lowest)
    return ((reversed_logcumsumexp(positive - result, dim) + self).exp()
            - (reversed_logcumsumexp(negative - result, dim) + self).exp())


def lowest_number(t: Any) -> float:
    return {"float64": -1.7976931348623157e308, "float32": -3.4028234663852886e38, "float16": -65504.0,
            "bfloat16": -3.3895313892515355e38}[t.dtype.name]


def logcumsumexp_jvp(self_p: Any, self_t: Any, result: Any, dim: int) -> Any:
    if self_p.ndim == 0 or self_p.numel() == 0:
        return self_t
    steps = []
    tangent = before = None
    # Step by step, since no common factor keeps all exponentials in range.
    for x, t, so_far in zip(self_p.unbind(dim), self_t.unbind(dim), result.unbind(dim), strict=True):
        here = (x - so_far).exp() * t
        tangent = here if before is None else here + (before - so_far).exp() * tangent
        before = so_far
        steps.append(tangent)
    return late.stack(steps, dim)


logcumsumexp = defop(
    "logcumsumexp(Tensor self, int dim) -> Tensor",
    out="scalar_type",
    kernel=logcumsumexp_kernel, vjp=dict(self=logcumsumexp_backward), jvp=logcumsumexp_jvp, batch=along_dim,
    traits=("guarded", "out_first"), pattern="dims", lower="@native.logcumsumexp",
)
