"""Connectionist temporal classification: the likelihood of a target given frames of class probabilities, over all alignments.

NOTE [Trellis]
The states of an example are its labels with a blank before, between and after them. A path stays in a state or goes on to
the next, or over a blank between two different labels. `ahead` is the logarithm of the likelihood of all paths from the
first frame to a state, `behind` that of all paths from a state to the last frame. Impossible is a large negative number and
not -inf, since differences of infinities have no value. One class does this over arrays in kernels and over tensors in rules.

The gradient is the one for frames that come out of a log_softmax: probabilities less the posterior of the classes.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.algorithms import native
from retrograd.core.dispatch import call
from retrograd.core.dtypes import BY_NUMPY
from retrograd.core.opdef import OpDef, defop
from retrograd.core.tensor import FLAG_WRAPPER, Tensor, new_tensor
from retrograd.ops import late
from retrograd.ops.loss.kernels import MEAN, reduced
from retrograd.ops.shared import families
from retrograd.ops.shared.elementwise import unsupported

NEVER = -1e30


class OverArrays:
    """The trellis's operations on arrays."""

    exp, log, maximum, where, stack = np.exp, np.log, np.maximum, np.where, np.stack
    constant = staticmethod(lambda values: values)
    like = staticmethod(lambda x, other: x.astype(other.dtype))
    join = staticmethod(lambda parts, axis: np.concatenate(parts, axis))

    @staticmethod
    def pick(frames: Any, labels: Any) -> Any:
        return np.take_along_axis(frames, lean.broadcast_to(labels, (len(frames), *labels.shape)), 2)


class OverTensors:
    """The trellis's operations on tensors."""

    exp = staticmethod(lambda x: x.exp())
    log = staticmethod(lambda x: x.log())
    maximum = staticmethod(lambda x, y: late.maximum(x, y))
    where = staticmethod(lambda condition, x, y: late.where(condition, x, y))
    stack = staticmethod(lambda parts: late.stack(parts))
    constant = staticmethod(lambda values: new_tensor(values))
    like = staticmethod(lambda x, other: x.to(other.dtype))
    join = staticmethod(lambda parts, axis: late.cat(parts, axis))

    @staticmethod
    def pick(frames: Any, labels: Any) -> Any:
        return frames.gather(2, labels.expand((frames.shape[0], *labels.shape)))


