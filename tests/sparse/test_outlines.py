"""Sparse tensors without data, on the meta device; and what sparse tensors refuse to become."""
from __future__ import annotations

import pytest

import retrograd as torch

COMPRESSED = [torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc]


def blocks(layout):
    return {"blocksize": (2, 2)} if layout in (torch.sparse_bsr, torch.sparse_bsc) else {}


def test_a_coo_tensor_without_data_has_its_sizes():
    t = torch.empty(4, 4, layout=torch.sparse_coo, device="meta")
    assert t.is_meta and t.is_sparse and t.device.type == "meta" and torch.empty_like(t).is_meta
    t.sparse_resize_and_clear_((4, 4, 4), 2, 1)
    assert (t.sparse_dim(), t.dense_dim(), t._nnz(), t.is_coalesced()) == (2, 1, 0, True)
    assert t.indices().shape == (2, 0) and t.values().shape == (0, 4) and t.values().is_meta


def test_it_prints_its_sizes():
    t = torch.sparse_coo_tensor(size=(2, 3), device="meta")
    assert repr(t) == ("tensor(indices=tensor(..., size=(2, 0)),\n       values=tensor(..., size=(0,)),\n"
                       "       device='meta', size=(2, 3), layout=torch.sparse_coo)")


@pytest.mark.parametrize("layout", COMPRESSED)
def test_compressed_tensors_lose_their_data_on_the_meta_device(layout):
    t = torch.eye(4).to_sparse(layout=layout, **blocks(layout)).to("meta")
    assert t.is_meta and t.layout is layout and t._nnz() == 0 and t.shape == (4, 4)
    assert (t * 2).is_meta and t.to_dense().is_meta and t.sum().is_meta
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        t.cpu()


def test_parts_without_data_make_a_tensor_without_data():
    indices, values = torch.zeros(2, 3, dtype=torch.int64, device="meta"), torch.ones(3, device="meta")
    t = torch.sparse_coo_tensor(indices, values, (4, 4))
    assert t.is_meta and t._nnz() == 3 and t.to_dense().shape == (4, 4)
    with pytest.raises(NotImplementedError, match="_to_sparse.* depends on values"):
        torch.ones(2, 2, device="meta").to_sparse()


# ---- changes in place
@pytest.mark.parametrize("layout", COMPRESSED[:2])
def test_compressed_tensors_get_more_or_fewer_rows(layout):
    t = torch.eye(2).to_sparse(layout=layout)
    t.resize_(4, 3)
    outer = t.crow_indices() if layout is torch.sparse_csr else t.ccol_indices()
    assert t.shape == (4, 3) and outer.tolist() == [0, 1, 2, 2, 2] and t.values().tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="columns is 3 while the requested new number of columns is 2"):
        t.resize_(4, 2)
    with pytest.raises(RuntimeError, match=r"Only batched sparse CSR matrices are supported, but got size \[4\]"):
        t.resize_(4)


def test_compressed_tensors_are_copied_only_from_their_like():
    t = torch.eye(2).to_sparse_csr()
    assert t.copy_(torch.eye(2).flip(0).to_sparse_csr()).to_dense().tolist() == [[0, 1], [1, 0]]
    with pytest.raises(RuntimeError, match="same number of specified elements"):
        t.copy_(torch.ones(2, 2).to_sparse_csr())
    with pytest.raises(RuntimeError, match="Sparse CSR tensors do not have is_contiguous"):
        t.contiguous()
    assert t.new_zeros(3, 3).layout is torch.sparse_csr


def test_elements_of_sparse_tensors_cannot_be_assigned():
    for t in (torch.eye(2).to_sparse(), torch.eye(2).to_sparse_csr()):
        with pytest.raises(TypeError, match="Cannot assign to a sparse tensor"):
            t[0, 0] = 1


def test_coo_tensors_refuse_what_would_fill_or_shrink_them():
    t = torch.eye(2).to_sparse()
    with pytest.raises(RuntimeError, match="cannot raise to zeroth power on sparse tensor"):
        t ** 0
    with pytest.raises(RuntimeError, match="shrinking the size of sparse dimensions"):
        t.copy_(torch.eye(1).to_sparse())
    assert t.neg().abs_().to_dense().tolist() == [[1, 0], [0, 1]]
    assert torch.sparse_coo_tensor(size=(1, 1)).resize_as_(t).shape == (2, 2)
    with pytest.raises(RuntimeError, match="the same sparse_dim and dense_dim: 2, 0, but tensor at position 1"):
        torch.cat([t, torch.eye(2).to_sparse(1)])
