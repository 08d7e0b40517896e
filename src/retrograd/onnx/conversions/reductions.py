"""Reductions, sorting and matrix products as ONNX nodes."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import retrograd as torch
from retrograd.onnx._builder import Builder, Value, converts
from retrograd.onnx.errors import UnsupportedOperatorError


def axes_of(dim: Any) -> list[int] | None:
    """The axes that a reduction takes, None for all of them."""
    return None if dim is None or dim == [] else [dim] if isinstance(dim, int) else list(dim)


def reduction(kind: str) -> Callable[..., Any]:
    def convert(g: Builder, out: Any, self: Any, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> str:
        if self.rank == 0:
            return g.op("Identity", g.typed(self, out.dtype))
        return g.reduce(kind, g.typed(self, out.dtype), axes_of(dim), keepdim)
    return convert


for name, kind in {"sum": "ReduceSum", "mean": "ReduceMean", "prod": "ReduceProd", "amax": "ReduceMax", "amin": "ReduceMin",
                   "logsumexp": "ReduceLogSumExp"}.items():
    converts(name)(reduction(kind))


def truth(kind: str) -> Callable[..., Any]:
    def convert(g: Builder, out: Any, self: Any, dim: Any = None, keepdim: bool = False) -> str:
        numbers = g.cast(g.typed(self, torch.bool), torch.int32)
        return g.cast(g.reduce(kind, numbers, axes_of(dim), keepdim), torch.bool)
    return convert


converts("any")(truth("ReduceMax"))
converts("all")(truth("ReduceMin"))


def extremum(kind: str) -> Callable[..., Any]:
    """max and min: of all elements, of two tensors, or along an axis with the places."""
    def convert(g: Builder, out: Any, self: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if isinstance(dim, Value):
            return g.op(kind, g.typed(self, out.dtype), g.typed(dim, out.dtype))
        if dim is None:
            return g.reduce(f"Reduce{kind}", self, None, False)
        return (g.reduce(f"Reduce{kind}", self, [dim], keepdim),
                g.op(f"Arg{kind}", self, axis=dim, keepdims=int(keepdim)))
    return convert


converts("max")(extremum("Max"))
converts("min")(extremum("Min"))


def place(kind: str) -> Callable[..., Any]:
    def convert(g: Builder, out: Any, self: Any, dim: int | None = None, keepdim: bool = False) -> str:
        if dim is None:
            return g.op(kind, g.reshape(self, [-1]), axis=0, keepdims=0)
        return g.op(kind, self, axis=dim, keepdims=int(keepdim))
    return convert


converts("argmax")(place("ArgMax"))
converts("argmin")(place("ArgMin"))


def moments(g: Builder, self: Any, dim: Any, correction: Any, keepdim: bool) -> tuple[str, str]:
    """The variance and the mean along axes."""
    axes = axes_of(dim) or [*range(self.rank)]
    mean = g.reduce("ReduceMean", self, axes, True)
    difference = g.op("Sub", self, mean)
    variance = g.reduce("ReduceMean", g.op("Mul", difference, difference), axes, keepdim)
    correction = 1 if correction is None else correction
    if correction:
        sizes = [g.size(self, axis % self.rank) for axis in axes]
        count = sizes[0]
        for size in sizes[1:]:
            count = g.op("Mul", count, size)
        count = g.squeeze(g.cast(count, self.dtype), [0])
        left = g.op("Sub", count, g.constant(correction, self.dtype))
        variance = g.op("Div", g.op("Mul", variance, count), left)
    return variance, mean if keepdim else g.squeeze(mean, [axis % self.rank for axis in axes])


def spread(root: bool, with_mean: bool) -> Callable[..., Any]:
    def convert(g: Builder, out: Any, self: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False,
                correction: Any = None) -> Any:
        if isinstance(dim, bool):                       # var(unbiased)
            dim, unbiased = None, dim
        variance, mean = moments(g, self, dim, int(unbiased) if correction is None else correction, keepdim)
        variance = g.op("Sqrt", variance) if root else variance
        return (variance, mean) if with_mean else variance
    return convert


converts("var")(spread(False, False))
converts("std")(spread(True, False))
converts("var_mean")(spread(False, True))
converts("std_mean")(spread(True, True))


@converts("linalg_vector_norm", "norm")
def vector_norm(g: Builder, out: Any, self: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False,
                dtype: Any = None) -> str:
    axes = axes_of(dim)
    ord = 2 if ord is None else ord
    value = g.typed(self, out.dtype)
    if ord in (1, 2):
        return g.reduce(f"ReduceL{int(ord)}", value, axes, keepdim)
    magnitude = g.op("Abs", value)
    if ord in (float("inf"), float("-inf")):
        return g.reduce("ReduceMax" if ord > 0 else "ReduceMin", magnitude, axes, keepdim)
    total = g.reduce("ReduceSum", g.op("Pow", magnitude, g.constant(ord, out.dtype)), axes, keepdim)
    return g.op("Pow", total, g.constant(1 / ord, out.dtype))


@converts("cumsum")
def cumsum(g: Builder, out: Any, self: Any, dim: int, **kwargs: Any) -> str:
    return g.op("CumSum", g.typed(self, out.dtype), g.constant(dim))


@converts("_softmax", "softmax")
def softmax(g: Builder, out: Any, self: Any, dim: int, *args: Any, **kwargs: Any) -> str:
    return g.softmax("Softmax", g.typed(self, out.dtype), dim, self.rank)


@converts("_log_softmax", "log_softmax")
def log_softmax(g: Builder, out: Any, self: Any, dim: int, *args: Any, **kwargs: Any) -> str:
    return g.softmax("LogSoftmax", g.typed(self, out.dtype), dim, self.rank)


@converts("topk")
def topk(g: Builder, out: Any, self: Any, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    return g.op("TopK", self, g.ints([k]), count=2, axis=dim, largest=int(largest), sorted=int(sorted))


@converts("sort")
def sort(g: Builder, out: Any, self: Any, dim: int = -1, descending: bool = False, **kwargs: Any) -> Any:
    if isinstance(dim, bool):                           # sort.stable(stable, dim, descending)
        raise UnsupportedOperatorError("sort with a positional `stable` is not exported")
    return g.op("TopK", self, g.size(self, dim % self.rank), count=2, axis=dim, largest=int(descending), sorted=1)


@converts("argsort")
def argsort(g: Builder, out: Any, self: Any, dim: int = -1, descending: bool = False, **kwargs: Any) -> Any:
    return sort(g, out, self, dim, descending)[1]


# ---- matrix products
@converts("mm", "bmm", "matmul", "mv", "dot")
def matmul(g: Builder, out: Any, self: Any, mat2: Any) -> str:
    return g.op("MatMul", self, mat2)


@converts("addmm")
def addmm(g: Builder, out: Any, self: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1) -> str:
    return g.op("Gemm", mat1, mat2, self, alpha=float(alpha), beta=float(beta))


@converts("baddbmm", "addmv")
def baddbmm(g: Builder, out: Any, self: Any, batch1: Any, batch2: Any, beta: Any = 1, alpha: Any = 1) -> str:
    product = g.op("MatMul", batch1, batch2)
    product = product if alpha == 1 else g.op("Mul", product, g.constant(alpha, out.dtype))
    if beta == 0:
        return product
    return g.op("Add", self if beta == 1 else g.op("Mul", self, g.constant(beta, out.dtype)), product)


@converts("linear")
def linear(g: Builder, out: Any, input: Any, weight: Any, bias: Any = None) -> str:
    product = g.op("MatMul", input, g.transpose(weight, 2, 0, 1))
    return product if bias is None else g.op("Add", product, bias)
