"""Nested tensors that are split, joined and looked up part by part."""
from __future__ import annotations

import pytest

import retrograd as torch


def nested():
    return torch.nested.nested_tensor([torch.arange(6.0).view(2, 3), torch.arange(3.0).view(1, 3)])


def test_the_last_dimension_is_split():
    first, second = nested().split([1, 2], -1)
    assert first.unbind()[0].tolist() == [[0.0], [3.0]] and second.unbind()[1].tolist() == [[1.0, 2.0]]
    with pytest.raises(RuntimeError, match="split_with_sizes expects split_sizes to sum exactly to 3"):
        nested().split([1, 1], -1)


def test_parts_are_joined_one_by_one():
    assert [part.shape for part in torch.cat([nested(), nested()], -1).unbind()] == [(2, 6), (1, 6)]
    assert torch.is_same_size(nested(), nested()) and not torch.is_same_size(nested(), torch.cat([nested(), nested()], -1))


def test_rows_are_looked_up_for_each_part():
    indices = torch.nested.nested_tensor([torch.tensor([0, 1]), torch.tensor([1])])
    found = torch.nn.functional.embedding(indices, torch.eye(2))
    assert [part.tolist() for part in found.unbind()] == [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0]]]


def test_what_is_missing_says_so():
    with pytest.raises(NotImplementedError, match=r"aten::mean.dim.*NestedTensorCPU"):
        nested().mean(-1)
    with pytest.raises(ValueError, match="Expected jagged_dim >=1, but got 0"):
        torch.nested.nested_tensor_from_jagged(torch.ones(3, 2), torch.tensor([0, 1, 3]), jagged_dim=0)


def test_heads_of_keys_divide_those_of_queries():
    q, k = torch.ones(1, 4, 3, 2), torch.ones(1, 3, 3, 2)
    with pytest.raises(RuntimeError, match="Number of heads in key and value must divide the number of heads in query"):
        torch.nn.functional.scaled_dot_product_attention(q, k, k, enable_gqa=True)
