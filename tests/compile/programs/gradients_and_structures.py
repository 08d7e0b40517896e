"""Programs with gradients, transforms, modes, threads, modules and containers."""
from __future__ import annotations

import copy
import functools
import pickle
import threading
from collections import OrderedDict, namedtuple
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import retrograd as torch
from retrograd import nn
from retrograd.utils.checkpoint import checkpoint
from tests.compile.programs.base import Compile, program, x


@program
def gradients_of_a_compiled_function(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: (t.sin() * t).sum())
    for scale in (1, 2):
        t = (x() * scale).requires_grad_()
        out = g(t)
        out.backward()
        yield out.grad_fn.name(), t.grad


@program
def double_backward(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: (t ** 3).sum())
    t = x().requires_grad_()
    first, = torch.autograd.grad(g(t), t, create_graph=True)
    second, = torch.autograd.grad(first.sum(), t, create_graph=True)
    third, = torch.autograd.grad(second.sum(), t)
    yield first.detach(), second.detach(), third


@program
def backward_inside(compile: Compile) -> Iterator[Any]:
    weight = torch.ones(3, requires_grad=True)

    def f(t: Any) -> Any:
        loss = (t * weight).pow(2).sum()
        loss.backward()
        grad = weight.grad.clone()
        weight.grad = None
        return loss.detach(), grad
    g = compile(f)
    yield g(x()), g(x() + 1), weight.grad


@program
def grad_inside(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        t = t.detach().requires_grad_()
        return torch.autograd.grad(t.tanh().sum(), t)[0] * 2
    g = compile(f)
    yield g(x()), g(x() * 0.1)


@program
def hooks_inside(compile: Compile) -> Iterator[Any]:
    log: list[Any] = []

    def f(t: Any) -> Any:
        y = t * 2
        y.register_hook(lambda grad: log.append(grad.sum().item()))
        return (y * 3).sum()
    g = compile(f)
    for _ in range(2):
        t = x().requires_grad_()
        g(t).backward()
        yield t.grad, list(log)


@program
def training_loop(compile: Compile) -> Iterator[Any]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)

    def step(t: Any) -> Any:
        optimizer.zero_grad()
        loss = net(t).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()
    g = compile(step)
    yield [g(x(2, 3)) for _ in range(4)], [p.detach().clone() for p in net.parameters()]
    optimizer.param_groups[0]["lr"] = 0.01
    yield g(x(5, 3)), net[0].weight.detach()


@program
def detach_and_requires_grad(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: (t.detach() * 2, t.detach().requires_grad_().is_leaf, (t * 2).detach_().requires_grad))
    yield g(x().requires_grad_()), g(x())


@program
def custom_function(compile: Compile) -> Iterator[Any]:
    log: list[str] = []

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, t: Any) -> Any:
            log.append("forward")
            ctx.save_for_backward(t)
            return t * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            log.append("backward")
            return grad * 2 + ctx.saved_tensors[0]
    g = compile(lambda t: Twice.apply(t).sum())
    for _ in range(2):
        t = x().requires_grad_()
        g(t).backward()
        yield t.grad, list(log)


