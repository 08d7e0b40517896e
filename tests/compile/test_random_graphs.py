"""Random programs that go backward over the results of a compiled function in random ways: everything is as uncompiled."""
from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch
from retrograd.compile.state import backend_config

OPS: dict[str, Callable[[Any, Any, float], Any]] = {
    "scale": lambda x, y, c: x * c,
    "exp": lambda x, y, c: (x * 0.3).exp(),
    "sin": lambda x, y, c: x.sin(),
    "add": lambda x, y, c: x + y,
    "mul": lambda x, y, c: x * y,
    "neg": lambda x, y, c: -x,
    "relu": lambda x, y, c: x.relu(),
    "sum": lambda x, y, c: x.sum(),
    "mean": lambda x, y, c: x.mean(),
    "detach": lambda x, y, c: x.detach(),
    "sigmoid": lambda x, y, c: x.sigmoid(),
    "div": lambda x, y, c: x / (y * y + 1.5),
    "square": lambda x, y, c: x ** 2,
    "clamp": lambda x, y, c: x.clamp(-0.5, 0.7),
    "where": lambda x, y, c: torch.where(x > 0.1, x, y * 2.0),
    "without": lambda x, y, c: without_gradients(x, y),
    "write": lambda x, y, c: (x * 1.0).add_(y.sum() * 0.1),
}
CALLS = 4


def without_gradients(x: Any, y: Any) -> Any:
    with torch.no_grad():
        return x * 1.5 + y


def numbers(t: Any) -> Any:
    return None if t is None else [round(float(value), 3) for value in t.detach().reshape(-1).tolist()]


def names(node: Any, depth: int = 0) -> Any:
    """The graph from a node on, by the names of its nodes."""
    if node is None or depth > 5:
        return None
    return node.name(), [names(following, depth + 1) for following, _ in node.next_functions]


class Run:
    """One random program: a function, and what is done with its results."""

    def __init__(self, seed: int) -> None:
        choose = random.Random(seed)
        self.requires = [choose.random() < 0.8 for _ in range(choose.randint(1, 3))]
        self.steps = [(choose.choice(list(OPS)), choose.random(), choose.random(), choose.choice([2.0, 0.5, -1.0, 3, 0.0]),
                       choose.random() < 0.45) for _ in range(choose.randint(3, 12))]
        self.actions = [(choose.choice(list(ACTIONS)), choose.random(), choose.random()) for _ in range(choose.randint(2, 8))]
        self.log: list[Any] = []

    def function(self, *leaves: Any) -> list[Any]:
        values, results = list(leaves), []
        for name, first, second, number, is_result in self.steps:
            values.append(OPS[name](values[int(first * len(values))], values[int(second * len(values))], number))
            if is_result:
                results.append(values[-1])
        return [*results, values[-1]]

    def observe(self, compile: Callable[[Any], Any]) -> list[Any]:
        function = compile(self.function)
        for _ in range(CALLS):
            leaves = [(torch.linspace(-0.3, 0.7, 3) + 0.1 * i).requires_grad_(r) for i, r in enumerate(self.requires)]
            results = function(*leaves)
            self.log += [(numbers(t), t.requires_grad, t._version) for t in results]
            for action, first, second in self.actions:
                if results:
                    try:
                        ACTIONS[action](self, results, leaves, int(first * len(results)), second)
                    except RuntimeError as error:
                        self.log.append((action, str(error)[:60]))
            self.log += [numbers(leaf.grad) for leaf in leaves] + [(numbers(t), t._version) for t in results]
        return self.log

    def gradient(self, t: Any, leaves: list[Any], **options: Any) -> Any:
        wanted = [leaf for leaf in leaves if leaf.requires_grad]
        grad = torch.autograd.grad(t.sum(), wanted, allow_unused=True, **options)[0] if wanted else None
        self.log.append(numbers(grad))
        return grad

    def second_gradient(self, t: Any, leaves: list[Any]) -> None:
        grad = self.gradient(t, leaves, create_graph=True)
        if grad is not None and grad.requires_grad:
            self.gradient(grad, leaves, retain_graph=True)


def write_to_leaf(leaves: list[Any], second: float) -> None:
    with torch.no_grad():
        leaves[int(second * len(leaves))].add_(0.25)


ACTIONS: dict[str, Callable[[Run, list[Any], list[Any], int, float], Any]] = {
    "backward": lambda run, results, leaves, i, second: results[i].sum().backward(),
    "backward again": lambda run, results, leaves, i, second: results[i].sum().backward(),
    "retain": lambda run, results, leaves, i, second: results[i].sum().backward(retain_graph=True),
    "write": lambda run, results, leaves, i, second: results[i].mul_(2.0),
    "hook": lambda run, results, leaves, i, second: results[i].register_hook(lambda grad: run.log.append(numbers(grad))),
    "retain_grad": lambda run, results, leaves, i, second: results[i].retain_grad(),
    "grad": lambda run, results, leaves, i, second: run.gradient(results[i], leaves, retain_graph=second < 0.5),
    "second": lambda run, results, leaves, i, second: run.second_gradient(results[i], leaves),
    "drop": lambda run, results, leaves, i, second: results.pop(i),
    "write to a leaf": lambda run, results, leaves, i, second: write_to_leaf(leaves, second),
    "look": lambda run, results, leaves, i, second: run.log.append(names(results[i].grad_fn)),
    "inputs": lambda run, results, leaves, i, second: results[i].sum().backward(
        inputs=[leaf for leaf in leaves if leaf.requires_grad][:1], retain_graph=second < 0.5),
}


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_random_uses_of_a_graph(first: int) -> None:
    for seed in range(first, first + 10):
        torch.compiler.reset()
        expected = Run(seed).observe(lambda f: f)
        with backend_config.patch(fusion_threshold=0, fusion_code=False):
            assert Run(seed).observe(torch.compile) == expected, seed
