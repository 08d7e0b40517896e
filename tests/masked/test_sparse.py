"""Masked reductions of sparse tensors."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd import masked

X = torch.tensor([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [3.0, 4.0, 0.0]], dtype=torch.float64)
MASK = torch.tensor([[True, True, False], [False, True, False], [True, False, True]])


def same(made: Any, expected: Any) -> bool:
    """Where the mask keeps nothing, the sparse result stores nothing."""
    stored = made.to_dense()
    return bool(torch.all((stored == expected) | (stored == 0)))


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [0, 1, (0, 1), None])
@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin"])
def test_coo_tensors_reduce_as_dense_ones(name: str, dim: Any, keepdim: bool) -> None:
    function = getattr(masked, name)
    for mask in (MASK, MASK.to_sparse()):
        made = function(X.to_sparse(), dim, keepdim=keepdim, mask=mask)
        expected = function(X, dim, keepdim=keepdim, mask=MASK)
        assert made.layout is torch.sparse_coo and made.shape == expected.shape
        assert same(made, expected)


@pytest.mark.parametrize("dim", [0, 1, (0, 1)])
@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin", "mean"])
def test_csr_tensors_keep_their_layout(name: str, dim: Any) -> None:
    function = getattr(masked, name)
    made = function(X.to_sparse_csr(), dim, keepdim=True, mask=MASK.to_sparse_csr())
    assert made.layout is torch.sparse_csr and same(made, function(X, dim, keepdim=True, mask=MASK))


def test_sums_need_no_mask() -> None:
    assert masked.sum(X.to_sparse(), 0).to_dense().tolist() == [4.0, 4.0, 2.0]
    assert masked.sum(X.to_sparse(1), 1).to_dense().tolist() == [3.0, 0.0, 7.0]
    assert masked.sum(torch.tensor(3.0).to_sparse(), 0).to_dense().item() == 3.0


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda: masked.prod(X.to_sparse(), 0), ValueError, "masked prod expects explicit mask for sparse_coo tensor input"),
    (lambda: masked.mean(X.to_sparse(), 0), ValueError, "masked mean expects strided or sparse_csr tensor"),
    (lambda: masked.sum(X.to_sparse_csc(), 0), ValueError, "masked sum expects strided, sparse_coo or sparse_csr tensor"),
    (lambda: masked.sum(X.to_sparse_csr(), 0), RuntimeError, "CSR tensors with keepdim=False is unsupported"),
])
def test_what_is_not_supported_is_named(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_tensors_like_compressed_ones_may_have_another_layout() -> None:
    x = X.to_sparse_csr()
    assert torch.zeros_like(x, layout=torch.sparse_csc).layout is torch.sparse_csc
    assert torch.zeros_like(x, layout=torch.sparse_coo).shape == x.shape
    assert torch.rand_like(x).col_indices().tolist() == x.col_indices().tolist()
