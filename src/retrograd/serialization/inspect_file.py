"""`get_unsafe_globals_in_checkpoint`: what a file names that `load` would refuse."""
from __future__ import annotations

import os
import pickletools
from contextlib import nullcontext
from typing import Any

from retrograd.serialization.allowlist import find_allowed
from retrograd.serialization.archive import Archive
from retrograd.serialization.errors import UnpicklingError, shown
from retrograd.serialization.older import _is_zipfile
from retrograd.serialization.options import safe_names
from retrograd.serialization.places import default_restore_location

PYTHON_2 = {"__builtin__": "builtins", "copy_reg": "copyreg"}


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The classes and functions in a file that are not allowed by `weights_only`; nothing of the file is run.

    >>> import io, retrograd as torch
    >>> file = io.BytesIO()
    >>> torch.save(torch.ones(2), file)
    >>> _ = file.seek(0)
    >>> get_unsafe_globals_in_checkpoint(file)
    []
    """
    with open(f, "rb") if isinstance(f, (str, os.PathLike)) else nullcontext(f) as file:
        if not _is_zipfile(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        archive = Archive(file, default_restore_location)
        try:
            data = archive.read("data.pkl")
        finally:
            archive.close()
    safe, found = safe_names(), []
    strings: list[str] = []
    try:
        for opcode, value, _ in pickletools.genops(data):
            if opcode.name == "GLOBAL":
                module, name = str(value).split(" ", 1)
            elif opcode.name == "STACK_GLOBAL":
                module, name = strings[-2:]
            else:
                if isinstance(value, str):
                    strings.append(value)
                continue
            full = f"{PYTHON_2.get(module, module)}.{name}"
            if find_allowed(full) is None and full not in safe and full not in found:
                found.append(full)
    except (ValueError, IndexError, UnicodeError) as error:
        raise UnpicklingError(f"the pickle is damaged: {shown(str(error))}") from error
    return found
