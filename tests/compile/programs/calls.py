"""Programs of functions that are called several times: state between calls, aliases, exceptions, hooks, threads, transforms.

Each of them returns a function of the number of the call.
"""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import retrograd as torch
from retrograd import nn
from retrograd.nn import functional as F
from retrograd.utils.checkpoint import checkpoint
from tests.compile.programs.base import Compile, program

Step = Callable[[int], Any]
CALLS = 5


def stepwise(make: Callable[[Compile], Step]) -> Any:
    """Declare a program by the function that is called for each observation."""

    def run(compile: Compile) -> Iterator[Any]:
        torch.manual_seed(0)
        step = make(compile)
        for i in range(CALLS):
            yield step(i)

    run.__name__ = f"call_{make.__name__}"
    return program(run)


@stepwise
def generator_state(c: Compile) -> Step:
    def gen(x):
        acc = 0
        while True:
            acc += 1
            x = x * 2 + acc
            yield x

    g = [None]
    f = c(lambda x: next(g[0]) if g[0] else None)

    def step(i):
        if i % 3 == 0:
            g[0] = gen(torch.ones(3))
        return f(torch.ones(3))

    return step


@stepwise
def generator_compiled(c: Compile) -> Step:
    @c
    def f(x):
        for k in range(3):
            yield x * k

    return lambda i: [t.clone() for t in f(torch.ones(2) + i)]


@stepwise
def closure_rebound(c: Compile) -> Step:
    k = 1.0

    def setk(v):
        nonlocal k
        k = v

    f = c(lambda x: x * k + k)

    def step(i):
        setk(float(i))
        return f(torch.arange(4.0))

    return step


@stepwise
def default_mutable(c: Compile) -> Step:
    @c
    def f(x, acc=[]):  # noqa: B006
        acc.append(x.sum())
        return sum(acc)

    return lambda i: f(torch.ones(3) * i)


@stepwise
def context_manager(c: Compile) -> Step:
    depth = [0]

    @contextlib.contextmanager
    def cm():
        depth[0] += 1
        try:
            yield depth[0]
        finally:
            depth[0] -= 2

    @c
    def f(x):
        with cm() as d:
            y = x * d
        return y + depth[0]

    return lambda i: (f(torch.ones(2)), depth[0])


@stepwise
def exception_mid(c: Compile) -> Step:
    log = []

    @c
    def f(x, bad):
        y = x.sin()
        log.append(1)
        if bad:
            raise ValueError("no")
        return y * 2

    def step(i):
        try:
            return f(torch.ones(3) * i, i % 2)
        except ValueError as e:
            return str(e), len(log)

    return step


@stepwise
def exception_caught_inside(c: Compile) -> Step:
    @c
    def f(x):
        try:
            y = x @ torch.ones(3, 3)
        except RuntimeError:
            y = x * 0
        return y + 1

    return lambda i: f(torch.ones(3 if i % 2 else 2, dtype=torch.float32).unsqueeze(0))


@stepwise
def finally_effect(c: Compile) -> Step:
    s = []

    @c
    def f(x):
        try:
            return x * len(s)
        finally:
            s.append(0)

    return lambda i: f(torch.ones(2))


@stepwise
def inplace_arg(c: Compile) -> Step:
    x = torch.zeros(4)
    f = c(lambda x: x.add_(1).mul_(2))
    return lambda i: (f(x), x.clone(), x._version)


@stepwise
def alias_args(c: Compile) -> Step:
    @c
    def f(a, b):
        a.add_(1)
        return a * b

    x = torch.ones(4)
    return lambda i: f(x, x if i % 2 else torch.ones(4))


@stepwise
def alias_views(c: Compile) -> Step:
    base = torch.arange(6.0)

    @c
    def f(a, b):
        a.mul_(2)
        return b + 1, base.sum()

    return lambda i: f(base[:4], base[2:])


@stepwise
def returned_view_written(c: Compile) -> Step:
    x = torch.zeros(2, 3)
    f = c(lambda x: x.view(-1)[1:3])

    def step(i):
        v = f(x)
        v += i
        return x.clone(), v._is_view() if hasattr(v, "_is_view") else True

    return step


