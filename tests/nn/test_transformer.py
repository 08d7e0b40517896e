"""Transformers give PyTorch's numbers; the golden values below were recorded from it."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd import nn

X = torch.linspace(-1, 1, 24).reshape(3, 2, 4)
Y = torch.linspace(-2, 1, 40).reshape(5, 2, 4)
CAUSAL = torch.ones(3, 3, dtype=torch.bool).triu(1)
pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")


def values(t: Any) -> list[float]:
    return [round(v, 5) for v in t.detach().flatten().tolist()][:6]


def encoder(**settings: Any) -> Any:
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, **settings), 2, nn.LayerNorm(4))


@pytest.mark.parametrize(("make", "expected"), [
    (lambda: nn.TransformerEncoderLayer(4, 2, 8)(X), [-1.53187, -0.24677, 0.81646, 0.96219, -0.95947, -0.90267]),
    (lambda: nn.TransformerEncoderLayer(4, 2, 8, activation="gelu", norm_first=True, bias=False)(X),
     [-0.62824, -0.91304, -0.91642, -1.32013, -0.71328, -0.65649]),
    (lambda: nn.TransformerDecoderLayer(4, 2, 8)(X, Y), [-1.33184, 0.19617, -0.31045, 1.44612, -1.16287, 0.37308]),
    (lambda: nn.TransformerDecoderLayer(4, 2, 8, norm_first=True).eval()(X, Y, tgt_mask=CAUSAL),
     [-0.21701, 0.25882, -1.57002, 1.11628, 0.04048, 0.34045]),
    (lambda: encoder()(X, mask=CAUSAL), [1.40066, -0.43336, 0.34776, -1.31505, 1.56245, -0.8636]),
    (lambda: nn.Transformer(4, 2, 1, 1, 8).eval()(Y, X, tgt_mask=CAUSAL),
     [-0.29307, -0.18609, 1.61156, -1.1324, -0.83736, 0.00968]),
])
def test_transformer_gives_the_recorded_values(make: Any, expected: list[float]) -> None:
    torch.manual_seed(0)
    assert values(make()) == pytest.approx(expected, abs=5e-5)


def test_layers_of_a_stack_start_alike_and_are_their_own() -> None:
    stack = encoder()
    first, second = stack.layers
    assert torch.equal(first.linear1.weight, second.linear1.weight) and first.linear1.weight is not second.linear1.weight


def test_padded_places_are_zeros_where_nothing_is_learned() -> None:
    stack = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 1).eval()
    x, padding = X.transpose(0, 1), torch.tensor([[False, False, True], [False, False, False]])
    with torch.no_grad():
        made = stack(x, src_key_padding_mask=padding)
    assert made[0, 2].tolist() == [0.0] * 4 and made[1, 2].abs().sum() > 0
    assert stack(x, src_key_padding_mask=padding)[0, 2].abs().sum() > 0


def test_reason_for_working_on_padded_places_is_said() -> None:
    with pytest.warns(UserWarning, match="because encoder_layer.norm_first was True"):
        encoder(batch_first=True, norm_first=True)


def test_what_does_not_fit_is_refused() -> None:
    model = nn.Transformer(4, 2, 1, 1, 8)
    with pytest.raises(RuntimeError, match="the batch number of src and tgt must be equal"):
        model(X, X[:, :1])
    with pytest.raises(RuntimeError, match="the feature number of src and tgt must be equal to d_model"):
        model(X[..., :2], X)
    with pytest.raises(RuntimeError, match="activation should be relu/gelu, not tanh"):
        nn.TransformerEncoderLayer(4, 2, activation="tanh")


def test_mask_hides_what_comes_after() -> None:
    mask = nn.Transformer.generate_square_subsequent_mask(3)
    assert mask.tolist() == [[0.0, -float("inf"), -float("inf")], [0.0, 0.0, -float("inf")], [0.0, 0.0, 0.0]]
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(4, 2, 8).eval()
    changed = X.clone()
    changed[2] += 1
    assert torch.allclose(layer(X, mask)[:2], layer(changed, mask)[:2])
