"""Finds the modules of the package: the compiled ones in their library, or with RETROGRAD_PLAIN=1 the Python sources alone.

Imported before anything else of the package. All compiled modules are linked into one library, `_compiled`, which loads faster
and is smaller than a file for each. In plain mode nothing under `retrograd.` is found but .py files, so the generated C kernels
are off too.
"""
from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ExtensionFileLoader, FileFinder, ModuleSpec, SourceFileLoader
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


class CompiledFinder:
    """A meta-path finder for the modules in the library of compiled ones."""

    def __init__(self, library: ModuleType) -> None:
        self.names = frozenset(library.names.split())
        self.place = library.__file__ or ""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self.names:
            return None
        spec = ModuleSpec(name, ExtensionFileLoader(name, self.place), origin=self.place)
        spec.has_location = True
        return spec


def choose() -> PlainFinder | CompiledFinder | None:
    """The finder of this process; None where nothing is compiled."""
    if os.environ.get("RETROGRAD_PLAIN", "0") not in ("", "0"):
        return PlainFinder()
    try:
        library = import_module(PACKAGE + "._compiled")
    except ModuleNotFoundError:         # any other error in it is the user's to see
        return None
    return CompiledFinder(library)


finder = choose()
if finder is not None:
    sys.meta_path.insert(0, finder)
