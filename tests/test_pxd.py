"""What a .pxd hides from Python (`cdef`) is not imported by modules that would then work in plain Python only."""
from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parent.parent / "src"
HIDDEN = re.compile(r"^cdef (?!class |extern |enum |struct )(?:inline )?(?:\w+ )?(\w+)\(", re.MULTILINE)


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SRC).with_suffix("").parts)


def hidden_functions() -> dict[str, set[str]]:
    return {module_of(path): set(HIDDEN.findall(path.read_text())) for path in (SRC / "retrograd").rglob("*.pxd")}


def imports_of_hidden(path: Path) -> list[str]:
    hidden = hidden_functions()
    declared = path.with_suffix(".pxd")
    cimported = declared.read_text() if declared.exists() else ""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module in hidden:
            found += [f"{node.module}.{alias.name}" for alias in node.names if alias.name in hidden[node.module]
                      and not re.search(rf"from {re.escape(node.module)} cimport .*\b{alias.name}\b", cimported)]
    return found


@pytest.mark.parametrize("path", sorted((SRC / "retrograd").rglob("*.py")), ids=lambda path: str(path.relative_to(SRC)))
def test_no_hidden_function_is_imported(path: Path) -> None:
    assert imports_of_hidden(path) == []


def test_hidden_functions_are_found() -> None:
    assert HIDDEN.findall("cdef Tensor make(a)\ncpdef other(b)\ncdef class Node:\n    cdef object x\ncdef int f(int a) except "
                          "-1") == [
        "make", "f"]
