"""Probability distributions with gradients, their constraints, transforms and divergences.

    >>> import retrograd as torch
    >>> d = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
    >>> d.log_prob(torch.zeros(2))
    tensor([-0.9189, -0.9189])
"""
from retrograd.distributions import transforms
from retrograd.distributions.bernoulli import Bernoulli
from retrograd.distributions.beta import Beta
from retrograd.distributions.binomial import Binomial
from retrograd.distributions.categorical import Categorical
from retrograd.distributions.cauchy import Cauchy
from retrograd.distributions.chi2 import Chi2
from retrograd.distributions.constraint_registry import biject_to, transform_to
from retrograd.distributions.continuous_bernoulli import ContinuousBernoulli
from retrograd.distributions.dirichlet import Dirichlet
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.exp_family import ExponentialFamily
from retrograd.distributions.exponential import Exponential
from retrograd.distributions.fishersnedecor import FisherSnedecor
from retrograd.distributions.gamma import Gamma
from retrograd.distributions.generalized_pareto import GeneralizedPareto
from retrograd.distributions.geometric import Geometric
from retrograd.distributions.gumbel import Gumbel
from retrograd.distributions.half_cauchy import HalfCauchy
from retrograd.distributions.half_normal import HalfNormal
from retrograd.distributions.independent import Independent
from retrograd.distributions.inverse_gamma import InverseGamma
from retrograd.distributions.kl import _KL_REGISTRY, kl_divergence, register_kl
from retrograd.distributions.kumaraswamy import Kumaraswamy
from retrograd.distributions.laplace import Laplace
from retrograd.distributions.lkj_cholesky import LKJCholesky
from retrograd.distributions.log_normal import LogNormal
from retrograd.distributions.logistic_normal import LogisticNormal
from retrograd.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from retrograd.distributions.mixture_same_family import MixtureSameFamily
from retrograd.distributions.multinomial import Multinomial
from retrograd.distributions.multivariate_normal import MultivariateNormal
from retrograd.distributions.negative_binomial import NegativeBinomial
from retrograd.distributions.normal import Normal
from retrograd.distributions.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from retrograd.distributions.pareto import Pareto
from retrograd.distributions.poisson import Poisson
from retrograd.distributions.relaxed_bernoulli import RelaxedBernoulli
from retrograd.distributions.relaxed_categorical import RelaxedOneHotCategorical
from retrograd.distributions.studentT import StudentT
from retrograd.distributions.transformed_distribution import TransformedDistribution
from retrograd.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from retrograd.distributions.uniform import Uniform
from retrograd.distributions.von_mises import VonMises
from retrograd.distributions.weibull import Weibull
from retrograd.distributions.wishart import Wishart

__all__ = [
    "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ContinuousBernoulli", "Dirichlet", "Distribution",
    "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma", "GeneralizedPareto", "Geometric", "Gumbel", "HalfCauchy",
    "HalfNormal", "Independent", "InverseGamma", "Kumaraswamy", "LKJCholesky", "Laplace", "LogNormal", "LogisticNormal",
    "LowRankMultivariateNormal", "MixtureSameFamily", "Multinomial", "MultivariateNormal", "NegativeBinomial", "Normal",
    "OneHotCategorical", "OneHotCategoricalStraightThrough", "Pareto", "RelaxedBernoulli", "RelaxedOneHotCategorical",
    "StudentT", "Poisson", "Uniform", "VonMises", "Weibull", "Wishart", "TransformedDistribution", "biject_to",
    "kl_divergence", "register_kl", "transform_to", *transforms.__all__,
]
