"""Programs that interact with the interpreter and with memory: signals, traces, finalizers, coroutines, buffers, caches."""

from __future__ import annotations

import asyncio
import collections
import contextvars
import copy
import dataclasses
import decimal
import enum
import fractions
import functools
import mmap
import pickle
import signal
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

import retrograd as torch
from retrograd import nn
from retrograd.autograd import forward_ad
from tests.compile.programs.base import Compile, error, program, x


def repeated(compile: Compile, f: Any, *args: Any, n: int = 4) -> Iterator[Any]:
    """The results of several calls of a compiled function."""
    g = compile(f)
    for _ in range(n):
        yield g(*args)


@program
def numbers_equal_but_different(compile: Compile) -> Iterator[Any]:
    f = compile(lambda a, n: (a * n + n, 1 / (a * n)))
    for n in (0.0, -0.0, 0, False, True, 1, 1.0, -1, float("inf"), float("nan")) * 2:
        r = f(x(), n)
        yield [str(i) for i in r[1].tolist()], str(r[0].dtype), str(r[0].tolist())


@program
def numbers_of_other_types(compile: Compile) -> Iterator[Any]:
    class E(enum.IntEnum):
        A = 2

    class MyF(float):
        pass

    f = compile(lambda a, n: a * n + n)
    for n in (np.float32(0.1), np.float64(0.1), np.int64(3), E.A, MyF(0.1), 0.1, np.bool_(True), 2**40, 1e300, 1e-320):
        yield f(x(), n)
        yield f(x().double(), n)
    for n in (fractions.Fraction(1, 3), decimal.Decimal(1), "2", [1.0], None, 1j):
        yield error(lambda n=n: f(x(), n))


