"""Compiled kernels in half precision, and selections and bags in C, against plain NumPy."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch

HALVES = (torch.bfloat16, torch.float16)
FLOATS = (torch.float32, torch.float64, *HALVES)


def near(made: Any, wanted: Any, dtype: Any) -> None:
    tolerance = {torch.bfloat16: 1e-2, torch.float16: 2e-3, torch.float32: 1e-6}.get(dtype, 1e-12)
    assert made.dtype is dtype
    np.testing.assert_allclose(made.double().numpy(), wanted, tolerance, tolerance)


@pytest.mark.parametrize("dtype", FLOATS)
def test_bags_are_sums_and_means_of_rows(dtype: Any) -> None:
    table = torch.tensor(np.arange(60).reshape(10, 6) % 7 - 3).to(dtype)
    index, start = torch.tensor([1, 9, 1, 0, 4, 4, 3]), torch.tensor([0, 2, 2, 5])
    weights = torch.tensor([1.0, 2.0, 0.5, 4.0, 1.0, 2.0, 1.0]).to(dtype)
    rows = table.double().numpy()[index.numpy()]
    bags = [slice(0, 2), slice(2, 2), slice(2, 5), slice(5, 7)]
    call = torch.nn.functional.embedding_bag
    near(call(index, table, start, mode="sum"), np.stack([rows[b].sum(0) for b in bags]), dtype)
    near(call(index, table, start, mode="mean"), np.stack([rows[b].sum(0) / max(1, len(rows[b])) for b in bags]), dtype)
    weighed = rows * weights.double().numpy()[:, None]
    near(call(index, table, start, mode="sum", per_sample_weights=weights), np.stack([weighed[b].sum(0) for b in bags]), dtype)
    kept = np.where((index.numpy() == 4)[:, None], 0, rows)
    near(call(index, table, start, mode="sum", padding_idx=4), np.stack([kept[b].sum(0) for b in bags]), dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_medians_are_those_of_the_stable_order(dtype: Any) -> None:
    for n in (1, 2, 47, 48, 300):
        x = torch.tensor(np.random.default_rng(n).integers(-9, 9, (3, n))).to(dtype)
        order = np.argsort(x.double().numpy(), axis=1, kind="stable")[:, (n - 1) // 2]
        values, at = x.median(1)
        assert at.tolist() == order.tolist()
        assert torch.equal(values, x.gather(1, at[:, None])[:, 0])


@pytest.mark.parametrize("dtype", FLOATS)
def test_small_products_of_vectors_in_every_float(dtype: Any) -> None:
    matrix, vector, added = (torch.tensor(np.arange(n) % 5 - 2).to(dtype) for n in (12, 4, 3))
    matrix = matrix.reshape(3, 4)
    a, b, c = (t.double().numpy() for t in (matrix, vector, added))
    near(matrix.mv(vector), a @ b, dtype)
    near(torch.addmv(added, matrix, vector, beta=0.5, alpha=2), 0.5 * c + 2 * (a @ b), dtype)
    near(torch.addr(matrix, added, vector), a + np.outer(c, b), dtype)
    near(torch.vdot(vector, vector), b @ b, dtype)


@pytest.mark.parametrize("dtype", HALVES)
def test_kernels_of_single_precision_serve_half_precision(dtype: Any) -> None:
    x = torch.tensor(np.arange(32).reshape(2, 4, 2, 2) % 5 - 2).to(dtype)
    wide = x.float()
    for call in (lambda t: torch.nn.functional.glu(t, 1), lambda t: torch.nn.functional.pad(t, (1, 1, 1, 1), mode="reflect"),
                 lambda t: torch.nn.functional.pad(t, (1, 1, 1, 1), mode="replicate")):
        for y, z in ((x, wide), (x.mT, wide.mT)):
            made = call(y)
            near(made, call(z).double().numpy(), dtype)
            assert made.stride() == call(z).stride()


@pytest.mark.parametrize("dtype", HALVES)
def test_elements_that_are_chosen_or_moved_keep_their_bits(dtype: Any) -> None:
    x = torch.tensor(np.random.default_rng(3).integers(-8, 8, (2, 3, 6, 6))).to(dtype)
    x[0, 0, 1, 1] = float("nan")
    F = torch.nn.functional
    for function in (lambda a: F.max_pool2d(a, 3, 2, 1, return_indices=True), lambda a: (F.unfold(a, 2, padding=1),),
                     lambda a: F.adaptive_max_pool2d(a, (2, 4), return_indices=True), lambda a: (a.nonzero(),)):
        for made, wide in zip(function(x), function(x.float()), strict=True):
            assert made.dtype is (dtype if wide.is_floating_point() else torch.int64)
            assert torch.equal(made.nan_to_num(99).to(wide.dtype), wide.nan_to_num(99))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", ["digamma", "special.i1e", "special.i0e", "lgamma", "igamma", "igammac", "erfinv"])
def test_few_halves_give_what_many_do(name: str, dtype: torch.dtype) -> None:
    function: Any = torch
    for part in name.split("."):
        function = getattr(function, part)
    x = torch.tensor([[0.25, 0.5, float("nan"), float("inf")], [-0.5, 3.0, 0.0, 1.0]]).to(dtype)
    operands = (x, x + 1) if name.startswith("igamma") or name.endswith("zeta") else (x,)
    few = function(*operands)
    many = function(*[torch.cat([a] * 700) for a in operands])
    assert few.dtype is many.dtype is dtype

    def alike(a: Any, b: Any) -> bool:
        return np.array_equal(a.float().numpy(), b.float().numpy(), equal_nan=True)
    assert alike(few, many[:2])
    turned = function(*[a.t() for a in operands])
    assert turned.stride() == (1, 4) and alike(turned.t(), few)
    assert function(*[a[:0] for a in operands]).shape == (0, 4)
    assert alike(function(*[a[0, 0] for a in operands]), few[0, 0])
