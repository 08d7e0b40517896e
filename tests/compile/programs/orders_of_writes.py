"""Programs that write in unusual ways and orders: `out=`, lists of tensors, aliases of results, gradients and states that
several calls share."""
from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import retrograd as torch
from retrograd import nn
from retrograd.nn import functional as F
from tests.compile.programs.base import Compile, error, program, x


def leaf(*shape: int) -> Any:
    return x(*shape).requires_grad_()


# ---- results and arguments of out=
@program
def out_replaces_the_argument(compile: Compile) -> Iterator[Any]:
    @compile
    def f(c: Any) -> Any:
        torch.norm(c.clone(), 2, -2, out=c)
        return c.shape, c * 2
    for _ in range(4):
        with warnings.catch_warnings(action="ignore"):
            yield f(x(3, 2))


@program
def out_is_read_before_and_after(compile: Compile) -> Iterator[Any]:
    @compile
    def f(t: Any) -> Any:
        y = t * 2
        z = y + 1
        torch.mul(t, 3, out=y)
        w = y + 1
        torch.add(y, w, out=z)
        torch.sin(w, out=w)
        return y, z, w
    for step in range(4):
        yield f(x() + step)


@program
def out_of_other_types(compile: Compile) -> Iterator[Any]:
    @compile
    def f(t: Any) -> Any:
        made = torch.empty(3, dtype=torch.float64)
        torch.mul(t, 2, out=made)
        found = torch.empty(0, dtype=torch.bool)
        with warnings.catch_warnings(action="ignore"):
            torch.gt(t, made / 3, out=found)
        return made, found, error(lambda: torch.mul(t, 2, out=torch.empty(3, dtype=torch.long)))
    for step in range(4):
        yield f(x() - step)


@program
def outs_in_pairs(compile: Compile) -> Iterator[Any]:
    values, places = torch.empty(2), torch.empty(2, dtype=torch.long)

    @compile
    def f(t: Any) -> Any:
        before = values + places
        torch.max(t, dim=1, out=(values, places))
        return before * 0 + values, places * 2
    for step in range(4):
        yield f(torch.roll(x(2, 3), step, 1)), values, places


@program
def out_that_is_a_view(compile: Compile) -> Iterator[Any]:
    @compile
    def f(t: Any) -> Any:
        table = torch.zeros(2, 3)
        total = table.sum()
        torch.add(t, 1, out=table[0])
        torch.exp(t, out=table.t()[:, 1])
        return table, total, table.sum()
    for step in range(4):
        yield f(x() * step)


# ---- lists
@program
def lists_with_repeated_members(compile: Compile) -> Iterator[Any]:
    @compile
    def f(a: Any, b: Any) -> Any:
        torch._foreach_add_([a, b, a], 1)
        torch._foreach_mul_([a, b], [b, a])
        first = torch._foreach_exp([a * 0, b * 0])
        torch._foreach_copy_([a, b], [b * 2, a * 2])
        return first, a + b
    for _ in range(4):
        a, b = x(), x() * 2
        yield f(a, b), a, b, a._version, b._version


@program
def views_of_one_base_in_lists(compile: Compile) -> Iterator[Any]:
    @compile
    def f(t: Any) -> Any:
        y = t * 1
        halves = y.chunk(2)
        torch._foreach_mul_(list(halves), [2.0, 3.0])
        norms = torch._foreach_norm([*halves, y])
        torch._foreach_zero_([y[:1]])
        return y, norms, y.sum()
    for step in range(4):
        yield f(x(4) + step)


# ---- gradients that are shared
@program
def one_gradient_for_two_leaves(compile: Compile) -> Iterator[Any]:
    a, b = leaf(), leaf()

    @compile
    def f(t: Any) -> Any:
        return ((a + b) * t).sum()
    for step in range(4):
        f(x() + step).backward()
        with torch.no_grad():
            a.grad.mul_(2)
        yield a.grad, b.grad, a.grad is b.grad
        b.grad = a.grad


@program
def gradient_that_is_the_argument(compile: Compile) -> Iterator[Any]:
    w = leaf()

    @compile
    def f(t: Any) -> Any:
        return w * t
    for step in range(4):
        seed = x() + step
        y = f(x())
        w.grad = seed
        y.backward(seed)
        yield w.grad, seed


