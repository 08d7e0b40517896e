"""Programs whose arguments, modules, hooks, modes and surroundings change between the calls of one compiled function."""
from __future__ import annotations

import collections
import copy
import functools
import gc
import io
import itertools
import pickle
import threading
import types
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import retrograd as torch
from retrograd import nn
from tests.compile.programs.base import Compile, error, program, x


def leaf(*shape: int) -> Any:
    return x(*shape).requires_grad_()


class Norms(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.linear, self.drop = nn.BatchNorm1d(4), nn.Linear(4, 4), nn.Dropout(0.5)
        self.register_buffer("seen", torch.zeros((), dtype=torch.long))

    def forward(self, t: Any) -> Any:
        self.seen += 1
        return self.drop(self.linear(self.norm(t))) * self.seen


def small(kind: Any = Norms) -> Any:
    torch.manual_seed(3)
    return kind()


@program
def state_of_a_compiled_module(compile: Compile) -> Iterator[Any]:
    net = small()
    f = compile(net)
    for step in range(5):
        net.train(step % 2 == 0)
        torch.manual_seed(step)
        yield f(x(6, 4)), net.seen, net.norm.running_mean, net.norm.num_batches_tracked
    yield [name.removeprefix("_orig_mod.") for name in f.state_dict()]
    yield [name.removeprefix("_orig_mod.") for name, _ in f.named_parameters()]
    other = small()
    other.load_state_dict(net.state_dict())
    f.load_state_dict(dict(zip(f.state_dict(), other.state_dict().values(), strict=True)))
    yield f(x(6, 4)), other(x(6, 4)) * 0


@program
def copied_and_pickled_modules(compile: Compile) -> Iterator[Any]:
    net = small(lambda: nn.Sequential(nn.Linear(3, 3), nn.Tanh()))
    f = compile(net)
    yield f(x(3))
    twin = copy.deepcopy(f)
    with torch.no_grad():
        net[0].weight.add_(1)
    yield f(x(3)), twin(x(3))
    stream = io.BytesIO()
    torch.save(net.state_dict(), stream)
    stream.seek(0)
    twin.load_state_dict({key if key in twin.state_dict() else "_orig_mod." + key: value
                          for key, value in torch.load(stream).items()})
    yield twin(x(3)), pickle.loads(pickle.dumps(net))(x(3))


@program
def parts_replaced_between_calls(compile: Compile) -> Iterator[Any]:
    net = small(lambda: nn.Sequential(nn.Linear(3, 3), nn.Tanh()))
    f = compile(net)
    for change in (lambda: None, lambda: setattr(net, "1", nn.ReLU()), lambda: net.append(nn.Sigmoid()),
                   lambda: net.__delitem__(0), lambda: net.insert(0, nn.Flatten(0)), lambda: net.double(), lambda: net.float()):
        change()
        yield f(x(3)), len(net)


@program
def forwards_replaced_between_calls(compile: Compile) -> Iterator[Any]:
    net = nn.Linear(3, 3)
    with torch.no_grad():
        net.weight.fill_(1)
        net.bias.zero_()
    f = compile(net)
    yield f(x(3))
    net.forward = lambda t: t * 2
    yield f(x(3))
    del net.forward
    yield f(x(3))
    net.__class__ = type("Other", (nn.Linear,), {"forward": lambda self, t: t - self.weight.sum()})
    yield f(x(3))


@program
def hooks_of_modules_between_calls(compile: Compile) -> Iterator[Any]:
    log: list[str] = []
    net = nn.Tanh()
    f = compile(lambda t: net(t) * 2)
    yield f(x())
    handles = [net.register_forward_hook(lambda m, a, r: log.append("after") or r + 1),
               net.register_forward_pre_hook(lambda m, a: log.append("before"))]
    yield f(x()), list(log)
    handles[0].remove()
    t = leaf()
    handles.append(net.register_full_backward_hook(lambda m, gi, go: log.append("backward")))
    f(t).sum().backward()
    yield t.grad, list(log)
    for handle in handles:
        handle.remove()
    yield f(x()), list(log)


@program
def hooks_on_arguments_between_calls(compile: Compile) -> Iterator[Any]:
    log: list[Any] = []
    f = compile(lambda t: (t * t).sum())
    t = leaf()
    for step in range(5):
        handle = t.register_hook(lambda g, step=step: log.append(step) or g * (step + 1)) if step % 2 else None
        t.grad = None
        f(t).backward()
        yield t.grad, list(log)
        if handle is not None and step == 3:
            handle.remove()


@program
def accumulation_hooks_between_calls(compile: Compile) -> Iterator[Any]:
    log: list[Any] = []
    f = compile(lambda w, t: torch.sigmoid(w * t).sum())
    w = leaf()
    for step in range(4):
        if step == 2:
            w.register_post_accumulate_grad_hook(lambda p: (log.append(p.grad.tolist()), p.grad.mul_(0.5), None)[2])
        f(w, x() / 10).backward()
        yield w.grad, list(log)


@program
def views_of_arguments_kept_between_calls(compile: Compile) -> Iterator[Any]:
    t = x(2, 3)
    row, flat = t[0], t.view(-1)

    def f(a: Any) -> Any:
        a.mul_(2)
        return a[1] + 1, a.t()
    g = compile(f)
    for _ in range(3):
        out, turned = g(t)
        row.add_(1)
        yield out, turned, flat, t._version, turned._base is t
    for _ in range(2):
        out, turned = g(flat.view(3, 2))
        yield out, turned, row


@program
def layouts_that_change(compile: Compile) -> Iterator[Any]:
    f = compile(lambda t: (t * 2 + 1, t.sum(-1), t.contiguous().view(-1)[:2]))
    base = x(4, 4, 4)
    for t in (base, base.transpose(0, 2), base[::2], base[:, 1:], base[:, :, 3], base.expand(2, 4, 4, 4), base[:0], base[:1],
              base.permute(1, 2, 0)[1], base.flip(0), torch.as_strided(base, (3, 3), (1, 2), 5)) * 2:
        yield f(t)


@program
def sizes_from_zero_to_many(compile: Compile) -> Iterator[Any]:
    f = compile(lambda a, b: ((a @ b).relu() + a.sum(), a.shape[0] * 2, torch.cat([a, a[:1]]).shape))
    for n in (3, 1, 0, 2, 7, 1, 100, 0):
        a = torch.arange(float(n * 3)).reshape(n, 3).requires_grad_(n % 2 == 0)
        r = f(a, x(3, 2))
        yield r
        if a.requires_grad and n:
            r[0].sum().backward()
            yield a.grad


@program
def dtypes_and_gradients_that_change(compile: Compile) -> Iterator[Any]:
    f = compile(lambda a, b: torch.where(a > b, a * b, a - b) / 2)
    kinds = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool)
    for first, second in itertools.product(kinds[:5], kinds[::2]):
        a, b = x().to(first), x().flip(0).to(second)
        if first.is_floating_point:
            a.requires_grad_()
        yield error(lambda a=a, b=b: f(a, b)) == "nothing raised" and f(a, b)


