"""Public functions and methods have signatures, and calls written by them are in order."""
from __future__ import annotations

import inspect
from typing import Any

import pytest

import retrograd as torch
from retrograd.core import api
from tests.ops import cases
from tests.together import run_all


@pytest.mark.parametrize(("function", "shown"), [
    (torch.cumsum, "(input, dim, *, dtype=None, out=None)"),
    (torch.sum, "(input, dim=None, keepdim=False, *, dtype=None, out=None)"),
    (torch.add, "(input, other, *, alpha=1, out=None)"),
    (torch.Tensor.cumsum, "(self, /, dim, *, dtype=None)"),
    (torch.ones(3).cumsum, "(dim, *, dtype=None)"),
    (torch.Tensor.sin, "(self, /)"),
])
def test_a_signature_shows_the_parameters(function: Any, shown: str) -> None:
    assert str(inspect.signature(function)) == shown


MADE = {case.op.name for case in cases.CASES} & api.PUBLIC - api.EXTRA_FUNCTIONS.keys()


def test_every_public_op_has_a_signature_that_takes_its_samples() -> None:
    def bind(name: str) -> None:
        signature = inspect.signature(getattr(torch, name))
        for case in cases.BY_OP.get(f"{name}.default", []):
            signature.bind(*case.sample.args, **case.sample.kwargs)

    run_all(bind, sorted(MADE))
