"""How a tensor is laid out over a mesh of devices, as data."""
from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """One entry of a layout.

    >>> Shard(1).is_shard(1), Replicate().is_shard()
    (True, False)
    """

    def is_shard(self, dim: int | None = None) -> bool:
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Each device has a piece along `dim`."""

    dim: int


@dataclass(frozen=True)
class Replicate(Placement):
    """Each device has the whole."""


@dataclass(frozen=True)
class Partial(Placement):
    """Each device has a term of the result."""

    reduce_op: str = "sum"
