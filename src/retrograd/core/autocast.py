"""Autocast: while it is on, some ops compute in a lower precision and some in float32, whatever their inputs are.

It comes before everything else that happens to an op: the casts are ordinary recorded ops, and what an op does inside is
not cast again. A leaf that is cast for an op is kept until the outermost scope ends, so that one cast serves all uses.
"""
from __future__ import annotations

from _thread import _local
from typing import Any
from weakref import ref

from retrograd.core import dtypes
from retrograd.core.device import CPU
from retrograd.core.dispatch import call
from retrograd.core.hooks import hooks
from retrograd.core.opdef import AUTOCAST
from retrograd.core.state import set_flag, tls
from retrograd.core.tensor import Tensor

LOWER = ("_addmm_activation", "addbmm", "addmm", "baddbmm", "bmm", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d",
         "conv_transpose2d", "conv_transpose3d", "linalg_vecdot", "linear", "matmul", "mm", "prelu",
         "scaled_dot_product_attention")
FLOAT32 = ("adaptive_avg_pool3d", "adaptive_max_pool3d", "avg_pool3d", "binary_cross_entropy",
           "binary_cross_entropy_with_logits",
           "cdist", "cholesky", "cholesky_inverse", "cholesky_solve", "cosine_embedding_loss", "cross_entropy_loss", "ctc_loss",
           "fft_fft", "fft_fft2", "fft_fftn", "fft_hfft", "fft_ifft", "fft_ifft2", "fft_ifftn", "fft_ihfft", "fft_irfft",
           "fft_irfft2", "fft_irfftn", "fft_rfft", "fft_rfft2", "fft_rfftn", "fractional_max_pool2d", "fractional_max_pool3d",
           "geqrf", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "hinge_embedding_loss", "huber_loss", "inverse",
           "kl_div", "l1_loss", "linalg_cholesky", "linalg_cholesky_ex", "linalg_cond", "linalg_eig", "linalg_eigh",
           "linalg_eigvals", "linalg_eigvalsh", "linalg_householder_product", "linalg_inv", "linalg_inv_ex", "linalg_lstsq",
           "linalg_matrix_rank", "linalg_qr", "linalg_solve", "linalg_svd", "linalg_svdvals", "linalg_tensorinv",
           "linalg_tensorsolve", "lu_solve", "margin_ranking_loss", "max_pool3d", "max_unpool2d", "max_unpool3d", "mse_loss",
           "multi_margin_loss", "multilabel_margin_loss", "nanquantile", "nll_loss", "nll_loss2d", "orgqr", "ormqr", "pinverse",
           "poisson_nll_loss", "polar", "prod", "qr", "quantile", "reflection_pad1d", "reflection_pad2d", "replication_pad1d",
           "replication_pad2d", "replication_pad3d", "smooth_l1_loss", "soft_margin_loss", "stft", "svd", "trace",
           "triangular_solve", "triplet_margin_loss", "view_as_complex")
WIDEST = ("cat", "index_copy", "stack")


class AutocastState(_local):
    """What one thread has set; whether autocast is on, and in which dtype, is `tls.autocast`."""

    dtype: Any = dtypes.bfloat16
    cache_enabled: bool = True
    nesting: int = 0

    def __init__(self) -> None:
        self.casts: dict[Any, tuple[Any, Any]] = {}       # (id of a leaf, dtype) -> (weak reference to it, its cast)


state = AutocastState()


def enable(on: bool) -> None:
    """Switch autocast for this thread."""
    set_flag("autocast", state.dtype if on else None)


def use_dtype(dtype: Any) -> None:
    state.dtype = dtype
    if tls.autocast is not None:
        tls.autocast = dtype


def run(op: Any, args: Any) -> Any:
    """Do an op that autocast has a say in."""
    lower = tls.autocast
    tls.autocast = None                   # only the flag: the count of what is special stays, and is right again below
    try:
        if not (op.is_out or op.is_inplace):
            policy = AUTOCAST[op.name]
            target = lower if policy == "lower" else dtypes.float32
            if policy == "widest" and not any([t.dtype is dtypes.float32 for t in tensors(args)]):
                target = lower
            args = [[cast(item, target, lower) for item in a] if isinstance(a, (list, tuple)) else cast(a, target, lower)
                    for a in args]
        return call(op, args)
    finally:
        tls.autocast = lower


def tensors(args: Any) -> list[Any]:
    found = []
    for a in args:
        found.extend([t for t in (a if isinstance(a, (list, tuple)) else (a,)) if isinstance(t, Tensor)])
    return found


def cast(t: Any, target: Any, lower: Any) -> Any:
    """`t` in the dtype `target`, if it is a floating-point tensor that autocast may touch."""
    if not isinstance(t, Tensor) or not t.dtype.is_floating_point or t.dtype is dtypes.float64 or t.dtype is target or (
            t.device is not CPU):
        return t
    keep = (target is lower and t.dtype is dtypes.float32 and state.cache_enabled and t.requires_grad and t.is_leaf
            and t._view is None and tls.grad_enabled)
    if not keep:
        return hooks.to(t, target)
    found = state.casts.get((id(t), target))
    if found is not None and found[0]() is t:
        return found[1]
    made = hooks.to(t, target)
    state.casts[id(t), target] = (ref(t), made)
    return made


hooks.autocast = run
AUTOCAST.update({**dict.fromkeys(LOWER, "lower"), **dict.fromkeys(FLOAT32, "float32"), **dict.fromkeys(WIDEST, "widest")})
