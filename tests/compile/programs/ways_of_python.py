"""Ways of the interpreter around compiled functions: coroutines, dispatch, patterns, patched names."""
from __future__ import annotations

import asyncio
import builtins
import functools
import inspect
import itertools
import operator
import threading
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import retrograd as torch
from retrograd import nn
from tests.compile.programs.base import Compile, error, program, x


def leaf(*shape: int) -> Any:
    return (x(*(shape or (3,))) / 4).requires_grad_()


@program
def async_functions(compile: Compile) -> Iterator[Any]:
    log: list[str] = []

    async def work(name: str, t: Any) -> Any:
        y = t * 2
        log.append(name + " before")
        await asyncio.sleep(0)
        log.append(name + " after")
        return y + 1

    def f(t: Any) -> Any:
        async def main() -> Any:
            return await asyncio.gather(work("a", t), work("b", t * 3))
        return asyncio.run(main())
    g = compile(f)
    for k in range(3):
        yield g(x() + k), list(log)


@program
def operators_of_modules(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        pairs = itertools.starmap(operator.mul, zip(t, reversed(t), strict=True))
        total = functools.reduce(operator.add, pairs)
        tree = ChainMap({"a": t}, defaultdict(lambda: t * 2))
        return total, tree["a"] + tree["b"], operator.itemgetter(1)(t), operator.methodcaller("sum", 0)(t)
    g = compile(f)
    for k in range(3):
        yield g(x() + k)


@program
def queues_of_tensors(compile: Compile) -> Iterator[Any]:
    history: deque[Any] = deque(maxlen=3)
    seen: Counter[Any] = Counter()

    def f(t: Any) -> Any:
        history.append(t * len(history))
        seen[t.shape] += 1
        return sum(history), OrderedDict(a=t, n=torch.tensor(float(seen[t.shape])))
    g = compile(f)
    for k in range(5):
        yield g(x() + k)
    yield len(history), dict(seen)


@program
def patched_builtins_and_functions(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        return torch.sin(t) + len([1, 2]) + nn.functional.relu(t) * abs(-2)
    g = compile(f)
    yield g(x())
    before, relu, plain_abs = torch.sin, nn.functional.relu, builtins.abs
    try:
        torch.sin = torch.cos
        yield g(x())
        nn.functional.relu = lambda t: -t
        yield g(x())
        builtins.abs = lambda n: 5
        yield g(x())
    finally:
        torch.sin, nn.functional.relu, builtins.abs = before, relu, plain_abs
    yield g(x())


@program
def source_and_signature(compile: Compile) -> Iterator[Any]:
    def f(t: Any, *, k: int = 2) -> Any:
        frame = inspect.currentframe()
        assert frame is not None
        return t * k, sorted(frame.f_locals), inspect.stack()[0].function
    g = compile(f)
    for k in (2, 3, 2):
        yield g(x(), k=k)
    yield str(inspect.signature(g)), error(lambda: g(x(), 3))


@program
def threads_each_with_backward(compile: Compile) -> Iterator[Any]:
    w = leaf()
    g = compile(lambda t: (t * w).exp().sum())
    lock = threading.Lock()

    def work(k: int) -> Any:
        t = x() / 10 + k / 10
        loss = g(t)
        with lock:
            loss.backward()
        return loss.detach()
    for _ in range(3):
        with ThreadPoolExecutor(3) as pool:
            made = list(pool.map(work, range(4)))
        yield made, torch.round(w.grad * 1e3)
        w.grad = None


@program
def generators_send_and_throw(compile: Compile) -> Iterator[Any]:
    def producer(t: Any) -> Iterator[Any]:
        total = t
        while True:
            try:
                got = yield total
                total = total * got
            except ValueError:
                total = total * 0 - 1

    def f(t: Any) -> Any:
        made = producer(t + 1)
        first = next(made)
        second = made.send(2.0)  # type: ignore[attr-defined]
        third = made.throw(ValueError)  # type: ignore[attr-defined]
        made.close()  # type: ignore[attr-defined]
        return first, second, third
    g = compile(f)
    for k in range(3):
        yield g(x() + k)


@program
def exceptions_with_notes_and_groups(compile: Compile) -> Iterator[Any]:
    def f(t: Any, n: int) -> Any:
        y = t * 2
        try:
            if n:
                raise ExceptionGroup("several", [ValueError(str(y.sum().item())), KeyError(n)])
            return y
        except* ValueError as group:
            group.exceptions[0].add_note(str(y.shape))
            y = y + len(group.exceptions)
        finally:
            y = y.neg_()
        return y
    g = compile(f)
    for n in (0, 1, 0, 2):
        yield error(lambda n=n: g(x(), n)), error(lambda: f(x(), 1))


@program
def descriptors_and_metaclasses(compile: Compile) -> Iterator[Any]:
    class Meta(type):
        def __call__(cls, *args: Any) -> Any:
            made = super().__call__(*args)
            made.value = made.value + 1
            return made

    class Lazy:
        def __get__(self, instance: Any, owner: Any) -> Any:
            instance.reads += 1
            return instance.value * instance.reads

    class Box(metaclass=Meta):
        lazy = Lazy()
        __slots__ = ("reads", "value")

        def __init__(self, value: Any) -> None:
            self.value, self.reads = value, 0

        def __matmul__(self, other: Any) -> Any:
            return self.lazy @ other.lazy
    g = compile(lambda t: (Box(t) @ Box(t * 2), Box(t).lazy))
    for k in range(3):
        yield g(x() + k)


@program
def function_of_the_input_type(compile: Compile) -> Iterator[Any]:
    @functools.singledispatch
    def f(t: Any) -> Any:
        return "other", t

    @f.register
    def _(t: torch.Tensor) -> Any:
        return "tensor", t * 2

    @f.register
    def _(t: list) -> Any:  # type: ignore[type-arg]
        return "list", [f(item) for item in t]
    g = compile(f)
    yield g(x()), g([x(), 2]), g(3)
    f.register(int, lambda n: ("int", torch.ones(n)))
    yield g(2), g([2, x()])


@program
def matching_patterns(compile: Compile) -> Iterator[Any]:
    def f(value: Any) -> Any:
        match value:
            case {"a": t, **rest}:
                return t * 2, sorted(rest)
            case [t, *others] if len(others) < 2:
                return t + len(others)
            case torch.Tensor(ndim=2) as t:
                return t.T
            case _:
                return value
    g = compile(f)
    for value in ({"a": x(), "b": 1}, [x()], [x(), 1], x(2, 3), x(), {"a": x()}, [1, 2, 3]):
        yield g(value)
