"""Composite losses: cross entropy, L1, Kullback-Leibler, margins, distances."""
from __future__ import annotations

import math
from typing import Any

from retrograd.core.dispatch import call
from retrograd.core.modes import is_seen
from retrograd.core.opdef import OpDef, defop, find_packet
from retrograd.ops import late
from retrograd.ops.loss.kernels import MEAN, NONE, SUM, check_nll, nll_loss2d_forward, nll_loss_forward, reduced
from retrograd.ops.shared.elementwise import changed, less_from, minus, over, plus, times
from retrograd.ops.shared.families import anywhere, wrap_dim


def composite(schema: str, kernel: Any, variants: str = "", autocast: str | None = "float32") -> OpDef:
    """Declare a composite loss; autocast computes losses in float32."""
    return defop(schema, kernel=kernel, composite=True, out=False, variants=variants, autocast=autocast)


TARGETS = "Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100"


def shape_text(t: Any) -> str:
    return str(list(t.shape))


# ---- negative log likelihood, by rank
def nll_loss_tensors(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    return call(nll_loss_forward, [self, target, weight, reduction, ignore_index])[0]


def nll_loss2d_tensors(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    return call(nll_loss2d_forward, [self, target, weight, reduction, ignore_index])[0]


def nll_loss_nd_tensors(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    sizes, targets = self.array.shape, target.array.shape
    rank = len(sizes)
    if rank < 1:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if rank != 1 and sizes[0] != (targets[0] if targets else None):
        found = targets[0] if targets else 0
        raise ValueError(f"Expected input batch_size ({sizes[0]}) to match target batch_size ({found}).")
    if rank == 1 and len(targets) == 1 and targets[0] != 1:
        check_nll(self, target, None)
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}")
    if rank in (1, 2):
        return nll_loss_tensors(self, target, weight, reduction, ignore_index)
    if rank == 4:
        return nll_loss2d_tensors(self, target, weight, reduction, ignore_index)
    batch, classes = self.shape[:2]
    if tuple(target.shape[1:]) != tuple(self.shape[2:]):
        raise RuntimeError(f"Expected target size {[batch, *self.shape[2:]]}, got {shape_text(target)}")
    self, target = self.contiguous(), target.contiguous()
    if self.numel() > 0:
        flat, flat_target = self.view((batch, classes, 1, -1)), target.view((batch, 1, -1))
    else:
        flat, flat_target = self.view((batch, classes, 0, 0)), target.view((batch, 0, 0))
    made = nll_loss2d_tensors(flat, flat_target, weight, reduction, ignore_index)
    return made.view((batch, *self.shape[2:])) if reduction == NONE else made


composite(f"nll_loss({TARGETS}) -> Tensor", nll_loss_tensors)
composite(f"nll_loss2d({TARGETS}) -> Tensor", nll_loss2d_tensors)
composite(f"nll_loss_nd({TARGETS}) -> Tensor", nll_loss_nd_tensors, autocast=None)


# ---- cross entropy
def along_classes(weight: Any, self: Any) -> Any:
    return weight.view([1 if i != class_dim(self) else weight.shape[0] for i in range(self.ndim)])


def class_dim(self: Any) -> int:
    return 0 if self.array.ndim == 1 else 1


def cross_entropy_tensors(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int,
                          label_smoothing: float) -> Any:
    if self.array.shape == target.array.shape:
        if not target.is_floating_point():
            raise RuntimeError("Expected floating point type for target with class probabilities, got "
                               f"{target.dtype.legacy}: classes are numbers without a dimension for the classes")
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return with_probabilities(self, target, weight, reduction, label_smoothing)
    if label_smoothing > 0:
        if label_smoothing > 1:
            raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
        return with_smoothing(self, target, weight, reduction, ignore_index, label_smoothing)
    dim = class_dim(self)
    return nll_loss_nd_tensors(self.log_softmax(dim, self.dtype), target, weight, reduction, ignore_index)


def with_probabilities(self: Any, target: Any, weight: Any, reduction: int, label_smoothing: float) -> Any:
    dim = wrap_dim(class_dim(self), self.ndim, scalar_ok=False)
    classes = self.shape[dim]
    if not self.is_floating_point() or not target.is_floating_point():
        raise RuntimeError("Expected floating point type for target with class probabilities")
    check_class_weights(weight, classes)
    logs = self.log_softmax(dim, self.dtype)
    if label_smoothing > 0:
        target = times(target, 1 - label_smoothing) + (label_smoothing / classes if classes else math.inf)
    products = logs * target if weight is None else logs * target * along_classes(weight, logs)
    if reduction == NONE:
        return -products.sum(dim)
    if reduction == MEAN and not logs.numel():
        return -products.sum().fill_(float("nan"))
    made = -products.sum()
    return made if reduction == SUM else over(made, logs.numel() // classes)


def with_smoothing(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int, label_smoothing: float) -> Any:
    dim = class_dim(self)
    classes = self.shape[dim]
    logs = self.log_softmax(dim, self.dtype)
    picked = nll_loss_nd_tensors(logs, target, weight, reduction, ignore_index)
    check_class_weights(weight, classes)
    smooth = -(logs.sum(dim) if weight is None else (logs * along_classes(weight, logs)).sum(dim))
    ignored = target == ignore_index
    if ignore_index >= 0 or anywhere(ignored):
        smooth = smooth.masked_fill(ignored, 0.0)
    if reduction == MEAN:
        if weight is None:
            smooth = smooth.sum() / (~ignored).sum() if anywhere(ignored) or smooth.ndim == 0 else smooth.mean()
        else:
            smooth = smooth.sum() / weight.gather(0, target.masked_select(~ignored).flatten()).sum()
    else:
        smooth = reduced(smooth, reduction)
    return times(picked, 1 - label_smoothing) + times(smooth, label_smoothing / classes)


def check_class_weights(weight: Any, classes: int) -> None:
    if weight is not None and not (weight.ndim == 1 and weight.shape[0] == classes):
        raise RuntimeError("cross_entropy: weight tensor should be defined either for all "
                           f"{classes} classes or no classes but got weight tensor of shape: {shape_text(weight)}")


composite(f"cross_entropy_loss({TARGETS}, float label_smoothing=0.0) -> Tensor", cross_entropy_tensors)


# ---- of pairs
composite("l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
          lambda self, target, reduction: reduced((self - target).abs(), reduction))


def kl_div_tensors(self: Any, target: Any, reduction: int, log_target: bool) -> Any:
    if self.is_complex() or target.is_complex():
        raise RuntimeError("kl_div: Complex inputs not supported.")
    if not self.is_floating_point() or not target.is_floating_point():
        raise RuntimeError("kl_div: Integral inputs not supported.")
    if log_target:
        difference = target - self
        return reduced(target.exp() * difference, reduction)
    cross = target * self
    return reduced(target.xlogy(target) - cross, reduction)


def poisson_tensors(input: Any, target: Any, log_input: bool, full: bool, eps: float, reduction: int) -> Any:
    cross = target * (input if log_input else plus(input, eps).log())
    loss = (input.exp() if log_input else input) - cross
    if full:
        circle = times(times(target, 2 * math.pi).log(), 0.5)
        stirling = target * target.log() - target + circle
        loss = late.add_(loss, stirling.masked_fill(target <= 1, 0))
    return reduced(loss, reduction)


composite("kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor", kl_div_tensors, "function")
composite("poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor",
          poisson_tensors, "function")


# ---- margins
def hinge_tensors(self: Any, target: Any, margin: float, reduction: int) -> Any:
    zeros = late.zeros_like(self)
    distance = less_from(margin, self) if is_seen() else late.full_like(self, margin).sub_(self)
    rest = changed(distance, "clamp_min", 0)
    far = late.where(target != 1, rest, zeros)
    near = late.where(target != -1, self, zeros)
    return reduced(far + near, reduction)


def cosine_embedding_tensors(input1: Any, input2: Any, target: Any, margin: float, reduction: int) -> Any:
    if target.ndim not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    rank = 2 if target.ndim == 1 else 1
    if input1.ndim != rank or input2.ndim != rank:
        raise RuntimeError(f"{target.ndim}D target tensor expects {rank}D input tensors, but found inputs with sizes "
                           f"{shape_text(input1)} and {shape_text(input2)}.")
    dim, epsilon = target.ndim, 1e-12
    product = (input1 * input2).sum(dim)
    size1, size2 = (plus((t * t).sum(dim), epsilon) for t in (input1, input2))
    cosine = product / late.sqrt_(size1 * size2)
    zeros = late.zeros_like(cosine)
    near = late.where(target == 1, less_from(1, cosine), zeros)
    far = late.where(target == -1, minus(cosine, margin).clamp_min(0), zeros)
    return reduced(near + far, reduction)


def ranking_tensors(input1: Any, input2: Any, target: Any, margin: float, reduction: int) -> Any:
    difference = input1 - input2
    return reduced(late.clamp_min_(plus(-target * difference, margin), 0), reduction)


def triplet_tensors(anchor: Any, positive: Any, negative: Any, margin: float, p: float, eps: float, swap: bool,
                    reduction: int) -> Any:
    ranks = [t.ndim for t in (anchor, positive, negative)]
    if len(set(ranks)) > 1:
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number of dimensions, but "
                           f"got: anchor {ranks[0]}D, positive {ranks[1]}D, and negative {ranks[2]}D inputs")
    near, far = pairwise_distance_tensors(anchor, positive, p, eps, False), pairwise_distance_tensors(anchor, negative, p, eps,
                                                                                                      False)
    if swap:
        far = late.minimum(far, pairwise_distance_tensors(positive, negative, p, eps, False))
    return reduced((plus(near, margin) - far).clamp_min(0), reduction)


REDUCED = "int reduction=1) -> Tensor"
composite(f"hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, {REDUCED}", hinge_tensors, "function")
composite(f"cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, {REDUCED}",
          cosine_embedding_tensors, "function")
composite(f"margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, {REDUCED}", ranking_tensors,
          "function")
composite("triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2.0, float "
          f"eps=1e-06, bool swap=False, {REDUCED}", triplet_tensors, "function")


# ---- distances
def norm_along(t: Any, p: float, dim: int, keepdim: bool) -> Any:
    packet = find_packet("norm")
    assert packet is not None
    return packet(t, p, [dim], keepdim)


def pairwise_distance_tensors(x1: Any, x2: Any, p: float, eps: float, keepdim: bool) -> Any:
    last = max(x1.ndim, x2.ndim) - 1
    return norm_along(plus(x1 - x2, eps), p, last, keepdim)


def cosine_similarity_tensors(x1: Any, x2: Any, dim: int, eps: float) -> Any:
    if eps < 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    common = x1.dtype if x1.dtype is x2.dtype else late.result_type(x1, x2)
    if not common.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {common.legacy}")
    if x1.dtype is not x2.dtype:
        x1, x2 = x1.to(common), x2.to(common)
    if x1.array.shape != x2.array.shape:
        x1, x2 = late.broadcast_tensors(x1, x2)
    return ((x1 / length(x1, dim, eps)) * (x2 / length(x2, dim, eps))).sum(dim)


def length(x: Any, dim: int, eps: float) -> Any:
    """The length of vectors along `dim`, at least `eps`; the gradient is that of the unclamped length."""
    found = norm_along(x, 2, dim, True)
    raised = found.detach()
    return found + (raised.clamp_min(eps) - raised)


composite("pairwise_distance(Tensor x1, Tensor x2, float p=2.0, float eps=1e-06, bool keepdim=False) -> Tensor",
          pairwise_distance_tensors, "function", autocast=None)
composite("cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> "
          "Tensor", cosine_similarity_tensors, "function", autocast=None)
