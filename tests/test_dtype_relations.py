"""How dtypes, Python numbers and shapes relate, as torch._prims_common has it."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd import _dtype_relations as relations
from retrograd._dtype_relations import ELEMENTWISE_TYPE_PROMOTION_KIND as KINDS

X, H, L, B = torch.ones(2), torch.ones(2).half(), torch.ones(2).long(), torch.ones(2).bool()
S = torch.ones((), dtype=torch.float64)


@pytest.mark.parametrize(("args", "kind", "dtypes"), [
    ((H, S), KINDS.DEFAULT, (torch.float32, torch.float16)), ((H, X), KINDS.DEFAULT, (torch.float32, torch.float32)),
    ((H, 2.5), KINDS.NO_OPMATH, (torch.float16, torch.float16)), ((L, 2.5), KINDS.DEFAULT, (torch.float32, torch.float32)),
    ((B, 1), KINDS.DEFAULT, (torch.int64, torch.int64)), ((L, B), KINDS.INT_TO_FLOAT, (torch.float32, torch.float32)),
    ((H,), KINDS.ALWAYS_BOOL, (torch.float32, torch.bool)), ((B,), KINDS.BOOL_TO_LONG, (torch.int64, torch.int64)),
    ((X, 1j), KINDS.COMPLEX_TO_FLOAT, (torch.complex64, torch.float32)), ((S, None), KINDS.DEFAULT, (S.dtype, S.dtype)),
    ((1, 2.0), KINDS.DEFAULT, (torch.float32, torch.float32)), ((L, S), KINDS.DEFAULT, (torch.float64, torch.float64))])
def test_elementwise_ops_compute_in_one_dtype_and_return_another(args, kind, dtypes) -> None:
    assert relations.elementwise_dtypes(*args, type_promotion_kind=kind) == dtypes


def test_dtypes_have_types_and_types_dtypes() -> None:
    assert [relations.dtype_to_type(d) for d in (torch.bool, torch.int8, torch.bfloat16, torch.complex64)] == [
        bool, int, float, complex]
    assert [relations.type_to_dtype(t) for t in (bool, int, float, complex)] == [
        torch.bool, torch.int64, torch.float32, torch.complex64]
    assert relations.get_higher_type(int, bool) is int and relations.get_higher_dtype(None, torch.int8) is torch.int8
    with pytest.raises(ValueError, match="Invalid type"):
        relations.type_to_dtype(str)


def test_dimensions_are_counted_from_the_front() -> None:
    assert relations.canonicalize_dims(3, (-1, 0)) == (2, 0) and relations.canonicalize_dims(0, -1) == 0
    for rank, idx in ((2, 2), (0, 1)):
        with pytest.raises(IndexError, match="Dimension out of range"):
            relations.canonicalize_dim(rank, idx)
    with pytest.raises(IndexError, match="tensor has no dimensions"):
        relations.canonicalize_dim(0, 0, wrap_scalar=False)


@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 0, 3), (5,), ()])
def test_strides_are_those_of_contiguous_tensors(shape) -> None:
    assert relations.make_contiguous_strides_for(shape) == torch.empty(shape).stride()


def test_ranges_and_distances_refuse_what_does_not_fit() -> None:
    with pytest.raises(RuntimeError, match="invalid size, possible overflow"):
        torch.arange(0, 1e30)
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        torch.cdist(torch.ones(2, 3), torch.ones(2, 3, dtype=torch.float64))
    with pytest.raises(TypeError, match=r"map_\(\): argument 'other' \(position 1\) must be Tensor, not int"):
        torch.ones(2).map_(3, max)
