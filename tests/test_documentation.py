"""Every public name of the autograd surface, of nn and of optim has a docstring with an example; the doctests run them."""
from __future__ import annotations

import doctest
import inspect
import os
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

NAMESPACES = ("autograd", "autograd.anomaly", "autograd.debug", "autograd.forward_ad", "autograd.function",
              "autograd.functional", "autograd.grad_mode", "autograd.gradcheck", "autograd.graph", "autograd.origins",
              "autograd.variable", "func", "library", "nested", "nn", "nn.functional", "nn.init", "nn.modules.module",
              "nn.parallel", "nn.utils", "nn.utils.rnn", "optim", "optim.lr_scheduler", "optim.optimizer",
              "overrides", "utils._python_dispatch",
              "utils.checkpoint", "utils.hooks")
SINGLE = ("as_torch.install",)
# classes whose methods users call or write themselves
WITH_METHODS = {"FunctionCtx", "Function", "LRScheduler", "Module", "Node", "Optimizer", "RemovableHandle", "Step",
                "Steps"}
TENSOR_METHODS = ("backward", "detach", "detach_", "register_hook", "register_post_accumulate_grad_hook", "requires_grad_",
                  "retain_grad")


def public_names(space: str) -> list[tuple[str, Any]]:
    module = import_module("retrograd." + space)
    names = [name for name in module.__all__ if not name.startswith("_")]
    found = [(name, getattr(module, name)) for name in names]
    if space == "nn.functional":        # some of its functions are the package's ops themselves
        found = [(name, value) for name, value in found if value is not getattr(import_module("retrograd"), name, None)]
    return [(name, value) for name, value in found if callable(value) and not isinstance(value, ModuleType)]


def methods(cls: type) -> list[tuple[str, Any]]:
    """The public functions and properties that the class and those it is made of define."""
    found = []
    members = {name: member for part in reversed(cls.__mro__) if part is not object for name, member in vars(part).items()}
    for name, member in members.items():
        function = getattr(member, "__func__", None) or getattr(member, "fget", None) or member
        if not name.startswith("_") and inspect.isroutine(function):
            found.append((f"{cls.__name__}.{name}", function))
    return found


def documented() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for space in NAMESPACES:
        for name, value in public_names(space):
            found[f"{space}.{name}"] = value
            if inspect.isclass(value) and value.__name__ in WITH_METHODS:
                found |= {f"{space}.{method}": function for method, function in methods(value)}
    for path in SINGLE:
        space, _, name = path.rpartition(".")
        found[path] = getattr(import_module("retrograd." + space), name)
    tensor = import_module("retrograd").Tensor
    found |= {f"Tensor.{name}": getattr(tensor, name) for name in TENSOR_METHODS}
    return found


@pytest.mark.once
def test_everything_has_a_docstring_with_an_example() -> None:
    texts = {name: inspect.getdoc(value) or "" for name, value in documented().items()}
    assert [name for name, text in texts.items() if not text.split("\n", 1)[0].strip()] == [], "no docstring"
    assert [name for name, text in texts.items() if "\n>>> " not in text] == [], "no example"


def is_made_from_an_op(value: Any) -> bool:
    return getattr(getattr(value, "__code__", None), "co_filename", "").endswith(os.path.join("functions", "base.py"))


@pytest.mark.parametrize("value", [value for value in documented().values() if is_made_from_an_op(value)])
def test_examples_of_functions_made_from_ops_run(value: Any) -> None:
    """Doctest does not find them: they are not written out as functions of their module."""
    runner = doctest.DocTestRunner()
    names = vars(import_module("retrograd.nn.functional"))
    for example in doctest.DocTestFinder().find(value, value.__name__, globs=dict(names)):
        runner.run(example)
    assert runner.tries and not runner.failures


@pytest.mark.parametrize("space", NAMESPACES)
def test_module_says_what_it_is_for(space: str) -> None:
    module = import_module("retrograd." + space)
    assert module.__doc__ and module.__all__


def test_methods_are_found() -> None:
    assert {"autograd.function.FunctionCtx.mark_dirty", "autograd.Function.apply", "autograd.graph.Node.next_functions",
            "autograd.debug.Steps.continue_", "func.vmap", "nn.Module.state_dict", "nn.Module.register_forward_hook",
            "optim.Optimizer.step", "optim.lr_scheduler.LRScheduler.step", "nn.init.zeros_"} <= documented().keys()
