"""Gaussian process regression: fits kernel and noise to data by the marginal likelihood, with L-BFGS.

An ordinary PyTorch program: `retrograd run examples/gp_regression.py`.
"""
import math

import torch
from torch import nn


class GaussianProcess(nn.Module):
    """A process with a squared exponential kernel; its three parameters are logarithms."""

    def __init__(self, x, y):
        super().__init__()
        self.x, self.y = x, y
        self.length = nn.Parameter(torch.zeros((), dtype=x.dtype))
        self.scale = nn.Parameter(torch.zeros((), dtype=x.dtype))
        self.noise = nn.Parameter(torch.full((), -2.0, dtype=x.dtype))

    def kernel(self, a, b):
        return self.scale.exp() * torch.exp(-0.5 * torch.cdist(a, b).square() / self.length.exp() ** 2)

    def factor(self):
        """The Cholesky factor of the data's covariance."""
        noise = self.noise.exp() * torch.eye(len(self.x), dtype=self.x.dtype)
        return torch.linalg.cholesky(self.kernel(self.x, self.x) + noise)

    def loss(self):
        """The negative log marginal likelihood, per point."""
        factor = self.factor()
        white = torch.linalg.solve_triangular(factor, self.y.unsqueeze(1), upper=False)
        total = 0.5 * white.square().sum() + factor.diagonal().log().sum()
        return total / len(self.x) + 0.5 * math.log(2 * math.pi)

    @torch.no_grad()
    def predict(self, x):
        """Mean and standard deviation at new points."""
        factor, across = self.factor(), self.kernel(self.x, x)
        mean = across.T @ torch.cholesky_solve(self.y.unsqueeze(1), factor)
        white = torch.linalg.solve_triangular(factor, across, upper=False)
        return mean.squeeze(1), (self.scale.exp() - white.square().sum(0)).clamp_min(0).sqrt()


def main(steps=15, points=60):
    """Fit; return the loss of every step and predictions at three places."""
    torch.manual_seed(0)
    x = 8 * torch.rand(points, 1, dtype=torch.float64) - 4
    y = torch.sin(2 * x[:, 0]) + 0.5 * x[:, 0] + 0.2 * torch.randn(points, dtype=torch.float64)
    model = GaussianProcess(x, y)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = model.loss()
        loss.backward()
        return loss

    losses = []
    for step in range(steps):
        losses.append(optimizer.step(closure).item())
        print(f"step {step:2}: negative log marginal likelihood {losses[-1]:.5f}")
    print(f"length {model.length.exp():.3f}, scale {model.scale.exp():.3f}, noise {model.noise.exp().sqrt():.3f}")
    places = torch.tensor([[-2.0], [0.3], [6.0]], dtype=torch.float64)
    mean, spread = model.predict(places)
    for place, m, s in zip(places[:, 0].tolist(), mean.tolist(), spread.tolist(), strict=True):
        print(f"at {place:4.1f}: {m:7.3f} +- {s:.3f}, without noise {math.sin(2 * place) + 0.5 * place:7.3f}")
    return [*losses, *mean.tolist(), *spread.tolist()]


if __name__ == "__main__":
    main()
