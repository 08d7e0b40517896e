"""How distributions behave beyond their values: gradients of samples, caches, expansion, subclasses, registration."""
from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import retrograd as torch
from retrograd.distributions import constraints
from retrograd.distributions.utils import lazy_property, tril_matrix_to_vec, vec_to_tril_matrix

D = torch.distributions


def quantile_slope(quantile: Any, alpha: np.ndarray) -> np.ndarray:
    step = 1e-5 * alpha
    return (quantile(alpha + step) - quantile(alpha - step)) / (2 * step)


@pytest.mark.parametrize("alpha", [0.05, 0.7, 1.0, 8.0, 120.0, 999.0, 3000.0])
def test_gamma_samples_move_with_their_quantile(alpha: float) -> None:
    concentration = torch.full((50,), alpha, dtype=torch.float64, requires_grad=True)
    torch.manual_seed(0)
    value = torch._standard_gamma(concentration)
    value.sum().backward()
    x = np.array(value.tolist())
    below, above = special.gammainc(alpha, x), special.gammaincc(alpha, x)
    slope = quantile_slope(lambda a: np.where(below < 0.5, special.gammaincinv(a, below), special.gammainccinv(a, above)),
                           np.full(50, alpha))
    assert np.array(concentration.grad.tolist()) == pytest.approx(slope, rel=1e-5, abs=1e-12)


def test_gamma_gradient_far_in_the_tail_is_that_of_the_quantile() -> None:
    alpha, x = np.array([0.5, 2.0, 50.0]), np.array([30.0, 40.0, 140.0])
    found = torch._standard_gamma_grad(torch.tensor(alpha.tolist(), dtype=torch.float64), torch.tensor(x, dtype=torch.float64))
    above = special.gammaincc(alpha, x)
    assert np.array(found.tolist()) == pytest.approx(quantile_slope(lambda a: special.gammainccinv(a, above), alpha), rel=1e-6)


@pytest.mark.parametrize(("a", "b"), [(0.6, 0.8), (1.0, 1.0), (3.0, 7.0), (200.0, 40.0)])
def test_beta_samples_move_with_their_quantile(a: float, b: float) -> None:
    first = torch.full((40,), a, dtype=torch.float64, requires_grad=True)
    torch.manual_seed(0)
    value = D.Beta(first, torch.tensor(b, dtype=torch.float64)).rsample()
    value.sum().backward()
    x = np.array(value.tolist())
    below, above = special.betainc(a, b, x), special.betainc(b, a, 1 - x)
    slope = quantile_slope(lambda c: np.where(below < 0.5, special.betaincinv(c, b, below),
                                              1 - special.betaincinv(b, c, above)), np.full(40, a))
    assert np.array(first.grad.tolist()) == pytest.approx(slope, rel=1e-4)


def test_forward_mode_goes_through_gamma_and_dirichlet_samples() -> None:
    x, v = torch.tensor([0.5, 2.0, 3.0], dtype=torch.float64), torch.tensor([1.0, -1.0, 0.5], dtype=torch.float64)
    for draw in (torch._standard_gamma, torch._sample_dirichlet):
        torch.manual_seed(1)
        _, tangent = torch.func.jvp(draw, (x,), (v,))
        torch.manual_seed(1)
        jacobian = torch.autograd.functional.jacobian(draw, x)
        torch.testing.assert_close(tangent, jacobian @ v)


def test_second_derivative_of_a_gamma_sample_is_refused() -> None:
    x = torch.ones(2, requires_grad=True)
    (g,) = torch.autograd.grad(torch._standard_gamma(x).sum(), x, create_graph=True)
    with pytest.raises(NotImplementedError, match="the derivative for '_standard_gamma_grad' is not implemented"):
        g.sum().backward()


@pytest.mark.parametrize(("distribution", "reference"), [
    (D.Gamma(2.5, 2.0), stats.gamma(2.5, scale=0.5)), (D.Beta(2.0, 3.0), stats.beta(2, 3)),
    (D.StudentT(5.0), stats.t(5)), (D.VonMises(torch.tensor(0.0), torch.tensor(2.0)), stats.vonmises(2.0)),
    (D.Weibull(1.5, 2.0), stats.weibull_min(2, scale=1.5)), (D.FisherSnedecor(4.0, 9.0), stats.f(4, 9)),
], ids=lambda d: type(d).__name__ if isinstance(d, D.Distribution) else "")
def test_samples_follow_the_distribution(distribution: Any, reference: Any) -> None:
    torch.manual_seed(0)
    assert stats.kstest(np.array(distribution.sample((2000,)).tolist()), reference.cdf).pvalue > 0.01


