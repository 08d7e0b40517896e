"""Marks functions and classes whose interface stays as it is, or may change."""
from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

_T = TypeVar("_T", bound=Callable[..., Any])

_BACK_COMPAT_OBJECTS: dict[Any, None] = {}
_MARKED_WITH_COMPATIBILITY: dict[Any, None] = {}


def compatibility(is_backward_compatible: bool) -> Callable[[_T], _T]:
    """Note in a function's documentation whether its interface stays.

    >>> @compatibility(is_backward_compatible=True)
    ... def double(x):
    ...     '''Twice the value.'''
    >>> print(double.__doc__.splitlines()[-1].strip())
    Backwards-compatibility for this API is guaranteed.
    """
    note = ("Backwards-compatibility for this API is guaranteed." if is_backward_compatible
            else "This API is experimental and is *NOT* backward-compatible.")
    kind = "note" if is_backward_compatible else "warning"

    def mark(marked: _T) -> _T:
        marked.__doc__ = f"{textwrap.dedent(marked.__doc__ or '')}\n\n.. {kind}::\n    {note}\n"
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS.setdefault(marked)
        _MARKED_WITH_COMPATIBILITY.setdefault(marked)
        return marked
    return mark
