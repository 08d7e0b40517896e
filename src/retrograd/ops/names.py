"""The names that each module declares: functions, methods of Tensor, other ops, and further entries of `ops.late`.

NOTE [Derived names]
`import retrograd` imports a few tables only, and must know the names that the others declare. That list is derived from the
tables: by the build, which stores it as `_names.py` in the package, and in a source tree by the first import after a table
has changed. Deriving it imports every table in a separate process and records what each module adds.
"""
from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

stored: Any
try:
    import retrograd.ops._names as stored  # type: ignore[no-redef, import-not-found, unused-ignore]
except ImportError:                 # a fresh source tree
    stored = None

Names = dict[str, tuple[str, str, str, str]]
HERE = os.path.dirname(os.path.abspath(__file__))
STORED = os.path.join(HERE, "_names.py")
DERIVING = "RETROGRAD_DERIVES_NAMES"


def names() -> Names:
    """The list, derived again if a table of a source tree has changed since it was stored."""
    if DERIVING in os.environ:
        return {}
    if stored is None or stored.STAMP is not None and stored.STAMP != stamp():
        text = derived(stamp())
        write(text)
        made: dict[str, Any] = {}
        exec(text, made)
        return made["NAMES"]
    return stored.NAMES


def stamp() -> tuple[int, int]:
    """A stamp that changes with the modules: the number of files, and the date of the newest."""
    package = os.path.dirname(HERE)
    folders = [package, os.path.join(package, "core"), os.path.join(package, "transforms"), HERE,
               *[entry.path for entry in os.scandir(HERE) if entry.is_dir()]]
    dates = [entry.stat().st_mtime_ns for folder in folders for entry in os.scandir(folder)
             if entry.name.endswith(".py") and entry.path != STORED]
    return len(dates), max(dates)


def derived(mark: Any = None) -> str:
    """The text of `_names.py`, made by a process that imports every table from source."""
    path = os.pathsep.join(filter(None, [os.path.dirname(os.path.dirname(HERE)), os.environ.get("PYTHONPATH")]))
    done = import_module("subprocess").run(
        [sys.executable, "-c", f"from retrograd.ops import derive_names; print(derive_names.text({mark!r}), end='')"],
        env=os.environ | {"PYTHONPATH": path, "RETROGRAD_PLAIN": "1", DERIVING: "1"}, capture_output=True, text=True)
    if done.returncode:
        raise ImportError("the op tables cannot be imported: " + done.stderr.strip())
    return done.stdout


def write(text: str) -> None:
    """Store the list if the folder is writable; safe for concurrent processes."""
    draft = f"{STORED}.{os.getpid()}"
    try:
        with open(draft, "w") as file:
            file.write(text)
        os.replace(draft, STORED)
    except OSError:
        pass
