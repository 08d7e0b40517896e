"""`biject_to` and `transform_to`: from a constraint to a transform of unconstrained space into it.

    >>> import retrograd as torch
    >>> from retrograd.distributions import constraints, transform_to
    >>> transform_to(constraints.simplex)(torch.zeros(2))
    tensor([0.5000, 0.5000])
"""
from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any

from retrograd.distributions import constraints
from retrograd.distributions.transforms import (
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SigmoidTransform,
    SoftmaxTransform,
    StackTransform,
    StickBreakingTransform,
    identity_transform,
)

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """A table from classes of constraints to functions that make transforms.

    >>> registry = ConstraintRegistry()
    >>> @registry.register(constraints.positive)
    ... def to_positive(constraint):
    ...     return ExpTransform()
    >>> registry(constraints.positive)
    ExpTransform()
    """

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Any]] = {}

    def register(self, constraint: Any, factory: Callable[[Any], Any] | None = None) -> Any:
        """Add a factory for a constraint's class; without a factory, a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """The transform for a constraint."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _to_interval(constraint: Any) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, Number) and isinstance(high, Number) and low == 0 and high == 1:
        return SigmoidTransform()
    return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])


def _above(constraint: Any) -> Any:
    return ComposeTransform([ExpTransform(), AffineTransform(constraint.lower_bound, 1)])


def _below(constraint: Any) -> Any:
    return ComposeTransform([ExpTransform(), AffineTransform(constraint.upper_bound, -1)])


for _registry in (biject_to, transform_to):
    def _independent(constraint: Any, registry: Any = _registry) -> Any:
        return IndependentTransform(registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims)

    def _cat(constraint: Any, registry: Any = _registry) -> Any:
        return CatTransform([registry(c) for c in constraint.cseq], constraint.dim, constraint.lengths)

    def _stack(constraint: Any, registry: Any = _registry) -> Any:
        return StackTransform([registry(c) for c in constraint.cseq], constraint.dim)

    _registry.register(constraints.real, lambda constraint: identity_transform)
    _registry.register(constraints.independent, _independent)
    _registry.register(constraints.greater_than, _above)
    _registry.register(constraints.greater_than_eq, _above)
    _registry.register(constraints.less_than, _below)
    _registry.register(constraints.interval, _to_interval)
    _registry.register(constraints.half_open_interval, _to_interval)
    _registry.register(constraints.corr_cholesky, lambda constraint: CorrCholeskyTransform())
    _registry.register(constraints.cat, _cat)
    _registry.register(constraints.stack, _stack)

# Surjective only: these have more unconstrained than constrained degrees of freedom.
biject_to.register(constraints.simplex, lambda constraint: StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda constraint: LowerCholeskyTransform())
transform_to.register(constraints.positive_definite, lambda constraint: PositiveDefiniteTransform())
transform_to.register(constraints.positive_semidefinite, lambda constraint: PositiveDefiniteTransform())
