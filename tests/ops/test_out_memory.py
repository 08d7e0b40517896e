"""out= tensors that lie in the memory of operands: which ops refuse them, as PyTorch does."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd.core.hooks import hooks

OVERLAP = "some elements of the input tensor and the written-to tensor refer to a single memory location"


def numbers() -> torch.Tensor:
    return torch.arange(12.0)


@pytest.mark.parametrize("name", ["abs", "neg", "ceil", "floor", "trunc", "round", "sign", "frac", "sgn", "sin", "nan_to_num",
                                  "square"])
def test_elementwise_op_refuses_a_part_of_its_operand(name) -> None:
    x = numbers()
    with pytest.raises(RuntimeError, match=OVERLAP):
        getattr(torch, name)(x[:5], out=x[1:6])
    assert getattr(torch, name)(x, out=x) is x


@pytest.mark.parametrize("run", [
    lambda x: torch.where(x[:5] > 2, x[:5], x[2:7], out=x[1:6]),
    lambda x: torch.maximum(x[:5], x[6:11], out=x[1:6]),
    lambda x: torch.cumsum(x[:5], 0, out=x[1:6]),
    lambda x: torch.cumprod(x[:5], 0, out=x[1:6]),
    lambda x: torch.logcumsumexp(x[:5], 0, out=x[1:6]),
    lambda x: torch.sort(x[:5], out=(x[1:6], torch.empty(5, dtype=torch.int64))),
    lambda x: torch.msort(x[:5], out=x[1:6]),
    lambda x: torch.topk(x, 3, out=(x[:3], torch.empty(3, dtype=torch.int64))),
    lambda x: torch.max(x.view(2, 6), 0, out=(x[:6], torch.empty(6, dtype=torch.int64))),
    lambda x: torch.aminmax(x.view(2, 6), dim=0, out=(x[:6], torch.empty(6))),
    lambda x: torch.mode(x.view(2, 6), 0, out=(x[:6], torch.empty(6, dtype=torch.int64))),
], ids=range(11))
def test_op_refuses_a_part_of_its_operand(run) -> None:
    with pytest.raises(RuntimeError, match=OVERLAP):
        run(numbers())


@pytest.mark.parametrize("run", [
    lambda x: torch.gather(x, 0, torch.tensor([1, 2]), out=x[:2]),
    lambda x: torch.index_select(x, 0, torch.arange(12), out=x),
    lambda x: torch.take(x, torch.arange(12), out=x),
    lambda x: torch.take_along_dim(x, torch.arange(12), 0, out=x),
    lambda x: torch.masked_select(x, x > -1, out=x),
    lambda x: torch.masked_select(x[:6], x[6:] > 0, out=x[3:9]),
    lambda x: torch.kthvalue(x, 2, out=(x[0], torch.tensor(0))),
    lambda x: torch.cross(x[:3], x[3:6], 0, out=x[:3]),
    lambda x: torch.linalg.cross(x[:3], x[3:6], out=x[:3]),
    lambda x: torch.scatter(x, 0, torch.tensor([1]), x[:1], out=x),
], ids=range(10))
def test_op_that_reads_elsewhere_refuses_its_operand(run) -> None:
    with pytest.raises(RuntimeError, match=OVERLAP):
        run(numbers())


def test_index_in_the_memory_of_the_result_is_refused() -> None:
    index = torch.zeros(3, dtype=torch.int64)
    with pytest.raises(RuntimeError, match=OVERLAP):
        torch.take(torch.arange(3), index, out=index)
    with pytest.raises(RuntimeError, match=OVERLAP):
        torch.gather(torch.arange(3), 0, index[:2], out=index[1:])
    assert torch.gather(torch.arange(3, 6), 0, index, out=index).tolist() == [3, 3, 3]


def test_scatter_writes_into_its_first_operand() -> None:
    x = numbers()
    assert torch.scatter(x, 0, torch.tensor([1]), torch.tensor([9.0]), out=x) is x and x[1] == 9


def test_reduction_and_product_write_into_their_operands() -> None:
    x = numbers()
    torch.sum(x.view(2, 6), 0, out=x[:6])
    assert x[:6].tolist() == [6, 8, 10, 12, 14, 16]
    torch.mm(x[:4].view(2, 2), torch.eye(2), out=x[:4].view(2, 2))
    assert x[:4].tolist() == [6, 8, 10, 12]


@pytest.mark.parametrize("call", [torch.sin, lambda x, out: torch.add(x, x, out=out), lambda x, out: torch.sum(x, 0, out=out),
                                  lambda x, out: torch.cat([x, x], out=out)], ids=["sin", "add", "sum", "cat"])
def test_output_that_shares_its_memory_with_no_other_is_resized_alone(call, monkeypatch) -> None:
    """A search for other tensors on its memory goes through all objects of the process."""
    monkeypatch.setattr(hooks, "resize_storage", None)
    out = torch.empty(0)
    assert call(torch.ones(2, 3), out=out) is out and out.numel() >= 3
    assert out.resize_(4, 5).shape == (4, 5)


def test_outputs_that_share_memory_are_resized_together() -> None:
    out = torch.empty(0)
    other = out.detach()
    torch.add(torch.ones(3), 1, out=out)
    assert other.shape == (0,) and other.resize_(3).tolist() == [2, 2, 2]