@program
def gradients_written_by_hooks(compile: Compile) -> Iterator[Any]:
    w = leaf()
    w.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", p.grad.clamp_(max=4)))

    @compile
    def f(t: Any) -> Any:
        y = w * t
        y.register_hook(lambda grad: grad.mul_(2))
        return y.sum() + y.exp().sum() * 0
    for step in range(4):
        f(x() * step).backward()
        yield w.grad


@program
def steps_inside_the_backward(compile: Compile) -> Iterator[Any]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
    optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in net.parameters()}

    def step(p: Any) -> None:
        optimizers[p].step()
        optimizers[p].zero_grad()
    for p in net.parameters():
        p.register_post_accumulate_grad_hook(step)
    f = compile(lambda t: net(t).square().mean())
    for _ in range(4):
        loss = f(x(2, 3))
        loss.backward()
        yield loss, list(net.parameters())


@program
def second_pass_through_one_part(compile: Compile) -> Iterator[Any]:
    @compile
    def f(t: Any) -> Any:
        y = t.exp()
        return (y * 2).sum(), (y * y).sum(), y
    for _ in range(4):
        t = leaf()
        a, b, y = f(t)
        a.backward(retain_graph=True)
        first = t.grad.clone()
        b.backward()
        yield first, t.grad, error(lambda a=a: a.backward()), y


@program
def losses_over_several_calls(compile: Compile) -> Iterator[Any]:
    w, losses = leaf(), []

    @compile
    def f(t: Any) -> Any:
        return (w * t).sin().sum()
    for step in range(6):
        losses.append(f(x() + step))
        if step % 3 == 2:
            torch.stack(losses).sum().backward()
            losses.clear()
            with torch.no_grad():
                w -= 0.1 * w.grad
            yield w, w.grad


@program
def results_detached_in_place(compile: Compile) -> Iterator[Any]:
    w = leaf()

    @compile
    def f(t: Any, cut: bool) -> Any:
        y = w * t
        if cut:
            y.detach_()
        z = y * 2
        y.requires_grad_()
        return z, y
    for step in range(5):
        z, y = f(x(), step % 2 == 1)
        yield z, y.requires_grad, y.is_leaf, error(lambda z=z: z.sum().backward()), w.grad


@program
def requiring_grad_late(compile: Compile) -> Iterator[Any]:
    @compile
    def f(t: Any) -> Any:
        y = t * 2
        t.requires_grad_()
        z = t * 3
        t.requires_grad_(False)
        return y, z, t * 4
    for _ in range(4):
        y, z, w = f(x())
        yield y, z, w


@program
def nothing_of_the_result_is_used(compile: Compile) -> Iterator[Any]:
    w = leaf()

    @compile
    def f(t: Any) -> Any:
        unused = (w * t).exp().log()
        del unused
        w.grad = None if w.grad is None else w.grad * 2
        return (w * 1).sum()
    for _ in range(4):
        f(x()).backward()
        yield w.grad


