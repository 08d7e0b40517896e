"""`Distribution`, the base of all: shapes, validation, and what follows from a distribution's declared parameters.

A distribution declares `arg_constraints`; its constructor hands its parameters to `_take`, which broadcasts and keeps
them. `_expands` names the attributes that `expand` has to expand with it and `_keeps` those that it leaves as they are, so
that no distribution writes that itself.
"""
from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import retrograd as torch
from retrograd import Size, Tensor
from retrograd.distributions import constraints
from retrograd.distributions.utils import broadcast_all, lazy_property

__all__ = ["Distribution"]


def checked(method: Callable[..., Any]) -> Callable[..., Any]:
    """Make a method refuse values outside of the support while validation is on."""
    @functools.wraps(method)
    def wrapped(self: Any, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return method(self, value)
    return wrapped


class Distribution:
    """A probability distribution over events of shape `event_shape`, one for each index of `batch_shape`.

    >>> d = torch.distributions.Normal(torch.zeros(3), 1.0)
    >>> d.batch_shape, d.event_shape, d.sample((2,)).shape
    (torch.Size([3]), torch.Size([]), torch.Size([2, 3]))
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    _expands: tuple[str, ...]
    _keeps: tuple[str, ...] = ()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Turn validation on or off for all distributions to come."""
        if value not in [True, False]:
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = Size(), event_shape: Any = Size(),        # noqa: B008
                 validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = batch_shape, event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()          # a class may be a Module as well

    def _take(self, validate_args: bool | None, **parameters: Any) -> None:
        """Keep scalar parameters, broadcast against each other; they give the batch shape."""
        values = broadcast_all(*parameters.values())
        for name, value in zip(parameters, values):
            setattr(self, name, value)
        Distribution.__init__(self, values[0].shape, validate_args=validate_args)

    def _validate_parameters(self) -> None:
        try:
            declared = self.arg_constraints
        except NotImplementedError:
            declared = {}
            warnings.warn(f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize "
                          "the distribution with `validate_args=False` to turn off validation.", stacklevel=4)
        for name, constraint in declared.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue        # derived from another parameter, and not yet asked for
            value = getattr(self, name)
            if not torch._is_all_true(constraint.check(value)):
                raise ValueError(f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                                 f"distribution {self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n"
                                 f"{value}")

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the same distribution with a larger batch shape; parameters are expanded, not copied."""
        home = next((kind for kind in type(self).__mro__ if "_expands" in kind.__dict__), None)
        if home is None:
            raise NotImplementedError
        new = self._get_checked_instance(home, _instance)
        batch_shape = Size(batch_shape)
        for kind in home.__mro__:
            for name in kind.__dict__.get("_expands", ()):
                if name in self.__dict__:
                    new.__dict__[name] = self._expanded(name, self.__dict__[name], batch_shape)
            for name in kind.__dict__.get("_keeps", ()):
                if name in self.__dict__:
                    new.__dict__[name] = self.__dict__[name]
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _expanded(self, name: str, value: Any, batch_shape: Any) -> Any:
        """Expand one attribute: its dimensions beyond the batch shape stay as they are."""
        if isinstance(value, Distribution):
            return value.expand(batch_shape + value.batch_shape[len(self._batch_shape):])
        return value.expand(batch_shape + value.shape[len(self._batch_shape):])

    def _get_checked_instance(self, cls: Any, _instance: Any = None) -> Any:
        """A bare instance for `expand` to fill; refused where a subclass may have attributes that `cls` does not know."""
        if _instance is None and type(self).__init__ is not cls.__init__:
            raise NotImplementedError(f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method "
                                      "must also define a custom .expand() method.")
        return type(self).__new__(type(self)) if _instance is None else _instance

    # ---- shapes
    @property
    def batch_shape(self) -> Any:
        """The shape over which the parameters are batched."""
        return self._batch_shape

    @property
    def event_shape(self) -> Any:
        """The shape of a single sample."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Any = Size()) -> Any:       # noqa: B008
        """The shape of what `sample(sample_shape)` returns."""
        if not isinstance(sample_shape, Size):
            sample_shape = Size(sample_shape)
        return Size(sample_shape + self._batch_shape + self._event_shape)

    # ---- what distributions define
    @property
    def arg_constraints(self) -> dict[str, Any]:
        """The constraint of every parameter."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The constraint that all samples satisfy."""
        raise NotImplementedError

    @property
    def mean(self) -> Any:
        raise NotImplementedError

    @property
    def mode(self) -> Any:
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Any:
        raise NotImplementedError

    @property
    def stddev(self) -> Any:
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        """Draw without gradients."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Any:       # noqa: B008
        """Draw with gradients with respect to the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Any:
        warnings.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2)
        return self.sample(Size((n,)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density or probability of `value`."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """The probability of a sample not above `value`."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Any:
        """The inverse of `cdf`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values of a discrete distribution, along a new first dimension."""
        raise NotImplementedError

    def entropy(self) -> Any:
        raise NotImplementedError

    def perplexity(self) -> Any:
        return torch.exp(self.entropy())

    def _enumerated(self, values: Any, expand: bool) -> Any:
        """`values` along the first dimension, then the batch."""
        values = values.reshape((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + tuple(self._batch_shape)) if expand else values

    # ---- validation
    def _validate_sample(self, value: Any) -> None:
        """Refuse a value whose shape does not fit or that lies outside of the support."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        start = len(value.shape) - len(self._event_shape)
        if value.shape[start:] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {value.size()} vs {self._event_shape}.")
        expected = self._batch_shape + self._event_shape
        for i, j in zip(reversed(value.size()), reversed(expected)):
            if i != 1 and j != 1 and i != j:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {value.size()} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(f"{type(self)} does not define `support` to enable sample validation. Please initialize the "
                          "distribution with `validate_args=False` to turn off validation.", stacklevel=3)
            return
        if not torch._is_all_true(support.check(value)):
            raise ValueError(f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                             f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}")

    def __repr__(self) -> str:
        shown = []
        for name in self.arg_constraints:
            if name in self.__dict__:
                value = self.__dict__[name]
                shown.append(f"{name}: {value if value.numel() == 1 else value.size()}")
        return f"{type(self).__name__}({', '.join(shown)})"