class Trellis:
    """The paths through a batch of examples."""

    def __init__(self, over: Any, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int) -> None:
        self.over = over
        self.frames, self.batch, self.classes = log_probs.shape
        self.lengths, self.counts = np.asarray(input_lengths, np.int64), np.asarray(target_lengths, np.int64)
        longest = int(self.counts.max(initial=0))
        self.width = 2 * longest + 1
        self.labels = self.spelled(targets, longest, blank)
        self.one = over.like(self.labels == self.labels, log_probs)
        different = self.labels[:, 2:] != self.labels[:, :-2]
        self.over_blank = (different & (self.labels[:, 2:] != blank))
        states = np.arange(self.width)
        self.used = over.constant(states < (2 * self.counts + 1)[:, None])
        self.last = over.constant((states >= (2 * self.counts - 1)[:, None]) & (states <= (2 * self.counts)[:, None]))
        self.first = over.constant(lean.broadcast_to(states < 2, (self.batch, self.width)))
        self.log_probs = log_probs
        emitted = self.possible(self.emitted(log_probs))
        self.scores = [over.where(self.used, emitted[t], NEVER) for t in range(self.frames)]

    def spelled(self, targets: Any, longest: int, blank: int) -> Any:
        """The label of each state, as (batch, width)."""
        over = self.over
        if targets.ndim == 1:
            ends = self.counts.cumsum()
            rows = [over.join([targets[end - n:end], targets[:1] * 0 + over.like(over.constant(np.zeros(longest - n)), targets)
                               ] if longest > n else [targets[end - n:end]], 0)
                    for end, n in zip(ends.tolist(), self.counts.tolist(), strict=True)]
            targets = over.stack(rows)
        columns = targets[:, :longest]
        real = over.constant(np.arange(longest) < self.counts[:, None])
        columns = over.where(real, columns, blank)
        between = columns * 0 + blank
        pairs = over.join([between[:, :, None], columns[:, :, None]], 2).reshape((self.batch, 2 * longest))
        return over.join([pairs, over.constant(lean.full((self.batch, 1), blank))], 1)

    def emitted(self, frames: Any) -> Any:
        """The log-probability of each state's label in each frame."""
        return self.over.pick(frames, self.labels)

    def possible(self, x: Any) -> Any:
        return self.over.maximum(x, self.over.like(self.over.constant(np.asarray(NEVER)), x))

    def by_class(self, x: Any) -> Any:
        """Sums over the states of each class."""
        place = self.over.like(self.labels[:, :, None] == self.over.constant(np.arange(self.classes)), self.one)
        return self.over.stack([(x[t][:, :, None] * place).sum(1) for t in range(self.frames)])

    def moved(self, x: Any, steps: int, fill: float) -> Any:
        """The states `steps` before (after, if negative); `fill` where there are none."""
        edge = self.one[:, :min(abs(steps), self.width)] * fill
        if abs(steps) >= self.width:
            return edge
        return self.over.join([edge, x[:, :-steps]] if steps > 0 else [x[:, -steps:], edge], 1)

    def predecessors(self, x: Any, sign: int, fill: float) -> list[Any]:
        """The values of a state's predecessors: itself, its neighbour, and the one beyond if allowed."""
        allowed = self.one[:, :min(2, self.width)] != self.one[:, :min(2, self.width)]
        if self.width > 2:
            allowed = self.over.join([allowed, self.over_blank] if sign > 0 else [self.over_blank, allowed], 1)
        return [x, self.moved(x, sign, fill), self.over.where(allowed, self.moved(x, 2 * sign, fill), fill)]

    def sum_logs(self, terms: list[Any]) -> Any:
        top = self.over.maximum(self.over.maximum(terms[0], terms[1]), terms[2])
        return top + self.over.log(sum([self.over.exp(t - top) for t in terms]))

    def step(self, before: Any, sign: int) -> Any:
        return self.possible(self.sum_logs(self.predecessors(before, sign, NEVER)))

    def step_tangent(self, before: Any, before_t: Any, sign: int) -> Any:
        """The tangent of a step: a weighted mean of the predecessors' tangents."""
        predecessors, tangents = self.predecessors(before, sign, NEVER), self.predecessors(before_t, sign, 0.0)
        total = self.sum_logs(predecessors)
        return sum([self.over.exp(w - total) * t for w, t in zip(predecessors, tangents, strict=True)])

    def run_ahead(self, tangent: Any = None) -> tuple[list[Any], list[Any]]:
        made, made_t = [self.over.where(self.first, self.scores[0], NEVER)] if self.frames else [], []
        if tangent is not None:
            made_t = [self.over.where(self.first, tangent[0], 0.0)]
        for t in range(1, self.frames):
            if tangent is not None:
                made_t.append(tangent[t] + self.step_tangent(made[-1], made_t[-1], 1))
            made.append(self.scores[t] + self.step(made[-1], 1))
        return made, made_t

    def run_behind(self, tangent: Any = None) -> tuple[list[Any], list[Any]]:
        """From the last frame of each example backwards."""
        made: list[Any] = []
        made_t: list[Any] = []
        for t in reversed(range(self.frames)):
            ends = self.over.constant((self.lengths - 1 == t)[:, None])
            start = self.over.where(self.last, self.scores[t], NEVER)
            if tangent is not None:
                stay = tangent[t] * 0 if not made else tangent[t] + self.step_tangent(made[-1], made_t[-1], -1)
                made_t.append(self.over.where(ends, self.over.where(self.last, tangent[t], 0.0), stay))
            on = start * 0 + NEVER if not made else self.scores[t] + self.step(made[-1], -1)
            made.append(self.over.where(ends, start, on))
        return made[::-1], made_t[::-1]

    def at_end(self, states: list[Any]) -> Any:
        """The states at the last frame of each example."""
        place = np.maximum(self.lengths - 1, 0)
        total = states[0]
        for t in range(1, self.frames):
            total = self.over.where(self.over.constant((place == t)[:, None]), states[t], total)
        return total

    def likelihood(self, ahead: list[Any]) -> Any:
        """The logarithm of the likelihood of each target, as a column."""
        final = self.over.where(self.last, self.at_end(ahead), NEVER)
        top = final.max(-1)[:, None] if self.over is OverArrays else final.amax(-1)[:, None]
        total = top + self.over.log(self.over.exp(final - top).sum(-1)[:, None])
        empty = np.where(self.counts == 0, 0.0, NEVER)[:, None]
        return self.over.where(self.over.constant((self.lengths == 0)[:, None]),
                               self.over.like(self.over.constant(empty), total), total)

    def posterior(self) -> Any:
        """The posterior probability of each class in each frame."""
        ahead, behind = self.run_ahead()[0], self.run_behind()[0]
        total = self.likelihood(ahead)
        return self.by_class([self.over.exp(a + b - s - total) for a, b, s in zip(ahead, behind, self.scores, strict=True)])

    def posterior_tangent(self, direction: Any) -> Any:
        """The tangent of the posterior."""
        emitted = self.emitted(direction)
        (ahead, ahead_t), (behind, behind_t) = self.run_ahead(emitted), self.run_behind(emitted)
        total = self.likelihood(ahead)
        final, final_t = self.over.where(self.last, self.at_end(ahead), NEVER), self.at_end(ahead_t)
        total_t = (self.over.exp(final - total) * final_t).sum(-1)[:, None]
        return self.by_class([self.over.exp(a + b - s - total) * (at + bt - v - total_t) for a, b, s, at, bt, v in
                              zip(ahead, behind, self.scores, ahead_t, behind_t, emitted, strict=True)])

    def inside(self) -> Any:
        """The mask of valid frames, as (frames, batch, 1)."""
        return self.over.constant((np.arange(self.frames)[:, None] < self.lengths)[:, :, None])


