"""Semi-structured sparse tensors, of which there are only the names."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd.sparse import SparseSemiStructuredTensor, SparseSemiStructuredTensorCUTLASS, to_sparse_semi_structured
from retrograd.sparse._triton_ops import bsr_dense_addmm, tile_to_blocksize
from retrograd.sparse._triton_ops_meta import get_meta, minimize, optimize_bsr_dense_addmm, update


def test_tensors_of_the_cpu_are_refused_as_in_pytorch() -> None:
    with pytest.raises(RuntimeError, match="device= cpu is not supported! Only CUDA tensors"):
        to_sparse_semi_structured(torch.ones(32, 32))
    with pytest.raises(RuntimeError, match="need a CUDA device"):
        SparseSemiStructuredTensorCUTLASS(torch.ones(32, 32))


def test_no_tensor_is_semi_structured() -> None:
    assert issubclass(SparseSemiStructuredTensorCUTLASS, SparseSemiStructuredTensor)
    assert not isinstance(torch.ones(2), SparseSemiStructuredTensor)


def test_there_are_no_tuned_kernels() -> None:
    assert get_meta("scatter_mm", (8, 8, 8)) is None
    for function in (minimize, update):
        with pytest.raises(RuntimeError, match="Triton"):
            function()


def test_sizes_that_kernels_require_can_be_read() -> None:
    cutlass = torch.sparse.SparseSemiStructuredTensorCUTLASS
    assert cutlass._DTYPE_SHAPE_CONSTRAINTS[torch.float16].sparse_min_cols == 64
    assert torch.sparse.SparseSemiStructuredTensor._DEFAULT_ALG_ID == 0
    cutlass._load_dispatch_table({})


def test_triton_kernels_can_be_imported_and_refuse_calls() -> None:
    for function in (bsr_dense_addmm, tile_to_blocksize, optimize_bsr_dense_addmm):
        with pytest.raises(RuntimeError, match="CUDA device, and there is none"):
            function()
