"""The Wishart distribution over positive definite matrices."""
from __future__ import annotations

import math
import warnings
from typing import Any

import retrograd as torch
from retrograd import Size, nan
from retrograd.distributions import constraints
from retrograd.distributions.chi2 import Chi2
from retrograd.distributions.distribution import checked
from retrograd.distributions.exp_family import ExponentialFamily
from retrograd.distributions.multivariate_normal import _precision_to_scale_tril
from retrograd.distributions.utils import lazy_property

__all__ = ["Wishart"]


def _mvdigamma(x: Any, p: int) -> Any:
    """The derivative of `mvlgamma`."""
    if not (x > (p - 1) / 2).all():
        raise AssertionError("Wrong domain for multivariate digamma function.")
    return torch.digamma(x.unsqueeze(-1) - torch.arange(p, dtype=x.dtype, device=x.device) / 2).sum(-1)


class Wishart(ExponentialFamily):
    """The sum of outer products of `df` normal vectors with the given covariance.

    >>> Wishart(torch.tensor(3.0), torch.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _expands = ("df", "covariance_matrix", "precision_matrix", "scale_tril", "_dist_chi2")
    _keeps = ("_unbroadcasted_scale_tril",)

    def __init__(self, df: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
                 validate_args: bool | None = None) -> None:
        matrices = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
        if len(given) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        if isinstance(df, torch.Tensor):
            batch_shape = torch.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        else:
            batch_shape = matrix.shape[:-2]
            self.df = torch.tensor(df, dtype=matrix.dtype, device=matrix.device)
        p = matrix.shape[-1]
        if (self.df <= p - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {p - 1}.")
        if (self.df < p).any():
            warnings.warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                          stacklevel=2)
        setattr(self, name, matrix.expand(tuple(batch_shape) + (-1, -1)))
        super().__init__(batch_shape, matrix.shape[-2:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = (
            matrix if name == "scale_tril" else torch.linalg.cholesky(matrix) if name == "covariance_matrix"
            else _precision_to_scale_tril(matrix))
        orders = torch.arange(p, dtype=matrix.dtype, device=matrix.device).expand(tuple(batch_shape) + (-1,))
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - orders)

    @property
    def arg_constraints(self) -> dict[str, Any]:
        return {"covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
                "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self._event_shape[-1] - 1)}

    def _matrices(self, matrix: Any) -> Any:
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Any:
        return self._matrices(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        return self._matrices(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        factor = self._unbroadcasted_scale_tril
        identity = torch.eye(self._event_shape[-1], dtype=factor.dtype, device=factor.device)
        return self._matrices(torch.cholesky_solve(identity, factor))

    @property
    def mean(self) -> Any:
        return self.df.expand(self._batch_shape)[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Any:
        factor = self.df.expand(self._batch_shape) - self._event_shape[-1] - 1
        return factor.masked_fill(factor <= 0, nan)[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Any:
        V = self.covariance_matrix
        diagonal = V.diagonal(dim1=-2, dim2=-1)
        return self.df.expand(self._batch_shape)[..., None, None] * (V.pow(2) + diagonal[..., :, None] * diagonal[..., None, :])

    def _bartlett_sampling(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        """Products of a Cholesky factor with Bartlett's triangular matrix of chi and normal values."""
        p = self._event_shape[-1]
        chi = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = chi.clamp(min=torch.finfo(chi.dtype).eps).diag_embed(dim1=-2, dim2=-1)
        rows, columns = torch.tril_indices(p, p, offset=-1)
        noise[..., rows, columns] = torch.randn(Size(sample_shape) + self._batch_shape + (p * (p - 1) // 2,),
                                                dtype=noise.dtype, device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def _for_any_of_batch(self, flags: Any) -> Any:
        return flags.amax(tuple(range(-len(self._batch_shape), 0))) if self._batch_shape else flags

    def rsample(self, sample_shape: Any = Size(), max_try_correction: int | None = None) -> Any:        # noqa: B008
        sample = self._bartlett_sampling(Size(sample_shape))
        # PyTorch draws anew whatever is positive definite in the first round, and what is singular after that: the same
        # seed gives the same samples only if this is kept.
        again = self._for_any_of_batch(self.support.check(sample))
        if again.any():
            warnings.warn("Singular sample detected.", stacklevel=2)
            for _ in range(10 if max_try_correction is None else max_try_correction):
                fresh = self._bartlett_sampling(again[again].shape)
                sample[again] = fresh
                still = torch.zeros_like(again)
                still[again] = self._for_any_of_batch(~self.support.check(fresh))
                again = still
                if not again.any():
                    break
        return sample

    def _half_log_det(self) -> Any:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    @checked
    def log_prob(self, value: Any) -> Any:
        nu, p = self.df, self._event_shape[-1]
        trace = torch.cholesky_solve(value, self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (-nu * (p * math.log(2) / 2 + self._half_log_det()) - torch.mvlgamma(nu / 2, p=p)
                + (nu - p - 1) / 2 * torch.linalg.slogdet(value).logabsdet - trace / 2)

    def entropy(self) -> Any:
        nu, p = self.df, self._event_shape[-1]
        return ((p + 1) * (p * math.log(2) / 2 + self._half_log_det()) + torch.mvlgamma(nu / 2, p=p)
                - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p=p) + nu * p / 2)

    @property
    def _natural_params(self) -> Any:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Any, y: Any) -> Any:      # type: ignore[override]
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return half * (-torch.linalg.slogdet(-2 * x).logabsdet + math.log(2) * p) + torch.mvlgamma(half, p=p)
