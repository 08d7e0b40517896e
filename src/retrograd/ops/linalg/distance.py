"""Distances between rows (cdist, pdist) and rows with clipped norms (renorm)."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.algorithms import native
from retrograd.core.api import expose
from retrograd.core.arguments import type_name
from retrograd.core.convert import MISMATCH, to_float
from retrograd.core.dispatch import call
from retrograd.core.dtypes import BY_NUMPY
from retrograd.core.kernels import broadcast_problem
from retrograd.core.opdef import defop
from retrograd.ops import late
from retrograd.ops.linalg.triangular import stacked
from retrograd.ops.reduction.sums import norm_backward, norm_jvp, vector_norm
from retrograd.ops.shared import families
from retrograd.ops.shared.dtype_checks import every, only, takes
from retrograd.ops.shared.elementwise import times, unsupported
from retrograd.ops.shared.families import conj, is_watched, wrap_dim


def legacy(array: Any) -> str:
    return BY_NUMPY[array.dtype].legacy


# ---- distances
def distances(xp: Any, difference: Any, p: float) -> Any:
    """The p-norm along the last dimension."""
    size = xp.abs(difference)
    if p == 0:
        return xp.minimum(xp.ceil(size), 1).sum(-1).astype(difference.dtype)
    if math.isinf(p):
        return size.max(-1, initial=0)
    if p == 1:
        return size.sum(-1)
    if p == 2:
        return xp.sqrt((size * size).sum(-1))
    return xp.power(xp.power(size, p).sum(-1), 1 / p).astype(difference.dtype, copy=False)


def distance_slopes(difference: Any, distance: Any, p: float) -> Any:
    """The gradient of each distance by its difference, written with ops so that it can be differentiated again."""
    distance = distance.unsqueeze(-1)
    if p == 0:
        return late.zeros_like(difference)
    if p == 1:
        return difference.sgn()
    if p == 2:
        return (difference / distance).masked_fill(distance == 0, 0)
    if math.isinf(p):
        return difference.sgn() * (difference.abs() == distance)
    made = difference.sgn() * difference.abs().pow(p - 1) / distance.pow(p - 1)
    return made.masked_fill((distance == 0).logical_or(difference == 0) if p < 1 else distance == 0, 0)


def slope_bends(difference: Any, distance: Any, p: float) -> tuple[Any, Any]:
    """The derivatives of `distance_slopes` with respect to the differences and the distances."""
    distance = distance.unsqueeze(-1)
    if p in (0, 1) or math.isinf(p):
        return late.zeros_like(difference), late.zeros_like(difference)
    size = difference.abs()
    ratio = distance.pow(1 - p) if p != 2 else distance.reciprocal()
    steepness = (p - 1) * (size.pow(p - 2) * ratio if p != 2 else ratio)
    shrinking = -(p - 1) * difference.sgn() * size.pow(p - 1) * ratio / distance
    undefined = (distance == 0).logical_or(difference == 0) if p < 2 else distance == 0
    return steepness.masked_fill(undefined, 0), shrinking.masked_fill(undefined, 0)


def cdist_forward_kernel(xp: Any, x1: Any, x2: Any, p: float, compute_mode: Any) -> Any:
    check_cdist(x1, x2, p)
    made = None if native is None else native.row_distances(x1, x2, p, None, None)
    if made is not None:
        return made
    difference = x1[..., :, None, :] - x2[..., None, :, :]
    return xp.ascontiguousarray(distances(xp, difference, p)).astype(x1.dtype, copy=False)


def check_cdist(x1: Any, x2: Any, p: float) -> None:
    for name, x in (("X1", x1), ("X2", x2)):
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    for name, x in (("X1", x1), ("X2", x2)):
        if x.dtype.kind not in "fV":
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {legacy(x)}")
    if x1.dtype != x2.dtype:
        raise RuntimeError(f"expected scalar type {legacy(x1)} but found {legacy(x2)}")
    if not p >= 0:
        raise RuntimeError("cdist only supports non-negative p values")
    problem = broadcast_problem(x1.shape[:-2], x2.shape[:-2])
    if problem is not None:
        raise RuntimeError(problem)


def cdist_gradient(grad: Any, x1: Any, x2: Any, p: float, result: Any) -> Any:
    if not is_watched():
        return call(cdist_backward, [grad.contiguous(), x1, x2, p, result])
    slopes = distance_slopes(x1.unsqueeze(-2) - x2.unsqueeze(-3), result, p)
    return (grad.unsqueeze(-1) * slopes).sum(-2)


def cdist_backward_kernel(xp: Any, grad: Any, x1: Any, x2: Any, p: float, cdist: Any) -> Any:
    made = None if native is None else native.row_distances(
        xp.ascontiguousarray(x1), xp.ascontiguousarray(x2), p, xp.ascontiguousarray(cdist), xp.ascontiguousarray(grad))
    if made is not None:
        return made
    difference = x1[..., :, None, :] - x2[..., None, :, :]
    slopes = slopes_of(xp, difference, cdist[..., None], p)
    return xp.ascontiguousarray((grad[..., None] * slopes).sum(-2)).astype(x1.dtype, copy=False)


def cdist_double_backward(grads: Any, grad: Any, x1: Any, x2: Any, p: float, cdist: Any) -> Any:
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    along = grads[0].unsqueeze(-2)
    steepness, shrinking = slope_bends(difference, cdist, p)
    for_difference = along * grad.unsqueeze(-1) * steepness
    return ((along * distance_slopes(difference, cdist, p)).sum(-1), for_difference.sum(-2), -for_difference.sum(-3),
            (along * shrinking).sum(-1) * grad)


def cdist_backward_tangent(grad_p: Any, grad_t: Any, x1_p: Any, x1_t: Any, x2_p: Any, x2_t: Any, p: float, cdist_p: Any,
                           cdist_t: Any) -> Any:
    difference = x1_p.unsqueeze(-2) - x2_p.unsqueeze(-3)
    steepness, shrinking = slope_bends(difference, cdist_p, p)
    slopes_t = steepness * (x1_t.unsqueeze(-2) - x2_t.unsqueeze(-3)) + shrinking * cdist_t.unsqueeze(-1)
    slopes = distance_slopes(difference, cdist_p, p)
    return (grad_t.unsqueeze(-1) * slopes + grad_p.unsqueeze(-1) * slopes_t).sum(-2)


def slopes_of(xp: Any, difference: Any, distance: Any, p: float) -> Any:
    if p == 0:
        return lean.zeros_like(difference)
    if p == 1:
        return xp.sign(difference)
    if math.isinf(p):
        return xp.sign(difference) * (xp.abs(difference) == distance)
    made = difference / distance if p == 2 else (
        xp.sign(difference) * xp.power(xp.abs(difference), p - 1) / xp.power(distance, p - 1))
    return xp.where(xp.logical_or(distance == 0, difference == 0 if p < 1 else False), 0, made)


def cdist_tangent(x1_p: Any, x1_t: Any, x2_p: Any, x2_t: Any, p: float, result: Any) -> Any:
    slopes = distance_slopes(x1_p.unsqueeze(-2) - x2_p.unsqueeze(-3), result, p)
    return (slopes * (x1_t.unsqueeze(-2) - x2_t.unsqueeze(-3))).sum(-1)


full_cdist = takes("cdist", "FCIB")
cdist_forward = defop(
    "_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
    kernel=cdist_forward_kernel, check=lambda x1, x2, *rest: x1.array.size and x2.array.size and full_cdist(x1),
    vjp=dict(x1=lambda grad, x1, x2, p, result: cdist_gradient(grad, x1, x2, p, result),
             x2=lambda grad, x1, x2, p, result: cdist_gradient(grad.mT, x2, x1, p, result.mT)),
    jvp=cdist_tangent, batch=stacked(2, 2), node="CdistBackward0", variants="",
)
cdist_backward = defop(
    "_cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor",
    kernel=cdist_backward_kernel, check=takes("cdist_backward", "F"),
    vjp={("grad", "x1", "x2", "cdist"): cdist_double_backward}, jvp=cdist_backward_tangent,
    batch=stacked(2, 2, 2, 2), node="CdistBackwardBackward0", variants="",
    out_form="out",
)


def euclidean_kernel(xp: Any, x1: Any, x2: Any) -> Any:
    """By |a - b|^2 = |a|^2 - 2 a.b + |b|^2, which is one matrix product."""
    square = (x1 * x1).sum(-1)[..., :, None] - 2 * (x1 @ x2.swapaxes(-1, -2)) + (x2 * x2).sum(-1)[..., None, :]
    return xp.sqrt(xp.maximum(square, 0)).astype(x1.dtype, copy=False)


def euclidean_gradients(grad: Any, x1: Any, x2: Any, result: Any, needed: Any) -> Any:
    ratio = (grad / result).masked_fill(result == 0, 0)
    return (x1 * ratio.sum(-1, True) - ratio @ x2 if needed[0] else None,
            x2 * ratio.sum(-2).unsqueeze(-1) - ratio.mT @ x1 if needed[1] else None)


check_euclidean = every(
    only("clamp is not supported for complex types", "FHIB", error=NotImplementedError),
    only("result type Float can't be cast to the desired output type Long", "FHC"))
euclidean_dist = defop(
    "_euclidean_dist(Tensor x1, Tensor x2) -> Tensor",
    kernel=euclidean_kernel, vjp={("x1", "x2"): euclidean_gradients},
    jvp=lambda x1_p, x1_t, x2_p, x2_t, result: cdist_tangent(x1_p, x1_t, x2_p, x2_t, 2.0, result), batch=stacked(2, 2),
    variants="function", check=check_euclidean,
)
COMPUTE_MODES = {"use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2}


def cdist_tensors(x1: Any, x2: Any, p: float, compute_mode: Any) -> Any:
    check_cdist(x1.array, x2.array, p)
    if compute_mode not in (None, 0, 1, 2):
        raise RuntimeError(f"possible modes: 0, 1, 2, but was: {compute_mode}")
    rows = x1.shape[-2], x2.shape[-2]
    by_product = compute_mode == 1 or compute_mode in (None, 0) and max(rows) > 25
    if p == 2 and by_product and x1.numel() and x2.numel():
        batch = lean.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
        count = math.prod(batch)
        x1 = x1.expand((*batch, *x1.shape[-2:])).reshape((count, *x1.shape[-2:])) if x1.ndim != 2 or batch else x1
        x2 = x2.expand((*batch, *x2.shape[-2:])).reshape((count, *x2.shape[-2:])) if x2.ndim != 2 or batch else x2
        return euclidean_dist(x1, x2).view((*batch, *rows))
    return call(cdist_forward, [x1, x2, p, compute_mode])


cdist_op = defop("cdist(Tensor x1, Tensor x2, float p=2, int? compute_mode=None) -> Tensor", kernel=cdist_tensors,
                 composite=True, out=False, variants="", autocast="float32",
    doc="""The distance of each row of the one to each row of the other.
    >>> torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """)


@expose(method=False)
def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: Any = "use_mm_for_euclid_dist_if_necessary") -> Any:
    """The distances of all rows of one matrix from all rows of another."""
    if compute_mode not in COMPUTE_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    number = to_float(p)
    if number is MISMATCH:
        raise TypeError(f"cdist(): argument 'p' (position 3) must be float, not {type_name(p)}")
    return cdist_op(x1, x2, number, COMPUTE_MODES[compute_mode])


def pairs(n: int) -> Any:
    return np.triu_indices(n, 1)


def pdist_kernel(xp: Any, self: Any, p: float) -> Any:
    made = None if native is None else native.pair_distances(self, p, None, None)
    if made is not None:
        return made
    first, second = pairs(self.shape[0])
    return distances(xp, self[first] - self[second], p)


def pdist_backward_kernel(xp: Any, grad: Any, self: Any, p: float, pdist: Any) -> Any:
    made = None if native is None else native.pair_distances(self, p, pdist, grad)
    if made is not None:
        return made
    first, second = pairs(self.shape[0])
    moved = grad[:, None] * slopes_of(xp, self[first] - self[second], pdist[:, None], p)
    result = lean.zeros_like(self)
    xp.add.at(result, first, moved)
    xp.subtract.at(result, second, moved)
    return result


def pair_places(self: Any) -> tuple[Any, Any]:
    first, second = pairs(self.shape[0])
    return late.from_numpy(np.ascontiguousarray(first)), late.from_numpy(np.ascontiguousarray(second))


def pdist_gradient(grad: Any, self: Any, p: float, result: Any) -> Any:
    if not is_watched():
        return call(pdist_backward, [grad.contiguous(), self, p, result])
    return put_back(grad.unsqueeze(-1) * distance_slopes(apart(self), result, p), self)


def apart(t: Any) -> Any:
    """The differences of all pairs of rows."""
    first, second = pair_places(t)
    return t.index_select(0, first) - t.index_select(0, second)


def put_back(moved: Any, like: Any) -> Any:
    """The transpose of `apart`."""
    first, second = pair_places(like)
    return late.zeros_like(like).index_add(0, first, moved).index_add(0, second, -moved)


def pdist_double_backward(grads: Any, grad: Any, self: Any, p: float, pdist: Any) -> Any:
    difference, along = apart(self), apart(grads[0])
    steepness, shrinking = slope_bends(difference, pdist, p)
    return ((along * distance_slopes(difference, pdist, p)).sum(-1), put_back(along * grad.unsqueeze(-1) * steepness, self),
            (along * shrinking).sum(-1) * grad)


def pdist_backward_tangent(grad_p: Any, grad_t: Any, self_p: Any, self_t: Any, p: float, pdist_p: Any, pdist_t: Any) -> Any:
    difference = apart(self_p)
    steepness, shrinking = slope_bends(difference, pdist_p, p)
    slopes_t = steepness * apart(self_t) + shrinking * pdist_t.unsqueeze(-1)
    slopes = distance_slopes(difference, pdist_p, p)
    return put_back(grad_t.unsqueeze(-1) * slopes + grad_p.unsqueeze(-1) * slopes_t, self_p)


def pdist_tangent(self_p: Any, self_t: Any, p: float, result: Any) -> Any:
    return (distance_slopes(apart(self_p), result, p) * apart(self_t)).sum(-1)


def check_pdist(self: Any, p: float) -> None:
    if self.numel():
        only_doubles("pdist", self)


def check_pdist_backward(grad: Any, self: Any, p: float, pdist: Any) -> None:
    only_doubles("pdist_backward", self)


def only_doubles(name: str, self: Any) -> None:
    """Check for kernels that support single and double precision only."""
    if self.array.dtype.char not in "fd":
        raise unsupported(name, self.array.dtype)


pdist_forward = defop(
    "_pdist_forward(Tensor self, float p=2) -> Tensor",
    kernel=pdist_kernel, check=check_pdist, vjp=dict(self=pdist_gradient), jvp=pdist_tangent, batch=families.loop,
    node="PdistBackward0", variants="",
)
pdist_backward = defop(
    "_pdist_backward(Tensor grad, Tensor self, float p, Tensor pdist) -> Tensor",
    kernel=pdist_backward_kernel, check=check_pdist_backward,
    vjp={("grad", "self", "pdist"): pdist_double_backward}, jvp=pdist_backward_tangent,
    batch=families.loop, node="PdistBackwardBackward0", variants="",
    out_form="out",
)


def pdist_tensors(self: Any, p: float) -> Any:
    if self.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {self.ndim}D")
    if not self.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    if not p >= 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return call(pdist_forward, [self.contiguous(), p])


defop("pdist(Tensor self, float p=2) -> Tensor", kernel=pdist_tensors, composite=True, out=False, variants="function")


# ---- clipped norms
def others(dim: int, ndim: int) -> tuple[int, ...]:
    axis = wrap_dim(dim, ndim)
    return tuple([d for d in range(ndim) if d != axis])


def check_renorm(self: Any, p: Any, dim: int, maxnorm: Any) -> None:
    if isinstance(p, complex):
        raise RuntimeError("renorm: p must be real-valued")
    if not p > 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if isinstance(maxnorm, complex):
        raise RuntimeError("renorm: maxnorm must be real-valued")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if self.array.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {self.array.ndim} dimensions")


def renorm_kernel(xp: Any, self: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    axes = others(dim, self.ndim)
    norm = lean.natively(vector_norm, self, p, axes, True, None)
    if norm is None:
        norm = vector_norm.compute(xp, self, p, axes, True, None)
    scale = xp.where(norm > maxnorm, maxnorm / (norm + norm.dtype.type(1e-7)), 1).astype(norm.dtype)
    return xp.ascontiguousarray(self * scale)


def renorm_gradient(grad: Any, self: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    axes = others(dim, self.ndim)
    norm = call(vector_norm, [self, p, axes, True, None])
    product = (conj(self) * grad).sum(axes, True)
    product = late.real(product) if product.is_complex() else product
    inverse = (norm + 1e-7).reciprocal()
    scaled = times(inverse, maxnorm) * (grad - inverse * norm_backward(product, self, p, norm, axes, True))
    return late.where(norm > maxnorm, scaled, grad)


def renorm_tangent(self_p: Any, self_t: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    axes = others(dim, self_p.ndim)
    norm = call(vector_norm, [self_p, p, axes, True, None])
    inverse = (norm + 1e-7).reciprocal()
    scaled = times(inverse, maxnorm) * (self_t - self_p * (inverse * norm_jvp(self_p, self_t, p, norm, axes, True)))
    return late.where(norm > maxnorm, scaled, self_t)


renorm = defop(
    "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
    kernel=renorm_kernel, check=check_renorm, vjp=dict(self=renorm_gradient), jvp=renorm_tangent, batch=families.loop,
    widen=True, inplace=True, lower="@native.renorm", traits=("out_first",),
)
