"""The list of names that stand for tables not yet imported is what the tables declare."""
from __future__ import annotations

import pytest

from retrograd.ops import names

pytestmark = pytest.mark.once


def test_the_list_of_names_is_what_the_tables_declare() -> None:
    made: dict[str, object] = {}
    exec(names.derived(), made)
    assert made["NAMES"] == names.names()


def test_every_module_has_each_name_once() -> None:
    for columns in names.names().values():
        for column in columns:
            assert len(column.split()) == len(set(column.split()))
