"""Sampling, pooling and losses as functions give PyTorch's numbers, recorded from it."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.nn import functional as F

I = torch.linspace(-2, 2, 24).reshape(1, 2, 3, 4)
G = torch.tensor([[[[-0.9, 0.2], [0.4, 1.3], [-1.6, -0.4]]]])
S = torch.tensor([[0.5, -1.0, 2.0], [0.0, 0.3, -0.2]])
C = torch.tensor([2, 0])
P = torch.linspace(-1, 2, 30).reshape(5, 2, 3).sin().log_softmax(-1)


def values(t: Any) -> list[float]:
    return [round(v, 5) for v in t.detach().flatten().tolist()][:6]


@pytest.mark.parametrize(("mode", "padding", "align_corners", "expected"), [
    ("bilinear", "zeros", True, [-1.13913, -0.17043, -0.15826]),
    ("bilinear", "zeros", False, [-0.76696, -0.01043, 0.0]),
    ("bilinear", "border", True, [-1.13913, -0.24348, -1.58261]),
    ("bilinear", "border", False, [-1.09565, -0.2087, -1.72174]),
    ("bilinear", "reflection", True, [-1.13913, -0.45217, -1.42609]),
    ("bilinear", "reflection", False, [-1.09565, -0.2087, -1.6]),
    ("nearest", "zeros", True, [-1.30435, -0.26087, 0.0]),
    ("nearest", "zeros", False, [-1.30435, 0.0, 0.0]),
    ("nearest", "border", True, [-1.30435, -0.26087, -1.30435]),
    ("nearest", "border", False, [-1.30435, -0.26087, -2.0]),
    ("nearest", "reflection", True, [-1.30435, -0.26087, -1.13043]),
    ("nearest", "reflection", False, [-1.30435, -0.26087, -1.82609]),
    ("bicubic", "zeros", True, [-1.20138, -0.0934, -0.14832]),
    ("bicubic", "zeros", False, [-0.78602, -0.00646, 0.09432]),
    ("bicubic", "border", True, [-1.09542, -0.15935, -1.65056]),
    ("bicubic", "border", False, [-1.05274, -0.19193, -1.78017]),
    ("bicubic", "reflection", True, [-1.09286, -0.31939, -1.55156]),
    ("bicubic", "reflection", False, [-1.06096, -0.16839, -1.67396]),
])
def test_image_is_sampled_as_recorded(mode: str, padding: str, align_corners: bool, expected: list[float]) -> None:
    assert values(F.grid_sample(I, G, mode, padding, align_corners))[:3] == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize(("make", "expected"), [
    (lambda: F.local_response_norm(I, 3, alpha=0.5), [-1.36269, -1.30376, -1.22728, -1.13284, -1.02131, -0.89492]),
    (lambda: F.lp_pool2d(I.abs(), 3, 2), [2.6087, 2.08736, 1.11142, 1.58361]),
    (lambda: F.lp_pool1d(I[0].abs(), 2, 2, stride=1), [2.70825, 2.46257, 2.21696, 1.72604, 1.48082, 1.23588]),
    (lambda: F.affine_grid(torch.tensor([[[1.0, 0.5, 0.1], [-0.5, 2.0, 0.0]]]), (1, 1, 2, 2), False),
     [-0.65, -0.75, 0.35, -1.25, -0.15, 1.25]),
    (lambda: F.adaptive_max_pool3d(I, (1, 2, 2)), [0.95652, 1.30435, 1.65217, 2.0]),
    (lambda: F.max_unpool2d(*F.max_pool2d(I, 2, return_indices=True), 2, output_size=(3, 4)),
     [0.0, 0.0, 0.0, 0.0, 0.0, -1.13043]),
    (lambda: F.max_unpool1d(*F.max_pool1d(I[0], 2, return_indices=True), 2), [0.0, -1.82609, 0.0, -1.47826, 0.0, -1.13043]),
])
def test_function_gives_the_recorded_values(make: Any, expected: list[float]) -> None:
    assert values(make()) == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize(("make", "expected"), [
    (lambda: F.multi_margin_loss(S, C, p=2, margin=0.5, weight=torch.tensor([1.0, 2.0, 0.5])), [0.12167]),
    (lambda: F.multi_margin_loss(S, C, reduction="none"), [0.0, 0.7]),
    (lambda: F.multilabel_margin_loss(S, torch.tensor([[0, 2, -1], [-1, 1, 2]])), [0.0]),
    (lambda: F.ctc_loss(P, torch.tensor([[1, 2], [2, 2]]), (5, 4), (2, 2)), [1.18299]),
    (lambda: F.ctc_loss(P, torch.tensor([1, 2, 1]), torch.tensor([5, 5]), torch.tensor([2, 1]), reduction="none"),
     [1.97211, 2.91738]),
    (lambda: F.ctc_loss(P, torch.tensor([[1, 2], [2, 2]]), (5, 2), (2, 2), reduction="sum", zero_infinity=True), [1.97211]),
])
def test_loss_gives_the_recorded_values(make: Any, expected: list[float]) -> None:
    assert values(make()) == pytest.approx(expected, abs=2e-5)


def test_default_corners_are_warned_of() -> None:
    with pytest.warns(UserWarning, match="Default grid_sample and affine_grid behavior has changed to align_corners=False"):
        F.grid_sample(I, G)


@pytest.mark.parametrize(("make", "error", "message"), [
    (lambda: F.grid_sample(I, G, mode="cubic"), ValueError, "expected mode to be 'bilinear', 'nearest' or 'bicubic', but got"),
    (lambda: F.grid_sample(I, G, padding_mode="wrap"), ValueError, "expected padding_mode to be 'zeros', 'border'"),
    (lambda: F.grid_sample(I, G[..., :1], align_corners=True), RuntimeError, "expected grid to have size 2 in last dimension"),
    (lambda: F.grid_sample(I, G.double(), align_corners=True), RuntimeError, "expected scalar type Float but found Double"),
    (lambda: F.affine_grid(torch.ones(1, 2, 3), (1, 1, 2), True), NotImplementedError, "only supports 4D and 5D sizes"),
    (lambda: F.affine_grid(torch.ones(1, 3, 4), (1, 1, 2, 2), True), ValueError, "matrices of shape Nx2x3 for size"),
    (lambda: F.local_response_norm(S, 2), ValueError, "Expected 3D or higher dimensionality"),
    (lambda: F.multi_margin_loss(S, C, p=3), ValueError, "only p == 1 and p == 2 supported"),
    (lambda: F.multi_margin_loss(S, C + 1), RuntimeError, "target out of range"),
    (lambda: F.multilabel_margin_loss(S, torch.full((2, 3), 3)), RuntimeError, "argument #2 'target' is out of range"),
    (lambda: F.ctc_loss(P, torch.tensor([[1]]), (5,), (1,)), RuntimeError, "input_lengths must be of size batch_size"),
    (lambda: F.ctc_loss(P, torch.ones(2, 2).long(), (5, 6), (1, 1)), RuntimeError, "to have value at most 5, but got value 6"),
    (lambda: F.ctc_loss(P, torch.ones(2, 2).long(), (5, 5), (1, 1), blank=3), RuntimeError, "blank must be in label range"),
    (lambda: F.max_unpool2d(I, I.long(), 2, output_size=(9, 9)), ValueError, "dim 0 must be between 4 and 8"),
    (lambda: F.max_unpool2d(I, torch.full_like(I, 99).long(), 2), RuntimeError, "Found an invalid max index: 99"),
])
def test_what_does_not_fit_is_refused(make: Any, error: Any, message: str) -> None:
    with pytest.raises(error) as caught:
        make()
    assert message in str(caught.value)


def test_what_is_not_a_number_is_sampled_at_the_border() -> None:
    nowhere = torch.full((1, 1, 1, 2), float("nan"))
    assert F.grid_sample(I, nowhere, padding_mode="border", align_corners=True).flatten().tolist() == [-2.0, I[0, 1, 0, 0]]


def test_unlikely_target_has_no_gradient_with_zero_infinity() -> None:
    frames = P.clone().requires_grad_()
    F.ctc_loss(frames, torch.tensor([[2, 2], [2, 2]]), (2, 2), (2, 2), zero_infinity=True).backward()
    assert frames.grad.abs().sum() == 0


def test_a_weighted_huber_loss_is_a_mean_over_the_elements() -> None:
    input, target, weight = torch.tensor([0.5, 3.0, -1.0]), torch.zeros(3), torch.tensor([1.0, 2.0, 4.0])
    each = F.huber_loss(input, target, reduction="none", weight=weight)
    torch.testing.assert_close(each, torch.tensor([0.125, 5.0, 2.0]))
    torch.testing.assert_close(F.huber_loss(input, target, weight=weight), each.mean())
    torch.testing.assert_close(F.huber_loss(input, target, reduction="sum", weight=weight), each.sum())


def test_attention_takes_a_mask_and_the_causal_one_together() -> None:
    torch.manual_seed(0)
    query, key = torch.randn(1, 1, 2, 4), torch.randn(1, 1, 3, 4)
    mask = torch.tensor([[True, False, True], [True, False, True]])
    both = F.scaled_dot_product_attention(query, key, key, mask, is_causal=True)
    torch.testing.assert_close(both, F.scaled_dot_product_attention(query, key, key, mask.tril()))
    with pytest.raises(RuntimeError, match="Explicit attn_mask should not be set when is_causal=True"):
        F.scaled_dot_product_attention(query[0, 0], key[0, 0], key[0, 0], mask, is_causal=True)


def test_affine_grids_of_one_step_warn_that_their_meaning_changed() -> None:
    with pytest.warns(UserWarning, match="affine_grid behavior has changed for unit-size grids"):
        F.affine_grid(torch.ones(1, 2, 3), (1, 1, 1, 2), align_corners=True)
