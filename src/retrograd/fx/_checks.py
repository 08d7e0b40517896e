"""Assertions that stand in a graph as calls."""
from __future__ import annotations

from typing import Any

from retrograd.overrides import handle_torch_function, has_torch_function


def _assert(condition: Any, message: Any) -> None:
    """An assert statement that tracing records.

    >>> _assert(1 + 1 == 2, "arithmetic is broken")
    """
    if has_torch_function((condition,)):
        return handle_torch_function(_assert, (condition,), condition, message)
    assert condition, message
    return None


def _assert_is_none(value: Any, msg: str) -> None:
    assert value is None, msg


_assert.__module__ = "torch"
_assert_is_none.__module__ = "torch.fx._symbolic_trace"
