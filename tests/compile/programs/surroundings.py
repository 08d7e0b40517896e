"""Programs whose surroundings change: classes, contexts, callbacks, copies, random streams, other tensors."""
from __future__ import annotations

import abc
import builtins
import contextlib
import copy
import dataclasses
import functools
import gc
import io
import itertools
import operator
import threading
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

import retrograd as torch
from retrograd import nn
from retrograd.utils.checkpoint import checkpoint
from tests.compile.programs.base import Compile, error, program, x


def leaf(*shape: int) -> Any:
    return x(*shape).requires_grad_()


@program
def dataclasses_with_defaults(compile: Compile) -> Iterator[Any]:
    @dataclasses.dataclass
    class Settings:
        scale: float = 2.0
        names: list[str] = dataclasses.field(default_factory=list)
        bias: Any = None

    @compile
    def f(t: Any, *, settings: Any = None) -> Any:
        settings = settings or Settings()
        settings.names.append(str(len(settings.names)))
        return t * settings.scale + (0 if settings.bias is None else settings.bias), dataclasses.replace(settings, scale=1.0)
    mine = Settings(3.0)
    for step in range(4):
        r, made = f(x(), settings=mine if step else None)
        yield r, made.scale, made.names, mine.names
        mine.bias = x() if step == 1 else step


@program
def properties_that_count(compile: Compile) -> Iterator[Any]:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.raw, self.reads = nn.Parameter(x()), 0

        @property
        def weight(self) -> Any:
            self.reads += 1
            return self.raw * self.reads

        def forward(self, t: Any) -> Any:
            return (self.weight * t + self.weight).sum()
    net = Net()
    f = compile(net)
    for _ in range(4):
        net.zero_grad()
        f(x()).backward()
        yield net.reads, net.raw.grad


@program
def abstract_and_multiple_inheritance(compile: Compile) -> Iterator[Any]:
    class Scaled(abc.ABC):
        @abc.abstractmethod
        def factor(self) -> Any: ...

        def scale(self, t: Any) -> Any:
            return t * self.factor()

    class Log:
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.log: list[str] = []

        def scale(self, t: Any) -> Any:
            self.log.append(type(self).__name__)
            return super().scale(t) + 1         # type: ignore[misc]

    class Two(Log, Scaled):
        def factor(self) -> Any:
            return 2

    class Grows(Two):
        def factor(self) -> Any:
            return len(self.log)
    for made in (Two(), Grows()):
        f = compile(made.scale)
        for _ in range(3):
            yield f(x()), made.log


@program
def context_managers_with_state(compile: Compile) -> Iterator[Any]:
    depth: list[int] = []

    @contextlib.contextmanager
    def scope(n: int) -> Iterator[int]:
        depth.append(n)
        try:
            yield len(depth)
        finally:
            depth.pop()

    def f(t: Any, n: int) -> Any:
        with contextlib.ExitStack() as stack:
            for i in range(n):
                t = t * stack.enter_context(scope(i))
            if n == 3:
                raise ValueError(str(depth))
            with contextlib.suppress(ZeroDivisionError):
                t = t + 1 // (n - 2)
            return t
    g = compile(f)
    for n in (0, 1, 2, 3, 4, 2, 1):
        yield error(lambda n=n: g(x(), n)), depth, None if n == 3 else g(x(), n)


@program
def closures_that_share_a_cell(compile: Compile) -> Iterator[Any]:
    def make() -> Any:
        count = 0
        kept = x()

        def step(t: Any) -> Any:
            nonlocal count, kept
            count += 1
            kept = kept + t
            return kept * count

        def look() -> Any:
            return count, kept * 1
        return compile(step), compile(look), step
    for step, look, plain in (make(), make()):
        for _ in range(3):
            yield step(x()), look()
            plain(x())
        yield look()


@program
def arguments_changed_by_other_code(compile: Compile) -> Iterator[Any]:
    f = compile(lambda ts, d: sum(t.sum() * d["w"] for t in ts))
    ts, d = [x(), x() + 1], {"w": 2}
    for step in range(6):
        yield f(ts, d)
        if step == 0:
            ts.append(x(2, 2))
        elif step == 1:
            d["w"] = torch.tensor(3.0)
        elif step == 2:
            ts[0].mul_(2)
        elif step == 3:
            ts[0], ts[1] = ts[1], ts[0]
        else:
            d["w"] = 2.5


@program
def builtins_replaced(compile: Compile) -> Iterator[Any]:
    f = compile(lambda t: sum([abs(v) for v in t.tolist()]) + len(t) * t.max())
    yield f(-x())
    before = builtins.abs
    try:
        builtins.abs = lambda v: 100            # type: ignore[assignment]
        yield f(-x())
    finally:
        builtins.abs = before
    yield f(-x())


@program
def results_written_by_the_caller(compile: Compile) -> Iterator[Any]:
    f = compile(lambda t: (t * 2, t + 1, t.view(-1), t))
    for _ in range(4):
        t = x(2, 2)
        a, b, view, same = f(t)
        a.zero_()
        b[0] = -1
        view[1] = 50
        yield a, b, view, same, t, same is t
    kept = [f(x(2, 2))[0] for _ in range(3)]
    kept[0].fill_(7)
    yield kept


@program
def values_read_long_after(compile: Compile) -> Iterator[Any]:
    f = compile(lambda t, n: t * n + t.mean())
    held = []
    t = x(4)
    for n in range(6):
        held.append(f(t, n))
        t.add_(1)
    yield held, t
    del t
    gc.collect()
    yield torch.stack(held).sum(0)


