"""Files that were changed at random load or raise UnpicklingError; tools/mutate_files.py tries many more."""
from __future__ import annotations

from tools import mutate_files


def test_changed_files_raise_nothing_else() -> None:
    problems: list[str] = []
    assert mutate_files.run(600, 7, problems.append) == 0, problems