@program
def frozen_and_thawed(compile: Compile) -> Iterator[Any]:
    net = small(lambda: nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1)))
    f = compile(lambda t: net(t).sum())
    for frozen in (False, True, False, True, False):
        for p in net[0].parameters():
            p.requires_grad_(not frozen)
        net.zero_grad()
        loss = f(x(2, 3))
        loss.backward()
        yield loss, [p.grad for p in net.parameters()]


@program
def grads_that_alias(compile: Compile) -> Iterator[Any]:
    f = compile(lambda w: (w * 3).sum())
    w = leaf()
    grad = torch.zeros(3)
    w.grad = grad
    for _ in range(3):
        f(w).backward()
        yield w.grad is grad, grad
    w.grad = None
    f(w).backward()
    yield w.grad is grad, grad, w.grad


@program
def random_streams(compile: Compile) -> Iterator[Any]:
    own = torch.Generator()
    f = compile(lambda t: (torch.rand(2), t * torch.randn(3), nn.functional.dropout(t, 0.5), torch.randperm(4),
                           torch.rand(2, generator=own), torch.bernoulli(t / 10), torch.multinomial(t, 2)))
    for step in range(5):
        if step % 2 == 0:
            torch.manual_seed(step)
            own.manual_seed(step)
        yield f(x())
        yield torch.rand(1)


