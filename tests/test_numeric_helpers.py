"""Private functions of torch: products of bytes, scales of losses, masked softmax, overlap, older sparse names."""
from __future__ import annotations

import pytest

import retrograd as torch


@pytest.mark.parametrize("shape", [(3, 4, 5), (0, 4, 5), (3, 0, 5)])
def test_products_of_bytes_do_not_overflow(shape) -> None:
    m, k, n = shape
    a, b = torch.randint(-128, 127, (m, k), dtype=torch.int8), torch.randint(-128, 127, (n, k), dtype=torch.int8).t()
    made = torch._int_mm(a, b)
    assert made.dtype == torch.int32 and torch.equal(made.long(), a.long() @ b.long())
    out = torch.empty(m, n, dtype=torch.int32)
    assert torch._int_mm(a, b, out=out) is out and torch.equal(out, made)


def test_products_of_bytes_refuse_other_shapes_and_dtypes() -> None:
    a, b = torch.ones(2, 3, dtype=torch.int8), torch.ones(3, 2, dtype=torch.int8)
    for args, text in (((a[0], b), "Expected self to be of dimension 2 but got 1"), ((a, a), "but got 3 and 2"),
                       ((a.int(), b), "Expected self dtype to be int8 or uint8 but got int"),
                       ((a, b.int()), "Expected mat2 dtype to be of type int8 but got int")):
        with pytest.raises(RuntimeError, match=text):
            torch._int_mm(*args)
    with pytest.raises(RuntimeError, match="but got long int"):
        torch._int_mm(a, b, out=torch.empty(2, 2, dtype=torch.int64))


def test_weights_in_bytes_are_scaled_by_row() -> None:
    x, w, scales = torch.randn(3, 4), torch.randint(-128, 127, (5, 4), dtype=torch.int8), torch.rand(5)
    torch.testing.assert_close(torch._weight_int8pack_mm(x, w, scales), x @ (w.float() * scales[:, None]).t())
    with pytest.raises(RuntimeError, match="expect scales to be 1d tensor with size 5"):
        torch._weight_int8pack_mm(x, w, scales[:2])


def test_linear_combinations_go_through_the_first_dimension() -> None:
    slices = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    coefficients = torch.randn(5, 2, dtype=torch.float64)
    made = torch._compute_linear_combination(slices, coefficients)
    torch.testing.assert_close(made, torch.einsum("ij,jkl->ikl", coefficients, slices))
    assert torch.autograd.gradcheck(lambda t: torch._compute_linear_combination(t, coefficients), slices)
    with pytest.raises(RuntimeError, match="Empty tensor not supported"):
        torch._compute_linear_combination(torch.ones(()), coefficients)


def test_a_scale_grows_after_finite_steps_and_shrinks_after_others() -> None:
    scale, steps, seen = torch.tensor([4.0]), torch.zeros(1, dtype=torch.int32), []
    for found in (0.0, 0.0, 1.0, 0.0, 0.0):
        assert torch._amp_update_scale_(scale, steps, torch.tensor([found]), 2.0, 0.25, 2) is scale
        seen.append((scale.item(), steps.item()))
    assert seen == [(4.0, 1), (8.0, 0), (2.0, 0), (2.0, 1), (4.0, 0)]
    huge = torch.tensor([3e38])
    assert torch._amp_update_scale_(huge, steps, torch.zeros(1), 2.0, 0.5, 1).isfinite().all()
    with pytest.raises(RuntimeError, match="growth_tracker must be an int tensor"):
        torch._amp_update_scale_(scale, torch.zeros(1), torch.zeros(1), 2.0, 0.5, 1)


def test_gradients_are_unscaled_and_searched_for_numbers_that_are_not_finite() -> None:
    gradients, found = [torch.ones(2, dtype=torch.float16), torch.ones(2)], torch.zeros(1)
    torch._amp_foreach_non_finite_check_and_unscale_(gradients, found, torch.tensor([0.5]))
    assert found.item() == 0 and [g.tolist() for g in gradients] == [[0.5, 0.5], [0.5, 0.5]]
    torch._amp_foreach_non_finite_check_and_unscale_([torch.tensor([float("nan")])], found, torch.tensor([0.5]))
    assert found.item() == 1
    with pytest.raises(RuntimeError, match="inv_scale must be a 1-element tensor"):
        torch._amp_foreach_non_finite_check_and_unscale_(gradients, found, torch.ones(2))


