"""The compressed layouts: conversions there and back, their parts and their gradients."""
from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import retrograd as torch

DENSE = [[1.0, 0.0, 2.0, 0.0], [0.0, 0.0, 3.0, 4.0], [0.0, 0.0, 0.0, 0.0], [0.0, 5.0, 0.0, 0.0]]
WAYS = {"csr": (), "csc": (), "bsr": ((2, 2),), "bsc": ((2, 2),)}


def made(kind: str, source: Any = None) -> Any:
    return getattr(torch.tensor(DENSE) if source is None else source, f"to_sparse_{kind}")(*WAYS[kind])


def test_parts_of_csr() -> None:
    t = made("csr")
    assert t.crow_indices().tolist() == [0, 2, 4, 4, 5] and t.col_indices().tolist() == [0, 2, 2, 3, 1]
    assert t.values().tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    with pytest.raises(RuntimeError, match="ccol_indices expected sparse column compressed tensor layout but got SparseCsr"):
        t.ccol_indices()


def test_parts_of_bsc() -> None:
    t = made("bsc")
    assert t.ccol_indices().tolist() == [0, 2, 3] and t.row_indices().tolist() == [0, 1, 0]
    assert t.values().tolist()[1] == [[0.0, 0.0], [0.0, 5.0]]


@pytest.mark.parametrize(("one", "two"), list(product(WAYS, WAYS)))
def test_conversions_keep_the_values(one: str, two: str) -> None:
    t = made(one)
    if one[0] == "b" and two[0] == "c":
        with pytest.raises(RuntimeError, match="expected SparseCsr or SparseCsc layout"):
            made(two, t)
        return
    assert made(two, t).to_dense().tolist() == DENSE and made(two, t).layout is getattr(torch, f"sparse_{two}")


@pytest.mark.parametrize("kind", WAYS)
def test_gradients_have_the_layout_of_their_input(kind: str) -> None:
    t = made(kind).requires_grad_()
    t.to_dense().backward(torch.ones(4, 4))
    assert t.grad.layout is t.layout and t.grad.values().shape == t.values().shape
    x = torch.tensor(DENSE, requires_grad=True)
    grad, = torch.autograd.grad(made(kind, x), x, made(kind))
    assert grad.layout is torch.strided and grad.tolist() == DENSE


def test_transpose_of_csr_is_csc() -> None:
    assert made("csr").t().layout is torch.sparse_csc
    assert made("bsr").t().to_dense().tolist() == torch.tensor(DENSE).t().tolist()


def test_products_and_sums() -> None:
    t, d = made("csr"), torch.tensor(DENSE)
    assert (t @ d).tolist() == (d @ d).tolist() and (d @ t).tolist() == (d @ d).tolist()
    assert (t + t).to_dense().tolist() == (d + d).tolist() and (t * d).to_dense().tolist() == (d * d).tolist()
    assert t.sum().item() == 15.0


def test_constructor_is_differentiable() -> None:
    v = torch.tensor([1.0, 2.0], requires_grad=True)
    t = torch.sparse_csr_tensor([0, 1, 2], [0, 1], v, (2, 2))
    assert type(t.grad_fn).__name__ == "SparseCompressedTensorBackward0"
    t.to_dense().backward(torch.tensor([[3.0, 1.0], [1.0, 4.0]]))
    assert v.grad.tolist() == [3.0, 4.0]


def test_blocks_must_divide_the_size() -> None:
    with pytest.raises(RuntimeError, match="must be divisible by given blocksize \\(3,2\\)"):
        torch.tensor(DENSE).to_sparse_bsr((3, 2))


def test_parts_are_copied_by_functions_of_their_names():
    t = torch.eye(2).to_sparse_csr()
    for name in ("crow_indices", "col_indices", "values"):
        copied, own = getattr(torch, f"{name}_copy")(t), getattr(t, name)()
        assert copied.tolist() == own.tolist() and copied.data_ptr() != own.data_ptr()
    with pytest.raises(RuntimeError, match="ccol_indices expected sparse column compressed tensor layout but got SparseCsr"):
        torch.ccol_indices_copy(t)


def test_results_of_other_layouts_cannot_be_written_in_place() -> None:
    with pytest.raises(RuntimeError, match="Expected result Tensor to be of format CSR"):
        torch.eye(2).mul_(torch.eye(2).to_sparse_csr())
    with pytest.raises(RuntimeError, match=r"add\(sparse, dense\) is not supported"):
        torch.eye(2).to_sparse_csr().add_(torch.eye(2))


def test_nbytes_counts_the_elements_of_the_shape() -> None:
    assert torch.eye(4).to_sparse_csr().nbytes == 64
