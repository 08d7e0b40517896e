"""Transforms: invertible (or at least surjective) maps between constrained spaces, with their log Jacobians.

A transform defines `_call`, `_inverse` and `log_abs_det_jacobian`; `_settings` names the arguments of its constructor,
from which the base makes the same transform with another cache.

    >>> from retrograd.distributions.transforms import ExpTransform
    >>> ExpTransform()(torch.zeros(2))
    tensor([1., 1.])
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Number
from typing import Any

import retrograd as torch
from retrograd import Size
from retrograd.distributions import constraints
from retrograd.distributions.utils import (
    _sum_rightmost,
    broadcast_all,
    lazy_property,
    tril_matrix_to_vec,
    vec_to_tril_matrix,
)
from retrograd.nn.functional import logsigmoid, pad, softplus

__all__ = ["AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
           "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
           "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftplusTransform",
           "TanhTransform", "SoftmaxTransform", "StackTransform", "StickBreakingTransform", "Transform",
           "identity_transform"]


class Transform:
    """A map from `domain` to `codomain`; with `cache_size=1` it remembers its last pair, so that an inverse is free.

    >>> t = TanhTransform(cache_size=1)
    >>> x = torch.tensor(0.5)
    >>> t.inv(t(x)) is x
    True
    """

    bijective: Any = False
    domain: Any
    codomain: Any
    _settings: tuple[str, ...] = ()

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: Any = None
        if cache_size:
            self._cached_x_y: tuple[Any, Any] = (None, None)
        super().__init__()          # a class may be a Module as well

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> int:
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        return self.domain.event_dim

    @property
    def inv(self) -> Any:
        """The inverse transform, which shares the cache."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        """The sign of the derivative of a monotone transform."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Any:
        """This transform with the given cache size."""
        if self._cache_size == cache_size:
            return self
        if self._settings or type(self).__init__ is Transform.__init__:
            make: Any = type(self)
            return make(*[getattr(self, name) for name in self._settings], cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __call__(self, x: Any) -> Any:
        if not self._cache_size:
            return self._call(x)
        if x is not self._cached_x_y[0]:
            self._cached_x_y = (x, self._call(x))
        return self._cached_x_y[1]

    def _inv_call(self, y: Any) -> Any:
        if not self._cache_size:
            return self._inverse(y)
        if y is not self._cached_x_y[1]:
            self._cached_x_y = (self._inverse(y), y)
        return self._cached_x_y[0]

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |dy/dx| where y is this transform of x."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the transform of a tensor with this shape."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the tensor whose transform has this shape."""
        return shape


class _InverseTransform(Transform):
    """A transform read backwards."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._inv = transform

    domain = constraints.dependent_property(lambda self: self._inv.codomain, is_discrete=False)
    codomain = constraints.dependent_property(lambda self: self._inv.domain, is_discrete=False)
    bijective = property(lambda self: self._inv.bijective)
    sign = property(lambda self: self._inv.sign)
    inv = property(lambda self: self._inv)

    def with_cache(self, cache_size: int = 1) -> Any:
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)


# ---- transforms made of others
def _with_event_dim(constraint: Any, event_dim: int) -> Any:
    """The constraint with so many event dimensions."""
    return constraint if event_dim == constraint.event_dim else constraints.independent(constraint,
                                                                                        event_dim - constraint.event_dim)


