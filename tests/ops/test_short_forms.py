"""Ways past the layers for common forms of calls: fills of turned memory, factories, complex numbers with real ones."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch

FILLS: dict[str, tuple[Any, ...]] = {
    "uniform_": (2.0, 3.0), "normal_": (1.0, 2.0), "log_normal_": (0.5, 1.5), "exponential_": (2.0,), "cauchy_": (1.0, 2.0),
    "geometric_": (0.3,), "bernoulli_": (0.4,), "random_": (3, 9)}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", FILLS)
def test_random_fills_go_through_memory_in_order(name: str, dtype: Any) -> None:
    torch.manual_seed(3)
    plain = getattr(torch.empty(3, 4, dtype=dtype), name)(*FILLS[name])
    after = torch.rand(1)
    torch.manual_seed(3)
    turned = getattr(torch.empty(3, 4, dtype=dtype).t(), name)(*FILLS[name])
    assert torch.equal(turned.t(), plain) and torch.equal(torch.rand(1), after)
    torch.manual_seed(3)
    wide = torch.zeros(3, 8, dtype=dtype)
    getattr(wide[:, ::2], name)(*FILLS[name])
    assert torch.equal(wide[:, ::2], plain) and not wide[:, 1::2].any()


@pytest.mark.parametrize("make", [torch.zeros_like, torch.ones_like, torch.empty_like, lambda x: torch.full_like(x, 2.5),
                                  torch.rand_like, torch.randn_like])
def test_like_forms_lie_as_their_tensor_does(make: Any) -> None:
    for x in (torch.ones(2, 3).t(), torch.ones(2, 3, 4).permute(1, 2, 0), torch.ones(2, 1, 3).transpose(0, 2)):
        made = make(x)
        assert made.shape == x.shape and made.stride() == x.stride() and made.is_contiguous() == x.is_contiguous()
    gaps = torch.ones(4, 6)[:, ::2]
    assert make(gaps).stride() == (3, 1) and make(gaps.t()).stride() == (1, 3)
    assert make(torch.ones(2, 1).expand(2, 3)).stride() == (3, 1)


def test_factories_of_plain_numbers() -> None:
    assert torch.linspace(0, 3, 4, dtype=torch.int64).tolist() == [0, 1, 2, 3]
    assert torch.linspace(0, 10, 7, dtype=torch.int64).tolist() == [0, 1, 3, 5, 6, 8, 10]
    assert torch.linspace(-5.7, 5.9, 6, dtype=torch.int64).tolist() == [-5, -3, -1, 1, 3, 5]
    assert torch.full((2,), 3).dtype is torch.int64 and torch.full((2,), True).dtype is torch.bool
    assert torch.full([], 2.5).tolist() == 2.5 and torch.full((0, 2), 1.0).shape == (0, 2)
    assert torch.full((2,), 2, dtype=torch.float64).tolist() == [2, 2] and torch.full((1,), 1e30).tolist()[0] > 9e29
    assert torch.full_like(torch.ones(2, dtype=torch.int64), 3.7).tolist() == [3, 3]
    assert torch.scalar_tensor(3).dtype is torch.float32 and torch.scalar_tensor(3, dtype=torch.int64).item() == 3
    assert torch.eye(2, 3).tolist() == [[1, 0, 0], [0, 1, 0]] and torch.eye(3, 2, dtype=torch.bool).sum() == 2
    assert torch.empty_strided((2, 3), (1, 2)).stride() == (1, 2) and torch.empty_strided((2, 3), (3, 1)).stride() == (3, 1)
    assert torch.full((2,), 1.0, requires_grad=True).requires_grad


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div"])
def test_complex_numbers_meet_real_ones(op: str) -> None:
    random = torch.Generator().manual_seed(1)
    z = torch.complex(*torch.randn(2, 2, 3, dtype=torch.float64, generator=random).unbind())
    real = torch.randn(3, dtype=torch.float64, generator=random)
    for other in (real, torch.tensor([2.0, -1.0, 0.5]), z[0], z.t().conj().resolve_conj().t()):
        for first, second in ((z, other), (other, z)):
            made = getattr(torch, op)(first, second)
            assert made.dtype is torch.complex128 and made.shape == (2, 3)
            a, b = torch.broadcast_tensors(first.to(torch.complex128), second.to(torch.complex128))
            wanted = [eval(f"x {dict(add='+', sub='-', mul='*', div='/')[op]} y", {"x": x, "y": y})
                      for x, y in zip(a.flatten().tolist(), b.flatten().tolist(), strict=True)]
            assert all(abs(m - w) < 1e-12 for m, w in zip(made.flatten().tolist(), wanted, strict=True))
    half = torch.ones(2, dtype=torch.float32)
    assert (half * torch.ones(2, dtype=torch.complex64)).dtype is torch.complex64
    assert (torch.ones((), dtype=torch.float64) * torch.ones(2, dtype=torch.complex64)).dtype is torch.complex64
