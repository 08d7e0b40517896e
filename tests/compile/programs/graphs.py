"""Programs that use the graph of a compiled function's results in unusual ways: in parts, twice, watched, or from elsewhere."""
from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator
from typing import Any

import retrograd as torch
from retrograd.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack
from tests.compile.programs.base import Compile, error, program

CALLS = 5         # as many as it takes until a function is compiled in every respect


def leaf(scale: float = 1.0) -> Any:
    return (torch.linspace(-1, 1, 4) * 0.3 * scale + 0.2).requires_grad_()


def rounded(t: Any) -> list[float]:
    """The values of a tensor without the digits that depend on the order of additions."""
    return [round(value, 4) for value in t.tolist()]


@program
def losses_one_after_the_other(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: ((t * 2).exp().sum(), (t * 3).exp().sum(), t.sin().sum()))
    for _ in range(CALLS):
        t = leaf()
        for loss in g(t):
            loss.backward()
            yield t.grad.clone()


def losses_that_share(share: Callable[[Any], Any], retain: bool) -> Callable[[Compile], Iterator[Any]]:
    """The second of two losses works if nothing that both need was saved, or if the graph was retained."""
    def run(compile: Compile) -> Iterator[Any]:
        def f(t: Any) -> Any:
            h = share(t)
            return (h * h).sum(), (h + 2.0).sum(), (h.exp() * 3.0).sum()
        g = compile(f)
        for _ in range(CALLS):
            t = leaf()
            losses = g(t)
            for i in (1, 0, 2, 1):
                yield error(lambda loss=losses[i], keep=retain and i != 2: loss.backward(retain_graph=keep)), t.grad
    return run


for shared, share in {"sums": lambda t: t + 1.0, "exponentials": lambda t: t.exp(), "negated": lambda t: -(t - 0.5)}.items():
    for keeps in (False, True):
        function = losses_that_share(share, keeps)
        function.__name__ = f"losses_that_share_{shared}_{'retained' if keeps else 'released'}"
        program(function)


@program
def losses_of_different_inputs(compile: Compile) -> Iterator[Any]:
    g = compile(lambda a, b: ((a * 2.0).exp().sum(), (b * 3.0).exp().sum()))
    for _ in range(CALLS):
        a, b = leaf(), leaf(2.0)
        first, second = g(a, b)
        yield error(lambda first=first, b=b: torch.autograd.grad(first, b, retain_graph=True))
        first.backward()
        yield a.grad, b.grad, error(first.backward)
        second.backward()
        yield a.grad, b.grad, error(second.backward)


@program
def values_of_another_graph_without_gradients(compile: Compile) -> Iterator[Any]:
    def f(a: Any, b: Any) -> Any:
        first = (b * 2.0).exp()
        with torch.no_grad():
            scale = first * 1.5 + a
        return (a.sin() * scale).sum(), torch.where(first > 1.5, a, a * 2.0).sum(), first.sum()
    g = compile(f)
    for _ in range(CALLS):
        a, b = leaf(), leaf(2.0)
        for loss in g(a, b):
            loss.backward()
            yield a.grad, b.grad


