"""Control flow by functions: values, gradients, vmap, what does not fit, and how make_fx writes it down."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd._higher_order_ops.associative_scan import associative_scan
from retrograd._higher_order_ops.control_flow import cond, map, scan, while_loop
from retrograd._higher_order_ops.operators import UncapturedHigherOrderOpError
from retrograd._higher_order_ops.references import _fake_associative_scan, _fake_map, _fake_scan
from retrograd.fx.experimental.proxy_tensor import make_fx

X = torch.arange(6.0).view(3, 2)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_scans_are_the_loops_that_they_stand_for(dim: int, reverse: bool) -> None:
    x = X.clone().requires_grad_()
    init = torch.zeros_like(x.select(dim, 0))

    def combine(carry: Any, row: Any) -> Any:
        return {"sum": carry["sum"] + row["x"].sin()}, (carry["sum"] * row["x"], row["x"].clone())

    made = scan(combine, {"sum": init}, {"x": x}, dim=dim, reverse=reverse)
    wanted = _fake_scan(combine, {"sum": init}, {"x": x}, dim, reverse)
    torch.testing.assert_close(made, wanted)
    grads = [torch.autograd.grad(r[0]["sum"].sum() + r[1][0].sum(), x)[0] for r in (made, wanted)]
    torch.testing.assert_close(*grads)
    sums = [f(lambda a, b: a + b, x, dim, reverse=reverse) for f in (associative_scan, _fake_associative_scan)]
    torch.testing.assert_close(*sums)


def test_maps_are_the_loops_that_they_stand_for() -> None:
    xs, scale = {"a": X, "b": X + 1}, torch.tensor([2.0, 3.0])

    def f(row: Any, scale: Any) -> Any:
        return [row["a"] * scale, row["b"].sum()]

    torch.testing.assert_close(map(f, xs, scale), _fake_map(f, xs, scale))


def test_loops_of_examples_end_each_at_its_own_time() -> None:
    starts = torch.arange(3)
    counted, doubled = torch.vmap(lambda i, x: while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (i, x)))(starts, X)
    assert counted.tolist() == [3, 3, 3] and torch.equal(doubled, X * torch.tensor([[8.0], [4.0], [2.0]]))


def test_what_is_carried_keeps_its_shape_dtype_and_structure() -> None:
    zero = torch.zeros(2)
    with pytest.raises(UncapturedHigherOrderOpError, match="Expected init and carry to have same metadata but found:\npair"):
        scan(lambda c, x: ((c + x).sum(), x + 1), zero, X)
    with pytest.raises(UncapturedHigherOrderOpError, match=r"differ in 'dtype: torch.float32 vs torch.float64'"):
        scan(lambda c, x: ((c + x).double(), x + 1), zero, X)
    with pytest.raises(UncapturedHigherOrderOpError, match="The tree structure of the inits and the carries are not identical"):
        scan(lambda c, x: (c["a"] + x, x), {"a": zero}, X)
    with pytest.raises(UncapturedHigherOrderOpError, match="Expected body_fn_output and carried_inputs to have same metadata"):
        while_loop(lambda i: i < 3, lambda i: (i + 1.5,), (torch.tensor(0),))
    with pytest.raises(UncapturedHigherOrderOpError, match="to have same number of outputs but got lhs"):
        while_loop(lambda i, x: i < 3, lambda i, x: (i + 1,), (torch.tensor(0), X))


def test_arguments_are_checked_in_pytorchs_words() -> None:
    zero = torch.zeros(2)
    for f, text in (
            (lambda: scan(3, zero, X), "Combine_fn must be a callable, but got 3"),     # type: ignore[arg-type]
            (lambda: scan(lambda c, x: (c, x), [], X), r"scan\(\) operator requires init leaves"),
            (lambda: scan(lambda c, x: (c, x), 1.0, X), "All init leaves must be a Tensor but got 1.0"),
            (lambda: scan(lambda c, x: (c, x), zero, X, reverse=2), "Reverse must be a bool, but got <class 'int'>"),
            (lambda: cond("a", torch.sin, torch.cos, (X,)), "Expected pred to be bool or tensor, but got a"),
            (lambda: cond(torch.ones(2), torch.sin, torch.cos, (X,)), "Expected pred to be bool or single-element tensor"),
            (lambda: cond(True, 3, torch.cos, (X,)), "Expect both branches to be callable"),     # type: ignore[arg-type]
            (lambda: cond(True, torch.sin, torch.cos, X), "Expect operands to be a tuple of possibly nested"),
            (lambda: while_loop(lambda x: x < 3, lambda x: (x + 1,), (X,)), "cond_fn must return a boolean scalar tensor"),
            (lambda: map(lambda x: x, [X, X[:2]]), "Leading dimensions of mapped xs must be consistent")):
        with pytest.raises(RuntimeError, match=text):
            f()     # type: ignore[no-untyped-call]
    with pytest.raises(IndexError, match="Dimension out of range"):
        associative_scan(lambda a, b: a + b, X, 3)


def test_make_fx_writes_one_operator_with_its_functions_as_submodules() -> None:
    outer = torch.ones(2)

    def choose(p: Any, x: Any, y: Any) -> Any:
        return cond(p, lambda x: x.sin() + y, lambda x: x.cos() + outer, (x,))

    made = make_fx(choose)(torch.tensor(True), X, torch.ones(2))
    assert "torch.ops.higher_order.cond(p_1, true_graph_0, false_graph_0, (x_1, y_1))" in made.code
    assert "torch.ops.aten.sin.default(arg0_1)" in made.true_graph_0.code and "cos" in made.false_graph_0.code
    for p in (True, False):
        torch.testing.assert_close(made(torch.tensor(p), X, torch.ones(2)), choose(torch.tensor(p), X, torch.ones(2)))
    loops: list[tuple[Any, str, tuple[Any, ...]]] = [
        (lambda i, x: while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (i, x)),
         "while_loop(while_loop_cond_graph_0, while_loop_body_graph_0, (i_1, x_1), ())", (torch.tensor(0), X)),
        (lambda x: map(lambda row: row.sin(), x), "map_impl(body_graph_0, [x_1], [])", (X,)),
        (lambda c, x: scan(lambda c, row: (c + row, c * row), c, x), "scan(scan_combine_graph_0, [c_1], [",
         (torch.zeros(2), X)),
        (lambda x: associative_scan(lambda a, b: a + b, x, 0), "associative_scan(associative_scan_combine_graph_0, [", (X,))]
    for f, text, args in loops:
        made = make_fx(f)(*args)
        assert f"torch.ops.higher_order.{text}" in made.code, made.code
        torch.testing.assert_close(made(*args), f(*args))


def test_gradients_of_a_choice_are_a_choice_of_gradients() -> None:
    def gradient(p: Any, x: Any) -> Any:
        x = x.detach().requires_grad_()
        return torch.autograd.grad(cond(p, lambda x: x.sin(), lambda x: x * x, (x,)).sum(), x)[0]

    made = make_fx(gradient)(torch.tensor(True), X)
    assert made.code.count("torch.ops.higher_order.cond(") == 2
    torch.testing.assert_close(made(torch.tensor(True), X), X.cos())
    torch.testing.assert_close(made(torch.tensor(False), X), 2 * X)


def test_the_operators_are_found_by_name() -> None:
    assert str(torch.ops.higher_order.cond) == "cond" and torch.ops.higher_order.scan.name() == "scan"
    made = torch.ops.higher_order.cond(torch.tensor(False), torch.sin, torch.cos, (X,))
    assert torch.equal(made[0], X.cos())