def check(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int, kernel: str) -> None:
    where = "(while checking arguments for ctc_loss_allocate_outputs)"
    if log_probs.dtype.kind != "f" or log_probs.dtype.itemsize < 4:
        raise unsupported(kernel, log_probs.dtype)
    if not log_probs.size:
        raise RuntimeError("log_probs tensor must not be empty")
    if log_probs.ndim != 3:
        raise RuntimeError(f"Expected 3-dimensional tensor, but got {log_probs.ndim}-dimensional tensor for argument #1 "
                           f"'log_probs' {where}")
    if targets.ndim not in (1, 2):
        raise RuntimeError(f"Expected 1 to 2 dimensions, but got {targets.ndim}-dimensional tensor for argument #2 'targets' "
                           f"{where}")
    frames, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if len(lengths) != batch:
            raise RuntimeError(f"{name} must be of size batch_size")
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        for n in lengths:
            if n < 0:
                raise RuntimeError(f"Expected {name} to have value at least 0, but got value {n} {where}")
    longest, total = max(target_lengths, default=0), sum(target_lengths)
    if targets.ndim == 1 and targets.shape[0] != total:
        raise RuntimeError(f"Expected tensor to have size {total} at dimension 0, but got size {targets.shape[0]} for argument "
                           f"#2 'targets' {where}")
    if targets.ndim == 2 and targets.shape[0] != batch:
        raise RuntimeError(f"Expected tensor to have size {batch} at dimension 0, but got size {targets.shape[0]} for argument "
                           f"#2 'targets' {where}")
    if targets.ndim == 2 and targets.shape[1] < longest:
        raise RuntimeError(f"Expected tensor to have size at least {longest} at dimension 1, but got size {targets.shape[1]} "
                           f"for argument #2 'targets' {where}")
    for n in input_lengths:
        if n > frames:
            raise RuntimeError(f"Expected input_lengths to have value at most {frames}, but got value {n} {where}")


def numbers(lengths: Any, name: str = "input_lengths") -> list[int]:
    if type(lengths) in (list, tuple) and all([type(n) is int for n in lengths]):
        return list(lengths)
    dtype = getattr(lengths.array if isinstance(lengths, Tensor) else lengths, "dtype", None)
    if dtype is not None and dtype.kind not in "iu":
        raise RuntimeError(f"{name} must be integral")
    if isinstance(lengths, Tensor) and not lengths._flags:
        lengths = lengths.array
    if isinstance(lengths, np.ndarray):
        return lengths.reshape(-1).tolist()  # type: ignore[no-any-return]
    return [int(n) for n in np.asarray(lengths.tolist() if isinstance(lengths, Tensor) else lengths).reshape(-1)]


def forward_kernel(xp: Any, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int,
                   zero_infinity: bool) -> Any:
    input_lengths, target_lengths = numbers(input_lengths), numbers(target_lengths, "target_lengths")
    check(log_probs, targets, input_lengths, target_lengths, blank, "ctc_loss_cpu")
    made = aligned(xp, log_probs, as_arrays(targets, input_lengths, target_lengths), blank)
    if made is not None:
        return made
    trellis = Trellis(OverArrays, log_probs, targets.astype(xp.int64), input_lengths, target_lengths, blank)
    ahead = trellis.run_ahead()[0]
    total = trellis.likelihood(ahead)[:, 0]
    states = lean.stack(ahead, 1)
    return -lost(xp, total), xp.ascontiguousarray(lost(xp, states))


