"""Derives the list of names that each module declares, by importing every table; see NOTE [Derived names] in names.py."""
from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import SourceFileLoader
from typing import Any

Item = tuple[str, str, str]         # the kind of entry, its name, the overload

# Always imported with the package: their names need no announcement.
ALWAYS = ("retrograd.core.", "retrograd.autograd.", "retrograd.methods")
PACKAGES = ("sparse",)              # tables of several modules that work only together


def entries() -> set[Item]:
    """All declarations so far."""
    opdef, api = sys.modules.get("retrograd.core.opdef"), sys.modules.get("retrograd.core.api")
    tensor: Any = sys.modules.get("retrograd.core.tensor")
    found: set[Item] = set()
    if opdef is not None and hasattr(opdef, "FORMS"):
        found.update(("op", name, op.overload) for name, packet in opdef.OPS.items() for op in packet.overloads_)
        found.update(("op", name, form[0].overload) for name, forms in opdef.FORMS.items() for form in forms)
    if api is not None and hasattr(api, "Later"):
        found.update(("function", name, "") for name in api.EXTRA_FUNCTIONS)
        found.update(("method", name, "") for name in api.EXTRA_METHODS)
        found.update(("internal", name, "") for name, value in tensor.FUNCTIONS_BY_NAME.items()
                     if not isinstance(value, api.Later))
    return found


def declarations() -> dict[str, set[Item]]:
    """The declarations of each module, excluding those of modules that it imports. The package itself is already imported,
    so the modules that it imports are executed again to observe them."""
    found: dict[str, set[Item]] = {}
    claimed: set[Item] = set()
    execute = SourceFileLoader.exec_module

    def watch(loader: Any, module: Any) -> None:
        if not module.__name__.startswith("retrograd"):
            return execute(loader, module)
        before = entries()
        execute(loader, module)
        own = entries() - before - claimed
        claimed.update(own)
        found[module.__name__] = own
        return None

    for name in [name for name in sys.modules if name == "retrograd" or name.startswith("retrograd.")]:
        del sys.modules[name]
    SourceFileLoader.exec_module = watch  # type: ignore[method-assign, assignment]
    import_module("retrograd.ops." + "load").import_all()
    SourceFileLoader.exec_module = execute  # type: ignore[method-assign]
    return found


def text(mark: Any) -> str:
    """The text of `_names.py`."""
    found = declarations()
    variants_of = sys.modules["retrograd.core.api"].variants_of
    rows: dict[str, tuple[set[str], set[str], set[str], set[str]]] = {}
    for module, items in found.items():
        path = module.removeprefix("retrograd.").split(".")
        key = ".".join(path[:2] if path[1:2] and path[1] in PACKAGES else path)
        functions, methods, ops, internals = rows.setdefault(key, (set(), set(), set(), set()))
        for kind, name, _ in items:
            variants = variants_of(name) if kind == "op" else kind
            if "function" in variants:
                functions.add(name)
            if "method" in variants:
                methods.add(name)
            if kind == "op" and "function" not in variants and "method" not in variants:
                ops.add(name)
            if kind == "internal" and not module.startswith(ALWAYS):
                internals.add(name)
    lines = []
    for key, columns in sorted(rows.items()):
        if any(columns):
            functions, methods, ops, internals = columns
            internals -= functions | methods
            lines.append(f"    {key!r}: (\n" + "".join(f"        {' '.join(sorted(c))!r},\n" for c in columns) + "    ),\n")
    return f'"""Derived from the op tables; see ops/names.py."""\nSTAMP = {mark!r}\nNAMES = {{\n{"".join(lines)}}}\n'
