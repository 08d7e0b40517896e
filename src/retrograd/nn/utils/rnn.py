"""Sequences of different lengths in one tensor."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import retrograd as torch
from retrograd import Tensor

__all__ = ["pad_sequence", "unpad_sequence"]


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
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest, rest = max(s.size(0) for s in sequences), tuple(sequences[0].shape[1:])
    shape = (len(sequences), longest, *rest) if batch_first else (longest, len(sequences), *rest)
    made = torch.full(shape, padding_value, dtype=sequences[0].dtype, device=sequences[0].device)
    for i, sequence in enumerate(sequences):
        places = slice(0, sequence.size(0)) if padding_side == "right" else slice(longest - sequence.size(0), longest)
        made[(i, places) if batch_first else (places, i)] = sequence
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
