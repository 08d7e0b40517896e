"""Ready-made parametrizations: orthogonal matrices, weight norm and spectral norm."""
from __future__ import annotations

from enum import Enum, auto
from typing import Any

import retrograd as torch
from retrograd import Tensor
from retrograd.nn import functional as F
from retrograd.nn.modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from retrograd.nn.modules.module import Module
from retrograd.nn.utils import parametrize
from retrograd.nn.utils._power_iteration import as_matrix, check_iterations, normalized_weight

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def has_orthonormal_columns(q: Any) -> bool:
    n, k = q.size(-2), q.size(-1)
    eye = torch.eye(k, dtype=q.dtype, device=q.device)
    eps = 10.0 * n * torch.finfo(q.dtype).eps
    return bool(torch.allclose(q.mH @ q, eye, atol=eps))


def orthogonalized(matrix: Any) -> Any:
    """The orthogonal factor of QR with a positive diagonal of R: an orthogonal matrix stays what it is."""
    reflections, tau = torch.geqrf(matrix)
    q = torch.linalg.householder_product(reflections, tau)
    signs = reflections.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)
    return q * signs


class _OrthMaps(Enum):
    """How an orthogonal matrix is made of free numbers."""

    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    """A matrix with orthonormal columns (or rows), as a function of a matrix of free numbers."""

    base: Any

    def __init__(self, weight: Any, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Any) -> Any:
        wide = X.size(-2) < X.size(-1)
        x = X.mT if wide else X
        n, k = x.size(-2), x.size(-1)
        if self.orthogonal_map is _OrthMaps.householder:
            below = x.tril(diagonal=-1)
            q = torch.linalg.householder_product(below, 2.0 / (1.0 + (below * below).sum(dim=-2)))
            q = q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)        # signs, which are not trained
        else:
            x = x.tril()
            if n != k:
                x = torch.cat([x, x.new_zeros(n, n - k).expand(*x.shape[:-2], -1, -1)], dim=-1)
            skew = x - x.mH
            if self.orthogonal_map is _OrthMaps.matrix_exp:
                q = torch.matrix_exp(skew)
            else:
                eye = torch.eye(n, dtype=x.dtype, device=x.device)
                q = torch.linalg.solve(torch.add(eye, skew, alpha=-0.5), torch.add(eye, skew, alpha=0.5))
            q = q[..., :k] if n != k else q
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if wide else q

    def right_inverse(self, Q: Any) -> Any:
        """Free numbers that give `Q`, which is made orthogonal where that is possible."""
        if Q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}.")
        with torch.no_grad():
            wide = Q.size(-2) < Q.size(-1)
            q = Q.mT if wide else Q
            n, k = q.size(-2), q.size(-1)
            if not hasattr(self, "base"):
                if self.orthogonal_map is not _OrthMaps.householder:
                    raise NotImplementedError("It is not possible to assign to the matrix exponential or the Cayley "
                                              "parametrizations when use_trivialization=False.")
                reflections, tau = torch.geqrf(q)
                diagonal = reflections.diagonal(dim1=-2, dim2=-1)
                diagonal.sign_()
                diagonal[tau == 0.0] *= -1          # no reflection was needed there
                return reflections.mT if wide else reflections
            if n != k:                              # complete to a square matrix
                extra = torch.randn(*q.shape[:-2], n, n - k, dtype=q.dtype, device=q.device)
                q = orthogonalized(torch.cat([q, extra], dim=-1))
            else:
                q = q.clone() if has_orthonormal_columns(q) else orthogonalized(q)
            self.base = q
            start = torch.zeros_like(Q)             # gives the identity under every map
            start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return start


def orthogonal(module: Any, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True) -> Any:
    """Keep the matrix `name` of a module orthogonal (unitary, if complex).

    >>> import retrograd as torch
    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(2, 3))
    >>> torch.allclose(layer.weight.T @ layer.weight, torch.eye(2), atol=1e-5)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _OrthMaps.__members__:
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    made = _Orthogonal(weight, _OrthMaps[orthogonal_map], use_trivialization=use_trivialization)
    parametrize.register_parametrization(module, name, made, unsafe=True)
    return module


class _WeightNorm(Module):
    """A tensor as its length, for each index of `dim`, times its direction."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Any, weight_v: Any) -> Any:
        return normalized_weight(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Any) -> Any:
        return torch.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Train length and direction of a weight apart; `dim=None` means one length for the whole tensor.

    >>> import retrograd as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 3))
    >>> layer.parametrizations.weight.original0.shape
    torch.Size([3, 1])
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict: Any, prefix: str, *rest: Any) -> None:
        """What the older weight_norm saved."""
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all([key in state_dict for key in old]):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    """A tensor divided by the largest singular value of the matrix it makes."""

    _u: Any
    _v: Any

    def __init__(self, weight: Any, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        check_iterations(n_power_iterations)
        self.dim, self.eps = dim % ndim, eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            for name, size in zip(("_u", "_v"), matrix.size(), strict=True):
                self.register_buffer(name, F.normalize(matrix.new_empty(size).normal_(0, 1), dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight: Any) -> Any:
        return as_matrix(weight, self.dim)

    def _power_method(self, matrix: Any, iterations: int) -> None:
        with torch.no_grad():       # in place, so that replicas share the vectors
            for _ in range(iterations):
                F.normalize(torch.mv(matrix, self._v), dim=0, eps=self.eps, out=self._u)
                F.normalize(torch.mv(matrix.H, self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight: Any) -> Any:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # clones: the graph of one forward must survive the power iteration of the next
        u, v = (t.clone(memory_format=torch.contiguous_format) for t in (self._u, self._v))
        return weight / torch.vdot(u, torch.mv(matrix, v))

    def right_inverse(self, value: Any) -> Any:
        return value


def spectral_norm(module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Any:
    """Keep the largest singular value of a weight at 1, estimated by power iteration.

    >>> import retrograd as torch
    >>> layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(2, 2)).eval()
    >>> layer.parametrizations.weight[0]._u.shape
    torch.Size([2])
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module
