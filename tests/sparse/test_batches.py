"""Batches of matrices in compressed layouts, the checks of their constructors, and products of compressed matrices."""
from __future__ import annotations

import pickle
from typing import Any

import pytest

import retrograd as torch

LAYOUTS = [torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc]


def batch(*shape: int) -> Any:
    """A batch of matrices with as many entries each."""
    x = torch.arange(1.0, 1.0 + torch.Size((*shape, 4, 4)).numel()).view(*shape, 4, 4)
    mask = torch.tensor([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]], dtype=torch.bool)
    return x * mask


def compress(x: Any, layout: Any) -> Any:
    return x.to_sparse(layout=layout, blocksize=(2, 2) if layout in LAYOUTS[2:] else None)


@pytest.mark.parametrize("shape", [(2,), (2, 3)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_batch_comes_back_dense(layout: Any, shape: tuple[int, ...]) -> None:
    x = batch(*shape)
    sparse = compress(x, layout)
    assert sparse.layout is layout and sparse.shape == x.shape and sparse.sparse_dim() == 2
    assert torch.equal(sparse.to_dense(), x)
    assert torch.equal(sparse.to_sparse_coo().to_dense(), x)
    assert torch.equal((sparse * 2).to_dense(), x * 2)
    assert torch.equal(sparse.transpose(-1, -2).to_dense(), x.transpose(-1, -2))
    assert torch.equal(pickle.loads(pickle.dumps(sparse)).to_dense(), x)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_matrix_of_a_batch_is_a_matrix(layout: Any) -> None:
    x = batch(2)
    sparse = compress(x, layout)
    assert torch.equal(sparse[1].to_dense(), x[1]) and sparse[1].layout is layout
    assert [torch.equal(made.to_dense(), part) for made, part in zip(sparse.unbind(), x, strict=True)] == [True, True]
    with pytest.raises(RuntimeError, match="selecting sparse dimensions is not supported for batched"):
        sparse.select(1, 0)
    with pytest.raises(RuntimeError, match="can only transpose dimensions of the same type"):
        sparse.transpose(0, 1)


@pytest.mark.parametrize(("first", "second"), [(0, 1), (1, 0), (2, 3), (3, 2)])
def test_a_batch_changes_its_order(first: int, second: int) -> None:
    x = batch(2)
    made = compress(compress(x, LAYOUTS[first]), LAYOUTS[second])
    assert made.layout is LAYOUTS[second] and torch.equal(made.to_dense(), x)


def test_matrices_of_a_batch_have_as_many_entries() -> None:
    with pytest.raises(RuntimeError, match="Expect the same number of specified elements per batch"):
        torch.stack([torch.eye(2), torch.ones(2, 2)]).to_sparse_csr()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_flow_through_a_batch(layout: Any) -> None:
    x = batch(2).requires_grad_()
    compress(x, layout).to_dense().pow(2).sum().backward()
    assert torch.equal(x.grad, 2 * x.detach())


CRITERIA = [
    ("csr", torch.tensor(0), torch.tensor([0]), torch.ones(1), (1, 2), "crow_indices must have dimensionality >= 1 but got 0"),
    ("csr", [[0, 1]], [0], [1.0], (1, 1), "crow_indices and col_indices dimensionalities must be equal but got 2 and 1"),
    ("bsr", [0, 1], [0], [1.0], (1, 1), r"sum of batch and block dimensionalities \(=0 \+ 2\) but got 1"),
    ("csr", [0, 1], [0], [1.0], (2,), r"must be sum of batch, base, and dense dimensionalities \(=0 \+ 2 \+ 0\) but got 1"),
    ("csr", [[0, 1], [0, 1]], [[0]], [[1.0]], (2, 1, 2), r"all batch dimensions of crow_indices \(=\[2\]\)"),
    ("bsr", [0, 1], [0], [[[1.0, 1.0], [1.0, 1.0]]], (3, 2), r"tensor shape\[0\] \(=3\) must be divisible with blocksize\[0\]"),
    ("csr", [0, 1, 1], [0], [1.0], (1, 1), r"must be equal to the number of rows \+ 1 \(=2\), but got 3"),
    ("bsc", [0, 1, 1], [0], [[[1.0]]], (1, 1), r"must be equal to the number of column blocks \+ 1 \(=2\), but got 3"),
    ("csr", [0, 1], [0, 1], [1.0], (1, 2), r"must be equal to nnz \(=1\) as defined by values.shape\[0\]"),
    ("csr", [0.0, 1.0], [0], [1.0], (1, 1), "must have the same dtype, bot got Float and Long, respectively"),
    ("csr", [1, 1], [0], [1.0], (1, 1), r"`crow_indices\[..., 0\] == 0` is not satisfied."),
    ("csr", [0, 2], [0], [1.0], (1, 1), r"`crow_indices\[..., -1\] == nnz` is not satisfied."),
    ("csr", [0, 2, 1], [0], [1.0], (2, 2), r"`0 <= crow_indices\[..., 1:\] - crow_indices\[..., :-1\] <= ncols`"),
    ("csc", [0, 1], [4], [1.0], (1, 1), "`0 <= row_indices < nrows` is not satisfied."),
    ("csr", [0, 2], [1, 0], [1.0, 2.0], (1, 2), "are sorted and distinct along the last dimension values` is not satisfied."),
]


@pytest.mark.parametrize(("kind", "compressed", "plain", "values", "size", "message"), CRITERIA)
def test_constructors_check_their_parts(kind: str, compressed: Any, plain: Any, values: Any, size: Any, message: str) -> None:
    construct = getattr(torch, f"sparse_{kind}_tensor")
    with pytest.raises(RuntimeError, match=message):
        construct(compressed, plain, values, size, check_invariants=True)


def test_constructors_name_what_they_do_not_take() -> None:
    with pytest.raises(TypeError, match=r"sparse_csr_tensor\(\) received an invalid combination of arguments"):
        torch.sparse_csr_tensor([0, 1], [0], [1.0], (1, 1), wrong=1)
    with pytest.raises(RuntimeError, match="layout must be SparseCsr but got SparseCsc"):
        torch.sparse_csr_tensor([0, 1], [0], [1.0], (1, 1), layout=torch.sparse_csc)
    with pytest.raises(RuntimeError, match="expected sparse compressed tensor layout but got none"):
        torch.sparse_compressed_tensor([0, 1], [0], [1.0], (1, 1))


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_products_can_be_reduced_otherwise(reduce: str) -> None:
    x = torch.tensor([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [3.0, 4.0, 0.0]], dtype=torch.float64)
    dense = torch.arange(6.0, dtype=torch.float64).view(3, 2).requires_grad_()
    sparse = x.to_sparse_csr().requires_grad_()
    made = torch.sparse.mm(sparse, dense, reduce)
    expected = torch.zeros(3, 2, dtype=torch.float64)
    for i in (0, 2):
        stored = x[i].nonzero().squeeze(1)
        expected[i] = getattr(x[i, stored, None] * dense.detach()[stored], reduce)(0)
    assert torch.equal(made, expected)
    made.sum().backward()
    assert sparse.grad.layout is torch.sparse_csr and dense.grad.shape == dense.shape


def test_only_floating_point_products_are_reduced_otherwise() -> None:
    with pytest.raises(NotImplementedError, match="\"spmm_reduce_kernel\" not implemented for 'Long'"):
        torch.sparse.mm(torch.eye(2, dtype=torch.int64).to_sparse_csr(), torch.ones(2, 2, dtype=torch.int64), "sum")


def test_products_of_sparse_matrices_are_sparse() -> None:
    a, b = torch.eye(3).to_sparse_csr(), torch.arange(9.0).view(3, 3).to_sparse_csr()
    assert torch.sparse.mm(a, b).layout is torch.sparse_csr
    made = torch.addmm(a, a, b, beta=2, alpha=3)
    assert torch.equal(made.to_dense(), 2 * torch.eye(3) + 3 * torch.arange(9.0).view(3, 3))
    with pytest.raises(RuntimeError, match=r"computation on CPU is not implemented for SparseCsr \+ SparseCsr @ Sparse"):
        a @ torch.eye(3).to_sparse()


def test_batches_of_coo_matrices_multiply() -> None:
    x, y = batch(2), torch.arange(24.0).view(2, 4, 3)
    assert torch.equal(torch.bmm(x.to_sparse(), y), torch.bmm(x, y))


def test_in_place_and_out_write_to_compressed_tensors() -> None:
    a = torch.tensor([[4.0, 0.0], [0.0, 9.0]]).to_sparse_csr()
    assert a.sqrt_() is a and a.values().tolist() == [2.0, 3.0]
    out = torch.eye(2).to_sparse_csr()
    torch.neg(a, out=out)
    assert out.values().tolist() == [-2.0, -3.0]


def test_narrow_copy_takes_a_range_of_coordinates() -> None:
    x = batch(1)[0].to_sparse()
    assert torch.equal(x.narrow_copy(1, 1, 2).to_dense(), x.to_dense()[:, 1:3])


def test_indices_are_compressed_and_spread() -> None:
    assert torch._convert_indices_from_coo_to_csr(torch.tensor([0, 1, 1]), 3).tolist() == [0, 1, 3, 3]
    assert torch._convert_indices_from_csr_to_coo(torch.tensor([0, 1, 3]), torch.tensor([0, 1, 2])).tolist() == [[0, 1, 1],
                                                                                                                 [0, 1, 2]]
