"""Programs in which other code sees or changes what a compiled function works on: buffers, callbacks, other threads, the
interpreter's own protocols."""
from __future__ import annotations

import array
import collections
import concurrent.futures
import contextlib
import copy
import ctypes
import decimal
import fractions
import functools
import gc
import heapq
import io
import itertools
import math
import operator
import os
import pickle
import queue
import signal
import statistics
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

import retrograd as torch
from retrograd import nn
from tests.compile.programs.base import Compile, error, program, x


def leaf(*shape: int) -> Any:
    return x(*shape).requires_grad_()


# ---- memory that is shared
@program
def bytes_from_a_buffer(compile: Compile) -> Iterator[Any]:
    data = array.array("f", [1, 2, 3])
    t = torch.frombuffer(data, dtype=torch.float32)

    @compile
    def f(t: Any) -> Any:
        y = t * 2 + 1
        data[0] += 1
        return y, t + 0
    for _ in range(4):
        yield f(t), data.tolist()


@program
def memoryviews_of_results(compile: Compile) -> Iterator[Any]:
    @compile
    def f(t: Any) -> Any:
        y = t * 3
        view = memoryview(y.numpy())
        z = y + 1
        view[1] = 100.0
        return y, z, y * 2
    for _ in range(4):
        yield f(x())


@program
def arrays_that_wrap_what_waits(compile: Compile) -> Iterator[Any]:
    @compile
    def f(t: Any) -> Any:
        y = t.sin() * 2
        a = np.asarray(y)
        y.add_(1)
        b = np.add(y, 1)
        z = y * torch.as_tensor(a)
        a[0] = 7
        return y, z, b, torch.from_numpy(a) * 2
    for _ in range(4):
        yield f(x())


@program
def pointers_of_views(compile: Compile) -> Iterator[Any]:
    @compile
    def f(t: Any) -> Any:
        y = t.clone()
        part = y[1:]
        z = part * 2
        (ctypes.c_float * 1).from_address(part.data_ptr())[0] = 50.0
        return y, z, part + y[:2]
    for _ in range(4):
        yield f(x())


@program
def storages_exchanged(compile: Compile) -> Iterator[Any]:
    other = x() * 10

    @compile
    def f(t: Any) -> Any:
        y = t + 1
        z = y * 2
        y.set_(other)
        w = y * 2
        y.data = t
        return z, w, y + 0
    for step in range(4):
        yield f(x() + step), other


@program
def storages_emptied_and_filled(compile: Compile) -> Iterator[Any]:
    weight = leaf(4)

    @compile
    def f(t: Any) -> Any:
        kept = weight.detach().clone()
        y = t * weight
        storage = weight.untyped_storage()
        size = storage.nbytes()
        with torch.no_grad():
            storage.resize_(0)
            storage.resize_(size)
            weight.data.copy_(kept)
        return y + weight
    for _ in range(4):
        r = f(x(4))
        yield r, weight


@program
def records_of_numpy(compile: Compile) -> Iterator[Any]:
    table = np.zeros(3, dtype=[("a", np.float32), ("b", np.float32)])
    t = torch.from_numpy(table["a"])

    @compile
    def f(t: Any) -> Any:
        y = t + 1
        table["a"] += 2
        return y, t * 2
    for _ in range(4):
        yield f(t), table["a"].tolist()


@program
def rows_swapped(compile: Compile) -> Iterator[Any]:
    @compile
    def f(t: Any) -> Any:
        y = t * 2
        y[0], y[1] = y[1], y[0]
        y[[0, 2]] = y[[2, 0]]
        a, b = y[0], y[1]
        a, b = b, a
        a += b
        return y, a, b
    for _ in range(4):
        yield f(x(3, 2))


@program
def writes_through_every_view(compile: Compile) -> Iterator[Any]:
    @compile
    def f(t: Any) -> Any:
        y = t * 1
        s = y.sum()
        y.diagonal().add_(1)
        y.t()[0] *= 2
        y.unfold(0, 2, 1)[0, 0, 0] = 9
        y.view(-1)[::2].neg_()
        for row in y.unbind():
            row.sub_(row.mean())
        y.split(1)[1].zero_()
        y.as_strided((2,), (4,)).fill_(3)
        y.expand(2, 3, 3)[1].mul_(2)
        y.movedim(0, 1)[1].exp_()
        return y, s, y.sum()
    for step in range(4):
        yield f(x(3, 3) + step)


