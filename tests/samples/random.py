"""Samples of the ops in retrograd/ops/create/random.py and dropout.py; results depend on the generator."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import retrograd as torch
from retrograd.core.tensor import new_tensor
from tests.samples import Maker, Sample, samples


@samples("rand.default", "randn.default")
def sized(make: Maker) -> Iterator[Sample]:
    yield Sample((2, 3))
    yield Sample((20,), dtype=torch.float64)


@samples("rand.generator", "randn.generator")
def sized_generator(make: Maker) -> Iterator[Sample]:
    yield Sample((2, 3), generator=torch.Generator())
    yield Sample((20,), generator=torch.Generator(), dtype=torch.float64)
    yield Sample((2, 3), generator=None)


@samples("randint.generator")
def randint_generator(make: Maker) -> Iterator[Sample]:
    yield Sample(5, (2, 3), generator=torch.Generator())


@samples("randint.low_generator")
def randint_low_generator(make: Maker) -> Iterator[Sample]:
    yield Sample(-3, 5, (2, 3), generator=torch.Generator())


@samples("randperm.generator")
def randperm_generator(make: Maker) -> Iterator[Sample]:
    yield Sample(10, generator=torch.Generator())


@samples("rand_like.generator", "randn_like.generator")
def like_generator(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), generator=torch.Generator())
    yield Sample(make(3, 2, order="F"), generator=torch.Generator(), dtype=torch.float32)


@samples("randint_like.default")
def randint_like(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), 5)
    yield Sample(make(3, 2, order="F"), 5, dtype=torch.int64)


@samples("randint_like.generator")
def randint_like_generator(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), 5, generator=torch.Generator())


@samples("randint_like.low_dtype")
def randint_like_low(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), -3, 5)


@samples("randint_like.low_generator_dtype")
def randint_like_low_generator(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), -3, 5, generator=torch.Generator())


@samples("randint_like.Tensor")
def randint_like_tensor(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), new_tensor(np.array(5)))


@samples("randint_like.Tensor_generator")
def randint_like_tensor_generator(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), new_tensor(np.array(5)), generator=torch.Generator())


@samples("randint.default")
def randint(make: Maker) -> Iterator[Sample]:
    yield Sample(5, (2, 3))


@samples("randint.low")
def randint_low(make: Maker) -> Iterator[Sample]:
    yield Sample(-3, 5, (2, 3))


@samples("randperm.default")
def randperm(make: Maker) -> Iterator[Sample]:
    yield Sample(10)


@samples("rand_like.default", "randn_like.default")
def like(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3))
    yield Sample(make(3, 2, order="F"))


@samples("uniform_.default", "normal_.default", "exponential_.default", "cauchy_.default", "log_normal_.default",
         "random_.default", "bernoulli_.float")
def fills(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3))
    yield Sample(make(3, 2, order="F"))


@samples("geometric_.default")
def geometric(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), 0.3)


@samples("random_.to")
def random_to(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), 10)


@samples("random_.from")
def random_from(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), -3, 10)


@samples("bernoulli.default", "poisson.default")
def from_parameters(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, low=0.1, high=0.9))
    yield Sample(make(low=0.1, high=0.9))


@samples("bernoulli.p")
def bernoulli_p(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), 0.3)


@samples("bernoulli_.Tensor")
def bernoulli_tensor(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(3, low=0.1, high=0.9))


@samples("normal.Tensor_float")
def normal_tensor_float(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), 2.0)


@samples("normal.float_Tensor")
def normal_float_tensor(make: Maker) -> Iterator[Sample]:
    yield Sample(1.0, make(2, 3, low=0.1, high=2.0))


@samples("normal.Tensor_Tensor")
def normal_tensor_tensor(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(3, low=0.1, high=2.0))


@samples("normal.float_float")
def normal_float_float(make: Maker) -> Iterator[Sample]:
    yield Sample(1.0, 2.0, (2, 3))


@samples("multinomial.default")
def multinomial(make: Maker) -> Iterator[Sample]:
    yield Sample(make(5, low=0.1, high=1.0, requires_grad=False), 2)
    yield Sample(make(3, 5, low=0.1, high=1.0, requires_grad=False), 8, replacement=True)


@samples("dropout.default", "feature_dropout.default", "alpha_dropout.default", "feature_alpha_dropout.default",
         "native_dropout.default", "dropout_.default", "feature_dropout_.default", "alpha_dropout_.default",
         "feature_alpha_dropout_.default")
def dropout(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 3, 2), 0.4, True)
    yield Sample(make(4, 3), 0.4, False)


@samples("native_dropout_backward.default")
def native_dropout_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), make.mask(2, 3), 2.0)


@samples("_standard_gamma.default")
def standard_gamma(make: Maker) -> Iterator[Sample]:
    # Gradients follow the quantile of a sample, not the steps by which it was drawn: differences do not show them.
    yield Sample(make(2, 3, low=0.1, high=5.0), grad=False)
    yield Sample(make(low=0.1, high=0.9), grad=False)
    yield Sample(make(0, 2, low=0.1, high=0.9), grad=False)


@samples("_sample_dirichlet.default")
def sample_dirichlet(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, low=0.1, high=5.0), grad=False)
    yield Sample(make(3, low=0.1, high=0.9), grad=False)


@samples("_standard_gamma_grad.default")
def standard_gamma_grad(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, low=0.1, high=5.0, requires_grad=False), make(2, 3, low=0.1, high=5.0))
    yield Sample(torch.tensor([2.0, 2000.0, 900.0], dtype=torch.float64),
                 torch.tensor([40.0, 1990.0, 950.0], dtype=torch.float64, requires_grad=True))


@samples("_dirichlet_grad.default")
def dirichlet_grad(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, low=0.1, high=0.9, requires_grad=False), make(2, 3, low=0.1, high=2.0, requires_grad=False),
                 make(2, 3, low=3.0, high=5.0, requires_grad=False))


@samples("binomial.default")
def binomial(make: Maker) -> Iterator[Sample]:
    counts = torch.tensor([[1.0], [10.0], [100.0]], dtype=torch.float64)
    yield Sample(counts, make(3, 4, low=0.1, high=0.9, requires_grad=False))
    yield Sample(torch.tensor(5.0, dtype=torch.float64), torch.tensor(0.5, dtype=torch.float64))