# ---- states
@program
def running_statistics_by_hand(compile: Compile) -> Iterator[Any]:
    class Running(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", torch.zeros(3))
            self.register_buffer("steps", torch.tensor(0))

        def forward(self, t: Any) -> Any:
            self.steps += 1
            self.mean.lerp_(t.mean(0), 1 / float(self.steps))
            centered = t - self.mean
            self.mean = self.mean.clone() if self.steps == 3 else self.mean
            return centered
    net = Running()
    f = compile(net)
    for step in range(6):
        yield f(x(2, 3) * step), net.mean, net.steps


@program
def caches_that_grow(compile: Compile) -> Iterator[Any]:
    cache: dict[str, Any] = {}

    @compile
    def f(t: Any, reset: bool = False) -> Any:
        if reset:
            cache.clear()
        cache["keys"] = torch.cat([cache["keys"], t]) if "keys" in cache else t.clone()
        scores = F.softmax(cache["keys"] @ t.t(), 0)
        t.mul_(0.5)
        return scores, cache["keys"].shape
    for step in range(6):
        yield f(x(1, 3), step == 3), cache["keys"]


@program
def states_of_recurrent_cells(compile: Compile) -> Iterator[Any]:
    torch.manual_seed(1)
    cell = nn.LSTMCell(2, 3)
    state: list[Any] = [torch.zeros(1, 3), torch.zeros(1, 3)]

    @compile
    def f(t: Any) -> Any:
        h, c = cell(t, (state[0], state[1]))
        state[0], state[1] = h.detach(), c
        return h.sum()
    for step in range(5):
        loss = f(x(1, 2))
        loss.backward(retain_graph=True)
        yield loss, state[0], cell.weight_ih.grad
        if step % 2:
            state[1] = state[1].detach()


@program
def averaged_weights(compile: Compile) -> Iterator[Any]:
    torch.manual_seed(2)
    net = nn.Linear(3, 2)
    shadow = [p.detach().clone() for p in net.parameters()]

    @compile
    def update(t: Any) -> Any:
        loss = net(t).square().sum()
        grads = torch.autograd.grad(loss, list(net.parameters()))
        with torch.no_grad():
            for p, g, s in zip(net.parameters(), grads, shadow, strict=True):
                p.sub_(g, alpha=0.05)
                s.mul_(0.9).add_(p, alpha=0.1)
        return loss
    for _ in range(5):
        yield update(x(2, 3)), shadow, list(net.parameters())


@program
def numbers_drawn_between_writes(compile: Compile) -> Iterator[Any]:
    noise = torch.zeros(3)

    @compile
    def f(t: Any) -> Any:
        y = t + noise
        noise.normal_()
        z = t + noise
        noise.copy_(torch.rand(3) * y)
        return y, z, F.dropout(noise, 0.5)
    torch.manual_seed(5)
    for _ in range(4):
        yield f(x()), noise


@program
def permutations_in_place(compile: Compile) -> Iterator[Any]:
    @compile
    def f(t: Any, order: Any) -> Any:
        y = t * 1
        y[order] = y.clone()
        y[order[:2]] += 10
        y.index_add_(0, order, y.clone())
        y.scatter_(0, order, y * 2)
        y.masked_fill_(y > 60, -1)
        return y, y.sort().values, torch.take(y, order)
    for step in range(4):
        yield f(x(4), torch.roll(torch.arange(4), step))


@program
def strides_of_zero(compile: Compile) -> Iterator[Any]:
    @compile
    def f(t: Any) -> Any:
        wide = t[:, None].expand(3, 4)
        y = wide * 2
        t.add_(1)
        z = wide + y
        return z, error(lambda: wide.add_(1)), wide.clone().add_(1), wide.contiguous().stride()
    for _ in range(4):
        yield f(x())


@program
def errors_between_writes(compile: Compile) -> Iterator[Any]:
    @compile
    def f(t: Any, bad: Any) -> Any:
        t.mul_(2)
        y = t + 1
        try:
            y.add_(bad)
        except RuntimeError as problem:
            t.add_(100)
            return str(problem)[:40], y, t * 1
        t.sub_(1)
        return y, t * 1
    for bad in (x(), x(4), x(), x(2, 5), torch.tensor(1.0)):
        t = x()
        yield f(t, bad), t


@program
def integers_that_overflow_and_divide(compile: Compile) -> Iterator[Any]:
    @compile
    def f(t: Any, k: int) -> Any:
        small = (t * k).to(torch.int8)
        return small + 100, small.to(torch.uint8) - 200, small // 3, small % -3, small << 2, ~small, error(
            lambda: small.div_(2))
    for k in (1, 7, 40, -3):
        yield f(x(), k)


@program
def numpy_out_and_back(compile: Compile) -> Iterator[Any]:
    @compile
    def f(t: Any) -> Any:
        y = t * 2
        np.multiply(y.numpy(), 2, out=y.numpy())
        z = y + 1
        np.copyto(z.numpy(), 7, where=z.numpy() > 9)
        return y, z, torch.from_numpy(np.cumsum(z.numpy())) + y
    for _ in range(4):
        yield f(x())


@program
def reads_that_are_put_off(compile: Compile) -> Iterator[Any]:
    later: list[Any] = []

    @compile
    def f(t: Any) -> Any:
        for k in range(3):
            y = t * k
            later.append(lambda y=y, k=k: (y * k).sum().item() + t.sum().item())
        results = [read() for read in later[-2:]]
        t.add_(1)
        return results, [read() for read in later]
    for step in range(4):
        yield f(x() + step)
    yield [read() for read in later]