@stepwise
def returns_input(c: Compile) -> Step:
    f = c(lambda x: x)
    x = torch.ones(2)
    return lambda i: f(x) is x


@stepwise
def returns_same_twice(c: Compile) -> Step:
    @c
    def f(x):
        y = x * 2
        return y, y

    def step(i):
        a, b = f(torch.ones(2))
        return a is b

    return step


@stepwise
def kept_intermediate(c: Compile) -> Step:
    keep = []

    @c
    def f(x):
        y = x * 2
        keep.append(y)
        return y + 1

    def step(i):
        r = f(torch.ones(2) * i)
        keep[-1].add_(100)
        return r, [k.clone() for k in keep]

    return step


@stepwise
def hook_on_intermediate(c: Compile) -> Step:
    log = []

    @c
    def f(x):
        y = x * 3
        y.register_hook(lambda g: (log.append(g.clone()), g * 2)[1])
        return (y * y).sum()

    def step(i):
        x = torch.ones(3, requires_grad=True)
        f(x).backward()
        return x.grad, log[-1], len(log)

    return step


@stepwise
def retain_grad_inside(c: Compile) -> Step:
    k = []

    @c
    def f(x):
        y = x.sin()
        y.retain_grad()
        k.append(y)
        return y.exp().sum()

    def step(i):
        x = torch.ones(3, requires_grad=True)
        f(x).backward()
        return x.grad, k[-1].grad

    return step


@stepwise
def rng_interleaved(c: Compile) -> Step:
    torch.manual_seed(1)

    @c
    def f(x):
        a = torch.rand(3)
        x = x * a
        b = torch.rand(3)
        return x + b

    return lambda i: (f(torch.ones(3)), torch.rand(1))


@stepwise
def rng_dropout_grad(c: Compile) -> Step:
    torch.manual_seed(2)
    f = c(lambda x: F.dropout(x * 2, 0.5).sum())

    def step(i):
        x = torch.ones(10, requires_grad=True)
        f(x).backward()
        return x.grad

    return step


@stepwise
def fork_rng(c: Compile) -> Step:
    torch.manual_seed(3)

    @c
    def f(x):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(7)
            y = x + torch.rand(2)
        return y * torch.rand(2)

    return lambda i: f(torch.zeros(2))


@stepwise
def py_random(c: Compile) -> Step:
    random.seed(0)
    f = c(lambda x: x * random.random())
    return lambda i: f(torch.ones(2))


@stepwise
def thread_inside(c: Compile) -> Step:
    @c
    def f(x):
        y = x * 2
        r = []
        t = threading.Thread(target=lambda: r.append(y + 1))
        t.start()
        t.join()
        return r[0] * y

    return lambda i: f(torch.ones(3) * i)


@stepwise
def dynamic_shapes(c: Compile) -> Step:
    f = c(lambda x: x.reshape(-1, 2).sum(0) * x.shape[0])
    return lambda i: f(torch.arange(2.0 * (i + 1)))


@stepwise
def mark_dyn(c: Compile) -> Step:
    f = c(lambda x: x.sum() / x.numel())

    def step(i):
        x = torch.ones(3 + i, 2)
        torch.compiler.mark_dynamic(x, 0)
        return f(x)

    return step


@stepwise
def nested_compile(c: Compile) -> Step:
    g = c(lambda x: x.cos() * 2)
    f = c(lambda x: g(x) + g(x * 2))
    return lambda i: f(torch.ones(3) * i)


@stepwise
def compile_method(c: Compile) -> Step:
    class A:
        def __init__(s):
            s.n = 0

        def go(s, x):
            s.n += 1
            return x * s.n

    a = A()
    f = c(a.go)
    return lambda i: (f(torch.ones(2)), a.n)


@stepwise
def compile_optimizer_step(c: Compile) -> Step:
    p = nn.Parameter(torch.ones(3))
    o = torch.optim.Adam([p], lr=0.1)

    @c
    def st():
        o.step()

    def step(i):
        o.zero_grad()
        (p * p).sum().backward()
        st()
        return p.detach().clone()

    return step


