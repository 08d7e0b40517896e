"""Programs whose Python state changes between calls, or that have effects outside of tensors."""
from __future__ import annotations

import contextlib
import functools
import io
import itertools
import random
import types
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

import retrograd as torch
import retrograd.nn.functional as F
from retrograd import nn
from tests.compile.programs.base import Compile, error, program, x

GLOBAL = {"factor": 2.0, "calls": 0}
SCALE = 3.0


@program
def counter_in_a_closure(compile: Compile) -> Iterator[Any]:
    n = 0

    def f(t: Any) -> Any:
        nonlocal n
        n += 1
        return t * n
    g = compile(f)
    for _ in range(4):
        yield g(x()), n


@program
def global_dict(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        GLOBAL["calls"] += 1
        return t * GLOBAL["factor"]
    g = compile(f)
    GLOBAL["calls"] = 0
    for factor in (2.0, 3.0, 2.0):
        GLOBAL["factor"] = factor
        yield g(x()), GLOBAL["calls"]


@program
def global_name(compile: Compile) -> Iterator[Any]:
    global SCALE
    g = compile(lambda t: t * SCALE)
    for value in (3.0, 5.0, 3.0):
        SCALE = value
        yield g(x())


@program
def list_that_grows(compile: Compile) -> Iterator[Any]:
    seen: list[Any] = []

    def f(t: Any) -> Any:
        seen.append(t.sum())
        return sum(seen)
    g = compile(f)
    for i in range(4):
        yield g(x() * i), len(seen)


@program
def default_argument_that_is_mutable(compile: Compile) -> Iterator[Any]:
    def f(t: Any, memory: list[Any] = []) -> Any:  # noqa: B006
        memory.append(1)
        return t + len(memory)
    g = compile(f)
    for _ in range(3):
        yield g(x())


@program
def attribute_of_an_object(compile: Compile) -> Iterator[Any]:
    class Box:
        value = 1.0

        def f(self, t: Any) -> Any:
            self.value += 1
            return t * self.value
    box = Box()
    g = compile(box.f)
    yield g(x()), g(x())
    box.value = 10
    yield g(x()), box.value


@program
def property_with_a_side_effect(compile: Compile) -> Iterator[Any]:
    class Counting:
        n = 0

        @property
        def value(self) -> int:
            self.n += 1
            return self.n
    counting = Counting()
    g = compile(lambda t: t * counting.value + counting.value)
    yield [g(x()) for _ in range(3)], counting.n


@program
def class_attribute(compile: Compile) -> Iterator[Any]:
    class Settings:
        scale = 1
    g = compile(lambda t: t * Settings.scale)
    for value in (1, 4, 1):
        Settings.scale = value
        yield g(x())


@program
def getattr_hook(compile: Compile) -> Iterator[Any]:
    class Odd:
        def __getattr__(self, name: str) -> int:
            return len(name)
    odd = Odd()
    g = compile(lambda t: t * odd.abc + odd.abcdef)
    yield g(x()), g(x())


@program
def function_replaced(compile: Compile) -> Iterator[Any]:
    space = types.SimpleNamespace(op=torch.sin)
    g = compile(lambda t: space.op(t))
    yield g(x())
    space.op = torch.cos
    yield g(x())
    space.op = lambda t: t + 1
    yield g(x())


@program
def method_replaced_on_the_class(compile: Compile) -> Iterator[Any]:
    class Net(nn.Module):
        def forward(self, t: Any) -> Any:
            return t + 1
    net = Net()
    g = compile(net)
    yield g(x())
    Net.forward = lambda self, t: t * 5       # type: ignore[method-assign]
    yield g(x())


@program
def code_replaced(compile: Compile) -> Iterator[Any]:
    def inner(t: Any) -> Any:
        return t + 1
    g = compile(lambda t: inner(t))
    yield g(x())
    inner.__code__ = (lambda t: t * 7).__code__
    yield g(x())


@program
def dict_order(compile: Compile) -> Iterator[Any]:
    g = compile(lambda d: functools.reduce(lambda a, b: a * 2 + b, d.values()))
    yield g({"a": x(), "b": x() + 1}), g({"b": x() + 1, "a": x()}), g({"a": x(), "b": x(), "c": x()})


@program
def keyword_arguments(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t, *args, k=1, **kw: t * k + len(args) + sum(kw.values()))
    yield g(x()), g(x(), 1, 2), g(x(), k=3), g(x(), a=1, b=2), g(x(), 1, k=2, z=5)


@program
def random_of_python(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: t * random.random())
    random.seed(3)
    yield [g(x()) for _ in range(3)], random.random()


@program
def random_of_numpy(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: t * float(np.random.rand()))
    np.random.seed(3)
    yield [g(x()) for _ in range(3)], np.random.rand()


@program
def random_of_tensors(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: F.dropout(t, 0.5) + torch.rand(3) + torch.randn_like(t))
    torch.manual_seed(5)
    yield [g(x()) for _ in range(3)], torch.rand(2), torch.get_rng_state().sum()


@program
def generator_given(compile: Compile) -> Iterator[Any]:
    source = torch.Generator().manual_seed(1)
    g = compile(lambda: torch.rand(2, generator=source))
    yield g(), g()
    source.manual_seed(1)
    yield g()


@program
def seed_inside(compile: Compile) -> Iterator[Any]:
    def f() -> Any:
        torch.manual_seed(0)
        return torch.rand(2)
    g = compile(f)
    yield g(), torch.rand(1), g(), torch.rand(1)


@program
def iterator_consumed(compile: Compile) -> Iterator[Any]:
    numbers = itertools.count()
    g = compile(lambda t: t * next(numbers))
    yield [g(x()) for _ in range(3)], next(numbers)


@program
def generator_function(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Iterator[Any]:
        for i in range(3):
            yield t * i
    g = compile(f)
    yield list(g(x())), list(g(x() + 1))


@program
def weak_references(compile: Compile) -> Iterator[Any]:
    found: list[Any] = []

    def f(t: Any) -> Any:
        inner = t + 1
        found.append(weakref.ref(inner))
        return inner * 2
    g = compile(f)
    yield g(x()), found[-1]() is None, g(x()), found[-1]() is None


@program
def finalizer(compile: Compile) -> Iterator[Any]:
    log: list[str] = []

    class Noisy:
        def __del__(self) -> None:
            log.append("gone")

    def f(t: Any) -> Any:
        Noisy()
        log.append("made")
        return t + 1
    g = compile(f)
    yield g(x()), list(log), g(x()), list(log)


@program
def warning_every_time(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        warnings.warn("careful", UserWarning, stacklevel=1)
        return t + 1
    g = compile(f)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        g(x())
        g(x())
    yield [str(w.message) for w in seen]


@program
def printing(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        print("value", t.sum())
        y = t * 2
        print(y)
        return y
    g = compile(f)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        results = [g(x()), g(x() * 2)]
    yield results, out.getvalue()


@program
def writing_to_a_stream(compile: Compile) -> Iterator[Any]:
    out = io.StringIO()

    def f(t: Any) -> Any:
        out.write(f"{t.tolist()} {float(t[0]):.1f}\n")
        return t + len(out.getvalue())
    g = compile(f)
    yield g(x()), g(x() + 1), out.getvalue()


@program
def recursion(compile: Compile) -> Iterator[Any]:
    def f(t: Any, n: int) -> Any:
        return t if n == 0 else f(t * 2, n - 1) + n
    g = compile(f)
    yield g(x(), 3), g(x(), 0), g(x(), 5)


@program
def compiled_calls_compiled(compile: Compile) -> Iterator[Any]:
    inner = compile(lambda t: t * 2)
    outer = compile(lambda t: inner(t) + inner(t + 1))
    yield outer(x()), inner(x()), outer(x() + 1)


@program
def recursion_through_the_compiled(compile: Compile) -> Iterator[Any]:
    table: dict[str, Any] = {}
    table["f"] = compile(lambda t, n: t if n == 0 else table["f"](t + 1, n - 1) * 2)
    yield table["f"](x(), 3), table["f"](x(), 1)


@program
def exceptions(compile: Compile) -> Iterator[Any]:
    log: list[str] = []

    def f(t: Any, bad: bool) -> Any:
        log.append("in")
        y = t * 2
        if bad:
            raise ValueError("asked for")
        log.append("out")
        return y
    g = compile(f)
    yield g(x(), False), error(lambda: g(x(), True)), g(x(), False), log


@program
def try_around_an_op(compile: Compile) -> Iterator[Any]:
    def f(a: Any, b: Any) -> Any:
        try:
            return a @ b
        except RuntimeError as raised:
            return str(raised)[:20]
        finally:
            a.add_(1)
    g = compile(f)
    a = x(2, 3)
    yield g(a, x(3, 2)), a.clone(), g(a, x(2, 2)), a.clone(), g(a, x(3, 2))


@program
def error_of_an_op_at_its_statement(compile: Compile) -> Iterator[Any]:
    log: list[int] = []

    def f(t: Any) -> Any:
        log.append(1)
        y = t.reshape(7)
        log.append(2)
        return y
    g = compile(f)
    yield error(lambda: g(x())), log, g(x(7)), log


@program
def index_error_on_data(compile: Compile) -> Iterator[Any]:
    def f(t: Any, i: Any) -> Any:
        try:
            return t[i]
        except IndexError:
            return "out of range"
    g = compile(f)
    yield g(x(), torch.tensor([0, 2])), g(x(), torch.tensor([0, 9])), g(x(), torch.tensor([1, 1]))


@program
def context_manager_left_by_an_error(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        with torch.no_grad():
            raise KeyError("x")
    g = compile(f)
    yield error(lambda: g(x())), torch.is_grad_enabled()


@program
def early_return(compile: Compile) -> Iterator[Any]:
    def f(t: Any, n: int) -> Any:
        for i in range(10):
            t = t + 1
            if i == n:
                return t
        return t * 100
    g = compile(f)
    yield g(x(), 2), g(x(), 5), g(x(), 20), g(x(), 2)
