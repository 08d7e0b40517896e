"""The page about what every op supports has a row for each, and says what the tables say."""
from __future__ import annotations

import pytest

from tests.loading import load_tool

pytestmark = pytest.mark.once


def test_page_is_up_to_date_with_the_tables() -> None:
    tool = load_tool("support_matrix")
    assert tool.problems(tool.PAGE.read_text()) == []


def test_missing_row_and_empty_cell_are_found() -> None:
    tool = load_tool("support_matrix")
    lines = tool.PAGE.read_text().splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("| `mul.Tensor` |"))
    without = "\n".join([*lines[:place], *lines[place + 1:]])
    assert tool.problems(without) == ["mul.Tensor is missing under arithmetic"]
    cells = lines[place].split("|")
    lines[place] = "|".join([*cells[:3], " ", *cells[4:]])
    assert tool.problems("\n".join(lines)) == ["mul.Tensor has an empty cell"]


@pytest.mark.parametrize("name", ["sin.default", "slice.Tensor", "_foreach_sin.default"])
def test_row_says_what_the_page_says(name: str) -> None:
    tool = load_tool("support_matrix")
    listed = {op: cells for group in tool.read(tool.PAGE.read_text()).values() for op, cells in group.items()}
    assert tool.row(tool.cases.ALL_OPS[name]) == listed[name]
