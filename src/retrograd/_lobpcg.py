"""torch.lobpcg: some eigenpairs of a large symmetric matrix, by locally optimal preconditioned conjugate gradients."""
from __future__ import annotations

from typing import Any

import numpy as np

import retrograd as torch
from retrograd.autograd.function import Function
from retrograd.core.api import overridable

# How small residuals must be, relative to the matrix, if nothing else is asked for.
TOLERANCES = {"float32": 1e-6, "float64": 1e-13}


def seen(function: Any) -> Any:
    """Let subclasses and modes see calls of a function."""
    return overridable(function, function.__name__, "torch._lobpcg")


@seen
def lobpcg(A: Any, k: Any = None, B: Any = None, X: Any = None, n: Any = None, iK: Any = None, niter: Any = None,
           tol: Any = None, largest: Any = None, method: Any = None, tracker: Any = None, ortho_iparams: Any = None,
           ortho_fparams: Any = None, ortho_bparams: Any = None) -> Any:
    """The k largest (or smallest) eigenvalues of a symmetric matrix, and their eigenvectors."""
    if torch.is_grad_enabled() and (A.requires_grad or (B is not None and B.requires_grad)):
        A = (A + A.mT) / 2
        B = None if B is None else (B + B.mT) / 2
        return LOBPCGAutogradFunction.apply(A, k, B, X, n, iK, niter, tol, largest, method, tracker, ortho_iparams,
                                            ortho_fparams, ortho_bparams)
    return solve(A, k, B, X, n, iK, niter, tol, largest, method, tracker)


def solve(A: Any, k: Any, B: Any, X: Any, n: Any, iK: Any, niter: Any, tol: Any, largest: Any, method: Any,
          tracker: Any) -> Any:
    """Run the method on each matrix of a stack."""
    if A.shape[-2] != A.shape[-1]:
        raise AssertionError(f"A must be a square matrix, got shape {A.shape}")
    k = 1 if k is None else k
    rows = A.shape[-1]
    block = (k if X is None else X.shape[-1]) if n is None else n
    if rows < 3 * block:
        raise ValueError(f"LOBPCG algorithm is not applicable when the number of A rows (={rows}) is smaller than 3 x the "
                         f"number of requested eigenpairs (={block})")
    if method not in (None, "basic", "ortho"):
        raise ValueError(f"Unknown method: {method}")
    batch = tuple(A.shape[:-2])
    start = torch.randn((*batch, rows, block), dtype=A.dtype) if X is None else X
    tol = TOLERANCES[str(A.dtype).split(".")[-1]] if tol is None else tol
    matrices = A.detach().numpy().reshape((-1, rows, rows))
    starts = np.broadcast_to(start.detach().numpy(), (*batch, rows, block)).reshape((-1, rows, block))
    others = None if B is None else np.broadcast_to(B.detach().numpy(), A.shape).reshape(matrices.shape)
    preconditioners = None if iK is None else np.broadcast_to(iK.detach().numpy(), A.shape).reshape(matrices.shape)
    values, vectors = [], []
    for i, matrix in enumerate(matrices):
        worker = Iteration(matrix, None if others is None else others[i], starts[i],
                           None if preconditioners is None else preconditioners[i], largest is not False, tol, tracker)
        worker.run(1000 if niter is None else niter)
        values.append(worker.E[:k])
        vectors.append(worker.X[:, :k])
    made = np.ascontiguousarray(np.stack(values)).reshape((*batch, k))
    columns = np.ascontiguousarray(np.stack(vectors)).reshape((*batch, rows, k))
    return torch.from_numpy(made.astype(matrices.dtype)), torch.from_numpy(columns.astype(matrices.dtype))