@program
def seeds_inside(compile: Compile) -> Iterator[Any]:
    def f(n: int) -> Any:
        torch.manual_seed(n)
        a = torch.rand(2)
        state = torch.get_rng_state()
        b = torch.rand(2)
        torch.set_rng_state(state)
        return a, b, torch.rand(2), torch.initial_seed()
    g = compile(f)
    for n in (0, 1, 0, 1, 2):
        yield g(n), torch.rand(1)


@program
def exceptions_halfway(compile: Compile) -> Iterator[Any]:
    log: list[str] = []

    def f(t: Any, n: int) -> Any:
        t += 1
        log.append("added")
        try:
            if n == 1:
                raise KeyError("one")
            if n == 2:
                return t @ torch.ones(7)
            if n == 3:
                t[10] = 1
        except KeyError:
            log.append("caught")
        finally:
            log.append("finally")
            t *= 2
        return t * n
    g = compile(f)
    t = x()
    for n in (0, 1, 2, 3, 0, 2, 1):
        yield error(lambda n=n: g(t, n)), t, list(log)


@program
def generators_of_compiled_functions(compile: Compile) -> Iterator[Any]:
    def numbers(t: Any) -> Iterator[Any]:
        for i in range(3):
            t = t * 2 + i
            got = yield t
            if got is not None:
                t = t + got
    f = compile(lambda t: t.sin() + 1)
    for _ in range(3):
        made = numbers(x())
        yield f(next(made)), f(made.send(x())), list(made)
        yield list(map(f, numbers(x())))


@program
def methods_of_all_kinds(compile: Compile) -> Iterator[Any]:
    class Thing:
        scale = 2.0

        def __init__(self) -> None:
            self.calls = 0

        def method(self, t: Any) -> Any:
            self.calls += 1
            return t * self.scale + self.calls

        @classmethod
        def of_class(cls, t: Any) -> Any:
            return t * cls.scale

        @staticmethod
        def static(t: Any) -> Any:
            return t + 1

        def __call__(self, t: Any, *more: Any, power: int = 2) -> Any:
            return t**power + len(more)
    one, other = Thing(), Thing()
    methods = [compile(m) for m in (one.method, other.method, Thing.of_class, one.static, one.__call__,
                                    functools.partial(one, power=3), functools.partial(Thing.method, other))]
    for scale in (2.0, 2.0, 3.0):
        Thing.scale = scale
        for m in methods:
            yield m(x()), one.calls, other.calls
    other.scale = 5.0
    yield methods[1](x()), methods[0](x())
    yield error(lambda: methods[4](x(), 1, 2, pow=3))


@program
def structures_in_and_out(compile: Compile) -> Iterator[Any]:
    class Pair(NamedTuple):
        a: Any
        b: Any = 1

    def f(d: Any, *rest: Any, key: Any = None, **others: Any) -> Any:
        d["made"] = d["t"] * 2
        return {"pair": Pair(d["made"], key), "n": [t + 1 for t in rest], **{k: v * 2 for k, v in others.items()}}
    g = compile(f)
    for n in range(4):
        d = {"t": x(), "n": n}
        r = g(d, *[x()] * n, key=n, **{f"k{i}": x() * i for i in range(n % 3)})
        yield d, {k: tuple(v) if isinstance(v, tuple) else v for k, v in r.items()}, type(r["pair"]).__name__
    ordered = collections.OrderedDict(t=x())
    yield list(g(ordered)), list(ordered)
    space = types.SimpleNamespace(t=x())
    h = compile(lambda s: setattr(s, "t", s.t + 1) or s)
    yield h(space) is space, h(space).t


@program
def loops_that_depend_on_data(compile: Compile) -> Iterator[Any]:
    def collatz(t: Any) -> Any:
        steps = 0
        while t.item() != 1:
            t = t // 2 if t % 2 == 0 else 3 * t + 1
            steps += 1
        return steps, t
    f = compile(collatz)
    for n in (6, 7, 27, 1, 6):
        yield f(torch.tensor(n))

    def newton(a: Any) -> Any:
        r = a
        for i in range(50):
            new = 0.5 * (r + a / r)
            if bool((new - r).abs().max() < 1e-6):
                return new, i
            r = new
        return r, -1
    g = compile(newton)
    for a in (x(), x() * 100, torch.ones(2)):
        yield g(a)