def aligned(xp: Any, log_probs: Any, arrays: Any, blank: int) -> Any:
    """The losses and the first pass over the trellis; None where nothing is compiled."""
    if native is None:
        return None
    frames, batch, _ = log_probs.shape
    loss = xp.empty(batch, log_probs.dtype)
    alpha = xp.empty((batch, frames, 2 * max(arrays[3].tolist(), default=0) + 1), log_probs.dtype)
    return (loss, alpha) if native.ctc(xp.ascontiguousarray(log_probs), *arrays, blank, loss, alpha) else None


def as_arrays(targets: Any, input_lengths: list[int], target_lengths: list[int]) -> tuple[Any, Any, Any, Any]:
    """Labels, the offset of each example's labels, and lengths, for the compiled passes."""
    counts = np.array(target_lengths, np.int64)
    starts = counts.cumsum() - counts if targets.ndim == 1 else np.arange(len(counts)) * targets.shape[1]
    return np.ascontiguousarray(targets, np.int64).reshape(-1), starts, np.array(input_lengths, np.int64), counts


def lost(xp: Any, x: Any) -> Any:
    """Impossible states as -inf, for results."""
    return xp.where(x < NEVER / 2, -xp.inf, x).astype(x.dtype)


def backward_kernel(xp: Any, grad: Any, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any,
                    neg_log_likelihood: Any, log_alpha: Any, blank: int, zero_infinity: bool) -> Any:
    input_lengths, target_lengths = numbers(input_lengths), numbers(target_lengths, "target_lengths")
    check(log_probs, targets, input_lengths, target_lengths, blank, "ctc_loss_backward_cpu")
    arrays = as_arrays(targets, input_lengths, target_lengths)
    ahead = aligned(xp, log_probs, arrays, blank)        # a function of the frames alone, like the trellis
    if ahead is not None:
        made = xp.empty(log_probs.shape, log_probs.dtype)
        loss = xp.where(xp.isinf(neg_log_likelihood), neg_log_likelihood, ahead[0])
        native.ctc(xp.ascontiguousarray(log_probs), *arrays, blank, loss, ahead[1], xp.ascontiguousarray(grad), zero_infinity,
                   made)
        return made
    trellis = Trellis(OverArrays, log_probs, targets.astype(xp.int64), input_lengths, target_lengths, blank)
    made = xp.exp(log_probs) - trellis.posterior()
    made = xp.where(xp.isinf(neg_log_likelihood)[:, None], 0 if zero_infinity else xp.nan, made) * grad[:, None]
    return xp.where(trellis.inside(), made, 0).astype(log_probs.dtype)


def slopes(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int) -> Any:
    """The gradient of each example's loss, over tensors."""
    trellis = Trellis(OverTensors, log_probs, targets.to(BY_NUMPY[np.dtype(np.int64)]), numbers(input_lengths),
                      numbers(target_lengths, "target_lengths"), blank)
    return late.where(trellis.inside(), log_probs.exp() - trellis.posterior(), 0.0)


def bent(direction: Any, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int) -> Any:
    """The derivative of the gradient of each example's loss along a direction; it is symmetric."""
    trellis = Trellis(OverTensors, log_probs, targets.to(BY_NUMPY[np.dtype(np.int64)]), numbers(input_lengths),
                      numbers(target_lengths, "target_lengths"), blank)
    made = log_probs.exp() * direction - trellis.posterior_tangent(direction)
    return late.where(trellis.inside(), made, 0.0)


def kept(x: Any, neg_log_likelihood: Any, zero_infinity: bool) -> Any:
    return late.where(neg_log_likelihood.isinf().unsqueeze(-1), 0.0, x) if zero_infinity else x


def to_grad(grads: Any, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, neg_log_likelihood: Any,
            blank: int, zero_infinity: bool) -> Any:
    made = grads[0] * slopes(log_probs, targets, input_lengths, target_lengths, blank)
    return kept(made, neg_log_likelihood, zero_infinity).sum((0, 2))


