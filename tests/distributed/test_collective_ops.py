"""Ops of collectives: they are found by name, have schemas, and say why they cannot be called."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch


@pytest.mark.parametrize("name", ["_c10d_functional.all_gather_into_tensor", "_c10d_functional.wait_tensor", "c10d.scatter_",
                                  "_c10d_functional_autograd.all_to_all_single"])
def test_collective_op_can_be_looked_up(name: str) -> None:
    namespace, op = name.split(".")
    overload = getattr(getattr(torch.ops, namespace), op).default
    assert overload._schema.name == f"{namespace}::{op}"
    assert {overload: 1}[overload] == 1


@pytest.mark.parametrize("call", [
    lambda x: torch.ops._c10d_functional.all_reduce(x, "sum", "0"),
    lambda x: torch.ops._c10d_functional.wait_tensor.default(x),
    lambda x: torch.ops.c10d.barrier(x, None, [0])], ids=["all_reduce", "wait_tensor", "barrier"])
def test_collective_op_says_that_there_is_one_process(call: Any) -> None:
    with pytest.raises(RuntimeError, match="distributed package is not built in"):
        call(torch.ones(2))
