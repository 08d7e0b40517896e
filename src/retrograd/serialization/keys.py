"""Which objects from a file may be keys of a dict or members of a set.

NOTE [Keys]
To put a key into a dict calls its hash and may compare it. The hash of a tuple visits all that it holds, as often as it
occurs: a hundred nested pairs of the same pair take for ever, and a million nested tuples overflow the stack of C. Hashes of
large ints, complex numbers and tuples can be chosen so that all keys collide, which makes n keys cost n * n steps.
"""
from __future__ import annotations

from typing import Any

from retrograd.core import device, dtypes
from retrograd.core.tensor import Size, Tensor
from retrograd.serialization.errors import UnpicklingError

PLAIN = (str, bytes, bool, float, type(None), dtypes.dtype, device.device)
NUMBERS = (int, complex)
OWN_HASH = 2 ** 61 - 1              # smaller ints are their own hash
MAX_PARTS = 64                      # of a tuple, with all that it holds
MAX_COLLISIONS = 100


class Collisions:
    """Counts the keys with equal hashes in each container, for one reading."""

    def __init__(self, trusted: list[Any]) -> None:
        self.counts: dict[tuple[int, int], int] = {}
        self.trusted = [kind for kind in trusted if isinstance(kind, type)]

    def check(self, key: Any, target: Any) -> None:
        """Refuse a key that would be expensive to hash or to compare."""
        kind = type(key)
        if kind in PLAIN or (kind is int and -OWN_HASH < key < OWN_HASH):
            return
        if kind in NUMBERS or ((kind is tuple or kind is Size) and count_parts(key) <= MAX_PARTS):
            place = id(target), hash(key)
            found = self.counts[place] = self.counts.get(place, 0) + 1
            if found > MAX_COLLISIONS:
                raise UnpicklingError(f"more than {MAX_COLLISIONS} keys of a dict or set have the same hash")
        elif not isinstance(key, Tensor) and kind not in self.trusted:
            raise UnpicklingError(f"a {kind.__name__} cannot be a key of a dict or a member of a set in a file")


def count_parts(key: Any) -> int:
    """How many objects the hash of a tuple visits; more than MAX_PARTS if some are no plain values."""
    found, waiting = 0, [key]
    while waiting and found <= MAX_PARTS:
        part = waiting.pop()
        found += 1
        if type(part) is tuple or type(part) is Size:
            waiting.extend(part[:MAX_PARTS + 1])
        elif type(part) not in PLAIN and type(part) not in NUMBERS:
            return MAX_PARTS + 1
    return found
