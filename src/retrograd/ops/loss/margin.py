"""Multi-class margin losses: the scores of the right classes should exceed all others by a margin.

Both are sums of hinges over pairs of a right class and another; their slopes are declared once over tensors, so that rules
can be differentiated, and once over arrays.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core.algorithms import native, native_on_copies
from retrograd.core.dispatch import call
from retrograd.core.dtypes import BY_NUMPY
from retrograd.core.opdef import defop
from retrograd.core.tensor import Tensor
from retrograd.ops import late
from retrograd.ops.loss.kernels import MEAN, NONE, reduced
from retrograd.ops.shared import families
from retrograd.ops.shared.elementwise import unsupported


def check_scores(self: Any) -> None:
    if self.ndim > 2 or (self.ndim and not self.shape[-1]):
        raise RuntimeError("Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
                           f"{list(self.shape)}")


def check_kinds(kernel: str, self: Any, target: Any) -> None:
    if self.size and (self.dtype.kind != "f" or self.dtype.itemsize < 4):
        raise unsupported(kernel, self.dtype)
    if target.dtype != np.int64:
        raise RuntimeError(f"expected scalar type Long but found {BY_NUMPY[target.dtype].legacy}")


def reduced_rows(xp: Any, losses: Any, reduction: int, shape: Any) -> Any:
    """The losses of all examples in the given shape, or their mean or sum."""
    if reduction == NONE:
        return losses.reshape(shape)
    total = losses.sum()
    return xp.asarray(total / len(losses) if reduction == MEAN and len(losses) else total, losses.dtype)


def given_to_rows(grad_output: Any, count: int, reduction: int) -> Any:
    """The gradient of each example, as a column."""
    rows = grad_output.reshape((-1, 1)) if reduction == NONE else grad_output
    return rows / count if reduction == MEAN and count else rows


def taken_from_rows(rows: Any, shape: Any, reduction: int) -> Any:
    """The transpose of `given_to_rows`, for products that have been summed over the classes."""
    count = rows.shape[0]
    if reduction == NONE:
        return rows.reshape(tuple(shape))
    return rows.sum() / count if reduction == MEAN and count else rows.sum()


# ---- one right class
def check_classes(self: Any, target: Any, p: Any, weight: Any, kernel: str) -> None:
    check_scores(self)
    if p not in (1, 2):
        raise RuntimeError("only p == 1 and p == 2 supported")
    batch, classes = (1, self.size) if self.ndim < 2 else self.shape
    if target.ndim > 1 or target.size != batch:
        raise RuntimeError("multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples "
                           f"(batch size). Expected target size [{batch}], but got {list(target.shape)}. Input has shape "
                           f"{list(self.shape)}.")
    if weight is not None and (weight.ndim > 1 or weight.size != classes):
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
    check_kinds(kernel, self, target)
    if weight is not None and weight.dtype != self.dtype:
        raise RuntimeError(f"expected scalar type {BY_NUMPY[self.dtype].legacy} but found {BY_NUMPY[weight.dtype].legacy}")
    if ((target < 0) | (target >= classes)).any():
        raise RuntimeError("target out of range")


class Hinges:
    """The hinges of arrays or tensors of scores, one for each example and class; that of the right class is 0."""

    def __init__(self, xp: Any, self_: Any, target: Any, p: Any, margin: Any, weight: Any) -> None:
        self.p = p
        classes = self_.shape[-1] if self_.ndim else 1
        scores = self_.reshape((-1, classes)) if self_.ndim < 2 else self_
        places = target.reshape((-1, 1))
        every = xp.arange(classes)
        self.right = like(every == places, scores)                 # one in the place of the right class
        right = xp.where(every == places, scores, like(every != every, scores)).sum(-1)[:, None]
        gap = margin - right + scores
        self.gap = xp.where((gap > 0) & (every != places), gap, like(every != every, scores))
        self.active = like(self.gap > 0, scores) / classes
        if weight is not None:
            self.active = self.active * (weight * self.right).sum(-1)[:, None]

    def values(self) -> Any:
        return (self.active * (self.gap if self.p == 1 else self.gap * self.gap)).sum(-1)

    def slopes(self) -> Any:
        return self.paired(self.active if self.p == 1 else 2 * self.active * self.gap)

    def bent(self, direction: Any) -> Any:
        """The second derivatives times a direction, for p == 2."""
        return self.paired(2 * self.active * (direction - (direction * self.right).sum(-1)[:, None]))

    def paired(self, slopes: Any) -> Any:
        """The gradient of the right class: minus the sum over the others."""
        return slopes - self.right * slopes.sum(-1)[:, None]


class OverTensors:
    @staticmethod
    def arange(n: int) -> Any:
        return late.arange(n)

    @staticmethod
    def where(condition: Any, yes: Any, no: Any) -> Any:
        return late.where(condition, yes, no)


def like(condition: Any, scores: Any) -> Any:
    return condition.to(scores.dtype) if isinstance(condition, Tensor) else condition.astype(scores.dtype)


def multi_margin_kernel(xp: Any, self: Any, target: Any, p: Any, margin: Any, weight: Any, reduction: int) -> Any:
    made = None if weight is not None and weight.dtype != self.dtype else native_on_copies(
        native, "multi_margin", self, target, p, margin, weight, reduction, None)
    if made is not None:
        return made
    check_classes(self, target, p, weight, "multi_margin_loss_cpu_kernel")
    return reduced_rows(xp, Hinges(xp, self, target, p, margin, weight).values(), reduction, target.shape)


def multi_margin_backward_kernel(xp: Any, grad_output: Any, self: Any, target: Any, p: Any, margin: Any, weight: Any,
                                 reduction: int) -> Any:
    made = native_on_copies(native, "multi_margin", self, target, p, margin, weight, reduction, grad_output)
    if made is not None:
        return made
    check_classes(self, target, p, weight, "multi_margin_loss_backward_cpu_kernel")
    slopes = Hinges(xp, self, target, p, margin, weight).slopes()
    return xp.ascontiguousarray(slopes * given_to_rows(grad_output, len(slopes), reduction), self.dtype).reshape(self.shape)


def multi_margin_to_grad(grad: Any, grad_output_sym_sizes: Any, self: Any, target: Any, p: Any, margin: Any, weight: Any,
                         reduction: int) -> Any:
    slopes = Hinges(OverTensors, self, target, p, margin, weight).slopes()
    return taken_from_rows((slopes * grad.reshape(slopes.shape)).sum(-1), grad_output_sym_sizes, reduction)


def multi_margin_bent(grad: Any, grad_output: Any, self: Any, target: Any, p: Any, margin: Any, weight: Any,
                      reduction: int) -> Any:
    if p == 1:
        return None
    hinges = Hinges(OverTensors, self, target, p, margin, weight)
    made = hinges.bent(grad.reshape(hinges.gap.shape)) * given_to_rows(grad_output, hinges.gap.shape[0], reduction)
    return made.reshape(self.shape)


def multi_margin_tangent(self_p: Any, self_t: Any, target: Any, p: Any, margin: Any, weight: Any, reduction: int) -> Any:
    slopes = Hinges(OverTensors, self_p, target, p, margin, weight).slopes()
    made = (slopes * self_t.reshape(slopes.shape)).sum(-1)
    return made.reshape(target.shape) if reduction == NONE else reduced(made, reduction)


def multi_margin_backward_tangent(grad_output_p: Any, grad_output_t: Any, self_p: Any, self_t: Any, target: Any, p: Any,
                                  margin: Any, weight: Any, reduction: int) -> Any:
    hinges = Hinges(OverTensors, self_p, target, p, margin, weight)
    made = hinges.slopes() * given_to_rows(grad_output_t, hinges.gap.shape[0], reduction)
    if p == 2:
        made = made + hinges.bent(self_t.reshape(made.shape)) * given_to_rows(grad_output_p, made.shape[0], reduction)
    return made.reshape(self_p.shape)


multi_margin_loss_backward = defop(
    "multi_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, Scalar p, Scalar margin, Tensor? weight=None, "
    "int reduction=1) -> Tensor",
    kernel=multi_margin_backward_kernel, vjp=dict(grad_output=multi_margin_to_grad, self=multi_margin_bent),
    jvp=multi_margin_backward_tangent, batch=families.loop, variants="")
defop(
    "multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) -> "
    "Tensor",
    kernel=multi_margin_kernel, jvp=multi_margin_tangent, batch=families.loop, variants="",
    vjp=dict(self=lambda grad, self, target, p, margin, weight, reduction: call(
        multi_margin_loss_backward, [grad, self, target, p, margin, weight, reduction])), autocast="float32")


# ---- several right classes, up to the first -1
def check_labels(kernel: str, self: Any, target: Any) -> None:
    check_scores(self)
    if target.shape != self.shape and not (self.ndim < 2 and target.ndim < 2 and target.size == self.size):
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(self.shape)}")
    if target.dtype != np.int64:
        check_kinds(kernel, self, target)
    if ((target < -1) | (target >= (self.shape[-1] if self.ndim else 1))).any():
        raise RuntimeError("argument #2 'target' is out of range")
    check_kinds(kernel, self, target)


def labelled(xp: Any, scores: Any, target: Any) -> tuple[Any, Any]:
    """The valid positions of `target`, and the mask of right classes."""
    valid = xp.logical_and.accumulate(target >= 0, axis=-1)
    right = xp.zeros(scores.shape, bool)
    batch, place = xp.nonzero(valid)
    right[batch, target[batch, place]] = True
    return valid, right


def multilabel_kernel(xp: Any, self: Any, target: Any, reduction: int) -> Any:
    made = native_on_copies(native, "multilabel_margin", self, target, reduction, None)
    if made is not None:
        return made
    check_labels("multilabel_margin_loss_forward_out_frame", self, target)
    classes = self.shape[-1] if self.ndim else 1
    scores, places = self.reshape(-1, classes), target.reshape(-1, classes)
    valid, right = labelled(xp, scores, places)
    gap = 1 - xp.take_along_axis(scores, xp.where(valid, places, 0), 1)[:, :, None] + scores[:, None]
    losses = xp.where(valid[:, :, None] & ~right[:, None], xp.maximum(gap, 0), 0).sum((1, 2)) / classes
    return (reduced_rows(xp, losses.astype(self.dtype), reduction, self.shape[:-1]),
            right.astype(self.dtype).reshape(target.shape))


def multilabel_backward_kernel(xp: Any, grad_output: Any, self: Any, target: Any, reduction: int, is_target: Any) -> Any:
    made = native_on_copies(native, "multilabel_margin", self, target, reduction, grad_output)
    if made is not None:
        return made
    check_labels("multilabel_margin_loss_backward_out_frame", self, target)
    classes = self.shape[-1] if self.ndim else 1
    scores, places = self.reshape(-1, classes), target.reshape(-1, classes)
    valid, right = labelled(xp, scores, places)
    chosen = xp.where(valid, places, 0)
    gap = 1 - xp.take_along_axis(scores, chosen, 1)[:, :, None] + scores[:, None]
    active = (valid[:, :, None] & ~right[:, None] & (gap > 0)).astype(self.dtype) / classes
    slopes = active.sum(1)
    xp.subtract.at(slopes, (xp.arange(len(scores))[:, None], chosen), active.sum(2))
    return (slopes * given_to_rows(grad_output, len(slopes), reduction)).astype(self.dtype).reshape(self.shape)


def multilabel_slopes(self: Any, target: Any, is_target: Any) -> Any:
    """The gradient of each example's loss."""
    ones = self.new_ones(tuple(self.shape[:-1]))
    return call(multilabel_margin_loss_backward, [ones, self, target, NONE, is_target])


