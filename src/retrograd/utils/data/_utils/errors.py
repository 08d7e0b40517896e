"""Carries an exception with its traceback from one process or thread to another."""
from __future__ import annotations

import sys
import traceback
from typing import Any, NoReturn


class KeyErrorMessage(str):
    """Text that shows its line breaks in a KeyError, which shows `repr` of its argument."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception as its type and its traceback as text, because tracebacks are not pickled.

    >>> try:
    ...     [][1]
    ... except IndexError:
    ...     wrapped = ExceptionWrapper(where="in a worker")
    >>> wrapped.exc_type, wrapped.exc_msg.endswith("IndexError: list index out of range\\n")
    (<class 'IndexError'>, True)
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        kind, value, trace = exc_info or sys.exc_info()
        self.exc_type: Any = kind
        self.exc_msg = "".join(traceback.format_exception(kind, value, trace))
        self.where = where

    def reraise(self) -> NoReturn:
        """Raise an exception of the same type whose text has the original traceback."""
        text = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            raise KeyError(KeyErrorMessage(text))
        if getattr(self.exc_type, "message", None):
            raise self.exc_type(message=text)
        try:
            made = self.exc_type(text)
        except Exception:       # its constructor takes other arguments
            raise RuntimeError(text) from None
        raise made
