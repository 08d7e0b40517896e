"""Measures compiled programs against PyTorch, eager and compiled, side by side in one run.

    python bench/compiled.py [--only SUBSTR] [--rounds N] [--threads N] [--torch-compile]

Every row is a training step or a forward pass in its steady state. The contenders take turns; a time is the fastest of
the rounds: on one thread (the default) by the thread's CPU clock, on several by the wall clock. `copy` is the time of a
copy of the bytes that a row must at least move. `--torch-compile` adds PyTorch's compiler, whose first calls take many
seconds.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import pairwise
from time import perf_counter, thread_time
from typing import Any

import numpy as np

Step = Callable[[], Any]


def chain(T: Any, compile: Callable[..., Any], n: int) -> Step:
    x = T.rand(n)

    def twenty(x: Any) -> Any:
        for _ in range(5):
            x = (x * 1.01 + 0.1) * 0.99 - 0.05
        return x
    f = compile(twenty)
    return lambda: f(x)


def chain_backward(T: Any, compile: Callable[..., Any], n: int) -> Step:
    x = T.rand(n, requires_grad=True)

    def function(x: Any) -> Any:
        y = T.sigmoid(x * 2 - 1) * x
        return (T.tanh(y) * y + 0.5 * x).sum()
    f = compile(function)

    def step() -> Any:
        x.grad = None
        f(x).backward()
        return x.grad
    return step


def mlp(T: Any, compile: Callable[..., Any], batch: int, *sizes: int) -> Step:
    T.manual_seed(0)
    layers: list[Any] = []
    for a, b in pairwise(sizes):
        layers += [T.nn.Linear(a, b), T.nn.ReLU()]
    net = T.nn.Sequential(*layers[:-1])
    optimizer = T.optim.SGD(net.parameters(), lr=0.01)
    x, target = T.randn(batch, sizes[0]), T.randint(0, sizes[-1], (batch,))
    forward = compile(lambda x, target: T.nn.functional.cross_entropy(net(x), target))

    def step() -> Any:
        optimizer.zero_grad()
        loss = forward(x, target)
        loss.backward()
        optimizer.step()
        return loss
    return step


def ode(T: Any, compile: Callable[..., Any], steps: int) -> Step:
    a = T.tensor(0.5, requires_grad=True)

    def solve(a: Any) -> Any:
        y = T.tensor(1.0)
        for _ in range(steps):
            y = y + 0.001 * (a * y - y * y)
        return y
    f = compile(solve)

    def step() -> Any:
        a.grad = None
        y = f(a)
        y.backward()
        return a.grad
    return step


def gpt_block(T: Any, compile: Callable[..., Any], batch: int, length: int, width: int, heads: int = 8) -> Step:
    T.manual_seed(0)
    nn = T.nn

    class Block(nn.Module):     # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            q, k, v = [t.view(batch, length, heads, width // heads).transpose(1, 2)
                       for t in self.qkv(self.norm1(x)).split(width, -1)]
            y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
            return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))
    block = Block()
    optimizer = T.optim.AdamW(block.parameters(), lr=1e-4)
    x = T.randn(batch, length, width)
    forward = compile(block)

    def step() -> Any:
        optimizer.zero_grad()
        loss = forward(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss
    return step


ROWS: dict[str, tuple[Callable[[Any, Any], Step], int]] = {      # what to run, and the bytes that it must move
    "20 ops, 10^4": (lambda T, c: chain(T, c, 10**4), 8 * 10**4),
    "20 ops, 10^5": (lambda T, c: chain(T, c, 10**5), 8 * 10**5),
    "20 ops, 10^6": (lambda T, c: chain(T, c, 10**6), 8 * 10**6),
    "20 ops, 10^7": (lambda T, c: chain(T, c, 10**7), 8 * 10**7),
    "backward, 10^6": (lambda T, c: chain_backward(T, c, 10**6), 0),
    "MLP 32x64-128-10": (lambda T, c: mlp(T, c, 32, 64, 128, 10), 0),
    "MLP 784-512-512-10": (lambda T, c: mlp(T, c, 64, 784, 512, 512, 10), 0),
    "ODE, 1,000 steps": (lambda T, c: ode(T, c, 1000), 0),
    "GPT block 8x128x256": (lambda T, c: gpt_block(T, c, 8, 128, 256), 0),
}


class Clock:
    """What times are taken by."""

    now: Callable[[], float] = thread_time


def timed(step: Step, repeats: int = 1) -> float:
    start = Clock.now()
    for _ in range(repeats):
        step()
    return (Clock.now() - start) / repeats


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="SUBSTR", help="only rows whose name contains SUBSTR")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--torch-compile", action="store_true", help="measure PyTorch's compiler too")
    options = parser.parse_args()

    import torch

    import retrograd

    if options.threads > 1:
        Clock.now = perf_counter
    torch.set_num_threads(options.threads)
    retrograd.set_num_threads(options.threads)
    print(f"{'':22} {'PyTorch':>11} {'compiled':>11} {'ours':>11} {'compiled':>11} {'first call':>11} {'copy':>9}   ratio")
    for name, (make, moved) in ROWS.items():
        if options.only not in name:
            continue
        steps = {"torch": make(torch, lambda f: f), "ours": make(retrograd, lambda f: f),
                 "fused": make(retrograd, retrograd.compile)}
        if options.torch_compile:
            steps["torch compiled"] = make(torch, torch.compile)
        first = {key: timed(step) for key, step in steps.items()}
        for step in steps.values():
            for _ in range(7):
                step()
        repeats = max(1, int(0.01 / timed(steps["torch"])))
        best = dict.fromkeys(steps, 1e9)
        for _ in range(options.rounds):
            for key, step in steps.items():
                best[key] = min(best[key], timed(step, repeats))
        copied = 0.0
        if moved:
            source, target = np.ones(moved // 8, np.float32), np.empty(moved // 8, np.float32)
            copied = min([timed(lambda: np.copyto(target, source)) for _ in range(options.rounds)])    # noqa: B023
        shown = [f"{1e6 * best[key]:9.1f}us" if key in best else f"{'':>11}"
                 for key in ("torch", "torch compiled", "ours", "fused")]
        ratio = best["fused"] / min(best["torch"], best.get("torch compiled", 1e9))
        print(f"{name:22} {' '.join(shown)} {1e3 * first['fused']:9.1f}ms {1e6 * copied:7.1f}us   {ratio:.2f}"
              + (f", {best['fused'] / copied:.2f} of a copy" if moved else ""), flush=True)
        if options.torch_compile:
            print(f"{'':22} first call of torch.compile {1e3 * first['torch compiled']:.1f} ms")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
