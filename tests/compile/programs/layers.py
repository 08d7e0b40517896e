"""Programs that train layers, whose state, hooks and modes change between calls."""
from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

import retrograd as torch
from retrograd import nn
from tests.compile.programs.base import Compile, error, program, x


def leaf(*shape: int) -> Any:
    return (x(*(shape or (3,))) / 4).requires_grad_()


def small_net() -> Any:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))


@program
def optimizer_inside(compile: Compile) -> Iterator[Any]:
    for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.RMSprop, torch.optim.AdamW, torch.optim.Adagrad):
        net = small_net()
        optimizer = kind(net.parameters(), lr=0.1)

        def step(batch: Any, target: Any) -> Any:
            optimizer.zero_grad()                              # noqa: B023
            loss = nn.functional.cross_entropy(net(batch), target)             # noqa: B023
            loss.backward()
            optimizer.step()                                   # noqa: B023
            return loss.detach()
        g = compile(step)
        for k in range(5):
            yield g(x(4, 3) * 0.1 + k, torch.tensor([0, 1, 1, 0]))
            if k == 2:
                optimizer.param_groups[0]["lr"] = 0.01
        yield [p.detach() for p in net.parameters()]


@program
def optimizer_with_a_closure(compile: Compile) -> Iterator[Any]:
    w = leaf()
    optimizer = torch.optim.LBFGS([w], max_iter=4)
    calls: list[float] = []

    def closure() -> Any:
        optimizer.zero_grad()
        loss = ((w - 2) ** 2).sum() + (w[0] * w[1]).cos()
        loss.backward()
        calls.append(round(loss.item(), 4))
        return loss
    g = compile(closure)
    for _ in range(3):
        optimizer.step(g)
        yield torch.round(w.detach() * 1e3), len(calls)


@program
def scheduler_between(compile: Compile) -> Iterator[Any]:
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.1)
    g = compile(lambda t: net(t).pow(2).mean())
    for _ in range(6):
        optimizer.zero_grad()
        loss = g(x(2, 3))
        loss.backward()
        optimizer.step()
        scheduler.step()
        yield loss.detach(), scheduler.get_last_lr()


@program
def gradient_accumulation_and_clipping(compile: Compile) -> Iterator[Any]:
    net = small_net()
    g = compile(lambda t: net(t).exp().mean())
    for k in range(6):
        g(x(2, 3) / (k + 1)).backward()
        if k % 3 == 2:
            yield nn.utils.clip_grad_norm_(net.parameters(), 0.5).detach(), [p.grad.clone() for p in net.parameters()]
            net.zero_grad(set_to_none=k == 2)


@program
def hook_changes_the_weights(compile: Compile) -> Iterator[Any]:
    net = small_net()

    def change(module: Any, args: Any) -> None:
        with torch.no_grad():
            module.weight.mul_(0.9)
    handle = net[0].register_forward_pre_hook(change)
    g = compile(lambda t: net(t).sum())
    for k in range(5):
        yield error(lambda: g(x(2, 3)).backward()), [None if p.grad is None else p.grad.clone() for p in net.parameters()]
        if k == 2:
            handle.remove()


@program
def layers_swapped_and_frozen(compile: Compile) -> Iterator[Any]:
    net = small_net()
    g = compile(net)
    yield g(x(2, 3))
    net[1] = nn.Tanh()
    yield g(x(2, 3))
    net[0].weight.requires_grad_(False)
    g(x(2, 3)).sum().backward()
    yield [p.grad is None for p in net.parameters()]
    net.append(nn.Softmax(-1))
    yield g(x(2, 3)), len(net)
    del net[1]
    yield g(x(2, 3))
    net[0].forward = types.MethodType(lambda self, t: t[:, :2] * self.bias[:2], net[0])
    yield error(lambda: g(x(2, 3)))
    del net[0].forward
    net[0].register_buffer("scale", torch.ones(1))
    net.double()
    yield g(x(2, 3).double())


@program
def training_switches_layers(compile: Compile) -> Iterator[Any]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.LayerNorm(4))
    g = compile(net)
    for k in range(6):
        net.train(k % 2 == 0)
        if k == 3:
            net[1].momentum = 0.5
        if k == 4:
            net[2].p = 0.0
        yield g(x(5, 3) * k), net[1].running_mean.clone(), int(net[1].num_batches_tracked)


@program
def recurrent_layers(compile: Compile) -> Iterator[Any]:
    torch.manual_seed(0)
    rnn = nn.LSTM(2, 3, batch_first=True)
    state: list[Any] = [None]

    def f(t: Any) -> Any:
        y, hidden = rnn(t, state[0])
        state[0] = tuple(h.detach() for h in hidden)
        return y[:, -1].sum()
    g = compile(f)
    for n in (2, 3, 2):
        loss = g(x(1, n, 2) / 10)
        loss.backward()
        yield loss.detach(), rnn.weight_hh_l0.grad.clone(), state[0][0]


@program
def attention_with_masks(compile: Compile) -> Iterator[Any]:
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(4, 2, batch_first=True)

    def f(t: Any, mask: Any) -> Any:
        y, weights = layer(t, t, t, attn_mask=mask)
        return y, weights
    g = compile(f)
    for n in (2, 3, 3):
        t = x(1, n, 4) / 10
        yield g(t, None)
        yield g(t, torch.ones(n, n).triu(1).bool())


@program
def embedding_rows_change(compile: Compile) -> Iterator[Any]:
    torch.manual_seed(0)
    table = nn.Embedding(5, 2, padding_idx=0, max_norm=1.0)
    g = compile(lambda i: table(i).sum(0))
    for indices in ([1, 2], [1, 0], [4, 4, 1]):
        out = g(torch.tensor(indices))
        out.sum().backward()
        yield out.detach(), table.weight.grad.clone(), table.weight.detach().clone()
    yield error(lambda: g(torch.tensor([7])))


@program
def losses_of_wrong_targets(compile: Compile) -> Iterator[Any]:
    g = compile(lambda t, target: nn.functional.cross_entropy(t * 2, target))
    yield g(leaf(2, 3), torch.tensor([0, 2]))
    yield error(lambda: g(leaf(2, 3), torch.tensor([0, 3])))
    yield error(lambda: g(leaf(2, 3), torch.tensor([0])))
    yield g(leaf(2, 3), torch.tensor([-100, 2]))
    yield g(leaf(2, 3), torch.tensor([1, 1]))


@program
def mixed_precision_with_a_scaler(compile: Compile) -> Iterator[Any]:
    net = small_net()

    def f(t: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            y = net(t)
        return y.dtype, y.float().pow(2).mean()
    g = compile(f)
    for k in range(4):
        dtype, loss = g(x(2, 3))
        (loss * 2 ** k).backward()
        yield str(dtype), loss.detach(), net[0].weight.grad.clone()
        net.zero_grad()


@program
def weight_norm_and_spectral(compile: Compile) -> Iterator[Any]:
    torch.manual_seed(0)
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
    g = compile(layer)
    for k in range(4):
        loss = g(x(2, 3)).pow(2).sum()
        loss.backward()
        with torch.no_grad():
            for p in layer.parameters():
                p -= 0.01 * p.grad
                p.grad = None
        yield loss.detach()
        if k == 2:
            nn.utils.parametrize.remove_parametrizations(layer, "weight")
