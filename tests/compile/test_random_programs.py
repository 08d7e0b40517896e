"""Random programs with writes, views, aliases, errors and values asked for: the same with their ops deferred as without."""
from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.compile import waiting
from retrograd.compile.deferred import Deferrer
from retrograd.compile.state import backend_config

Step = Callable[[Any, Any, float, list[Any]], Any]      # of two tensors, a number and a log; its result is one more tensor
STEPS: list[Step] = [
    lambda a, b, k, log: a.sin(), lambda a, b, k, log: a.exp(), lambda a, b, k, log: -a, lambda a, b, k, log: a.tanh() * b,
    lambda a, b, k, log: a.relu() + k, lambda a, b, k, log: a * k - b, lambda a, b, k, log: a / b, lambda a, b, k, log: a ** 2,
    lambda a, b, k, log: torch.where(a > b, a * k, b), lambda a, b, k, log: a.clamp(-1, 1), lambda a, b, k, log: a < k,
    lambda a, b, k, log: torch.maximum(a, b), lambda a, b, k, log: torch.lerp(a, b, 0.3), lambda a, b, k, log: a.sigmoid(),
    lambda a, b, k, log: a.sum(), lambda a, b, k, log: a.sum(-1, keepdim=True), lambda a, b, k, log: a.mean(0),
    lambda a, b, k, log: a.t(), lambda a, b, k, log: a[0], lambda a, b, k, log: a[..., 1:], lambda a, b, k, log: a.reshape(-1),
    lambda a, b, k, log: a.detach(), lambda a, b, k, log: a.clone(), lambda a, b, k, log: a.double(),
    lambda a, b, k, log: a.softmax(-1), lambda a, b, k, log: a @ b, lambda a, b, k, log: torch.cat([a, b]),
    lambda a, b, k, log: log.append(round(float(a.sum()), 2)), lambda a, b, k, log: log.append(a.tolist()),
    lambda a, b, k, log: log.append(a.detach().numpy().copy()), lambda a, b, k, log: log.append(bool((a > k).any()))]
WRITES: list[Step] = [
    lambda a, b, k, log: a.add_(b) and None, lambda a, b, k, log: a.mul_(k).sum(), lambda a, b, k, log: a.zero_().sum(),
    lambda a, b, k, log: a[0].fill_(k).sum(), lambda a, b, k, log: a.copy_(b).sum(), lambda a, b, k, log: a.relu_().sum(),
    lambda a, b, k, log: a.detach().numpy().fill(k), lambda a, b, k, log: torch.add(a, b, out=a).sum(),
    lambda a, b, k, log: a.untyped_storage().fill_(0) and None, lambda a, b, k, log: setattr(a, "data", b.detach() * 2)]


def inputs(seed: int) -> list[Any]:
    values = np.random.default_rng(seed)
    made = [torch.tensor(values.standard_normal(shape).astype(np.float32)) for shape in ((3, 4), (3, 4), (4,), (3, 4), (4, 3))]
    made[3].requires_grad_()
    shared = torch.from_numpy(values.standard_normal((3, 4)).astype(np.float32))
    return [*made[:4], made[4].t(), made[0][1:], shared, torch.tensor(values.standard_normal((3, 4)))]


def run(seed: int, given: list[Any]) -> tuple[list[Any], list[Any]]:
    """The program of a seed: all tensors that it has in the end, and its log."""
    choose, tensors, log = random.Random(seed), list(given), []
    for _ in range(choose.randint(5, 25)):
        step = choose.choice(STEPS if choose.random() < 0.85 else WRITES)
        try:
            result = step(choose.choice(tensors), choose.choice(tensors), choose.uniform(-2, 2), log)
        except (RuntimeError, IndexError, TypeError) as error:
            log.append(f"{type(error).__name__}: {str(error)[:60]}")
            continue
        if isinstance(result, torch.Tensor) and result.numel() < 1000:
            tensors.append(result)
            if choose.random() < 0.4:
                tensors.pop(choose.randrange(len(tensors)))
    wanting = [t for t in tensors if t.requires_grad and t.grad_fn is not None]
    if wanting:
        try:
            wanting[-1].sum().backward()
        except RuntimeError as error:
            log.append(str(error)[:60])
    return tensors, log


def observed(tensors: list[Any]) -> list[Any]:
    return [(t.dtype, t.stride(), t._version, t.requires_grad, t.grad_fn and t.grad_fn.name(), np.array(t.tolist()),
             None if not t.is_leaf or t.grad is None else np.array(t.grad.tolist())) for t in tensors]


def assert_same(got: Any, wanted: Any) -> None:
    if isinstance(wanted, np.ndarray | float):
        np.testing.assert_allclose(got, wanted, rtol=2e-3, atol=2e-3)
    elif isinstance(wanted, list | tuple):
        assert len(got) == len(wanted)
        for pair in zip(got, wanted, strict=True):
            assert_same(*pair)
    else:
        assert got == wanted


@pytest.mark.parametrize("first", range(0, 160, 20))
def test_random_programs(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "empty", lambda shape, dtype: np.full(shape, -1e9, dtype))     # to be seen by nobody
    with warnings.catch_warnings(action="ignore"), backend_config.patch(fusion_code=False):
        for seed in range(first, first + 20):
            given = inputs(seed)
            tensors, log = run(seed, given)
            expected = observed([*given, *tensors])
            for _ in range(2):                    # the layouts of results are found out in the first round
                given = inputs(seed)
                with Deferrer():
                    tensors, got = run(seed, given)
            assert_same(observed([*given, *tensors]), expected)
            assert_same(got, log)
