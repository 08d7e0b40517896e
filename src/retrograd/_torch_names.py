"""In torch's place classes and functions carry PyTorch's module names: `retrograd.nn.modules.linear` reads `torch.nn...`.

Pickles, reprs and error texts of a program then say `torch`, and both libraries read each other's pickles by name. The
public packages are laid out as PyTorch's, so that the first word of the path is all that changes.
"""
from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from types import FunctionType, ModuleType
from typing import Any

from retrograd._finder import finder

PACKAGE = "retrograd"
# Packages whose modules PyTorch does not have; their classes are published elsewhere.
INTERNAL = ("core", "ops", "codegen", "transforms", "compile", "as_torch", "nested", "legacy", "methods")


def install() -> None:
    """Rename what is loaded, and from now on everything that is loaded later."""
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType) and module.__name__.partition(".")[0] == PACKAGE:
            find_submodules(module)
            rename(module)
    sys.meta_path.insert(0, RenamingFinder())


def is_public(name: str) -> bool:
    """Whether the module `name` has a path that PyTorch has too."""
    package, _, path = name.partition(".")
    first = path.partition(".")[0]
    return package == PACKAGE and first not in INTERNAL and (not first.startswith("_") or first == "")


def find_submodules(module: ModuleType) -> None:
    """Let the attributes of a package reach modules in it that are not imported yet, as after PyTorch's `import torch`."""
    if not hasattr(module, "__path__") or module.__spec__ is None or module.__spec__.name == PACKAGE:
        return
    package = module.__spec__.name

    def submodule(attribute: str) -> Any:
        full = f"{package}.{attribute}"
        found = not attribute.startswith("__") and find_file(full, module.__path__, None) is not None
        return import_module(full) if found else None

    add_lookup(module, submodule)


def add_lookup(module: ModuleType, find: Callable[[str], Any]) -> None:
    """Let a module have, beside the attributes that it finds itself, those for which `find` does not return None."""
    before: Callable[[str], Any] | None = module.__dict__.get("__getattr__")

    def missing(attribute: str) -> Any:
        refused = AttributeError(f"module {module.__name__!r} has no attribute {attribute!r}", name=attribute, obj=module)
        if before is not None:
            try:
                return before(attribute)
            except AttributeError as error:
                refused = error
        found = find(attribute)
        if found is None:
            raise refused
        return found

    module.__dict__["__getattr__"] = missing


def rename(module: ModuleType) -> None:
    """Give `module`, and the classes and functions that it defines, the name of the module under torch."""
    name = module.__name__
    if not is_public(name):
        return
    under_torch = "torch" + name.removeprefix(PACKAGE)
    sys.modules.setdefault(under_torch, module)
    for value in list(vars(module).values()):
        rename_one(value, name, under_torch)
    module.__name__ = under_torch


def rename_one(value: Any, name: str, under_torch: str) -> None:
    """Rename a class or function of the module `name`, and the members that the class defines."""
    named = isinstance(value, (type, FunctionType)) or callable(value) and "__module__" in getattr(value, "__dict__", ())
    if not named or value.__module__ != name:
        return
    try:
        set_module(value, under_torch)
    except (AttributeError, TypeError):         # a compiled class keeps its name
        return
    if isinstance(value, type):
        for member in list(vars(value).values()):
            rename_one(member, name, under_torch)


def set_module(value: Any, module: str) -> None:
    """Set `__module__`; a class keeps the line of its source, which Python 3.13 forgets with the module."""
    line = vars(value).get("__firstlineno__") if isinstance(value, type) else None
    value.__module__ = module
    if line is not None:
        value.__firstlineno__ = line


class RenamingFinder:
    """A meta-path finder for retrograd's own modules, whose loader renames what they define."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not name.startswith(PACKAGE + "."):
            return None
        spec = find_file(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = RenamingLoader(spec.loader)
        return spec


def find_file(name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
    """Find the file of a module: with RETROGRAD_PLAIN set, the package's own finder sees no compiled ones."""
    try:
        spec = None if finder is None else finder.find_spec(name, path, target)
    except ModuleNotFoundError:
        return None
    return PathFinder.find_spec(name, path, target) if spec is None else spec


class RenamingLoader(Loader):
    """Loads as another loader does, then renames."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self.loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        find_submodules(module)
        rename(module)

    def __getattr__(self, name: str) -> Any:    # get_source and the like, for tracebacks and inspect
        return getattr(self.loader, name)
