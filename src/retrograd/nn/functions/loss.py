"""Losses as functions of predictions and targets."""
from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import retrograd as torch
from retrograd import Tensor, ops
from retrograd.nn.functions.activation import logsigmoid
from retrograd.nn.functions.base import overridable

cosine_similarity, pairwise_distance = torch.cosine_similarity, torch.pairwise_distance


REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}           # the numbers by which ops know them


def get_enum(reduction: str) -> int:
    """The number by which ops know a reduction."""
    if reduction in ("none", "mean", "sum"):
        return REDUCTIONS[reduction]
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=3)
        return 1
    raise ValueError(f"{reduction} is not a valid value for reduction")


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction that the old arguments `size_average` and `reduce` mean."""
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    found = "mean" if size_average and reduce else "sum" if reduce else "none"
    if emit_warning:
        warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.", stacklevel=4)
    return found


def chosen(size_average: Any, reduce: Any, reduction: str) -> int:
    """The number of the reduction that a loss function was asked for."""
    if size_average is None and reduce is None and type(reduction) is str and reduction in REDUCTIONS:
        return REDUCTIONS[reduction]
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    return get_enum(reduction)


def warn_sizes(input: Any, target: Any) -> None:
    if target.size() != input.size():
        warnings.warn(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will "
                      "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
                      stacklevel=4)


def weighted(loss: Callable[[], Any], weight: Any, input: Any, reduction: str, by_weights: bool = True) -> Any:
    """The mean is by the weights' sum, or else by the number of elements."""
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    products = loss() * weight
    if reduction == "none":
        return products
    if reduction == "sum":
        return torch.sum(products)
    if reduction == "mean":
        return torch.sum(products) / torch.sum(weight) if by_weights else torch.mean(products)
    raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")


@overridable
def mse_loss(input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
             weight: Any = None) -> Any:
    """The squares of the differences.

    >>> import retrograd as torch
    >>> mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 0.0]))
    tensor(2.5000)
    """
    warn_sizes(input, target)
    input_, target_ = torch.broadcast_tensors(input, target)
    code = chosen(size_average, reduce, reduction)
    if weight is not None:
        return weighted(lambda: torch.pow(input_ - target_, 2), weight, input, reduction)
    return ops.aten.mse_loss(input_, target_, code)


@overridable
def l1_loss(input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
            weight: Any = None) -> Any:
    """The absolute differences.

    >>> import retrograd as torch
    >>> torch.nn.functional.l1_loss(torch.tensor([1.0, 5.0]), torch.tensor([0.0, 2.0]))
    tensor(2.)
    """
    warn_sizes(input, target)
    input_, target_ = torch.broadcast_tensors(input, target)
    code = chosen(size_average, reduce, reduction)
    if weight is not None:
        return weighted(lambda: torch.abs(input_ - target_), weight, input, reduction)
    return ops.aten.l1_loss(input_, target_, code)


@overridable
def smooth_l1_loss(input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
                   beta: float = 1.0) -> Any:
    """Absolute differences, rounded off to a square below `beta`.

    >>> import retrograd as torch
    >>> torch.nn.functional.smooth_l1_loss(torch.tensor([0.5, 3.0]), torch.zeros(2), reduction="none")
    tensor([0.1250, 2.5000])
    """
    warn_sizes(input, target)
    input_, target_ = torch.broadcast_tensors(input, target)
    code = chosen(size_average, reduce, reduction)
    return ops.aten.l1_loss(input_, target_, code) if beta == 0.0 else ops.aten.smooth_l1_loss(input_, target_, code, beta)


@overridable
def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None) -> Any:
    """Half the square of differences up to `delta`, and beyond that a line.

    >>> import retrograd as torch
    >>> torch.nn.functional.huber_loss(torch.tensor([1.0, 5.0]), torch.zeros(2), reduction="none", delta=2.0)
    tensor([0.5000, 8.0000])
    """
    warn_sizes(input, target)
    input_, target_ = torch.broadcast_tensors(input, target)
    if weight is None:
        if torch.can_cast(target_.dtype, input_.dtype):                # the loss is computed in the dtype of the input
            target_ = target_.to(input_.dtype)
        return ops.aten.huber_loss(input_, target_, get_enum(reduction), delta)
    return weighted(lambda: ops.aten.huber_loss(input_, target_, 0, delta), weight, input, reduction, by_weights=False)


@overridable
def nll_loss(input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100,
             reduce: Any = None, reduction: str = "mean") -> Any:
    """Minus the entries of `input` that `target` names; (N, C, ...) with targets (N, ...).

    >>> import retrograd as torch
    >>> torch.nn.functional.nll_loss(torch.tensor([[0.25, 0.75]]).log(), torch.tensor([1]))
    tensor(0.2877)
    """
    return ops.aten.nll_loss_nd(input, target, weight, chosen(size_average, reduce, reduction), ignore_index)


