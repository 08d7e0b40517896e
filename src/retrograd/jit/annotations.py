"""Names for annotations of compiled code; here they are for readers."""
from __future__ import annotations

from typing import Any, Dict, Generic, List, Optional, Tuple, TypeVar, Union  # noqa: UP035

__all__ = ["Any", "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Dict", "List", "Optional", "Tuple", "Union"]

T = TypeVar("T")


class BroadcastingListCls(Generic[T]):
    """A number, or a list of several: `BroadcastingList2[int]` is an int or two of them."""


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingListCls
BroadcastingList4 = BroadcastingList5 = BroadcastingList6 = BroadcastingListCls
