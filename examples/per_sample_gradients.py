"""Trains with differential privacy: every example's gradient is found by vmap over grad, clipped, and blurred by noise.

An ordinary PyTorch program: `retrograd run examples/per_sample_gradients.py`.
"""
import torch
import torch.nn.functional as F
from digits_cnn import drawn_digits
from torch import nn
from torch.func import functional_call, grad, vmap

CLIP = 1.0
NOISE = 0.5


def main(steps=80, batch=64, count=512):
    """Train; return every fifth loss, and how far the gradients are from those of a loop over the examples."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(),
                          nn.Linear(128, 10))
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    images, labels = drawn_digits(count)

    def loss_of(parameters, image, label):
        scores = functional_call(model, parameters, (image.unsqueeze(0),))
        return F.cross_entropy(scores, label.unsqueeze(0))

    per_sample = vmap(grad(loss_of), in_dims=(None, 0, 0))

    together = per_sample(parameters, images[:8], labels[:8])
    apart = [grad(loss_of)(parameters, *pair) for pair in zip(images[:8], labels[:8], strict=True)]
    distance = max([(together[name] - torch.stack([g[name] for g in apart])).abs().max().item() for name in parameters])
    print(f"vmap and a loop differ by {distance:.1e}")

    losses = []
    for step in range(steps):
        chosen = torch.randperm(count)[:batch]
        grads = per_sample(parameters, images[chosen], labels[chosen])
        norms = torch.stack([g.flatten(1).square().sum(1) for g in grads.values()]).sum(0).sqrt()
        shrink = (CLIP / norms.clamp_min(CLIP))
        for name, p in parameters.items():
            clipped = torch.einsum("n...,n->...", grads[name], shrink)
            parameters[name] = p - 0.5 * (clipped + CLIP * NOISE * torch.randn_like(p)) / batch
        scores = functional_call(model, parameters, (images,))
        losses.append(F.cross_entropy(scores, labels).item())
        if step % 10 == 0:
            print(f"step {step:2}: loss {losses[-1]:.4f}, median norm of a gradient {norms.median():.3f}")
    right = (scores.argmax(1) == labels).float().mean().item()
    print(f"read right: {right:.1%}")
    return [*losses[::5], right]


if __name__ == "__main__":
    main()
