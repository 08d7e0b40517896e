"""Constraints: the sets in which parameters and values of distributions lie.

    >>> from retrograd.distributions import constraints
    >>> constraints.positive.check(torch.tensor([-1.0, 1.0]))
    tensor([False,  True])
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import retrograd as torch

__all__ = ["Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
           "greater_than", "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval",
           "is_dependent", "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative",
           "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer", "positive_semidefinite",
           "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval"]


class Constraint:
    """A set of values; `check` says which of them are inside, one answer per event.

    >>> real.check(torch.tensor([0.0, float("nan")]))
    tensor([ True, False])
    """

    is_discrete: Any = False
    event_dim: Any = 0
    # the attributes that `repr` shows
    _shown: tuple[str, ...] = ()

    def check(self, value: Any) -> Any:
        raise NotImplementedError

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)}" for name in self._shown)
        return f"{type(self).__name__[1:]}({shown})"


# ---- constraints that depend on the other parameters
class _Dependent(Constraint):
    """Stands for a set that only an instance of the distribution knows."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def _known(self, name: str) -> Any:
        value = getattr(self, "_" + name)
        if value is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return value

    is_discrete = property(lambda self: self._known("is_discrete"))
    event_dim = property(lambda self: self._known("event_dim"))

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        return _Dependent(is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
                          event_dim=self._event_dim if event_dim is NotImplemented else event_dim)

    def check(self, value: Any) -> Any:
        raise ValueError("Cannot determine validity of dependent constraint")


class _DependentProperty(property, _Dependent):
    """A property on instances, a dependent constraint on the class."""

    def __init__(self, fn: Callable[..., Any] | None = None, *, is_discrete: Any = NotImplemented,
                 event_dim: Any = NotImplemented) -> None:
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn: Callable[..., Any]) -> _DependentProperty:       # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether the set depends on an instance of the distribution.

    >>> is_dependent(dependent), is_dependent(real)
    (True, False)
    """
    return isinstance(constraint, _Dependent)


# ---- constraints made of others
def _expect(valid: bool, text: str) -> None:
    if not valid:
        raise AssertionError(text)


def _all_of_rightmost(valid: Any, keep: int) -> Any:
    """Whether all are valid, for each index of the first `keep` dimensions."""
    return valid.reshape(valid.shape[:keep] + (-1,)).all(-1)


class _Wrapped(Constraint):
    """Keeps the constraint that it is made of."""

    def __init__(self, base_constraint: Any) -> None:
        _expect(isinstance(base_constraint, Constraint),
                f"base_constraint must be a Constraint, got {type(base_constraint).__name__}")
        self.base_constraint = base_constraint

    is_discrete = property(lambda self: self.base_constraint.is_discrete)
    event_dim = property(lambda self: self.base_constraint.event_dim)


class _IndependentConstraint(_Wrapped):
    """Takes the last batch dimensions of a constraint as part of the event."""

    def __init__(self, base_constraint: Any, reinterpreted_batch_ndims: int) -> None:
        super().__init__(base_constraint)
        _expect(isinstance(reinterpreted_batch_ndims, int),
                f"reinterpreted_batch_ndims must be an int, got {type(reinterpreted_batch_ndims).__name__}")
        _expect(reinterpreted_batch_ndims >= 0, f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}")
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    event_dim = property(lambda self: self.base_constraint.event_dim + self.reinterpreted_batch_ndims)

    def check(self, value: Any) -> Any:
        valid = self.base_constraint.check(value)
        keep = valid.dim() - self.reinterpreted_batch_ndims
        if keep < 0:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_of_rightmost(valid, keep)

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(_Wrapped):
    """The support of a mixture: that of its components, which have one batch dimension more.

    >>> MixtureSameFamilyConstraint(positive).check(torch.tensor([1.0, -1.0]))
    tensor([ True, False])
    """

    def check(self, value: Any) -> Any:
        valid = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        keep = value.dim() - self.event_dim
        if keep < 0:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_of_rightmost(valid, keep)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


class _Several(Constraint):
    """Constraints for consecutive pieces along one dimension."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        _expect(all(isinstance(c, Constraint) for c in cseq), "All elements of cseq must be Constraint instances")
        self.cseq, self.dim = list(cseq), dim

    is_discrete = property(lambda self: any(c.is_discrete for c in self.cseq))
    event_dim = property(lambda self: max(c.event_dim for c in self.cseq))

    def _check_dim(self, value: Any) -> None:
        _expect(-value.dim() <= self.dim < value.dim(), f"dim {self.dim} out of range for value with {value.dim()} dimensions")


