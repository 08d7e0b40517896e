"""Transforms and distributions as parts of other classes."""
from __future__ import annotations

import retrograd as torch


def test_transforms_and_distributions_can_be_modules() -> None:
    class Scaled(torch.distributions.Transform, torch.nn.Module):
        domain = codomain = torch.distributions.constraints.real
        bijective = True

        def __init__(self) -> None:
            super().__init__(cache_size=1)
            self.factor = torch.nn.Parameter(torch.tensor(2.0))

        def _call(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.factor

        def _inverse(self, y: torch.Tensor) -> torch.Tensor:
            return y / self.factor

        def log_abs_det_jacobian(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return self.factor.abs().log().expand(x.shape)

        def __hash__(self) -> int:
            return id(self)

    class Chain(torch.distributions.ComposeTransform, torch.nn.ModuleList):
        def __init__(self, parts: list[torch.distributions.Transform]) -> None:
            super().__init__(parts)
            for part in parts:
                self.append(part)

        def __hash__(self) -> int:
            return id(self)

    class Learned(torch.distributions.Normal, torch.nn.Module):
        pass

    chain = Chain([Scaled(), Scaled()])
    assert len(list(chain.parameters())) == 2 and chain(torch.tensor(3.0)).item() == 12
    assert dict(Learned(0.0, 1.0).named_parameters()) == {}
