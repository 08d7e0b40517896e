"""Edges of layers and functions, where PyTorch refuses, or gives values that are easily got wrong."""
from __future__ import annotations

import pickle
from typing import Any

import pytest

import retrograd as torch
from retrograd import nn
from retrograd.nn import functional as F
from retrograd.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

TABLE = torch.arange(12.0).reshape(6, 2)


# ---- loading
def test_scalar_takes_a_single_value_only() -> None:
    class Scale(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.by = nn.Parameter(torch.tensor(1.0))

    module = Scale()
    module.load_state_dict({"by": torch.tensor([3.0])})
    assert module.by.item() == 3.0
    with pytest.raises(RuntimeError, match=r"size mismatch for by: copying a param with shape torch.Size\(\[4\]\)"):
        module.load_state_dict({"by": torch.ones(4)})


def test_count_of_batches_survives_a_state_without_it() -> None:
    norm = nn.BatchNorm1d(2)
    norm(torch.randn(4, 2))
    norm.load_state_dict({}, strict=False)
    assert norm.num_batches_tracked.item() == 1


# ---- bags
def test_rows_of_indices_are_bags_whatever_the_last_offset_means() -> None:
    rows = torch.tensor([[1, 2], [3, 4]])
    assert F.embedding_bag(rows, TABLE, include_last_offset=True).tolist() == [[3.0, 4.0], [7.0, 8.0]]
    assert F.embedding_bag(rows, TABLE, padding_idx=-3, mode="sum").tolist() == [[6.0, 8.0], [8.0, 9.0]]
    assert F.embedding_bag(torch.tensor([[5, 1]]), TABLE, padding_idx=-1, mode="sum").tolist() == [[2.0, 3.0]]


@pytest.mark.parametrize(("indices", "offsets", "settings", "error", "text"), [
    ([1, 2, 3], [0, 5, 1], {}, IndexError, "index out of range in self"),
    ([1, 2, 3], [0, 2, 1], {}, RuntimeError, "Offsets must not decrease"),
    ([1, 9], [0], {}, RuntimeError, r"Index 1 of input takes value 9 which is not in the valid range \[0, 6\)"),
    ([1, 9], [0], {"mode": "max"}, RuntimeError, "Expected idx >= 0 && idx < num_embeddings but found idx to be 9"),
    ([1, 2], [0], {"padding_idx": 7}, RuntimeError, "padding_idx must be within the number of embeddings, -6 through 5"),
])
def test_bags_that_cannot_be_are_refused(indices: Any, offsets: Any, settings: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        F.embedding_bag(torch.tensor(indices), TABLE, torch.tensor(offsets), **settings)


# ---- images of bytes; golden values are recorded from PyTorch
@pytest.mark.parametrize(("settings", "expected"), [
    ({"mode": "bilinear"}, [13, 28, 43, 58, 93, 108, 123, 138, 173, 188, 203, 218]),
    ({"mode": "bilinear", "align_corners": True}, [0, 17, 33, 50, 90, 107, 123, 140, 180, 197, 213, 230]),
    ({"mode": "bicubic"}, [10, 25, 41, 56, 92, 107, 123, 138, 174, 189, 205, 220]),
    ({"mode": "bilinear", "antialias": True}, [22, 36, 50, 64, 94, 108, 122, 136, 166, 180, 194, 208]),
    ({"mode": "bicubic", "antialias": True}, [14, 28, 44, 58, 93, 107, 123, 137, 172, 186, 202, 216]),
])
def test_bytes_are_mixed_and_rounded(settings: Any, expected: list[int]) -> None:
    image = torch.arange(24, dtype=torch.uint8).reshape(1, 1, 4, 6) * 10
    made = F.interpolate(image, size=(3, 4), **settings)
    assert made.dtype is torch.uint8 and made.flatten().tolist() == expected


def test_scale_factor_is_not_recomputed_from_a_size() -> None:
    with pytest.raises(ValueError, match="recompute_scale_factor is not meaningful with an explicit size"):
        F.interpolate(torch.ones(1, 1, 3, 3), size=2, recompute_scale_factor=True)


@pytest.mark.parametrize(("pad", "expected"), [((-1, 2), [1.0, 2.0, 3.0, 1.0, 2.0]), ((1, -2), [1.0, 0.0, 1.0]),
                                               ((1, 2), [3.0, 0.0, 1.0, 2.0, 3.0, 0.0, 1.0])])
def test_negative_padding_is_cut_off_before_the_circle_closes(pad: Any, expected: list[float]) -> None:
    assert F.pad(torch.arange(4.0).reshape(1, 1, 4), pad, "circular").flatten().tolist() == expected


def test_empty_batch_leaves_the_statistics() -> None:
    norm, x = nn.BatchNorm2d(3), torch.ones(0, 3, 2, 2, requires_grad=True)
    norm(x).sum().backward()
    assert norm.running_mean.tolist() == [0.0] * 3 and norm.running_var.tolist() == [1.0] * 3
    assert x.grad.shape == x.shape and norm.weight.grad.tolist() == [0.0] * 3


@pytest.mark.parametrize("total", [0, 2])
def test_padded_length_is_at_least_the_longest(total: int) -> None:
    packed = pack_padded_sequence(torch.arange(6.0).reshape(3, 2, 1), torch.tensor([3, 1]))
    with pytest.raises(ValueError, match=f"got total_length={total} and max sequence length being 3"):
        pad_packed_sequence(packed, total_length=total)


# ---- recurrent networks
@pytest.mark.parametrize(("call", "text"), [
    (lambda: nn.LSTM(3, 4)(torch.ones(5, 2, 3), (torch.ones(1, 2, 4), torch.ones(1, 3, 4))),
     r"Expected hidden\[1\] size \(1, 2, 4\), got \[1, 3, 4\]"),
    (lambda: nn.LSTM(3, 4)(torch.ones(5, 2, 3), (torch.ones(2, 4), torch.ones(2, 4))),
     r"For batched 3-D input, hx and cx should also be 3-D but got \(2-D, 2-D\) tensors"),
    (lambda: nn.GRU(3, 4)(torch.ones(5, 3), torch.ones(1, 2, 4)), "For unbatched 2-D input, hx should also be 2-D but got 3-D"),
    (lambda: nn.GRUCell(3, 4)(torch.ones(2, 2)), "input has inconsistent input_size: got 2 expected 3"),
    (lambda: nn.RNNCell(3, 4)(torch.ones(2, 3), torch.ones(3, 4)), "Input batch size 2 doesn't match hidden0 batch size 3"),
    (lambda: nn.RNNCell(3, 4)(torch.ones(2, 3), torch.ones(2, 5)), "hidden0 has inconsistent hidden_size: got 5, expected 4"),
])
def test_states_that_do_not_fit_are_refused(call: Any, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        call()


# ---- modules
def test_compiled_call_is_used_and_not_pickled() -> None:
    layer = nn.Linear(2, 2)
    seen = []
    layer._compiled_call_impl = lambda x: seen.append(x) or "compiled"
    assert layer(3) == "compiled" and seen == [3]
    assert pickle.loads(pickle.dumps(nn.Linear(2, 2)))._compiled_call_impl is None
    layer._compiled_call_impl = None
    assert layer(torch.ones(2)).shape == (2,)


def test_moving_from_meta_says_what_to_do_instead() -> None:
    with pytest.raises(NotImplementedError, match=r"Please use torch.nn.Module.to_empty\(\) instead of torch.nn.Module.to\(\)"):
        nn.Linear(2, 2, device="meta").to("cpu")


def test_batch_norm_of_an_empty_batch_checks_nothing() -> None:
    layer = torch.nn.BatchNorm1d(3)
    assert layer(torch.ones(0, 2, 2)).shape == (0, 2, 2) and layer.eval()(torch.ones(0, 2)).shape == (0, 2)
    assert layer.running_mean.tolist() == [0.0] * 3


def test_layer_norm_over_no_elements_has_mean_zero() -> None:
    _, mean, rstd = torch.native_layer_norm(torch.zeros(2, 0), (0,), None, None, 1e-5)
    assert mean.tolist() == [[0.0], [0.0]] and rstd.isnan().all()


def test_losses_broadcast_before_they_look_at_the_reduction() -> None:
    with pytest.raises(RuntimeError, match="must match the size of tensor b"), pytest.warns(UserWarning, match="target size"):
        torch.nn.functional.mse_loss(torch.ones(4), torch.ones(2, 3), reduction="what")


@pytest.mark.parametrize("training", [False, True])
def test_batch_norm_reads_the_gradient_of_one_example_by_its_strides(training: bool) -> None:
    torch.manual_seed(0)
    x = torch.randn(1, 3, 2, 2, requires_grad=True)
    layer = torch.nn.BatchNorm2d(3).train(training)
    grad = torch.randn(1, 4, 3).transpose(1, 2).unflatten(2, (2, 2))
    assert not grad.is_contiguous()
    for one, other in zip(torch.autograd.grad(layer(x), [x, *layer.parameters()], grad),
                          torch.autograd.grad(layer(x), [x, *layer.parameters()], grad.contiguous()), strict=True):
        torch.testing.assert_close(one, other)
