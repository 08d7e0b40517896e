"""The pages in docs/ run: their Python blocks, in order, in one namespace per page, print what the page says."""
from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest

from tests.test_readme import python_blocks

ROOT = Path(__file__).resolve().parent.parent
PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if python_blocks(page.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_prints_what_it_says(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    blocks = python_blocks(page.read_text())
    names: dict[str, Any] = {"__name__": page.stem}
    for line, code, expected in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * line + code, str(page), "exec"), names)
        if expected is not None:
            assert printed.getvalue() == expected, f"{page.name}, the block at line {line + 1}"
