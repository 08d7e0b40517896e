"""A backward pass without recording or modes gives what a recorded one gives, however its nodes run."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from tests.ops import cases


def is_written_out(case: Any) -> bool:
    """Whether the rules of the op may be run on arrays in plain Python."""
    return cases.is_batchable(case) and (case.op.elementwise or case.op.name in ("relu", "mm"))


def gradients(case: Any, create_graph: bool) -> list[Any]:
    leaves = [cases.like(t, cases.value(t), requires_grad=True) for t in case.tensors(case.differentiable)]
    made = case.observe(case.differentiable, leaves)
    outputs = [made[i] for i in case.flowing]
    seeds = [cases.like(t, cases.direction(case.random(str(i)), cases.value(t))) for i, t in enumerate(outputs)]
    return list(torch.autograd.grad(outputs, leaves, seeds, allow_unused=True, create_graph=create_graph))


@cases.over(is_written_out)
def test_every_rule_gives_the_same_unwatched(case: Any) -> None:
    gradients(case, False)              # an op's first node runs without having its function written
    for bare, recorded in zip(gradients(case, False), gradients(case, True), strict=True):
        if recorded is None:
            assert bare is None
            continue
        assert (bare.dtype, bare.shape, bare.stride()) == (recorded.dtype, recorded.shape, recorded.stride())
        np.testing.assert_array_equal(cases.value(bare), cases.value(recorded))


UNARY = {"sin": torch.sin, "exp": torch.exp, "relu": torch.relu, "log": torch.log, "tanh": torch.tanh, "neg": torch.neg}
SHAPES = [(), (3,), (2, 3), (0,), (2, 0), (1, 1), (40, 50)]


def leaf(shape: Any, dtype: Any) -> Any:
    numbers = np.random.default_rng(3).normal(size=shape)
    t = torch.from_numpy(np.array(numbers)).to(dtype)
    if t.numel() > 2:
        t.view(-1)[0], t.view(-1)[1] = math.nan, 0.0
    return t.requires_grad_()


def both(function: Any, *leaves: Any) -> list[list[Any]]:
    made = function(*leaves)
    seed = torch.full_like(made, 1.5, requires_grad=False)
    torch.autograd.grad(made, leaves, seed, retain_graph=True)
    return [list(torch.autograd.grad(made, leaves, seed, retain_graph=True, create_graph=recorded))
            for recorded in (False, True)]


def assert_alike(pairs: Any) -> None:
    for bare, recorded in zip(*pairs, strict=True):
        assert (bare.dtype, bare.shape, bare.stride()) == (recorded.dtype, recorded.shape, recorded.stride())
        np.testing.assert_array_equal(bare.numpy(), recorded.detach().numpy())
        assert isinstance(bare.array, np.ndarray)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_tensor(name: str, shape: Any, dtype: Any) -> None:
    assert_alike(both(UNARY[name], leaf(shape, dtype)))


@pytest.mark.parametrize("other", [2.5, -0.0, 0.0, 3, math.inf, math.nan, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_numbers(shape: Any, other: Any) -> None:
    for function in (lambda t: t * other, lambda t: other * t, lambda t: t / other if other else t):
        assert_alike(both(function, leaf(shape, torch.float32)))


def test_equal_numbers_are_told_apart() -> None:
    x = torch.ones(2)
    assert torch.signbit(x * 0.0).tolist() == [False, False]
    assert torch.signbit(x * -0.0).tolist() == [True, True]
    assert torch.signbit(x * 0.0).tolist() == [False, False]
    assert ((x * 1).dtype, (x.double() * 1).dtype) == (torch.float32, torch.float64)


@pytest.mark.parametrize("mixed", [torch.tensor(2.0, dtype=torch.float64), torch.ones(3, dtype=torch.float64),
                                   torch.ones(2, 3).t().contiguous().t(), torch.ones(3), torch.ones(3, dtype=torch.int64)],
                         ids=["0-d double", "double", "transposed", "broadcast", "integers"])
def test_operands_of_another_kind(mixed: Any) -> None:
    assert_alike(both(lambda t: t * mixed, leaf((2, 3), torch.float32)))


def test_products_of_matrices_in_every_memory_order() -> None:
    def turned(t: Any) -> Any:
        return t.detach().t().contiguous().t().requires_grad_()
    for a in (leaf((2, 3), torch.float64), turned(leaf((2, 3), torch.float64))):
        for b in (leaf((3, 4), torch.float64), turned(leaf((3, 4), torch.float64))):
            assert_alike(both(torch.mm, a, b))
            assert_alike(both(lambda x, y: (y.t() @ x.t()).t(), a, b))


def test_a_saved_tensor_that_was_written_to_is_refused() -> None:
    x = torch.ones(3, requires_grad=True)
    y = torch.ones(3)
    product = x * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()
    product = x * y                     # from its present version on it may be used
    product.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_a_result_that_was_written_to_is_refused() -> None:
    y = torch.ones(3, requires_grad=True).exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_what_was_saved_is_let_go() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x.sin()
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            y.backward(torch.ones(3))


def test_hooks_after_a_node_still_see_what_it_saved() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x.sin()
    seen: list[Any] = []
    y.grad_fn.register_hook(lambda *grads: seen.append(y.grad_fn._saved_self))
    y.sum().backward()
    assert seen[0] is x


def test_a_dispatch_mode_sees_the_ops_of_a_rule() -> None:
    from retrograd.utils._python_dispatch import TorchDispatchMode

    class Names(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[str] = []

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.seen.append(str(func))
            return func(*args, **(kwargs or {}))

    x = torch.ones(3, requires_grad=True)
    for _ in range(2):
        x.sin().sum().backward()
    y = x.sin().sum()
    with Names() as names:
        y.backward()
    assert "aten.cos.default" in names.seen and "aten.mul.Tensor" in names.seen


@pytest.mark.parametrize("op", ["sum", "mean", "exp", "square"])
def test_nodes_that_lead_nowhere_do_not_speak_for_others(op: str) -> None:
    for shape in [(3, 5), (2, 7)]:
        for _ in range(3):
            with torch.no_grad():
                row = torch.ones(shape, requires_grad=True)[0]         # requires grad by its base, without a node
            made = getattr(row, op)()
            made.backward(torch.ones_like(made))
        x = torch.ones(shape[1:], requires_grad=True)
        made = getattr(x * 1, op)()
        made.backward(torch.ones_like(made))
        assert x.grad is not None
