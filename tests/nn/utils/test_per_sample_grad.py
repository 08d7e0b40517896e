"""Gradients of each example in one backward pass are the gradients of each example alone."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
import retrograd.nn.functional as F
from retrograd import nn
from retrograd.nn.utils._expanded_weights import ExpandedWeight
from retrograd.nn.utils._expanded_weights.expanded_weights_utils import (
    forward_helper,
    is_batch_first,
    unpack_expanded_weight_or_tensor,
)
from retrograd.nn.utils._per_sample_grad import call_for_per_sample_grads

MODELS: list[tuple[Any, tuple[int, ...]]] = [
    (nn.Linear(3, 2), (4, 5, 3)), (nn.Linear(3, 2, bias=False), (4, 3)), (nn.Conv1d(2, 3, 2), (4, 2, 5)),
    (nn.Conv2d(2, 4, 2, padding=1, stride=2, groups=2), (4, 2, 5, 5)), (nn.Conv2d(2, 4, 2, padding="same"), (4, 2, 5, 5)),
    (nn.Conv2d(2, 4, 2, padding=1, padding_mode="circular"), (4, 2, 5, 5)), (nn.Conv3d(2, 3, 2, dilation=2), (2, 2, 4, 4, 4)),
    (nn.GroupNorm(2, 4), (3, 4, 5)), (nn.LayerNorm(3), (4, 3)), (nn.InstanceNorm2d(2, affine=True), (4, 2, 3, 3)),
    (nn.InstanceNorm1d(2, affine=True, track_running_stats=True), (4, 2, 3)),
    (nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.LayerNorm(4), nn.Linear(4, 2)), (4, 3))]


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("number", range(len(MODELS)))
def test_gradients_of_examples_are_those_of_each_alone(number: int, reduction: str) -> None:
    torch.manual_seed(number)
    model, shape = MODELS[number]
    x = torch.randn(shape, requires_grad=True)
    wanted: list[list[Any]] = [[] for _ in model.parameters()]
    for i in range(shape[0]):
        for kept, g in zip(wanted, torch.autograd.grad((model(x[i:i + 1]) ** 2).sum(), list(model.parameters())), strict=True):
            kept.append(g)
    for p in model.parameters():
        p.grad_sample = None
    outputs = call_for_per_sample_grads(model, loss_reduction=reduction)(x) ** 2
    (outputs.sum() if reduction == "sum" else outputs.flatten(1).sum(1).mean()).backward()
    for p, kept in zip(model.parameters(), wanted, strict=True):
        torch.testing.assert_close(p.grad_sample, torch.stack(kept), atol=1e-4, rtol=1e-4)
        assert p.grad is None
    assert x.grad is not None


def test_rows_of_an_embedding_belong_to_the_examples_that_use_them() -> None:
    table = nn.Embedding(5, 2)
    call_for_per_sample_grads(table)(torch.tensor([[0, 1], [2, 2]])).sum().backward()
    assert table.weight.grad_sample.sum(-1).tolist() == [[2, 2, 0, 0, 0], [0, 0, 4, 0, 0]]


def test_calls_are_refused_in_pytorchs_words() -> None:
    model, x = nn.Linear(3, 2), torch.ones(4, 3)
    for f, text in (
            (lambda: call_for_per_sample_grads(3), "Module passed must be nn.Module, got int"),
            (lambda: call_for_per_sample_grads(model, batch_size="a"),     # type: ignore[arg-type]
             "Batch size passed must be None or an integer, got str"),
            (lambda: call_for_per_sample_grads(model, batch_size=-1), "Batch size must be positive, got -1"),
            (lambda: call_for_per_sample_grads(model, loss_reduction="x"), "Expected loss_reduction argument to be sum"),
            (lambda: call_for_per_sample_grads(model, batch_size=3)(x), "size of 4 with ExpandedWeight of batch size 3"),
            (lambda: call_for_per_sample_grads(model)("a"), "Unable to find a tensor in the passed args and kwargs"),
            (lambda: call_for_per_sample_grads(model)(x[0]), "Input does not have a batch dimension"),
            (lambda: call_for_per_sample_grads(nn.Conv1d(2, 3, 2))(torch.ones(2, 5)), "only support convolution with batched"),
            (lambda: call_for_per_sample_grads(nn.BatchNorm1d(3))(x), "cannot handle function batch_norm"),
            (lambda: call_for_per_sample_grads(nn.Bilinear(3, 3, 2))(x, x[:3]), "input with batch size 4 and one with batch")):
        with pytest.raises(RuntimeError, match=text):
            f()     # type: ignore[no-untyped-call]
    call_for_per_sample_grads(model)(x).sum().backward()
    with pytest.raises(RuntimeError, match="accumulates the gradients, which will be incorrect"):
        call_for_per_sample_grads(model)


def test_expanded_weights_stand_for_weights_that_need_gradients() -> None:
    weight = torch.ones(2, 3, requires_grad=True)
    expanded = ExpandedWeight(weight, 4, "sum")
    assert expanded.shape == (2, 3) and expanded.dtype is torch.float32 and is_batch_first([1, expanded])
    assert unpack_expanded_weight_or_tensor(expanded) is weight and unpack_expanded_weight_or_tensor(3) is None
    for f, text in (
            (lambda: ExpandedWeight(3, 4, "sum"), "Can only make Expanded Weights of Tensors, got int"),
            (lambda: ExpandedWeight(torch.ones(2), 4, "sum"), "Can only build ExpandedWeights objects of tensors"),
            (lambda: torch.sin(expanded), "Expanded Weights encountered but cannot handle function sin"),
            (lambda: F.linear(expanded, torch.ones(2, 3)), "do not support inputs that are also ExpandedWeights"),
            (lambda: forward_helper(F.linear, ("a", expanded), {}), "requires a Tensor as the first input"),
            (lambda: forward_helper(F.linear, (torch.ones(()), expanded), {}), "requires a batch dimension but got an input"),
            (lambda: forward_helper(F.linear, (torch.ones(0, 3), expanded), {}), "0 is not a valid batch size"),
            (lambda: F.linear(torch.ones(4, 3), expanded, torch.ones(2, requires_grad=True)), "a mixture of ExpandedWeight")):
        with pytest.raises(RuntimeError, match=text):
            f()     # type: ignore[no-untyped-call]


@pytest.mark.parametrize("options", [{"batch_first": True}, {}, {"bidirectional": True, "num_layers": 2, "batch_first": True}])
@pytest.mark.parametrize("network", [nn.RNN, nn.GRU, nn.LSTM])
def test_gradients_of_sequences_are_those_of_each_alone(network: Any, options: dict[str, Any]) -> None:
    torch.manual_seed(0)
    model, first = network(3, 2, dtype=torch.float64, **options), options.get("batch_first", False)
    x = torch.randn(4, 3, 3, dtype=torch.float64) if first else torch.randn(3, 4, 3, dtype=torch.float64)
    call_for_per_sample_grads(model, batch_size=4, batch_first=first)(x)[0].pow(2).sum().backward()
    for i in range(4):
        alone = model(x[i:i + 1] if first else x[:, i:i + 1])[0].pow(2).sum()
        for p, g in zip(model.parameters(), torch.autograd.grad(alone, list(model.parameters())), strict=True):
            assert torch.allclose(p.grad_sample[i], g)


def test_sequences_of_other_lengths_count_as_long_as_they_last() -> None:
    model = nn.GRU(2, 2, dtype=torch.float64)
    sequences = [torch.ones(3, 2, dtype=torch.float64), torch.full((1, 2), 2.0, dtype=torch.float64)]
    call_for_per_sample_grads(model, batch_size=2)(nn.utils.rnn.pack_sequence(sequences))[0].data.sum().backward()
    for i, sequence in enumerate(sequences):
        wanted = torch.autograd.grad(model(sequence)[0].sum(), model.weight_ih_l0)[0]
        assert torch.allclose(model.weight_ih_l0.grad_sample[i], wanted)
    with pytest.raises(RuntimeError, match="needs an input with a batch size, got a 1D tensor"):
        call_for_per_sample_grads(nn.Embedding(3, 2))(torch.tensor([0, 1]))
