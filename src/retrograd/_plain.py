"""Lets RETROGRAD_PLAIN=1 choose the plain Python sources over the compiled modules that lie beside them.

Imported before anything else of the package. In plain mode nothing under `retrograd.` is found but .py files, so the
generated C kernels are off too.
"""
from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import FileFinder, ModuleSpec, SourceFileLoader
from types import ModuleType

PACKAGE = __name__.partition(".")[0]


class PlainFinder:
    """A meta-path finder that knows only the .py files of this package."""

    def __init__(self) -> None:
        self.folders: dict[str, FileFinder] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is None or not name.startswith(PACKAGE + "."):
            return None
        for folder in path:
            if folder not in self.folders:
                self.folders[folder] = FileFinder(folder, (SourceFileLoader, [".py"]))
            spec = self.folders[folder].find_spec(name)
            if spec is not None and spec.loader is not None:
                return spec
        raise ModuleNotFoundError(f"No module named {name!r} (RETROGRAD_PLAIN is set: only .py files count)", name=name)

    def invalidate_caches(self) -> None:
        self.folders.clear()


if os.environ.get("RETROGRAD_PLAIN", "0") not in ("", "0"):
    sys.meta_path.insert(0, PlainFinder())
