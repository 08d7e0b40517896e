"""Adam over lists of parameters gives what its formula gives for each."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch


def lists(gaps: bool) -> list[list[Any]]:
    generator = torch.Generator().manual_seed(0)
    made = [[torch.rand(3, 8, generator=generator), torch.rand(5, generator=generator)] for _ in range(4)]
    return [[t[..., ::2] if gaps and t.dim() == 2 else t for t in tensors] for tensors in made]


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("name", ["_fused_adam_", "_fused_adamw_"])
def test_update_follows_the_formula(name: str, decay: float, gaps: bool) -> None:
    params, grads, averages, squares = lists(gaps)
    wanted = []
    for p, g, m, v in zip(*[[t.double() for t in tensors] for tensors in (params, grads, averages, squares)], strict=True):
        g = g + decay * p if name == "_fused_adam_" else g
        p = p * (1 - 0.1 * decay) if name == "_fused_adamw_" else p
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        wanted.append((p - 0.1 / (1 - 0.9 ** 3) * m / ((v / (1 - 0.99 ** 3)).sqrt() + 1e-8), m, v))
    versions = [t._version for t in params]
    getattr(torch, name)(params, grads, averages, squares, [], [torch.tensor(3.0)] * 2, lr=0.1, beta1=0.9, beta2=0.99,
                         weight_decay=decay, eps=1e-8, amsgrad=False, maximize=False)
    for i, expected in enumerate(wanted):
        for made, value in zip((params[i], averages[i], squares[i]), expected, strict=True):
            torch.testing.assert_close(made.double(), value, rtol=1e-5, atol=1e-6)
    assert all(t._version > before for t, before in zip(params, versions, strict=True))