@program
def hooks_on_results_that_a_pass_does_not_reach(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        h = t.sin()
        return (h * h).sum(), (h + 1.0).sum(), h.exp()
    g = compile(f)
    for _ in range(CALLS):
        t, log = leaf(), []     # type: ignore[var-annotated]
        first, second, third = g(t)
        first.register_hook(lambda grad, log=log: log.append(grad.tolist()))
        third.retain_grad()
        second.grad_fn.register_hook(lambda inputs, outputs, log=log: log.append([grad.tolist() for grad in outputs]))
        second.backward(retain_graph=True)
        yield t.grad, list(log), third.grad
        (first + third.sum()).backward()
        yield t.grad, list(log), third.grad


@program
def a_loss_that_is_thrown_away(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: ((t * 2.0).sin().sum(), (t * 3.0).exp().sum()))
    for _ in range(CALLS):
        t = leaf()
        first, second = g(t)
        del first
        second.backward()
        yield t.grad


@program
def graphs_of_part_of_the_results(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        h = t.sin()
        return (h * h).sum(), (h * t).sum()
    g = compile(f)
    for _ in range(CALLS):
        t = leaf()
        first, second = g(t)
        grad, = torch.autograd.grad(first, t, create_graph=True)
        again, = torch.autograd.grad(grad.sum() + second, t, create_graph=True)
        yield [rounded(found) for found in (grad, again, torch.autograd.grad(again.sum(), t)[0])]


class Names(TorchDispatchMode):
    """Writes down the names of ops."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


@program
def mode_around_the_backward(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: ((t * 2.0).exp() * t).sum())
    for _ in range(CALLS):
        t = leaf()
        y = g(t)
        with Names() as names:
            y.backward()
        yield t.grad, [name for name in names.seen if "exp" in name or "mul" in name]


@program
def backward_inside_a_mode(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: [(t * 10.0).sum() for _ in range(3)])

    class Inside(TorchDispatchMode):
        losses: list[Any] = []

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if self.losses:
                self.losses.pop().backward()
            return func(*args, **(kwargs or {}))
    for _ in range(CALLS):
        t = leaf()
        mode = Inside()
        mode.losses = g(t)
        with mode:
            torch.ones(1).neg().neg().neg()
        yield t.grad, len(mode.losses)


@program
def modes_are_not_shown(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        outside = len(_get_current_dispatch_mode_stack())
        with Names() as names:
            y = t * 2.0
            inside = _get_current_dispatch_mode_stack() == [names]
        return y, outside, inside, names.seen
    g = compile(f)
    for _ in range(CALLS):
        yield g(leaf())


@program
def mode_that_is_left_on(compile: Compile) -> Iterator[Any]:
    def f(t: Any, fails: bool) -> Any:
        mode = Names()
        mode.__enter__()
        y = (t * 2.0).exp()
        if fails:
            raise ValueError("left")
        mode.__exit__(None, None, None)
        return y.sum()
    g = compile(f)
    for i in range(CALLS):
        yield error(lambda i=i: g(leaf(), i % 2 == 1))
        left = _get_current_dispatch_mode_stack()
        for mode in reversed(left):
            mode.__exit__(None, None, None)
        yield len(left), (leaf() * 2.0).tolist()


@program
def profiler_around_the_backward(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: (t * 2.0).exp().sum())
    for _ in range(CALLS):
        t = leaf()
        y = g(t)
        with torch.autograd.profiler.profile() as found:
            y.backward()
        names = {event.name for event in found.function_events}
        yield t.grad, {"ExpBackward0", "MulBackward0"} <= names


@program
def anomaly_mode_around_the_backward(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: ((t - t) / (t - t)).sqrt().sum())
    for _ in range(CALLS):
        y = g(leaf())
        with torch.autograd.set_detect_anomaly(True):
            yield error(y.backward)


@program
def autocast_around_the_backward(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        return ((t * 2.0).exp() * t).sum()
    g = compile(f)
    for _ in range(CALLS):
        t = leaf()
        y = g(t)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y.backward()
        yield t.grad
        again, = torch.autograd.grad(g(t), t, create_graph=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            yield torch.autograd.grad(again.sum(), t)


@program
def backward_from_another_thread(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: ((t * 2.0).exp().sum(), t.cos().sum()))
    for _ in range(CALLS):
        t = leaf()
        for loss in g(t):
            thread = threading.Thread(target=loss.backward)
            thread.start()
            thread.join()
        yield t.grad


@program
def hook_that_goes_backward(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: ((t * 2.0).exp().sum(), t.sin().sum()))
    for _ in range(CALLS):
        t = leaf()
        first, second = g(t)
        handle = first.register_hook(lambda grad, second=second: second.backward())
        first.backward()
        handle.remove()
        yield t.grad


@program
def zeros_and_their_signs(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t, n: (torch.signbit(t * n), (t * n + n).tolist()))
    for n in (0.0, -0.0, 0, 1, 1.0, True, -0.0, 0.0, float("nan"), float("inf"), 0.0, -0.0):
        yield [str(value) for value in g(torch.ones(2), n)]


@program
def results_with_a_grad_of_their_own(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: ((t * 2.0).exp(), t.sin()))
    for _ in range(CALLS):
        t = leaf()
        first, second = g(t)
        first.retain_grad()
        yield error(lambda first=first: first.requires_grad_(False))
        (first * second).sum().backward()
        yield t.grad, first.grad, second.is_leaf, error(lambda first=first: copy.deepcopy(first))


@program
def write_to_a_result_before_the_backward(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: ((t * 2.0).exp(), (t * 3.0) + 1.0))
    for _ in range(CALLS):
        t = leaf()
        first, second = g(t)
        second.mul_(2.0)
        second.sum().backward()
        yield t.grad
        first.mul_(2.0)
        yield error(first.sum().backward), t.grad


@program
def inputs_of_backward(compile: Compile) -> Iterator[Any]:
    g = compile(lambda a, b: ((a * b).exp().sum(), (a + b).sin().sum()))
    for _ in range(CALLS):
        a, b = leaf(), leaf(2.0)
        first, second = g(a, b)
        first.backward(inputs=[a], retain_graph=True)
        yield a.grad, b.grad
        (first + second).backward(inputs=[b])
        yield a.grad, b.grad


@program
def batched_gradients(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: (t * 2.0).exp() * t)
    for _ in range(CALLS):
        t = leaf()
        y = g(t)
        yield torch.autograd.grad(y, t, torch.eye(4), is_grads_batched=True)


@program
def forward_mode_over_the_backward(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: (t.exp(), t.sigmoid() * 2.0))
    for _ in range(CALLS):
        yield torch.func.jvp(lambda t: torch.func.grad(lambda s: sum([r.sum() for r in g(s)]))(t), (leaf().detach(),),
                             (torch.ones(4),))
        t = leaf()
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(t, torch.ones(4))
            grad, = torch.autograd.grad(g(dual)[0].sum(), t)
            yield torch.autograd.forward_ad.unpack_dual(grad).tangent


@program
def versions_of_gradients_that_are_sums(compile: Compile) -> Iterator[Any]:
    a, b = leaf(), leaf()
    seen: list[int] = []

    def hooked(t: Any) -> Any:
        h = t * 2
        h.register_hook(lambda grad: seen.append(grad._version))
        return (h * 3 + h * 4 + h.exp()).sum()
    many = compile(lambda t: ((t * 2).exp() + t * t + t.sin()).sum())
    several = compile(lambda t, u: (t + u, t * u, t - u))
    hooked = compile(hooked)
    for _ in range(4):
        many(a).backward()
        u, v, w = several(a, b)
        (u * v + w).sum().backward()
        hooked(b).backward()
        yield a.grad._version, b.grad._version, list(seen), torch.autograd.grad(many(a), a)[0]._version
        a.grad = None
