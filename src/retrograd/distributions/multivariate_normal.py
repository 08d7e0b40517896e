"""The multivariate normal distribution."""
from __future__ import annotations

import math
from typing import Any

import retrograd as torch
from retrograd import Size
from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution, checked
from retrograd.distributions.utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


def _batch_mv(bmat: Any, bvec: Any) -> Any:
    """Matrices times vectors, both in batches."""
    return (bmat @ bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(bL: Any, bx: Any) -> Any:
    """The squared lengths of L^-1 x; all vectors that share a factor are solved for at once."""
    outer = max(bx.dim() - 1 - (bL.dim() - 2), 0)
    if not bL.shape[-1]:
        bL.reshape((-1, 0, 0))                # vectors without elements are an error
    columns = bx.reshape((-1,) + tuple(bx.shape[outer:])).movedim(0, -1)
    lengths = torch.linalg.solve_triangular(bL, columns, upper=False).pow(2).sum(-2)
    return lengths.movedim(-1, 0).reshape(tuple(bx.shape[:outer]) + tuple(lengths.shape[:-1]))


def _precision_to_scale_tril(P: Any) -> Any:
    """The lower Cholesky factor of the inverse: the upper one of P, by reversing rows and columns, inverted."""
    upper = torch.flip(torch.linalg.cholesky(torch.flip(P, (-2, -1))), (-2, -1))
    return torch.linalg.solve_triangular(upper.mT, torch.eye(P.shape[-1], dtype=P.dtype, device=P.device), upper=False)


class MultivariateNormal(Distribution):
    """Normal vectors, given a covariance matrix, its inverse, or its Cholesky factor.

    >>> MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {"loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}
    support = constraints.real_vector
    has_rsample = True
    _expands = ("loc", "covariance_matrix", "precision_matrix", "scale_tril")
    _keeps = ("_unbroadcasted_scale_tril",)

    def __init__(self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
                 validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        matrices = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given
        if matrix.dim() < 2:
            raise ValueError(f"{'scale_tril matrix' if name == 'scale_tril' else name} must be at least two-dimensional, with "
                             "optional leading batch dimensions")
        batch_shape = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(tuple(batch_shape) + (-1, -1)))
        self.loc = loc.expand(tuple(batch_shape) + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = (
            matrix if name == "scale_tril" else torch.linalg.cholesky(matrix) if name == "covariance_matrix"
            else _precision_to_scale_tril(matrix))

    def _matrices(self, matrix: Any) -> Any:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Any:
        return self._matrices(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        return self._matrices(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        return self._matrices(torch.cholesky_inverse(self._unbroadcasted_scale_tril))

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Any:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = Size()) -> Any:        # noqa: B008
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def _half_log_det(self) -> Any:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    @checked
    def log_prob(self, value: Any) -> Any:
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._half_log_det()

    def entropy(self) -> Any:
        return (0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()).expand(self._batch_shape)