class ComposeTransform(Transform):
    """Several transforms, one after the other.

    >>> ComposeTransform([ExpTransform(), AffineTransform(1.0, 2.0)])(torch.zeros(1))
    tensor([3.])
    """

    _settings = ("parts",)

    def __init__(self, parts: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:        # type: ignore[override]
        if not self.parts:
            return constraints.real
        needed = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            needed = max(needed + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return _with_event_dim(self.parts[0].domain, needed)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:      # type: ignore[override]
        if not self.parts:
            return constraints.real
        given = self.parts[0].domain.event_dim
        for part in self.parts:
            given = max(given + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return _with_event_dim(self.parts[-1].codomain, given)

    @lazy_property
    def bijective(self) -> bool:
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self) -> Any:
        return math.prod(part.sign for part in self.parts)

    @property
    def inv(self) -> Any:
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def __call__(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return torch.zeros_like(x)
        total, event_dim = None, self.domain.event_dim
        for i, part in enumerate(self.parts):
            after = y if i == len(self.parts) - 1 else part(x)
            term = _sum_rightmost(part.log_abs_det_jacobian(x, after), event_dim - part.domain.event_dim)
            total = term if total is None else total + term
            event_dim += part.codomain.event_dim - part.domain.event_dim
            x = after
        return total

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        parts = ",\n    ".join(map(repr, self.parts))
        return f"{type(self).__name__}(\n    {parts}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """Takes the last dimensions of an elementwise transform as part of the event.

    >>> IndependentTransform(ExpTransform(), 1).log_abs_det_jacobian(torch.ones(2, 3), None)
    tensor([3., 3.])
    """

    _settings = ("base_transform", "reinterpreted_batch_ndims")

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    domain = constraints.dependent_property(
        lambda self: constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims), is_discrete=False)
    codomain = constraints.dependent_property(
        lambda self: constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims), is_discrete=False)
    bijective = property(lambda self: self.base_transform.bijective)
    sign = property(lambda self: self.base_transform.sign)

    def _call(self, x: Any) -> Any:
        _need_dims(x.shape, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        _need_dims(y.shape, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)


def _need_dims(shape: Any, count: int) -> None:
    if len(shape) < count:
        raise ValueError("Too few dimensions on input")


class _Pieces(Transform):
    """Transforms of consecutive pieces along one dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    bijective = property(lambda self: all(t.bijective for t in self.transforms))

    def _check(self, value: Any, size: int, words: str, name: str) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for tensor with {value.dim()} dimensions")
        if value.size(self.dim) != size:
            raise AssertionError(f"{name}.size({self.dim}) = {value.size(self.dim)} must equal {words} {size}")


class CatTransform(_Pieces):
    """One transform for each piece of a concatenation along `dim`.

    >>> CatTransform([ExpTransform(), identity_transform], lengths=[1, 2])(torch.zeros(3))
    tensor([1., 0., 0.])
    """

    _settings = ("transforms", "dim", "lengths")

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None,
                 cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    @lazy_property
    def event_dim(self) -> int:     # type: ignore[override]
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> int:
        return sum(self.lengths)

    def _split(self, value: Any, name: str) -> Any:
        self._check(value, self.length, "length", name)
        return value.split(self.lengths, self.dim)

    def _call(self, x: Any) -> Any:
        return torch.cat([t(piece) for t, piece in zip(self.transforms, self._split(x, "x"))], self.dim)

    def _inverse(self, y: Any) -> Any:
        return torch.cat([t.inv(piece) for t, piece in zip(self.transforms, self._split(y, "y"))], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        terms = [_sum_rightmost(t.log_abs_det_jacobian(a, b), self.event_dim - t.event_dim)
                 for t, a, b in zip(self.transforms, self._split(x, "x"), self._split(y, "y"))]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return torch.cat(terms, dim) if dim < 0 else sum(terms)

    domain = constraints.dependent_property(
        lambda self: constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths))
    codomain = constraints.dependent_property(
        lambda self: constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths))


class StackTransform(_Pieces):
    """One transform for each slice along `dim`.

    >>> StackTransform([ExpTransform(), identity_transform])(torch.zeros(2, 1))
    tensor([[1.],
            [0.]])
    """

    _settings = ("transforms", "dim")

    def _slices(self, value: Any, name: str) -> Any:
        self._check(value, len(self.transforms), "len(transforms)", name)
        return value.unbind(self.dim)

    def _call(self, x: Any) -> Any:
        return torch.stack([t(piece) for t, piece in zip(self.transforms, self._slices(x, "x"))], self.dim)

    def _inverse(self, y: Any) -> Any:
        return torch.stack([t.inv(piece) for t, piece in zip(self.transforms, self._slices(y, "y"))], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return torch.stack([t.log_abs_det_jacobian(a, b) for t, a, b in
                            zip(self.transforms, self._slices(x, "x"), self._slices(y, "y"))], self.dim)

    domain = constraints.dependent_property(lambda self: constraints.stack([t.domain for t in self.transforms], self.dim))
    codomain = constraints.dependent_property(lambda self: constraints.stack([t.codomain for t in self.transforms], self.dim))


class ReshapeTransform(Transform):
    """Gives the event another shape.

    >>> ReshapeTransform((4,), (2, 2))(torch.zeros(3, 4)).shape
    torch.Size([3, 2, 2])
    """

    bijective = True
    _settings = ("in_shape", "out_shape")

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size)

    domain = constraints.dependent_property(lambda self: constraints.independent(constraints.real, len(self.in_shape)))
    codomain = constraints.dependent_property(lambda self: constraints.independent(constraints.real, len(self.out_shape)))

    def _call(self, x: Any) -> Any:
        return x.reshape(x.shape[:x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Any) -> Any:
        return y.reshape(y.shape[:y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x.new_zeros(x.shape[:x.dim() - len(self.in_shape)])

    @staticmethod
    def _replace(shape: Any, old: Any, new: Any) -> Any:
        _need_dims(shape, len(old))
        cut = len(shape) - len(old)
        if shape[cut:] != old:
            raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
        return shape[:cut] + new

    def forward_shape(self, shape: Any) -> Any:
        return self._replace(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._replace(shape, self.out_shape, self.in_shape)


# ---- elementwise transforms
class _Elementwise(Transform):
    """Without arguments: all instances of a class are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))


class ExpTransform(_Elementwise):
    """y = exp(x).

    >>> ExpTransform().inv(torch.ones(1))
    tensor([0.])
    """

    domain, codomain = constraints.real, constraints.positive
    bijective, sign = True, +1

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


class PowerTransform(Transform):
    """y = x ** exponent, of positive numbers.

    >>> PowerTransform(2.0)(torch.tensor([3.0]))
    tensor([9.])
    """

    domain = codomain = constraints.positive
    bijective = True
    _settings = ("exponent",)

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @lazy_property
    def sign(self) -> Any:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool((self.exponent == other.exponent).all())

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return torch.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


def _clipped_sigmoid(x: Any) -> Any:
    limits = torch.finfo(x.dtype)
    return x.sigmoid().clamp(min=limits.tiny, max=1.0 - limits.eps)


class SigmoidTransform(_Elementwise):
    """y = 1 / (1 + exp(-x)).

    >>> SigmoidTransform()(torch.zeros(1))
    tensor([0.5000])
    """

    domain, codomain = constraints.real, constraints.unit_interval
    bijective, sign = True, +1

    def _call(self, x: Any) -> Any:
        return _clipped_sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        limits = torch.finfo(y.dtype)
        y = y.clamp(min=limits.tiny, max=1.0 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Elementwise):
    """y = log(1 + exp(x)).

    >>> SoftplusTransform()(torch.zeros(1))
    tensor([0.6931])
    """

    domain, codomain = constraints.real, constraints.positive
    bijective, sign = True, +1

    def _call(self, x: Any) -> Any:
        return softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x)


class TanhTransform(_Elementwise):
    """y = tanh(x).

    >>> TanhTransform()(torch.zeros(1))
    tensor([0.])
    """

    domain, codomain = constraints.real, constraints.interval(-1.0, 1.0)
    bijective, sign = True, +1

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(_Elementwise):
    """y = |x|, whose inverse is taken as the positive branch.

    >>> AbsTransform()(torch.tensor([-1.0]))
    tensor([1.])
    """

    domain, codomain = constraints.real, constraints.positive

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class AffineTransform(Transform):
    """y = loc + scale * x.

    >>> AffineTransform(1.0, 2.0)(torch.ones(1))
    tensor([3.])
    """

    bijective = True
    _settings = ("loc", "scale", "event_dim")

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    event_dim = property(lambda self: self._event_dim)      # type: ignore[assignment]

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:        # type: ignore[override]
        return _with_event_dim(constraints.real, self.event_dim)

    codomain = domain

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffineTransform) and _same(self.loc, other.loc) and _same(self.scale, other.scale)

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Number):
            return (self.scale > 0) - (self.scale < 0)      # type: ignore[operator]
        return self.scale.sign()

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        plain = isinstance(self.scale, (int, float))
        result = torch.full_like(x, math.log(abs(self.scale))) if plain else self.scale.abs().log()
        shape = x.shape[:x.dim() - self.event_dim]
        if self.event_dim:
            result = result.reshape(result.shape[:-self.event_dim] + (-1,)).sum(-1)
        return result.expand(shape)

    def forward_shape(self, shape: Any) -> Any:
        return torch.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


def _same(a: Any, b: Any) -> bool:
    return a == b if isinstance(a, Number) and isinstance(b, Number) else bool(torch.as_tensor(a == b).all())


class CumulativeDistributionTransform(Transform):
    """The cumulative distribution function of a univariate distribution: its samples become uniform.

    >>> CumulativeDistributionTransform(torch.distributions.Normal(0.0, 1.0))(torch.zeros(1))
    tensor([0.5000])
    """

    bijective, sign = True, +1
    codomain = constraints.unit_interval
    _settings = ("distribution",)

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    domain = property(lambda self: self.distribution.support)

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)


# ---- vectors and matrices
class SoftmaxTransform(_Elementwise):
    """Softmax along the last dimension; one degree of freedom is lost, so there is no Jacobian.

    >>> SoftmaxTransform()(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x: Any) -> Any:
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        _need_dims(shape, 1)
        return shape

    inverse_shape = forward_shape


def _remaining(x: Any) -> Any:
    """The log of n, n - 1, ..., 1: how many pieces of the stick are still to break, for n breaking points."""
    n = x.shape[-1]
    return (n + 1 - x.new_ones(n).cumsum(-1)).log()


class StickBreakingTransform(_Elementwise):
    """Break a stick of length 1 at n places: n real numbers become n + 1 probabilities.

    >>> StickBreakingTransform()(torch.zeros(1))
    tensor([0.5000, 0.5000])
    """

    domain, codomain = constraints.real_vector, constraints.simplex
    bijective = True

    def _call(self, x: Any) -> Any:
        share = _clipped_sigmoid(x - _remaining(x))
        return pad(share, [0, 1], value=1) * pad((1 - share).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        head = y[..., :-1]
        rest = (1 - head.cumsum(-1)).clamp(min=torch.finfo(y.dtype).tiny)
        return head.log() - rest.log() + _remaining(head)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - _remaining(x)
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        _need_dims(shape, 1)
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape: Any) -> Any:
        _need_dims(shape, 1)
        return shape[:-1] + (shape[-1] - 1,)


class CorrCholeskyTransform(Transform):
    """n(n - 1)/2 real numbers become the Cholesky factor of an n x n correlation matrix, row by row.

    >>> CorrCholeskyTransform()(torch.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain, codomain = constraints.real_vector, constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        eps = torch.finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        # a row of length 1: each entry is a share of the length that the entries before it have left
        left = (1 - partial**2).sqrt().cumprod(-1)
        whole = partial + torch.eye(partial.shape[-1], dtype=x.dtype, device=x.device)
        return whole * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        left = pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        return (tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()).atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        of_tanh = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)
        return 0.5 * left.log().sum(-1) + of_tanh

    def forward_shape(self, shape: Any) -> Any:
        _need_dims(shape, 1)
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (n, n)

    def inverse_shape(self, shape: Any) -> Any:
        _need_dims(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return shape[:-2] + (shape[-1] * (shape[-1] - 1) // 2,)


class LowerCholeskyTransform(_Elementwise):
    """The lower triangle of a matrix, with the exponential of its diagonal.

    >>> LowerCholeskyTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_Elementwise):
    """The positive definite matrix whose Cholesky factor `LowerCholeskyTransform` makes.

    >>> PositiveDefiniteTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))
