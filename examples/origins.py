"""Shows what errors of autograd say while origins are traced: which line saved, changed or cut off a value.

Run it with `python examples/origins.py`.
"""
import retrograd as torch


def changed_in_place(x):
    """Normalises a value after exp has saved it for its backward."""
    scores = x.exp()
    total = scores.sum()
    scores /= total.detach()
    return (scores * scores).sum()


def cut_off(x, w):
    """Takes a shortcut through .data, and the parameter is lost."""
    hidden = x * w.data
    return hidden.tanh().sum()


def logged(x, w):
    """Uses a parameter, but only to print it."""
    size = w.detach().norm()
    print(f"the size of w is {size.item():.2f}")
    return (x * 2).sum()


def show(title, run):
    print(f"--- {title}")
    try:
        run()
    except RuntimeError as error:
        print(error)
    print()


def main():
    x = torch.tensor([0.5, 1.0, 1.5], requires_grad=True)
    torch.autograd.trace_origins()
    w = torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))
    data = x.detach()
    show("a saved value was changed", lambda: changed_in_place(x).backward())
    show("the loss has no history", lambda: cut_off(data, w).backward())
    show("a parameter gets no gradient", lambda: torch.autograd.grad(logged(x, w), w))
    torch.autograd.trace_origins(False)


if __name__ == "__main__":
    main()