def to_frames(grads: Any, grad: Any, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any,
              neg_log_likelihood: Any, blank: int, zero_infinity: bool) -> Any:
    made = bent(grads[0] * grad.unsqueeze(-1), log_probs, targets, input_lengths, target_lengths, blank)
    return kept(made, neg_log_likelihood, zero_infinity)


def tangent(log_probs_p: Any, log_probs_t: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int,
            zero_infinity: bool, result0: Any, result1: Any) -> Any:
    made = log_probs_t * slopes(log_probs_p, targets, input_lengths, target_lengths, blank)
    return kept(made, result0, zero_infinity).sum((0, 2)), late.zeros_like(result1)


def backward_tangent(grad_p: Any, grad_t: Any, log_probs_p: Any, log_probs_t: Any, targets: Any, input_lengths: Any,
                     target_lengths: Any, neg_log_likelihood: Any, log_alpha: Any, blank: int, zero_infinity: bool) -> Any:
    first = slopes(log_probs_p, targets, input_lengths, target_lengths, blank) * grad_t.unsqueeze(-1)
    second = bent(log_probs_t, log_probs_p, targets, input_lengths, target_lengths, blank) * grad_p.unsqueeze(-1)
    return kept(first + second, neg_log_likelihood, zero_infinity)


def rows(overload: str, lengths: str, node: str) -> OpDef:
    """Declare the op and its backward for one type of lengths."""
    columns: Any = dict(batch=families.loop, variants="")
    backward = defop(
        f"_ctc_loss_backward{overload}(Tensor grad, Tensor log_probs, Tensor targets, {lengths} input_lengths, {lengths} "
        "target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor",
        kernel=backward_kernel, vjp=dict(grad=to_grad, log_probs=to_frames), jvp=backward_tangent,
        node=f"CtcLossBackwardBackward{node}", out_form="Tensor_out" if overload else "out",
        **columns)
    return defop(
        f"_ctc_loss{overload}(Tensor log_probs, Tensor targets, {lengths} input_lengths, {lengths} target_lengths, "
        "int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)",
        kernel=forward_kernel, jvp=tangent, constant=(1,), node=f"CtcLossBackward{node}", lower="@native.ctc_loss",
        vjp=dict(log_probs=lambda grad, log_probs, targets, input_lengths, target_lengths, result0, result1, blank,
                 zero_infinity: call(backward, [grad, log_probs, targets, input_lengths, target_lengths, result0, result1,
                                                blank, zero_infinity])),
        **{**columns, "variants": "function"})


ctc_of_lists = rows("", "int[]", "0")
ctc_of_tensors = rows(".Tensor", "Tensor", "1")


def is_batched(lengths: Any) -> bool:
    return isinstance(lengths, Tensor) and bool(lengths._flags & FLAG_WRAPPER)


def ctc_loss_tensors(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int, reduction: int,
                     zero_infinity: bool) -> Any:
    batched = log_probs.ndim == 3
    frames = log_probs if batched else log_probs.unsqueeze(1)
    if is_batched(input_lengths) or is_batched(target_lengths):
        loss = call(ctc_of_tensors, [frames, targets, input_lengths, target_lengths, blank, zero_infinity])[0]
        counts = target_lengths.clamp_min(1).to(loss.dtype)
    else:
        lengths = numbers(target_lengths, "target_lengths")
        loss = call(ctc_of_lists, [frames, targets, numbers(input_lengths), lengths, blank, zero_infinity])[0]
        counts = new_tensor(np.array([max(n, 1) for n in lengths], loss.array.dtype)).to(loss.device)
    if zero_infinity:
        loss = late.where(loss == np.inf, 0.0, loss)
    if reduction == MEAN:
        return (loss / counts).mean()
    made = reduced(loss, reduction)
    return made if batched or made.ndim == 0 else made.squeeze(0)


def ctc_loss_of_tensors(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int, reduction: int,
                        zero_infinity: bool) -> Any:
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if lengths.dtype.category >= 2:
            raise RuntimeError(f"{name} must be integral")
    return ctc_loss_tensors(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)


for overload, kind, compute in (("IntList", "int[]", ctc_loss_tensors), ("Tensor", "Tensor", ctc_loss_of_tensors)):
    defop(f"ctc_loss.{overload}(Tensor log_probs, Tensor targets, {kind} input_lengths, {kind} target_lengths, int blank=0, "
          "int reduction=1, bool zero_infinity=False) -> Tensor", kernel=compute, composite=True, variants="function",
          out=False, autocast="float32")