@program
def checkpoints_that_change(compile: Compile) -> Iterator[Any]:
    calls: list[bool] = []

    def part(t: Any, n: Any) -> Any:
        calls.append(torch.is_grad_enabled())
        return torch.nn.functional.dropout(t.sin() * n, 0.5)
    for reentrant in (False, True):
        f = compile(lambda t, n, reentrant=reentrant: checkpoint(part, t, n, use_reentrant=reentrant).sum())
        for n in (1, 2, 2.5):
            torch.manual_seed(0)
            t = leaf()
            f(t, n).backward()
            yield t.grad, len(calls), torch.rand(1)


@program
def warnings_turned_into_errors(compile: Compile) -> Iterator[Any]:
    def f(t: Any, n: int) -> Any:
        t = t * 2
        if n:
            warnings.warn(f"call {n}", UserWarning, stacklevel=1)
        return t + n
    g = compile(f)
    for n in (0, 1, 1, 2):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            yield g(x(), n), [str(w.message) for w in seen]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield error(lambda n=n: g(x(), n))


@program
def threads_that_change_the_weights(compile: Compile) -> Iterator[Any]:
    w = torch.ones(3)
    f = compile(lambda t: t * w + w.sum())
    for n in range(4):
        thread = threading.Thread(target=lambda n=n: w.add_(n))
        before = f(x())
        thread.start()
        thread.join()
        yield before, f(x()), w


@program
def module_lists_and_dicts_that_grow(compile: Compile) -> Iterator[Any]:
    torch.manual_seed(0)
    layers, heads = nn.ModuleList([nn.Linear(3, 3)]), nn.ModuleDict({"a": nn.Identity()})

    def f(t: Any) -> Any:
        for layer in layers:
            t = layer(t).relu()
        return {name: head(t) for name, head in heads.items()}
    g = compile(f)
    for step in range(4):
        yield g(x(3))
        if step % 2:
            layers.append(nn.Linear(3, 3))
        else:
            heads[f"h{step}"] = nn.Tanh()


@program
def operators_and_reductions_by_name(compile: Compile) -> Iterator[Any]:
    f = compile(lambda name, a, b: getattr(operator, name)(a, b))
    for name in ("add", "sub", "mul", "truediv", "pow", "matmul", "lt", "eq", "iadd", "imul", "floordiv", "mod"):
        for b in (x(), 2, 2.0) if name != "matmul" else (x(),):
            a = x()
            yield name, f(name, a, b), a


@program
def streams_of_numbers_from_itertools(compile: Compile) -> Iterator[Any]:
    numbers, seen = itertools.count(1), itertools.cycle("ab")
    f = compile(lambda t: (t * next(numbers), next(seen), functools.reduce(operator.add, [t] * next(numbers))))
    for _ in range(4):
        yield f(x())


@program
def views_that_outlive_their_base(compile: Compile) -> Iterator[Any]:
    f = compile(lambda t: (t * 2)[1:].t())
    for _ in range(3):
        t = leaf(3, 2)
        view = f(t)
        gone = weakref.ref(t)
        view.sum().backward()
        yield t.grad, view._base is not None and tuple(view._base.shape)
        view = view.detach()
        view.add_(1)
        del t
        gc.collect()
        yield gone() is None, view


@program
def numbers_of_numpy_inside(compile: Compile) -> Iterator[Any]:
    def f(t: Any, n: Any) -> Any:
        array = np.asarray(t.detach()) * n
        array[0] = n
        return t + torch.from_numpy(array).float(), float(np.linalg.norm(array)), t.detach().numpy().dtype.name
    g = compile(f)
    for n in (np.float32(1.5), np.int64(2), 3, np.array(2.0), np.float64(0.5)):
        yield g(leaf(), n)


@program
def copies_of_compiled_functions(compile: Compile) -> Iterator[Any]:
    state = [1.0]
    f = compile(lambda t: t * state[0])
    twin, deep = copy.copy(f), copy.deepcopy(f)
    for value in (1.0, 2.0, 3.0):
        state[0] = value
        yield f(x()), twin(x()), deep(x())


@program
def losses_in_a_loop_without_reset(compile: Compile) -> Iterator[Any]:
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    f = compile(lambda t: net(t).pow(2).mean())
    total = torch.zeros(())
    for step in range(5):
        loss = f(x(2, 3) / (step + 1))
        total = total + loss
        if step % 2:
            total.backward()
            yield [round(v, 5) for v in net[0].bias.grad.tolist()]
            total = torch.zeros(())
    yield error(lambda: loss.backward() or loss.backward())


@program
def exceptions_from_hooks_and_recovery(compile: Compile) -> Iterator[Any]:
    f = compile(lambda t: (t * t).sum())
    t = leaf()
    for step in range(4):
        def hook(g: Any, step: int = step) -> Any:
            if step % 2:
                raise ValueError(f"step {step}")
            return g * 2
        handle = t.register_hook(hook)
        yield error(lambda: f(t).backward()), t.grad
        handle.remove()
        f(t).backward()
        yield t.grad
        t.grad = None


@program
def text_of_results(compile: Compile) -> Iterator[Any]:
    stream = io.StringIO()
    f = compile(lambda t: t / 3)
    for t in (x(), leaf(), x(2, 2).double(), torch.ones(0), torch.tensor(2.0), x().to(torch.bfloat16)):
        r = f(t)
        print(r, repr(r), f"{r.sum().item():.3f}", r.tolist(), file=stream)
        yield stream.getvalue()