@overridable
def cross_entropy(input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100,
                  reduce: Any = None, reduction: str = "mean", label_smoothing: float = 0.0) -> Any:
    """The cross entropy of logits and classes, or class probabilities.

    >>> import retrograd as torch
    >>> cross_entropy(torch.zeros(1, 4), torch.tensor([2]))
    tensor(1.3863)
    """
    return ops.aten.cross_entropy_loss(input, target, weight, chosen(size_average, reduce, reduction), ignore_index,
                                       label_smoothing)


@overridable
def binary_cross_entropy(input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None,
                         reduction: str = "mean") -> Any:
    """The cross entropy of probabilities and targets.

    >>> import retrograd as torch
    >>> torch.nn.functional.binary_cross_entropy(torch.tensor([0.5, 0.9]), torch.tensor([0.0, 1.0]))
    tensor(0.3993)
    """
    code = chosen(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
                         "deprecated. Please ensure they have the same size.")
    if weight is not None:
        weight = weight.expand(torch.broadcast_tensors(target, weight)[0].shape)
    return ops.aten.binary_cross_entropy(input, target, weight, code)


@overridable
def binary_cross_entropy_with_logits(input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None,
                                     reduction: str = "mean", pos_weight: Any = None) -> Any:
    """The cross entropy of the sigmoid of logits and targets.

    >>> import retrograd as torch
    >>> torch.nn.functional.binary_cross_entropy_with_logits(torch.tensor([0.0, 3.0]), torch.tensor([0.0, 1.0]))
    tensor(0.3709)
    """
    code = chosen(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return torch.binary_cross_entropy_with_logits(input, target, weight, pos_weight, code)


@overridable
def kl_div(input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
           log_target: bool = False) -> Any:
    """The Kullback-Leibler divergence of log-probabilities `input` from `target`.

    >>> import retrograd as torch
    >>> torch.nn.functional.kl_div(torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[0.25, 0.75]]), reduction="batchmean")
    tensor(0.1308)
    """
    if size_average is not None or reduce is not None:
        code = get_enum(legacy_get_string(size_average, reduce))
    else:
        if reduction == "mean":
            warnings.warn("reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' "
                          "divides only by the batch size, and aligns with the KL div math definition.'mean' will be changed "
                          "to behave the same as 'batchmean' in the next major release.", stacklevel=3)
        code = get_enum("sum" if reduction == "batchmean" else reduction)
    made = torch.kl_div(input, target, code, log_target=log_target)
    return made / input.size()[0] if reduction == "batchmean" and input.dim() != 0 else made


@overridable
def poisson_nll_loss(input: Any, target: Any, log_input: bool = True, full: bool = False, size_average: Any = None,
                     eps: float = 1e-8, reduce: Any = None, reduction: str = "mean") -> Any:
    """The negative log likelihood of Poisson counts.

    >>> import retrograd as torch
    >>> torch.nn.functional.poisson_nll_loss(torch.tensor([0.0]), torch.tensor([3.0]))
    tensor(1.)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not a valid value for reduction")
    return torch.poisson_nll_loss(input, target, log_input, full, eps, get_enum(reduction))


@overridable
def gaussian_nll_loss(input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Any:
    """The negative log likelihood of normal variables with means `input` and variances `var`.

    >>> import retrograd as torch
    >>> torch.nn.functional.gaussian_nll_loss(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([4.0]))
    tensor(1.1931)
    """
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * torch.ones_like(input)
    elif bool(torch.any(var < 0)):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = torch.unsqueeze(var, -1)
        elif not (input.ndim == var.ndim and [v for n, v in zip(input.size(), var.size(), strict=True) if n != v] == [1]):
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    var = var.clone()
    with torch.no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


@overridable
def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, size_average: Any = None, reduce: Any = None,
                         reduction: str = "mean") -> Any:
    """Distances that should be small where the target is 1, and above `margin` where it is -1.

    >>> import retrograd as torch
    >>> torch.nn.functional.hinge_embedding_loss(torch.tensor([0.3, 0.3]), torch.tensor([1.0, -1.0]), reduction="none")
    tensor([0.3000, 0.7000])
    """
    return torch.hinge_embedding_loss(input, target, margin, chosen(size_average, reduce, reduction))


@overridable
def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0, size_average: Any = None, reduce: Any = None,
                        reduction: str = "mean") -> Any:
    """How much `input1` fails to exceed `input2` (target 1) or the reverse (target -1).

    >>> import retrograd as torch
    >>> torch.nn.functional.margin_ranking_loss(torch.tensor([2.0]), torch.tensor([1.5]), torch.tensor([1.0]), margin=1.0)
    tensor(0.5000)
    """
    code = chosen(size_average, reduce, reduction)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError("margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
                           f"{input1.size()}, input2: {input2.size()}, target: {target.size()} ")
    return torch.margin_ranking_loss(input1, input2, target, margin, code)


@overridable
def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: float = 0, size_average: Any = None,
                          reduce: Any = None, reduction: str = "mean") -> Any:
    """Vectors that should point the same way (target 1) or not (target -1).

    >>> import retrograd as torch
    >>> torch.nn.functional.cosine_embedding_loss(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]]), torch.tensor([1.0]))
    tensor(1.)
    """
    return torch.cosine_embedding_loss(input1, input2, target, margin, chosen(size_average, reduce, reduction))


@overridable
def triplet_margin_loss(anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
                        swap: bool = False, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Any:
    """An anchor should be nearer to the positive than to the negative, by a margin.

    >>> import retrograd as torch
    >>> torch.nn.functional.triplet_margin_loss(torch.tensor([[0.0]]), torch.tensor([[1.0]]), torch.tensor([[1.5]]))
    tensor(0.5000)
    """
    code = chosen(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return torch.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, code)


@overridable
def triplet_margin_with_distance_loss(anchor: Any, positive: Any, negative: Any, *,
                                      distance_function: Callable[[Any, Any], Any] | None = None, margin: float = 1.0,
                                      swap: bool = False, reduction: str = "mean") -> Any:
    """The same with any distance.

    >>> import retrograd as torch
    >>> anchor, near, far = torch.tensor([[0.0]]), torch.tensor([[1.0]]), torch.tensor([[1.5]])
    >>> torch.nn.functional.triplet_margin_with_distance_loss(anchor, near, far, distance_function=torch.nn.L1Loss())
    tensor(0.5000)
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = torch.pairwise_distance if distance_function is None else distance_function
    ranks = anchor.ndim, positive.ndim, negative.ndim
    if len(set(ranks)) > 1:
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number of dimensions, but "
                           f"got: anchor {ranks[0]}D, positive {ranks[1]}D, and negative {ranks[2]}D inputs")
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = torch.minimum(far, distance(positive, negative))
    loss = torch.clamp_min(margin + near - far, 0)
    return torch.sum(loss) if reduction == "sum" else torch.mean(loss) if reduction == "mean" else loss


