"""Masked tensors in sparse layouts."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd.masked import masked_tensor

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of MaskedTensors")


def example(**options):
    mask = torch.tensor([[True, False, True], [False, False, True]])
    return masked_tensor(torch.arange(6.0).view(2, 3), mask, **options)


def sparse(layout):
    return example().to_sparse_coo() if layout == torch.sparse_coo else example().to_sparse_csr()


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_what_is_there_is_stored(layout):
    t = sparse(layout)
    assert t.layout == t.get_data().layout == t.get_mask().layout == layout and t.is_sparse
    assert t.get_data()._nnz() == 3 and t.get_mask().dtype == torch.bool
    assert repr(t) == repr(t.to_dense()) == repr(example())


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_ops_are_done_to_what_is_stored(layout):
    t = sparse(layout)
    assert repr(t + t) == repr(example() + example()) and (t * 2).layout == layout
    assert repr((t + 1).cos()) == repr((example() + 1).cos())
    assert t.sum().get_data().item() == 7.0 and t.amax().get_data().item() == 5.0
    with pytest.raises(ValueError, match="`a` and `b` must have the same layout"):
        t + example()
    with pytest.raises(TypeError, match="Multiple dispatch failed"):
        t.sum(0)


def test_layouts_of_elements_and_mask_must_agree():
    data, mask = torch.eye(2), torch.eye(2).bool()
    assert repr(masked_tensor(data.to_sparse(), mask.to_sparse())) == repr(masked_tensor(data, mask))
    with pytest.raises(TypeError, match="data and mask must have the same layout"):
        masked_tensor(data.to_sparse(), mask)
    with pytest.raises(TypeError, match="data layout of torch.sparse_csc is not supported"):
        masked_tensor(data.to_sparse_csc(), mask.to_sparse_csc())


def test_gradients_come_back_through_layouts():
    t = example(requires_grad=True)
    (t.to_sparse_coo().to_dense() * 2).sum().backward()
    assert repr(t.grad) == repr(torch.ones_like(example()) * 2)
