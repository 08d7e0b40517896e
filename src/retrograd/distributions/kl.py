"""`kl_divergence` and its table of pairs.

Within a family the closed forms are written out, since they must not lose digits near 0. Between families the divergence
is minus the entropy of p minus the mean of log q under p, and log q asks for few means: of x, x**2, log(x) and exp(t x).
"""
from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import retrograd as torch
from retrograd import inf
from retrograd.distributions.bernoulli import Bernoulli
from retrograd.distributions.beta import Beta
from retrograd.distributions.binomial import Binomial
from retrograd.distributions.categorical import Categorical
from retrograd.distributions.cauchy import Cauchy
from retrograd.distributions.continuous_bernoulli import ContinuousBernoulli
from retrograd.distributions.dirichlet import Dirichlet
from retrograd.distributions.exp_family import ExponentialFamily
from retrograd.distributions.exponential import Exponential
from retrograd.distributions.gamma import Gamma
from retrograd.distributions.geometric import Geometric
from retrograd.distributions.gumbel import Gumbel
from retrograd.distributions.half_normal import HalfNormal
from retrograd.distributions.independent import Independent
from retrograd.distributions.laplace import Laplace
from retrograd.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _batch_lowrank_logdet,
    _batch_lowrank_mahalanobis,
)
from retrograd.distributions.multivariate_normal import MultivariateNormal, _batch_mahalanobis
from retrograd.distributions.normal import Normal
from retrograd.distributions.one_hot_categorical import OneHotCategorical
from retrograd.distributions.pareto import Pareto
from retrograd.distributions.poisson import Poisson
from retrograd.distributions.transformed_distribution import TransformedDistribution
from retrograd.distributions.uniform import Uniform
from retrograd.distributions.utils import _sum_rightmost, euler_constant
from retrograd.nn.functional import softplus

__all__ = ["register_kl", "kl_divergence"]

_KL_REGISTRY: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}
_KL_MEMOIZE: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}


def register_kl(type_p: Any, type_q: Any) -> Callable[[Any], Any]:
    """A decorator that adds a function of (p, q) to the table.

    >>> class Mine(Normal): ...
    >>> @register_kl(Mine, Normal)
    ... def kl_mine_normal(p, q):
    ...     return torch.zeros(())
    >>> kl_divergence(Mine(0.0, 1.0), Normal(0.0, 2.0))
    tensor(0.)
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):      # any class: libraries have distributions of their own
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def register(fun: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        _KL_REGISTRY[type_p, type_q] = fun
        _KL_MEMOIZE.clear()
        return fun
    return register


def _dispatch_kl(type_p: type, type_q: type) -> Any:
    """The function of the closest registered pair of base classes."""
    found = []
    for pair in _KL_REGISTRY:
        if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1]):
            found.append((type_p.__mro__.index(pair[0]), type_q.__mro__.index(pair[1]), pair))
    if not found:
        return NotImplemented
    left = min(found)[2]
    right = min(found, key=lambda entry: (entry[1], entry[0]))[2]
    if _KL_REGISTRY[left] is not _KL_REGISTRY[right]:
        warnings.warn(f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl("
                      f"{left[0].__name__}, {right[1].__name__})", RuntimeWarning, stacklevel=3)
    return _KL_REGISTRY[left]


def kl_divergence(p: Any, q: Any) -> Any:
    """The Kullback-Leibler divergence of p from q: the mean under p of log p - log q.

    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    pair = (type(p), type(q))
    fun = _KL_MEMOIZE.get(pair)
    if fun is None:
        fun = _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    if fun is NotImplemented:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}")
    return fun(p, q)


def _inf_where(value: Any, condition: Any) -> Any:
    return torch.where(condition, inf, value)


def _x_log_x(x: Any) -> Any:
    return torch.special.xlogy(x, x)        # zero at zero


# ---- two of the same family
@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p: Any, q: Any) -> Any:
    def one_side(weight: Any, of_q: Any, logits_q: Any, logits_p: Any) -> Any:
        term = _inf_where(weight * (softplus(logits_q) - softplus(logits_p)), of_q == 0)
        return torch.where(weight == 0, 0.0, term)
    return (one_side(p.probs, q.probs, -q.logits, -p.logits) + one_side(1 - p.probs, 1 - q.probs, q.logits, p.logits))


