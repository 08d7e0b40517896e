"""Checks that raise with a message made only when it is needed: `torch._check` and its relatives."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

Message = Callable[[], Any] | str | None


def fail(error: type[Exception], message: Message) -> None:
    raise error("Expected cond to be True, but got False." if message is None else
                str(message() if callable(message) else message))


def _check(cond: Any, message: Message = None) -> None:
    """Raise a RuntimeError unless `cond`.

    >>> _check(1 > 2, lambda: "one is less")
    Traceback (most recent call last):
    RuntimeError: one is less
    """
    if not cond:
        fail(RuntimeError, message)


def _check_with(error_type: type[Exception], cond: Any, message: Message) -> None:
    """Raise an error of a given type unless `cond`."""
    if not cond:
        fail(error_type, message)


def _check_index(cond: Any, message: Message = None) -> None:
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Message = None) -> None:
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Message = None) -> None:
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Message = None) -> None:
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: int, message: Message = None, *, max: int | None = None) -> None:
    """Raise unless `i` is a size: not negative, and at most `max`."""
    _check(i >= 0 and (max is None or i <= max), message)


def _check_tensor_all(cond: Any, message: Message = None) -> None:
    """Raise unless all elements of a tensor are true."""
    _check(cond.all().item(), message)


def _check_tensor_all_with(error_type: type[Exception], cond: Any, message: Message = None) -> None:
    _check_with(error_type, cond.all().item(), message)
