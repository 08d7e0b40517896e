"""The errors of `load`: all are `pickle.UnpicklingError`, and also the type that PyTorch raises in the same case."""
from __future__ import annotations

from pickle import UnpicklingError

__all__ = ["ArchiveError", "EmptyFileError", "UnpicklingError", "shown"]


class ArchiveError(UnpicklingError, RuntimeError):
    """The file is damaged, of another kind, or for a device that is not here."""


class EmptyFileError(UnpicklingError, EOFError):
    """The file ends before its content does."""


def shown(text: object) -> str:
    """A string from a file in a form that is short and safe to print."""
    if not isinstance(text, str):
        return type(text).__name__
    return text if text.isprintable() and len(text) <= 100 else ascii(text[:100])