class _Cat(_Several):
    """One constraint for each piece of a concatenation."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        _expect(len(self.lengths) == len(self.cseq), f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")

    def check(self, value: Any) -> Any:
        self._check_dim(value)
        pieces, start = [], 0
        for constraint, length in zip(self.cseq, self.lengths):
            pieces.append(constraint.check(value.narrow(self.dim, start, length)))
            start += length
        return torch.cat(pieces, self.dim)


class _Stack(_Several):
    """One constraint for each slice of a stack."""

    @property
    def event_dim(self) -> int:     # type: ignore[override]
        inner = max(c.event_dim for c in self.cseq)
        return inner + 1 if self.dim + inner < 0 else inner

    def check(self, value: Any) -> Any:
        self._check_dim(value)
        return torch.stack([c.check(v) for c, v in zip(self.cseq, value.unbind(self.dim))], self.dim)


# ---- numbers
class _Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value == 0) | (value == 1)


class _Real(Constraint):
    """All numbers except NaN."""

    def check(self, value: Any) -> Any:
        return value == value


class _Above(Constraint):
    """Bounded from below."""

    _shown: tuple[str, ...] = ("lower_bound",)

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound


class _Below(Constraint):
    """Bounded from above."""

    _shown: tuple[str, ...] = ("upper_bound",)

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound


class _Between(Constraint):
    """Bounded on both sides."""

    _shown = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound


class _GreaterThan(_Above):
    def check(self, value: Any) -> Any:
        return self.lower_bound < value


class _GreaterThanEq(_Above):
    def check(self, value: Any) -> Any:
        return self.lower_bound <= value


class _LessThan(_Below):
    def check(self, value: Any) -> Any:
        return value < self.upper_bound


class _Interval(_Between):
    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerGreaterThan(_Above):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _IntegerLessThan(_Below):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerInterval(_Between):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


# ---- vectors
class _OneHot(Constraint):
    """Vectors with a single 1 among zeros."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Any) -> Any:
        return boolean.check(value).all(-1) & (value.sum(-1) == 1)


class _Simplex(Constraint):
    """Vectors of probabilities."""

    event_dim = 1

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(_Below):
    """Vectors of counts with a bounded sum."""

    is_discrete = True
    event_dim = 1
    _shown = ()

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


# ---- matrices
class _LowerTriangular(Constraint):
    """Lower triangular matrices."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(_LowerTriangular):
    """Lower triangular matrices with a positive diagonal."""

    def check(self, value: Any) -> Any:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """Cholesky factors of correlation matrices: their rows have length 1."""

    def check(self, value: Any) -> Any:
        tolerance = torch.finfo(value.dtype).eps * value.shape[-1] * 10
        lengths = torch.linalg.norm(value.detach(), dim=-1)
        return super().check(value) & ((lengths - 1).abs() <= tolerance).all(-1)


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        return torch.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=torch.bool, device=value.device)


class _Symmetric(_Square):
    """Symmetric matrices."""

    def check(self, value: Any) -> Any:
        valid = super().check(value)
        return torch.isclose(value, value.mT, atol=1e-6).all(-2).all(-1) if valid.all() else valid


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: Any) -> Any:
        valid = super().check(value)
        return (torch.linalg.eigvalsh(value) >= 0).all(-1) if valid.all() else valid


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices that have a Cholesky factor."""

    def check(self, value: Any) -> Any:
        valid = super().check(value)
        return torch.linalg.cholesky_ex(value).info == 0 if valid.all() else valid



dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