def multilabel_to_grad(grad: Any, grad_output_sym_sizes: Any, self: Any, target: Any, reduction: int, is_target: Any) -> Any:
    made = grad * multilabel_slopes(self, target, is_target)
    made = (made.sum(-1) if made.ndim else made).reshape((-1,))
    return taken_from_rows(made, grad_output_sym_sizes, reduction)


def multilabel_tangent(self_p: Any, self_t: Any, target: Any, reduction: int, result1: Any) -> Any:
    made = self_t * multilabel_slopes(self_p, target, result1)
    return reduced(made.sum(-1) if made.ndim else made, reduction), late.zeros_like(result1)


multilabel_margin_loss_backward = defop(
    "multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, Tensor is_target) -> "
    "Tensor",
    kernel=multilabel_backward_kernel, vjp=dict(grad_output=multilabel_to_grad), batch=families.loop, variants="",
    jvp=lambda grad_output_t, self, target, reduction, is_target: call(
        multilabel_margin_loss_backward, [grad_output_t, self, target, reduction, is_target]))
multilabel_margin_loss_forward = defop(
    "multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)",
    kernel=multilabel_kernel, jvp=multilabel_tangent, batch=families.loop, variants="", constant=(1,),
    node="MultilabelMarginLossBackward0",
    vjp=dict(self=lambda grad, self, target, reduction, is_target: call(
        multilabel_margin_loss_backward, [grad, self, target, reduction, is_target])), out_form="output")
defop("multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", composite=True, variants="",
      out=False, kernel=lambda self, target, reduction: call(multilabel_margin_loss_forward, [self, target, reduction])[0],
      autocast="float32")
