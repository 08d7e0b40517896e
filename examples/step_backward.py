"""Walks through a backward pass that goes wrong, finds the node that makes the first nan, mends it, and goes on.

Run it with `python examples/step_backward.py`.
"""
import retrograd as torch
from retrograd.autograd import debug


def distance(a, b):
    difference = a - b
    squared = (difference * difference).sum(1)
    return squared.sqrt()               # its derivative at 0 is infinite


def loss_of(points, centre):
    near = distance(points, centre) * torch.tensor([0.0, 1.0, 1.0])
    return near.mean()


def sizes(grads):
    return ", ".join("-" if g is None else str(list(g.shape)) for g in grads)


def main():
    points = torch.tensor([[1.0, 2.0], [4.0, 6.0], [1.0, 0.0]], requires_grad=True)
    centre = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.autograd.trace_origins():
        loss = loss_of(points, centre)

    print("--- every step")
    for step in debug.step(loss, retain_graph=True):
        step.run()
        print(f"{step}\n      [{sizes(step.incoming)}] -> [{sizes(step.outgoing)}]")
    print("the gradient of centre is", centre.grad.tolist())

    print("--- to the first nan")
    points.grad = centre.grad = None
    steps = debug.step(loss)
    culprit = steps.continue_(until="nonfinite")
    print(culprit)
    print("      came in: ", culprit.incoming[0].tolist())
    print("      goes out:", culprit.outgoing[0].tolist())
    culprit.outgoing[0] = torch.nan_to_num(culprit.outgoing[0])
    steps.finish()
    print("mended, the gradient of centre is", [round(g, 3) for g in centre.grad.tolist()])


if __name__ == "__main__":
    main()
