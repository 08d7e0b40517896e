"""Index tensors read in C: the same results, memory orders and errors as by NumPy."""
from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.ops.indexing import index


def drawn(rnd: random.Random) -> tuple[Any, tuple[Any, ...]]:
    """A tensor and an index of ints, slices, None, Ellipsis and positions that can be broadcast, few of them out of range."""
    shape = [rnd.choice([1, 2, 3, 4]) for _ in range(rnd.randint(1, 5))]
    x = torch.arange(int(np.prod(shape))).to(rnd.choice([torch.float32, torch.int16, torch.complex128])).reshape(shape)
    wide = [rnd.choice([1, 2, 3]) for _ in range(rnd.randint(1, 3))]
    items: list[Any] = []
    for size in shape[:rnd.randint(1, len(shape))]:
        kind = rnd.randint(0, 6)
        if kind == 0:
            items.append(rnd.randrange(size))
        elif kind == 1:
            items.append(slice(None) if rnd.random() < 0.7 else slice(1, None))
        else:
            own = [n if rnd.random() < 0.7 else 1 for n in wide[rnd.randrange(len(wide)):]]
            most = size + (rnd.random() < 0.03)
            items.append(torch.tensor([rnd.randrange(-size, most) for _ in range(int(np.prod(own)))]).reshape(own))
        if rnd.random() < 0.1:
            items.append(None)
    if rnd.random() < 0.2 and items:
        items.insert(rnd.randrange(len(items) + 1), Ellipsis)
    return x, tuple(items)


def outcome(x: Any, items: Any) -> Any:
    try:
        made = x[items]
    except IndexError as error:
        return str(error)
    return made.tolist(), made.shape, [s for s, n in zip(made.stride(), made.shape, strict=True) if n > 1], made.dtype


def test_indexing_in_c_agrees_with_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    rnd = random.Random(0)
    cases = [drawn(rnd) for _ in range(400)]
    made = [outcome(x, items) for x, items in cases]
    monkeypatch.setattr(index, "native", None)
    for (x, items), found in zip(cases, made, strict=True):
        assert found == outcome(x, items), (x.shape, items)


def test_large_results_are_the_same_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    x, rows, columns = torch.randn(30, 40, 50), torch.randint(-40, 40, (70,)), torch.randint(0, 30, (60, 1))
    made = [x[:, rows], x[:, :, rows.clamp(0, 49)], x[columns, rows], x[columns, :, rows]]
    monkeypatch.setattr(index, "native", None)
    for a, b in zip(made, (x[:, rows], x[:, :, rows.clamp(0, 49)], x[columns, rows], x[columns, :, rows]), strict=True):
        assert torch.equal(a, b) and a.stride() == b.stride()
