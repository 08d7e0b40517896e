"""Modules and tensors without data beside others: what is refused, and in which words."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd import nn
from retrograd.nn import functional as F


def outline(*shape):
    return torch.ones(*shape, device="meta")


@pytest.mark.parametrize("compute", [
    lambda x: x + outline(2),
    lambda x: torch.cat([x, outline(2)]),
    lambda x: torch.where(x > 0, x, outline(2)),
    lambda x: torch.lerp(x, outline(2), 0.5),
    lambda x: F.mse_loss(x, outline(2)),
    lambda x: nn.Linear(2, 2, device="meta")(x[None]),
    lambda x: nn.LayerNorm(2, device="meta")(x),
])
def test_tensors_with_and_without_data_are_not_computed_together(compute):
    with pytest.raises(RuntimeError, match=r"Tensor on device (meta|cpu) is not on the expected device (cpu|meta)!"):
        compute(torch.ones(2))


def test_numbers_on_the_cpu_may_stand_beside_tensors_without_data():
    assert (outline(2) * torch.tensor(2.0)).is_meta
    assert outline(3, 2)[torch.tensor([0, 1])].shape == (2, 2)
    assert nn.Embedding(3, 2, device="meta")(torch.tensor([1])).is_meta


def test_values_cannot_be_taken_out_of_a_tensor_without_data():
    for take in (lambda: torch.ones(2).copy_(outline(2)), lambda: outline(2).tolist()):
        with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
            take()
    with pytest.raises(NotImplementedError, match="aten::equal"):
        torch.equal(outline(2), outline(2))
    with pytest.raises(RuntimeError, match='While copying the parameter named "weight".*Cannot copy out of meta tensor'):
        nn.Linear(2, 2, bias=False).load_state_dict({"weight": outline(2, 2)})


@pytest.mark.parametrize("network", [nn.RNN, nn.GRU, nn.LSTM])
def test_recurrent_networks_without_data_make_their_states_there(network):
    output, state = network(3, 2, num_layers=2, device="meta")(outline(4, 5, 3))
    assert output.is_meta and output.shape == (4, 5, 2)
    assert (state[1] if network is nn.LSTM else state).shape == (2, 5, 2)
