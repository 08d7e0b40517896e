"""The Python blocks of the README and of the pages in docs/ run, in order, and print what the page says."""
from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

import retrograd as torch
from retrograd.compile import compiled_autograd

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def python_blocks(text: str) -> list[tuple[int, str, str | None]]:
    """Return (line, code, expected output) of each Python block; a plain block right after it is its output."""
    blocks = list(BLOCK.finditer(text))
    found = []
    for i, block in enumerate(blocks):
        if block[1] != "python":
            continue
        follower = blocks[i + 1] if i + 1 < len(blocks) else None
        follows = follower is not None and follower[1] in ("", "text")
        has_output = follows and not text[block.end():follower.start()].strip()
        found.append((text.count("\n", 0, block.start(2)), block[2], follower[2] if has_output else None))
    return found


def run(page: Path, blocks: list[tuple[int, str, str | None]]) -> None:
    names: dict[str, Any] = {"__name__": page.stem}
    for line, code, expected in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * line + code, str(page), "exec"), names)
        if expected is not None:
            assert printed.getvalue() == expected, f"{page.name}, the block at line {line + 1}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_prints_what_the_page_says(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)           # pages show paths as they are from here
    torch.compiler.reset()            # and the numbers of graphs as they are in a fresh process
    compiled_autograd.reset()
    run(page, python_blocks(page.read_text()))


def test_readme_has_code() -> None:
    assert python_blocks(PAGES[0].read_text())


def test_output_belongs_to_the_block_right_before_it() -> None:
    text = "```python\nprint(1)\n```\n\n```\n1\n```\n\n```python\nx = 2\n```\nThen:\n```\n7\n```\n"
    assert python_blocks(text) == [(1, "print(1)\n", "1\n"), (9, "x = 2\n", None)]
