"""Programs that reach around ops while these wait: memory, lifetimes, hooks, threads, and changes between calls."""
from __future__ import annotations

import contextlib
import copy
import ctypes
import gc
import io
import pickle
import sys
import threading
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

import retrograd as torch
from retrograd import nn
from retrograd.utils._python_dispatch import TorchDispatchMode
from tests.compile.programs.base import Compile, error, program, x


def leaf(*shape: int) -> Any:
    return (x(*(shape or (3,))) / 4).requires_grad_()


@program
def out_arguments_of_composite_ops(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        out, other = torch.zeros(0), torch.full((3,), -1.0)
        torch.diff(t * 2, out=out)
        torch.norm(t * 3, 2, 0, keepdim=True, out=other.resize_(0))
        made = torch.stack([t + 1, t * t], out=torch.empty(0)) * 2
        return out, other, made
    g = compile(f)
    for k in range(3):
        yield g(x() + k)


@program
def tensors_made_of_tensors(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = t * 2 + 1
        with warnings.catch_warnings(action="ignore"):
            return (torch.tensor(y), torch.tensor(y * 2, dtype=torch.float64), torch.as_tensor(y),
                    torch.asarray(y * 3, copy=True), torch.tensor([y.sum(), y.mean()]), torch.from_dlpack(y * 5),
                    y.new_tensor(y), torch.Tensor(y * 7).clone())
    g = compile(f)
    for k in range(3):
        yield g(x() + k)


@program
def large_arguments_of_functions(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = t * 1.0
        return [torch.round(made * 100) for made in (y.sin(), y.cos(),
                                                    torch.fmod(y, 0.75), y % 0.75, torch.exp(-y.abs()))]
    g = compile(f)
    for values in ([1.0, 2.0], [1e10, -1e30], [3e38, 0.0], [1.0, 2.0]):
        yield g(torch.tensor(values)), g(torch.tensor(values, dtype=torch.float64))


@program
def mode_between_op_and_value(compile: Compile) -> Iterator[Any]:
    seen: list[str] = []

    class Listening(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    def f(t: Any) -> Any:
        y = (-(t * t)).exp()
        with Listening():
            z = y.sum()
        return y, z
    g = compile(f)
    for _ in range(4):
        yield g(leaf()), list(seen)
        seen.clear()


@program
def detached_in_inference_mode(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        with torch.inference_mode():
            a, b = t.detach(), t * 2
            c = t.view(-1)
        return a.is_inference(), b.is_inference(), c.is_inference(), a + 1, (b * 1).is_inference()
    g = compile(f)
    yield g(x()), g(leaf()), g(x())


@program
def list_ops_count_versions(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        parts = [t * 2, t + 1]
        torch._foreach_mul_(parts, 2.0)
        torch._foreach_add_(parts, parts)
        return parts, [p._version for p in parts]
    g = compile(f)
    yield g(x()), g(x()), g(x())


@program
def random_numbers_in_place(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = t * 2
        y.random_(0, 5)
        z = torch.empty(3).uniform_(1, 2) * y
        return y, z, torch.nn.functional.dropout(t, 0.5), torch.rand_like(t)
    g = compile(f)
    torch.manual_seed(3)
    for _ in range(4):
        yield g(x())
    yield torch.rand(2)


@program
def random_numbers_and_an_error(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = torch.rand(3) + t
        return y @ torch.rand(4)
    g = compile(f)
    torch.manual_seed(0)
    for _ in range(3):
        yield error(lambda: g(x())), torch.rand(1)


@program
def class_that_counts_its_ops(compile: Compile) -> Iterator[Any]:
    counted: list[str] = []

    class Counted(torch.Tensor):
        @staticmethod
        def __new__(cls: Any, elem: Any) -> Any:
            made = torch.Tensor._make_wrapper_subclass(cls, elem.shape, dtype=elem.dtype)
            made.elem = elem
            return made

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            counted.append(str(func))
            return func(*[a.elem if isinstance(a, Counted) else a for a in args], **(kwargs or {}))
    g = compile(lambda t: Counted(t * 2) + 1)
    for _ in range(3):
        yield g(x()), list(counted)


@program
def op_of_a_library_with_a_side_effect(compile: Compile) -> Iterator[Any]:
    calls: list[int] = []
    with torch.library._scoped_library("hostile", "FRAGMENT") as library:
        library.define("seen(Tensor t) -> Tensor")

        def seen(t: Any) -> Any:
            calls.append(len(calls))
            return t + len(calls)
        library.impl("seen", seen, "CPU")
        g = compile(lambda t: torch.ops.hostile.seen(t * 2) * 3)
        for _ in range(4):
            yield g(x()), len(calls)


@program
def memory_read_through_a_pointer(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = t * 2 + 1
        return list((ctypes.c_float * 3).from_address(y.data_ptr())), y
    g = compile(f)
    for k in range(3):
        yield g(x() + k)


@program
def memory_written_through_a_pointer(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = t * 2
        ctypes.memset(y.data_ptr(), 0, 4)
        z = y + 1
        ctypes.memset(y.data_ptr() + 4, 0, 4)
        return y, z, y + 1
    g = compile(f)
    for k in range(3):
        yield g(x() + k)


@program
def array_of_the_argument_written_inside(compile: Compile) -> Iterator[Any]:
    array = np.ones(3, np.float32)
    shared = torch.from_numpy(array)

    def f(t: Any) -> Any:
        a = shared * 2
        array[0] += 1
        b = shared * 2
        array[1] += 1
        return a + t, b + t
    g = compile(f)
    for _ in range(4):
        yield g(x())


@program
def object_graph_collected_inside(compile: Compile) -> Iterator[Any]:
    class Node:
        def __init__(self, value: Any) -> None:
            self.value, self.me = value, self

    def f(t: Any) -> Any:
        node = Node(t * 2)
        kept = node.value + 1
        reference = weakref.ref(node.value)
        del node
        gc.collect()
        return kept, reference() is None
    g = compile(f)
    for _ in range(3):
        yield g(x()), g(leaf())


@program
def results_pickled_and_copied(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = (t * 2).detach()
        buffer = io.BytesIO()
        torch.save({"y": y * 3}, buffer)
        buffer.seek(0)
        return pickle.loads(pickle.dumps(y)), copy.deepcopy(y + 1), copy.copy(y + 2), torch.load(buffer)["y"]
    g = compile(f)
    for k in range(3):
        yield g(x() + k)


@program
def exception_in_the_middle_of_a_graph(compile: Compile) -> Iterator[Any]:
    kept: list[Any] = []

    def f(t: Any, fails: bool) -> Any:
        y = t.sin() * 2
        kept.append(y)
        if fails:
            raise KeyError("midway")
        return (y * t).sum()
    g = compile(f)
    t = leaf()
    for fails in (False, True, True, False, True):
        yield error(lambda: g(t, fails)), kept[-1], kept[-1].grad_fn.name()    # noqa: B023
    kept[-1].sum().backward()
    yield t.grad


@program
def generator_that_is_left_unfinished(compile: Compile) -> Iterator[Any]:
    def numbers(t: Any) -> Iterator[Any]:
        try:
            for k in range(5):
                yield t * k + 1
        finally:
            closed.append(float(t.sum()))

    def f(t: Any) -> Any:
        found = []
        for y in numbers(t):
            found.append(y * 2)
            if float(y.sum()) > 10:
                break
        return found
    closed: list[float] = []
    g = compile(f)
    for k in range(4):
        yield g(x() + k)
        gc.collect()
        yield list(closed)


@program
def generator_resumed_outside(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = t * 2
        return (y + k for k in range(3))
    g = compile(f)
    for k in range(3):
        yield list(g(x() + k))


@program
def hooks_of_every_kind_inside(compile: Compile) -> Iterator[Any]:
    log: list[Any] = []

    def f(t: Any, w: Any) -> Any:
        y = t * w
        y.retain_grad()
        y.register_hook(lambda g: log.append(("tensor", g.tolist())))
        z = y.sin() + y
        node = z.grad_fn
        node.register_prehook(lambda grads: log.append(("pre", grads[0].tolist())))
        node.register_hook(lambda made, given: log.append(("post", len(made), len(given))))
        return y, (z * w).sum()
    g = compile(f)
    for k in range(3):
        t, w = leaf(), (x() + k).requires_grad_()
        handle = t.register_post_accumulate_grad_hook(lambda p: log.append(("accumulated", p.grad.tolist())))
        y, loss = g(t, w)
        loss.backward()
        handle.remove()
        yield list(log), y.grad, t.grad, w.grad
        log.clear()


@program
def hook_added_between_forward_and_backward(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: ((t * 2).sin(), (t * 2).cos() * t))
    for k in range(4):
        t = leaf()
        a, b = g(t)
        if k % 2:
            a.register_hook(lambda g: g * 10)
            b.grad_fn.register_hook(lambda made, given: tuple([m if m is None else m * 3 for m in made]))
        (a.sum() + b.sum()).backward()
        yield t.grad


@program
def view_of_an_argument_written_and_returned(compile: Compile) -> Iterator[Any]:
    def f(base: Any) -> Any:
        row = base[0]
        before = base * 2
        row.mul_(10)
        after = base * 2
        column = base[:, 1]
        column += after[:, 0]
        return row, before, after, column
    g = compile(f)
    for _ in range(3):
        base = x(2, 3)
        found = g(base)
        found[0].add_(1)
        yield base, found, base._version


@program
def view_of_a_leaf_written_inside(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = t * 2
        y[0].mul_(3)
        z = y.view(-1)
        z[1:].add_(t.view(-1)[:-1])
        return y, z.sum() * y.mean()
    g = compile(f)
    for _ in range(3):
        t = leaf(2, 3)
        y, loss = g(t)
        loss.backward()
        yield y, y.grad_fn.name(), t.grad


@program
def argument_resized_and_set(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = t * 2
        t.resize_(2)
        z = t + 1
        t.set_(torch.tensor([7.0, 8.0]))
        return y, z, t * 1
    g = compile(f)
    for _ in range(3):
        yield g(x())


@program
def requires_grad_switched_inside(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        a = t * 2
        a.requires_grad_(not a.requires_grad or a.grad_fn is not None)
        b = a * 3
        t.requires_grad_()
        return a, b, t * 2, b.grad_fn is None
    g = compile(f)
    for _ in range(3):
        made = g(x())
        yield made, [m.requires_grad for m in made[:3]]


@program
def grad_mode_by_decorator_and_generator(compile: Compile) -> Iterator[Any]:
    @torch.no_grad()
    def silent(t: Any) -> Any:
        return t * 2

    @torch.no_grad()
    def several(t: Any) -> Iterator[Any]:
        yield t * 3
        yield t * 4

    def f(t: Any) -> Any:
        made = [silent(t) + t, *several(t)]
        with torch.set_grad_enabled(False):
            made.append(t * 5)
            with torch.enable_grad():
                made.append(t * 6)
        return made
    g = compile(f)
    for _ in range(3):
        yield [(m, m.requires_grad) for m in g(leaf())], torch.is_grad_enabled()


@program
def backward_in_the_middle(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = (t * t).sum()
        y.backward()
        grad = t.grad * 2
        t.grad = None
        z = (t * grad).sum()
        (inner,) = torch.autograd.grad(z, t, create_graph=True)
        return inner, z.sin()
    g = compile(f)
    for _ in range(3):
        t = leaf()
        inner, z = g(t)
        z.backward()
        yield inner, t.grad


@program
def backward_twice_and_after_a_write(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t, w: ((t * w).sin() * w).sum())
    for _ in range(3):
        t, w = leaf(), leaf()
        loss = g(t, w)
        loss.backward(retain_graph=True)
        loss.backward()
        yield t.grad, error(loss.backward).split(" (")[0][:60]
        loss = g(t, w)
        with torch.no_grad():
            w.add_(1)
        yield error(loss.backward).split(":")[0], w.grad


@program
def nested_compiled_functions_with_other_settings(compile: Compile) -> Iterator[Any]:
    state = {"n": 0}

    @compile
    def inner(t: Any) -> Any:
        state["n"] += 1
        return t * state["n"]

    @compile
    def middle(t: Any) -> Any:
        with torch.no_grad():
            a = inner(t)
        return a + inner(t)

    @compile
    def outer(t: Any) -> Any:
        y = middle(t)
        return inner(y) if float(y.sum().detach()) > 3 else middle(y)
    for _ in range(4):
        t = leaf()
        made = outer(t)
        made.sum().backward()
        yield made, t.grad, dict(state)


@program
def compiled_inside_a_hook(compile: Compile) -> Iterator[Any]:
    scale = compile(lambda g: g * 2 + g.sin())
    g = compile(lambda t: (t.exp() * t).sum())
    for _ in range(3):
        t = leaf()
        t.register_hook(scale)
        g(t).backward()
        yield t.grad


@program
def custom_function_with_state(compile: Compile) -> Iterator[Any]:
    order: list[str] = []

    class Scaled(torch.autograd.Function):
        factor = 2.0

        @staticmethod
        def forward(ctx: Any, t: Any, keep: list[Any]) -> Any:
            order.append("forward")
            ctx.save_for_backward(t)
            ctx.factor = Scaled.factor
            keep.append(t * 3)
            return t * Scaled.factor, t.detach().long()

        @staticmethod
        def backward(ctx: Any, grad: Any, _: Any) -> Any:
            order.append("backward")
            (t,) = ctx.saved_tensors
            return grad * ctx.factor + t * 0, None

    def f(t: Any) -> Any:
        keep: list[Any] = []
        a, b = Scaled.apply(t * 2, keep)
        return (a * b).sum(), keep[0]
    g = compile(f)
    for factor in (2.0, 3.0, 2.0, 5.0):
        Scaled.factor = factor
        t = leaf()
        loss, kept = g(t)
        loss.backward()
        yield loss, kept, kept.requires_grad, t.grad, list(order)


@program
def threads_that_share_a_tensor(compile: Compile) -> Iterator[Any]:
    shared = x()
    g = compile(lambda t: (t * 2 + 1).sin())
    found: dict[int, Any] = {}

    def work(k: int) -> None:
        found[k] = [g(shared + k) for _ in range(4)]
    for _ in range(2):
        workers = [threading.Thread(target=work, args=(k,)) for k in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        yield [found[k] for k in range(3)]


@program
def thread_that_reads_what_waits(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = t * 3
        found: list[Any] = []
        worker = threading.Thread(target=lambda: found.append(y.tolist()))
        worker.start()
        worker.join()
        y.add_(1)
        return y * 2, found
    g = compile(f)
    for _ in range(3):
        yield g(x())


@program
def buffers_that_change_in_training(compile: Compile) -> Iterator[Any]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4, 1))
    g = compile(net)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    for k in range(6):
        if k == 3:
            net.eval()
        if k == 4:
            net.train()
            net[1].momentum = 0.5
        optimizer.zero_grad(set_to_none=k % 2 == 0)
        loss = g(x(4, 3) / 10 + k).pow(2).mean()
        loss.backward()
        optimizer.step()
        yield round(float(loss), 3), int(net[1].num_batches_tracked)


@program
def parameters_that_are_shared_and_frozen(compile: Compile) -> Iterator[Any]:
    torch.manual_seed(0)
    a, b = nn.Linear(3, 3), nn.Linear(3, 3)
    b.weight = a.weight
    g = compile(lambda t: b(a(t).tanh()).sum())
    for frozen in (False, True, False):
        a.bias.requires_grad_(not frozen)
        for p in (*a.parameters(), *b.parameters()):
            p.grad = None
        g(x(2, 3) / 8).backward()
        yield a.bias.grad is None, [[round(v, 3) for v in row] for row in a.weight.grad.tolist()]


@program
def autocast_that_changes(compile: Compile) -> Iterator[Any]:
    g = compile(lambda a, b: (a @ b + 1).sin())
    a, b = x(2, 2) / 8, x(2, 2) / 4
    for on in (False, True, False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=on):
            made = g(a, b)
        yield made.dtype, (made * 10).round()


@program
def everything_changes_between_calls(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t, k: (t * k + 1).sum() if t.dim() > 1 else t * k - 1)
    for dtype in (torch.float32, torch.float64, torch.int64, torch.float16, torch.complex64, torch.bool):
        for shape in ((3,), (2, 3), (0,), (1,), (3, 2)):
            for k in (2, 2.5, True):
                yield error(lambda: g(torch.ones(shape, dtype=dtype), k)), g(torch.ones(shape).to(dtype), 3)    # noqa: B023
    yield g(x().to("meta"), 2).device.type


@program
def in_place_operators_and_augmented_targets(compile: Compile) -> Iterator[Any]:
    class Box:
        value: Any

    def f(t: Any) -> Any:
        box, items = Box(), [t * 1, t * 2]
        box.value = items[0]
        box.value += 1
        items[1] *= items[0]
        t2 = t
        t2 -= 1
        items[0] **= 2
        return items, box.value is items[0], t
    g = compile(f)
    for _ in range(3):
        t = x()
        yield g(t), t


@program
def reference_counts_are_seen(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = t * 2
        return sys.getrefcount(y), sys.getrefcount(t), y
    g = compile(f)
    counts = [g(x())[0] for _ in range(4)]
    yield counts


@program
def sparse_results_of_what_waits(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = t * 2 + 1
        coo = torch.sparse_coo_tensor(torch.tensor([[0, 1, 2]]), y * 3, (4,))
        csr = torch.sparse_csr_tensor(torch.tensor([0, 1, 3]), torch.tensor([0, 0, 1]), y * 5, (2, 2))
        return coo.to_dense(), csr.to_dense(), torch.diag(y * 7).to_sparse().values()
    g = compile(f)
    for k in range(3):
        yield g(x() + k)


@program
def context_left_by_return_and_exception(compile: Compile) -> Iterator[Any]:
    log: list[str] = []

    @contextlib.contextmanager
    def scope(t: Any) -> Iterator[Any]:
        y = t + 1
        try:
            yield y
        except ValueError:
            log.append(f"caught {float(y.sum())}")
        finally:
            y.mul_(2)
            log.append(f"left {float(y.sum())}")

    def f(t: Any, how: int) -> Any:
        with scope(t) as y:
            z = y * 3
            if how == 1:
                return z
            if how == 2:
                raise ValueError
        return y, z
    g = compile(f)
    for how in (0, 1, 2, 0, 1, 2):
        yield g(x(), how), list(log)


@program
def errors_of_gradients_come_where_they_do(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = t.exp()
        try:
            t.add_(1)
        except RuntimeError as raised:
            first = str(raised)[:40]
        try:
            y.numpy()
        except RuntimeError as raised:
            second = str(raised)[:40]
        y.mul_(2)
        return y.sum(), first, second
    g = compile(f)
    for _ in range(3):
        loss, *texts = g(leaf())
        yield texts, error(loss.backward)[:80]


@program
def vmap_over_no_examples(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: torch.vmap(torch.vmap(lambda a, b: a * b, (0, None)), (None, 0))(t, t * 2))
    yield g(torch.zeros(0)).shape, g(x()), g(torch.zeros(0)).shape