@register_kl(Beta, Beta)
def _kl_beta_beta(p: Any, q: Any) -> Any:
    sum_p, sum_q = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    t1 = q.concentration1.lgamma() + q.concentration0.lgamma() + sum_p.lgamma()
    t2 = p.concentration1.lgamma() + p.concentration0.lgamma() + sum_q.lgamma()
    t3 = (p.concentration1 - q.concentration1) * torch.digamma(p.concentration1)
    t4 = (p.concentration0 - q.concentration0) * torch.digamma(p.concentration0)
    return t1 - t2 + t3 + t4 + (sum_q - sum_p) * torch.digamma(sum_p)


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p: Any, q: Any) -> Any:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return _inf_where(p.total_count * each, p.total_count > q.total_count)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p: Any, q: Any) -> Any:
    t = _inf_where(p.probs * (p.logits - q.logits), q.probs == 0)
    return torch.where(p.probs == 0, 0.0, t).sum(-1)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p: Any, q: Any) -> Any:       # Chyzak and Nielsen, 2019
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p: Any, q: Any) -> Any:
    return (p.mean * (p.logits - q.logits) + p._cont_bern_log_norm() + torch.log1p(-p.probs) - q._cont_bern_log_norm()
            - torch.log1p(-q.probs))


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p: Any, q: Any) -> Any:
    sum_p, sum_q = p.concentration.sum(-1), q.concentration.sum(-1)
    norms = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    apart = p.concentration.digamma() - sum_p.digamma().unsqueeze(-1)
    return sum_p.lgamma() - sum_q.lgamma() - norms + ((p.concentration - q.concentration) * apart).sum(-1)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: Any, q: Any) -> Any:
    if type(p) is not type(q):
        raise NotImplementedError("The cross KL-divergence between different exponential families cannot be computed using "
                                  "Bregman divergences")
    of_p = [parameter.detach().requires_grad_() for parameter in p._natural_params]
    log_norm = p._log_normalizer(*of_p)
    gradients = torch.autograd.grad(log_norm.sum(), of_p, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - log_norm
    for a, b, g in zip(of_p, q._natural_params, gradients):
        term = (b - a) * g
        result = result - term.reshape(term.shape[:result.dim()] + (-1,)).sum(-1)
    return result


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p: Any, q: Any) -> Any:
    t1 = q.concentration * (p.rate / q.rate).log()
    t2 = torch.lgamma(q.concentration) - torch.lgamma(p.concentration)
    t3 = (p.concentration - q.concentration) * torch.digamma(p.concentration)
    return t1 + t2 + t3 + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p: Any, q: Any) -> Any:
    ratio, shift = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return -ratio.log() + shift + ratio * euler_constant + torch.exp((1 + ratio).lgamma() - shift) - (1 + euler_constant)


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p: Any, q: Any) -> Any:
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p: Any, q: Any) -> Any:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + apart / q.scale + ratio * torch.exp(-apart / p.scale) - 1


@register_kl(Normal, Normal)
def _kl_normal_normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p: Any, q: Any) -> Any:
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p: Any, q: Any) -> Any:
    ratio = q.alpha / p.alpha
    return _inf_where(q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1, p.scale < q.scale)


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p: Any, q: Any) -> Any:
    return _inf_where(((q.high - q.low) / (p.high - p.low)).log(), (q.low > p.low) | (q.high < p.high))


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _kl_independent_independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


# ---- multivariate normals, with full and with low-rank covariances
def _root(p: Any) -> Any:
    """A matrix whose product with its transpose is the covariance."""
    if isinstance(p, MultivariateNormal):
        return p._unbroadcasted_scale_tril
    factor, diagonal, _ = p._parts()
    diagonal = diagonal.sqrt().diag_embed()
    batch = torch.broadcast_shapes(factor.shape[:-2], diagonal.shape[:-2])
    return torch.cat([factor.expand(tuple(batch) + factor.shape[-2:]), diagonal.expand(tuple(batch) + diagonal.shape[-2:])], -1)


def _log_det(p: Any) -> Any:
    return 2 * p._half_log_det() if isinstance(p, MultivariateNormal) else _batch_lowrank_logdet(*p._parts())