@overridable
def soft_margin_loss(input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Any:
    """log(1 + exp(-target * input)).

    >>> import retrograd as torch
    >>> torch.nn.functional.soft_margin_loss(torch.tensor([2.0, -2.0]), torch.tensor([1.0, -1.0]))
    tensor(0.1269)
    """
    return ops.aten.soft_margin_loss(input, target, chosen(size_average, reduce, reduction))


@overridable
def multilabel_soft_margin_loss(input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None,
                                reduction: str = "mean") -> Any:
    """Binary cross entropy of logits, averaged over classes.

    >>> import retrograd as torch
    >>> torch.nn.functional.multilabel_soft_margin_loss(torch.tensor([[2.0, -2.0]]), torch.tensor([[1.0, 0.0]]))
    tensor(0.1269)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    dim = input.dim() - 1
    loss = loss.sum(dim=dim) / input.size(dim)
    if reduction == "none":
        return loss
    if reduction in ("mean", "sum"):
        return loss.mean() if reduction == "mean" else loss.sum()
    raise ValueError(reduction + " is not valid")


@overridable
def multi_margin_loss(input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None, size_average: Any = None,
                      reduce: Any = None, reduction: str = "mean") -> Any:
    """How far other classes come within a margin of the right one.

    >>> import retrograd as torch
    >>> torch.nn.functional.multi_margin_loss(torch.tensor([[0.5, 0.25]]), torch.tensor([0]))
    tensor(0.3750)
    """
    number = chosen(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return ops.aten.multi_margin_loss(input, target, p, margin, weight, number)


@overridable
def multilabel_margin_loss(input: Any, target: Any, size_average: Any = None, reduce: Any = None,
                           reduction: str = "mean") -> Any:
    """The same for several right classes, up to the first -1.

    >>> import retrograd as torch
    >>> torch.nn.functional.multilabel_margin_loss(torch.tensor([0.5, 0.25, 1.0]), torch.tensor([0, 2, -1]))
    tensor(0.3333)
    """
    return ops.aten.multilabel_margin_loss(input, target, chosen(size_average, reduce, reduction))


@overridable
def ctc_loss(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
             zero_infinity: bool = False) -> Any:
    """How unlikely frames of class probabilities spell the targets, however they are aligned.

    >>> import retrograd as torch
    >>> frames = torch.tensor([[[0.5, 0.5]], [[0.5, 0.5]]]).log()
    >>> torch.nn.functional.ctc_loss(frames, torch.tensor([[1]]), (2,), (1,))
    tensor(0.2877)
    """
    return torch.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, get_enum(reduction), zero_infinity)


@overridable
def normalize(input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None) -> Any:
    """Vectors along `dim`, divided by their length.

    >>> import retrograd as torch
    >>> torch.nn.functional.normalize(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    if out is None:
        return input / input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return torch.div(input, input.norm(p, dim, keepdim=True).clamp_min_(eps).expand_as(input), out=out)
