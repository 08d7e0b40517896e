"""Functional tensors one by one: writes give them new values, and what they stand for is not written."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd._functorch import functional_tensors as ft
from retrograd.fx.experimental.proxy_tensor import make_fx

aten: Any = torch.ops.aten


def run(f: Any, reapply_views: bool) -> Any:
    """`f` without its writes; an input that it changes is updated at the end."""
    def wrapped(x: Any) -> Any:
        functional = ft.to_functional_tensor(x)
        ft.enable_functionalization(reapply_views=reapply_views)
        try:
            out = f(functional)
        finally:
            ft.disable_functionalization()
        ft.sync(functional)
        if ft.was_storage_changed(functional):
            x.copy_(ft.from_functional_tensor(functional))
        return ft.from_functional_tensor(out)
    return wrapped


def write_through_a_view(x: Any) -> Any:
    z = x.view(4, 2)
    z.add_(1)
    return x.sin()


@pytest.mark.parametrize(("reapply", "view"), [(True, aten.view.default), (False, aten.view_copy.default)])
def test_a_write_through_a_view_becomes_ops_without_writes(reapply: bool, view: Any) -> None:
    made = make_fx(run(write_through_a_view, reapply))(torch.zeros(8))
    found = [node.target for node in made.graph.nodes if node.op == "call_function"]
    assert found[:3] == [view, aten.add.Tensor, view] and found[-1] is aten.copy_.default
    assert not any([op._schema.is_mutable for op in found[:-1]])
    x, y = torch.zeros(8), torch.zeros(8)
    torch.testing.assert_close(run(write_through_a_view, reapply)(x), write_through_a_view(y))
    torch.testing.assert_close(x, y)


def test_functional_tensors_say_what_they_are() -> None:
    x = torch.zeros(2)
    functional = ft.to_functional_tensor(x)
    assert ft.is_functional_tensor(functional) and not ft.is_functional_tensor(x) and ft.from_functional_tensor(functional) is x
    with pytest.raises(RuntimeError, match="functional already"):
        ft.to_functional_tensor(functional)
    with pytest.raises(RuntimeError, match="is not functional"):
        ft.from_functional_tensor(x)
    ft.enable_functionalization()
    try:
        with pytest.raises(RuntimeError, match="multiple layers of mode-style functionalization nesting"):
            ft.enable_functionalization()
        ft.replace(functional, torch.ones(2))
        ft.commit_update(functional)
        assert ft.was_storage_changed(functional)
    finally:
        ft.disable_functionalization()
    torch.testing.assert_close(ft.from_functional_tensor(functional), torch.ones(2))
    with pytest.raises(RuntimeError, match="no scope of functionalization is open"):
        ft.disable_functionalization()
