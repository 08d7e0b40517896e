"""Jagged tensors by the names of PyTorch's module for them."""
from __future__ import annotations

from typing import Any

import retrograd
from retrograd.core.dispatch import call
from retrograd.core.tensor import Tensor
from retrograd.nested.formulas import from_jagged
from retrograd.nested.jagged import values_of
from retrograd.nested.parts import is_jagged, symbol_of


class JaggedCheck(type):
    """Instances are the tensors of the jagged layout, which are ordinary tensors otherwise."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return is_jagged(instance)


class NestedTensor(metaclass=JaggedCheck):
    """The type that jagged tensors are instances of; called, it makes one.

    >>> import retrograd as torch
    >>> nt = NestedTensor(torch.arange(3), torch.tensor([0, 1, 3]))
    >>> isinstance(nt, NestedTensor), isinstance(torch.ones(2), NestedTensor)
    (True, False)
    """

    def __new__(cls, values: Tensor, offsets: Tensor, *, lengths: Tensor | None = None, **kwargs: Any) -> Any:
        return call(from_jagged, [values, offsets, lengths, kwargs.get("_ragged_idx", 1) - 1, None, None])


def get_tensor_symint(tensor: Tensor, *, coeff: int = 1) -> Any:
    """The symbol for the lengths that a tensor of offsets or lengths says."""
    return symbol_of(tensor) * coeff if coeff != 1 else symbol_of(tensor)


def nested_view_from_values_offsets(values: Tensor, offsets: Tensor, ragged_idx: int = 1, min_seqlen: int | None = None,
                                    max_seqlen: int | None = None) -> Tensor:
    """A jagged tensor over the memory of `values`.

    >>> import retrograd as torch
    >>> nested_view_from_values_offsets(torch.arange(3), torch.tensor([0, 1, 3])).unbind()
    (tensor([0]), tensor([1, 2]))
    """
    return call(from_jagged, [values, offsets, None, ragged_idx - 1, min_seqlen, max_seqlen])


def nested_view_from_values_offsets_lengths(values: Tensor, offsets: Tensor, lengths: Tensor, ragged_idx: int = 1,
                                            min_seqlen: int | None = None, max_seqlen: int | None = None) -> Tensor:
    """A jagged tensor over the memory of `values` with holes between its parts."""
    return call(from_jagged, [values, offsets, lengths, ragged_idx - 1, min_seqlen, max_seqlen])


def nested_from_padded(padded: Tensor, offsets: Tensor, ragged_idx: int = 1, min_seqlen: int | None = None,
                       max_seqlen: int | None = None, sum_S: int | None = None) -> Tensor:
    """The jagged tensor of which `padded` is the padded form.

    >>> import retrograd as torch
    >>> nested_from_padded(torch.arange(4).view(2, 2), torch.tensor([0, 1, 3])).unbind()
    (tensor([0]), tensor([2, 3]))
    """
    lengths = offsets.diff().tolist()
    parts = [part.narrow(ragged_idx - 1, 0, n) for part, n in zip(padded.unbind(), lengths, strict=True)]
    return nested_view_from_values_offsets(retrograd.cat(parts, ragged_idx - 1), offsets, ragged_idx, min_seqlen, max_seqlen)


def jagged_from_list(tensors: list[Tensor], offsets: Tensor | None, dtype: Any = None,
                     device: Any = None) -> tuple[Tensor, Tensor]:
    """A jagged tensor of a list of tensors, and its offsets, which may be given.

    >>> import retrograd as torch
    >>> jagged_from_list([torch.ones(1), torch.ones(2)], None)[1]
    tensor([0, 1, 3])
    """
    made = retrograd.nested.as_nested_tensor(list(tensors), dtype=dtype, layout=retrograd.jagged)
    if offsets is not None:
        made = nested_view_from_values_offsets(values_of(made), offsets)
    return made, made.offsets()


class ViewNestedFromBuffer:
    """The constructor of jagged tensors from values and offsets, as a function that is applied."""

    @staticmethod
    def apply(values: Tensor, offsets: Tensor, metadata_cache: dict[str, Any] | None = None) -> Tensor:
        """A jagged tensor over `values`; the shortest and longest lengths may be given.

        >>> import retrograd as torch
        >>> ViewNestedFromBuffer.apply(torch.arange(3), torch.tensor([0, 1, 3]), {"max_seqlen": 2}).unbind()
        (tensor([0]), tensor([1, 2]))
        """
        known = metadata_cache or {}
        return nested_view_from_values_offsets(values, offsets, 1, known.get("min_seqlen"), known.get("max_seqlen"))


def buffer_from_jagged(jagged: Tensor) -> Tensor:
    """What the parts of a jagged tensor are slices of."""
    return values_of(jagged)