@stepwise
def compile_train_step(c: Compile) -> Step:
    torch.manual_seed(0)
    m = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    o = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
    x = torch.arange(6.0).reshape(2, 3)

    @c
    def st(x):
        o.zero_grad()
        l = m(x).pow(2).mean()
        l.backward()
        o.step()
        return l

    return lambda i: (st(x), [p.detach().clone() for p in m.parameters()])


@stepwise
def vmap_of_compiled(c: Compile) -> Step:
    f = c(lambda x: (x * x).sum())
    return lambda i: torch.func.vmap(f)(torch.arange(6.0).reshape(3, 2) * i)


@stepwise
def grad_of_compiled(c: Compile) -> Step:
    f = c(lambda x: (x.sin() * x).sum())
    return lambda i: torch.func.grad(f)(torch.arange(3.0) + i)


@stepwise
def compiled_of_grad(c: Compile) -> Step:
    f = c(torch.func.grad(lambda x: (x.sin() * x).sum()))
    return lambda i: f(torch.arange(3.0) + i)


@stepwise
def jvp_of_compiled(c: Compile) -> Step:
    f = c(lambda x: x.exp() * x)
    return lambda i: torch.func.jvp(f, (torch.ones(2) * i,), (torch.ones(2),))


@stepwise
def jacrev_compiled(c: Compile) -> Step:
    f = c(torch.func.jacrev(lambda x: x**3))
    return lambda i: f(torch.ones(2) * i)


@stepwise
def custom_fn(c: Compile) -> Step:
    class Sq(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.k = 2
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return ctx.k * x * g

    f = c(lambda x: (Sq.apply(x) * x).sum())

    def step(i):
        x = (torch.ones(3) * i).requires_grad_()
        f(x).backward()
        return x.grad

    return step


@stepwise
def ckpt(c: Compile) -> Step:
    n = [0]

    def body(x):
        n[0] += 1
        return F.dropout(x.sin(), 0.3) * x

    f = c(lambda x: checkpoint(body, x, use_reentrant=False).sum())
    torch.manual_seed(5)

    def step(i):
        x = torch.ones(6).requires_grad_()
        f(x).backward()
        return x.grad, n[0]

    return step


@stepwise
def subclass(c: Compile) -> Step:
    class S(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            r = super().__torch_function__(func, types, args, kwargs or {})
            return r

    f = c(lambda x: x * 2 + 1)
    return lambda i: (f(torch.ones(2).as_subclass(S)), type(f(torch.ones(2).as_subclass(S))).__name__)


@stepwise
def autocast(c: Compile) -> Step:
    f = c(
        lambda a, b: (a @ b).sum(),
    )

    def step(i):
        a, b = torch.ones(2, 2), torch.ones(2, 2)
        if i % 2:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                r = f(a, b)
        else:
            r = f(a, b)
        return r, r.dtype

    return step


@stepwise
def autocast_inside(c: Compile) -> Step:
    @c
    def f(a):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = a @ a
        return y, (a @ a)

    return lambda i: [t.dtype for t in f(torch.ones(2, 2))]


@stepwise
def complexes(c: Compile) -> Step:
    f = c(lambda z: (z * z.conj()).real.sum() + z.abs().sum())

    def step(i):
        z = torch.tensor([1 + 2j, 3 - 1j]).requires_grad_()
        f(z).backward()
        return z.grad

    return step


@stepwise
def item_branch(c: Compile) -> Step:
    @c
    def f(x):
        s = x.sum().item()
        if s > 3:
            return x * s
        return x - s

    return lambda i: f(torch.ones(2) * i)


@stepwise
def double_backward(c: Compile) -> Step:
    f = c(lambda x: (x**3).sum())

    def step(i):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        (g,) = torch.autograd.grad(f(x), x, create_graph=True)
        g.sum().backward()
        return x.grad

    return step


@stepwise
def grad_in_compiled(c: Compile) -> Step:
    @c
    def f(x):
        y = (x**2).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        return (g * x).sum()

    def step(i):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        f(x).backward()
        return x.grad

    return step