def test_binomial_samples_follow_the_distribution() -> None:
    torch.manual_seed(0)
    for count, prob in ((5.0, 0.3), (40.0, 0.8), (1000.0, 0.4)):
        drawn = D.Binomial(count, torch.tensor(prob)).sample((3000,))
        assert float(drawn.mean()) == pytest.approx(count * prob, abs=4 * (count * prob * (1 - prob) / 3000) ** 0.5)
        assert float(drawn.var()) == pytest.approx(count * prob * (1 - prob), rel=0.12)


def test_sample_has_no_gradient_and_rsample_has() -> None:
    loc = torch.zeros(2, requires_grad=True)
    assert not D.Normal(loc, 1.0).sample().requires_grad
    value = D.Normal(loc, 1.0).rsample((3,))
    value.sum().backward()
    assert loc.grad.tolist() == [3.0, 3.0]


def test_cached_transform_returns_the_very_input() -> None:
    transform, x = D.SigmoidTransform(cache_size=1), torch.tensor([40.0])
    assert transform.inv(transform(x)) is x and transform(x) is transform(x)
    assert transform.inv.inv is transform and transform.with_cache(1) is transform
    assert D.SigmoidTransform().inv(D.SigmoidTransform()(x)) is not x


def test_cached_transform_survives_copies_and_pickles() -> None:
    transform = D.ComposeTransform([D.ExpTransform(cache_size=1), D.AffineTransform(1.0, 2.0, cache_size=1)], cache_size=1)
    y = transform(torch.tensor(0.5))
    assert transform.inv(y) == 0.5
    for again in (copy.deepcopy(transform), pickle.loads(pickle.dumps(transform))):
        assert again == transform and again(torch.tensor(0.0)) == 3.0


def test_equal_transforms() -> None:
    assert D.ExpTransform() == D.ExpTransform() and D.ExpTransform() != D.TanhTransform()
    assert D.AffineTransform(1.0, 2.0) == D.AffineTransform(torch.tensor(1.0), torch.tensor([2.0, 2.0]))
    assert D.AffineTransform(1.0, 2.0) != D.AffineTransform(1.0, 3.0)
    assert D.ExpTransform().inv == D.ExpTransform().inv


def test_every_registered_transform_lands_inside() -> None:
    torch.manual_seed(0)
    sizes = {"corr_cholesky": (4, 3), "lower_cholesky": (4, 3, 3), "positive_definite": (4, 3, 3), "simplex": (4, 3)}
    for registry in (D.biject_to, D.transform_to):
        for name in ("real", "positive", "nonnegative", "unit_interval", "real_vector", "corr_cholesky", "simplex",
                     "lower_cholesky", "positive_definite"):
            if registry is D.biject_to and name in ("lower_cholesky", "positive_definite"):
                continue
            constraint = getattr(constraints, name)
            x = torch.randn(sizes.get(name, (4, 3)), dtype=torch.float64)
            transform = registry(constraint)
            y = transform(x)
            assert constraint.check(y).all(), name
            if registry is D.biject_to:
                torch.testing.assert_close(transform.inv(y), x)


def test_expand_of_a_subclass_needs_its_own_method() -> None:
    class Twice(D.Normal):
        def __init__(self, scale: float) -> None:
            super().__init__(0.0, 2 * scale)

    class Plain(D.Normal):
        pass

    assert type(Plain(0.0, 1.0).expand((2,))) is Plain
    with pytest.raises(NotImplementedError, match="Subclass Twice of Normal that defines a custom __init__ method must also"):
        Twice(1.0).expand((2,))


def test_expand_without_parameters_known_is_not_implemented() -> None:
    class Mine(D.Distribution):
        arg_constraints: dict[str, Any] = {}

    with pytest.raises(NotImplementedError):
        Mine().expand((2,))


def test_expanded_parameters_share_memory() -> None:
    d = D.Normal(torch.zeros(2), torch.ones(2))
    assert d.expand((3, 2)).loc.data_ptr() == d.loc.data_ptr()
    assert D.Categorical(torch.ones(3)).expand((4,)).probs.shape == (4, 3)
    assert D.MultivariateNormal(torch.zeros(2), torch.eye(2)).expand((5,)).covariance_matrix.shape == (5, 2, 2)
    assert D.Independent(D.Normal(torch.zeros(2), 1.0), 1).expand((5,)).sample().shape == (5, 2)
    assert D.Wishart(torch.tensor(3.0), torch.eye(2)).expand((5,)).mean.shape == (5, 2, 2)
    assert D.LKJCholesky(3, 1.0).expand((5,)).sample().shape == (5, 3, 3)


def test_default_of_validation_can_be_changed() -> None:
    assert D.Distribution._validate_args is True
    D.Distribution.set_default_validate_args(False)
    try:
        assert D.Normal(0.0, -1.0).scale == -1
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError):
        D.Distribution.set_default_validate_args(2)     # type: ignore[arg-type]
    assert D.Normal(0.0, -1.0, validate_args=False).scale == -1