@program
def retained_gradients(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = t * 2
        y.retain_grad()
        return y, (y * y).sum()
    g = compile(f)
    t = x().requires_grad_()
    y, loss = g(t)
    loss.backward()
    yield y.grad, t.grad, y.is_leaf


@program
def saved_tensor_hooks_around(compile: Compile) -> Iterator[Any]:
    log: list[str] = []
    g = compile(lambda t: (t * t).exp().sum())
    t = x(2).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(lambda s: (log.append("pack"), s)[1], lambda s: (log.append("unpack"), s)[1]):
        out = g(t)
    out.backward()
    yield t.grad, log


@program
def checkpoint_inside(compile: Compile) -> Iterator[Any]:
    runs: list[int] = []

    def inner(t: Any) -> Any:
        runs.append(1)
        return t.sin().exp()
    g = compile(lambda t: torch.utils.checkpoint.checkpoint(inner, t, use_reentrant=False).sum())
    for _ in range(2):
        t = x().requires_grad_()
        g(t).backward()
        yield t.grad, len(runs)


@program
def vmap_of_compiled(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: t.sin().sum())
    yield torch.func.vmap(g)(x(2, 3)), torch.func.grad(g)(x()), torch.func.jvp(g, (x(),), (x(),))


@program
def compiled_transforms(compile: Compile) -> Iterator[Any]:
    g = compile(torch.func.vmap(torch.func.grad(lambda t: (t ** 3).sum())))
    h = compile(lambda t: torch.func.hessian(lambda s: s.prod())(t))
    yield g(x(2, 3)), h(x()), g(x(3, 2))


@program
def forward_mode(compile: Compile) -> Iterator[Any]:
    fwd = torch.autograd.forward_ad
    g = compile(lambda t: t * t)
    with fwd.dual_level():
        yield fwd.unpack_dual(g(fwd.make_dual(x(), torch.ones(3)))).tangent
    yield g(x())


@program
def subclass(compile: Compile) -> Iterator[Any]:
    class Marked(torch.Tensor):
        pass
    g = compile(lambda t: t * 2 + 1)
    yield type(g(x().as_subclass(Marked))).__name__, type(g(x())).__name__


@program
def function_mode(compile: Compile) -> Iterator[Any]:
    log: list[str] = []

    class Log(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append(func.__name__)
            return func(*args, **(kwargs or {}))
    g = compile(lambda t: torch.sin(t) + 1)
    with Log():
        yield g(x())
    yield g(x()), log


@program
def dispatch_mode_inside(compile: Compile) -> Iterator[Any]:
    log: list[str] = []

    class Log(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append(str(func))
            return func(*args, **(kwargs or {})) * (2 if "sin" in str(func) else 1)

    def f(t: Any) -> Any:
        with Log():
            return torch.sin(t)
    g = compile(f)
    yield g(x()), list(log), g(x()), list(log)


@program
def threads(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t, n: sum([t * i for i in range(n)], start=torch.zeros(3)))
    results: dict[int, Any] = {}
    workers = [threading.Thread(target=lambda n=n: results.__setitem__(n, [g(x(), n) for _ in range(3)])) for n in range(1, 5)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    yield [results[n] for n in sorted(results)]


@program
def thread_started_inside(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        found: list[Any] = []
        worker = threading.Thread(target=lambda: found.append(t * 2))
        worker.start()
        worker.join()
        return found[0] + 1
    g = compile(f)
    yield g(x()), g(x() + 1)


@program
def containers(compile: Compile) -> Iterator[Any]:
    Pair = namedtuple("Pair", "a b")

    @dataclass
    class Data:
        value: Any
    g = compile(lambda t: {"list": [t, t + 1], "tuple": (t * 2,), "pair": Pair(t, 1)._asdict(), "data": Data(t * 3).value,
                           "none": None, "ordered": OrderedDict(a=t)})
    yield g(x()), g(x() + 1)


@program
def containers_written(compile: Compile) -> Iterator[Any]:
    def f(d: dict[str, Any], items: list[Any]) -> Any:
        d["new"] = d.pop("old") + 1
        items.append(items[0] * 2)
        del items[0]
        return len(d) + len(items)
    g = compile(f)
    d, items = {"old": x()}, [x()]
    yield g(d, items), d, items


@program
def deep_copy_inside(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = t + 1
        z = copy.deepcopy(y)
        z.add_(1)
        again = pickle.loads(pickle.dumps(y))
        return y, z, again
    g = compile(f)
    yield g(x()), g(x() * 2)


@program
def module_with_state(compile: Compile) -> Iterator[Any]:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.n = 0
            self.log: list[int] = []

        def forward(self, t: Any) -> Any:
            self.n += 1
            self.log.append(self.n)
            return t * self.n
    net = Net()
    g = compile(net)
    yield g(x()), g(x()), net.n, net.log, g.n
    g.n = 10
    yield g(x()), net.n


@program
def module_hooks(compile: Compile) -> Iterator[Any]:
    log: list[str] = []
    net = nn.Linear(3, 1, bias=False)
    nn.init.ones_(net.weight)
    handle = net.register_forward_hook(lambda m, a, out: (log.append("after"), out * 2)[1])
    net.register_forward_pre_hook(lambda m, a: (log.append("before"), (a[0] + 1,))[1])
    g = compile(net)
    yield g(x()), list(log)
    handle.remove()
    yield g(x()), list(log)


@program
def modules_added(compile: Compile) -> Iterator[Any]:
    net = nn.Sequential(nn.ReLU())
    g = compile(net)
    yield g(-x())
    net.append(nn.Softplus())
    yield g(-x()), len(g)
    net[0] = nn.Identity()
    yield g(-x())


@program
def recurrent_state(compile: Compile) -> Iterator[Any]:
    torch.manual_seed(0)
    cell = nn.GRUCell(3, 2)

    def f(ts: Any) -> Any:
        h = torch.zeros(1, 2)
        for t in ts:
            h = cell(t[None], h)
        return h
    g = compile(f)
    with torch.no_grad():
        yield g(x(2, 3)), g(x(5, 3)), g(x(2, 3))


@program
def lambda_made_in_a_loop(compile: Compile) -> Iterator[Any]:
    functions = [compile(lambda t, n=n: t * n) for n in range(3)]
    yield [f(x()) for f in functions], [f(x()) for f in reversed(functions)]


@program
def partial_and_callable_object(compile: Compile) -> Iterator[Any]:
    class Adder:
        def __init__(self, n: int) -> None:
            self.n = n

        def __call__(self, t: Any) -> Any:
            return t + self.n
    adder = Adder(1)
    g, h = compile(adder), compile(functools.partial(torch.add, alpha=2))
    yield g(x()), h(x(), x())
    adder.n = 5
    yield g(x()), h(x(), x())


@program
def nested_functions_and_comprehensions(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        def inner(a: Any) -> Any:
            return [a * i for i in range(3) if i != 1]
        return {i: v for i, v in enumerate(inner(t))}, sum(v.sum() for v in inner(t + 1))
    g = compile(f)
    yield g(x()), g(x() * 2)


@program
def walrus_star_and_slices(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        first, *rest = t
        if (n := len(rest)) > 1:
            rest[0:1] = []
        return first, rest, n
    g = compile(f)
    yield g(x(2)), g(x(3)), g(x(2))


@program
def sizes_in_python_arithmetic(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: t.reshape(t.shape[0] * t.shape[1]) * (t.shape[0] // 2) + t.size(-1) % 2)
    yield g(x(2, 3)), g(x(4, 3)), g(x(6, 2)), g(x(2, 3))


@program
def locals_and_eval(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        k = 3
        return eval("t * k", {}, {"t": t, "k": k}) + len(locals())
    g = compile(f)
    yield g(x()), g(x() + 1)


@program
def stack_inspection(compile: Compile) -> Iterator[Any]:
    import sys

    def f(t: Any) -> Any:
        return t, sys._getframe(0).f_code.co_name
    g = compile(f)
    yield g(x()), g(x())


@program
def name_and_doc(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        """Adds one."""
        return t + 1
    g = compile(f)
    yield g.__name__, g.__doc__, g(x())


@program
def sparse_and_complex(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: (t.to_sparse().coalesce().values(), torch.view_as_real(t * 1j), torch.fft.fft(t).abs()))
    yield g(x()), g(x() - 2)


@program
def list_ops_and_several_results(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        a, b = t.chunk(2)
        values, places = torch.cat([b, a]).sort(descending=True)
        return values, places, torch.stack(list(t.unbind())), t.max(0), torch.meshgrid(a, b, indexing="ij")
    g = compile(f)
    yield g(x(4)), g(-x(4)), g(x(6))


class Named(torch.autograd.Function):
    """Keeps attributes on its ctx under names that nodes have, and returns more than tensors."""

    @staticmethod
    def forward(ctx: Any, t: Any, k: int, name: str) -> Any:
        ctx.name, ctx.k = name, k
        ctx.extra = t * 2
        ctx.save_for_backward(t)
        return t * k, name + "!", None, [1, k]

    @staticmethod
    def backward(ctx: Any, grad: Any, *rest: Any) -> Any:
        t, = ctx.saved_tensors
        return grad * ctx.k + ctx.extra * len(ctx.name) + t, None, None


@program
def function_with_attributes_and_other_results(compile: Compile) -> Iterator[Any]:
    g = compile(Named.apply)
    for k in range(1, 5):
        t = x().requires_grad_()
        scaled, *rest = g(t, k, "n" * k)
        scaled.sin().sum().backward()
        yield t.grad, rest


@program
def hooks_that_change_between_calls(compile: Compile) -> Iterator[Any]:
    weight, log = torch.ones(3, requires_grad=True), []
    g = compile(lambda t: (t * weight).tanh().sum())
    for i in range(6):
        if i == 1:
            handle = weight.register_hook(lambda grad: log.append("a") or grad * 2)
        if i == 3:
            weight.register_hook(lambda grad: log.append("b"))
        if i == 4:
            handle.remove()
        if i == 5:
            weight.register_post_accumulate_grad_hook(lambda p: log.append("accumulated"))
        g(x()).backward()
        yield weight.grad.clone(), list(log)
        weight.grad = None


@program
def hooks_on_nodes_of_results(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: (t.exp() * t).sum())
    for i in range(5):
        t, log = x().requires_grad_(), []
        y = g(t)
        if i > 1:
            y.grad_fn.register_prehook(lambda grads: (grads[0] * 2,))
        if i > 2:
            y.grad_fn.next_functions[0][0].register_hook(lambda gi, go, log=log: log.append(len(gi)))
        y.grad_fn.metadata["call"] = i
        y.backward()
        yield t.grad, log, y.grad_fn.metadata, y.grad_fn.next_functions[0][0].name()


@program
def per_sample_gradients(compile: Compile) -> Iterator[Any]:
    def loss(weights: Any, t: Any) -> Any:
        return (t @ weights["w"]).pow(2).sum()
    g = compile(lambda weights, t: torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(weights, t))
    for i in range(4):
        yield g({"w": x(3, 2)}, x(4, 3) + i)


@program
def checkpoints_of_both_kinds(compile: Compile) -> Iterator[Any]:
    calls: list[int] = []

    def inner(a: Any, b: Any) -> Any:
        calls.append(1)
        return (a * b).sin() * a
    g = compile(lambda a, b: checkpoint(inner, a, b, use_reentrant=True).sum() + checkpoint(
        inner, b, a, use_reentrant=False).sum())
    for i in range(4):
        a, b = x().requires_grad_(), (x() + i).requires_grad_()
        g(a, b).backward()
        yield a.grad, b.grad, len(calls)