@program
def weak_references_and_collection(compile: Compile) -> Iterator[Any]:
    f = compile(lambda t: (t * 2, (t + 1).sum()))
    for _ in range(4):
        t = x()
        made, total = f(t)
        seen = [weakref.ref(t), weakref.ref(made), weakref.ref(total)]
        del t
        gc.collect()
        yield [r() is None for r in seen], made, total
        del made
        gc.collect()
        yield [r() is None for r in seen]


@program
def models_are_not_kept_alive(compile: Compile) -> Iterator[Any]:
    for _ in range(3):
        net = nn.Linear(3, 3)
        f = compile(net)
        f(x(3)).sum().backward()
        gone = weakref.ref(net)
        del net, f
        gc.collect()
        yield gone() is None


@program
def threads_with_different_modes(compile: Compile) -> Iterator[Any]:
    f = compile(lambda t: t * 2 + 1)
    t = leaf()
    found: dict[int, Any] = {}

    def run(n: int) -> None:
        with torch.set_grad_enabled(n % 2 == 0):
            for _ in range(3):
                found[n] = f(t)
    for _ in range(2):
        threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        yield f(t)
        for thread in threads:
            thread.join()
        yield [found[n] for n in range(4)]


@program
def grad_modes_changed_inside(compile: Compile) -> Iterator[Any]:
    def f(t: Any, n: int) -> Any:
        a = t * 2
        with torch.no_grad():
            b = a * 3
            with torch.enable_grad():
                c = b * t
        torch.set_grad_enabled(n % 2 == 0)
        d = a * c
        with torch.inference_mode(n == 3):
            e = t + 1
        return a, b, c, d, e.is_inference(), torch.is_grad_enabled()
    g = compile(f)
    t = leaf()
    for n in range(6):
        yield g(t, n), torch.is_grad_enabled()
        torch.set_grad_enabled(True)


@program
def saved_tensor_hooks_between_calls(compile: Compile) -> Iterator[Any]:
    log: list[str] = []

    def pack(t: Any) -> Any:
        log.append("pack")
        return t.numpy().copy() if not t.requires_grad else t.detach().numpy().copy()

    def unpack(a: Any) -> Any:
        log.append("unpack")
        return torch.from_numpy(a)
    f = compile(lambda t: (t.exp() * t).sum())
    t = leaf()
    for on in (False, True, False, True):
        t.grad = None
        if on:
            with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
                loss = f(t)
        else:
            loss = f(t)
        loss.backward()
        yield t.grad, list(log)


@program
def custom_functions_that_change(compile: Compile) -> Iterator[Any]:
    class Scaled(torch.autograd.Function):
        factor = 2.0

        @staticmethod
        def forward(ctx: Any, t: Any, n: Any) -> Any:
            ctx.save_for_backward(t)
            ctx.n = n
            return t * n

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            t, = ctx.saved_tensors
            return g * ctx.n * Scaled.factor + t * 0, None
    f = compile(lambda t, n: Scaled.apply(t.sin(), n).sum())
    t = leaf()
    for n in (1, 2, 2.5, 2):
        t.grad = None
        f(t, n).backward()
        yield t.grad
        Scaled.factor += 1
    Scaled.backward = staticmethod(lambda ctx, g: (g * 0, None))      # type: ignore[assignment]
    t.grad = None
    f(t, 2).backward()
    yield t.grad


@program
def subclasses_and_modes_as_arguments(compile: Compile) -> Iterator[Any]:
    log: list[str] = []

    class Tagged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    f = compile(lambda t: (t * 2 + 1).relu())
    for t in (x(), x().as_subclass(Tagged), x(), nn.Parameter(x()), nn.Buffer(x()), x().as_subclass(Tagged)):
        r = f(t)
        yield type(r).__name__, r.as_subclass(torch.Tensor), list(log)


@program
def devices_and_meta(compile: Compile) -> Iterator[Any]:
    f = compile(lambda t: (t * 2).sum(0))
    for t in (x(2, 3), x(2, 3).to("meta"), x(2, 3).to("cpu"), x(4, 3).to("meta")):
        r = f(t)
        yield str(r.device), tuple(r.shape), None if r.is_meta else r
    yield error(lambda: f(x(2, 3).to("meta")).item())


