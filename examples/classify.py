"""Train a small convolutional network to tell bars from stripes, with modules, an optimizer and a schedule.

    python examples/classify.py
"""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import nn, optim


def images(count: int) -> tuple[Any, Any]:
    """Noisy 8x8 images with vertical (0) or horizontal (1) stripes."""
    classes = torch.randint(0, 2, (count,))
    stripes = (torch.arange(8) % 2).float()
    vertical, horizontal = stripes.expand(8, 8), stripes.expand(8, 8).t()
    clean = torch.stack([horizontal if c else vertical for c in classes.tolist()])
    return (clean + 0.5 * torch.randn(count, 8, 8)).unsqueeze(1), classes


def main(steps: int = 60) -> float:
    """Train, print the loss now and then, and return the share of new images that are told right."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                          nn.Linear(64, 2))
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    criterion = nn.CrossEntropyLoss()
    for step in range(steps):
        x, y = images(16)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 20 == 0:
            print(f"step {step:3}: loss {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        x, y = images(200)
        right = (model(x).argmax(1) == y).float().mean().item()
    print(f"right: {right:.1%}")
    return right


if __name__ == "__main__":
    main()
