"""Pooling from its settings in one compiled step gives what NumPy gives, and leaves refusals to the checks."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.ops.nn import fractional_pool
from retrograd.ops.shared import images

F: Any = torch.nn.functional
SHAPES = {1: [(2, 3, 31), (3, 9)], 2: [(2, 3, 7, 29), (3, 8, 5), (1, 1, 1, 6)], 3: [(2, 2, 5, 6, 7), (2, 6, 6, 6)]}
FIXED = [dict(kernel_size=2), dict(kernel_size=3, stride=2), dict(kernel_size=3, stride=2, padding=1),
         dict(kernel_size=2, stride=3, padding=1, ceil_mode=True), dict(kernel_size=(3,), stride=[1], ceil_mode=True)]


def inputs(rank: int, dtype: Any) -> list[Any]:
    random = np.random.default_rng(rank)
    made = [torch.from_numpy(random.standard_normal(shape).round(1)).to(dtype) for shape in SHAPES[rank]]
    made[0].view(-1)[5] = float("nan")
    made[0].view(-1)[-1] = float("-inf")
    return made


def results(function: Any, x: Any) -> list[Any]:
    """The outputs, and the gradient of the first; what is refused."""
    leaf = x.clone().requires_grad_()
    try:
        with torch.no_grad():
            bare = function(x)
        made = function(leaf)
        bare, made = (m if isinstance(m, tuple) else (m,) for m in (bare, made))
        grad, = torch.autograd.grad(made[0], leaf, torch.arange(made[0].numel(), dtype=x.dtype).reshape(made[0].shape))
    except RuntimeError as error:
        return [str(error)]
    return [*bare, *made, grad]


def functions(rank: int) -> list[Any]:
    most, mean = getattr(F, f"max_pool{rank}d"), getattr(F, f"avg_pool{rank}d")
    made = [lambda x, s=s, i=i: most(x, **s, return_indices=i) for s in FIXED for i in (False, True)]
    made += [lambda x: most(x, 2, dilation=2), lambda x: most(x, 3, 2, 1, 2), lambda x: most(x, 3, padding=2),
             lambda x: most(x, 0), lambda x: most(x, 50), lambda x: mean(x, 3, stride=0)]
    made += [lambda x, s=s: mean(x, **s) for s in FIXED]
    made += [lambda x: mean(x, 3, 2, 1, count_include_pad=False), lambda x: mean(x, 3, 2, 1, True, False)]
    if rank > 1:
        made += [lambda x: mean(x, 2, divisor_override=5), lambda x: mean(x, 2, divisor_override=0)]
    for size in (1, 2, 3, 4, 0):
        made.append(lambda x, n=size: getattr(F, f"adaptive_avg_pool{rank}d")(x, n))
        made.append(lambda x, n=size: getattr(F, f"adaptive_max_pool{rank}d")(x, n, return_indices=True))
    return made


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_pooling(monkeypatch: pytest.MonkeyPatch, rank: int, dtype: Any) -> None:
    cases = [(function, x) for function in functions(rank) for x in inputs(rank, dtype)]
    made = [results(*case) for case in cases]
    monkeypatch.setattr(images, "native", None)
    for case, found in zip(cases, made, strict=True):
        wanted = results(*case)
        assert len(found) == len(wanted), (found, wanted)
        for a, b in zip(found, wanted, strict=True):
            if isinstance(a, str):
                assert a == b
                continue
            assert a.dtype == b.dtype and a.stride() == b.stride()
            torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_fractional_pooling(monkeypatch: pytest.MonkeyPatch, rank: int, dtype: Any) -> None:
    random = np.random.default_rng(rank)
    op = getattr(torch.ops.aten, f"fractional_max_pool{rank}d")
    for shape in ((2, 3, *[9, 8, 10][:rank]), (3, *[7, 9, 8][:rank])):
        x = torch.from_numpy(random.standard_normal(shape).round(1)).to(dtype)
        x.view(-1)[7] = float("nan")
        samples = torch.from_numpy(random.random((2, 3, rank))).to(dtype)
        for output in ([1] * rank, [3] * rank, [4, 2, 3][:rank]):
            made = op(x, [2] * rank, output, samples)
            with monkeypatch.context() as patch:
                patch.setattr(fractional_pool, "native", None)
                wanted = op(x, [2] * rank, output, samples)
            for a, b in zip(made, wanted, strict=True):
                torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)
