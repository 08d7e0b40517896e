"""Deterministic mode: what a program asked for, uninitialised memory that is filled in it, ops that it refuses.

Every op gives the same result each time here. Programs that ask for determinism are still told where PyTorch's op would not,
so that they find out on either library.
"""
from __future__ import annotations

import warnings
from typing import Any

from retrograd.core import storage


class Mode:
    """The settings in force."""

    asked = warn_only = False
    fill_memory = True               # torch.utils.deterministic.fill_uninitialized_memory


def uninitialized(array: Any) -> Any:
    """New memory that nothing was written to; None passes through."""
    if Mode.asked and Mode.fill_memory and array is not None:
        array[...] = conspicuous(array.dtype)
    return array


def conspicuous(dtype: Any) -> Any:
    """The value of uninitialised memory in deterministic mode: NaN, the greatest integer, True."""
    kind = dtype.kind
    if kind == "b":
        return True
    return (1 << 8 * dtype.itemsize - (kind == "i")) - 1 if kind in "iu" else float("nan")


def fill_grown(array: Any, before: int) -> None:
    """Fill the memory under `array` from byte `before` on."""
    memory = storage.bytes_of(storage.owner_of(array))
    item = array.itemsize
    start = -(-before // item) * item
    end = len(memory) // item * item
    if end > start:
        uninitialized(memory[start:end].view(array.dtype))


def alert(name: str) -> None:
    """Refuse an op, or warn of it, for which PyTorch has no deterministic form."""
    if not Mode.asked:
        return
    you_set = f"{name} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True"
    report = ("file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic support "
              "for this operation.")
    if Mode.warn_only:
        warnings.warn(f"{you_set}, warn_only=True)'. You can {report}", UserWarning, stacklevel=3)
        return
    raise RuntimeError(f"{you_set})'. You can turn off determinism just for this operation, or you can use the "
                       "'warn_only=True' option, if that's acceptable for your application. You can also " + report)
