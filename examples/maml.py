"""Learns to learn sines: MAML, whose outer gradient goes through the inner steps of gradient descent.

An ordinary PyTorch program: `retrograd run examples/maml.py`.
"""
import math

import torch
from torch import nn
from torch.func import functional_call


def task():
    """Ten points of a sine with a random amplitude and phase to learn from, and ten to be judged by."""
    amplitude, phase = 0.5 + 4.0 * torch.rand(()), math.pi * torch.rand(())
    x = 10.0 * torch.rand(20, 1) - 5.0
    y = amplitude * torch.sin(x + phase)
    return (x[:10], y[:10]), (x[10:], y[10:])


def loss_of(model, parameters, points):
    x, y = points
    return nn.functional.mse_loss(functional_call(model, parameters, (x,)), y)


def adapt(model, parameters, points, steps, rate=0.02):
    """The parameters after some steps of gradient descent, as functions of the ones before."""
    for _ in range(steps):
        grads = torch.autograd.grad(loss_of(model, parameters, points), list(parameters.values()), create_graph=True)
        parameters = {name: p - rate * g for (name, p), g in zip(parameters.items(), grads, strict=True)}
    return parameters


def main(steps=200, tasks=4):
    """Train over tasks; return every tenth outer loss, and the loss on a new task before and after it is learnt."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        total = 0.0
        for _ in range(tasks):
            known, new = task()
            loss = loss_of(model, adapt(model, dict(model.named_parameters()), known, steps=2), new) / tasks
            loss.backward()
            total += loss.item()
        optimizer.step()
        losses.append(total)
        if step % 20 == 0:
            print(f"step {step:3}: loss after two steps of learning {total:.4f}")
    known, new = task()
    before = loss_of(model, dict(model.named_parameters()), new).item()
    after = loss_of(model, adapt(model, dict(model.named_parameters()), known, steps=10), new).item()
    print(f"a new sine: loss {before:.4f} before, {after:.4f} after ten steps")
    return [*losses[::10], before, after]


if __name__ == "__main__":
    main()