@program
def default_settings_that_change(compile: Compile) -> Iterator[Any]:
    f = compile(lambda n: (torch.ones(2) * n, torch.tensor(1.5), torch.zeros(1).dtype, torch.tensor([1, 2]) / 2))
    try:
        for kind in (torch.float32, torch.float64, torch.float32, torch.float16):
            torch.set_default_dtype(kind)
            r = f(3)
            yield str(r[2]), [str(t.dtype) for t in (r[0], r[1], r[3])], r[3].tolist()
    finally:
        torch.set_default_dtype(torch.float32)


@program
def printing_inside(compile: Compile) -> Iterator[Any]:
    stream = io.StringIO()

    def f(t: Any) -> Any:
        print("before", t, file=stream)
        t = t * 2
        print(f"{t.sum():.2f} {t!r}", file=stream)
        return t + 1
    g = compile(f)
    for _ in range(3):
        yield g(x()), stream.getvalue()


@program
def numpy_views_between_calls(compile: Compile) -> Iterator[Any]:
    array = np.arange(3.0, dtype=np.float32)
    t = torch.from_numpy(array)
    f = compile(lambda a: (a * 2, a.numpy().sum(), np.add(a, 1)))
    for n in range(4):
        array += n
        r = f(t)
        yield r[0], float(r[1]), type(r[2]).__name__, r[2].tolist()
    g = compile(lambda a: a.add_(1).numpy())
    yield g(t).tolist(), array.tolist(), g(t).tolist(), np.shares_memory(g(t), array)


@program
def compiled_functions_as_arguments(compile: Compile) -> Iterator[Any]:
    inner = compile(lambda t: t * 3)
    outer = compile(lambda f, t: f(t) + f(f(t)))
    for f in (inner, torch.sin, lambda t: t + 1, compile(torch.cos), inner):
        yield outer(f, x())
    twice = compile(compile(lambda t: t - 1))
    yield twice(x()), twice(x())


@program
def functions_made_by_factories(compile: Compile) -> Iterator[Any]:
    def make(n: Any) -> Any:
        return lambda t: t * n + len(str(n))
    fs = [compile(make(n)) for n in (1, 2, 2.0, x(), True)]
    for f in fs * 2:
        yield f(x())
    cell = 1
    g = compile(lambda t: t + cell)
    for cell in (1, 2, 3.5, x(), "no"):
        yield error(lambda: g(x())) if cell == "no" else g(x())


@program
def gradients_through_several_calls(compile: Compile) -> Iterator[Any]:
    f = compile(lambda h, w: torch.tanh(h * w + 1))
    w = leaf()
    for length in (1, 3, 2, 5):
        w.grad = None
        h = torch.zeros(3)
        hs = [h := f(h, w) for _ in range(length)]
        torch.stack(hs).sum().backward(retain_graph=True)
        yield w.grad
        g, = torch.autograd.grad(hs[-1].sum(), w, create_graph=True)
        yield g, [round(v, 5) for v in torch.autograd.grad(g.sum(), w)[0].tolist()]


@program
def optimizers_of_all_kinds_inside(compile: Compile) -> Iterator[Any]:
    for kind, settings in ((torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}), (torch.optim.Adam, {"lr": 0.1}),
                           (torch.optim.AdamW, {"lr": 0.1, "amsgrad": True}), (torch.optim.RMSprop, {"lr": 0.1})):
        w = torch.ones(3).requires_grad_()
        o = kind([w], **settings)

        def step(t: Any, w: Any = w, o: Any = o) -> Any:
            o.zero_grad()
            loss = ((w - t) ** 2).sum()
            loss.backward()
            o.step()
            return loss
        g = compile(step)
        for n in range(4):
            if n == 2:
                o.param_groups[0]["lr"] = 0.01
            yield g(x()), w, w.grad


@program
def batches_of_different_sizes_in_training(compile: Compile) -> Iterator[Any]:
    net = small(lambda: nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3)))
    o = torch.optim.Adam(net.parameters(), lr=0.01)
    f = compile(lambda t, y: nn.functional.cross_entropy(net(t), y))
    for n in (5, 5, 3, 7, 2, 5):
        o.zero_grad()
        loss = f(torch.linspace(-1, 1, n * 4).reshape(n, 4), torch.arange(n) % 3)
        loss.backward()
        o.step()
        yield [round(v, 4) for v in [loss.item(), *net[0].weight.grad.flatten().tolist()[:4]]]
    yield error(lambda: f(torch.ones(1, 4), torch.zeros(1, dtype=torch.long)))
    yield error(lambda: f(torch.ones(2, 4), torch.tensor([0, 3])))