def _trace_and_distance(q: Any, root: Any, apart: Any) -> tuple[Any, Any]:
    """tr(C^-1 root root') and apart' C^-1 apart, for the covariance C of q."""
    if isinstance(q, MultivariateNormal):
        solved = torch.linalg.solve_triangular(q._unbroadcasted_scale_tril, root, upper=False)
        return solved.pow(2).sum((-2, -1)), _batch_mahalanobis(q._unbroadcasted_scale_tril, apart)
    factor, diagonal, capacitance = q._parts()
    solved = torch.linalg.solve_triangular(capacitance, (factor.mT / diagonal.unsqueeze(-2)) @ root, upper=False)
    trace = (root.pow(2) / diagonal.unsqueeze(-1)).sum((-2, -1)) - solved.pow(2).sum((-2, -1))
    return trace, _batch_lowrank_mahalanobis(factor, diagonal, apart, capacitance)


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_normal_vectors(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape:
        raise ValueError("KL-divergence between two Multivariate Normals with different event shapes cannot be computed")
    trace, distance = _trace_and_distance(q, _root(p), q.loc - p.loc)
    return 0.5 * (_log_det(q) - _log_det(p) + trace + distance - p.event_shape[0])


# ---- two families: means under p of what log q is made of
def _mean_log(p: Any) -> Any:
    """The mean of log(x)."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Gamma):
        return p.concentration.digamma() - p.rate.log()
    if isinstance(p, Exponential):
        return -euler_constant - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return (_x_log_x(p.high) - _x_log_x(p.low)) / (p.high - p.low) - 1      # uniform


def _mean_exp(p: Any, t: Any) -> Any:
    """The mean of exp(t x)."""
    if isinstance(p, Gamma):
        return (1 - t / p.rate).pow(-p.concentration)
    if isinstance(p, Exponential):
        return p.rate / (p.rate - t)
    if isinstance(p, Normal):
        return torch.exp(p.loc * t + 0.5 * (p.scale * t).pow(2))
    return (torch.exp(t * p.high) - torch.exp(t * p.low)) / (t * (p.high - p.low))      # uniform


def _mean_log_normal(p: Any, q: Any) -> Any:
    apart = p.variance + (p.mean - q.loc).pow(2)
    return -0.5 * apart / q.scale.pow(2) - q.scale.log() - 0.5 * math.log(2 * math.pi)


def _mean_log_exponential(p: Any, q: Any) -> Any:
    return q.rate.log() - q.rate * p.mean


def _mean_log_gamma(p: Any, q: Any) -> Any:
    return (q.concentration * q.rate.log() - q.concentration.lgamma() + (q.concentration - 1) * _mean_log(p)
            - q.rate * p.mean)


def _mean_log_gumbel(p: Any, q: Any) -> Any:
    return (q.loc - p.mean) / q.scale - torch.exp(q.loc / q.scale) * _mean_exp(p, -1 / q.scale) - q.scale.log()


def _mean_log_continuous_bernoulli(p: Any, q: Any) -> Any:
    return p.mean * q.logits + torch.log1p(-q.probs) + q._cont_bern_log_norm()


def _cross(mean_log_q: Callable[[Any, Any], Any], outside: Callable[[Any, Any], Any] | None = None) -> Any:
    """The divergence for a mean of log q; infinite where p has mass outside of the support of q."""
    def divergence(p: Any, q: Any) -> Any:
        value = -p.entropy() - mean_log_q(p, q)
        return value if outside is None else _inf_where(value, outside(p, q))
    return divergence


def _infinite(p: Any, q: Any) -> Any:
    return torch.full(p.batch_shape, inf, dtype=p.mean.dtype, device=p.mean.device)


def _below_zero(p: Any, q: Any) -> Any:
    return p.low < 0


def _outside_unit_interval(p: Any, q: Any) -> Any:
    return (p.low < 0) | (p.high > 1)


_p: type
for _p in (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform):
    register_kl(_p, Normal)(_cross(_mean_log_normal))
for _p in (Beta, ContinuousBernoulli, Gamma, Pareto):
    register_kl(_p, Exponential)(_cross(_mean_log_exponential))
for _p in (Beta, Exponential, Pareto):
    register_kl(_p, Gamma)(_cross(_mean_log_gamma))
for _p in (Exponential, Gamma, Normal, Uniform):
    register_kl(_p, Gumbel)(_cross(_mean_log_gumbel))
register_kl(Beta, ContinuousBernoulli)(_cross(_mean_log_continuous_bernoulli))
register_kl(Uniform, Exponential)(_cross(_mean_log_exponential, _below_zero))
register_kl(Uniform, Gamma)(_cross(_mean_log_gamma, _below_zero))
register_kl(Bernoulli, Poisson)(_cross(lambda p, q: p.probs * q.rate.log() - q.rate))
register_kl(Beta, Uniform)(_cross(lambda p, q: -(q.high - q.low).log(), lambda p, q: (q.low > 0) | (q.high < 1)))
# PyTorch counts the bounds of the unit interval as outside here.
register_kl(ContinuousBernoulli, Uniform)(
    _cross(lambda p, q: -(q.high - q.low).log(), lambda p, q: (q.low >= 0) | (q.high <= 1)))
register_kl(Uniform, ContinuousBernoulli)(
    _cross(_mean_log_continuous_bernoulli, lambda p, q: (p.high >= 1) | (p.low <= 0)))
register_kl(Uniform, Pareto)(_cross(
    lambda p, q: q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_log(p), lambda p, q: p.low < q.scale))


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p: Any, q: Any) -> Any:
    mirrored = Uniform(1 - p.high, 1 - p.low, validate_args=False)
    log_norm = q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma()
    mean_log_q = (q.concentration1 - 1) * _mean_log(p) + (q.concentration0 - 1) * _mean_log(mirrored) - log_norm
    return _inf_where(-p.entropy() - mean_log_q, _outside_unit_interval(p, q))


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p: Any, q: Any) -> Any:
    z = (p.loc - q.loc) / p.scale
    mean_apart = p.scale * (math.sqrt(2 / math.pi) * torch.exp(-0.5 * z.pow(2)) + z * torch.erf(math.sqrt(0.5) * z))
    return -p.entropy() + mean_apart / q.scale + torch.log(2 * q.scale)


# mass where q has none
for _p, _kinds in (
    (Beta, (Pareto,)), (ContinuousBernoulli, (Pareto,)), (Poisson, (Bernoulli, Binomial)),
    (Exponential, (Beta, ContinuousBernoulli, Pareto, Uniform)), (Gamma, (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Pareto, (Beta, ContinuousBernoulli, Uniform)),
    *[(kind, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)) for kind in (Gumbel, Laplace, Normal)],
):
    for _q in _kinds:
        register_kl(_p, _q)(_infinite)
