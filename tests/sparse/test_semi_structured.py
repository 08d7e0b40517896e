"""Semi-structured sparse tensors, of which there are only the names."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd.sparse import SparseSemiStructuredTensor, SparseSemiStructuredTensorCUTLASS, to_sparse_semi_structured
from retrograd.sparse._triton_ops_meta import get_meta, minimize, update


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
