"""`TransformedDistribution`: the distribution of transformed samples of another."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import Size
from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution, checked
from retrograd.distributions.independent import Independent
from retrograd.distributions.transforms import ComposeTransform, Transform
from retrograd.distributions.utils import _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of `transforms` applied one after the other to samples of `base_distribution`.

    >>> D = torch.distributions
    >>> d = TransformedDistribution(D.Normal(0.0, 1.0), [D.ExpTransform()])
    >>> d.log_prob(torch.ones(()))
    tensor(-0.9189)
    """

    arg_constraints: dict[str, Any] = {}
    _expands: tuple[str, ...] = ("base_dist",)
    _keeps = ("transforms",)

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None) -> None:
        if isinstance(transforms, Transform):
            transforms = [transforms]
        elif not isinstance(transforms, list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        elif not all(isinstance(t, Transform) for t in transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        self.transforms = transforms
        whole = ComposeTransform(transforms)
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        base_event = len(base_distribution.event_shape)
        if len(base_shape) < whole.domain.event_dim:
            raise ValueError(f"base_distribution needs to have shape with size at least {whole.domain.event_dim}, but got "
                             f"{base_shape}.")
        shape = whole.forward_shape(base_shape)
        wide = whole.inverse_shape(shape)
        if wide != base_shape:      # a transform with a batch of its own makes the base's batch larger
            base_distribution = base_distribution.expand(wide[:len(wide) - base_event])
        if whole.domain.event_dim > base_event:
            base_distribution = Independent(base_distribution, whole.domain.event_dim - base_event)
        self.base_dist = base_distribution
        event = max(whole.codomain.event_dim, base_event + whole.codomain.event_dim - whole.domain.event_dim)
        super().__init__(shape[:len(shape) - event], shape[len(shape) - event:], validate_args=validate_args)

    def _expanded(self, name: str, value: Any, batch_shape: Any) -> Any:
        if name != "base_dist":
            return super()._expanded(name, value, batch_shape)
        shape = ComposeTransform(self.transforms).inverse_shape(batch_shape + self._event_shape)
        return value.expand(shape[:len(shape) - len(value.event_shape)])

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        last = self.transforms[-1].codomain
        more = len(self._event_shape) - last.event_dim
        return constraints.independent(last, more) if more > 0 else last

    @property
    def has_rsample(self) -> bool:      # type: ignore[override]
        return self.base_dist.has_rsample

    def _forward(self, value: Any) -> Any:
        for transform in self.transforms:
            value = transform(value)
        return value

    def sample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        with torch.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        return self._forward(self.base_dist.rsample(sample_shape))

    @checked
    def log_prob(self, value: Any) -> Any:
        event_dim = len(self._event_shape)
        total: Any = 0.0
        for transform in reversed(self.transforms):
            before = transform.inv(value)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            total = total - _sum_rightmost(transform.log_abs_det_jacobian(before, value),
                                           event_dim - transform.domain.event_dim)
            value = before
        return total + _sum_rightmost(self.base_dist.log_prob(value), event_dim - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value: Any) -> Any:
        """Probabilities of a decreasing transform count from the other end."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Any:
        return self._forward(self.base_dist.icdf(self._monotonize_cdf(value)))
