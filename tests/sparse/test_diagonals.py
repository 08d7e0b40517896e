"""Sparse matrices from diagonals, sampled products, and gradient checks of entries."""
from __future__ import annotations

import pytest

import retrograd as torch


@pytest.mark.parametrize("layout", [None, torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
def test_diagonals_lie_at_their_offsets(layout) -> None:
    diagonals = torch.arange(9.0).reshape(3, 3)
    made = torch.sparse.spdiags(diagonals, torch.tensor([0, -1, 2]), (3, 3), layout)
    assert made.to_dense().tolist() == [[0, 0, 8], [3, 1, 0], [0, 4, 2]]


@pytest.mark.parametrize(("diagonals", "offsets", "shape", "text"), [
    (torch.ones(2, 3), torch.tensor([0, 0]), (3, 3), "duplicate values"),
    (torch.ones(2, 3), torch.tensor([0.0, 1.0]), (3, 3), "must have dtype Long but got Float"),
    (torch.ones(2, 3), torch.tensor([0]), (3, 3), r"Number of diagonals \(2\) does not match the number of offsets \(1\)"),
    (torch.ones(2, 3), torch.tensor([0, 1]), (3, 3, 1), "Output shape must be 2d"),
    (torch.ones(2, 3, 1), torch.tensor([0, 1]), (3, 3), "Diagonals must be vector or matrix"),
    (torch.ones(2, 3), torch.tensor([[0, 1]]), (3, 3), "Offsets must be scalar or vector"),
])
def test_wrong_diagonals_are_refused(diagonals, offsets, shape, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        torch.sparse.spdiags(diagonals, offsets, shape)


def test_products_are_sampled_at_the_entries() -> None:
    torch.manual_seed(0)
    pattern = torch.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    a, b = torch.randn(2, 4), torch.randn(4, 3)
    got = torch.sparse.sampled_addmm(pattern.to_sparse_csr(), a, b, beta=2.0, alpha=3.0)
    assert torch.allclose(got.to_dense(), (2 * pattern + 3 * (a @ b)) * (pattern != 0), atol=1e-5)
    with pytest.raises(RuntimeError, match=r"self.shape\[-2\] must match mat1.shape\[-2\]"):
        torch.sparse.sampled_addmm(pattern.to_sparse_csr(), torch.ones(3, 4), b)
    with pytest.raises(NotImplementedError, match="sparse_sampled_addmm"):
        torch.sparse.sampled_addmm(pattern, a, b)


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("layout", ["sparse", "sparse_csr", "sparse_csc"])
def test_gradients_of_entries_are_checked(layout: str, masked: bool) -> None:
    check = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    x = getattr(torch.tensor([[1.0, 0.0], [2.0, 3.0]], dtype=torch.float64), f"to_{layout}")().requires_grad_()
    assert check(lambda t: t.to_dense() * 3, (x,), masked=masked)
