"""Gradients of every op for wrapper subclasses, whose values only `__torch_dispatch__` knows."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.utils import _pytree as pytree
from tests.ops.cases import TABLE
from tests.samples import REGISTRY, Maker


class Wrapper(torch.Tensor):
    """Holds a tensor, and has no memory of its own."""

    inner: Any

    @staticmethod
    def __new__(cls, inner: Any, requires_grad: bool = False) -> Any:
        made = torch.Tensor._make_wrapper_subclass(cls, inner.size(), strides=inner.stride(), dtype=inner.dtype,
                                                   storage_offset=inner.storage_offset(), requires_grad=requires_grad)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        def inner(t: Any) -> Any:
            return t.inner if isinstance(t, cls) else t
        result = func(*pytree.tree_map(inner, args), **pytree.tree_map(inner, kwargs or {}))
        return pytree.tree_map(lambda t: cls(t) if isinstance(t, torch.Tensor) else t, result)


def gradients(op: Any, sample: Any, wrap: bool) -> list[Any] | None:
    """The gradients of the sum of all results; None if there are none."""
    torch.manual_seed(0)
    leaves: list[Any] = []

    def leaf(t: Any) -> Any:
        if not isinstance(t, torch.Tensor):
            return t
        data = t.detach().clone(memory_format=torch.preserve_format)
        if not t.requires_grad:
            return data
        leaves.append(Wrapper(data, True) if wrap else data.requires_grad_())
        return leaves[-1]
    result = op(*pytree.tree_map(leaf, list(sample.args)), **pytree.tree_map(leaf, sample.kwargs))
    results = [t for t in pytree.tree_leaves(result) if isinstance(t, torch.Tensor) and t.requires_grad]
    if not results:
        return None
    sums = [t.abs().sum() if t.is_complex() else t.sum() for t in results]
    found = torch.autograd.grad(sums, leaves, allow_unused=True)
    return [g.inner if isinstance(g, Wrapper) else g for g in found]


def first_sample(name: str) -> Any:
    for sample in REGISTRY[name](Maker(name)):
        if sample.grad and sample.before is None and sample.after is None and sum(
                [t.numel() for t in pytree.tree_leaves([sample.args, sample.kwargs]) if isinstance(t, torch.Tensor)]):
            return sample
    return None


# What asks for lengths in memory, and a view of conjugated numbers. In-place ops would write to leaves.
EXCLUDED = ("_pack_padded_sequence", "_pad_packed_sequence", "fft_hfft")
NAMES = [name for name, op in TABLE.items() if op.differentiable and name in REGISTRY and not op.name.endswith("_")
         and not op.name.startswith(EXCLUDED)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(4))
def test_gradients_of_wrappers_are_those_of_what_they_hold(part: int) -> None:
    compared = 0
    for name in NAMES[part::4]:
        sample = first_sample(name)
        try:
            expected = None if sample is None else gradients(TABLE[name], sample, False)
        except (NotImplementedError, RuntimeError):          # no derivative is defined for such results
            expected = None
        if expected is None:
            continue
        compared += 1
        for got, wanted in zip(gradients(TABLE[name], sample, True) or [], expected, strict=True):
            assert (got is None) == (wanted is None), name
            assert wanted is None or torch.allclose(got, wanted, rtol=1e-6, equal_nan=True), name
    assert compared > 50
