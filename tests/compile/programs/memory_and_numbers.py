"""Views, aliases, random states, masks and numbers that change between calls."""
from __future__ import annotations

import contextlib
import gc
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

import retrograd as torch
from retrograd import nn
from tests.compile.programs.base import Compile, error, program, x


def leaf(*shape: int) -> Any:
    return (x(*(shape or (3,))) / 4).requires_grad_()


def small_net() -> Any:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))


@program
def views_returned_and_written(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = t * 2
        a, b = y[:1], y[1:]
        a.mul_(3)
        b.add_(a)
        return y, a, b, y.view(3, 1), y._version, a._base is y
    g = compile(f)
    for _ in range(3):
        t = leaf()
        y, a, b, v, version, is_base = g(t)
        (y.sum() + (a * b).sum()).backward()
        yield y, a, b, v, version, is_base, t.grad
        a.detach().zero_()
        yield y, v


@program
def inputs_alias_outputs_and_globals(compile: Compile) -> Iterator[Any]:
    store = torch.zeros(4)

    def f(t: Any, u: Any) -> Any:
        t.add_(1)
        store[:3] += u
        return t[1:], store, u.expand(2, 3), t.is_set_to(u), (t * u)
    g = compile(f)
    base = x(6)
    for k in range(4):
        t, u = (base[:3], base[3:]) if k % 2 else (base[:3], base[:3])
        out = g(t, u)
        out[0].mul_(2)
        yield *out, base.clone(), store.clone()


@program
def dtype_and_shape_drift(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t, u: (t @ u if t.ndim == 2 else t * u, t.sum(0), t.to(u.dtype) + 1))
    pairs = [(x(2, 2), x(2, 2)), (x(2, 3), x(3, 1)), (x(3), x(3).double()), (x(3).long(), x(1)), (x(2, 2), x(2, 2).double()),
             (x(2, 2).to(torch.bfloat16), x(2, 2).to(torch.bfloat16)), (x(2, 2).cfloat(), x(2, 2).cfloat()), (x(2, 2), x(3, 2))]
    for t, u in pairs:
        fails = t.ndim == 2 and (t.dtype != u.dtype or t.shape[1] != u.shape[0])
        yield error(lambda: g(t, u)) if fails else g(t, u)     # noqa: B023


@program
def random_state_between_and_inside(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        state = torch.get_rng_state()
        a = torch.rand(2) + t.sum()
        torch.set_rng_state(state)
        b = torch.rand(2) + t.sum()
        return a, b, torch.randperm(4), torch.bernoulli(t / 4), torch.multinomial(t, 2)
    g = compile(f)
    torch.manual_seed(11)
    for k in range(4):
        yield g(x())
        if k == 1:
            torch.manual_seed(11)
        yield torch.rand(1)


@program
def garbage_collected_cycles(compile: Compile) -> Iterator[Any]:
    gone: list[str] = []

    class Holder:
        def __init__(self, t: Any) -> None:
            self.t, self.me = t, self
            weakref.finalize(self, gone.append, "holder")

    def f(t: Any) -> Any:
        y = t * 2
        Holder(y)
        gc.collect()
        return y + len(gone)
    g = compile(f)
    for _ in range(3):
        yield g(x()), len(gone)


@program
def recursion_limit_and_deep_graphs(compile: Compile) -> Iterator[Any]:
    def deep(t: Any, n: int) -> Any:
        return t if n == 0 else deep(t * 1.001, n - 1)
    g = compile(deep)
    for n in (10, 150, 150, 10):
        t = leaf()
        out = g(t, n)
        out.sum().backward()
        yield torch.round(out.detach() * 1e4), torch.round(t.grad * 1e4)
    yield error(lambda: g(x(), sys.getrecursionlimit() + 10)).partition(":")[0], g(x(), 2)


@program
def tracing_and_modules_called_twice(compile: Compile) -> Iterator[Any]:
    net = small_net()
    g = compile(net)
    graph = torch.fx.symbolic_trace(net)
    h = compile(graph)
    for k in range(3):
        a, b = g(x(1, 3) + k), h(x(1, 3) - k)
        (a * b).sum().backward()
        yield a, b, net[0].weight.grad.clone()
    yield [node.op for node in graph.graph.nodes]


@program
def parameters_tied_and_untied(compile: Compile) -> Iterator[Any]:
    a, b = nn.Linear(3, 3), nn.Linear(3, 3)
    with torch.no_grad():
        for k, p in enumerate([*a.parameters(), *b.parameters()]):
            p.copy_(x(*p.shape) / (k + 3))
    g = compile(lambda t: b(a(t)).sum())
    for k in range(4):
        if k == 1:
            b.weight = a.weight
        if k == 3:
            b.weight = nn.Parameter(a.weight.detach() * 2)
        g(x(2, 3)).backward()
        yield [p.grad.clone() for p in {*a.parameters(), *b.parameters()} if p.grad is not None and p.ndim == 2
               and p is a.weight], a.weight is b.weight


@program
def numbers_that_grow(compile: Compile) -> Iterator[Any]:
    def f(t: Any, n: int) -> Any:
        return t * n + 2 ** n, t.new_full((2,), n), t.long() << (n % 8), t ** n
    g = compile(f)
    for n in (0, 1, 2, 31, 63, 64, -3, True):
        yield error(lambda: g(x(), n)), error(lambda: f(x(), n))       # noqa: B023


@program
def masks_and_scatter(compile: Compile) -> Iterator[Any]:
    def f(t: Any, i: Any) -> Any:
        y = t * 2
        y[t > 2] = 0
        y[i] += 1
        y.index_add_(0, i, torch.ones(len(i)))
        z = torch.where(y == 1, t, y).scatter(0, i, 5.0)
        return y, z, t[t > 1], z.nonzero(), y.masked_select(y > 0).sum()
    g = compile(f)
    for i in ([0], [0, 1], [2, 2], [1]):
        t = leaf()
        out = g(t, torch.tensor(i))
        (out[1].sum() + out[2].sum()).backward()
        yield *out, t.grad


@program
def numpy_in_the_middle_of_a_graph(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = t * 2
        array = y.detach().numpy()
        array[0] = 100.0
        z = torch.from_numpy(np.cumsum(array)) + y
        np.multiply(array, 2, out=array)
        return y, z, float(array.sum()), y.tolist()
    g = compile(f)
    for k in range(3):
        yield g(leaf() + k)


@program
def contexts_that_swallow(compile: Compile) -> Iterator[Any]:
    def f(t: Any, n: int) -> Any:
        y = t * 2
        with contextlib.suppress(RuntimeError, IndexError):
            y = y + 1
            y = y.view(n, 2)
            y = y * 0
        with contextlib.ExitStack() as stack:
            stack.callback(y.mul_, 2)
            stack.enter_context(torch.no_grad())
            z = y + 1
        return y, z, z.requires_grad
    g = compile(f)
    for n in (2, 3, 2, 3):
        yield g(x(4), n), g(leaf(4), n)
