"""Approximate singular value decompositions and principal components of large matrices, by random projections."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.core.api import overridable

__all__ = ["pca_lowrank", "svd_lowrank"]


def product(A: Any, B: Any) -> Any:
    return torch.sparse.mm(A, B) if A.layout is not torch.strided else torch.matmul(A, B)


MOST_STEPS = 10**6


def get_approximate_basis(A: Any, q: int, niter: int | None = 2, M: Any = None) -> Any:
    """An orthonormal basis of `q` vectors whose span nearly contains the range of A - M, by Halko's subspace iteration."""
    niter = 2 if niter is None else niter
    R = torch.randn(A.shape[-1], q, dtype=A.dtype, device=A.device)

    def times(X: Any) -> Any:
        return product(A, X) if M is None else product(A, X) - torch.matmul(M, X)

    def adjoint_times(X: Any) -> Any:
        made = product(A.mH if A.layout is torch.strided else A.transpose(-2, -1).conj(), X)
        return made if M is None else made - torch.matmul(M.mH, X)

    Q = torch.linalg.qr(times(R)).Q
    if niter > MOST_STEPS:
        raise ValueError(f"niter(={niter}) must be at most {MOST_STEPS}: a subspace that has not converged by then never does")
    for _ in range(niter):
        Q = torch.linalg.qr(adjoint_times(Q)).Q
        Q = torch.linalg.qr(times(Q)).Q
    return Q


def seen(function: Any) -> Any:
    """Let subclasses and modes see calls of a function."""
    return overridable(function, function.__name__, "torch._lowrank")


@seen
def svd_lowrank(A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None) -> tuple[Any, Any, Any]:
    """U, S and V of a matrix that has rank `q` or nearly so; A is near U diag(S) V^H.

    >>> U, S, V = svd_lowrank(torch.eye(3), q=3)
    >>> S.round(decimals=3)
    tensor([1., 1., 1.])
    """
    q = 6 if q is None else q
    if M is not None:
        M = M.broadcast_to(A.size())
    rows, columns = A.shape[-2:]
    tall = rows >= columns
    if not tall:        # the smaller side is decomposed
        A = A.mH if A.layout is torch.strided else A.transpose(-2, -1).conj()
        M = None if M is None else M.mH
    Q = get_approximate_basis(A, q, niter=niter, M=M)
    B = product(A.mH if A.layout is torch.strided else A.transpose(-2, -1).conj(), Q).mH
    if M is not None:
        B = B - torch.matmul(Q.mH, M)
    U, S, Vh = torch.linalg.svd(B, full_matrices=False)
    U, V = Q.matmul(U), Vh.mH
    return (U, S, V) if tall else (V, S, U)


@seen
def pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Any, Any, Any]:
    """U, S and V of a matrix whose columns are centred: the columns of V are its principal directions.

    >>> U, S, V = pca_lowrank(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]), q=1)
    >>> V.abs().round(decimals=3).tolist()
    [[1.0], [0.0]]
    """
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if not center:
        return svd_lowrank(A, q, niter=niter, M=None)
    if A.layout is not torch.strided:
        mean = torch.sparse.sum(A, dim=(-2,)).to_dense().reshape(1, n) / m
        return svd_lowrank(A, q, niter=niter, M=mean)
    return svd_lowrank(A - A.mean(dim=-2, keepdim=True), q, niter=niter, M=None)
