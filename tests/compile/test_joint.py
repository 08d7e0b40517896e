"""Joint nodes: stretches of waiting ops with one compiled backward give the gradients, hooks and errors of their ops."""
from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import retrograd as torch
from retrograd.autograd import forward_ad
from retrograd.compile.joint import CompiledFunctionBackward
from retrograd.compile.state import backend_config

Compile = Callable[..., Any]
Program = Callable[[Compile], Iterator[Any]]
PROGRAMS: dict[str, Program] = {}


def program(f: Program) -> Program:
    PROGRAMS[f.__name__] = f
    return f


def x() -> Any:
    return (torch.linspace(-1, 1, 4) * 0.3 + 0.2).requires_grad_()


def gradient_of(f: Callable[..., Any], calls: int = 5) -> Program:
    """A program that takes the gradient of a function of one tensor, several times."""
    def run(compile: Compile) -> Iterator[Any]:
        g = compile(f)
        for _ in range(calls):
            t = x()
            g(t).backward()
            yield t.grad
    return run


PROGRAMS["masks"] = gradient_of(lambda t: (torch.where(t > 0.1, t * 2.0, t.exp()) + t.clamp(0.0, 0.3) + t.relu()).sum())
PROGRAMS["powers"] = gradient_of(lambda t: (t ** 2 + (t + 1.0) ** 3.5).sum())
PROGRAMS["means"] = gradient_of(lambda t: (t * 2.0).exp().sum() * t.mean())
PROGRAMS["detached"] = gradient_of(lambda t: ((t * 2.0) * (t * 2.0).detach()).exp().sum())


@program
def input_written_after_the_call(compile: Compile) -> Iterator[Any]:
    f = compile(lambda r: r * 0.5 + 1.0)
    for look in (False, True):
        for part in (lambda r: r, lambda r: r[1:]):
            for _ in range(5):
                t = x()
                r = part(t / 3.0)
                y = f(r)
                (r if r._base is None else r._base).mul_(2.0)
                if look:
                    yield y.grad_fn.next_functions[0][0].next_functions[0][0].name()
                grad, = torch.autograd.grad(y.sum(), t, create_graph=not look)
                yield grad, r, grad.requires_grad


@program
def hooks_on_values_between(compile: Compile) -> Iterator[Any]:
    log: list[Any] = []

    def f(t: Any) -> Any:
        h = t * 2.0
        h.register_hook(lambda grad: (log.append(grad), grad * 3)[1])
        return (h.exp() * h).sum()
    g = compile(f)
    for _ in range(5):
        t = x()
        g(t).backward()
        yield t.grad, list(log)


@program
def hooks_on_results(compile: Compile) -> Iterator[Any]:
    log: list[Any] = []

    def f(t: Any) -> Any:
        h = t * 2.0
        return h, (h.exp() * h).sum()
    g = compile(f)
    for _ in range(5):
        t = x()
        h, y = g(t)
        h.register_hook(log.append)
        h.retain_grad()
        (y + h.sum()).backward()
        yield t.grad, h.grad, list(log), h.grad_fn.name(), y.grad_fn.name(), y.output_nr


