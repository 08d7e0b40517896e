"""Fits a small network to a noisy sine by gradient descent, and draws what it learnt.

An ordinary PyTorch program. `retrograd run examples/fit.py` runs it as it stands, without PyTorch.
"""
import sys

import matplotlib
import torch

matplotlib.use("Agg")
import matplotlib.pyplot as plt

STEPS = 4000
RATE = 0.03


def progress(steps):
    """Count from 0 to `steps`, showing how far it is."""
    try:
        from tqdm import tqdm
    except ImportError:
        for step in range(steps):
            if sys.stderr.isatty() and (step + 1) % (steps // 50) == 0:
                done = 50 * (step + 1) // steps
                print(f"\r[{'#' * done}{'.' * (50 - done)}]", end="\n" if done == 50 else "", file=sys.stderr)
            yield step
    else:
        yield from tqdm(range(steps), desc="fitting", ncols=80)


torch.manual_seed(0)
x = torch.linspace(-3.0, 3.0, 200).reshape(200, 1)
y = torch.sin(2.0 * x) + 0.1 * torch.randn(200, 1)

w1 = torch.randn(1, 32).requires_grad_()
b1 = torch.randn(32).requires_grad_()
w2 = (torch.randn(32, 32) / 32**0.5).requires_grad_()
b2 = torch.zeros(32).requires_grad_()
w3 = (torch.randn(32, 1) / 32**0.5).requires_grad_()
b3 = torch.zeros(1).requires_grad_()
parameters = [w1, b1, w2, b2, w3, b3]


def network(x):
    hidden = torch.tanh(x @ w1 + b1)
    hidden = torch.tanh(hidden @ w2 + b2)
    return hidden @ w3 + b3


losses = []
for _ in progress(STEPS):
    loss = ((network(x) - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for p in parameters:
            p -= RATE * p.grad
            p.grad = None
    losses.append(loss.item())

print(f"loss: {losses[0]:.4f} at the start, {losses[-1]:.4f} after {STEPS} steps")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
left.plot(x.numpy(), y.numpy(), ".", color="0.6", label="data")
left.plot(x.numpy(), network(x).detach().numpy(), label="fit")
left.legend()
right.semilogy(losses)
right.set_xlabel("step")
right.set_ylabel("loss")
figure.tight_layout()
figure.savefig("fit.png")
print("drawn: fit.png")
