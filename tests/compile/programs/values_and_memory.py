"""Programs that ask for values, change shapes and modes, write to tensors and alias them."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import retrograd as torch
from retrograd import nn
from tests.compile.programs.base import Compile, error, program, x


@program
def branch_on_a_value(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: t * 2 if t.sum() > 0 else t - 1)
    yield g(x()), g(-x()), g(x()), g(-x())


@program
def loop_until_converged(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        steps = 0
        while t.abs().max() > 0.1:
            t = t / 2
            steps += 1
        return t, steps
    g = compile(f)
    yield g(x()), g(x() * 100), g(x() * 0)


@program
def item_as_a_number(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        n = int(t[0].item())
        return t.repeat(n) * n, float(t[1]), bool(t[2] > 2), t.tolist()
    g = compile(f)
    yield g(x()), g(x() + 1)


@program
def numpy_and_back(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: torch.from_numpy(np.cumsum((t * 2).numpy())) + 1)
    yield g(x()), g(x() * 3)


@program
def numpy_shares_memory(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = t + 1
        y.numpy()[0] = 100
        return y * 2
    g = compile(f)
    yield g(x()), g(x())


@program
def shape_depends_on_data(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: (t[t > 2], t.nonzero(), torch.unique(t.round()), torch.masked_select(t, t < 3)))
    yield g(x()), g(-x()), g(x(5))


@program
def assertion_on_a_value(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        if not bool((t > 0).all()):
            raise AssertionError("negative")
        return t.sqrt()
    g = compile(f)
    yield g(x()), error(lambda: g(-x())), g(x())


@program
def equality_in_a_set(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: (torch.equal(t, t + 0), torch.allclose(t, t * 2), t in [t], len({t, t})))
    yield g(x()), g(x() * 0)


@program
def string_of_a_tensor(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: (str(t * 2), f"{t.sum():.2f}", repr(t.shape), f"{int(t[0]):d}"))
    yield g(x()), g(x() + 1)


@program
def iteration_over_a_tensor(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: [row * i for i, row in enumerate(t)])
    yield g(x(2, 3)), g(x(3, 2)), g(x(4))


@program
def sorting_with_a_key(compile: Compile) -> Iterator[Any]:
    g = compile(lambda ts: sorted(ts, key=lambda t: -t.sum().item()))
    yield g([x(), x() * 3, x() * 2]), g([x() * 3, x(), -x()])


@program
def shapes_change(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: t.view(-1, 2).sum(0) + t.numel())
    yield [g(x(n)) for n in (2, 4, 8, 2, 6)]


@program
def ranks_change(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: t.sum(-1) * t.dim())
    yield g(x(3)), g(x(2, 3)), g(x(2, 2, 3)), g(x(3))


@program
def empty_and_single(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: (t * 2).sum() + t.shape[0])
    yield g(x(1)), g(torch.ones(0)), g(x(2)), g(torch.ones(0))


@program
def dtypes_change(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: t / 2 + 1)
    yield [g(x().to(d)) for d in (torch.float32, torch.float64, torch.int64, torch.complex64, torch.bool, torch.bfloat16)]


@program
def default_dtype_changes(compile: Compile) -> Iterator[Any]:
    g = compile(lambda: torch.ones(2) * 1.5)
    before = torch.get_default_dtype()
    try:
        yield g().dtype
        torch.set_default_dtype(torch.float64)
        yield g().dtype, g()
    finally:
        torch.set_default_dtype(before)
    yield g().dtype


@program
def numbers_as_arguments(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t, n: t * n + n)
    yield g(x(), 2), g(x(), 3), g(x(), 2.5), g(x(), True), g(x(), 0), g(x(), -1), g(x(), 2)


@program
def strings_and_nones(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t, how: getattr(torch, how)(t) if how else t)
    yield g(x(), "sin"), g(x(), None), g(x(), "exp"), g(x(), "")


@program
def strides_change(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: (t * 2, (t * 2).stride(), t.contiguous().stride(), t.is_contiguous()))
    yield g(x(2, 3)), g(x(3, 2).t()), g(x(2, 6)[:, ::2]), g(x(1, 3).expand(2, 3))


@program
def grad_mode_inside(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        a = t * 2
        with torch.no_grad():
            b = t * 3
        with torch.enable_grad():
            c = t * 4
        return a.requires_grad, b.requires_grad, c.requires_grad, torch.is_grad_enabled()
    g = compile(f)
    t = x().requires_grad_()
    yield g(t)
    with torch.no_grad():
        yield g(t)
    yield g(x())


@program
def grad_mode_left_switched(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        torch.set_grad_enabled(not torch.is_grad_enabled())
        return (t * 2).requires_grad
    g = compile(f)
    t = x().requires_grad_()
    yield g(t), torch.is_grad_enabled(), g(t), torch.is_grad_enabled()


@program
def inference_mode(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: t * 2)
    with torch.inference_mode():
        yield g(x()).is_inference()
    yield g(x()).is_inference()


@program
def autocast(compile: Compile) -> Iterator[Any]:
    g = compile(lambda a, b: a @ b)
    yield g(x(2, 2), x(2, 2)).dtype
    with torch.autocast("cpu", dtype=torch.bfloat16):
        yield g(x(2, 2), x(2, 2)).dtype
    yield g(x(2, 2), x(2, 2)).dtype


@program
def training_mode(compile: Compile) -> Iterator[Any]:
    net = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5))
    g = compile(net)
    torch.manual_seed(0)
    yield g(x(4, 3)), net[0].running_mean.clone(), net[0].num_batches_tracked.clone()
    net.eval()
    yield g(x(4, 3)), net[0].num_batches_tracked.clone()
    net.train()
    yield g(x(4, 3)), net[0].running_var.clone()


@program
def argument_written(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        t.add_(1)
        return t.sum()
    g = compile(f)
    t = x()
    yield g(t), t.clone(), g(t), t.clone(), t._version


@program
def view_written(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        row = t[0]
        row.mul_(10)
        t[:, 1] = 0
        return row
    g = compile(f)
    t = x(2, 3)
    row = g(t)
    yield t.clone(), row.clone(), row.data_ptr() == t.data_ptr(), row._base is t
    t.fill_(5)
    yield row


@program
def argument_returned(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: (t, t[:2], t + 0))
    t = x()
    same, part, copy_ = g(t)
    yield same is t, part._base is t, copy_ is t, g(t)[0] is t


@program
def same_argument_twice(compile: Compile) -> Iterator[Any]:
    def f(a: Any, b: Any) -> Any:
        a.add_(1)
        return a * b
    g = compile(f)
    t = x()
    yield g(t, t), g(x(), x()), g(t, x()), g(t, t)


@program
def overlapping_arguments(compile: Compile) -> Iterator[Any]:
    def f(a: Any, b: Any) -> Any:
        a.mul_(2)
        return b.clone()
    g = compile(f)
    base = x(4)
    yield g(base[:3], base[1:]), base.clone(), g(x(3), x(3)), g(base[1:], base[:3]), base


@program
def tensor_in_a_closure_written(compile: Compile) -> Iterator[Any]:
    state = torch.zeros(3)

    def f(t: Any) -> Any:
        state.add_(t)
        return state * 2
    g = compile(f)
    yield g(x()), g(x()), state
    state.zero_()
    yield g(x())


@program
def tensor_in_a_closure_replaced(compile: Compile) -> Iterator[Any]:
    state = torch.zeros(3)

    def f(t: Any) -> Any:
        nonlocal state
        state = state + t
        return state
    g = compile(f)
    yield g(x()), g(x()), state
    state = torch.zeros(3, dtype=torch.float64)
    yield g(x()), state.dtype


@program
def buffer_replaced(compile: Compile) -> Iterator[Any]:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(3))

        def forward(self, t: Any) -> Any:
            self.total = self.total + t
            return self.total * 2
    net = Net()
    g = compile(net)
    yield g(x()), g(x()), net.total.clone()
    net.total = torch.ones(3)
    yield g(x()), net.state_dict()["total"]


@program
def data_replaced(compile: Compile) -> Iterator[Any]:
    weight = nn.Parameter(x())
    g = compile(lambda t: t * weight)
    yield g(x())
    weight.data = torch.zeros(3)
    yield g(x())
    with torch.no_grad():
        weight.copy_(torch.ones(3) * 4)
    yield g(x())


@program
def parameter_replaced(compile: Compile) -> Iterator[Any]:
    net = nn.Linear(3, 2)
    g = compile(net)
    nn.init.ones_(net.weight)
    nn.init.zeros_(net.bias)
    yield g(x())
    net.weight = nn.Parameter(torch.ones(2, 3) * 2)
    net.bias = None
    yield g(x())
    net.load_state_dict({"weight": torch.ones(2, 3) * 5})
    yield g(x())


@program
def out_argument(compile: Compile) -> Iterator[Any]:
    target = torch.zeros(3)
    g = compile(lambda t: torch.add(t, 1, out=target))
    yield g(x()) is target, target.clone(), g(x() * 2) is target, target


@program
def swapped_by_assignment(compile: Compile) -> Iterator[Any]:
    def f(a: Any, b: Any) -> Any:
        a[:], b[:] = b.clone(), a.clone()
        return a - b
    g = compile(f)
    a, b = x(), -x()
    yield g(a, b), a.clone(), b.clone(), g(a, b), a, b


@program
def write_after_the_call(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: t * 2)
    first = g(x())
    first.add_(100)
    second = g(x())
    yield first, second


@program
def results_are_new_objects(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t: t + 1)
    a, b = g(x()), g(x())
    yield a is b, a.data_ptr() == b.data_ptr()


@program
def version_counters(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = t.clone()
        y.add_(1).mul_(2)
        return y._version, t._version
    g = compile(f)
    t = x()
    yield g(t), g(t)
    t.zero_()
    yield g(t)


@program
def written_under_a_saved_tensor(compile: Compile) -> Iterator[Any]:
    def f(t: Any) -> Any:
        y = t.exp()
        z = y * y
        y.add_(1)
        return z.sum()
    g = compile(f)
    yield error(lambda: g(x().requires_grad_()).backward())[:70], g(x())