def test_masked_softmax_takes_masks_of_elements_keys_and_positions() -> None:
    scores, mask = torch.randn(2, 2, 3, 3), torch.tensor([[False, False, True], [False, True, False]])
    keys = torch._masked_softmax(scores, mask, 3, 1)
    assert (keys[0, :, :, 2] == 0).all() and (keys[1, :, :, 1] == 0).all()
    torch.testing.assert_close(keys.sum(3), torch.ones(2, 2, 3))
    positions = torch.ones(3, 3).triu(1).bool()
    torch.testing.assert_close(torch._masked_softmax(scores, positions, 3, 0),
                               torch._masked_softmax(scores, positions.expand(2, 2, 3, 3), 3, 2))
    with pytest.raises(RuntimeError, match="Mask should be a boolean tensor"):
        torch._masked_softmax(scores, scores)
    with pytest.raises(RuntimeError, match="mask shape should match input shape"):
        torch._masked_softmax(scores, positions)


def test_overlap_is_told_by_strides() -> None:
    t = torch.ones(3, 3)
    cases = [t, t.t(), t[:, ::2], torch.ones(1).expand(3), torch.ones(6).as_strided((3, 3), (1, 1)), torch.ones(0)]
    assert [torch._debug_has_internal_overlap(each) for each in cases] == [0, 0, 2, 1, 2, 0]


def test_older_names_of_functions() -> None:
    eye = torch.eye(2).to_sparse()
    assert torch.equal(torch.spmm(eye, torch.ones(2, 2)), torch.ones(2, 2))
    assert torch.saddmm(eye, eye, torch.ones(2, 2), beta=2, alpha=3).to_dense().tolist() == [[5, 3], [3, 5]]
    assert torch.hsmm(eye, torch.ones(2, 2)).sparse_dim() == 1
    assert torch.from_dlpack(torch.to_dlpack(torch.ones(2))).tolist() == [1, 1]
    with pytest.warns(UserWarning, match="_aminmax is deprecated"):
        assert [t.item() for t in torch._aminmax(torch.tensor([2.0, 1.0]))] == [1, 2]


def test_sparse_tensors_are_broadcast_by_their_entries() -> None:
    for sparse_dim in (1, 2, 3):
        t = torch.tensor([[[1.0, 0.0]], [[0.0, 2.0]]]).to_sparse(sparse_dim)
        made = torch._sparse_broadcast_to(t, (3, 2, 4, 2))
        assert made.shape == (3, 2, 4, 2) and torch.equal(made.to_dense(), t.to_dense().expand(3, 2, 4, 2))
    with pytest.raises(RuntimeError, match="does not broadcast over the requested shape"):
        torch._sparse_broadcast_to(t, (3, 1, 2))


def test_matrices_by_rows_are_reduced_in_their_layout() -> None:
    t = torch.tensor([[1.0, 2.0], [0.0, 3.0]]).to_sparse_csr()
    assert torch._sparse_csr_sum(t, dim=(0,), keepdim=True).to_dense().tolist() == [[1, 5]]
    assert torch._sparse_csr_prod(t, dim=(1,), keepdim=True).to_dense().tolist() == [[2], [3]]


@pytest.mark.parametrize(("compressed", "plain", "text"), [
    ([1, 1, 2], [0, 1], r"`crow_indices\[..., 0\] == 0`"), ([0, 1, 3], [0, 1], r"`crow_indices\[..., -1\] == nnz`"),
    ([0, 1, 2], [0, 2], "`0 <= col_indices < ncols`"), ([0, 2, 2], [1, 0], "sorted and distinct"),
    ([0, 2], [0, 1], "crow_indices have wrong shape")])
def test_indices_of_compressed_tensors_are_checked(compressed, plain, text) -> None:
    torch._validate_compressed_sparse_indices(True, torch.tensor([0, 1, 2]), torch.tensor([0, 1]), 2, 2, 2)
    with pytest.raises(RuntimeError, match=text):
        torch._validate_compressed_sparse_indices(True, torch.tensor(compressed), torch.tensor(plain), 2, 2, 2)


@pytest.mark.parametrize("batch", [(), (2,), (0,)])
@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr])
def test_compressed_tensors_without_entries_satisfy_their_invariants(layout, batch) -> None:
    shape = (*batch, 0) if layout != torch.sparse_bsr else (*batch, 0, 1, 1)
    made = torch.sparse_compressed_tensor(torch.zeros(*batch, 3, dtype=torch.int64), torch.zeros(*batch, 0, dtype=torch.int64),
                                          torch.zeros(shape), (*batch, 2, 2), layout=layout, check_invariants=True)
    assert made._nnz() == 0 and torch.equal(made.to_dense(), torch.zeros(*batch, 2, 2))
