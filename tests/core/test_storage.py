"""What is asked of arrays all the time: the compiled answers are those of the Python definitions."""
from __future__ import annotations

import sys

import numpy as np
import pytest

import retrograd as torch
from retrograd.core import storage

DENSE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
READ_ONLY = DENSE.copy()
READ_ONLY.flags.writeable = False
ARRAYS = dict(
    dense=DENSE, turned=DENSE.transpose(2, 0, 1), slices=DENSE[:, ::2, 1:], spread=np.broadcast_to(np.float64(1), (2, 3)),
    scalar=np.asarray(1.5), vector=np.arange(3), ones=DENSE[:1, :1], empty=np.empty((2, 0, 3)), nothing=np.empty(0)[::2],
    bytes=np.zeros(5, np.uint8), complexes=np.ones((2, 2), np.complex128)[::-1], part=np.ones((2, 2), np.complex128).imag,
    read_only=READ_ONLY,
)
SIZES = [(24,), (4, 6), [4, -1], (-1,), (-1, -1), (5, -1), (0, -1), (), (3, 2, 2, 2), (2**40, 2**40)]


@pytest.mark.parametrize("name", ARRAYS)
def test_answers_are_those_of_the_definition(name):
    array = ARRAYS[name]
    assert storage.address(array) == storage.address_of(array)
    assert storage.strides_of(array) == storage.element_strides(array)


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_reshaped_is_the_view_that_numpy_makes(name, size):
    array = ARRAYS[name]
    made, expected = storage.reshaped(array, size), storage.reshaped_array(array, size)
    assert (made is None) == (expected is None)
    if made is not None:
        assert made.shape == expected.shape and made.strides == expected.strides and made.dtype is expected.dtype
        assert np.shares_memory(made, array) and made.flags.writeable == expected.flags.writeable
        assert storage.owner_of(made) is storage.owner_of(array)


@pytest.mark.parametrize("strides", [(3, 1), (1, 2), (4, 2), (0, 1)])
def test_empty_strided_has_the_strides_asked_for(strides):
    assert storage.strides_of(storage.empty_strided((2, 3), strides, np.dtype(np.float32))) == strides


@pytest.mark.parametrize("offset", [0, 1, 5])
def test_strided_lies_at_its_offset(offset):
    whole = np.arange(12, dtype=np.float64)
    made = storage.strided(whole, (2, 2), (3, 1), offset)
    assert np.array_equal(made, [[offset, offset + 1], [offset + 3, offset + 4]])
    assert storage.offset_of(made) == offset


def test_strided_beyond_the_storage_is_refused():
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 32"):
        storage.strided(np.zeros(4), (2, 2), (4, 1), 0)


def test_storages_are_seen_as_tensors_over_the_same_memory() -> None:
    x = torch.tensor([1.0, 2.0])
    seen = torch.asarray(x.untyped_storage()[4:8], dtype=torch.uint8).view(torch.float32)
    seen.zero_()
    assert x.tolist() == [1, 0]


def test_the_size_of_a_storage_counts_its_bytes():
    small, large = torch.zeros(1), torch.zeros(1001)
    assert sys.getsizeof(large.untyped_storage()) - sys.getsizeof(small.untyped_storage()) == 4000
    assert sys.getsizeof(large._typed_storage()) - sys.getsizeof(small._typed_storage()) == 4000
