"""`einsum` shows `__torch_function__` the equation and its operands one by one, whatever form it is called in."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd import fx

SEEN: list[Any] = []


class Watched(torch.Tensor):
    """Notes the arguments of einsum."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.einsum:
            SEEN.append(args)
        return super().__torch_function__(func, types, args, kwargs or {})


@pytest.mark.parametrize("form", ["one by one", "a tuple", "a list", "subscript lists"])
def test_every_form_of_einsum_is_seen_alike(form: str) -> None:
    a = torch.arange(4.0).reshape(2, 2).as_subclass(Watched)
    calls: dict[str, Any] = {"one by one": ("ab,bc", a, a), "a tuple": ("ab,bc", (a, a)), "a list": ("ab,bc", [a, a]),
                             "subscript lists": (a, [0, 1], a, [1, 2])}
    SEEN.clear()
    result = torch.einsum(*calls[form])
    assert [type(value) for value in SEEN[0]] == [str, Watched, Watched]
    assert result.tolist() == (a @ a).tolist()


def test_graph_has_the_operands_one_by_one() -> None:
    traced = fx.symbolic_trace(lambda x, y: torch.einsum("ij,jk->ik", (x, y)))
    node = next(node for node in traced.graph.nodes if node.op == "call_function")
    assert [str(arg) for arg in node.args] == ["ij,jk->ik", "x", "y"]
