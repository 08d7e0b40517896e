"""Masked reductions and normalizations equal the plain ones on the elements that the mask keeps."""
from __future__ import annotations

import math
from typing import Any

import pytest

import retrograd as torch
from retrograd.autograd import gradcheck
from retrograd.autograd.gradcheck import gradgradcheck

KEPT = torch.tensor([[True, False, True], [True, True, False]])


def values() -> Any:
    return torch.tensor([[0.5, -3.0, 1.5], [2.0, 0.25, 7.0]], dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize(("masked", "plain"), [
    (torch.masked.sum, torch.sum), (torch.masked.prod, torch.prod), (torch.masked.amax, torch.amax),
    (torch.masked.amin, torch.amin), (torch.masked.mean, torch.mean), (torch.masked.var, torch.var),
    (torch.masked.std, torch.std), (lambda x, **k: torch.masked.norm(x, 3, **k), lambda x: torch.linalg.vector_norm(x, 3)),
    (torch.masked.logsumexp, lambda x: torch.logsumexp(x, 0)),
])
def test_reduction_is_that_of_what_is_kept(masked: Any, plain: Any) -> None:
    x = values()
    torch.testing.assert_close(masked(x, mask=KEPT), plain(x[KEPT]))
    assert gradcheck(lambda x: masked(x, mask=KEPT), x, check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(lambda x: masked(x, mask=KEPT), x)
    assert masked(x, mask=None).shape == ()


@pytest.mark.parametrize("masked", [
    torch.masked.softmax, torch.masked.softmin, torch.masked.cumsum, torch.masked.cumprod,
    lambda x, dim, mask: torch.masked.normalize(x, 2, dim, mask=mask),
])
def test_normalization_of_rows(masked: Any) -> None:
    x = values()
    made = masked(x, 1, mask=KEPT)
    for row, kept, result in zip(x, KEPT, made, strict=True):
        torch.testing.assert_close(result[kept], masked(row[kept], 0, mask=None))
    assert gradcheck(lambda x: masked(x, 1, mask=KEPT), x, check_forward_ad=True)


def test_nothing_kept_gives_the_identity() -> None:
    x, nothing = torch.tensor([1, 2]), torch.tensor([False, False])
    assert torch.masked.sum(x, mask=nothing) == 0
    assert torch.masked.prod(x, mask=nothing) == 1
    assert torch.masked.amax(x, mask=nothing) == torch.iinfo(torch.int64).min
    assert torch.masked.amin(x.float(), mask=nothing) == math.inf
    assert torch.masked.mean(x.float(), mask=nothing).isnan()
    assert torch.masked.median(x.float(), mask=nothing).isnan()


def test_a_mask_is_broadcast_but_not_reduced() -> None:
    assert torch.masked.sum(values(), 1, mask=torch.tensor([True, False, True])).tolist() == [2.0, 9.0]
    with pytest.raises(IndexError, match="expected broadcastable mask"):
        torch.masked.sum(torch.ones(3), mask=KEPT)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="Could not infer output dtype. Input dtype must be"):
        torch.masked.mean(torch.tensor([1, 2]))
    with pytest.raises(ValueError, match="no fully masked out rows"):
        torch.masked.median(torch.tensor([1, 2]), mask=torch.tensor([False, False]))
    with pytest.raises(RuntimeError, match="dim=0 appears multiple times"):
        torch.masked.sum(values(), (0, 0))
    with pytest.raises(NotImplementedError, match="identity of amax on torch.bool input"):
        torch.masked.amax(KEPT, mask=KEPT)
