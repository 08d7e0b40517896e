"""No call of the public API or of a compiled module ends the process, whatever it is given."""
from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import retrograd as torch
from retrograd.core.tensor import COMPILED
from tools.abuse import LEFT_OUT, Call, Odd, arguments, functions_of, public_calls, survive

SOURCES = Path(torch.__file__).parent


def compiled_modules() -> list[str]:
    paths = [path.relative_to(SOURCES).with_suffix("") for path in SOURCES.rglob("*.pxd")
             if path.with_suffix(".py").exists()]
    if COMPILED:
        paths += [path.relative_to(SOURCES).with_suffix("") for path in SOURCES.rglob("*.pyx")]
    return sorted([".".join(("retrograd", *path.parts)) for path in paths])


def test_public_functions_survive_wrong_arguments() -> None:
    assert survive(public_calls(0.004)) == []


@pytest.mark.parametrize("module", compiled_modules())
def test_compiled_modules_survive_wrong_arguments(module: str) -> None:
    space, calls = import_module(module), []
    given = [None, torch.ones(2), 3, "text", [], (), Odd(), torch.ones(2).numpy(), [None], (None, None)]
    for name, function in functions_of(space).items():
        if getattr(function, "__module__", None) != module:
            continue
        for count in range(9):
            for first in given:
                for rest in (None, 0, []):
                    args = (first, *[rest] * (count - 1)) if count else ()
                    def call(function: Any = function, args: Any = args) -> Any:
                        return function(*args)
                    calls.append((f"{module}.{name} {count}", call))
    assert survive(calls) == []


def test_objects_that_were_never_set_up_survive() -> None:
    """Instances made by `__new__` alone, and every method of theirs."""
    calls: list[Call] = []
    for module in compiled_modules():
        for name, kind in vars(import_module(module)).items():
            if not inspect.isclass(kind) or kind.__module__ != module or issubclass(kind, BaseException):
                continue
            for method in sorted(set(dir(kind)) - LEFT_OUT):
                for args in ((), (None,), (None, None), (torch.ones(2),), ((),), ({},)):
                    def call(kind: Any = kind, method: str = method, args: Any = args) -> Any:
                        made = kind.__new__(kind)
                        found = getattr(made, method)
                        return found(*args) if callable(found) else found
                    calls.append((f"{module}.{name}.{method} {len(args)}", call))
    assert survive(calls) == []


def test_states_are_refused() -> None:
    for obj in (torch.ones(2), (torch.ones(2, requires_grad=True) * 2).grad_fn, torch.ops.aten.mul.Tensor):
        for state in ((), None, (1, 2, 3), {"array": None}, "text"):
            with pytest.raises((AttributeError, TypeError, RuntimeError, ValueError)):
                obj.__setstate__(state)


def test_known_crashes_are_errors() -> None:
    vmap, zeros, ones = torch.vmap, torch.zeros, torch.ones
    calls: list[Call] = [
        ("addbmm", lambda: torch.addbmm(zeros(2, 3), ones(2), ones(2))),
        ("unbind", lambda: vmap(lambda a: a.unbind(0)[0])(zeros(0))),
        ("split", lambda: vmap(lambda a: a.split(1)[0])(zeros(0))),
        ("map_", lambda: zeros(2, 3).map_(None, max)),
    ]
    for label, call in calls:
        with pytest.raises((IndexError, RuntimeError, TypeError, ValueError, AttributeError)):
            call()
        assert survive([(label, call)]) == []


def test_argument_lists_are_new_each_time() -> None:
    assert len(arguments()) > 60 and arguments()[5][0] is not arguments()[5][0]
