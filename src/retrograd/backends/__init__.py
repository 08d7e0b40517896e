"""What computes underneath, as far as PyTorch lets programs ask: NumPy on the cpu, and nothing else."""
from __future__ import annotations

from retrograd.backends import cpu, cuda, cudnn, mha, mkl, mkldnn, mps, nnpack, openmp, opt_einsum, xnnpack

__all__ = ["cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum", "xnnpack"]

fp32_precision = "none"
