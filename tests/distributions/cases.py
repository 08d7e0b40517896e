"""Distributions, transforms and refused calls that the recorder runs with PyTorch and the tests with retrograd."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

Case = Callable[[], Any]


def distributions(torch: Any, leaves: list[Any]) -> dict[str, Case]:
    """One or more instances of every distribution; parameters that require gradients are added to `leaves`."""
    D = torch.distributions

    def t(*values: Any, grad: bool = True) -> Any:
        made = torch.tensor(list(values))
        if grad:
            leaves.append(made.requires_grad_())
        return made

    def matrix() -> Any:
        return t([2.0, 0.3], [0.3, 1.0])

    return {
        "bernoulli": lambda: D.Bernoulli(t(0.2, 0.7, 0.5)),
        "bernoulli_logits": lambda: D.Bernoulli(logits=t(-1.0, 0.0, 3.0)),
        "beta": lambda: D.Beta(t(0.6, 2.0, 5.0), t(1.5, 3.0, 0.4)),
        "binomial": lambda: D.Binomial(6, t(0.2, 0.7)),
        "binomial_logits": lambda: D.Binomial(t(30.0, 4.0, grad=False), logits=t(0.3, -0.7)),
        "categorical": lambda: D.Categorical(t([0.2, 0.3, 0.5], [1.0, 1.0, 2.0])),
        "categorical_logits": lambda: D.Categorical(logits=t(0.1, -2.0, 1.0)),
        "cauchy": lambda: D.Cauchy(t(0.0, 1.0), t(1.0, 2.5)),
        "chi2": lambda: D.Chi2(t(0.7, 3.0, 9.0)),
        "continuous_bernoulli": lambda: D.ContinuousBernoulli(t(0.2, 0.4999, 0.9)),
        "continuous_bernoulli_logits": lambda: D.ContinuousBernoulli(logits=t(-1.0, 0.0001, 2.0)),
        "dirichlet": lambda: D.Dirichlet(t([0.5, 1.5, 3.0], [0.3, 0.2, 0.9])),
        "exponential": lambda: D.Exponential(t(0.5, 3.0)),
        "fisher_snedecor": lambda: D.FisherSnedecor(t(1.5, 5.0), t(3.0, 6.0)),
        "gamma": lambda: D.Gamma(t(0.3, 2.0, 30.0), t(1.0, 0.5, 4.0)),
        "generalized_pareto": lambda: D.GeneralizedPareto(t(0.0, 1.0, -1.0), t(1.0, 2.0, 0.5), t(0.3, 0.0, -0.4)),
        "geometric": lambda: D.Geometric(t(0.3, 0.9)),
        "geometric_logits": lambda: D.Geometric(logits=t(-0.5, 1.0)),
        "gumbel": lambda: D.Gumbel(t(0.0, 1.0), t(1.0, 0.4)),
        "half_cauchy": lambda: D.HalfCauchy(t(1.0, 2.0)),
        "half_normal": lambda: D.HalfNormal(t(1.0, 2.0)),
        "independent": lambda: D.Independent(D.Normal(t([0.0, 1.0], [2.0, 3.0]), t(1.0, 0.5)), 1),
        "inverse_gamma": lambda: D.InverseGamma(t(0.9, 3.0), t(1.0, 2.0)),
        "kumaraswamy": lambda: D.Kumaraswamy(t(0.5, 2.0), t(1.5, 3.0)),
        "laplace": lambda: D.Laplace(t(0.0, 1.0), t(1.0, 2.5)),
        "lkj_cholesky": lambda: D.LKJCholesky(3, t(0.5, 1.5)),
        "log_normal": lambda: D.LogNormal(t(0.0, 0.3), t(1.0, 0.5)),
        "logistic_normal": lambda: D.LogisticNormal(t(0.0, 0.3), t(1.0, 0.5)),
        "lowrank_normal": lambda: D.LowRankMultivariateNormal(t(0.0, 1.0, 2.0), t([1.0], [0.5], [-0.3]), t(1.0, 0.5, 2.0)),
        "mixture": lambda: D.MixtureSameFamily(D.Categorical(t(0.3, 0.7)), D.Normal(t(0.0, 4.0), t(1.0, 0.5))),
        "mixture_vectors": lambda: D.MixtureSameFamily(
            D.Categorical(t([0.3, 0.7], [0.5, 0.5])),
            D.Independent(D.Normal(t([[0.0, 1.0], [2.0, 3.0]], [[4.0, 5.0], [6.0, 7.0]]), t(1.0, 0.5)), 1)),
        "multinomial": lambda: D.Multinomial(5, t(0.2, 0.3, 0.5)),
        "multivariate_normal": lambda: D.MultivariateNormal(t([0.0, 1.0], [2.0, 3.0]), matrix()),
        "multivariate_normal_precision": lambda: D.MultivariateNormal(t(0.0, 1.0), precision_matrix=matrix()),
        "multivariate_normal_tril": lambda: D.MultivariateNormal(t(0.0, 1.0), scale_tril=t([1.0, 0.0], [0.5, 2.0])),
        "negative_binomial": lambda: D.NegativeBinomial(t(2.0, 5.5), t(0.3, 0.6)),
        "normal": lambda: D.Normal(t(0.0, 1.0), t(1.0, 2.5)),
        "one_hot": lambda: D.OneHotCategorical(t([0.2, 0.3, 0.5], [1.0, 1.0, 2.0])),
        "one_hot_straight_through": lambda: D.OneHotCategoricalStraightThrough(t(0.2, 0.3, 0.5)),
        "pareto": lambda: D.Pareto(t(1.0, 2.0), t(1.5, 3.0)),
        "poisson": lambda: D.Poisson(t(0.5, 4.0, 40.0)),
        "relaxed_bernoulli": lambda: D.RelaxedBernoulli(t(0.7), t(0.2, 0.7)),
        "relaxed_one_hot": lambda: D.RelaxedOneHotCategorical(t(0.7), t(0.2, 0.3, 0.5)),
        "student_t": lambda: D.StudentT(t(0.9, 1.5, 7.0), t(0.0, 1.0, -1.0), t(1.0, 2.0, 0.5)),
        "transformed": lambda: D.TransformedDistribution(D.Normal(t(0.0, 1.0), t(1.0, 0.5)),
                                                         [D.AffineTransform(1.0, -2.0), D.SigmoidTransform()]),
        "transformed_vectors": lambda: D.TransformedDistribution(D.Normal(t(0.0, 1.0), t(1.0, 0.5)),
                                                                 D.StickBreakingTransform()),
        "uniform": lambda: D.Uniform(t(0.0, -1.0), t(1.0, 2.5)),
        "von_mises": lambda: D.VonMises(t(0.0, 1.0), t(0.5, 4.0)),
        "weibull": lambda: D.Weibull(t(1.0, 2.0), t(1.5, 0.8)),
        "wishart": lambda: D.Wishart(t(4.0, grad=False)[0], matrix()),
    }


def transforms(torch: Any) -> dict[str, tuple[Case, list[Any]]]:
    """Transforms, and an input for each."""
    D = torch.distributions

    def t(*values: Any) -> Any:
        return torch.tensor(list(values), dtype=torch.float64)

    vector = [0.3, -1.0, 2.0]
    square = [[0.3, -1.0], [2.0, 0.5]]
    return {
        "abs": (D.AbsTransform, vector),
        "affine": (lambda: D.AffineTransform(1.0, -2.0), vector),
        "affine_event": (lambda: D.AffineTransform(t(1.0, 2.0), t(0.5, -2.0), event_dim=1), square),
        "cat": (lambda: D.CatTransform([D.ExpTransform(), D.TanhTransform()], 0, [1, 2]), vector),
        "compose": (lambda: D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1.0, 2.0), D.StickBreakingTransform()]),
                    square),
        "corr_cholesky": (D.CorrCholeskyTransform, vector),
        "cumulative": (lambda: D.CumulativeDistributionTransform(D.Normal(t(0.0), t(1.0))), vector),
        "exp": (D.ExpTransform, vector),
        "identity": (lambda: D.identity_transform, vector),
        "independent": (lambda: D.IndependentTransform(D.ExpTransform(), 1), square),
        "inverse": (lambda: D.SigmoidTransform().inv, [0.3, 0.9]),
        "lower_cholesky": (D.LowerCholeskyTransform, square),
        "positive_definite": (D.PositiveDefiniteTransform, square),
        "power": (lambda: D.PowerTransform(t(2.0, 0.5)), [0.3, 4.0]),
        "reshape": (lambda: D.ReshapeTransform((4,), (2, 2)), [0.3, -1.0, 2.0, 0.5]),
        "sigmoid": (D.SigmoidTransform, vector),
        "softmax": (D.SoftmaxTransform, vector),
        "softplus": (D.SoftplusTransform, vector),
        "stack": (lambda: D.StackTransform([D.ExpTransform(), D.TanhTransform()], 1), square),
        "stick_breaking": (D.StickBreakingTransform, vector),
        "tanh": (D.TanhTransform, vector),
    }


def constrained(torch: Any) -> dict[str, tuple[Any, list[Any]]]:
    """Constraints, and values some of which satisfy them."""
    c = torch.distributions.constraints
    numbers = [-1.0, 0.0, 0.5, 1.0, 2.0, float("nan")]
    vectors = [[0.25, 0.75], [1.0, 0.0], [2.0, 3.0], [-0.5, 1.5]]
    matrices = [[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.5], [0.5, 1.0]], [[1.0, 2.0], [2.0, 1.0]], [[-1.0, 0.0], [1.0, 1.0]]]
    return {
        **{name: (getattr(c, name), numbers) for name in ("boolean", "nonnegative", "nonnegative_integer", "positive",
                                                          "positive_integer", "real", "unit_interval")},
        **{name: (getattr(c, name), vectors) for name in ("one_hot", "real_vector", "simplex")},
        **{name: (getattr(c, name), matrices) for name in ("corr_cholesky", "lower_cholesky", "lower_triangular",
                                                           "positive_definite", "positive_semidefinite", "square",
                                                           "symmetric")},
        "greater_than": (c.greater_than(0.5), numbers), "greater_than_eq": (c.greater_than_eq(0.5), numbers),
        "less_than": (c.less_than(0.5), numbers), "interval": (c.interval(0.0, 1.0), numbers),
        "half_open_interval": (c.half_open_interval(0.0, 1.0), numbers),
        "integer_interval": (c.integer_interval(0, 1), numbers), "multinomial": (c.multinomial(4), vectors),
        "independent": (c.independent(c.positive, 1), vectors),
        "cat": (c.cat([c.positive, c.unit_interval], 1), vectors), "stack": (c.stack([c.positive, c.real], 1), vectors),
    }


def refused(torch: Any) -> dict[str, Case]:
    """Calls that raise."""
    D, c, T = torch.distributions, torch.distributions.constraints, torch.tensor
    return {
        "parameter": lambda: D.Normal(T([0.0, 1.0]), T([1.0, -1.0])),
        "parameter_nan": lambda: D.Normal(float("nan"), 1.0),
        "both": lambda: D.Bernoulli(0.5, 0.5),
        "neither": lambda: D.Categorical(),
        "scalar_probs": lambda: D.Categorical(T(1.0)),
        "simplex": lambda: D.Categorical(T([-0.5, 1.5])),
        "support": lambda: D.Exponential(1.0).log_prob(T([-1.0, 2.0])),
        "integer": lambda: D.Poisson(1.0).log_prob(T(0.5)),
        "no_tensor": lambda: D.Normal(0.0, 1.0).log_prob(0.5),
        "value_shape": lambda: D.Normal(torch.zeros(2), 1.0).log_prob(torch.zeros(3)),
        "event_shape": lambda: D.Dirichlet(torch.ones(3)).log_prob(torch.ones(2)),
        "no_kl": lambda: D.kl_divergence(D.Normal(0.0, 1.0), D.Poisson(1.0)),
        "no_icdf": lambda: D.Gamma(1.0, 1.0).icdf(T(0.5)),
        "no_rsample": lambda: D.Poisson(1.0).rsample(),
        "geometric_zero": lambda: D.Geometric(T([0.0, 0.5])),
        "strings": lambda: D.Normal("a", 1.0),
        "matrix": lambda: D.MultivariateNormal(torch.zeros(2), torch.ones(2, 2)),
        "two_matrices": lambda: D.MultivariateNormal(torch.zeros(2), torch.eye(2), torch.eye(2)),
        "independent_dims": lambda: D.Independent(D.Normal(0.0, 1.0), 1),
        "mixture_size": lambda: D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.zeros(3), 1.0)),
        "transforms": lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), [1]),
        "small_base": lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), D.StickBreakingTransform()),
        "cache_size": lambda: D.ExpTransform(cache_size=2),
        "reshape": lambda: D.ReshapeTransform((2,), (3,)),
        "registry": lambda: D.biject_to(c.lower_cholesky),
        "register": lambda: D.biject_to.register(int, lambda constraint: None),
        "binomial_entropy": lambda: D.Binomial(T([1.0, 2.0]), T([0.5, 0.5])).entropy(),
        "binomial_kl": lambda: D.kl_divergence(D.Binomial(1, T(0.5)), D.Binomial(2, T(0.5))),
        "wishart_df": lambda: D.Wishart(0.5, torch.eye(2)),
        "lkj_dim": lambda: D.LKJCholesky(1),
        "multinomial_count": lambda: D.Multinomial(T(3), torch.ones(2)),
    }
