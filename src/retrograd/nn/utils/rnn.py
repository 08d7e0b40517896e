"""Sequences of different lengths in one tensor."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import retrograd as torch
from retrograd import Tensor

__all__ = ["PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
           "pad_sequence", "unpack_sequence", "unpad_sequence"]


class Packed(NamedTuple):
    """The fields of a packed sequence."""

    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


Packed.__name__ = Packed.__qualname__ = "PackedSequence_"


class PackedSequence(Packed):
    """Sequences of different lengths without padding: the rows of all first steps, those of all second steps, and so on.

    >>> import retrograd as torch
    >>> packed = pack_sequence([torch.tensor([1.0, 2.0]), torch.tensor([3.0])])
    >>> packed.data, packed.batch_sizes
    (tensor([1., 3., 2.]), tensor([2, 1]))
    """

    __slots__ = ()

    def __new__(cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None, unsorted_indices: Any = None) -> Any:
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes.device.type != "cpu":
            raise ValueError("batch_sizes should always be on CPU. Instances of PackedSequence should never be created "
                             "manually. They should be instantiated by functions like pack_sequence and "
                             "pack_padded_sequences in nn.utils.rnn.")
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """The same with the data moved or cast."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else type(self)(data, *self[1:])

    def cpu(self) -> Any:
        return self.to(device="cpu")

    def double(self) -> Any:
        return self.to(dtype=torch.double)

    def float(self) -> Any:
        return self.to(dtype=torch.float)

    def half(self) -> Any:
        return self.to(dtype=torch.half)

    def long(self) -> Any:
        return self.to(dtype=torch.long)

    def int(self) -> Any:
        return self.to(dtype=torch.int)

    def short(self) -> Any:
        return self.to(dtype=torch.short)

    def char(self) -> Any:
        return self.to(dtype=torch.int8)

    def byte(self) -> Any:
        return self.to(dtype=torch.uint8)

    def cuda(self, *args: Any, **kwargs: Any) -> Any:
        return self.to(*args, device="cuda", **kwargs)

    def pin_memory(self) -> Any:
        return type(self)(self.data.pin_memory(), *self[1:])

    def is_pinned(self) -> bool:
        return bool(self.data.is_pinned())

    @property
    def is_cuda(self) -> bool:
        return bool(self.data.is_cuda)


def invert_permutation(permutation: Any) -> Any:
    """The order that undoes an order.

    >>> import retrograd as torch
    >>> invert_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    return None if permutation is None else torch.argsort(permutation)


def pack_padded_sequence(input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:
    """Padded sequences without their padding; the longest must come first, unless `enforce_sorted` is False.

    >>> import retrograd as torch
    >>> pack_padded_sequence(torch.tensor([[1.0, 2.0], [3.0, 0.0]]), [2, 1], batch_first=True).data
    tensor([1., 3., 2.])
    """
    lengths = torch.as_tensor(lengths, dtype=torch.int64)
    order = None
    if not enforce_sorted:
        lengths, order = torch.sort(lengths, descending=True)
        input = input.index_select(0 if batch_first else 1, order)
    data, batch_sizes = torch._pack_padded_sequence(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, order, None)


def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0,
                        total_length: int | None = None) -> tuple[Any, Any]:
    """Packed sequences with padding, and their lengths.

    >>> import retrograd as torch
    >>> packed = pack_sequence([torch.tensor([1.0, 2.0]), torch.tensor([3.0])])
    >>> pad_packed_sequence(packed, batch_first=True)
    (tensor([[1., 2.],
            [3., 0.]]), tensor([2, 1]))
    """
    if total_length is not None and total_length < sequence.batch_sizes.size(0):
        raise ValueError("Expected total_length to be at least the length of the longest sequence in input, but got "
                         f"total_length={total_length} and max sequence length being {sequence.batch_sizes.size(0)}")
    padded, lengths = torch._pad_packed_sequence(sequence.data, sequence.batch_sizes, batch_first, padding_value,
                                                 -1 if total_length is None else total_length)
    order = sequence.unsorted_indices
    if order is not None:
        return padded.index_select(0 if batch_first else 1, order), lengths[order]
    return padded, lengths


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """Sequences of different lengths, packed.

    >>> import retrograd as torch
    >>> pack_sequence([torch.tensor([3.0]), torch.tensor([1.0, 2.0])], enforce_sorted=False).data
    tensor([1., 3., 2.])
    """
    lengths = torch.as_tensor([s.size(0) for s in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Any]:
    """The sequences of a packed one.

    >>> import retrograd as torch
    >>> unpack_sequence(pack_sequence([torch.tensor([1.0, 2.0]), torch.tensor([3.0])]))
    [tensor([1., 2.]), tensor([3.])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


def pad_sequence(sequences: Tensor | Sequence[Any], batch_first: bool = False, padding_value: float = 0.0,
                 padding_side: str = "right") -> Any:
    """Sequences made as long as the longest and stacked.

    >>> import retrograd as torch
    >>> pad_sequence([torch.tensor([1.0, 2.0]), torch.tensor([3.0])], batch_first=True)
    tensor([[1., 2.],
            [3., 0.]])
    """
    if isinstance(sequences, Tensor):
        sequences = sequences.unbind(0)
    elif not isinstance(sequences, Iterable):
        raise RuntimeError("pad_sequence: Expected iterable for input sequences, but got arg of type: "
                           f"{type(sequences)}")
    else:
        sequences = tuple(sequences)
    if not isinstance(padding_value, (int, float, Tensor)):
        raise TypeError("pad_sequence(): argument 'padding_value' (position 3) must be float, not "
                        f"{type(padding_value).__name__}")
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    for i, sequence in enumerate(sequences):
        if not isinstance(sequence, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(sequence).__name__}")
    longest, rest = max(s.size(0) for s in sequences), tuple(sequences[0].shape[1:])
    shape = (len(sequences), longest, *rest) if batch_first else (longest, len(sequences), *rest)
    made = torch.empty(shape, dtype=sequences[0].dtype, device=sequences[0].device).fill_(padding_value)
    for i, sequence in enumerate(sequences):
        places = slice(0, sequence.size(0)) if padding_side == "right" else slice(longest - sequence.size(0), longest)
        row = made[(i, places) if batch_first else (places, i)]
        if sequence.shape[1:] != rest and row.add(sequence).shape != row.shape:
            raise RuntimeError(f"output with shape {list(row.shape)} doesn't match the broadcast shape {list(sequence.shape)}")
        row.copy_(sequence)
    return made


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """The sequences of a padded tensor, each at its own length.

    >>> import retrograd as torch
    >>> unpad_sequence(torch.tensor([[1.0, 2.0], [3.0, 0.0]]), torch.tensor([2, 1]), batch_first=True)
    [tensor([1., 2.]), tensor([3.])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    places = torch.arange(padded_sequences.shape[1])
    return [sequence[places < length] for sequence, length in zip(padded_sequences, lengths, strict=False)]