@program
def integer_arithmetic(compile: Compile) -> Iterator[Any]:
    f = compile(
        lambda a, b: (a // b, a % b, a / b, a**2, -a, ~a, a << 1, a & b, (a > b) | (a == b), a.sum(), a.float().mean())
    )
    for _ in range(3):
        yield f(torch.arange(5), torch.tensor([2, -3, 4, 7, -1]))
        yield f(torch.arange(5, dtype=torch.uint8), torch.tensor([2, 3, 4, 7, 200], dtype=torch.uint8))


@program
def bool_and_mixed(compile: Compile) -> Iterator[Any]:
    f = compile(lambda a, b: torch.where(a > 1, b, a * 2).masked_fill(a == 2, -1.0) + (a > 2) * 3)
    for _ in range(3):
        yield f(x(), torch.tensor(5.0))
        yield f(x().double(), torch.tensor(5))
        yield f(x(2, 3), x(3))


@program
def signal_handler_reads(compile: Compile) -> Iterator[Any]:
    got = []

    def f(a):
        b = a * 2 + 1

        def h(*_):
            got.append(b.tolist())

        old = signal.signal(signal.SIGUSR1, h)
        c = b * 3
        signal.raise_signal(signal.SIGUSR1)
        signal.signal(signal.SIGUSR1, old)
        return c + b

    g = compile(f)
    if threading.current_thread() is threading.main_thread():
        for i in range(4):
            yield g(x() + i), list(got)


@program
def trace_function_reads(compile: Compile) -> Iterator[Any]:
    got = []

    def f(a):
        b = a * 2 + 1
        c = b * 3
        return c + b

    def tr(frame, event, arg):
        if frame.f_code is f.__code__ and event == "line":
            b = frame.f_locals.get("b")
            if b is not None:
                got.append(b.tolist())
        return tr

    g = compile(f)
    for i in range(4):
        got.clear()
        sys.settrace(tr)
        try:
            r = g(x() + i)
        finally:
            sys.settrace(None)
        yield r, list(got)


@program
def profile_function_writes(compile: Compile) -> Iterator[Any]:
    def helper():
        pass

    def f(a):
        b = a * 2
        helper()
        return b + 1

    def pr(frame, event, arg):
        if frame.f_code is helper.__code__ and event == "call":
            frame.f_back.f_locals["b"].add_(100)

    g = compile(f)
    for i in range(4):
        sys.setprofile(pr)
        try:
            r = g(x() + i)
        finally:
            sys.setprofile(None)
        yield r


@program
def finalizer_reads_what_waits(compile: Compile) -> Iterator[Any]:
    log = []

    class K:
        def __init__(self, t):
            self.t = t

        def __del__(self):
            log.append(self.t.sum().item())

    def f(a):
        k = K(a * 2)
        b = a * 3
        del k
        return b + 1

    for r in repeated(compile, f, x()):
        yield r, list(log)


@program
def weakref_callback_writes(compile: Compile) -> Iterator[Any]:
    def f(a):
        b = a * 2
        o = type("O", (), {})()
        watcher = weakref.ref(o, lambda _: b.mul_(10))
        c = b + 1
        del o
        return (c, b, b + 1, watcher() is None)

    yield from repeated(compile, f, x())


@program
def buffer_written_between(compile: Compile) -> Iterator[Any]:
    raw = bytearray(12)
    t = torch.frombuffer(raw, dtype=torch.float32)

    def f():
        a = t * 2
        np.frombuffer(raw, np.float32)[:] += 1
        return a + t

    g = compile(f)
    for _ in range(4):
        yield g()


@program
def memmap_written_between(compile: Compile) -> Iterator[Any]:
    m = mmap.mmap(-1, 4096)
    arr = np.frombuffer(m, np.float32, 4)
    t = torch.from_numpy(np.asarray(arr))

    def f():
        a = t * 2
        m[0:4] = np.float32(np.frombuffer(m[0:4], np.float32)[0] + 1).tobytes()
        return a + t

    g = compile(f)
    for _ in range(4):
        yield g()


@program
def numpy_functions_on_results(compile: Compile) -> Iterator[Any]:
    def f(a):
        b = a * 2
        s = np.sin(b.numpy())
        m = np.asarray(b)
        m[0] = 7
        return (b + 1, torch.from_numpy(s), float(np.sum(np.array(b))))

    yield from repeated(compile, f, x())


@program
def dlpack_of_what_waits(compile: Compile) -> Iterator[Any]:
    def f(a):
        b = a * 2
        n = np.from_dlpack(b)
        c = torch.from_dlpack(b * 3)
        n2 = np.array(n)
        c += 1
        return (b + 1, n2.tolist(), c)

    yield from repeated(compile, f, x())


@program
def storage_of_what_waits(compile: Compile) -> Iterator[Any]:
    def f(a):
        b = a * 2
        s = b.untyped_storage()
        by = bytes(s.tolist())
        c = torch.empty(0).set_(b)
        c[0] = 9
        return (b, by, b.data_ptr() == c.data_ptr())

    yield from repeated(compile, f, x())


@program
def copies_of_what_waits(compile: Compile) -> Iterator[Any]:
    def f(a):
        b = a * 2
        c, d = (copy.copy(b), copy.deepcopy(b))
        e = pickle.loads(pickle.dumps(b))
        b.add_(1)
        return (c, d, e, b)

    yield from repeated(compile, f, x())


@program
def exception_keeps_frames(compile: Compile) -> Iterator[Any]:
    def f(a, bad):
        b = a * 2
        if bad:
            raise ValueError(b)
        return b

    g = compile(f)
    for i in range(6):
        try:
            yield g(x() + i, i % 2)
        except ValueError as e:
            tb = e.__traceback__
            while tb.tb_next:
                tb = tb.tb_next
            yield e.args[0], tb.tb_frame.f_locals["b"] + 1


@program
def interrupt_in_the_middle(compile: Compile) -> Iterator[Any]:
    def f(a, n):
        b = a.clone()
        b.mul_(2)
        c = b + 1
        if n == 2:
            raise KeyboardInterrupt
        b.add_(c)
        return b

    g = compile(f)
    for n in range(5):
        a = x()
        try:
            yield g(a, n)
        except KeyboardInterrupt:
            yield "interrupted", a


@program
def coroutines(compile: Compile) -> Iterator[Any]:
    log = []

    async def part(a, k):
        for i in range(3):
            a = a * k + i
            await asyncio.sleep(0)
            log.append(a.sum().item())
        return a

    def f(a):
        async def both():
            return await asyncio.gather(part(a, 2), part(a, 3))

        return asyncio.run(both())

    for r in repeated(compile, f, x(), n=3):
        yield r, list(log)


@program
def context_variables(compile: Compile) -> Iterator[Any]:
    v = contextvars.ContextVar("v", default=1.0)
    f = compile(lambda a: a * v.get() + 1)
    for i in range(5):
        v.set(float(i))
        yield f(x()), contextvars.copy_context().run(f, x())


@program
def thread_writes_argument(compile: Compile) -> Iterator[Any]:
    def f(a):
        b = a * 2
        t = threading.Thread(target=lambda: a.add_(1))
        t.start()
        t.join()
        return (b, a * 2)

    yield from repeated(compile, f, x())


@program
def formats(compile: Compile) -> Iterator[Any]:
    def f(a):
        b = a * 2
        return (
            f"{b}",
            repr(b),
            f"{b.sum():.3f}",
            f"{b}",
            str([b]),
            b.sum().__format__(".1f"),
            len(b),
            b.__reversed__().tolist() if hasattr(b, "__reversed__") else 0,
        )

    yield from repeated(compile, f, x())


@program
def dicts_keyed_by_tensors(compile: Compile) -> Iterator[Any]:
    def f(a):
        b = a * 2
        d = {b: 1, a: 2}
        return (d[b], d[a], b in d, a + 1 in d, hash(b) == id(b), b in [b], len({b, b, a}))

    yield from repeated(compile, f, x())


@program
def dataclasses_and_namedtuples(compile: Compile) -> Iterator[Any]:
    @dataclasses.dataclass
    class D:
        t: object
        n: int = 0

    N = collections.namedtuple("N", "a b")

    def f(d):
        d.t.mul_(2)
        d.n += 1
        e = dataclasses.replace(d, t=d.t + 1)
        return (N(e.t, d.n), d.t)

    d = D(x())
    for r, t in repeated(compile, f, d):
        yield r.a, r.b, t


@program
def cached_functions(compile: Compile) -> Iterator[Any]:
    calls = []

    @functools.lru_cache(None)
    def table(n):
        calls.append(n)
        return torch.arange(float(n)) * 2

    def f(a, n):
        t = table(n)
        return a[:n] + t

    g = compile(f)
    for n in (1, 2, 3, 2, 1, 3):
        yield g(x(), n), list(calls)
    table(3).zero_()
    yield g(x(), 3)


@program
def cached_property_of_module(compile: Compile) -> Iterator[Any]:
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.w = nn.Parameter(torch.ones(3))

        @functools.cached_property
        def k(s):
            return (s.w * 2).detach()

        def forward(s, a):
            return a * s.k + s.w

    m = M()
    g = compile(m)
    for i in range(4):
        yield g(x())
        with torch.no_grad():
            m.w.add_(1)
        if i == 2:
            del m.__dict__["k"]


@program
def functional_call(compile: Compile) -> Iterator[Any]:
    m = nn.Linear(3, 2)
    f = compile(lambda a, p: torch.func.functional_call(m, p, (a,)))
    for i in range(4):
        yield f(x(2, 3), {"weight": torch.full((2, 3), float(i)), "bias": torch.zeros(2)})


@program
def parametrized(compile: Compile) -> Iterator[Any]:
    class S(nn.Module):
        def forward(s, w):
            return w.triu() + w.triu(1).t()

    torch.manual_seed(0)
    m = nn.Linear(3, 3)
    nn.utils.parametrize.register_parametrization(m, "weight", S())
    g = compile(m)
    for _i in range(3):
        yield g(x(2, 3)).detach().round(decimals=4)
        with torch.no_grad():
            m.parametrizations.weight.original.add_(1)
    nn.utils.parametrize.remove_parametrizations(m, "weight")
    yield g(x(2, 3)).detach().round(decimals=4)


@program
def state_loaded_between(compile: Compile) -> Iterator[Any]:
    torch.manual_seed(0)
    a, b = (nn.Linear(3, 2), nn.Linear(3, 2))
    g = compile(a)
    for i in range(4):
        yield g(x(2, 3)).detach()
        a.load_state_dict(b.state_dict() if i % 2 else {k: v * 2 for k, v in b.state_dict().items()})


@program
def moved_dtype_between(compile: Compile) -> Iterator[Any]:
    m = nn.Linear(3, 2)
    torch.nn.init.ones_(m.weight)
    torch.nn.init.zeros_(m.bias)
    g = compile(m)
    for d in (torch.float32, torch.float64, torch.bfloat16, torch.float32):
        m.to(d)
        yield g(x(2, 3).to(d)).detach().float()


@program
def swapped_tensors(compile: Compile) -> Iterator[Any]:
    def f(a, b):
        c = a * 2
        d = b * 3
        torch.utils.swap_tensors(c, d)
        return (c, d)

    yield from repeated(compile, f, x(), x(2, 2))


@program
def attributes_on_tensors(compile: Compile) -> Iterator[Any]:
    def f(a):
        b = a * 2
        b.tag = getattr(a, "tag", 0) + 1
        a.tag = b.tag
        return (b.tag, b)

    yield from repeated(compile, f, x())


@program
def grads_set_by_hand(compile: Compile) -> Iterator[Any]:
    p = x().requires_grad_()

    def f(a):
        b = p * a
        p.grad = (b * 2).detach()
        c = p.grad + 1
        p.grad.mul_(3)
        return (c, p.grad.clone())

    yield from repeated(compile, f, x())


@program
def data_assigned_inside(compile: Compile) -> Iterator[Any]:
    def f(a):
        b = a * 2
        c = b + 1
        b.data = a * 10
        return (b, c, b + c)

    yield from repeated(compile, f, x())


@program
def transposed_writes(compile: Compile) -> Iterator[Any]:
    def f(a):
        b = a * 2
        b.t()[0] = -1
        c = b.mT
        c += 1
        b[b > 5] = 0
        b[..., 0], b[..., 1] = (b[..., 1].clone(), b[..., 0].clone())
        return (b, c)

    yield from repeated(compile, f, x(3, 3))


@program
def memory_formats(compile: Compile) -> Iterator[Any]:
    def f(a):
        b = a.to(memory_format=torch.channels_last) * 2
        c = b.contiguous() + b
        d = torch.empty_like(b).copy_(c)
        return (b, c, d, (a + b).relu())

    yield from repeated(compile, f, x(2, 3, 2, 2))


@program
def overlapping_expand(compile: Compile) -> Iterator[Any]:
    def f(a):
        b = a.expand(4, 3) * 2
        c = a.expand(4, 3)
        e = error(lambda: c.add_(1))
        return (b.sum(0), e, c.as_strided((2, 2), (1, 1)) + 1)

    yield from repeated(compile, f, x(3))


@program
def default_device_meta(compile: Compile) -> Iterator[Any]:
    f = compile(lambda a: torch.ones(3) + a.shape[0])
    for d in ("cpu", "meta", "cpu"):
        with torch.device(d):
            r = f(x())
            yield str(r.device), tuple(r.shape)


@program
def forward_ad_inside(compile: Compile) -> Iterator[Any]:
    def f(a):
        with forward_ad.dual_level():
            d = forward_ad.make_dual(a, torch.ones_like(a))
            o = (d * d).sin() + d
            return forward_ad.unpack_dual(o).tangent

    yield from repeated(compile, f, x())


@program
def saved_values_inspected(compile: Compile) -> Iterator[Any]:
    p = x().requires_grad_()

    def f(a):
        y = (p * a).exp()
        n = y.grad_fn
        return (
            n.name(),
            n._saved_result.detach().clone(),
            [q[0].name() for q in n.next_functions if q[0] is not None],
            y._version,
        )

    yield from repeated(compile, f, x())


@program
def leaf_written_without_grad(compile: Compile) -> Iterator[Any]:
    p = x().requires_grad_()

    def f(a):
        y = (p * a).sum()
        with torch.no_grad():
            p.mul_(0.5)
        return (error(lambda: y.backward()), p.detach().clone())

    yield from repeated(compile, f, x())


@program
def subclass_and_plain_alternate(compile: Compile) -> Iterator[Any]:
    class T(torch.Tensor):
        pass

    f = compile(lambda a: (a * 2 + 1).sum())
    for i in range(6):
        yield f(x().as_subclass(T) if i % 2 else x())


@program
def nan_and_infinities(compile: Compile) -> Iterator[Any]:
    f = compile(lambda a: (a / a, a.log(), a.sqrt() * 0, torch.maximum(a, a * float("nan")), a == a, a.clamp(min=0.0).sum()))
    for _ in range(3):
        yield [str(t.tolist()) for t in f(torch.tensor([0.0, -1.0, float("inf"), float("nan"), -0.0]))]


@program
def large_then_small(compile: Compile) -> Iterator[Any]:
    f = compile(lambda a: ((a * 2 + 1).relu() - a).sum(-1))
    for s in ((3, 4), (100, 50), (1, 1), (0, 4), (3, 4), (2, 3, 4)):
        yield f(torch.ones(s))
        yield f(torch.ones(s[::-1]).permute(*reversed(range(len(s)))))


@program
def reset_between_calls(compile: Compile) -> Iterator[Any]:
    f = compile(lambda a: (a * 2 + 1).exp())
    for i in range(6):
        yield f(x())
        if i % 2:
            torch.compiler.reset()


@program
def random_state_saved_inside(compile: Compile) -> Iterator[Any]:
    def f(a):
        s = torch.get_rng_state()
        b = torch.rand(2)
        torch.set_rng_state(s)
        c = torch.rand(2)
        d = nn.functional.dropout(a, 0.5)
        return (b == c, d, torch.randn(2), torch.randperm(4))

    torch.manual_seed(3)
    yield from repeated(compile, f, x())


@program
def fork_rng_inside(compile: Compile) -> Iterator[Any]:
    def f(a):
        with torch.random.fork_rng():
            torch.manual_seed(1)
            b = torch.rand(2)
        return (b, torch.rand(2) + a[:2])

    torch.manual_seed(3)
    yield from repeated(compile, f, x())


@program
def tensor_method_patched(compile: Compile) -> Iterator[Any]:
    f = compile(lambda a: (a * 2).my() if hasattr(a, "my") else a * 3)
    for i in range(5):
        if i % 2:
            torch.Tensor.my = lambda s: s + 100
        try:
            yield f(x())
        finally:
            if i % 2:
                del torch.Tensor.my


@program
def result_kept_and_input_freed(compile: Compile) -> Iterator[Any]:
    kept = []

    def f(a):
        b = a * 2
        kept.append(b[1:])
        return b.sum()

    g = compile(f)
    for i in range(5):
        a = x() + i
        yield g(a)
        a.zero_()
        del a
    yield kept


@program
def in_place_on_results_later(compile: Compile) -> Iterator[Any]:
    f = compile(lambda a: (a * 2, (a * 2).view(3, 1)))
    for _i in range(4):
        a = x()
        u, v = f(a)
        v.add_(1)
        u.mul_(3)
        a.fill_(9)
        yield u, v


@program
def inputs_alias_each_other(compile: Compile) -> Iterator[Any]:
    f = compile(lambda a, b: (a.add_(1), b * 2, a + b)[1:])
    for _i in range(4):
        t = x(4)
        yield f(t[:3], t[1:]), t
        u = x()
        yield f(u, u), u


@program
def lists_of_foreach(compile: Compile) -> Iterator[Any]:
    def f(ts):
        a = torch._foreach_add(ts, 1.0)
        torch._foreach_mul_(a, 2.0)
        b = [t * 3 for t in a]
        torch._foreach_zero_(ts[:1])
        return (a, b, ts[0])

    g = compile(f)
    for _ in range(4):
        yield g([x(), x(2, 2)])
