"""Tracks memory that code outside of ops can write to: arrays shared with NumPy in either direction."""
from __future__ import annotations

from typing import Any
from weakref import KeyedRef

import numpy as np

from retrograd.core.storage import owner_of

ndarray = np.ndarray
exposed: dict[int, Any] = {}              # id of an array that owns memory -> a weak reference to it


def forget(reference: Any) -> None:
    key = reference.key
    if exposed.get(key) is reference:
        del exposed[key]


def expose(array: ndarray) -> ndarray:
    """Mark `array` as shared with code outside of ops, and return it."""
    owner = array if array.base is None else owner_of(array)
    key = id(owner)
    if key not in exposed and isinstance(owner, ndarray):
        exposed[key] = KeyedRef(owner, forget, key)
    return array


def is_exposed(array: Any) -> bool:
    """Whether code outside of ops may write to the memory of an array."""
    owner = owner_of(array)
    if owner.base is not None:
        return True
    found = exposed.get(id(owner))
    return found is not None and found() is owner
