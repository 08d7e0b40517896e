"""A .pxd declares the fields that its module assigns, and what it hides (`cdef`) is not imported by modules that would then
work in plain Python only."""
from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.once
SRC = Path(__file__).resolve().parent.parent / "src"
HIDDEN = re.compile(r"^cdef (?!class |extern |enum |struct )(?:inline )?(?:\w+ )?(\w+)\(", re.MULTILINE)


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SRC).with_suffix("").parts)


def hidden_functions() -> dict[str, set[str]]:
    return {module_of(path): set(HIDDEN.findall(path.read_text())) for path in (SRC / "retrograd").rglob("*.pxd")}


def imports_of_hidden(path: Path, hidden: dict[str, set[str]]) -> list[str]:
    declared = path.with_suffix(".pxd")
    cimported = declared.read_text() if declared.exists() else ""
    found = []
    source = path.read_text()
    if not any([module in source for module in hidden]):
        return []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module in hidden:
            found += [f"{module_of(path)}: {node.module}.{alias.name}" for alias in node.names
                      if alias.name in hidden[node.module]
                      and not re.search(rf"from {re.escape(node.module)} cimport .*\b{alias.name}\b", cimported)]
    return found


def test_no_hidden_function_is_imported() -> None:
    hidden = hidden_functions()
    assert [name for path in (SRC / "retrograd").rglob("*.py") for name in imports_of_hidden(path, hidden)] == []


def test_hidden_functions_are_found() -> None:
    assert HIDDEN.findall("cdef Tensor make(a)\ncpdef other(b)\ncdef class Node:\n    cdef object x\ncdef int f(int a) except "
                          "-1") == [
        "make", "f"]


# ---- fields
def declared_fields(pxd: Path) -> dict[str, tuple[list[str], set[str]]]:
    """The bases and the fields of every class of a .pxd."""
    found: dict[str, tuple[list[str], set[str]]] = {}
    fields: set[str] | None = None
    for line in pxd.read_text().splitlines():
        head = re.match(r"cdef class (\w+)(?:\((\w+)\))?:", line)
        if head:
            fields = set()
            found[head[1]] = ([head[2]] if head[2] else [], fields)
        elif line and not line.startswith(" "):
            fields = None
        elif fields is not None and re.match(r" +cdef [^(]*$", line):
            first, *others = line.split("#")[0].split(",")
            fields.update([first.split()[-1], *[name.strip() for name in others]])
    return found


def assigned_fields(tree: ast.Module) -> dict[str, set[str]]:
    """What the methods of every class assign to `self`."""
    return {node.name: {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)
                        and isinstance(part.ctx, ast.Store) and isinstance(part.value, ast.Name) and part.value.id == "self"}
            for node in tree.body if isinstance(node, ast.ClassDef)}


def undeclared(path: Path, classes: dict[str, tuple[list[str], set[str]]]) -> list[str]:
    found = []
    assigned = assigned_fields(ast.parse(path.with_suffix(".py").read_text()))
    for name, (bases, fields) in declared_fields(path).items():
        known, todo = set(fields), list(bases)
        while todo:
            more, inherited = classes[todo.pop()]
            known |= inherited
            todo += more
        found += [f"{name}.{field}" for field in sorted(assigned[name] - known)]
    return found


def test_every_field_of_a_compiled_class_is_declared() -> None:
    pxds = [path for path in (SRC / "retrograd").rglob("*.pxd") if path.with_suffix(".py").exists()]
    classes = {name: value for path in pxds for name, value in declared_fields(path).items()}
    assert len(classes) > 20
    assert [field for path in pxds for field in undeclared(path, classes)] == []


def test_a_field_that_is_not_declared_is_found(tmp_path: Path) -> None:
    (tmp_path / "m.pxd").write_text("cdef class A:\n    cdef public int x, y\n    cpdef f(self, int z)\n\n"
                                    "cdef class B(A):\n    cdef object w\n")
    (tmp_path / "m.py").write_text("class A:\n    def __init__(self):\n        self.x = self.y = 0\n"
                                   "class B(A):\n    def f(self):\n        self.y = self.w = self.v = 1\n")
    assert undeclared(tmp_path / "m.pxd", declared_fields(tmp_path / "m.pxd")) == ["B.v"]


def test_every_declaration_belongs_to_a_module() -> None:
    pxds = [path for path in (SRC / "retrograd").rglob("*.pxd") if path.name != "arrays.pxd"]      # NumPy's own types
    assert [path.name for path in pxds if not (path.with_suffix(".py").exists() or path.with_suffix(".pyx").exists())] == []
