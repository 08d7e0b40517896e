"""What would copy tensors between CUDA devices: to be imported, and refused when called."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd.cuda import _lazy_call, comm, nccl


def test_copies_between_devices_are_refused() -> None:
    assert torch.cuda.comm is comm and torch.cuda.nccl is nccl
    for function in (comm.broadcast, comm.scatter, comm.reduce_add, nccl.all_reduce, nccl.version):
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            function()
    assert not nccl.is_available([torch.ones(1)])


def test_what_waits_for_cuda_never_runs() -> None:
    done: list[int] = []
    _lazy_call(lambda: done.append(1))
    assert done == []
