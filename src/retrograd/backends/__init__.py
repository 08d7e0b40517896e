"""What computes underneath, as far as PyTorch lets programs ask: NumPy on the cpu, and nothing else."""
from __future__ import annotations

from retrograd.backends import (
    cpu,
    cuda,
    cudnn,
    mha,
    mkl,
    mkldnn,
    mps,
    nnpack,
    openmp,
    opt_einsum,
    python_native,
    quantized,
    xnnpack,
)
from retrograd.backends.frozen import disable_global_flags, flags_frozen

__all__ = ["cpu", "cuda", "cudnn", "disable_global_flags", "flags_frozen", "mha", "mkl", "mkldnn", "mps", "nnpack", "openmp",
           "opt_einsum", "python_native", "quantized", "xnnpack"]

fp32_precision = "none"
