"""Attention of several heads gives PyTorch's numbers, recorded from it, and refuses what PyTorch refuses in its words."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd import nn

X = torch.linspace(-1, 1, 24).reshape(3, 2, 4)
Y = torch.linspace(-2, 1, 40).reshape(5, 2, 4)
HIDE = torch.tensor([[False] * 3 + [True] * 2] * 3)
PAD = torch.tensor([[False] * 4 + [True], [False] * 5])
CAUSAL = torch.ones(3, 3, dtype=torch.bool).triu(1)


def values(t: Any) -> list[float]:
    return [round(v, 5) for v in t.detach().flatten().tolist()][:6]


@pytest.mark.parametrize(("make", "expected"), [
    (lambda: nn.MultiheadAttention(4, 2)(X, X, X)[0], [0.09225, 0.07687, 0.05223, -0.00727, -0.10748, 0.02947]),
    (lambda: nn.MultiheadAttention(4, 2)(X, Y, Y, need_weights=False)[0],
     [0.35291, 0.19342, 0.18104, -0.12677, 0.18395, 0.1139]),
    (lambda: nn.MultiheadAttention(4, 2)(X, Y, Y, attn_mask=HIDE)[1], [0.31873, 0.31836, 0.36291, 0.0, 0.0, 0.32828]),
    (lambda: nn.MultiheadAttention(4, 2)(X, Y, Y, key_padding_mask=PAD, average_attn_weights=False)[1],
     [0.36951, 0.27464, 0.20413, 0.15172, 0.0, 0.26832]),
    (lambda: nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True)(X, Y, Y)[0],
     [0.21863, 0.12359, 0.11254, -0.0702, 0.09907, 0.06721]),
    (lambda: nn.MultiheadAttention(4, 2, kdim=3, vdim=2)(X, Y[..., :3], Y[..., :2])[0],
     [-0.39329, -0.39525, -0.23637, 0.39601, -0.21516, -0.24435]),
    (lambda: nn.MultiheadAttention(4, 2, batch_first=True)(X.transpose(0, 1), Y.transpose(0, 1), Y.transpose(0, 1))[0],
     [0.35291, 0.19342, 0.18104, -0.12677, 0.38566, 0.06292]),
    (lambda: nn.MultiheadAttention(4, 2)(X[:, 0], Y[:, 0], Y[:, 0])[1],
     [0.20062, 0.17703, 0.17485, 0.19705, 0.25046, 0.19453]),
    (lambda: nn.MultiheadAttention(4, 2)(X, X, X, attn_mask=CAUSAL, is_causal=True, need_weights=False)[0],
     [0.52683, 0.04535, 0.22648, -0.04974, 0.31983, 0.02611]),
])
def test_attention_gives_the_recorded_values(make: Any, expected: list[float]) -> None:
    torch.manual_seed(0)
    assert values(make()) == pytest.approx(expected, abs=2e-5)


def test_weights_are_none_unless_wanted() -> None:
    assert nn.MultiheadAttention(4, 2)(X, X, X, need_weights=False)[1] is None


def test_one_tensor_in_all_places_is_projected_once() -> None:
    made, _ = nn.MultiheadAttention(4, 2, batch_first=True)(X, X, X)
    pending, seen = [made.grad_fn], set()
    while pending:
        node = pending.pop()
        if node is not None and node not in seen:
            seen.add(node)
            pending += [following for following, _ in node.next_functions]
    assert sum(node.name() == "TBackward0" for node in seen) == 2       # into the heads and out of them


@pytest.mark.parametrize(("arguments", "settings", "error", "message"), [
    ((X[0, 0],) * 3, {}, AssertionError, "query should be unbatched 2D or batched 3D tensor but received 1-D query tensor"),
    ((X, X[:, 0], X[:, 0]), {}, AssertionError, "For batched (3-D) `query`, expected `key` and `value` to be 3-D but found 2-D "
     "and 2-D tensors respectively"),
    ((X, X, X[:2]), {}, AssertionError, "key shape torch.Size([3, 2, 4]) does not match value shape torch.Size([2, 2, 4])"),
    ((X, X, X), {"attn_mask": torch.zeros(2, 2)}, RuntimeError,
     "The shape of the 2D attn_mask is torch.Size([2, 2]), but should be (3, 3)."),
    ((X, X, X), {"key_padding_mask": torch.zeros(2, 4, dtype=torch.bool)}, AssertionError,
     "Expected key_padded_mask.shape[1] to be 3, but got 4"),
    ((X, X, X), {"key_padding_mask": torch.zeros(2, 3, dtype=torch.int64)}, AssertionError,
     "only bool and floating types of key_padding_mask are supported"),
    ((X, X, X), {"is_causal": True}, RuntimeError, "Need attn_mask if specifying the is_causal hint."),
    ((Y[..., :3],) * 3, {}, AssertionError, "was expecting embedding dimension of 4, but got 3"),
])
def test_what_does_not_fit_is_refused(arguments: Any, settings: dict[str, Any], error: Any, message: str) -> None:
    with pytest.raises(error) as caught:
        nn.MultiheadAttention(4, 2)(*arguments, **settings)
    assert str(caught.value).startswith(message)


def test_masks_of_different_kinds_are_warned_of() -> None:
    with pytest.warns(UserWarning, match="Support for mismatched key_padding_mask and attn_mask is deprecated"):
        nn.MultiheadAttention(4, 2)(X, Y, Y, key_padding_mask=PAD, attn_mask=torch.zeros(3, 5))


def test_second_derivatives_are_right() -> None:
    layer = nn.MultiheadAttention(2, 1, dtype=torch.float64)
    x = torch.linspace(-1, 1, 4, dtype=torch.float64).reshape(2, 1, 2).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda t: layer(t, t, t)[0], (x,))
