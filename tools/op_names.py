"""Writes src/retrograd/ops/names.py, the list of the names that each module declares; with --check only compares.

Run it after adding an op:  python tools/op_names.py
"""
from __future__ import annotations

import os
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "src" / "retrograd" / "ops" / "names.py"
HEAD = '''"""Which names each module declares: functions, methods of Tensor, ops that are neither, and what METHODS has besides.

Written by tools/op_names.py, to be run when an op is added or renamed.
"""
# ruff: noqa: E501
from __future__ import annotations

NAMES: dict[str, tuple[str, str, str, str]] = {
'''
# Imported with the package whatever a program does: what they give the core needs no announcement.
ALWAYS = ("retrograd.core.", "retrograd.autograd.", "retrograd.methods")
PACKAGES = ("sparse",)        # tables of several modules, of which none works without the others

Item = tuple[str, str, str]   # the kind of entry, its name, the overload


def entries() -> set[Item]:
    """All that is declared so far."""
    opdef, api = sys.modules.get("retrograd.core.opdef"), sys.modules.get("retrograd.core.api")
    tensor = sys.modules.get("retrograd.core.tensor")
    found: set[Item] = set()
    if opdef is not None and hasattr(opdef, "FORMS"):
        found.update(("op", name, op.overload) for name, packet in opdef.OPS.items() for op in packet.overloads_)
        found.update(("op", name, form[0].overload) for name, forms in opdef.FORMS.items() for form in forms)
    if api is not None and hasattr(api, "Later"):
        found.update(("function", name, "") for name in api.EXTRA_FUNCTIONS)
        found.update(("method", name, "") for name in api.EXTRA_METHODS)
        found.update(("internal", name, "") for name, value in tensor.METHODS.items()  # type: ignore[union-attr]
                     if not isinstance(value, api.Later))
    return found


def declarations() -> dict[str, set[Item]]:
    """What each module declares itself, the modules it imports aside; everything is imported here, from source."""
    os.environ["RETROGRAD_PLAIN"] = "1"
    sys.path.insert(0, str(ROOT / "src"))
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

    SourceFileLoader.exec_module = watch  # type: ignore[method-assign]
    from retrograd.ops import load
    load.import_all()
    SourceFileLoader.exec_module = execute  # type: ignore[method-assign]
    return found


def text() -> str:
    """The file as it should be."""
    found = declarations()
    from retrograd.core.api import variants_of
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
    lines = [HEAD]
    for key, columns in sorted(rows.items()):
        if any(columns):
            functions, methods, ops, internals = columns
            internals -= functions | methods
            lines.append(f'    "{key}": (\n' + "".join(f'        "{" ".join(sorted(c))}",\n' for c in columns) + "    ),\n")
    return "".join([*lines, "}\n"])


def main() -> int:
    wanted = text()
    if TARGET.exists() and TARGET.read_text() == wanted:
        return 0
    if "--check" in sys.argv[1:]:
        print(f"{TARGET.relative_to(ROOT)} is out of date: run python tools/op_names.py")
        return 1
    TARGET.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