def test_undeclared_constraints_are_warned_about() -> None:
    class Mine(D.Distribution):
        pass

    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        mine = Mine()
    with pytest.warns(UserWarning, match="does not define `support`"):
        mine._validate_sample(torch.zeros(()))


def test_closest_registered_divergence_is_taken() -> None:
    class Left(D.Normal):
        pass

    class Right(D.Normal):
        pass

    @D.register_kl(Left, D.Normal)
    def left(p: Any, q: Any) -> str:
        return "left"

    assert D.kl_divergence(Left(0.0, 1.0), D.Normal(0.0, 1.0)) == "left"

    @D.register_kl(D.Normal, Right)
    def right(p: Any, q: Any) -> str:
        return "right"

    with pytest.warns(RuntimeWarning, match=r"Ambiguous kl_divergence\(Left, Right\). Please register_kl\(Left, Right\)"):
        assert D.kl_divergence(Left(0.0, 1.0), Right(0.0, 1.0)) == "left"
    for pair in ((Left, D.Normal), (D.Normal, Right)):
        del D.kl._KL_REGISTRY[pair]
    D.kl._KL_MEMOIZE.clear()
    with pytest.raises(TypeError, match="Expected type_p to be a Distribution subclass"):
        D.register_kl(3, D.Normal)          # any class is taken, as PyTorch takes them


def test_divergence_has_gradients() -> None:
    loc = torch.tensor(1.0, requires_grad=True)
    D.kl_divergence(D.Normal(loc, 1.0), D.Laplace(0.0, 1.0)).backward()
    torch.testing.assert_close(loc.grad, torch.erf(torch.tensor(0.5).sqrt()))


def test_exponential_families_agree_with_their_closed_forms() -> None:
    for d in (D.Normal(0.3, 2.0), D.Gamma(2.0, 3.0), D.Exponential(2.0), D.Bernoulli(0.3), D.ContinuousBernoulli(0.3)):
        torch.testing.assert_close(D.ExponentialFamily.entropy(d), d.entropy())


def test_mixture_of_vectors_has_the_moments_of_its_samples() -> None:
    torch.manual_seed(0)
    d = D.MixtureSameFamily(D.Categorical(torch.tensor([0.3, 0.7])),
                            D.Independent(D.Normal(torch.tensor([[0.0, 1.0], [4.0, 5.0]]), 0.5), 1))
    drawn = d.sample((4000,))
    torch.testing.assert_close(drawn.mean(0), d.mean, atol=0.1, rtol=0.0)
    torch.testing.assert_close(drawn.var(0), d.variance, atol=0.2, rtol=0.0)


def test_straight_through_samples_have_the_gradient_of_the_probabilities() -> None:
    probs = torch.tensor([0.2, 0.8], requires_grad=True)
    (D.OneHotCategoricalStraightThrough(probs).rsample() * torch.tensor([1.0, 2.0])).sum().backward()
    torch.testing.assert_close(probs.grad, torch.tensor([-0.8, 0.2]))


def test_lazy_attribute_is_computed_once_and_shown_by_the_class_as_a_property() -> None:
    calls = []

    class Box:
        @lazy_property
        def value(self) -> int:
            calls.append(1)
            return 3

    box = Box()
    assert box.value + box.value == 6 and len(calls) == 1
    assert isinstance(Box.value, property)
    with torch.no_grad():
        assert D.Bernoulli(logits=torch.zeros(1, requires_grad=True)).probs.requires_grad


@pytest.mark.parametrize("diag", [-2, -1, 0, 1])
def test_triangles_are_flattened_and_restored(diag: int) -> None:
    m = torch.arange(25.0).reshape(5, 5).tril(diag)
    assert torch.equal(vec_to_tril_matrix(tril_matrix_to_vec(m, diag), diag), m)


def test_samples_leave_the_generator_where_pytorch_leaves_it() -> None:
    torch.manual_seed(3)
    torch._standard_gamma(torch.tensor([0.5, 2.0, 9.0]))
    after_gamma = torch.rand(1).item()
    torch.binomial(torch.tensor([3.0, 50.0]), torch.tensor([0.4, 0.6]))
    assert [round(after_gamma, 6), round(torch.rand(1).item(), 6)] == [0.175605, 0.599699]


def test_divergence_of_a_uniform_that_starts_at_zero_is_finite() -> None:
    uniform = torch.distributions.Uniform(torch.tensor([0.0, 0.0]), torch.tensor([2.0, 1.0]))
    gamma, beta = torch.distributions.Gamma(2.0, 3.0), torch.distributions.Beta(2.0, 3.0)
    assert torch.distributions.kl_divergence(uniform, gamma).tolist() == pytest.approx([0.4165, 0.3028], abs=1e-4)
    assert torch.distributions.kl_divergence(uniform, beta)[1].item() == pytest.approx(0.5151, abs=1e-4)
