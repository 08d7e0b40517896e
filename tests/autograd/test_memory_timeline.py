"""The kinds of memory use, and the timeline that is refused."""
from __future__ import annotations

import pytest

from retrograd.profiler._memory_profiler import _CATEGORY_TO_COLORS, _CATEGORY_TO_INDEX, Category, MemoryProfileTimeline


def test_kinds_of_use_have_colors_and_an_order() -> None:
    assert list(_CATEGORY_TO_COLORS) == list(_CATEGORY_TO_INDEX) and set(Category) < set(_CATEGORY_TO_INDEX)
    assert _CATEGORY_TO_COLORS[Category.GRADIENT] == "mediumblue" and _CATEGORY_TO_INDEX[None] == 7


def test_timeline_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="retrograd does not record"):
        MemoryProfileTimeline(None)
