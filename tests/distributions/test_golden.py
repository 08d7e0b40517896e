"""Distributions, divergences, transforms and constraints give what was recorded from PyTorch."""
from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import retrograd as torch
from tests.distributions import cases
from tests.golden import record_distributions as recorder

GOLDEN = json.loads((Path(recorder.__file__).parent / "distributions.json").read_text())
# Gradients through gamma samples: PyTorch approximates them to three or four digits, here they are exact.
IMPLICIT = {"beta", "chi2", "dirichlet", "fisher_snedecor", "gamma", "inverse_gamma", "student_t", "wishart"}
APPROXIMATE = {"von_mises"}         # PyTorch's Bessel functions are polynomials of seven digits
TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-8}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    torch.set_default_dtype(torch.float32)


def same(found: Any, expected: Any, tolerance: float) -> bool:
    """Whether two records agree: numbers within the tolerance, all else exactly."""
    if isinstance(expected, float) and isinstance(found, float):
        return found == pytest.approx(expected, rel=tolerance, abs=tolerance, nan_ok=True)
    if isinstance(expected, (list, tuple)) and isinstance(found, (list, tuple)):
        return len(found) == len(expected) and all(same(a, b, tolerance) for a, b in zip(found, expected, strict=True))
    if isinstance(expected, dict) and isinstance(found, dict):
        return found.keys() == expected.keys() and all(same(found[k], expected[k], tolerance) for k in expected)
    return found == expected


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", GOLDEN["float64"])
def test_distribution_gives_what_pytorch_gives(name: str, dtype: Any) -> None:
    torch.set_default_dtype(dtype)
    leaves: list[Any] = []
    make = cases.distributions(torch, leaves)[name]
    found = recorder.measure(torch, make, leaves, 12)
    for key, expected in GOLDEN[str(dtype).split(".")[-1]][name].items():
        if expected is None:
            continue        # PyTorch has no answer
        tolerance = (2e-3 if name in IMPLICIT and key == "rsample_grad" else 1e-6 if name in APPROXIMATE else 0.0)
        assert same(found[key], expected, max(tolerance, TOLERANCE[dtype])), (key, found[key], expected)


def test_divergences_are_those_of_pytorch() -> None:
    torch.set_default_dtype(torch.float64)
    found = recorder.divergences(torch)
    assert found.keys() == GOLDEN["kl"].keys()
    wrong = {pair: (found[pair], value) for pair, value in GOLDEN["kl"].items() if not same(found[pair], value, 1e-7)}
    assert not wrong


@pytest.mark.parametrize("name", GOLDEN["transforms"])
def test_transform_gives_what_pytorch_gives(name: str) -> None:
    torch.set_default_dtype(torch.float64)
    found = recorder.transformed(torch, *cases.transforms(torch)[name])
    assert same(found, GOLDEN["transforms"][name], 1e-9), found


@pytest.mark.parametrize("name", GOLDEN["constraints"])
def test_constraint_accepts_what_pytorch_accepts(name: str) -> None:
    torch.set_default_dtype(torch.float64)
    assert recorder.constraint(torch, *cases.constrained(torch)[name]) == GOLDEN["constraints"][name]


@pytest.mark.parametrize("name", GOLDEN["refused"])
def test_call_is_refused_in_the_words_of_pytorch(name: str) -> None:
    torch.set_default_dtype(torch.float64)
    found, expected = recorder.refusal(cases.refused(torch)[name]), GOLDEN["refused"][name]
    assert found[0] == expected[0] and found[1].split() == expected[1].split()
