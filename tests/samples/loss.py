"""Samples of the ops in retrograd/ops/loss/kernels.py and losses.py."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from retrograd.core.tensor import new_tensor
from tests.samples import Maker, Sample, samples


@samples("mse_loss.default", "smooth_l1_loss.default", "huber_loss.default", "l1_loss.default")
def of_difference(make: Maker) -> Iterator[Sample]:
    for reduction in (0, 1, 2):
        yield Sample(make(3, 4), make(3, 4), reduction)


@samples("mse_loss_backward.default")
def gradients(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4), make(3, 4), 0)
    yield Sample(make(), make(3, 4), make(3, 4), 1)


@samples("soft_margin_loss_backward.default")
def soft_margin_gradients(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4), make(3, 4, requires_grad=False), 0)
    yield Sample(make(), make(3, 4), make(3, 4, requires_grad=False), 1)


@samples("smooth_l1_loss_backward.default", "huber_loss_backward.default")
def gradients_with_bound(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4), make(3, 4), 0, 0.7)
    yield Sample(make(), make(3, 4), make(3, 4), 2, 0.7)


@samples("soft_margin_loss.default")
def soft_margin_loss(make: Maker) -> Iterator[Sample]:
    for reduction in (0, 1, 2):
        yield Sample(make(3, 4), make(3, 4, requires_grad=False), reduction)


@samples("binary_cross_entropy.default")
def binary_cross_entropy(make: Maker) -> Iterator[Sample]:
    for reduction in (0, 1, 2):
        yield Sample(make(3, 4, low=0.1, high=0.9), make(3, 4, low=0.1, high=0.9), reduction=reduction)
    yield Sample(make(3, 4, low=0.1, high=0.9), make(3, 4, low=0.1, high=0.9, requires_grad=False),
                 make(4, requires_grad=False), note="weight")


@samples("binary_cross_entropy_backward.default")
def binary_cross_entropy_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4, low=0.1, high=0.9), make(3, 4, low=0.1, high=0.9, requires_grad=False), None, 0)


@samples("binary_cross_entropy_with_logits.default")
def binary_cross_entropy_with_logits(make: Maker) -> Iterator[Sample]:
    for reduction in (0, 1, 2):
        yield Sample(make(3, 4), make(3, 4, low=0.1, high=0.9), reduction=reduction)
    yield Sample(make(3, 4), make(3, 4, low=0.1, high=0.9), make(4, requires_grad=False), make(4, requires_grad=False))


@samples("nll_loss_forward.default")
def nll_loss_forward(make: Maker) -> Iterator[Sample]:
    for reduction in (0, 1, 2):
        yield Sample(make(3, 4), make.index(4, 3), None, reduction, -100)
    yield Sample(make(3, 4), make.index(4, 3), make(4, low=0.1, requires_grad=False), 1, 2, note="weight")


@samples("nll_loss_backward.default")
def nll_loss_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(), make(3, 4), make.index(4, 3), None, 1, -100, new_tensor(np.array(3.0)))


@samples("nll_loss2d_forward.default")
def nll_loss2d_forward(make: Maker) -> Iterator[Sample]:
    for reduction in (0, 1, 2):
        yield Sample(make(2, 3, 2, 2), make.index(3, 2, 2, 2), None, reduction, -100)


@samples("nll_loss2d_backward.default")
def nll_loss2d_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(), make(2, 3, 2, 2), make.index(3, 2, 2, 2), None, 1, -100, new_tensor(np.array(8.0)))


@samples("nll_loss.default", "nll_loss_nd.default", "cross_entropy_loss.default")
def of_classes(make: Maker) -> Iterator[Sample]:
    for reduction in (0, 1, 2):
        yield Sample(make(3, 4), make.index(4, 3), None, reduction)
    yield Sample(make(3, 4), make.index(4, 3), make(4, low=0.1, requires_grad=False))


@samples("nll_loss2d.default")
def nll_loss2d(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 2, 2), make.index(3, 2, 2, 2))


@samples("kl_div.default")
def kl_div(make: Maker) -> Iterator[Sample]:
    for reduction in (0, 1, 2):
        yield Sample(make(3, 4), make(3, 4, low=0.1, high=0.9), reduction)
    yield Sample(make(3, 4), make(3, 4), log_target=True)


@samples("poisson_nll_loss.default")
def poisson_nll_loss(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4, low=0.1), True, False, 1e-8, 1)
    yield Sample(make(3, 4, low=0.1), make(3, 4, low=1.5, high=3.0, requires_grad=False), False, True, 1e-8, 0)


@samples("hinge_embedding_loss.default")
def hinge_embedding_loss(make: Maker) -> Iterator[Sample]:
    signs = new_tensor(np.where(make.mask(3, 4).array, 1.0, -1.0))
    for reduction in (0, 1, 2):
        yield Sample(make(3, 4), signs, 1.0, reduction)


@samples("cosine_embedding_loss.default")
def cosine_embedding_loss(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4), new_tensor(np.array([1.0, -1.0, 1.0])), 0.1)


@samples("margin_ranking_loss.default")
def margin_ranking_loss(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3), make(3), new_tensor(np.array([1.0, -1.0, 1.0])), 0.1)


@samples("triplet_margin_loss.default")
def triplet_margin_loss(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4), make(3, 4))
    yield Sample(make(3, 4), make(3, 4), make(3, 4), swap=True, reduction=0)


@samples("pairwise_distance.default", "cosine_similarity.default")
def distances(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4))
    yield Sample(make(3, 4), make(1, 4))
