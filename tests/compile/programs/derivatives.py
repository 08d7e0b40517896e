"""Custom Functions, higher derivatives, transforms, hooks and graphs of several calls."""
from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from typing import Any

import retrograd as torch
from retrograd import nn
from retrograd.autograd import Function
from retrograd.utils.checkpoint import checkpoint
from tests.compile.programs.base import Compile, error, program, x


def leaf(*shape: int) -> Any:
    return (x(*(shape or (3,))) / 4).requires_grad_()


def small_net() -> Any:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))


@program
def function_with_needs_input_grad(compile: Compile) -> Iterator[Any]:
    seen: list[Any] = []

    class Product(Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any, k: int) -> Any:
            ctx.save_for_backward(a, b)
            ctx.k = k
            ctx.set_materialize_grads(False)
            return a * b * k, a + b

        @staticmethod
        def backward(ctx: Any, first: Any, second: Any) -> Any:
            a, b = ctx.saved_tensors
            seen.append((ctx.needs_input_grad, first is None, second is None))
            total = [None, None, None]
            if first is not None and ctx.needs_input_grad[0]:
                total[0] = first * b * ctx.k
            if first is not None and ctx.needs_input_grad[1]:
                total[1] = first * a * ctx.k
            return tuple(total)
    g = compile(lambda a, b, k: Product.apply(a, b, k))
    for k, which in ((2, 0), (2, 1), (3, 0), (2, 0)):
        a, b = leaf(), x().requires_grad_(k == 2)
        g(a * 1, b, k)[which].sum().backward()
        yield a.grad, b.grad, list(seen)


@program
def function_marked_dirty_and_not_differentiable(compile: Compile) -> Iterator[Any]:
    class Sort(Function):
        @staticmethod
        def forward(ctx: Any, t: Any) -> Any:
            values, order = t.sort()
            ctx.mark_non_differentiable(order)
            ctx.save_for_backward(order)
            return values, order

        @staticmethod
        def backward(ctx: Any, grad: Any, _: Any) -> Any:
            (order,) = ctx.saved_tensors
            return torch.zeros_like(grad).index_copy(0, order, grad)

    class Twice(Function):
        @staticmethod
        def forward(ctx: Any, t: Any) -> Any:
            ctx.mark_dirty(t)
            return t.mul_(2)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    def f(t: Any) -> Any:
        y = t * 1
        z = Twice.apply(y)
        values, order = Sort.apply(z)
        return values * x(), order, y is z, y._version
    g = compile(f)
    for k in range(3):
        t = torch.tensor([3.0, 1.0, 2.0 + k], requires_grad=True)
        out = g(t)
        out[0].sum().backward()
        yield out, t.grad


@program
def function_with_a_double_backward(compile: Compile) -> Iterator[Any]:
    class Cube(Function):
        @staticmethod
        def forward(ctx: Any, t: Any) -> Any:
            ctx.save_for_backward(t)
            return t ** 3

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (t,) = ctx.saved_tensors
            return 3 * t * t * grad
    g = compile(lambda t: (Cube.apply(t) * t).sum())
    for k in range(3):
        t = (x() + k).requires_grad_()
        (first,) = torch.autograd.grad(g(t), t, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), t, create_graph=True)
        (third,) = torch.autograd.grad(second.sum(), t)
        yield first, second, third


@program
def higher_derivatives_in_a_loop(compile: Compile) -> Iterator[Any]:
    def f(t: Any, n: int) -> Any:
        y = t.sin() * t.exp()
        for _ in range(n):
            (y,) = torch.autograd.grad(y.sum(), t, create_graph=True)
        return y
    g = compile(f)
    for n in (0, 1, 2, 3, 1):
        yield torch.round(g(leaf(), n).detach() * 1e3)


@program
def transforms_inside_and_outside(compile: Compile) -> Iterator[Any]:
    func = torch.func

    def f(t: Any) -> Any:
        return (t.sin() * t).sum()
    inside = compile(lambda t: (func.grad(f)(t), func.hessian(f)(t), func.vmap(func.grad(f))(t.repeat(2, 1)),
                                func.jvp(f, (t,), (torch.ones_like(t),))))
    outside = compile(f)
    for k in range(3):
        t = x() + k
        yield inside(t)
        yield func.grad(outside)(t), func.hessian(outside)(t), func.vmap(func.grad(outside))(t.repeat(2, 1))
        yield func.jvp(outside, (t,), (torch.ones_like(t),)), func.jacfwd(func.jacrev(outside))(t)
        yield func.vjp(outside, t)[1](torch.tensor(2.0))


