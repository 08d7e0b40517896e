"""PyTorch's Triton kernels for block-sparse products, and what prepares their launches: to be imported, not called."""
from __future__ import annotations

from typing import Any


def needs_triton(*args: Any, **kwargs: Any) -> Any:
    """Stands for what launches a Triton kernel.

    >>> bsr_dense_addmm()
    Traceback (most recent call last):
    RuntimeError: Triton kernels run on a CUDA device, and there is none; torch.addmm takes block-sparse tensors on the CPU
    """
    raise RuntimeError("Triton kernels run on a CUDA device, and there is none; torch.addmm takes block-sparse tensors on the "
                       "CPU")


broadcast_batch_dims = broadcast_batch_dims_bsr = bsr_dense_addmm = bsr_dense_addmm_meta = bsr_dense_mm = needs_triton
bsr_scatter_mm = bsr_scatter_mm_indices_data = bsr_softmax = grid_partitioner = launch_kernel = needs_triton
make_triton_contiguous = prepare_inputs = ptr_stride_extractor = scatter_mm = scatter_mm_meta = needs_triton
tile_to_blocksize = needs_triton
