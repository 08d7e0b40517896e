"""Functions made from ops say what they take, and the examples of the most used ones run."""
from __future__ import annotations

import doctest

import pytest

import retrograd as torch
from retrograd.core import documentation
from retrograd.core.api import PUBLIC
from retrograd.core.opdef import OPS, fact
from retrograd.ops.load import import_all

import_all()
documentation.described("all")
NAMES = sorted({*documentation.found, *[name for name in OPS if fact(name, "doc")]})


def test_text_stands_in_the_row_or_in_the_table() -> None:
    assert len(NAMES) >= 166
    assert [name for name in documentation.found if fact(name, "doc")] == []


def test_docstring_shows_the_arguments_and_an_example() -> None:
    assert torch.sin.__doc__ == ("sin(input, *, out=None) -> Tensor\n\nThe sine of each element.\n\n>>> import retrograd as "
                                 "torch\n>>> torch.sin(torch.tensor([0.0, 1.0]))\ntensor([0.0000, 0.8415])")
    assert torch.Tensor.sin.__doc__ == "sin() -> Tensor\n\nThe sine of each element."


def test_every_overload_has_a_line() -> None:
    assert torch.max.__doc__.split("\n")[:3] == [
        "max(input, other, *, out=None) -> Tensor",
        "max(input, dim, keepdim=False, *, out=None) -> (Tensor values, Tensor indices)", "max(input, *, out=None) -> Tensor"]


def test_function_without_an_example_shows_its_arguments() -> None:
    assert torch.addr.__doc__ == "addr(input, vec1, vec2, *, beta=1, alpha=1, out=None) -> Tensor"
    assert torch.Tensor.add_.__doc__.startswith("add_(other, *, alpha=1) -> Tensor")


def test_function_that_is_no_op_has_its_text_too() -> None:
    assert torch.arange.__doc__.startswith("Evenly spaced numbers")
    assert torch.split.__doc__.startswith("Parts of a given length") and ">>> torch.split" in torch.split.__doc__


@pytest.mark.parametrize("name", NAMES)
def test_example_runs(name: str) -> None:
    assert name in PUBLIC
    text = getattr(torch, name).__doc__
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert len(test.examples) == 2
    assert not runner.run(test).failed
