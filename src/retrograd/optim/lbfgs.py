"""L-BFGS: steps along the inverse of the curvature seen in the last gradients; it calls the closure several times a step."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import retrograd as torch
from retrograd.optim._rule import check, number
from retrograd.optim.optimizer import Optimizer

Probe = Callable[[float], tuple[float, Any]]


def as_real(tensor: Any) -> Any:
    """A complex tensor as pairs of real numbers."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


class LBFGS(Optimizer):
    """L-BFGS, with steps of length lr or a search along the line (`line_search_fn="strong_wolfe"`).

    >>> import retrograd as torch
    >>> w = torch.nn.Parameter(torch.tensor([4.0]))
    >>> optimizer = torch.optim.LBFGS([w])
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - 1) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure).item()
    9.0
    >>> w.detach()
    tensor([1.])
    """

    def __init__(self, params: Any, lr: Any = 1, max_iter: int = 20, max_eval: int | None = None,
                 tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
                 line_search_fn: str | None = None) -> None:
        check({"lr": lr}, ())
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        super().__init__(params, dict(lr=lr, max_iter=max_iter, max_eval=max_eval, tolerance_grad=tolerance_grad,
                                      tolerance_change=tolerance_change, history_size=history_size,
                                      line_search_fn=line_search_fn))
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def _gathered(self) -> Any:
        """All gradients as one vector."""
        found = []
        for p in self._params:
            grad = torch.zeros_like(p) if p.grad is None else p.grad.to_dense() if p.grad.is_sparse else p.grad
            found.append(as_real(grad).view(-1))
        return torch.cat(found)

    def _move(self, length: float, direction: Any) -> None:
        start = 0
        for p in map(as_real, self._params):
            p.add_(direction[start:start + p.numel()].view_as(p), alpha=length)
            start += p.numel()

    @torch.no_grad()
    def step(self, closure: Any) -> Any:  # type: ignore[override]
        """Take one step of up to `max_iter` iterations; `closure` computes the loss and its gradients."""
        group, kept = self.param_groups[0], self.state[self._params[0]]
        evaluate = torch.enable_grad()(closure)
        lr, line_search = number(group["lr"]), group["line_search_fn"]
        tolerance_grad, tolerance_change = group["tolerance_grad"], group["tolerance_change"]
        kept.setdefault("func_evals", 0)
        kept.setdefault("n_iter", 0)
        original = evaluate()
        loss, evaluations = float(original), 1
        kept["func_evals"] += 1
        gradient = self._gathered()
        if gradient.abs().max() <= tolerance_grad:
            return original
        direction, length = kept.get("d"), kept.get("t")
        memory = Memory(kept, group["history_size"])
        iterations = 0
        while iterations < group["max_iter"]:
            iterations += 1
            kept["n_iter"] += 1
            direction = memory.direction(gradient, direction, length, first=kept["n_iter"] == 1)
            memory.remember(gradient)
            previous_loss = loss
            length = min(1.0, 1.0 / float(gradient.abs().sum())) * lr if kept["n_iter"] == 1 else lr
            slope = float(gradient.dot(direction))
            if slope > -tolerance_change:
                break
            calls = 0
            if line_search is not None:
                if line_search != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                start = [p.clone() for p in self._params]
                loss, gradient, length, calls = strong_wolfe(self._prober(evaluate, start, direction), length, direction, loss,
                                                             gradient, slope, most=group["max_eval"] - evaluations)
                self._move(length, direction)
                optimal = bool(gradient.abs().max() <= tolerance_grad)
            else:
                self._move(length, direction)
                optimal = False
                if iterations != group["max_iter"]:     # the gradient after the last move is not needed
                    loss = float(evaluate())
                    gradient = self._gathered()
                    optimal = bool(gradient.abs().max() <= tolerance_grad)
                    calls = 1
            evaluations += calls
            kept["func_evals"] += calls
            if iterations == group["max_iter"] or evaluations >= group["max_eval"] or optimal:
                break
            if direction.mul(length).abs().max() <= tolerance_change or abs(loss - previous_loss) < tolerance_change:
                break
        memory.keep(kept, direction, length, previous_loss)
        return original

    def _prober(self, evaluate: Any, start: list[Any], direction: Any) -> Probe:
        def probe(length: float) -> tuple[float, Any]:
            """The loss and the gradient at a distance from `start`, to where the parameters go back."""
            self._move(length, direction)
            loss = float(evaluate())
            gradient = self._gathered()
            for p, before in zip(self._params, start, strict=True):
                p.copy_(before)
            return loss, gradient
        return probe


