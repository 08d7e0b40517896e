"""A tensor gets other memory or another size in place."""
from __future__ import annotations

import pytest

import retrograd as torch


def test_smaller_size_keeps_elements_where_they_lie() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    before = x.data_ptr()
    assert x.resize_(2, 2).tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert x.data_ptr() == before


def test_larger_size_keeps_the_old_elements_in_front() -> None:
    x = torch.arange(4.0)
    x.resize_(2, 4)
    assert x[0].tolist() == [0.0, 1.0, 2.0, 3.0]


def test_resize_of_a_differentiable_tensor_is_refused() -> None:
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        torch.ones(2, requires_grad=True).resize_(3)


def test_resize_as_takes_the_size_of_a_template() -> None:
    x = torch.arange(6.0)
    assert x.resize_as_(torch.empty(2, 2)).tolist() == [[0.0, 1.0], [2.0, 3.0]]


def test_resize_to_channels_last_changes_strides() -> None:
    x = torch.empty(1, 2, 3, 4).resize_(1, 2, 3, 4, memory_format=torch.channels_last)
    assert x.stride() == (24, 1, 8, 2)


def test_set_without_source_empties() -> None:
    x = torch.ones(2, 3)
    assert x.set_() is x
    assert x.shape == (0,)


def test_set_to_tensor_shares_its_memory() -> None:
    x, y = torch.ones(2), torch.zeros(2, 3)
    x.set_(y)
    x[0, 0] = 5.0
    assert y[0, 0] == 5.0 and x.shape == (2, 3)


def test_set_to_part_of_tensor_reads_from_its_offset() -> None:
    y = torch.arange(10.0)
    assert torch.ones(1).set_(y, 1, (2, 2), (4, 1)).tolist() == [[1.0, 2.0], [5.0, 6.0]]


def test_set_to_storage_sees_all_of_it() -> None:
    y = torch.arange(4.0)
    assert torch.ones(1).set_(y.untyped_storage()).tolist() == [0.0, 1.0, 2.0, 3.0]
    assert torch.ones(1).set_(y.untyped_storage(), 1, (2,)).tolist() == [1.0, 2.0]


def test_set_to_another_dtype_is_refused() -> None:
    with pytest.raises(RuntimeError, match="Could not set tensor of type"):
        torch.ones(2).set_(torch.ones(2, dtype=torch.float64))


def test_only_inference_tensors_are_resized_while_they_require_grad() -> None:
    with torch.inference_mode():
        assert torch.ones(2, requires_grad=True).resize_(3).shape == (3,)
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"), torch.no_grad():
        torch.ones(2, requires_grad=True).resize_(3)


def test_set_with_a_geometry_counts_from_the_offset_of_the_source() -> None:
    x = torch.arange(6.).reshape(2, 3)
    y = torch.zeros(2).set_(x[1], 1, (2,), (1,))
    assert y.storage_offset() == 4 and y.tolist() == [4.0, 5.0]


def test_set_with_a_geometry_takes_memory_of_another_dtype() -> None:
    x = torch.tensor([1.0, 0.0])
    y = torch.zeros(1, dtype=torch.int32).set_(x, 0, (2,), (1,))
    assert y.dtype is torch.int32 and y.tolist() == [0x3F800000, 0]
