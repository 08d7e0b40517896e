"""Impure and hostile programs: what they return, raise and change is the same compiled as uncompiled, call by call."""
from __future__ import annotations

import random
from typing import Any

import pytest

import retrograd as torch
from retrograd.compile import compiled_autograd
from retrograd.compile.state import backend_config
from tests.compile.programs import (
    calls,
    calls_of_modules,
    changes_between_calls,
    derivatives,
    gradients_and_structures,
    graphs,
    hostile,
    interpreter,
    layers,
    memory_and_numbers,
    orders_of_writes,
    other_hands,
    python_state,
    surroundings,
    values_and_memory,
    ways_of_python,
)
from tests.compile.programs.base import PROGRAMS, Compile

# importing them fills PROGRAMS
MODULES = (python_state, values_and_memory, gradients_and_structures, graphs, hostile, interpreter, calls, calls_of_modules,
           derivatives, layers, memory_and_numbers, ways_of_python, changes_between_calls,
           surroundings, other_hands, orders_of_writes)


def observe(value: Any) -> Any:
    """A value as something that can be compared, its memory layout included."""
    if isinstance(value, torch.Tensor):
        return ("tensor", type(value).__name__, str(value.dtype), tuple(value.shape), value.stride(), value.requires_grad,
                value.detach().as_subclass(torch.Tensor).resolve_conj().tolist())
    if isinstance(value, dict):
        return {key: observe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [observe(item) for item in value]
    return value


def observations(name: str, compile: Compile) -> list[Any]:
    random.seed(0)
    return [observe(value) for value in PROGRAMS[name](compile)]


def own_backend(module: Any, inputs: Any) -> Any:
    return module.forward


@pytest.mark.parametrize("options", [{"backend": "eager"}, {}, {"backend": "aot_eager", "dynamic": True}, {"dynamic": False},
                                     {"backend": own_backend}], ids=["eager", "default", "dynamic", "static", "own"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_does_the_same_compiled(name: str, options: dict[str, Any]) -> None:
    torch.compiler.reset()
    expected = observations(name, lambda f: f)
    assert observations(name, lambda f: torch.compile(f, **options)) == expected


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_does_the_same_with_its_ops_deferred(name: str) -> None:
    torch.compiler.reset()
    expected = observations(name, lambda f: f)
    with backend_config.patch(fusion_threshold=0, fusion_code=False):
        for _ in range(3):            # layouts are learnt in the first round
            assert observations(name, torch.compile) == expected


# What differs under compiled autograd, as in PyTorch: when NaN is looked for, the names in a profile, and whether sums of
# gradients count as writes.
DIFFERS_CAPTURED = {"anomaly_inside_and_grad_modes", "anomaly_mode_around_the_backward", "profiler_around_the_backward",
                    "versions_of_gradients_that_are_sums"}


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in DIFFERS_CAPTURED])
def test_program_does_the_same_with_its_backward_passes_captured(name: str) -> None:
    torch.compiler.reset()
    expected = observations(name, lambda f: f)
    with compiled_autograd.enable(lambda module: module):
        for _ in range(2):
            assert observations(name, lambda f: f) == expected


def test_there_are_many_programs() -> None:
    assert len(PROGRAMS) >= 100
