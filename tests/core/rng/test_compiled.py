"""The compiled streams draw what NumPy's give, element by element, and leave the generator in the same state."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from retrograd.core import generator
from retrograd.core.rng import continuous, discrete, rejection, sampling, unit

DRAWS: dict[str, Any] = {
    "uniform": lambda gen, n, dtype: generator.uniform(gen, n, npdtype=dtype),
    "uniform between": lambda gen, n, dtype: generator.uniform(gen, n, -1.5, 2.25, dtype),
    "normal": lambda gen, n, dtype: generator.normal(gen, n, npdtype=dtype),
    "normal scaled": lambda gen, n, dtype: generator.normal(gen, n, 0.5, 3.0, dtype),
    "exponential": lambda gen, n, dtype: generator.exponential(gen, n, 2.0, dtype),
    "bernoulli": lambda gen, n, dtype: generator.bernoulli(gen, n, 0.3, dtype),
    "bernoulli never": lambda gen, n, dtype: generator.bernoulli(gen, n, 0.0, dtype),
    "bernoulli always": lambda gen, n, dtype: generator.bernoulli(gen, n, 1.0, dtype),
    "randint": lambda gen, n, dtype: generator.randint(gen, n, -3, 90),
    "randint wide": lambda gen, n, dtype: generator.randint(gen, n, -3, 2**40),
    "randperm": lambda gen, n, dtype: generator.randperm(gen, n),
    "gamma": lambda gen, n, dtype: rejection.standard_gamma(gen, (np.arange(n) % 7 / 3).astype(dtype)),
    "multinomial": lambda gen, n, dtype: generator.multinomial(
        gen, np.arange(1.0, 31).reshape(3, 10).astype(dtype), n + 2, True),
    "poisson": lambda gen, n, dtype: generator.poisson(gen, (np.arange(n) % 40).astype(dtype)),
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 65, 624, 1000, 5003])
def test_compiled_and_numpy_streams_are_one(name: str, dtype: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = generator.Generator().manual_seed(11), generator.Generator().manual_seed(11)
    first.random_uint32(3)
    second.random_uint32(3)
    made = DRAWS[name](first, n, np.dtype(dtype))
    for module in (continuous, discrete, rejection, sampling, unit):
        monkeypatch.setattr(module, "native", None)
    wanted = DRAWS[name](second, n, np.dtype(dtype))
    assert made.dtype == wanted.dtype and made.shape == wanted.shape
    # the vector code of NumPy's sine and cosine in double precision may differ in the last bit
    np.testing.assert_allclose(made, wanted, rtol=1e-13 if dtype == "float64" and name.startswith("normal") else 0, atol=1e-15)
    assert (first.get_state() == second.get_state()).all()
