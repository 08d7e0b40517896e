"""Sample calls of every op; generic tests run every column of the op table over them.

One entry per op overload (`"mul.Tensor"`, `"sin.default"`), in the file named like the op's table. An entry is a function
of `make` that yields `Sample(*args, **kwargs)` in the order of the schema; tensors come from `make`, which is seeded:
`make(3, 4)` is a float64 tensor that requires grad, with values away from 0 in magnitude [0.1, 2] unless `low`/`high` say
otherwise; `make.index(high, *shape)` int64 below `high`; `make.mask(*shape)` bool. Between them the samples of an op show
plain shapes, broadcasting, 0-d, empty, non-contiguous, every keyword, ties and boundary points.
"""
from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import retrograd as torch
from retrograd.core.tensor import new_tensor


class Sample:
    """The arguments of one call.

    `grad=False`: not differentiable at this point; `note` names it in test ids. Some ops are smooth only along part of
    their inputs, or determine only part of their outputs: derivatives are then taken of what `after` makes of the outputs,
    at what `before` makes of the arguments (which must leave these arguments as they are).
    """

    def __init__(self, *args: Any, grad: bool = True, note: str = "", before: Any = None, after: Any = None,
                 **kwargs: Any) -> None:
        self.args, self.kwargs, self.grad, self.note = args, kwargs, grad, note
        self.before, self.after = before, after


class Maker:
    """Makes seeded tensors, the same ones for every run of an entry."""

    def __init__(self, name: str, dtype: Any = None) -> None:
        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        self.dtype = dtype or torch.float64

    def __call__(self, *shape: int, low: float | None = None, high: float | None = None, dtype: Any = None,
                 requires_grad: bool = True, order: str = "C") -> Any:
        dtype = dtype or self.dtype
        if low is None and high is None:
            values = self.random.uniform(0.1, 2.0, shape) * self.random.choice([-1.0, 1.0], shape)
        else:
            values = self.random.uniform(-2.0 if low is None else low, 2.0 if high is None else high, shape)
        if dtype.is_complex:
            values = values + 1j * self.random.uniform(-1.0, 1.0, shape)
        array = np.array(values, order=order).astype(dtype.numpy, order="K") if shape else np.asarray(values, dtype.numpy)
        made = new_tensor(array)
        return made.requires_grad_() if requires_grad and dtype.category >= 2 else made

    def noncontiguous(self, *shape: int, **kwargs: Any) -> Any:
        """A tensor whose memory has gaps."""
        wide = self(*shape[:-1], shape[-1] * 2, **{**kwargs, "requires_grad": False})
        made = new_tensor(wide.array[..., ::2])
        return made.requires_grad_() if kwargs.get("requires_grad", True) else made

    def channels_last(self, n: int, c: int, h: int, w: int) -> Any:
        """An image whose channels lie side by side."""
        return new_tensor(self(n, h, w, c, requires_grad=False).array.transpose(0, 3, 1, 2)).requires_grad_()

    def index(self, high: int, *shape: int, low: int = 0, dtype: Any = np.int64) -> Any:
        return new_tensor(np.asarray(self.random.integers(low, high, shape), dtype))

    def mask(self, *shape: int) -> Any:
        return new_tensor(np.asarray(self.random.random(shape) < 0.5))


Entry = Callable[[Maker], Iterator[Sample]]
REGISTRY: dict[str, Entry] = {}


def samples(*names: str) -> Callable[[Entry], Entry]:
    """Declare the samples of the named op overloads."""
    def register(entry: Entry) -> Entry:
        for name in names:
            assert name not in REGISTRY, f"{name} has samples already"
            REGISTRY[name] = entry
        return entry
    return register