class Iteration:
    """The state of the method for one matrix; a `tracker` sees it after every step."""

    def __init__(self, A: Any, B: Any, X: Any, iK: Any, largest: bool, tol: float, tracker: Any) -> None:
        self.root = None if B is None else np.linalg.cholesky(B)
        # with B = L L^T the problem for L^-1 A L^-T is an ordinary one
        self.A = A if self.root is None else np.linalg.solve(self.root, np.linalg.solve(self.root, A).T)
        self.iK, self.largest, self.tol, self.tracker = iK, largest, tol, tracker
        self.S = X if self.root is None else self.root.T @ X
        self.size = np.linalg.norm(self.A)
        self.ivars = {"istep": 0, "converged_count": 0}
        self.X = np.linalg.qr(self.S)[0]
        self.P: Any = None
        self.E, self.X = self.project(self.X)

    def project(self, basis: Any) -> tuple[Any, Any]:
        """The best eigenpairs within a subspace."""
        values, vectors = np.linalg.eigh(basis.T @ self.A @ basis)
        count = self.X.shape[1]
        order = slice(None, -count - 1, -1) if self.largest else slice(0, count)
        return values[order], basis @ vectors[:, order]

    def run(self, niter: int) -> None:
        for step in range(niter + 1 if niter >= 0 else 100000):
            residual = self.A @ self.X - self.X * self.E
            errors = np.linalg.norm(residual, axis=0) / (self.size + np.abs(self.E))
            self.ivars.update(istep=step, converged_count=int((errors <= self.tol).sum()))
            self.R, self.tvars = residual, {"rerr": errors}
            if self.tracker is not None:
                self.tracker(self)
            if (errors <= self.tol).all() or step == niter:
                break
            self.advance(residual)
        if self.root is not None:
            self.X = np.linalg.solve(self.root.T, self.X)

    def advance(self, residual: Any) -> None:
        """Minimize over what is known: the eigenvectors so far, the residuals, the last directions."""
        parts = [residual if self.iK is None or self.root is not None else self.iK @ residual]
        if self.P is not None:
            parts.append(self.P)
        basis = self.X
        for part in parts:
            basis = extended(basis, part)
        before = self.X
        self.E, self.X = self.project(basis)
        self.P = self.X - before @ (before.T @ self.X)


def extended(basis: Any, part: Any) -> Any:
    """An orthonormal basis of the columns of both; directions that are only rounding errors are left out."""
    for column in part.T:
        length = np.linalg.norm(column)
        if length == 0 or basis.shape[0] == basis.shape[1]:
            continue
        column = column / length
        for _ in range(2):
            column = column - basis @ (basis.T @ column)
        rest = np.linalg.norm(column)
        if rest > 10 * np.finfo(part.dtype).eps:
            column = column / rest
            column = column - basis @ (basis.T @ column)
            basis = np.concatenate([basis, (column / np.linalg.norm(column))[:, None]], 1)
    return basis


class LOBPCGAutogradFunction(Function):
    """The eigenpairs as functions of the matrix."""

    @staticmethod
    def forward(ctx: Any, A: Any, k: Any, B: Any, X: Any, n: Any, iK: Any, niter: Any, tol: Any, largest: Any, method: Any,
                tracker: Any, *ortho: Any) -> Any:
        D, U = solve(A, k, B, X, n, iK, niter, tol, largest, method, tracker)
        ctx.save_for_backward(A, B, D, U)
        return D, U

    @staticmethod
    def backward(ctx: Any, D_grad: Any, U_grad: Any) -> Any:
        A, B, D, U = ctx.saved_tensors
        if A.is_complex():
            raise ValueError("lobpcg.backward does not support complex input yet.Note that lobpcg.forward does though.")
        if B is not None:
            raise ValueError("lobpcg.backward does not support backward with B != I yet.")
        return (eigen_gradient(D_grad, U_grad, A, D, U), *[None] * 13)


def eigen_gradient(D_grad: Any, U_grad: Any, A: Any, D: Any, U: Any) -> Any:
    """The gradient of some eigenpairs: a move of each vector within their span, and one out of it."""
    gaps = D.unsqueeze(-2) - D.unsqueeze(-1)
    same = torch.eye(D.shape[-1], dtype=torch.bool)
    factors = torch.where(same, 0.0, 1.0 / gaps.masked_fill(same, 1.0))
    inside = D_grad.diag_embed() + (U.mT @ U_grad) * factors
    made = U @ inside @ U.mT
    rows = A.shape[-1]
    unit = torch.eye(rows, dtype=A.dtype)
    span = U @ U.mT
    away = unit - span
    # one system for each eigenvector: (d - A) on what is orthogonal to all of them
    systems = D.unsqueeze(-1).unsqueeze(-1) * away.unsqueeze(-3) - (away @ A @ away).unsqueeze(-3) + span.unsqueeze(-3)
    right = (away @ U_grad).mT.unsqueeze(-1)
    outside = torch.linalg.solve(systems, right).squeeze(-1).mT
    return made + outside @ U.mT
