"""Solves Burgers' equation u_t + u u_x = 0.1 u_xx with a network whose loss is the equation itself.

An ordinary PyTorch program: `retrograd run examples/pinn.py`.
"""
import math

import torch
from torch import nn

VISCOSITY = 0.1


def derivative(y, x):
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]


def residual(model, x, t):
    """How far the network is from obeying the equation at the points (x, t)."""
    x, t = x.requires_grad_(), t.requires_grad_()
    u = model(torch.cat([x, t], dim=1))
    u_x = derivative(u, x)
    return derivative(u, t) + u * u_x - VISCOSITY * derivative(u_x, x)


def difference_scheme(points=200, steps=4000):
    """The solution at t = 1 by finite differences, on a grid over [-1, 1], to compare with."""
    x = torch.linspace(-1.0, 1.0, points + 1, dtype=torch.float64)
    h, k = 2.0 / points, 1.0 / steps
    u = -torch.sin(math.pi * x)
    for _ in range(steps):
        left, here, right = u[:-2], u[1:-1], u[2:]
        slope = VISCOSITY * (left - 2 * here + right) / h**2 - here * (right - left) / (2 * h)
        u = torch.cat([u[:1], here + k * slope, u[-1:]])
    return x.float(), u.float()


def main(steps=600, points=128, compare=True):
    """Train; return every tenth loss and the distance from the difference scheme at t = 1."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.998)
    losses = []
    for step in range(steps):
        inside = residual(model, 2 * torch.rand(points, 1) - 1, torch.rand(points, 1))
        x = 2 * torch.rand(64, 1) - 1
        start = model(torch.cat([x, torch.zeros(64, 1)], dim=1)) + torch.sin(math.pi * x)
        edges = model(torch.stack([torch.sign(torch.rand(64) - 0.5), torch.rand(64)], dim=1))
        loss = inside.square().mean() + start.square().mean() + edges.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if step % 100 == 0:
            print(f"step {step:3}: loss {losses[-1]:.5f}")
    if not compare:
        return losses[::10]
    x, exact = difference_scheme()
    with torch.no_grad():
        u = model(torch.stack([x, torch.ones_like(x)], dim=1)).squeeze(1)
    error = (u - exact).abs().max().item()
    print(f"largest distance from the difference scheme at t = 1: {error:.4f}")
    return [*losses[::10], error]


if __name__ == "__main__":
    main()