@program
def conjugates_and_parts(compile: Compile) -> Iterator[Any]:
    @compile
    def f(t: Any) -> Any:
        z = torch.complex(t, t * 2)
        c = z.conj()
        w = c * 2
        z.imag.mul_(3)
        torch.view_as_real(z)[0, 0] = 5
        return z, c + 0, w, z.real.sin(), torch._neg_view(t) * 2
    for _ in range(4):
        yield f(x())


# ---- code that runs in between
@program
def finalizer_that_writes(compile: Compile) -> Iterator[Any]:
    total = torch.zeros(3)

    class Guard:
        def __init__(self, t: Any) -> None:
            self.t = t

        def __del__(self) -> None:
            total.add_(self.t)

    @compile
    def f(t: Any) -> Any:
        guard = Guard(t * 2)
        y = t + total
        del guard
        z = t + total
        Guard(z * 2)
        return y, z, total * 1
    for _ in range(4):
        yield f(x())


@program
def finalizer_in_a_cycle(compile: Compile) -> Iterator[Any]:
    seen: list[Any] = []

    class Loop:
        def __init__(self, t: Any) -> None:
            self.me, self.t = self, t

        def __del__(self) -> None:
            seen.append((self.t * 2).sum().item())

    @compile
    def f(t: Any) -> Any:
        Loop(t + 1)
        y = t.exp()
        gc.collect()
        return y * len(seen)
    for _ in range(4):
        yield f(x()), list(seen)


@program
def callbacks_of_weak_references(compile: Compile) -> Iterator[Any]:
    target = x()

    @compile
    def f(t: Any) -> Any:
        y = t * 2
        gone = weakref.finalize(y, target.mul_, 2)
        z = y + target
        y = t
        w = z + target
        return z, w, gone.alive
    for _ in range(4):
        yield f(x()), target


@program
def locals_of_frames(compile: Compile) -> Iterator[Any]:
    def peek() -> Any:
        return sys._getframe(1).f_locals["y"].tolist()

    @compile
    def f(t: Any) -> Any:
        y = t * 2
        first = peek()
        y = y + 1
        return first, peek(), y
    for _ in range(4):
        yield f(x())


@program
def lines_traced_into_a_list(compile: Compile) -> Iterator[Any]:
    sums: list[float] = []

    def trace(frame: Any, event: str, argument: Any) -> Any:
        if frame.f_code.co_name == "inner":
            y = frame.f_locals.get("y")
            if isinstance(y, torch.Tensor):
                sums.append(float(y.sum()))
            return trace
        return None

    def inner(t: Any) -> Any:
        y = t + 1
        y = y * 2
        y.sub_(3)
        return y

    @compile
    def f(t: Any) -> Any:
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            return inner(t)
        finally:
            sys.settrace(before)
    for _ in range(4):
        r = f(x())
        yield r, list(sums)


@program
def signals_between_ops(compile: Compile) -> Iterator[Any]:
    log: list[Any] = []
    shared = x()

    @compile
    def f(t: Any) -> Any:
        y = t * shared
        os.kill(os.getpid(), signal.SIGUSR1)
        z = y + shared
        return y, z

    def handler(number: int, frame: Any) -> None:
        log.append(shared.sum().item())
        shared.add_(1)
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        for _ in range(4):
            yield f(x()), list(log)
    finally:
        signal.signal(signal.SIGUSR1, before)


# ---- threads
@program
def results_through_a_queue(compile: Compile) -> Iterator[Any]:
    todo: queue.Queue[Any] = queue.Queue()
    done: queue.Queue[Any] = queue.Queue()

    def work() -> None:
        while (item := todo.get()) is not None:
            done.put(item * 2 + item.sum())
    worker = threading.Thread(target=work)
    worker.start()

    @compile
    def f(t: Any) -> Any:
        y = t.exp() + 1
        todo.put(y)
        z = y * 3
        back = done.get(timeout=20)
        y.zero_()
        return z + back, y
    try:
        for _ in range(4):
            yield f(x())
    finally:
        todo.put(None)
        worker.join()