@program
def gradients_of_values_between(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        h = t * 2.0
        k = h.sin() * t
        return h, k, (k * h).sum()
    g = compile(f)
    for _ in range(5):
        t = x()
        h, k, y = g(t)
        yield torch.autograd.grad(y, [h, k, t], retain_graph=True), torch.autograd.grad(k.sum(), [h, t])


@program
def results_that_have_no_gradient(compile: Compile) -> Iterator[Any]:
    g = compile(lambda a, b: ((a * 2.0).exp(), (b * 3.0).sin()))
    for _ in range(5):
        a, b = x(), x()
        first, _second = g(a, b)
        first.sum().backward()
        yield a.grad, b.grad


@program
def values_written_to_afterwards(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = t * 2.0
        return y, y.exp()
    g = compile(f)
    for k in range(6):
        t = x()
        y, z = g(t)
        with torch.no_grad():
            (z if k % 2 else y).mul_(2)
        try:
            z.sum().backward()
            yield t.grad
        except RuntimeError as error:
            yield str(error)[:90]


@program
def inputs_written_to_afterwards(compile: Compile) -> Iterator[Any]:
    uses, only_adds = compile(lambda t, w: (t * w).sin().sum()), compile(lambda t, w: ((t + w) * 2.0 + 1.0).exp().sum())
    for k in range(6):
        for g in (uses, only_adds):
            t, w = x(), x()
            y = g(t, w)
            if k % 2:
                with torch.no_grad():
                    w.add_(1)
            try:
                y.backward()
                yield t.grad, w.grad
            except RuntimeError as error:
                yield str(error)[:90]


@program
def several_derivatives(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: ((t * t).sin() * t).sum())
    for _ in range(5):
        t = x()
        first, = torch.autograd.grad(g(t), t, create_graph=True)
        second, = torch.autograd.grad((first * first).sum(), t, create_graph=True)
        yield first.detach(), second.detach(), torch.autograd.grad(second.sum(), t)


@program
def going_backward_again(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: ((t * t).sin() * t).sum())
    for _ in range(5):
        t = x()
        y = g(t)
        y.backward(retain_graph=True)
        y.backward()
        yield t.grad
        try:
            y.backward()
        except RuntimeError as error:
            yield str(error)


@program
def numbers_that_change(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t, s, p: (((t + 1.0) * s) ** p / s - s).sum())
    for k in range(8):
        t = x()
        g(t, 0.5 + k, 2.0 + k % 3).backward()
        yield t.grad


@program
def numbers_without_end(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t, s: (t * s).exp().sum())
    for s in (1.0, 2.0, 3.0, float("inf"), -0.0, 1e30):
        t = x()
        g(t, s).backward()
        yield repr(t.grad)


@program
def grad_mode_changes(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = t * 2.0
        with torch.no_grad():
            z = y.exp() + 1.0
        return (y * z).sum()
    yield from gradient_of(f)(compile)


@program
def broadcast_gradients(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t, w: ((t * w).tanh() + w).sum())
    for _ in range(5):
        t, w = (torch.arange(6.) / 10).reshape(2, 3).requires_grad_(), (torch.arange(3.) / 10).requires_grad_()
        g(t, w).backward()
        yield t.grad, w.grad


@program
def leaves_made_inside(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        w = torch.ones(4) * 0.5
        w.requires_grad_()
        return w, (w * t * 2.0).sin().sum()
    g = compile(f)
    for _ in range(5):
        t = x()
        w, y = g(t)
        y.backward()
        yield t.grad, w.grad, w.is_leaf


@program
def values_in_a_list(compile: Compile) -> Iterator[Any]:
    kept: list[Any] = []

    def f(t: Any) -> Any:
        for _ in range(6):
            t = t * 1.1 + 0.1 * t.sin()
            kept.append(t)
        return t.sum()
    g = compile(f)
    for _ in range(5):
        kept.clear()
        t = x()
        y = g(t)
        yield [h.grad_fn.next_functions[0][0].name() for h in kept]
        y.backward()
        yield t.grad, kept[2].detach()


@program
def backward_inside(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        (t * 2.0).sin().sum().backward()
        return t.grad * 2.0
    g = compile(f)
    for _ in range(5):
        t = x()
        yield g(t), t.grad


@program
def one_input_in_two_places(compile: Compile) -> Iterator[Any]:
    g = compile(lambda a, b: (a * b + a / b).exp().sum())
    for k in range(6):
        a, b = (x() + 1.0).detach().requires_grad_(), (x() + 2.0).detach().requires_grad_()
        g(a, a if k % 2 else b).backward()
        yield a.grad, b.grad


@program
def saved_tensor_hooks_inside(compile: Compile) -> Iterator[Any]:
    log: list[str] = []

    def pack(t: Any) -> Any:
        log.append("pack")
        return t

    def f(t: Any) -> Any:
        y = t * 2.0
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            y = y.exp() * t
        return (y * y).sum()
    g = compile(f)
    for _ in range(5):
        t = x()
        g(t).backward()
        yield t.grad, len(log)


@program
def transforms(compile: Compile) -> Iterator[Any]:
    func = torch.func

    def f(t: Any) -> Any:
        return ((t * 2.0).sin() * t).sum()
    outside, inside = func.grad(compile(f)), compile(func.grad(f))
    for _ in range(5):
        t = x().detach()
        yield outside(t), inside(t), func.vmap(outside)(torch.ones(2, 3) * 0.1), func.jvp(compile(f), (t,), (torch.ones(4),))


@program
def backward_to_some_inputs(compile: Compile) -> Iterator[Any]:
    g = compile(lambda a, b: ((a * b).sin() * a).sum())
    for _ in range(5):
        a, b = x(), x()
        g(a, b).backward(inputs=[a])
        yield a.grad, b.grad


@program
def flags_that_change(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = t * 2.0
        t.requires_grad_(False)
        z = t * 3.0
        t.requires_grad_(True)
        return (y * z).sum()
    yield from gradient_of(f)(compile)


@program
def tangents(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: ((t * 2.0).sin() * t).sum())
    for _ in range(4):
        with forward_ad.dual_level():
            yield forward_ad.unpack_dual(g(forward_ad.make_dual(x().detach(), torch.ones(4)))).tangent


@program
def batches_of_gradients(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: (t * 2.0).sin() * t)
    for _ in range(4):
        t = x()
        y = g(t)
        yield torch.autograd.grad(y, t, torch.eye(4), is_grads_batched=True, retain_graph=True)
        yield torch.autograd.functional.jacobian(g, t.detach(), vectorize=True)


@program
def penalties_on_gradients(compile: Compile) -> Iterator[Any]:
    w = torch.linspace(0.1, 0.4, 4).requires_grad_()
    g = compile(lambda t: ((t * w).tanh() * w).sum())
    for _ in range(4):
        w.grad = None
        t = x()
        grad, = torch.autograd.grad(g(t), t, create_graph=True)
        ((grad.norm() - 1) ** 2).backward()
        yield w.grad, grad.detach()


@program
def graphs_that_are_walked(compile: Compile) -> Iterator[Any]:
    def names(node: Any) -> Any:
        return [node.name(), *[names(n) for n, _ in node.next_functions if n is not None]]
    log: list[int] = []
    g = compile(lambda t, w: ((t * w).sin() * t + w).sum())
    for _ in range(4):
        t, w = x(), x()
        y = g(t, w)
        yield names(y.grad_fn)
        y.grad_fn.register_prehook(lambda grads: (grads[0] * 2,))
        y.grad_fn.next_functions[0][0].register_hook(lambda inputs, outputs: log.append(len(inputs)))
        y.backward()
        yield t.grad, w.grad, y.grad_fn.name(), list(log)


@program
def lifetimes(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = t * 2.0
        reference = weakref.ref(y)
        y = y + 1.0
        return (y * y).sum(), reference() is None
    g = compile(f)
    for _ in range(4):
        t = x()
        y, is_gone = g(t)
        of_input, of_node = weakref.ref(t), weakref.ref(y._recorded)
        y.backward()
        yield t.grad, is_gone
        del t, y
        yield of_input() is None, of_node() is None


@program
def several_threads(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: ((t * 2.0).sin() * t).sum())
    found: dict[int, Any] = {}

    def work(i: int) -> None:
        for _ in range(4):
            t = (x() * (i + 1)).detach().requires_grad_()
            g(t).backward()
            found[i] = t.grad
    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    yield [found[i] for i in range(3)]


def observe(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return tuple(value.shape), value.dtype, value.requires_grad, [f"{n:.5g}" for n in value.detach().reshape(-1).tolist()]
    return [observe(item) for item in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_of_fused_ops_are_those_of_the_ops(name: str) -> None:
    torch.compiler.reset()
    expected = observe(list(PROGRAMS[name](lambda f: f)))
    with backend_config.patch(fusion_threshold=0, fusion_code=False):
        for _ in range(2):
            assert observe(list(PROGRAMS[name](torch.compile))) == expected


def test_a_stretch_of_ops_has_one_node_and_no_values_are_saved_that_can_be_computed_again() -> None:
    def f(t: Any) -> Any:
        for _ in range(8):
            t = t * 1.1 + 0.1 * t.sin()
        return t
    with backend_config.patch(fusion_threshold=0, fusion_code=False):
        g = torch.compile(f)
        for _ in range(4):
            t = x()
            y = g(t)
    node = y._recorded
    assert type(node) is CompiledFunctionBackward and len(node._next_) == 1
    assert [array is t.array for array in node.arrays] == [True]


def test_compiled_backward_of_a_long_loop() -> None:
    def solve(a: Any) -> Any:
        y = torch.tensor(1.0)
        for _ in range(60):
            y = y + 0.01 * (a * y - y * y)
        return y
    a = torch.tensor(0.5, requires_grad=True)
    expected, = torch.autograd.grad(solve(a), a)
    g = torch.compile(solve)
    with backend_config.patch(fusion_threshold=0):
        for _ in range(4):
            found, = torch.autograd.grad(g(a), a)
            torch.testing.assert_close(found, expected)


def test_second_derivatives_after_a_node_was_inspected() -> None:
    def f(x: Any, y: Any) -> Any:
        z = (x * y).sum() * x
        z.grad_fn.register_prehook(lambda grads: tuple([g * 0.5 for g in grads]))
        w = -z
        return torch.autograd.grad((w * w).sum(), x, create_graph=True)[0]

    def gradient(g: Any) -> Any:
        x, y = torch.tensor([1.5], requires_grad=True), torch.tensor([0.7])
        g(x, y).sum().backward()
        return x.grad
    with backend_config.patch(fusion_threshold=0):
        compiled = torch.compile(f)
        for _ in range(4):                        # from the third call on there is a joint node
            torch.testing.assert_close(gradient(compiled), gradient(f))
