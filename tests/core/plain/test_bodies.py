"""Nodes that generated bodies write out: each equals the one that the layers record, whichever inputs need gradients."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import retrograd as torch
from retrograd.core.state import add_slow_path

CALLS: dict[str, Any] = {
    "atan2": torch.atan2,
    "div": torch.div,
    "div_rounded": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "dist": lambda a, b: torch.dist(a, b, 3.0),
    "lerp": lambda a, b: torch.lerp(a, b, 0.3),
    "logaddexp": torch.logaddexp,
    "hypot": torch.hypot,
    "mse_loss": torch.nn.functional.mse_loss,
    "sum": lambda a, b: torch.sum(a, 1),
    "sum_kept": lambda a, b: torch.sum(b, (0,), True),
    "cumsum": lambda a, b: torch.cumsum(a, 0),
    "sqrt": lambda a, b: torch.sqrt(b),
    "mm": torch.mm,
    "softmax": lambda a, b: torch.softmax(b, 1),
    "leaky_relu": lambda a, b: torch.nn.functional.leaky_relu(a, 0.2),
    "clamp": lambda a, b: torch.clamp(a, 0.5, 2.0),
    "pow": torch.pow,
    "pow_number": lambda a, b: torch.pow(a, 3.0),
    "masked_fill": lambda a, b: torch.masked_fill(a, a > 1, 2.0),
    "addcmul": lambda a, b: torch.addcmul(a, b, b, value=2.0),
    "gather": lambda a, b: torch.gather(a, 0, torch.zeros(1, 2, dtype=torch.int64)),
    "logsumexp": lambda a, b: torch.logsumexp(a, 1),
}


def leaf(x: Any) -> Any:
    return x


def second_result(x: Any) -> Any:
    return torch.unbind(torch.stack([x, x]))[1]


def written(x: Any) -> Any:
    """A result that was written to, so that its version is not 0."""
    return x.clone().mul_(1.5)


def turned(x: Any) -> Any:
    return x.t()


def view_of_written(x: Any) -> Any:
    base = torch.stack([x, x])
    view = base[1]
    base.mul_(1.5)
    return view


@contextmanager
def layers() -> Iterator[None]:
    add_slow_path(1)
    try:
        yield
    finally:
        add_slow_path(-1)


def recorded(call: Any, operands: list[Any]) -> Any:
    """What a call records: node class, edges with their indices, which operands are saved, with their versions, attributes."""
    made = call(*operands)
    node = made.grad_fn
    if node is None:
        return None
    places = {id(t): i for i, t in enumerate(operands)}
    saved = [places.get(id(value)) for value in node._saved_ or ()]
    versions = [node._versions_[i] if node._versions_ else 0 for i, place in enumerate(saved) if place is not None]
    names = sorted([name for name in dir(node) if name.startswith("_saved_")])
    return (type(node), node.next_functions, saved, versions, node._shape_, node._dtype_, made.output_nr,
            [(name, shown(getattr(node, name))) for name in names])


def shown(value: Any) -> Any:
    return (value.tolist(), value._version) if isinstance(value, torch.Tensor) else value


@pytest.mark.parametrize("source", [leaf, second_result, written, turned, view_of_written])
@pytest.mark.parametrize("name", CALLS)
def test_generated_bodies_record_what_the_layers_record(name: str, source: Any) -> None:
    for wanted in ((True, False), (False, True), (True, True)):
        operands = [source(torch.tensor(values, requires_grad=needed)) for values, needed in zip(
            ([[1.0, 2.0], [3.0, 0.5]], [[0.5, 1.25], [2.0, 4.0]]), wanted, strict=True)]
        with layers():
            expected = recorded(CALLS[name], operands)
        for _ in range(3):              # a body is generated at the second call and used from the third on
            assert recorded(CALLS[name], operands) == expected