@program
def pools_with_grad(compile: Compile) -> Iterator[Any]:
    w = leaf()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        @compile
        def f(t: Any) -> Any:
            y = t * w
            parts = list(pool.map(lambda k: (y * k).sum(), range(3)))
            return parts[0] + parts[1] * parts[2]
        for _ in range(4):
            w.grad = None
            r = f(x())
            r.backward()
            yield r, w.grad


@program
def two_threads_one_function(compile: Compile) -> Iterator[Any]:
    state = {"k": 1.0}

    @compile
    def f(t: Any) -> Any:
        y = t * state["k"]
        return (y.sin() + y).sum(), y
    for _ in range(3):
        results: dict[int, Any] = {}

        def run(n: int, results: dict[int, Any] = results) -> None:
            t = (x() + n).requires_grad_()
            total = sum(f(t * i)[0] for i in range(5))
            total.backward()
            results[n] = total.item(), t.grad.tolist()
        threads = [threading.Thread(target=run, args=(n,)) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        yield [results[n] for n in range(3)]
        state["k"] += 1


@program
def lock_held_over_a_read(compile: Compile) -> Iterator[Any]:
    lock, box = threading.Lock(), [x()]

    @compile
    def f(t: Any) -> Any:
        with lock:
            box[0] = box[0] + t
            total = box[0].sum()
        other = threading.Thread(target=lambda: box.append(box[0] * 2))
        other.start()
        other.join()
        return total, box.pop()
    for _ in range(4):
        yield f(x())


# ---- the interpreter's protocols
@program
def numbers_of_every_protocol(compile: Compile) -> Iterator[Any]:
    @compile
    def f(t: Any) -> Any:
        y = t.sum() * 2
        return [int(y), float(y), complex(y), bool(y > 3), math.floor(y), math.ceil(y), round(float(y), 1),
                divmod(float(y), 5), [10, 20, 30][(y * 0 + 1).long()], f"{y:.2f}", f"{y.item():e}", str(y),
                y.long().__index__(), math.isclose(y, float(y)), operator.index((y > 0).long()), hash(y) == id(y)]
    for step in range(4):
        yield f(x() + step)


@program
def exact_numbers(compile: Compile) -> Iterator[Any]:
    @compile
    def f(t: Any, n: Any) -> Any:
        return t * float(n) + error(lambda: t * n).startswith("nothing"), type(n).__name__
    for n in (fractions.Fraction(1, 3), decimal.Decimal("0.5"), np.float32(2), np.int8(-3), np.bool_(True), True, 1, 1.0):
        yield f(x(), n)


@program
def sorting_and_heaps(compile: Compile) -> Iterator[Any]:
    @compile
    def f(t: Any) -> Any:
        parts = [p * -1 for p in t]
        heap = [(float(p), i) for i, p in enumerate(parts)]
        heapq.heapify(heap)
        best = max(parts)
        least = min(parts, key=lambda p: p.abs())
        parts.sort(key=float)
        smallest = [heapq.heappop(heap) for _ in range(2)]
        return smallest, best, least, torch.stack(parts), sum(parts), statistics.mean(map(float, parts))
    for step in range(4):
        yield f(torch.roll(x(4), step))


@program
def accumulations(compile: Compile) -> Iterator[Any]:
    @compile
    def f(t: Any) -> Any:
        sums = list(itertools.accumulate(t, operator.add))
        product = functools.reduce(operator.mul, t)
        pairs = [a * b for a, b in itertools.pairwise(t)]
        counted = collections.Counter(float(v) for v in t * 2)
        return sums, product, pairs, dict(counted), math.prod(t), sum(t, start=t[0])
    for step in range(4):
        yield f(x() + step)


@program
def cached_by_identity(compile: Compile) -> Iterator[Any]:
    cache: dict[int, Any] = {}

    @compile
    def f(t: Any) -> Any:
        if id(t) not in cache:
            cache[id(t)] = t * 2, t
        return cache[id(t)][0] + t, len(cache)
    a, b = x(), x() + 1
    for t in (a, a, b, a, b):
        yield f(t)
        t.add_(1)


@program
def tensors_as_keys_and_members(compile: Compile) -> Iterator[Any]:
    @compile
    def f(t: Any) -> Any:
        y, z = t * 1, t * 1
        known = {y: "y", z: "z"}
        return known[y], y in known, y in [y], y is z, len({y, z, y}), error(lambda: z in [y]), [y, z].index(y)
    for _ in range(4):
        yield f(x())


@program
def copies_in_the_middle(compile: Compile) -> Iterator[Any]:
    @compile
    def f(t: Any) -> Any:
        y = t * 2
        shallow, deep = copy.copy(y), copy.deepcopy(y)
        both = copy.deepcopy({"a": y, "b": y, "c": y[1:]})
        y.add_(1)
        stream = io.BytesIO()
        pickle.dump(y, stream)
        y.add_(1)
        stream.seek(0)
        return y, shallow, deep, both["a"] is both["b"], both["c"], pickle.load(stream)
    for _ in range(4):
        yield f(x())


@program
def contexts_in_a_stack(compile: Compile) -> Iterator[Any]:
    log: list[Any] = []

    @compile
    def f(t: Any, fails: bool) -> Any:
        with contextlib.ExitStack() as stack:
            stack.callback(lambda: log.append((t * 2).sum().item()))
            stack.enter_context(torch.no_grad())
            y = t * 3
            stack.enter_context(torch.enable_grad())
            z = t * 4
            if fails:
                raise KeyError("stop")
            return y.requires_grad, z.requires_grad, y + z
    for step in range(6):
        t = leaf()
        yield error(lambda t=t, step=step: f(t, step % 2 == 1)), f(t, False), list(log), torch.is_grad_enabled()


@program
def exceptions_that_carry_tensors(compile: Compile) -> Iterator[Any]:
    @compile
    def f(t: Any) -> Any:
        y = t * 2
        try:
            raise ValueError(y)
        except ValueError as problem:
            z = problem.args[0] + 1
            y.zero_()
        raise LookupError(z, t * 3)
    for _ in range(4):
        try:
            f(x())
        except LookupError as problem:
            yield list(problem.args), problem.__context__ is None


@program
def deep_recursion_that_fails(compile: Compile) -> Iterator[Any]:
    def down(t: Any) -> Any:
        return down(t + 1)

    @compile
    def f(t: Any) -> Any:
        y = t * 2
        try:
            down(y)
        except RecursionError:
            y.add_(5)
        return y
    for _ in range(3):
        yield f(x())
        yield f(x()).sum()


@program
def modules_that_count_their_attributes(compile: Compile) -> Iterator[Any]:
    class Net(nn.Module):
        reads = 0

        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(x())

        def __getattr__(self, name: str) -> Any:
            Net.reads += 1
            return super().__getattr__(name)

        def forward(self, t: Any) -> Any:
            return t * self.weight + Net.reads
    net = Net()
    f = compile(net.forward)
    start = Net.reads
    for _ in range(4):
        yield f(x()), Net.reads - start


@program
def attributes_set_on_results(compile: Compile) -> Iterator[Any]:
    @compile
    def f(t: Any) -> Any:
        y = t * 2
        y.note = {"sum": y.sum(), "me": None}
        y.note["me"] = weakref.ref(y)
        return y
    for _ in range(4):
        y = f(x())
        yield y, y.note["sum"], y.note["me"]() is y


@program
def classes_changed_on_what_waits(compile: Compile) -> Iterator[Any]:
    class Kind(torch.Tensor):
        pass

    @compile
    def f(t: Any) -> Any:
        y = t * 2
        k = y.as_subclass(Kind)
        z = k + 1
        y.add_(1)
        return type(z).__name__, z, k, (k * 2).sum()
    for _ in range(4):
        yield f(x())
