"""Sparse COO tensors: construction, conversion, arithmetic, and the nodes they leave."""
from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import retrograd as torch


def listed() -> Any:
    """A tensor that names one place twice, and out of order."""
    return torch.sparse_coo_tensor([[0, 1, 1, 0], [2, 0, 0, 1]], [3.0, 4.0, 5.0, 6.0], (2, 3))


def entries(t: Any) -> Any:
    return t._indices().tolist(), t._values().tolist()


def test_repr_shows_parts() -> None:
    assert repr(torch.eye(2).to_sparse().requires_grad_()) == (
        "tensor(indices=tensor([[0, 1],\n                       [0, 1]]),\n       values=tensor([1., 1.]),\n"
        "       size=(2, 2), nnz=2, layout=torch.sparse_coo, requires_grad=True)")


def test_coalesce_sorts_and_sums() -> None:
    t = listed()
    assert not t.is_coalesced()
    c = t.coalesce()
    assert c.is_coalesced() and entries(c) == ([[0, 0, 1], [1, 2, 0]], [6.0, 3.0, 9.0])
    assert t.to_dense().tolist() == c.to_dense().tolist() == [[0.0, 6.0, 3.0], [9.0, 0.0, 0.0]]


def test_fewer_than_two_entries_are_coalesced() -> None:
    assert torch.sparse_coo_tensor([[1]], [1.0], (3,)).is_coalesced()


