"""The von Mises distribution on the circle."""
from __future__ import annotations

import math
from typing import Any

import retrograd as torch
from retrograd import Size, Tensor
from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution, checked
from retrograd.distributions.utils import lazy_property

__all__ = ["VonMises"]


def _log_bessel(x: Any, order: int = 0) -> Any:
    """The log of the modified Bessel function of order 0 or 1, which itself would overflow."""
    scaled = torch.special.i1e(x) if order else torch.special.i0e(x)
    return scaled.log() + x


class VonMises(Distribution):
    """Angles around `loc`, denser there the higher the `concentration`.

    >>> VonMises(torch.tensor(0.0), torch.tensor(1.0)).mean
    tensor(0.)
    """

    loc: Tensor
    concentration: Tensor
    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _expands = ("loc", "concentration")

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, loc=loc, concentration=concentration)

    @checked
    def log_prob(self, value: Any) -> Any:
        return self.concentration * torch.cos(value - self.loc) - math.log(2 * math.pi) - _log_bessel(self.concentration)

    @lazy_property
    def _proposal_r(self) -> Any:
        """The parameter of the wrapped Cauchy distribution that Best and Fisher (1979) propose from."""
        kappa = self.concentration.double()
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return torch.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    @torch.no_grad()
    def sample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        """Draw by rejection, in double precision; every round draws for all, accepted or not."""
        loc, kappa, r = self.loc.double(), self.concentration.double(), self._proposal_r
        shape = self._extended_shape(sample_shape)
        x = torch.empty(shape, dtype=loc.dtype, device=loc.device)
        done = torch.zeros(shape, dtype=torch.bool, device=loc.device)
        while not done.all():
            turn, chance, side = torch.rand((3,) + tuple(shape), dtype=loc.dtype, device=loc.device).unbind()
            z = torch.cos(math.pi * turn)
            f = (1 + r * z) / (r + z)
            c = kappa * (r - f)
            accept = (c * (2 - c) - chance > 0) | ((c / chance).log() + 1 - c >= 0)
            x = torch.where(accept, (side - 0.5).sign() * f.acos(), x)
            done = done | accept
        return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    @lazy_property
    def variance(self) -> Any:
        """The circular variance."""
        return 1 - (_log_bessel(self.concentration, 1) - _log_bessel(self.concentration)).exp()