class Memory:
    """The last steps and the changes of the gradient in them, which stand for the inverse of the curvature."""

    def __init__(self, kept: dict[str, Any], size: int) -> None:
        self.size = size
        self.changes: list[Any] = kept.get("old_dirs", [])
        self.steps: list[Any] = kept.get("old_stps", [])
        self.inverses: list[Any] = kept.get("ro", [])
        self.scale: Any = kept.get("H_diag", 1)
        self.gradient: Any = kept.get("prev_flat_grad")
        self.weights: list[Any] = kept.get("al", [])

    def direction(self, gradient: Any, direction: Any, length: Any, first: bool) -> Any:
        """Where to go."""
        if first:
            self.changes, self.steps, self.inverses, self.scale = [], [], [], 1
            return gradient.neg()
        change, step = gradient.sub(self.gradient), direction.mul(length)
        curvature = change.dot(step)
        if curvature > 1e-10:
            if len(self.changes) == self.size:
                for memory in (self.changes, self.steps, self.inverses):
                    memory.pop(0)
            self.changes.append(change)
            self.steps.append(step)
            self.inverses.append(1.0 / curvature)
            self.scale = curvature / change.dot(change)
        made, weights = gradient.neg(), [None] * self.size
        for i in reversed(range(len(self.changes))):
            weights[i] = self.steps[i].dot(made) * self.inverses[i]
            made.add_(self.changes[i], alpha=-float(weights[i]))  # type: ignore[arg-type]
        made = made.mul(self.scale)
        for i in range(len(self.changes)):
            back = self.changes[i].dot(made) * self.inverses[i]
            made.add_(self.steps[i], alpha=float(weights[i] - back))
        self.weights = weights
        return made

    def remember(self, gradient: Any) -> None:
        """Keep a gradient for the next step, in the memory of the last one."""
        self.gradient = gradient.clone() if self.gradient is None else self.gradient.copy_(gradient)

    def keep(self, kept: dict[str, Any], direction: Any, length: Any, loss: float) -> None:
        if self.weights:
            kept["al"] = self.weights
        kept.update(d=direction, t=length, old_dirs=self.changes, old_stps=self.steps, ro=self.inverses, H_diag=self.scale,
                    prev_flat_grad=self.gradient, prev_loss=loss)


class Point:
    """A place on the line: how far, the loss, the gradient, and its slope along the line."""

    __slots__ = ("gradient", "loss", "slope", "t")

    def __init__(self, t: float, loss: float, gradient: Any, slope: float) -> None:
        self.t, self.loss, self.gradient, self.slope = t, loss, gradient, slope


def between(a: Point, b: Point, bounds: tuple[float, float] | None = None) -> float:
    """Where the cubic through two points with their slopes is least."""
    low, high = bounds if bounds is not None else (a.t, b.t) if a.t <= b.t else (b.t, a.t)
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1 ** 2 - a.slope * b.slope
    if square < 0:
        return (low + high) / 2.0
    d2 = square ** 0.5
    if a.t <= b.t:
        least = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    else:
        least = a.t - (a.t - b.t) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2))
    return min(max(least, low), high)


def strong_wolfe(probe: Probe, t: float, direction: Any, loss: float, gradient: Any, slope: float, c1: float = 1e-4,
                 c2: float = 0.9, tolerance_change: float = 1e-9, most: int = 25) -> tuple[float, Any, float, int]:
    """A length for which the loss falls enough and the slope has become flat: loss, gradient, length, number of calls."""
    reach = float(direction.abs().max())
    start = Point(0, loss, gradient.clone(), slope)

    def at(t: float) -> Point:
        found, grad = probe(t)
        return Point(t, found, grad.clone(), float(grad.dot(direction)))

    def too_high(point: Point) -> bool:
        return point.loss > loss + c1 * point.t * slope

    def flat(point: Point) -> bool:
        return abs(point.slope) <= -c2 * slope

    # walk on until the least is behind
    here, calls, before, done, iteration = at(t), 1, start, False, 0
    bracket: list[Point] = []
    while iteration < most:
        if too_high(here) or (iteration > 1 and here.loss >= before.loss):
            bracket = [before, here]
            break
        if flat(here):
            bracket, done = [here], True
            break
        if here.slope >= 0:
            bracket = [before, here]
            break
        low, high = here.t + 0.01 * (here.t - before.t), here.t * 10
        t = between(before, here, bounds=(low, high))
        before = here
        here = at(t)
        calls += 1
        iteration += 1
    if iteration == most:
        bracket = [start, here]

    # narrow down what is around the least
    stuck = False
    low_at, high_at = (0, 1) if bracket[0].loss <= bracket[-1].loss else (1, 0)
    while not done and iteration < most:
        ends = [bracket[0].t, bracket[1].t]
        if abs(ends[1] - ends[0]) * reach < tolerance_change:
            break
        t = between(bracket[0], bracket[1])
        margin = 0.1 * (max(ends) - min(ends))
        if min(max(ends) - t, t - min(ends)) < margin:
            if stuck or t >= max(ends) or t <= min(ends):       # too near to an end: stay away from it
                t = max(ends) - margin if abs(t - max(ends)) < abs(t - min(ends)) else min(ends) + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        here = at(t)
        calls += 1
        iteration += 1
        if too_high(here) or here.loss >= bracket[low_at].loss:
            bracket[high_at] = here
            low_at, high_at = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
        else:
            if flat(here):
                done = True
            elif here.slope * (bracket[high_at].t - bracket[low_at].t) >= 0:
                bracket[high_at] = bracket[low_at]
            bracket[low_at] = here
    best = bracket[low_at] if len(bracket) > 1 else bracket[0]
    return best.loss, best.gradient, best.t, calls