@pytest.mark.parametrize(("arguments", "message"), [
    (([[0, 1]], [1.0, 2.0], (4, 4)), "'len\\(size\\) == sparse_dim \\+ dense_dim' is not satisfied"),
    (([[0, 1]], [1.0, 2.0, 3.0], (4,)), "indices and values must have same nnz"),
    (([[0, 1]], [[1.0, 2.0], [3.0, 4.0]], (4, 3)), "values has incorrect size, expected \\[2, 3\\], got \\[2, 2\\]"),
    (([[0, -1]], [1.0, 2.0]), "found negative index -1 for dim 0"),
])
def test_constructor_refuses(arguments: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        torch.sparse_coo_tensor(*arguments)


def test_invariants_are_checked_on_request() -> None:
    torch.sparse_coo_tensor([[5]], [1.0], (2,))
    with torch.sparse.check_sparse_tensor_invariants(), pytest.raises(RuntimeError, match="size is inconsistent with indices"):
        torch.sparse_coo_tensor([[5]], [1.0], (2,))


def test_sum_of_listed_entries_merges_in_order() -> None:
    t = listed()
    assert entries(t + t.coalesce()) == ([[0, 0, 1, 1, 0], [1, 2, 0, 0, 1]], [6.0, 6.0, 13.0, 5.0, 6.0])
    both = t.coalesce() + t.coalesce()
    assert both.is_coalesced() and entries(both)[1] == [12.0, 6.0, 18.0]


def test_dense_plus_sparse_is_dense_and_the_reverse_an_error() -> None:
    assert (torch.ones(2, 3) + listed()).tolist() == [[1.0, 7.0, 4.0], [10.0, 1.0, 1.0]]
    with pytest.raises(RuntimeError, match="add\\(sparse, dense\\) is not supported"):
        listed() + torch.ones(2, 3)


def test_product_keeps_entries_without_partner_only_if_uncoalesced() -> None:
    a = torch.sparse_coo_tensor([[0, 2]], [1.0, 2.0], (4,)).coalesce()
    b = torch.sparse_coo_tensor([[1, 2, 3, 2]], [1.0, 2.0, 3.0, 4.0], (4,))
    assert entries(a * b) == ([[1, 2, 3, 2]], [0.0, 4.0, 0.0, 8.0])
    assert entries(a * b.coalesce()) == ([[2]], [12.0])


def test_unary_ops_run_on_summed_values() -> None:
    assert entries(listed().sqrt())[1] == pytest.approx([6.0 ** 0.5, 3.0 ** 0.5, 3.0])
    assert entries(-listed())[1] == [-3.0, -4.0, -5.0, -6.0]


def test_an_op_without_kernel_says_so() -> None:
    with pytest.raises(NotImplementedError, match="Could not run 'aten::exp' with arguments from the 'SparseCPU' backend"):
        listed().exp()


def test_in_place_sum_counts_a_version_and_leaves_aliases_alone() -> None:
    t = listed()
    twin = t.detach()
    t.add_(t.coalesce())
    assert t._version == 1 and t._nnz() == 5 and twin._nnz() == 4


def test_copies_keep_entries() -> None:
    t = listed()
    for made in (copy.deepcopy(t), pickle.loads(pickle.dumps(t)), t.clone(), t.data):
        assert entries(made) == entries(t) and made.layout is torch.sparse_coo


def test_nodes_are_pytorchs() -> None:
    v = torch.tensor([1.0, 2.0], requires_grad=True)
    t = torch.sparse_coo_tensor([[0, 0]], v, (2,))
    c = t.coalesce()
    names = [type(x.grad_fn).__name__ for x in (t, c, c.values(), t.to_dense(), torch.ones(2, requires_grad=True).to_sparse())]
    assert names == ["SparseCooTensorWithDimsAndTensorsBackward0", "CoalesceBackward0", "ValuesBackward0", "ToDenseBackward0",
                     "ToSparseBackward1"]
    (c.values() * 3).sum().backward()
    assert v.grad.tolist() == [3.0, 3.0]


def test_stored_values_are_not_differentiable() -> None:
    with pytest.raises(RuntimeError, match="does not have a grad_fn"):
        listed().requires_grad_()._values().backward(torch.ones(4))


def test_mask_named_twice_counts_twice() -> None:
    x = torch.arange(3.0).requires_grad_()
    mask = torch.sparse_coo_tensor([[1, 1, 0]], [1.0, 1.0, 1.0], (3,))
    masked = x.sparse_mask(mask)
    masked.backward(torch.ones(3).to_sparse())
    assert x.grad.tolist() == [1.0, 2.0, 0.0]


def test_sparse_mm_gradient_is_sparse() -> None:
    s = torch.eye(2).to_sparse().requires_grad_()
    d = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    torch.sparse.mm(s, d).sum().backward()
    assert s.grad.layout is torch.sparse_coo and entries(s.grad) == ([[0, 1], [0, 1]], [3.0, 7.0])
    assert d.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_softmax_ignores_what_is_not_stored() -> None:
    t = torch.sparse_coo_tensor([[0, 0, 1], [0, 2, 1]], [1.0, 1.0, 7.0], (2, 3)).coalesce()
    assert entries(torch.sparse.softmax(t, 1))[1] == [0.5, 0.5, 1.0]


def test_numpy_and_storage_refuse() -> None:
    with pytest.raises(TypeError, match="can't convert Sparse layout tensor to numpy"):
        listed().numpy()
    with pytest.raises(RuntimeError, match="doesn't have storage"):
        listed().data_ptr()


def test_sums_over_no_dimensions_keep_the_tensor() -> None:
    x = torch.tensor([[1.0, 0.0], [0.0, 2.0]]).to_sparse()
    made = torch.sparse.sum(x, ())
    assert made.is_sparse and made.to_dense().tolist() == [[1.0, 0.0], [0.0, 2.0]]
    with pytest.raises(RuntimeError, match="Trying to create tensor with negative dimension"):
        torch.sparse.sum(torch.ones(()).to_sparse(), 0)


def test_products_check_sizes_before_dtypes() -> None:
    with pytest.raises(RuntimeError, match=r"Argument #3 \(dense\): Expected dim 0 size 2, got 3"):
        torch.sparse.mm(torch.ones(2, 2).long().to_sparse(), torch.ones(3, 2))


def test_other_layouts_are_refused_where_coordinates_are_needed() -> None:
    dense, sparse = torch.eye(2), torch.eye(2).to_sparse()
    for tensors, position in ([dense, sparse], 0), ([sparse, dense], 1):
        with pytest.raises(RuntimeError, match=f"a dense tensor was found at position {position}"):
            torch.stack(tensors)
    with pytest.raises(NotImplementedError, match="Could not run 'aten::hspmm' with arguments from the 'CPU' backend"):
        torch.hspmm(dense, dense)
    with pytest.raises(TypeError, match=r"_sparse_mm\(\): argument 'dense' \(position 2\) must be Tensor, not float"):
        torch.sparse.mm(sparse, 2.0)
    with pytest.raises(TypeError, match=r"_sparse_addmm\(\): argument 'mat2' \(position 3\) must be Tensor, not float"):
        torch.sparse.addmm(dense, sparse, 2.0)


def test_zeros_like_a_dense_tensor_may_be_sparse() -> None:
    made = torch.zeros_like(torch.eye(2), layout=torch.sparse_coo)
    assert (made.layout, made._nnz(), made.sparse_dim()) == (torch.sparse_coo, 0, 2)
    assert torch.zeros_like(torch.eye(2), layout=torch.sparse_csr).crow_indices().tolist() == [0, 0, 0]
