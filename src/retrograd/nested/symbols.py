"""SymInt: a length that is known only by name."""
from __future__ import annotations

from itertools import count
from typing import Any

next_number = count(1).__next__


class SymInt:
    """The length of the ragged dimension of jagged tensors: the same for all that were computed from each other.

    >>> a, b = SymInt(), SymInt()
    >>> a == a, a == b, a == 3
    (True, False, False)
    """

    is_symbolic = True

    def __init__(self, number: int | None = None, coefficient: int = 1) -> None:
        self.number = next_number() if number is None else number
        self.coefficient = coefficient

    def __repr__(self) -> str:
        return f"j{self.number}" if self.coefficient == 1 else f"{self.coefficient}*j{self.number}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SymInt) and (other.number, other.coefficient) == (self.number, self.coefficient)

    def __hash__(self) -> int:
        return hash((self.number, self.coefficient))

    def __mul__(self, other: Any) -> SymInt:
        if not isinstance(other, int):
            return NotImplemented
        return SymInt(self.number, self.coefficient * other)

    __rmul__ = __mul__

    def __ge__(self, other: Any) -> bool:
        if isinstance(other, int) and other <= 2 or self == other:      # it is taken to be at least two
            return True
        raise ValueError("ge: relation is indeterminate")

    def __lt__(self, other: Any) -> bool:
        return not self >= other

    def __gt__(self, other: Any) -> bool:
        if isinstance(other, int) and other < 2:
            return True
        raise ValueError("gt: relation is indeterminate")

    def __le__(self, other: Any) -> bool:
        return self == other or not self > other
