"""What memory is used for over time: the kinds of use, and a timeline that is refused, as allocations are not recorded."""
from __future__ import annotations

import enum
from typing import Any


class Category(enum.Enum):
    """What a tensor's memory serves."""

    INPUT = enum.auto()
    TEMPORARY = enum.auto()
    ACTIVATION = enum.auto()
    GRADIENT = enum.auto()
    AUTOGRAD_DETAIL = enum.auto()
    PARAMETER = enum.auto()
    OPTIMIZER_STATE = enum.auto()


_CATEGORY_TO_COLORS: dict[Category | None, str] = {
    Category.PARAMETER: "darkgreen", Category.OPTIMIZER_STATE: "goldenrod", Category.INPUT: "black",
    Category.TEMPORARY: "mediumpurple", Category.ACTIVATION: "red", Category.GRADIENT: "mediumblue",
    Category.AUTOGRAD_DETAIL: "royalblue", None: "grey"}
_CATEGORY_TO_INDEX = {category: index for index, category in enumerate(_CATEGORY_TO_COLORS)}


class MemoryProfileTimeline:
    """The memory in use over time, by category."""

    def __init__(self, memory_profile: Any) -> None:
        raise NotImplementedError("MemoryProfileTimeline needs the allocations of a profile, which retrograd does not record")