@program
def transforms_of_compiled_functions(compile: Compile) -> Iterator[Any]:
    f = compile(lambda t: (t.sin() * t).sum())
    func = torch.func
    for _ in range(2):
        yield func.grad(f)(x()), func.hessian(f)(x()), func.vmap(f)(x(2, 3)), func.jvp(f, (x(),), (x(),))
        yield func.vmap(func.grad(f))(x(2, 3)), func.vjp(f, x())[1](torch.tensor(2.0)), func.jacfwd(f)(x())
    g = compile(func.vmap(func.grad(lambda t: t.prod())))
    for n in (2, 3, 2, 1):
        yield g(x(n, 3))
    h = compile(lambda t: func.functional_call(nn.Linear(3, 1, bias=False), {"weight": t}, (x(2, 3),)))
    yield h(x(1, 3)), func.jacrev(h)(x(1, 3))


@program
def second_derivatives_and_penalties(compile: Compile) -> Iterator[Any]:
    net = small(lambda: nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1)))

    def residual(t: Any) -> Any:
        t = t.clone().requires_grad_()
        u = net(t)
        du, = torch.autograd.grad(u.sum(), t, create_graph=True)
        ddu, = torch.autograd.grad(du[:, 0].sum(), t, create_graph=True)
        return (ddu[:, 0] + u[:, 0] ** 2).pow(2).mean() + (du.norm(dim=1) - 1).pow(2).mean()
    f = compile(residual)
    for n in (3, 3, 4):
        net.zero_grad()
        loss = f(x(n, 2) / 4)
        loss.backward()
        yield [round(v, 5) for v in [loss.item(), *net[0].weight.grad.flatten().tolist()]]


@program
def recurrent_cells_in_loops(compile: Compile) -> Iterator[Any]:
    for kind in (nn.LSTMCell, nn.GRUCell, nn.RNNCell):
        torch.manual_seed(0)
        cell = kind(3, 4)

        def run(t: Any, cell: Any = cell) -> Any:
            state = None
            for i in range(t.shape[0]):
                state = cell(t[i], state)
            return state[0] if isinstance(state, tuple) else state
        f = compile(run)
        for n in (2, 4, 3):
            cell.zero_grad()
            out = f(x(n, 2, 3) / 10)
            out.sum().backward()
            yield [round(v, 4) for v in [*out.flatten().tolist(), *cell.weight_hh.grad.flatten().tolist()[:6]]]


@program
def functions_patched_between_calls(compile: Compile) -> Iterator[Any]:
    f = compile(lambda t: torch.relu(t - 2) + nn.functional.softplus(t) + t.abs())
    yield f(x())
    before = torch.relu, nn.functional.softplus
    try:
        torch.relu = lambda t: t * 100          # type: ignore[assignment]
        yield f(x())
        nn.functional.softplus = lambda t: t * 0
        yield f(x()), f(x())
    finally:
        torch.relu, nn.functional.softplus = before
    yield f(x())


@program
def out_and_inplace_results_between_calls(compile: Compile) -> Iterator[Any]:
    f = compile(lambda a, out: torch.add(a, 1, out=out).mul_(2))
    out = torch.zeros(3)
    for _ in range(3):
        r = f(x(), out)
        yield r is out, out, out._version
    kept = [f(x() * n, torch.empty(3)) for n in range(4)]
    yield kept
    swapped = compile(lambda a, b: a.copy_(b).add_(1) is a and b.zero_())
    a, b = x(), x() * 2
    yield swapped(a, b), a, b, swapped(a, a.clone()), a


@program
def constants_of_every_type(compile: Compile) -> Iterator[Any]:
    f = compile(lambda t, c: (t * 2, type(c).__name__, c))
    for c in (1, 1.0, True, None, "s", b"b", (1, 2), [1], {"a": 1}, {1}, frozenset([1]), 1j, range(3), slice(1, 2), ..., print,
              int, torch.float32, torch.device("cpu"), torch.Size([1]), torch.strided) * 2:
        r = f(x(), c)
        yield r[0], r[1], r[2] is c or r[2] == c
