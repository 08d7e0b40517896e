"""Gamma, Dirichlet and binomial samples, and the derivatives of the first two with respect to their parameters."""
from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from retrograd.core import dtypes, lean
from retrograd.core.algorithms import native
from retrograd.core.dispatch import call
from retrograd.core.kernels import broadcast_problem
from retrograd.core.opdef import NOT_IMPLEMENTED, defop
from retrograd.core.rng import rejection
from retrograd.ops.create.implicit_gradients import dirichlet_grad, standard_gamma_grad
from retrograd.ops.create.random import source_of, unsupported
from retrograd.ops.elementwise.special import missing
from retrograd.ops.shared import families

SINGLE_OR_DOUBLE = (np.float32, np.float64)


def check_dtype(name: str, array: Any) -> None:
    if array.dtype not in SINGLE_OR_DOUBLE:
        raise unsupported(name, array.dtype)


# ---- gamma
def gamma_kernel(xp: Any, self: Any, generator: Any) -> Any:
    check_dtype("gamma_cpu", self)
    if native is not None:
        result = np.empty(self.shape, self.dtype)
        if native.draw_gamma(source_of(generator), result, self):
            return result
    made = rejection.standard_gamma(source_of(generator), np.ascontiguousarray(self).reshape(self.shape))
    return np.maximum(np.nan_to_num(made, nan=0.0).astype(self.dtype), np.finfo(self.dtype).tiny)


def gamma_grad_kernel(xp: Any, self: Any, output: Any) -> Any:
    check_dtype("_standard_gamma_grad_cpu", self)
    made = None if native is None else native.gamma_grad(self, output)
    if made is not None:
        return made
    return standard_gamma_grad(self, output).astype(self.dtype)


def gamma_grad_by_output(grad: Any, self: Any, output: Any, result: Any) -> Any:
    # -(log p)_a - g (log p)_x, where g is the result and p the density
    return grad * (self.digamma() - output.log() - result * ((self - 1) / output - 1))


standard_gamma_grad_ = defop(
    "_standard_gamma_grad(Tensor self, Tensor output) -> Tensor", kernel=gamma_grad_kernel,
    vjp=dict(self=missing("_standard_gamma_grad"), output=gamma_grad_by_output), jvp="elementwise", batch=families.pointwise,
    meta=lambda xp, self, output: self, variants="function", node="StandardGammaGradBackward0",
)
standard_gamma = defop(
    "_standard_gamma(Tensor self, Generator? generator=None) -> Tensor", kernel=gamma_kernel,
    vjp=dict(self=lambda grad, self, result: grad * call(standard_gamma_grad_, [self, result])),
    jvp="elementwise", batch=families.in_front, meta=lambda xp, self, generator: self, variants="function",
    node="StandardGammaBackward0",
)


# ---- Dirichlet
def dirichlet_kernel(xp: Any, self: Any, generator: Any) -> Any:
    check_dtype("dirichlet", self)
    if native is not None:
        result = np.empty(self.shape, self.dtype)
        if native.draw_dirichlet(source_of(generator), result, self):
            return result
    made = rejection.standard_gamma(source_of(generator), np.ascontiguousarray(self, np.float64).reshape(self.shape))
    shares = (made / np.add.reduce(made, -1, keepdims=True)).astype(self.dtype)
    low, high = ends_of(self.dtype)
    return np.minimum(np.maximum(shares, low), high)


@cache
def ends_of(dtype: Any) -> tuple[Any, Any]:
    """The smallest normal number, and the largest number below 1."""
    return np.finfo(dtype).tiny, np.nextafter(dtype.type(1), dtype.type(0))


def dirichlet_grad_kernel(xp: Any, x: Any, alpha: Any, total: Any) -> Any:
    check_dtype("_dirichlet_grad_cpu", x)
    return dirichlet_grad(x, alpha, total).astype(x.dtype)


def dirichlet_slope(self: Any, result: Any) -> Any:
    """The derivative of each component by its own concentration, before renormalisation."""
    total = self.sum(-1, True).expand_as(self)
    return call(dirichlet_grad_, [result, self, total])


dirichlet_grad_ = defop(
    "_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor", kernel=dirichlet_grad_kernel,
    vjp=NOT_IMPLEMENTED, batch=families.pointwise, meta=lambda xp, x, alpha, total: x, variants="function",
    lower="@native.dirichlet_grad",
)
sample_dirichlet = defop(
    "_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor", kernel=dirichlet_kernel,
    vjp=dict(self=lambda grad, self, result: dirichlet_slope(self, result) * (grad - (result * grad).sum(-1, True))),
    jvp=lambda self_t, self, result: spread(dirichlet_slope(self, result) * self_t, result),
    batch=families.in_front, meta=lambda xp, self, generator: self, variants="function", node="SampleDirichletBackward0",
)


def spread(moved: Any, result: Any) -> Any:
    return moved - result * moved.sum(-1, True)


# ---- binomial
def binomial_kernel(xp: Any, count: Any, prob: Any, generator: Any) -> Any:
    for name, array in (("count", count), ("prob", prob)):
        if array.dtype.kind not in "fV":
            raise ValueError(f"binomial only supports floating-point dtypes for {name}, got: "
                             f"{dtypes.BY_NUMPY[array.dtype].legacy}")
    if count.dtype != prob.dtype:
        names = [dtypes.BY_NUMPY[array.dtype].legacy for array in (prob, count)]
        raise RuntimeError(f"Found dtype {names[0]} but expected {names[1]}")
    check_dtype("binomial_cpu", count)
    problem = broadcast_problem(count.shape, prob.shape)
    if problem is not None:
        raise RuntimeError(problem)
    if native is not None and count.shape == prob.shape:
        made = np.empty(count.shape, count.dtype)
        if native.draw_binomial(source_of(generator), made, count, prob):
            return made
    return rejection.binomial(source_of(generator), *np.broadcast_arrays(count, prob))


binomial = defop(
    "binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor", out="aten", kernel=binomial_kernel,
    vjp=NOT_IMPLEMENTED, batch=families.pointwise, variants="function",
    meta=lambda xp, count, prob, generator: np.empty(lean.broadcast_shapes(count.shape, prob.shape), count.dtype),
)
