"""Learns the dynamics of a spiral as a neural ordinary differential equation, with the adjoint method for gradients.

An ordinary PyTorch program: `retrograd run examples/neural_ode.py`.
"""
import torch
from torch import nn


def runge_kutta(f, y, t0, t1, steps):
    """Integrate y' = f(t, y) from t0 to t1."""
    h = (t1 - t0) / steps
    for i in range(steps):
        t = t0 + i * h
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h / 2 * k1)
        k3 = f(t + h / 2, y + h / 2 * k2)
        k4 = f(t + h, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


class Solve(torch.autograd.Function):
    """The state at t1; its gradient comes from the adjoint equation, integrated backwards, so nothing in between is kept."""

    @staticmethod
    def forward(ctx, y, t0, t1, steps, dynamics, *parameters):
        ctx.span, ctx.dynamics = (t0, t1, steps), dynamics
        end = runge_kutta(dynamics, y, t0, t1, steps)
        ctx.save_for_backward(end, *parameters)
        return end

    @staticmethod
    def backward(ctx, grad):
        t0, t1, steps = ctx.span
        end, *parameters = ctx.saved_tensors
        shapes = [end.shape, end.shape, *[p.shape for p in parameters]]

        def pack(tensors):
            return torch.cat([t.reshape(-1) for t in tensors])

        def unpack(flat):
            parts = flat.split([shape.numel() for shape in shapes])
            return [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]

        def augmented(t, flat):
            y, adjoint = unpack(flat)[:2]
            with torch.enable_grad():
                y = y.detach().requires_grad_()
                slope = ctx.dynamics(t, y)
            grads = torch.autograd.grad(slope, [y, *parameters], -adjoint)
            return pack([slope.detach(), *grads])

        start = pack([end, grad, *[torch.zeros_like(p) for p in parameters]])
        _, grad_y, *grads = unpack(runge_kutta(augmented, start, t1, t0, steps))
        return grad_y, None, None, None, None, *grads


class Dynamics(nn.Module):
    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, t, y):
        return self.network(y)


def main(steps=300):
    """Learn from pieces of the true trajectory; return every tenth loss and the error of a whole trajectory."""
    torch.manual_seed(0)
    spiral = torch.tensor([[-0.1, -1.0], [1.0, -0.1]])
    states = [torch.tensor([2.0, 0.0])]
    for _ in range(100):
        states.append(runge_kutta(lambda t, y: y @ spiral, states[-1], 0.0, 0.1, 2))
    path = torch.stack(states)
    model = Dynamics()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for step in range(steps):
        begin = torch.randint(0, len(path) - 5, (16,))
        reached = Solve.apply(path[begin], 0.0, 0.5, 4, model, *model.parameters())
        loss = (reached - path[begin + 5]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 50 == 0:
            print(f"step {step:3}: loss {losses[-1]:.5f}")
    with torch.no_grad():
        reached = runge_kutta(model, path[0], 0.0, 10.0, 100)
    error = (reached - path[-1]).norm().item()
    print(f"distance from the true end after ten seconds: {error:.4f}")
    return [*losses[::10], error]


if __name__ == "__main__":
    main()