@program
def functional_calls_and_ensembles(compile: Compile) -> Iterator[Any]:
    nets = [small_net() for _ in range(2)]
    with torch.no_grad():
        nets[1][0].weight.mul_(2)
    params, buffers = torch.func.stack_module_state(nets)
    base = copy.deepcopy(nets[0])

    def one(p: Any, b: Any, t: Any) -> Any:
        return torch.func.functional_call(base, (p, b), (t,)).sum()
    g = compile(lambda t: torch.func.vmap(torch.func.grad(one), (0, 0, None))(params, buffers, t))
    for k in range(3):
        yield g(x(2, 3) + k)


@program
def checkpoints_with_random_numbers(compile: Compile) -> Iterator[Any]:
    runs: list[int] = []

    def body(t: Any) -> Any:
        runs.append(1)
        return nn.functional.dropout(t.sin(), 0.5) * t
    for reentrant in (True, False):
        g = compile(lambda t, r=reentrant: checkpoint(body, t, use_reentrant=r).sum())
        torch.manual_seed(5)
        for _ in range(3):
            t = leaf()
            loss = g(t)
            loss.backward()
            yield loss.detach(), t.grad, len(runs)


@program
def hooks_that_raise(compile: Compile) -> Iterator[Any]:
    t = leaf()
    count = [0]

    def hook(grad: Any) -> Any:
        count[0] += 1
        if count[0] % 2:
            raise ValueError(f"no {count[0]}")
        return grad * 2

    def f(t: Any) -> Any:
        y = t * 2
        y.register_hook(hook)
        return (y.exp() * y).sum()
    g = compile(f)
    for _ in range(4):
        t.grad = None
        loss = g(t)
        yield error(lambda: loss.backward(retain_graph=True)), t.grad      # noqa: B023
        yield error(lambda: loss.backward()), t.grad           # noqa: B023
        yield error(lambda: loss.backward())                   # noqa: B023


@program
def hooks_removed_by_hooks(compile: Compile) -> Iterator[Any]:
    order: list[str] = []

    def f(t: Any) -> Any:
        y = t.sin()

        def first(grad: Any) -> None:
            order.append("first")
            handle.remove()
            y.register_hook(lambda g: order.append("late"))
        y.register_hook(first)
        handle = y.register_hook(lambda g: order.append("second"))
        y.register_hook(lambda g: g * 3)
        return (y * y).sum()
    g = compile(f)
    for _ in range(3):
        t = leaf()
        g(t).backward()
        yield t.grad, list(order)


@program
def anomaly_inside_and_grad_modes(compile: Compile) -> Iterator[Any]:
    def f(t: Any, k: int) -> Any:
        with warnings.catch_warnings(action="ignore"), torch.autograd.detect_anomaly(check_nan=k % 2 == 0):
            y = (t - 0.25).sqrt() * 0
            with torch.set_grad_enabled(k < 3):
                z = y.sum() * 2
            z = z + t.sum()
            z.backward()
        return z.detach()
    g = compile(f)
    for k in range(4):
        t = leaf()
        yield error(lambda: g(t, k)), t.grad is None           # noqa: B023


@program
def retained_and_detached_parts(compile: Compile) -> Iterator[Any]:
    kept: list[Any] = []

    def f(t: Any) -> Any:
        y = t * 2
        y.retain_grad()
        kept.append(y)
        z = y.detach().exp() * y
        z.retain_grad()
        return z.sum(), z
    g = compile(f)
    for _ in range(3):
        t = leaf()
        loss, z = g(t)
        loss.backward()
        yield t.grad, kept[-1].grad, z.grad, len(kept), z.grad_fn.name()


@program
def saved_tensor_hooks_that_change(compile: Compile) -> Iterator[Any]:
    packed: list[int] = []

    def pack(t: Any) -> Any:
        packed.append(len(packed))
        return len(packed) - 1, t.detach() * 2

    def unpack(found: Any) -> Any:
        return found[1] / 2

    def f(t: Any) -> Any:
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = t.exp() * t
        return (y * y).sum()
    g = compile(f)
    for _ in range(3):
        t = leaf()
        g(t).backward()
        yield t.grad, len(packed)


@program
def graph_kept_across_calls(compile: Compile) -> Iterator[Any]:
    before: list[Any] = [torch.zeros(3)]

    def f(t: Any) -> Any:
        before[0] = (before[0] + t).tanh()
        return before[0].sum()
    g = compile(f)
    t = leaf()
    for k in range(5):
        loss = g(t)
        loss.backward(retain_graph=True)
        yield loss.detach(), t.grad.clone()
        if k == 2:
            before[0] = before[0].detach()


@program
def truncated_graphs_and_freed_ones(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: (t * t).sin())
    t = leaf()
    a = g(t)
    b = g(a)
    b.sum().backward()
    yield t.grad, error(lambda: a.sum().backward()), error(lambda: b.sum().backward())
    c = g(a.detach().requires_grad_())
    c.sum().backward()
    yield c, t.grad
